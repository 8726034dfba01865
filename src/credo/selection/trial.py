"""Fits of one model to the folds and to all rows, and its held-out predictions as one distribution."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from credo.core.estimator import FittedState, evidence_of, in_words, is_predictor
from credo.core.folds import Split
from credo.core.notices import collected, on_one_line
from credo.core.seeds import random_states
from credo.distributions import REAL_LINE, Bernoulli, Categorical, Distribution, RightCensored, Support
from credo.metrics import NoDistribution, predictive
from credo.selection.comparison import HeldOut, Score
from credo.selection.measures import Task, bic, description_length, has_likelihood

Indices = NDArray[np.intp]
Part = tuple[Indices, Distribution]


def stacked(parts: Sequence[Part], n_rows: int) -> Distribution:
    """One distribution of `n_rows` rows, from parts with their row numbers.

    The classes are those of all parts together; a class that a part doesn't have gets probability 0 in its rows.
    """
    dists = [dist for _, dist in parts]
    if all(isinstance(dist, Bernoulli) for dist in dists):
        return Bernoulli(_filled(parts, n_rows, lambda dist: dist.mean))
    if all(isinstance(dist, Bernoulli | Categorical) for dist in dists):
        return _categorical(parts, n_rows)
    return Stacked(parts, n_rows)


class Stacked(Distribution):
    """Distributions of any kind for parts of the rows, as one for all rows."""

    _parts: tuple[Part, ...]
    _n_rows: int

    def __init__(self, parts: Sequence[Part], n_rows: int) -> None:
        rows = np.concatenate([rows for rows, _ in parts]) if parts else np.empty(0, dtype=np.intp)
        if not np.array_equal(np.sort(rows), np.arange(n_rows)):
            raise ValueError(f"the parts must contain each of the {n_rows} rows exactly once")
        vars(self).update(_parts=tuple(parts), _n_rows=n_rows)

    @property
    def _mean(self) -> NDArray[np.float64]:
        return self._each(lambda dist: dist._mean)

    @property
    def _std(self) -> NDArray[np.float64]:
        return self._each(lambda dist: dist._std)

    def interval(self, level: float = 0.95) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The intervals of the parts, which aren't always between quantiles (`Conformal`)."""
        ends = self._each(lambda dist: np.column_stack(dist.interval(level)))
        return self._unless_scalar(ends[:, 0]), self._unless_scalar(ends[:, 1])

    def __len__(self) -> int:
        return self._n_rows

    def __repr__(self) -> str:
        kinds = ", ".join(dict.fromkeys(type(dist).__name__ for _, dist in self._parts))
        return f"Stacked(<{self._n_rows} rows of {kinds}>)"

    def _each(self, answer: Callable[[Distribution], NDArray[Any]]) -> NDArray[Any]:
        return _filled(self._parts, self._n_rows, answer)

    def _at(self, y: NDArray[np.float64], answer: Callable[[Distribution, Any], Any]) -> NDArray[np.float64]:
        values = np.empty(y.shape)
        for rows, dist in self._parts:
            values[..., rows] = answer(dist, y[..., rows])
        return values

    def _cdf(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._at(y, lambda dist, part: dist.cdf(part))

    def _log_prob(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._at(y, lambda dist, part: dist.log_prob(part))

    def _log_mass(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
        values = np.empty(low.shape)
        for rows, dist in self._parts:
            values[rows] = dist._log_mass(low[rows], high[rows])
        return values

    def _crps(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._at(y, lambda dist, part: dist.crps(part))

    def _quantile(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._each(lambda dist: dist._quantile(q))

    def _isf(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._each(lambda dist: dist._isf(p))

    def _sample(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        return self._each(lambda dist: dist._sample(n, rng).T).T

    def _take(self, rows: Indices) -> Self:
        parts = []
        for own, dist in self._parts:
            place = np.full(self._n_rows, -1)
            place[own] = np.arange(len(own))
            kept = np.flatnonzero(place[rows] >= 0)
            if len(kept):
                parts.append((kept, dist[place[rows[kept]]]))
        return type(self)(parts, len(rows))

    def _atoms(self) -> NDArray[np.bool_]:
        return self._each(lambda dist: dist._atoms())

    def _tail_index(self) -> NDArray[np.float64]:
        return self._each(lambda dist: dist._tail_index())

    def _tail(self, y: NDArray[np.float64], upper: NDArray[np.bool_]) -> NDArray[np.float64]:
        values = np.empty(y.shape)
        for rows, dist in self._parts:
            values[..., rows] = dist._tail(y[..., rows], upper[..., rows])
        return values

    def _knots(self) -> NDArray[np.float64]:
        return self._padded(lambda dist: dist._knots(), None)

    def _widths(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        # Knots of infinite width are ignored.
        width = self._padded(lambda dist: dist._widths()[0], np.inf)
        return width, self._padded(lambda dist: dist._widths()[1], -np.inf)

    def _padded(self, answer: Callable[[Distribution], NDArray[Any]], filler: float | None) -> NDArray[np.float64]:
        """One table with a column for each row, where rows with fewer knots repeat the last or have the filler."""
        tables = [answer(dist) for _, dist in self._parts]
        most = max(map(len, tables))
        found = np.empty((most, self._n_rows))
        for (rows, _), table in zip(self._parts, tables, strict=True):
            found[: len(table), rows] = table
            found[len(table) :, rows] = table[-1] if filler is None else filler
        return found


def _filled(parts: Sequence[Part], n_rows: int, answer: Callable[[Distribution], NDArray[Any]]) -> NDArray[Any]:
    """The values of all parts, each in its rows."""
    found = [np.asarray(answer(dist)) for _, dist in parts]
    values = np.empty((n_rows, *found[0].shape[1:]), dtype=np.result_type(*found))
    for (rows, _), value in zip(parts, found, strict=True):
        values[rows] = value
    return values


def _categorical(parts: Sequence[Part], n_rows: int) -> Categorical:
    tables = [(rows, *_table(dist)) for rows, dist in parts]
    classes = np.unique(np.concatenate([known for _, _, known in tables]))
    table = np.zeros((n_rows, len(classes)))
    for rows, probs, known in tables:
        table[np.ix_(rows, np.searchsorted(classes, known))] = probs
    return Categorical(table, classes=classes)


def _table(dist: Any) -> tuple[NDArray[np.float64], NDArray[Any]]:
    if isinstance(dist, Bernoulli):
        return np.column_stack([1.0 - dist.probs, dist.probs]), np.array([0, 1])
    return dist.probs, dist.classes


@dataclass
class Parts:
    """Subsets of a table's rows, created once for all models, so that they share prepared columns.

    Columns that were learned from the target of all rows are learned again by `relearn` from the rows of a split.
    """

    X: Any
    relearn: Callable[[Any, Indices, Indices], tuple[Any, Any]] | None = None
    taken: dict[int, tuple[Indices, Any, Any]] = field(default_factory=dict)

    def split(self, train: Indices, test: Indices) -> tuple[Any, Any]:
        """The training and the held-out rows; the same objects for the same arrays."""
        if id(train) not in self.taken:
            both = _safe_indexing(self.X, train), _safe_indexing(self.X, test)
            self.taken[id(train)] = train, *(both if self.relearn is None else self.relearn(self.X, train, test))
        return self.taken[id(train)][1:]


@dataclass
class Trial:
    """A model, its fits so far, and their predictions.

    `parts` are predictions by the model itself; where they are scored, they are limited to the possible values of the
    target, its `support`. `event` says which times until an event are observed; the others are right-censored, and are
    scored by the probability of a longer time.
    """

    name: str
    model: Any
    X: Parts
    y: NDArray[Any]
    task: Task
    seed: int | None
    options: Mapping[str, Any] = field(default_factory=dict)
    support: Support = REAL_LINE
    weight: NDArray[np.float64] | None = None
    event: NDArray[np.bool_] | None = None
    n_fits: int = 0
    error: str | None = None
    fitted: Any = None
    seconds: float = 0.0
    parts: list[Part] = field(default_factory=list)
    measured: list[Mapping[str, NDArray[np.float64]]] = field(default_factory=list)
    plain: list[tuple[NDArray[np.intp], NDArray[Any]]] = field(default_factory=list)
    warned: list[list[str]] = field(default_factory=list)

    def run(self, splits: Sequence[Split], *, refit: bool = True) -> Iterator[None]:
        """Fit once for each fold and once on all rows, yielding before each fit.

        Without `refit`, the model of the last fold is the fitted one.
        """
        for i, (train, test) in enumerate(splits, start=1):
            yield
            if not self._step(f"in fold {i} of {len(splits)}", train, test):
                return
        if refit:
            yield
            self._step("on all rows", None, None)

    def _step(self, where: str, train: NDArray[np.intp] | None, test: NDArray[np.intp] | None) -> bool:
        with collected() as caught:
            try:
                self._fit(train, test)
            # One model's failure must not stop the others; its message is kept.
            except Exception as error:
                self.error = f"{on_one_line(error)} ({where})"
        self.n_fits += 1
        self.warned.append(list(dict.fromkeys(str(notice) for notice in caught)))
        return self.error is None

    def _fit(self, train: NDArray[np.intp] | None, test: NDArray[np.intp] | None) -> None:
        model = _seeded(clone(self.model), self.seed)
        options = {name: value for name, value in self.options.items() if has_fit_parameter(model, name)}
        if self.weight is not None:
            options |= weights_of(model, self.weight if train is None else self.weight[train])
        if self.event is not None:
            options["event"] = self.event if train is None else self.event[train]
        start = perf_counter()
        if train is None or test is None:
            self.fitted = model.fit(self.X.X, self.y, **options)
            self.seconds = perf_counter() - start
            return
        rows, part = self.X.split(train, test)
        self.fitted = model.fit(rows, self.y[train], **options)
        self.seconds = perf_counter() - start
        try:
            dist = predictive(model, part)
        except NoDistribution:
            # A model without `predict`, such as a scaler, has failed.
            if not is_predictor(model):
                raise
            self.plain.append((test, np.asarray(model.predict(part))))
            return
        rows = self.task.rows(self.y[test], self.observable(dist, test))
        values = np.column_stack(list(rows.values()))
        bad = np.flatnonzero(np.isnan(values).any(axis=1) | ~np.isfinite(values[:, 0]))
        if bad.size:
            first = f"the first is row {test[bad[0]]} of X"
            raise ValueError(f"the predictions of {bad.size} rows are not finite, {first}")
        self.parts.append((test, dist))
        self.measured.append(rows)

    def observable(self, dist: Distribution, rows: NDArray[np.intp]) -> Distribution:
        """The distribution of what can be observed in these rows: possible values, times until they are censored."""
        dist = self.support.limit(dist)
        if self.event is None:
            return dist
        return RightCensored(dist, np.where(self.event[rows], np.inf, self.y[rows]))

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
            notes.append(f"{self.name}, in {len(warned)} of {max(self.n_fits - 1, 1)} folds: {warned[0][0]}")
        return notes

    def replace_parts(self, parts: Sequence[Part]) -> None:
        """Score other distributions of the held-out rows instead."""
        self.parts = list(parts)
        self.measured = [self.task.rows(self.y[rows], self.observable(dist, rows)) for rows, dist in parts]

    def held_out(self) -> HeldOut | None:
        """The predictions of all folds; None if the model predicts no distribution."""
        if self.plain:
            return None
        rows = np.sort(np.concatenate([rows for rows, _ in self.parts]))
        parts = [(np.searchsorted(rows, own), dist) for own, dist in self.parts]
        dist = self.observable(stacked(parts, len(rows)), rows)
        return HeldOut(self.y[rows], dist, rows, self._rows(), None if self.weight is None else self.weight[rows])

    def score(self, held: HeldOut | None) -> Score:
        """The line of the leaderboard, without the model probability, which needs all models."""
        if self.error is not None:
            return Score(self.name, error=self.error)
        evidence = evidence_of(self.fitted)
        likelihood = has_likelihood(self.fitted)
        return Score(
            self.name,
            held_out=self._point_score()
            if held is None
            else self.task.scores(held.y, held.dist, self._rows(), held.weight),
            words=in_words(self.fitted),
            log_evidence=None if evidence is None else evidence.value,
            evidence_method=None if evidence is None else evidence.method,
            evidence_base=None if evidence is None else evidence.base,
            bic=bic(self.fitted) if likelihood else None,
            description_length=description_length(self.fitted) if likelihood else None,
            seconds=self.seconds,
        )

    def _point_score(self) -> dict[str, float]:
        """The score of predictions without a distribution."""
        rows = np.concatenate([rows for rows, _ in self.plain])
        weight = None if self.weight is None else self.weight[rows]
        return self.task.point_score(self.y[rows], np.concatenate([values for _, values in self.plain]), weight)

    def _rows(self) -> dict[str, NDArray[np.float64]]:
        """The scores of the held-out rows, in the order of the rows."""
        order = np.argsort(np.concatenate([rows for rows, _ in self.parts]))
        return {name: np.concatenate([part[name] for part in self.measured])[order] for name in self.measured[0]}


def weights_of(model: Any, weight: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """The argument of `fit` that weights the rows, of the model or the last step of a pipeline; empty without one."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    prefix = f"{model.steps[-1][0]}__" if isinstance(model, Pipeline) else ""
    return {f"{prefix}sample_weight": weight} if has_fit_parameter(last, "sample_weight") else {}


def _seeded(model: Any, seed: int | None) -> Any:
    """The model with every `random_state` that is None set to the seed."""
    if seed is None:
        return model
    given = model.get_params()
    return model.set_params(**{name: seed for name in random_states(model) if given[name] is None})


class SavedTrials(FittedState, BaseEstimator):
    """Finished trials as a value that a file can hold, so that a study can be continued.

    `key_` identifies the table, the folds and the seed. A trial is its name, the rows and distributions of its folds,
    the fitted model, the seconds of its fit and its warnings.
    """

    key_: str
    trials_: list[dict[str, Any]]

    @classmethod
    def of(cls, key: str, trials: Sequence[Trial]) -> Self:
        """The trials that neither failed nor lack a distribution."""
        found = cls()
        found.key_ = key
        found.trials_ = [
            {"name": trial.name, "rows": [rows for rows, _ in trial.parts], "dists": [dist for _, dist in trial.parts],
             "model": trial.model, "fitted": trial.fitted, "seconds": trial.seconds, "warned": trial.warned}
            for trial in trials
            if trial.error is None and not trial.plain
        ]  # fmt: skip
        return found

    def trials(
        self,
        X: Parts,
        y: NDArray[Any],
        task: Task,
        seed: int | None,
        support: Support = REAL_LINE,
        weight: NDArray[np.float64] | None = None,
        event: NDArray[np.bool_] | None = None,
    ) -> list[Trial]:
        """The trials again, for the same table."""
        found = []
        for record in self.trials_:
            trial = Trial(
                record["name"], record["model"], X, y, task, seed, support=support, weight=weight, event=event
            )
            for rows, dist in zip(record["rows"], record["dists"], strict=True):
                if not (
                    isinstance(dist, Distribution) and len(rows) == len(dist) and 0 <= rows.min() <= rows.max() < len(y)
                ):
                    raise ValueError(f"the held-out predictions of {trial.name} don't fit the table")
                trial.parts.append((rows, dist))
                trial.measured.append(task.rows(y[rows], trial.observable(dist, rows)))
            trial.fitted, trial.seconds, trial.warned = record["fitted"], record["seconds"], record["warned"]
            trial.n_fits = len(trial.parts) + 1
            found.append(trial)
        return found
