"""Step functions: indicators of a column below a threshold."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.estimator import positive_integer
from credo.features._basis import Basis, checked_width, given_points, is_count, shortest_decimal


class Step(Basis):
    """Step functions of each column.

        φ(x) = 1{x < a}  for each threshold a

    Linear regression on them is a piecewise constant function with jumps at the thresholds.

    Parameters
    ----------
    thresholds : int or array, default 5
        An int k asks for up to k thresholds in each column: those between neighbouring training values that
        split the rows most nearly at the quantiles 1/(k+1), …, k/(k+1). Every one of them splits the training
        rows, so a column with m distinct values has at most m−1. A list applies to every column; an
        array of shape (n_thresholds, n_features) gives each column its own.

    Attributes
    ----------
    thresholds_, columns_ : arrays of shape (n_features_out,)
        The threshold of each feature, and the column of X that it uses.
    n_features_in_ : int

    Examples
    --------
    >>> from credo.features import Step
    >>> basis = Step([2.5]).fit([[1.0], [3.0]])
    >>> basis.transform([[1.0], [2.5], [3.0]]).ravel()
    array([1., 0., 0.])
    >>> basis.get_feature_names_out().tolist()
    ['x0<2.5']
    """

    thresholds_: NDArray[np.float64]
    columns_: NDArray[np.intp]

    _SHAPES: ClassVar[dict[str, str]] = {"thresholds_": "k", "columns_": "k"}

    def __init__(self, thresholds: int | ArrayLike = 5) -> None:
        self.thresholds = thresholds

    def _learn(self, X: NDArray[np.float64]) -> None:
        if not is_count(self.thresholds):
            self.thresholds_, self.columns_ = given_points("thresholds", self.thresholds, X)
        else:
            count = positive_integer("thresholds", self.thresholds)
            axes = [_splits(column, count) for column in X.T]
            if not any(axes):
                raise ValueError(
                    f"no threshold splits the rows: every column is constant (n_samples = {len(X)}); give "
                    "the thresholds as a list"
                )
            self.thresholds_ = np.concatenate(axes)
            self.columns_ = np.repeat(np.arange(X.shape[1]), [len(axis) for axis in axes])
        checked_width(len(self.thresholds_), what="Step", remedy="ask for fewer thresholds")

    def _design(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return (X[:, self.columns_] < self.thresholds_).astype(np.float64)

    def _names(self, columns: list[str]) -> list[str]:
        return [f"{columns[j]}<{shortest_decimal(a)}" for j, a in zip(self.columns_, self.thresholds_, strict=True)]


def _splits(column: NDArray[np.float64], count: int) -> list[float]:
    """Thresholds between neighbouring distinct values, whose shares of rows below are nearest to k/(count+1)."""
    values, repeats = np.unique(column, return_counts=True)
    below = np.cumsum(repeats)[:-1] / len(column)
    if len(below) <= count:
        chosen = np.arange(len(below))
    else:
        wanted = np.arange(1, count + 1) / (count + 1)
        chosen = np.unique(np.abs(below[None, :] - wanted[:, None]).argmin(axis=1))
    return [_between(values[i], values[i + 1]) for i in chosen]


def _between(low: float, high: float) -> float:
    """The shortest decimal near the middle of two values; above `low` and not above `high`.

    >>> _between(1.0, 2.0), _between(0.1, 0.2), _between(1.2345, 1.2346)
    (1.5, 0.15, 1.23455)
    """
    middle = low / 2 + high / 2
    for digits in range(1, 17):
        short = float(f"{middle:.{digits}g}")
        # Rounded by at most half of the distance to either value.
        if low < short <= high and abs(short - middle) <= (high / 2 - low / 2) / 2:
            return short
    return float(high)
