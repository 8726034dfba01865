"""What a study knows about units with several rows each, such as patients.

Scores on the leaderboard are about new units: all rows of one are held out together. The selected model, which is
fitted to all rows, has seen other rows of a known unit, and may have learned its level from inputs that only this unit
has. What is left for `tables.groups` to explain are the errors of single held-out rows, predicted by fits that have
seen the others of their units: with the errors for whole units, the level would count twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from credo.core.folds import Split, even_folds, pairs_of_folds
from credo.core.wording import number, percent
from credo.distributions import Distribution
from credo.ensemble import ModelAverage
from credo.metrics import log_score, pit, point, rmse
from credo.selection import HeldOut
from credo.selection.trial import Parts, Trial
from credo.study.average import mixed, unlimited
from credo.study.catalogue import AVERAGE
from credo.study.data import N_FOLDS
from credo.study.engine import Engine
from credo.tables import TableModel
from credo.tables.groups import Groups, given_others, normal_scores


class Scores(NamedTuple):
    """The log score and RMSE of predictions, and the coverage and mean width of their 95 % intervals."""

    log_score: float
    rmse: float
    coverage: float
    width: float

    @classmethod
    def of(cls, held: HeldOut, dist: Distribution) -> Scores:
        """Those of predictions of held-out rows."""
        y, weight = held.y, held.weight
        low, high = dist.interval(0.95)
        inside = float(np.mean((low <= y) & (y <= high)))
        return cls(
            log_score(y, dist, sample_weight=weight), rmse(y, point(dist), sample_weight=weight), inside,
            float(np.mean(high - low)),
        )  # fmt: skip


@dataclass(frozen=True)
class Known:
    """How rows of new and of known units are predicted; `unit` is the column that names them.

    `alone` are the scores of rows of known units without what is said by the other rows of the unit.
    """

    unit: str
    groups: Groups
    new: Scores
    known: Scores
    alone: Scores

    def record(self) -> dict[str, Any]:
        """The scores in plain types."""
        return {"unit": self.unit, "new": self.new._asdict(), "known": self.known._asdict()}

    @property
    def sentence(self) -> str:
        """Which score is about which, and what the other rows of a unit are worth."""
        new = f"Scores are about a new {self.unit!r}: RMSE {number(self.new.rmse)}, {_intervals(self.new)}."
        caution = (
            "Intervals of coefficients, effects and inclusion probabilities take rows to be independent: for inputs "
            "that are equal within a unit they are too optimistic."
        )
        if not self.groups.correlation:
            return (
                f"{new} The other rows of a known one don't improve its predictions: they are those for a new one "
                f"(RMSE {number(self.known.rmse)} if other rows are known). {caution}"
            )
        return (
            f"{new} A known one is predicted from its other rows as well: RMSE {number(self.known.rmse)}, "
            f"{_intervals(self.known)}. {caution}"
        )


def _intervals(scores: Scores) -> str:
    return f"95 % intervals {number(scores.width)} wide on average contain {percent(scores.coverage)} of the rows"


@dataclass
class KnownUnits:
    """What the models of a study know about its units, computed when it is asked for."""

    work: Engine
    held_out: Mapping[str, HeldOut]
    found: dict[str, Known | None] = field(default_factory=dict)

    def learn(self, name: str, model: TableModel) -> Known | None:
        """Fit a model again without some rows of every unit, and tell it what they say about the others.

        None if it predicts no distribution.
        """
        if name not in self.found:
            self.found[name] = self._compare(name)
        known = self.found[name]
        model.groups = None if known is None else known.groups
        return known

    def _compare(self, name: str) -> Known | None:
        data, of_new = self.work.data, self.held_out.get(name)
        held = None if of_new is None else self._rows_held_out(name)
        if of_new is None or held is None or data.unit is None or data.groups is None:
            return None
        scores = normal_scores(pit(held.y, held.dist, random_state=0))
        groups = Groups.of(data.unit, data.units, scores)
        given = data.support.limit(given_others(unlimited(held.dist), groups.correlation, scores, data.groups))
        alone, known = Scores.of(held, held.dist), Scores.of(held, given)
        if not known.log_score > alone.log_score:
            groups, known = replace(groups, correlation=0.0), alone
        return Known(data.unit, groups, Scores.of(of_new, of_new.dist), known, alone)

    def _rows_held_out(self, name: str) -> HeldOut | None:
        """Predictions of all rows by fits that have seen other rows of their units; None if there are none."""
        work, groups = self.work, self.work.data.groups
        assert groups is not None
        model = work.trials[name].fitted
        members = {key.replace("__", "_"): trial for key, trial in work.trials.items()}
        is_average = name == AVERAGE and isinstance(model, ModelAverage)
        trials = [members[own] for own in model.names_] if is_average else [work.trials[name]]
        assert groups is not None
        quick = work.interrupted or N_FOLDS * sum(trial.seconds for trial in trials) > work.left
        splits = pairs_of_folds(even_folds(groups, 2 if quick else N_FOLDS, work.seed))
        held = [_held_out(work.trial(trial.name, trial.model), splits) for trial in trials]
        if any(one is None for one in held):
            return None
        first, *others = [one for one in held if one is not None]
        if not is_average:
            return first
        dist = mixed(model, [unlimited(one.dist) for one in (first, *others)])
        return HeldOut(first.y, work.data.support.limit(dist), first.rows, weight=first.weight)


def _held_out(trial: Trial, splits: Sequence[Split]) -> HeldOut | None:
    # Parts of its own, which aren't kept for other models.
    trial.X = Parts(trial.X.X)
    for _ in trial.run(splits, refit=False):
        pass
    return None if trial.error is not None else trial.held_out()
