"""The columns and the target of a table, centred, weighted, and reduced to a triangular factor if they are tall."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg as sla
from numpy.typing import ArrayLike, NDArray

from credo.core.estimator import check_places, check_positive, check_shapes
from credo.core.parts import RowSummary
from credo.sparse._dependence import DEPENDENT, lengths, unit_columns

Array = NDArray[np.float64]

_EPS = float(np.finfo(np.float64).eps)
# The squared length of a target of zeros, so that its logarithm exists.
_NOTHING = 1e-300
# Columns that leave a smaller share of the target reproduce it.
EXACT = 1e-20
# Rounding errors of the numbers of a centred column.
_ROUNDINGS = 8.0


@dataclass(frozen=True)
class Design:
    """Centred columns in their own units, and the centred target.

    Parameters
    ----------
    X, y : arrays of shape (m, d) and (m,)
        The columns that vary, in coordinates that keep the inner products of the weighted rows.
    kept : array of shape (d,)
        Their places in the table.
    unit, x_mean : arrays of shape (d,)
        What each was divided by, and its mean.
    least : array of shape (d,)
        The share of each column's length that must be left given others: `DEPENDENT`, or the rounding errors of
        columns with a large offset.
    yy, y_mean, n : the target's squared length and mean, and the total weight
    n_features : int
        The number of columns of the table.
    n_rows : float
        The number of distinct rows, where the columns can reproduce the target; otherwise infinite.
    """

    X: Array
    y: Array
    kept: NDArray[np.intp]
    unit: Array
    x_mean: Array
    least: Array
    yy: float
    y_mean: float
    n: float
    n_features: int
    n_rows: float

    def _check_state(self) -> None:
        check_shapes(self, X="m r", y="m", kept="r", unit="r", x_mean="r", least="r", yy="", y_mean="", n="")
        check_places(self, "kept", self.n_features)
        if (np.diff(self.kept) <= 0).any():
            raise ValueError("kept must be in order, each column once")
        check_positive(self, "n", "yy", "unit", "n_rows")

    @classmethod
    def of(cls, X: Array, y: Array, weight: Array | None = None, *, unit: str = "length") -> Design:
        """From rows, targets and positive weights; columns of unit "length", unit "variance", or "as given"."""
        total = float(len(y) if weight is None else weight.sum())
        _require_observations(len(y), total)
        root = np.ones(len(y)) if weight is None else np.sqrt(weight)
        size = np.abs(X).max(axis=0, initial=0.0)
        (x_mean, rows), (y_mean, target) = _centred(X, weight), _centred(y[:, None], weight)
        rows, target = rows * root[:, None], target[:, 0] * root
        level = _rounding(float(np.abs(y).max()), total)
        mean = np.append(x_mean, y_mean)
        design = cls._of_centred(rows, target, mean, total, size=size, level=level, unit=unit)
        if _rest(design.X, design.y, design.yy) < EXACT:
            return replace(design, n_rows=float(len(np.unique(X[:, design.kept], axis=0))))
        return design

    @classmethod
    def of_summary(cls, summary: RowSummary, *, unit: str = "length") -> Design:
        """The same from a summary of the rows, whose factor has their inner products."""
        summary = summary.for_intercept(True)
        total, factor = summary.weight, summary.factor
        _require_observations(summary.n_rows, total)
        spread = lengths(factor) / np.sqrt(total)
        size = np.abs(summary.mean) + spread
        level = _rounding(float(size[-1]), total)
        rows, target = factor[:, :-1], factor[:, -1].copy()
        design = cls._of_centred(
            rows, target, summary.mean, total, size=size[:-1], level=level, unit=unit
        )  # fmt: skip
        exact = _rest(design.X, design.y, design.yy) < EXACT
        return replace(design, n_rows=float(summary.n_rows)) if exact else design

    @classmethod
    def _of_centred(
        cls,
        rows: Array,
        target: Array,
        mean: Array,
        total: float,
        *,
        size: Array,
        level: float,
        unit: str,
    ) -> Design:
        """From centred, weighted rows; `size` is that of the numbers in each column, `level` the target's rounding."""
        scale, rounding, n_features = lengths(rows), 8 * _EPS * np.sqrt(total), rows.shape[1]
        # Columns that vary no more than the rounding error of their mean are constant.
        kept = np.flatnonzero(scale > rounding * np.abs(mean[:-1]))
        length, least = scale[kept], np.clip(rounding * size[kept] / scale[kept], DEPENDENT, 1.0)
        scale = {"length": length, "variance": length / np.sqrt(total), "as given": np.ones(len(kept))}[unit]
        rows = rows[:, kept] / scale
        if len(rows) > len(kept) + 1:
            # The triangular factor has the inner products of the rows.
            R = np.asarray(np.linalg.qr(np.column_stack([rows, target]), mode="r"))
            rows, target = np.ascontiguousarray(R[:, :-1]), R[:, -1].copy()
        yy = max(float(target @ target), level)
        return cls(rows, target, kept, scale, mean[kept], least, yy, float(mean[-1]), total, n_features, np.inf)

    @property
    def sizes(self) -> dict[str, Any]:
        """What a slab needs to know of the data."""
        return {"n": self.n, "yy": self.yy, "d": len(self.kept), "n_rows": self.n_rows}

    @property
    def flat(self) -> list[int]:
        """Constant columns of the table."""
        return sorted(set(range(self.n_features)) - set(self.kept.tolist()))

    @property
    def constant(self) -> bool:
        """Whether the target is constant up to rounding."""
        return float(self.y @ self.y) < self.yy

    def restrict(self, columns: NDArray[np.intp]) -> Design:
        """The same with these columns of the table alone."""
        places = self.places(columns)
        parts = {name: getattr(self, name)[places] for name in ("kept", "unit", "x_mean", "least")}
        return replace(self, X=np.ascontiguousarray(self.X[:, places]), **parts)

    def places(self, columns: ArrayLike) -> NDArray[np.intp]:
        """Where columns of the table stand in X."""
        return np.searchsorted(self.kept, np.asarray(columns, dtype=np.intp))

    def rest(self, places: ArrayLike) -> float:
        """The share of the target that columns, by their places in X, leave unexplained; they may be dependent."""
        return _rest(self.X[:, np.asarray(places, dtype=np.intp)], self.y, self.yy)


