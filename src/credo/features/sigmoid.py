"""Smooth steps of each column."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from credo.estimator import positive
from credo.features._basis import Basis, checked_width, given_points, is_count, quantile_points


class Sigmoid(Basis):
    """Logistic functions of each column at several centres (Bishop 3.5).

        φ(x) = σ(slope · (x − center)),   σ(a) = 1/(1 + e⁻ᵃ)

    Each column of X has its own centres and slope, so many columns give an additive model; products of
    columns come from `Polynomial`.

    Parameters
    ----------
    centers : int or array, default 5
        An int k asks for the quantiles 1/(k+1), …, k/(k+1) of each column. A list applies to every
        column; an array of shape (n_centers, n_features) gives each column its own.
    slope : "auto" or float, default "auto"
        The steepness of the steps. "auto" is one over the mean gap between a column's centres, so that
        neighbouring steps overlap; with a single centre, one over the rows' mean distance from it.

    Attributes
    ----------
    centers_, slopes_, columns_ : arrays of shape (n_features_out,)
        Centre and slope of each feature, and the column of X that it uses.
    n_features_in_ : int

    Examples
    --------
    >>> from credo.features import Sigmoid
    >>> basis = Sigmoid([0.0, 1.0], slope=2.0).fit([[0.0], [1.0]])
    >>> basis.transform([[0.0], [0.5]]).round(3)
    array([[0.5  , 0.119],
           [0.731, 0.269]])
    >>> basis.get_feature_names_out().tolist()
    ['sigmoid(x0-0)', 'sigmoid(x0-1)']
    """

    centers_: NDArray[np.float64]
    slopes_: NDArray[np.float64]
    columns_: NDArray[np.intp]

    _SHAPES: ClassVar[dict[str, str]] = {"centers_": "k", "slopes_": "k", "columns_": "k"}

    def __init__(self, centers: int | ArrayLike = 5, *, slope: float | Literal["auto"] = "auto") -> None:
        self.centers = centers
        self.slope = slope

    def _learn(self, X: NDArray[np.float64]) -> None:
        points: Any = quantile_points if is_count(self.centers) else given_points
        self.centers_, self.columns_ = points("centers", self.centers, X)
        checked_width(len(self.centers_), what="Sigmoid", remedy="ask for fewer centers")
        if isinstance(self.slope, str) and self.slope == "auto":
            slopes = [self._default_slope(j, X[:, j]) for j in range(X.shape[1])]
            self.slopes_ = np.asarray(slopes)[self.columns_]
        else:
            self.slopes_ = np.full(len(self.centers_), positive("slope", self.slope, words=["auto"]))

    def _default_slope(self, j: int, column: NDArray[np.float64]) -> float:
        centers = self.centers_[self.columns_ == j]
        with np.errstate(divide="ignore", over="ignore"):
            gap = np.diff(centers).mean() if len(centers) > 1 else np.abs(column - centers).mean()
            slope = np.divide(1.0, gap)
        return float(slope) if 0 < slope < np.inf else 1.0

    def _design(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(over="ignore"):
            return np.asarray(expit(self.slopes_ * (X[:, self.columns_] - self.centers_)))

    def _names(self, columns: list[str]) -> list[str]:
        pairs = zip(self.columns_, self.centers_, strict=True)
        return [f"sigmoid({columns[j]}{-center:+.6g})" for j, center in pairs]
