"""The coefficients of a fitted model, on a scale on which they can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array
from sklearn.utils.sparsefuncs import mean_variance_axis

from credo.io.preparation.scale import is_sparse
from credo.report._inputs import sources

Vector = NDArray[np.float64]

# A normal number lies within so many standard deviations 95 times in 100.
_Z = 1.959963984540054


@dataclass(frozen=True)
class Effects:
    """Change of the target when a feature takes one `step`, the others fixed, with 95 % intervals.

    Of a model of the transformed target the change is that of the transformed one, and `transform` is its name.
    """

    model: str
    names: list[str]
    estimate: Vector
    lower: Vector
    upper: Vector
    transform: str = ""

    @property
    def sure(self) -> NDArray[np.bool_]:
        """Which intervals exclude zero."""
        return (self.lower > 0) | (self.upper < 0)

    @property
    def known(self) -> int:
        """How many intervals are finite; a weight that the data don't determine has none."""
        return int(np.isfinite(self.upper - self.lower).sum())

    @property
    def strength(self) -> Vector:
        """|estimate| by the width of its interval, which the units of a column don't change; 0 where there is none."""
        width = self.upper - self.lower
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.abs(self.estimate) / width
        return np.where(np.isfinite(width) & (self.estimate != 0), ratio, 0.0)


def effects(models: Mapping[str, Any], frame: Any) -> Effects | None:
    """The coefficients of the first model that has them for each prepared column, with their uncertainty."""
    for name, model in models.items():
        estimator, transform = untransformed(model.estimator_)
        found = _intervals(estimator)
        if found is None:
            continue
        names = _named(model)
        estimate, lower, upper = found
        if len(names) == len(estimate) and np.isfinite(upper - lower).any():
            scale = step(model.preparation_.transform(frame))
            return Effects(name, names, estimate * scale, lower * scale, upper * scale, transform)
    return None


def _named(model: Any) -> list[str]:
    """The prepared columns' names; a date goes by the name of its column, without the day that it is counted from."""
    days = {
        encoder.names()[0]: encoder.name
        for encoder in getattr(model.preparation_, "encoders_", ())
        if hasattr(encoder, "origin") and encoder.value
    }
    names = [str(feature) for feature in model.preparation_.get_feature_names_out()]
    return [days.get(name, name) for name in names]


def untransformed(estimator: Any) -> tuple[Any, str]:
    """The estimator of a transformed target and the name of the transformation; of others itself and nothing."""
    transform: Any = getattr(estimator, "transformation_", None)
    if not hasattr(transform, "log_derivative"):
        return estimator, ""
    return estimator.estimator_, "" if transform.name == "identity" else str(transform.name)


@dataclass(frozen=True)
class Weights:
    """How much each prepared column moves the log odds or logits over the rows, and the class that it speaks for.

    That is its weight times its standard deviation, so that what hardly ever happens counts little. A column that
    stands for a word of a text has that word for its name where there is no other text.
    """

    names: list[str]
    are_words: list[bool]
    values: Vector
    classes: list[Any]

    @property
    def order(self) -> NDArray[np.intp]:
        """The columns that have a weight, the strongest first."""
        return np.argsort(-self.values, kind="stable")[: np.count_nonzero(self.values)]


def weights(model: Any, frame: Any) -> Weights | None:
    """The weights of a linear classifier, intervals or not; None of any other, and where all of them are zero."""
    coef = np.asarray(getattr(model.estimator_, "coef_", np.empty(0)), dtype=np.float64)
    names = [str(feature) for feature in model.preparation_.get_feature_names_out()]
    if coef.ndim != 2 or coef.shape[1] != len(names) or not hasattr(model, "classes_"):
        return None
    # The log odds of two classes are those of the second; of more classes, only differences between them count.
    coef = np.vstack([-coef, coef]) if len(coef) == 1 else coef - coef.mean(axis=0)
    moved = _spread(model.preparation_.transform(frame)) * coef.max(axis=0)
    if not moved.any():
        return None
    labels = [model.classes_[k].item() for k in coef.argmax(axis=0)]
    return Weights(*_words(model), moved, labels)


@dataclass(frozen=True)
class Kept:
    """The prepared columns whose weights a penalty hasn't set to zero, the strongest first, and how many there are."""

    model: str
    names: list[str]
    n_weights: int