def _centred(X: Array, weight: Array | None) -> tuple[Array, Array]:
    """Weighted means and centred columns; centred twice, because a mean is rounded."""
    mean = np.average(X, axis=0, weights=weight)
    rest = X - mean
    more = np.average(rest, axis=0, weights=weight)
    return mean + more, rest - more


def _require_observations(n_rows: int, total: float) -> None:
    if not total > 1:
        raise ValueError(
            f"n_samples={n_rows} with a total weight of {total:g} is too few: a mean and its noise need more than "
            "one observation"
        )


def _rounding(size: float, total: float) -> float:
    """The squared length of the rounding errors of a centred target, of this `size` before it was centred."""
    return max(total * (256 * _EPS * size) ** 2, _NOTHING)


def _rest(X: Array, y: Array, yy: float) -> float:
    """The share of y that columns leave unexplained, which may be dependent; zero where it may be rounding error.

    A column of which p is left given others is known to about ε, so its direction, in which y has u, may err by ε/p,
    and the residual of y by uε/p.
    """
    Q, R, _ = sla.qr(unit_columns(X), mode="economic", pivoting=True, check_finite=False)
    pivots = np.abs(np.diagonal(R))
    known = pivots > max(X.shape) * _EPS * pivots.max(initial=0.0)
    Q, pivots = Q[:, : len(pivots)][:, known], pivots[known]
    share = Q.T @ y
    rest = y - Q @ share
    rest -= Q @ (Q.T @ rest)
    if np.linalg.norm(rest) <= _ROUNDINGS * _EPS * float(np.sum(np.abs(share) / pivots)):
        rest = np.zeros_like(y)
    return (float(rest @ rest) + max(yy - float(y @ y), 0.0)) / yy
