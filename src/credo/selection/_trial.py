"""Fits of one model to the folds and to all rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from credo.metrics import NoDistribution, final_step, predictive
from credo.notices import collected, on_one_line
from credo.seeds import random_states
from credo.selection._comparison import HeldOut, Score
from credo.selection._criteria import bic, description_length, has_likelihood
from credo.selection._folds import Split
from credo.selection._measures import Task
from credo.selection._stacked import Part, stacked


@dataclass
class Parts:
    """Subsets of a table's rows, made once for all models, so that prepared columns can be shared."""

    X: Any
    taken: dict[int, tuple[NDArray[np.intp], Any]] = field(default_factory=dict)

    def take(self, rows: NDArray[np.intp]) -> Any:
        """These rows; the very same object for the same array."""
        if id(rows) not in self.taken:
            self.taken[id(rows)] = rows, _safe_indexing(self.X, rows)
        return self.taken[id(rows)][1]


@dataclass
class Trial:
    """A model, its fits so far, and what they predicted."""

    name: str
    model: Any
    X: Parts
    y: NDArray[Any]
    task: Task
    seed: int | None
    n_fits: int = 0
    error: str | None = None
    fitted: Any = None
    seconds: float = 0.0
    parts: list[Part] = field(default_factory=list)
    measured: list[Mapping[str, NDArray[np.float64]]] = field(default_factory=list)
    plain: list[tuple[NDArray[np.intp], NDArray[Any]]] = field(default_factory=list)
    warned: list[list[str]] = field(default_factory=list)

    def run(self, splits: Sequence[Split]) -> Iterator[None]:
        """Fit once for each fold and once on all rows, yielding before each fit; fits of an earlier run are kept."""
        for i, (train, test) in enumerate(splits[self.n_fits :], start=self.n_fits + 1):
            yield
            if not self._step(f"in fold {i} of {len(splits)}", train, test):
                return
        yield
        self._step("on all rows", None, None)

    def _step(self, where: str, train: NDArray[np.intp] | None, test: NDArray[np.intp] | None) -> bool:
        with collected() as caught:
            try:
                self._fit(train, test)
            # A failure of one model must not stop the others; its message is kept.
            except Exception as error:
                self.error = f"{on_one_line(error)} ({where})"
        self.n_fits += 1
        self.warned.append(list(dict.fromkeys(str(notice) for notice in caught)))
        return self.error is None

    def _fit(self, train: NDArray[np.intp] | None, test: NDArray[np.intp] | None) -> None:
        model = _seeded(clone(self.model), self.seed)
        if train is None or test is None:
            start = perf_counter()
            self.fitted = model.fit(self.X.X, self.y)
            self.seconds = perf_counter() - start
            return
        model.fit(self.X.take(train), self.y[train])
        part = self.X.take(test)
        try:
            dist = predictive(model, part)
        except NoDistribution:
            # A model without `predict`, such as a scaler, has failed.
            if not hasattr(model, "predict"):
                raise
            self.plain.append((test, np.asarray(model.predict(part))))
            return
        rows = self.task.rows(self.y[test], dist)
        values = np.column_stack(list(rows.values()))
        bad = np.flatnonzero(np.isnan(values).any(axis=1) | ~np.isfinite(values[:, 0]))
        if bad.size:
            first = f"the first is row {test[bad[0]]} of X"
            raise ValueError(f"the predictions of {bad.size} rows are not finite, {first}")
        self.parts.append((test, dist))
        self.measured.append(rows)

    @property
    def notes(self) -> list[str]:
        """The warnings of the fits; those of the folds only if the fit on all rows has none."""
        if self.error is not None:
            return []
        notes = [self.task.note(self.name)] if self.plain else []
        warned = [messages for messages in self.warned if messages]
        if warned and self.warned[-1]:
            return notes + [f"{self.name}: {message}" for message in self.warned[-1]]
        if warned:
            notes.append(f"{self.name}, in {len(warned)} of {self.n_fits - 1} folds: {warned[0][0]}")
        return notes

    def held_out(self) -> HeldOut | None:
        """The predictions of all folds; None if the model predicts no distribution."""
        if self.plain:
            return None
        rows = np.sort(np.concatenate([rows for rows, _ in self.parts]))
        parts = [(np.searchsorted(rows, own), dist) for own, dist in self.parts]
        return HeldOut(self.y[rows], stacked(parts, len(rows)), rows)

    def score(self, held: HeldOut | None) -> Score:
        """The line of the leaderboard, without the model probability, which needs all models."""
        if self.error is not None:
            return Score(self.name, error=self.error)
        evidence = next((m for m in (self.fitted, final_step(self.fitted)) if hasattr(m, "log_evidence_")), None)
        likelihood = has_likelihood(self.fitted)
        return Score(
            self.name,
            held_out=self._point_score() if held is None else self.task.scores(held.y, held.dist, self._rows()),
            log_evidence=None if evidence is None else float(evidence.log_evidence_),
            evidence_method=getattr(evidence, "evidence_method_", None),
            evidence_base=getattr(evidence, "evidence_base_", None),
            bic=bic(self.fitted) if likelihood else None,
            description_length=description_length(self.fitted) if likelihood else None,
            seconds=self.seconds,
        )

    def _point_score(self) -> dict[str, float]:
        """The score of predictions without a distribution."""
        rows = np.concatenate([rows for rows, _ in self.plain])
        return self.task.point_score(self.y[rows], np.concatenate([values for _, values in self.plain]))

    def _rows(self) -> dict[str, NDArray[np.float64]]:
        """The scores of the held-out rows, in the order of the rows."""
        order = np.argsort(np.concatenate([rows for rows, _ in self.parts]))
        return {name: np.concatenate([part[name] for part in self.measured])[order] for name in self.measured[0]}


def _seeded(model: Any, seed: int | None) -> Any:
    """The model with every `random_state` that is None set to the seed."""
    if seed is None:
        return model
    given = model.get_params()
    return model.set_params(**{name: seed for name in random_states(model) if given[name] is None})
