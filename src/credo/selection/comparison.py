"""The result of a comparison of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from credo.core.frames import Table
from credo.distributions import Bernoulli, Categorical, Distribution, RightCensored
from credo.metrics import forecast, point
from credo.selection.measures import MEASURES
from credo.selection.rule import BASELINE, Candidate, Gap, Selection, gap, select

# Columns that are shown only if at least one model has a value.
_CRITERIA = ("model_probability", "bic", "description_length")


@dataclass(frozen=True)
class Score:
    """One line of the leaderboard: a model, its description in `words`, and its scores.

    If the model failed, all numbers are None and `error` says why.

    `held_out` has the scores on held-out rows by name: for regression `log_score`, `rmse`, `crps` and `coverage` (of
    the 95 % interval), for classification `log_loss`, `brier`, `accuracy` and `calibration_error`, and `rps` if
    the classes are on a scale; for a model that predicts no distribution only `rmse` or `accuracy`. The other numbers
    are those of the fit on all rows. `model_probability` is p(model | data) among the models whose log evidence has the
    same `evidence_base`, with equal prior probabilities; a model alone in its base has none. `description_length` is in
    bits.

    Examples
    --------
    >>> import numpy as np
    >>> from credo import BayesianLinearRegression, LinearRegression, compare
    >>> X = np.arange(20.0)[:, None]
    >>> y = 3 * X[:, 0] + np.tile([0.1, -0.2, 0.3, -0.1], 5)
    >>> models = {"line": LinearRegression(), "bayes": BayesianLinearRegression()}
    >>> comparison = compare(models, X, y, cv=4, random_state=0)
    >>> best = comparison.scores[0]
    >>> sorted(best.held_out), best.error
    (['coverage', 'crps', 'log_score', 'rmse'], None)
    """

    name: str
    held_out: Mapping[str, float] = field(default_factory=dict)
    log_evidence: float | None = None
    evidence_method: str | None = None
    evidence_base: str | None = None
    model_probability: float | None = None
    bic: float | None = None
    description_length: float | None = None
    seconds: float | None = None
    error: str | None = None
    words: str = ""


@dataclass(frozen=True)
class HeldOut:
    """Predictions of held-out rows, in the order of the rows.

    `rows` are their positions in the table: all of them, unless the folds leave some out, such as the earliest
    rows in time order. `known` has what was computed when the folds were scored, so that it isn't computed again:
    "log_density", "point" and "crps". `weight` has the weights of the rows in mean scores; None if all are equal.

    Examples
    --------
    >>> import numpy as np
    >>> from credo import Normal
    >>> from credo.selection import HeldOut
    >>> HeldOut(np.array([0.0, 1.0]), Normal([0.0, 0.0], [1.0, 1.0])).log_score.round(3)
    array([-0.919, -1.419])
    """

    y: NDArray[Any]
    dist: Distribution
    rows: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    known: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    weight: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        if len(self.rows) != len(self.y):
            object.__setattr__(self, "rows", np.arange(len(self.y)))

    @cached_property
    def log_score(self) -> NDArray[np.float64]:
        """The log predictive density (or probability) of each outcome."""
        return self.known["log_density"] if "log_density" in self.known else self.dist.log_prob(self.y)

    @cached_property
    def point(self) -> NDArray[np.float64]:
        """The point prediction of each number."""
        return self.known["point"] if "point" in self.known else point(self.dist)

    @property
    def squared_error(self) -> NDArray[np.float64]:
        """The squared error of each row; of classes its Brier score, and of censored times the CRPS."""
        if isinstance(self.dist, Bernoulli | Categorical):
            found = forecast(self.y, self.dist)
            return np.square(found.table).sum(axis=1) + 1 - 2 * found.actual
        if isinstance(self.dist, RightCensored):
            # How far a censored time is from the prediction is unknown.
            return self.known["crps"] if "crps" in self.known else self.dist.crps(self.y)
        # The mean of a transformed target may be so large that its square overflows.
        with np.errstate(over="ignore"):
            return np.square(self.y - self.point)


@dataclass(frozen=True, repr=False)
class Comparison:
    """The scores of several models, best held-out log score first; then models without one, failed ones last.

    "baseline" is always among them: the mean and spread of the targets, or the class frequencies.

    Attributes
    ----------
    scores : list of Score
    held_out : dict of name to HeldOut
        For the models that did not fail and predict distributions.
    fitted : dict of name to model
        The models that did not fail, fitted on all rows.
    notes : sequence of str
        Warnings of the fits, a reduced number of folds, and the like.
    n_folds : int
    task : "regression" or "classification"
    not_run : dict of name to str
        Models that were not finished, and why.
    in_order : bool
        Whether each held-out row was predicted from earlier rows only.
    groups : str
        The column whose values were held out whole; empty if there is none.
    order : tuple
        The classes from the lowest to the highest if they are on a scale, otherwise empty.
    exposure : str
        The column to which the predictions are proportional, if there is one.

    Examples
    --------
    >>> import numpy as np
    >>> from credo import BayesianLinearRegression, LinearRegression, compare
    >>> X = np.arange(20.0)[:, None]
    >>> y = 3 * X[:, 0] + np.tile([0.1, -0.2, 0.3, -0.1], 5)
    >>> models = {"line": LinearRegression(), "bayes": BayesianLinearRegression()}
    >>> comparison = compare(models, X, y, cv=4, random_state=0)
    >>> comparison.selected, comparison.gap("line", "baseline").clear
    ('line', True)
    >>> comparison.to_frame()["model"].tolist()[-1]
    'baseline'
    """

    scores: Sequence[Score]
    held_out: Mapping[str, HeldOut]
    fitted: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    n_folds: int = 5
    task: str = "regression"
    not_run: Mapping[str, str] = field(default_factory=dict)
    in_order: bool = False
    groups: str = ""
    order: tuple[Any, ...] = ()
    exposure: str = ""

    @cached_property
    def selection(self) -> Selection:
        """The model to use and why, by the rule of `credo.selection.rule`."""
        self._require_a_model()
        if not self.held_out:
            first = self.scores[0].name
            return Selection(first, [first], "No model predicts a distribution; it has the smallest error.")
        return select(
            [Candidate(name, held.log_score, held.squared_error, held.weight) for name, held in self.held_out.items()]
        )

    @property
    def selected(self) -> str:
        """The name of the model to use."""
        return self.selection.name

    @property
    def reason(self) -> str:
        """Why that model was selected, in a sentence or two."""
        return self.selection.reason

    @property
    def tied(self) -> list[str]:
        """The models that are statistically tied with the leader, which is among them, the simplest first."""
        return list(self.selection.tied)

    @property
    def failures(self) -> list[str]:
        """A sentence for each model that failed, with the reason."""
        return [f"{score.name} failed: {score.error}" for score in self.scores if score.error is not None]

    def gap(self, first: str, second: str) -> Gap:
        """The paired difference of two models' held-out log scores, with its standard error."""
        held = self.held_out[first]
        return gap(held.log_score, self.held_out[second].log_score, held.weight)

    def __getitem__(self, name: str) -> Score:
        """The score of a model."""
        for score in self.scores:
            if score.name == name:
                return score
        raise KeyError(
            f"there is no model {name!r}; choose from {', '.join(repr(score.name) for score in self.scores)}"
        )

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the held-out scores; empty if no model has any."""
        found = {name for score in self.scores for name in score.held_out}
        return tuple(name for name in [*MEASURES, *sorted(found.difference(MEASURES))] if name in found)

    def records(self) -> list[dict[str, Any]]:
        """The leaderboard as flat records, one for each model; None if a model has no such number."""
        lines = []
        for score in self.scores:
            fields = asdict(score)
            fields.pop("held_out")
            measured = {measure: score.held_out.get(measure) for measure in self.measures}
            lines.append({"name": fields.pop("name"), **measured, **fields})
        return lines

    def _require_a_model(self) -> None:
        if all(score.error is not None or score.name == BASELINE for score in self.scores):
            by_error: dict[str | None, list[str]] = {}
            for score in (score for score in self.scores if score.error is not None):
                by_error.setdefault(score.error, []).append(score.name)
            reasons = "; ".join(f"{', '.join(names)}: {error}" for error, names in by_error.items())
            raise ValueError(f"no model could be fitted. {reasons}")

    def __str__(self) -> str:
        return str(self.table())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def to_frame(self, *, backend: str | None = None) -> Any:
        """The leaderboard as a data frame."""
        return self.table().to_frame(backend=backend)

    def table(self) -> Table:
        """The leaderboard as a printable table."""
        lines = self.records()
        held = ["log_evidence", "evidence_method", *_CRITERIA, "seconds"]
        shown = [key for key in held if key not in _CRITERIA or any(line[key] is not None for line in lines)]
        columns = {"model": [line["name"] for line in lines]}
        for key in [*self.measures, *shown]:
            columns[MEASURES[key].title if key in MEASURES else key] = [line[key] for line in lines]
        chosen = [] if all(score.error is not None for score in self.scores) else [self.reason]
        notes = (*chosen, *self.failures, *_base_notes(self.scores), *self.notes)
        n_rows = max((len(held.y) for held in self.held_out.values()), default=0)
        title = f"Held out in {self.n_folds} folds" if self.n_folds > 1 or not n_rows else f"{n_rows:,} rows held out"
        return Table(title, columns, notes)


def with_probabilities(scores: Sequence[Score]) -> list[Score]:
    """The scores with p(model | data) ∝ evidence, within each base; a model alone in its base has none."""
    evidence = {score.name: score.log_evidence for score in scores}
    probability: dict[str, float] = {}
    for base, names in _by_base(scores).items():
        logs = np.array([evidence[name] for name in names], dtype=np.float64)
        if base is not None and len(names) > 1 and np.isfinite(logs).all():
            probability |= zip(names, softmax(logs).tolist(), strict=True)
    return [replace(score, model_probability=probability.get(score.name)) for score in scores]


def _base_notes(scores: Sequence[Score]) -> list[str]:
    """A note on which models share an evidence base, if there is more than one base."""
    found = _by_base(scores)
    if len(found) < 2:
        return []
    parts = [f"{', '.join(names)} ({_base_words(base, alone=len(names) == 1)})" for base, names in found.items()]
    return [f"Log evidences and model probabilities are comparable only within one evidence base: {'; '.join(parts)}."]


def _by_base(scores: Sequence[Score]) -> dict[str | None, list[str]]:
    """The models that have a log evidence, by its base, in the order of the scores."""
    found: dict[str | None, list[str]] = {}
    for score in scores:
        if score.log_evidence is not None:
            found.setdefault(score.evidence_base, []).append(score.name)
    return found


def _base_words(base: str | None, *, alone: bool) -> str:
    if base is None:
        return "no evidence_base_, so no probability"
    return base.replace(";", ",") + (", no other model, so no probability" if alone else "")
