"""Predictions for rows that models weren't fitted to: out of bootstrap samples, leave-one-out, and by folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import has_fit_parameter

from credo.core.deadlines import TimeUp, until
from credo.core.estimator import FitWarning, Regressor, class_probabilities
from credo.core.folds import Split, equal_rows, group_folds, pairs_of_folds, splits
from credo.core.notices import warn
from credo.core.seeds import reseeded
from credo.ensemble._base import Attempt, Pairs, try_fit
from credo.metrics import NoDistribution, point, predictive

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Resampling:
    """The probability of each row in a bootstrap sample, which is proportional to its weight, and the sample's size."""

    share: Array
    size: int

    @classmethod
    def of(cls, n_rows: int, weight: Array | None) -> Resampling:
        """Samples have as many rows as the table, counted by weight."""
        weight = np.ones(n_rows) if weight is None else weight
        total = float(weight.sum())
        if total > 2e7:
            raise ValueError(
                f"the weights sum to {total:.3g}, which would be the size of a bootstrap sample: rescale the "
                "weights so that they sum to the number of observations"
            )
        return cls(weight / total, max(n_rows, round(total)))

    def counts(self, rng: np.random.Generator) -> NDArray[np.intp]:
        """How often each row is drawn."""
        return rng.multinomial(self.size, self.share)


@dataclass
class Bag:
    """A member, the rows that it wasn't fitted to, and its predictions for them.

    `predicted` are means or class probabilities; `std` and `log_prob` are None for classes and for members that predict
    numbers only.
    """

    attempt: Attempt
    rows: Indices
    predicted: Array
    std: Array | None = None
    log_prob: Array | None = None


def fit_bag(
    name: str,
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    resampling: Resampling,
    rng: np.random.Generator,
    classes: NDArray[Any] | None,
    deadline: float | None,
) -> Bag | None:
    """Fit a clone to a bootstrap sample and predict the other rows; None if the deadline has passed."""
    with until(deadline):
        try:
            counts = resampling.counts(rng)
            # A sample with a single class is drawn again.
            for _ in range(100 if classes is not None else 0):
                if len(np.unique(y[counts > 0])) > 1:
                    break
                counts = resampling.counts(rng)
            # So that members differ even if their samples don't.
            model = reseeded(clone(estimator), rng)
            done = _fitted(name, model, X, y, counts)
            out = np.flatnonzero(counts == 0)
            if done.error is None:
                try:
                    return _predicted(done, X, y, out, classes)
                # A member that can't predict counts as failed.
                except Exception as error:
                    done = Attempt(name, error=error)
            return Bag(done, out, np.empty(0))
        except TimeUp:
            return None


def _fitted(name: str, model: Any, X: Any, y: NDArray[Any], counts: Indices) -> Attempt:
    """Fit to the rows drawn, with their counts as weights; the steps of a pipeline would not all get weights."""
    rows = np.flatnonzero(counts)
    weight = None
    if has_fit_parameter(model, "sample_weight") and not isinstance(model, Pipeline):
        weight = counts[rows].astype(np.float64)
    else:
        rows = np.repeat(rows, counts[rows])
    return try_fit(name, model, _safe_indexing(X, rows), y[rows], weight)


def _predicted(done: Attempt, X: Any, y: NDArray[Any], out: Indices, classes: NDArray[Any] | None) -> Bag:
    # If no row is left out, the first one tests whether the member can predict.
    rows = out if len(out) else np.zeros(1, dtype=np.intp)
    part = _safe_indexing(X, rows)
    n = len(out)
    if classes is not None:
        return Bag(done, out, _finite(class_probabilities(done.model, part, classes))[:n])
    try:
        dist = predictive(done.model, part)
    except NoDistribution:
        return Bag(done, out, _finite(np.asarray(done.model.predict(part), dtype=np.float64))[:n])
    return Bag(done, out, point(dist)[:n], np.asarray(dist.std)[:n], dist.log_prob(y[rows])[:n])


def _finite(predicted: Array) -> Array:
    if not np.isfinite(predicted).all():
        raise ValueError("its predictions are not finite")
    return predicted


