"""Gaussian basis functions around centres."""

from __future__ import annotations

from math import frexp, ldexp
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist, pdist

from credo.estimator import check_positive, positive, positive_integer
from credo.features._basis import MAX_COLUMNS, Basis, checked_width, is_count

# The median distance is computed from at most this many centres.
_MEDIAN_CENTERS = 2000


class Radial(Basis):
    """Gaussian basis functions around centres (Bishop 3.4, 6.37).

        φⱼ(x) = exp(−‖x − cⱼ‖² / (2 width²))

    Distances combine all columns, so standardize columns of different units first (`StandardScaler`).

    Parameters
    ----------
    centers : "data", int or array of shape (n_centers, n_features), default 20
        "data" uses every training row. An int k selects k well-spread training rows: first the one nearest
        to the mean, then repeatedly the one farthest from all those selected
        (Gonzalez 1985), so that no row is farther from a centre than twice the least possible; fewer when
        fewer rows are distinct. The selection is deterministic and doesn't depend on the order of the rows. An array
        gives the centres; with a single column it may be a list.
    width : "median" or float, default "median"
        "median" is the median distance between different centres.

    Attributes
    ----------
    centers_ : array of shape (n_centers, n_features)
    width_ : float
    n_features_in_ : int

    Examples
    --------
    >>> from credo.features import Radial
    >>> basis = Radial([[0.0], [2.0]], width=1.0).fit([[0.0], [1.0]])
    >>> basis.transform([[0.0], [1.0]]).round(4)
    array([[1.    , 0.1353],
           [0.6065, 0.6065]])
    >>> basis.get_feature_names_out().tolist()
    ['radial(x0=0)', 'radial(x0=2)']
    """

    centers_: NDArray[np.float64]
    width_: float

    _SHAPES: ClassVar[dict[str, str]] = {"centers_": "k d", "width_": ""}

    def __init__(
        self, centers: Literal["data"] | int | ArrayLike = 20, *, width: float | Literal["median"] = "median"
    ) -> None:
        self.centers = centers
        self.width = width

    def _check_state(self) -> None:
        super()._check_state()
        check_positive(self, "width_")

    def _learn(self, X: NDArray[np.float64]) -> None:
        self.centers_ = self._select_centers(X)
        if isinstance(self.width, str) and self.width == "median":
            self.width_ = _median_distance(self.centers_, X)
        else:
            self.width_ = positive("width", self.width, words=["median"])

    def _select_centers(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        if isinstance(self.centers, str) and self.centers == "data":
            checked_width(len(X), what="Radial with centers='data'", remedy="set centers to a smaller number")
            return X.copy()
        if is_count(self.centers):
            k = checked_width(positive_integer("centers", self.centers), what="Radial", remedy="ask for fewer centers")
            return _farthest_points(X, k)
        return _given_centers(self.centers, X.shape[1])

    def _design(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        # Differences, not ‖x‖² − 2xᵀc + ‖c‖², so that a row at a centre is at distance zero exactly.
        unit = _binary_unit(self.centers_)
        ratio = min(unit / self.width_, np.finfo(np.float64).max)
        with np.errstate(over="ignore", under="ignore"):
            return np.exp(-0.5 * (cdist(X / unit, self.centers_ / unit) * ratio) ** 2)

    def _names(self, columns: list[str]) -> list[str]:
        if len(columns) > 3:
            return [f"radial{j}" for j in range(len(self.centers_))]
        return [
            f"radial({', '.join(f'{name}={value:.6g}' for name, value in zip(columns, center, strict=True))})"
            for center in self.centers_
        ]


def _given_centers(value: Any, n_features: int) -> NDArray[np.float64]:
    try:
        centers = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        centers = np.empty(0)
    if centers.ndim == 1 and n_features == 1:
        centers = centers[:, None]
    if centers.ndim != 2 or centers.size == 0 or len(centers) > MAX_COLUMNS:
        raise ValueError(
            "centers must be 'data', a number of centres (int), or an array of shape (n_centers, n_features) "
            f"with up to {MAX_COLUMNS:,} rows; got {value!r}"
        )
    if centers.shape[1] != n_features:
        raise ValueError(f"centers have {centers.shape[1]} columns, but X has {n_features}")
    if not np.isfinite(centers).all():
        raise ValueError(f"centers must be finite; got {value!r}")
    return centers


def _farthest_points(X: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Farthest-point traversal of the distinct rows, sorted so that ties don't depend on the order of the rows."""
    rows = np.unique(X, axis=0)
    scaled = rows / _binary_unit(rows)
    chosen = [int(np.argmin(cdist(scaled, scaled.mean(axis=0)[None, :])))]
    distance = cdist(scaled, scaled[chosen[:1]])[:, 0]
    while len(chosen) < min(k, len(rows)):
        chosen.append(int(np.argmax(distance)))
        distance = np.minimum(distance, cdist(scaled, scaled[chosen[-1:]])[:, 0])
    return rows[chosen]


def _median_distance(centers: NDArray[np.float64], X: NDArray[np.float64]) -> float:
    """Median distance between different centres; if there is only one, of the rows from it; otherwise 1."""
    unit = _binary_unit(centers)
    some = centers[:: -(-len(centers) // _MEDIAN_CENTERS)] / unit
    for distances in (pdist(some), cdist(X / unit, some[:1]).ravel()):
        apart = distances[distances > 0]
        if len(apart):
            return min(float(np.median(apart)) * unit, np.finfo(np.float64).max)
    return 1.0


def _binary_unit(centers: NDArray[np.float64]) -> float:
    """A power of two near the largest entry: dividing by it is exact and keeps squares from overflowing."""
    return ldexp(1.0, min(frexp(float(np.abs(centers).max()) or 1.0)[1], 1023))
