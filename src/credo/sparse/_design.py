"""The columns and the target of a table, centred and weighted; many rows are reduced to a triangular factor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import scipy.linalg as sla
from numpy.typing import ArrayLike, NDArray

from credo.core.fields import Axes, Finite, Increasing, Indices, Positive, Size
from credo.core.linalg import column_norms
from credo.core.parts import RowSummary, row_summary
from credo.sparse._dependence import DEPENDENT, unit_columns

Array = NDArray[np.float64]

_EPS = float(np.finfo(np.float64).eps)
# Columns with a smaller 1 − R² reproduce the target.
EXACT_FIT = 1e-20


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
        The divisor of each column, and its mean.
    least : array of shape (d,)
        The share of each column's length that must be left given others: `DEPENDENT`, or the rounding errors of
        columns with a large offset.
    yy, y_mean, n : the target's squared length and mean, and the total weight
    n_features : int
        The number of columns of the table.
    n_rows : float
        The number of distinct rows if the columns can reproduce the target; otherwise infinite.
    """

    X: Annotated[Array, Axes("m R")]
    y: Annotated[Array, Axes("m")]
    kept: Annotated[NDArray[np.intp], Axes("R"), Indices("d"), Increasing]
    unit: Annotated[Array, Axes("R"), Positive]
    x_mean: Annotated[Array, Axes("R")]
    least: Annotated[Array, Axes("R")]
    yy: Annotated[float, Finite, Positive]
    y_mean: Annotated[float, Finite]
    n: Annotated[float, Finite, Positive]
    n_features: Annotated[int, Size("d")]
    n_rows: Annotated[float, Positive]

    @classmethod
    def of(cls, X: Array, y: Array, weight: Array | None = None, *, unit: str = "length") -> Design:
        """From rows, targets and positive weights; columns of unit "length", unit "variance", or "as given"."""
        design = cls.of_summary(row_summary(X, y, weight), unit=unit)
        if np.isinf(design.n_rows):
            return design
        return replace(design, n_rows=float(len(np.unique(X[:, design.kept], axis=0))))

    @classmethod
    def of_summary(cls, summary: RowSummary, *, unit: str = "length") -> Design:
        """The same from a summary of the rows, whose factor has their inner products."""
        summary = summary.for_intercept(True)
        total, mean = summary.weight, summary.mean
        if not total > 1:
            raise ValueError(
                f"n_samples={summary.n_rows} with a total weight of {total:g} is too few: a mean and its noise need "
                "more than one observation"
            )
        rows, target = summary.factor[:, :-1], summary.factor[:, -1].copy()
        scale, rounding = column_norms(rows), 8 * _EPS * np.sqrt(total)
        # The size of the numbers in each column.
        size = np.abs(mean) + column_norms(summary.factor) / np.sqrt(total)
        # Columns that vary no more than the rounding error of their mean are constant.
        kept = np.flatnonzero(scale > rounding * np.abs(mean[:-1]))
        length, least = scale[kept], np.clip(rounding * size[kept] / scale[kept], DEPENDENT, 1.0)
        scale = {"length": length, "variance": length / np.sqrt(total), "as given": np.ones(len(kept))}[unit]
        rows = rows[:, kept] / scale
        if len(rows) > len(kept) + 1:
            # The triangular factor has the inner products of the rows.
            R = np.asarray(np.linalg.qr(np.column_stack([rows, target]), mode="r"))
            rows, target = np.ascontiguousarray(R[:, :-1]), R[:, -1].copy()
        # At least the squared length of the target's rounding errors, and positive, so that its logarithm exists.
        yy = max(float(target @ target), total * (256 * _EPS * size[-1]) ** 2, 1e-300)
        n_rows = float(summary.n_rows) if _one_minus_r2(rows, target, yy) < EXACT_FIT else np.inf
        return cls(rows, target, kept, scale, mean[kept], least, yy, float(mean[-1]), total, summary.n_features, n_rows)

    @property
    def sizes(self) -> dict[str, Any]:
        """The numbers of the data that a slab depends on."""
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
        """Indices in X of columns of the table."""
        return np.searchsorted(self.kept, np.asarray(columns, dtype=np.intp))

    def one_minus_r2(self, places: ArrayLike) -> float:
        """1 − R² of columns, given by their indices in X; they may be dependent."""
        return _one_minus_r2(self.X[:, np.asarray(places, dtype=np.intp)], self.y, self.yy)


def _one_minus_r2(X: Array, y: Array, yy: float) -> float:
    """1 − R² of columns, which may be dependent; zero if it may be rounding error.

    A column is known to about ε. If p of its length is left given the others, its direction may err by ε/p, and the
    residual of y by uε/p, with u the component of y in that direction.
    """
    Q, R, _ = sla.qr(unit_columns(X), mode="economic", pivoting=True, check_finite=False)
    pivots = np.abs(np.diagonal(R))
    known = pivots > max(X.shape) * _EPS * pivots.max(initial=0.0)
    Q, pivots = Q[:, : len(pivots)][:, known], pivots[known]
    share = Q.T @ y
    residual = y - Q @ share
    residual -= Q @ (Q.T @ residual)
    if np.linalg.norm(residual) <= 8 * _EPS * float(np.sum(np.abs(share) / pivots)):
        residual = np.zeros_like(y)
    return (float(residual @ residual) + max(yy - float(y @ y), 0.0)) / yy