def leave_one_out(models: Sequence[Any], X: Any, y: Array, weight: Array | None) -> Array | None:
    """The log score of each row given all others, in closed form, (n_rows, n_models); None if a model has none.

    The hyperparameters are those that were learned from all rows.
    """
    if not all(isinstance(model, Regressor) for model in models):
        return None
    columns = []
    for model in models:
        dist = model._left_out(X, y, weight)
        if dist is None:
            return None
        columns.append(dist.log_prob(y))
    return np.column_stack(columns)


def by_folds(
    pairs: Pairs,
    X: Any,
    y: NDArray[Any],
    weight: Array | None,
    *,
    cv: Any,
    rng: np.random.Generator,
    classes: NDArray[Any] | None,
) -> tuple[Array, NDArray[np.intp], list[Attempt], int]:
    """The log scores of all held-out rows, those rows, the first failure of each model that failed, and the folds.

    A model that fails in a fold has no column.
    """
    if len(y) < 2:
        raise ValueError("stacking needs at least two rows, to predict some from the others; got n_samples = 1")
    (X,) = indexable(X)
    folds = _folds(X, y, cv, rng, classes)
    scores: dict[str, list[Array]] = {name: [] for name, _ in pairs}
    failed: dict[str, Attempt] = {}
    for train, test in folds:
        rows, part = _safe_indexing(X, train), _safe_indexing(X, test)
        for name, estimator in pairs:
            if name in failed:
                continue
            done = try_fit(name, estimator, rows, y[train], None if weight is None else weight[train])
            if done.error is None:
                try:
                    scores[name].append(_log_scores(done.model, part, y[test], classes))
                    continue
                # A model that can't predict counts as failed.
                except Exception as error:
                    done = Attempt(name, error=error)
            failed[name] = done
    kept = [np.concatenate(values) for name, values in scores.items() if name not in failed]
    tested = np.concatenate([test for _, test in folds])
    table = np.column_stack(kept) if kept else np.empty((len(tested), 0))
    return table, tested, list(failed.values()), len(folds)


def held_out_points(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    weight: Array | None,
    classes: NDArray[Any] | None,
    folds: list[Split] | None = None,
) -> Array:
    """The means of a regressor or the probabilities of a classifier for each row, by five-fold cross-validation."""
    (X,) = indexable(X)
    found = np.full(len(y) if classes is None else (len(y), len(classes)), np.nan)
    for train, test in folds or _folds(X, y, 5, np.random.default_rng(0), classes):
        done = try_fit("", estimator, _safe_indexing(X, train), y[train], None if weight is None else weight[train])
        if done.error is not None:
            raise done.error
        part = _safe_indexing(X, test)
        found[test] = done.model.predict(part) if classes is None else class_probabilities(done.model, part, classes)
    return found


def _folds(X: Any, y: NDArray[Any], cv: Any, rng: np.random.Generator, classes: NDArray[Any] | None) -> list[Split]:
    """Folds stratified by class that don't depend on the order of the rows or on copies.

    Rows of equal inputs share a fold, unless there are few distinct rows.
    """
    codes = np.zeros(len(y), dtype=np.intp) if classes is None else np.searchsorted(classes, y)
    groups = equal_rows(X, len(y))
    is_number = isinstance(cv, int | np.integer) and not isinstance(cv, bool)
    if not is_number or cv < 2 or groups.max() + 1 < 2 * cv:
        found, notes = splits(X, y, cv, rng, classes=classes is not None and int(np.bincount(codes).min()) > 1)
        for note in notes:
            warn(note, FitWarning, stacklevel=5)
        return found
    return pairs_of_folds(group_folds(groups, codes, int(cv), rng))


def _log_scores(model: Any, X: Any, y: NDArray[Any], classes: NDArray[Any] | None) -> Array:
    if classes is None:
        found = predictive(model, X).log_prob(y)
    else:
        with np.errstate(divide="ignore"):
            table = np.log(class_probabilities(model, X, classes))
        found = table[np.arange(len(y)), np.searchsorted(classes, y)]
    if np.isnan(found).any():
        raise ValueError("its predictions of held-out rows are not numbers (NaN)")
    return found