def kept(models: Mapping[str, Any], frame: Any) -> Kept | None:
    """The weights that aren't zero, of the first model that sets some to zero; None where there is no such model.

    The strongest move the prediction most over the rows. Words of a text stand in quotes.
    """
    for title, model in models.items():
        estimator, _ = untransformed(model.estimator_)
        if hasattr(estimator, "selected_"):
            size = np.abs(np.atleast_2d(estimator.coef_)).max(axis=0)
            moved = size * _spread(model.preparation_.transform(frame))
            order = np.lexsort((-moved, size == 0))[: np.count_nonzero(size)]
            names = [f"“{name}”" if is_word else name for name, is_word in zip(*_words(model), strict=True)]
            return Kept(title, [names[j] for j in order], len(size))
    return None


def _words(model: Any) -> tuple[list[str], list[bool]]:
    """The prepared columns' names, and which are words of a text: by themselves, where there is no other text."""
    names = [str(feature) for feature in model.preparation_.get_feature_names_out()]
    texts = [column.name for column in model.preparation_.columns_ if column.kind == "text"]
    are_words = [origin in texts for origin in sources(model) or names]
    if len(texts) == 1:
        names = [
            name.removeprefix(f"{texts[0]}: ") if is_word else name
            for name, is_word in zip(names, are_words, strict=True)
        ]
    return names, are_words


def _intervals(estimator: Any) -> tuple[Vector, Vector, Vector] | None:
    if hasattr(estimator, "inclusion_probabilities_"):
        return _spike_and_slab(estimator)
    estimate = np.asarray(getattr(estimator, "coef_", np.empty((0, 0))), dtype=np.float64)
    if estimate.ndim == 2 and len(estimate) == 1 and hasattr(estimator, "coef_std_"):
        # The log odds of two classes, with normal weights.
        half = _Z * np.asarray(estimator.coef_std_, dtype=np.float64)[0]
        return estimate[0], estimate[0] - half, estimate[0] + half
    if estimate.ndim != 1 or not len(estimate) or not hasattr(estimator, "confint"):
        return None
    try:
        # The intercept comes before the columns.
        lower, upper = np.asarray(estimator.confint(0.95), dtype=np.float64)[-len(estimate) :].T
    # Without degrees of freedom there are no intervals, and the model says so in its own words.
    except ValueError:
        return None
    return estimate, lower, upper


def _spike_and_slab(estimator: Any) -> tuple[Vector, Vector, Vector]:
    """Means over all subsets and intervals of spike and slab together."""
    lower, upper = estimator._intervals(np.arange(estimator.n_features_in_), 0.95).T
    # What is almost surely zero is shown as zero, and not as its mean over subsets that hardly count.
    return np.where(lower == upper, 0.0, np.ravel(estimator.coef_)), lower, upper


def step(X: Any) -> Vector:
    """How far a column moves when columns are compared.

    One standard deviation; or, when it has two values only (an indicator, a yes or no), from one to the
    other.

    >>> step(np.array([[0.0, 1.0], [1.0, 2.0], [1.0, 3.0]])).round(3)
    array([1.   , 0.816])
    """
    if is_sparse(X):
        return _sparse_step(X)
    X = np.asarray(X, dtype=np.float64)
    low, high = X.min(axis=0), X.max(axis=0)
    two = np.all((low == X) | (high == X), axis=0)
    return np.where(two, high - low, _spread(X))


def _spread(X: Any) -> Vector:
    """The standard deviation of each column."""
    if is_sparse(X):
        return np.sqrt(mean_variance_axis(X.tocsr().astype(np.float64), axis=0)[1])
    return np.asarray(X, dtype=np.float64).std(axis=0)


def _sparse_step(X: Any) -> Vector:
    """The same for sparse columns, whose values are those that are stored and, where one is not, zero."""
    X = csc_array(X, dtype=np.float64)
    n_rows, n_columns = X.shape
    column = np.repeat(np.arange(n_columns), np.diff(X.indptr))
    has_zero = np.bincount(column, minlength=n_columns) < n_rows
    low, high = np.where(has_zero, 0.0, np.inf), np.where(has_zero, 0.0, -np.inf)
    np.minimum.at(low, column, X.data)
    np.maximum.at(high, column, X.data)
    other = (X.data != low[column]) & (X.data != high[column])
    two = np.bincount(column, weights=other, minlength=n_columns) == 0
    two &= ~has_zero | (low == 0) | (high == 0)
    return np.where(two, high - low, _spread(X))
