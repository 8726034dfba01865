"""Least squares from the triangular factor of the centred rows.

    √w [X − x̄, y − ȳ] = Q R,    R = [[R₁, c], [0, ρ]],    R₁ w = c,    RSS = ρ²

The columns of R are scaled to unit length. A well-conditioned R₁ is solved by back substitution; otherwise the SVD
gives the rank and the solution of smallest norm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg as sla
from scipy.linalg import lapack

from credo.estimator import check_positive, check_shapes, is_sparse
from credo.linear._graded import graded_svd
from credo.linear._rows import BLOCK_ENTRIES, EPS, centred, column_norms, flat_columns, means
from credo.linear._spectrum import spectrum
from credo.linear.summary import RowSummary

Array = NDArray[np.float64]

# Reciprocal condition number above which R₁ is certainly of full rank.
_SAFE_RCOND = 1e-10


@dataclass(frozen=True)
class Solution:
    """A least-squares fit: weights, the mean row, and a root A of (XᵀX)⁻¹ = AAᵀ."""

    coef: Array
    root: Array
    x_mean: Array
    y_mean: float
    rss: float
    tss: float
    n_observations: float
    rank: int
    centered: bool
    # Only for rank-deficient designs: an orthonormal basis of the rows divided by `scale`.
    span: Array | None
    scale: Array

    def _check_state(self) -> None:
        check_shapes(self, coef="d", root="d r", x_mean="d", scale="d", y_mean="")
        check_positive(self, "n_observations")

    @property
    def intercept(self) -> float:
        return self.y_mean - float(self.x_mean @ self.coef)

    def mean(self, X: Any) -> Array:
        if is_sparse(X):
            return np.asarray(X @ self.coef) + self.intercept
        # About the mean of the inputs, because b + wᵀx would lose digits to a large offset.
        return (X - self.x_mean) @ self.coef + self.y_mean

    def unit_cov(self) -> Array:
        """(XᵀX)⁻¹, the covariance of the weights at unit noise."""
        return self.root @ self.root.T

    def coef_scale(self) -> Array:
        """Standard errors at unit noise, infinite for weights that the rows don't determine."""
        scale = np.sqrt(np.einsum("ij,ij->i", self.root, self.root))
        if self.span is not None:
            # A single weight is determined if its axis lies in the span of the rows.
            scale[1.0 - np.einsum("ij,ij->i", self.span, self.span) > 1e-8] = np.inf
        return scale

    def intercept_scale(self) -> float:
        if not self.centered:
            return 0.0
        lean = self.x_mean @ self.root
        return float(np.sqrt(1.0 / self.n_observations + lean @ lean))

    def latent_square(self, X: Any) -> tuple[Array, NDArray[np.bool_]]:
        """Variance of f(x) at unit noise, and whether the training rows determine f there."""
        inside = self._coordinates(X, self.root)
        square = np.einsum("ij,ij->i", inside, inside)
        if self.centered:
            square += 1.0 / self.n_observations
        if self.span is None:
            return square, np.ones(len(square), dtype=bool)
        if is_sparse(X):
            parts = range(0, X.shape[0], max(1, BLOCK_ENTRIES // X.shape[1]))
            step = parts.step
            return square, np.concatenate([self._estimable(X[start : start + step].toarray()) for start in parts])
        return square, self._estimable(X)

    def _coordinates(self, X: Any, directions: Array) -> Array:
        """(x − x̄)ᵀA for each row."""
        if is_sparse(X):
            return np.asarray(X @ directions) - self.x_mean @ directions
        return (X - self.x_mean) @ directions

    def _estimable(self, X: Array) -> NDArray[np.bool_]:
        """Whether the training rows determine f at each row."""
        assert self.span is not None
        rows = (X - self.x_mean) / self.scale
        off = rows - (rows @ self.span) @ self.span.T
        reach = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        return np.sqrt(np.einsum("ij,ij->i", off, off)) <= 1e-8 * (1.0 + reach)

    def latent_gram(self, X: Any) -> Array:
        """Covariance of f between rows at unit noise."""
        inside = self._coordinates(X, self.root)
        return inside @ inside.T + (1.0 / self.n_observations if self.centered else 0.0)


def least_squares(summary: RowSummary, *, center: bool) -> Solution:
    """The least-squares solution, of smallest norm where there are many."""
    summary = summary.for_intercept(center)
    n_features, order = summary.n_features, max(summary.n_rows, summary.n_features)
    x_mean, y_mean = summary.mean[:-1], float(summary.mean[-1])
    R1, c, tail = summary.factor[:, :-1], summary.factor[:, -1], 0.0
    triangular = len(R1) > n_features
    if triangular:
        R1, c, tail = R1[:-1], c[:-1], float(c[-1]) ** 2
    tss = float(c @ c) + tail
    scale = column_norms(R1)
    flat = flat_columns(scale, x_mean, summary.weight)
    R1 = np.where(flat, 0.0, R1 / np.where(flat, 1.0, scale))
    scale = np.where(flat, np.maximum(np.abs(x_mean), 1.0), scale)
    if triangular and not flat.any() and _rcond(R1) > _SAFE_RCOND:
        coef = sla.solve_triangular(R1, c, check_finite=False)
        root = sla.solve_triangular(R1, np.eye(n_features), check_finite=False)
        span, rank = None, n_features
    else:
        coef, root, span, rank, rest = _by_svd(R1, c, scale, order)
        tail += rest
    return Solution(
        coef=coef / scale if span is None else coef,
        root=root / scale[:, None] if span is None else root,
        x_mean=x_mean,
        y_mean=y_mean,
        rss=tail,
        tss=tss,
        n_observations=summary.weight,
        rank=rank,
        centered=center,
        span=span,
        scale=scale,
    )


def sparse_least_squares(X: Any, y: Array, weight: Array | None, *, center: bool) -> Solution:
    """The solution in the singular basis, which is found without making sparse rows dense."""
    data = spectrum(X, y, weight, center=center)
    return Solution(
        coef=data.V @ (data.q / data.s),
        root=data.V / data.s,
        x_mean=data.x_mean,
        y_mean=data.y_mean,
        rss=data.rss,
        tss=data.rss + float(data.q @ data.q),
        n_observations=data.weight,
        rank=len(data.s),
        centered=data.centered,
        span=None if data.spans_all else data.V,
        scale=np.ones(len(data.x_mean)),
    )


def orthonormal_rows(X: Any, weight: Array | None, *, center: bool) -> Array:
    """Q with orthonormal columns that span the (weighted) design, including the column of the intercept."""
    X = X.toarray() if is_sparse(X) else X
    n_samples, n_features = X.shape
    root = np.ones(n_samples) if weight is None else np.sqrt(weight)
    x_mean = means(X, weight) if center else np.zeros(n_features)
    rows, _ = centred(X, root, weight, x_mean=x_mean, y_mean=0.0)
    norms = column_norms(rows)
    kept = ~flat_columns(norms, x_mean, float(root @ root))
    U, s, _ = sla.svd(rows[:, kept] / norms[kept], full_matrices=False, check_finite=False)
    Q = U[:, s > EPS * max(X.shape) * s[0]] if len(s) else np.empty((n_samples, 0))
    return np.column_stack([root / np.linalg.norm(root), Q]) if center else Q


def _rcond(R: Array) -> float:
    rcond, _ = lapack.dtrcon(R, norm="1", uplo="U")
    return float(rcond)


def _by_svd(
    R: Array, c: Array, scale: Array, order: int
) -> tuple[Array, Array, Array | None, int, float]:  # fmt: skip
    """Weights, root, span of the rows, rank and unexplained sum of squares for any R."""
    U, s, Vt = sla.svd(R, full_matrices=False, check_finite=False)
    keep = s > EPS * order * (s[0] if len(s) else 0.0)
    U, s, V = U[:, keep], s[keep], Vt[keep].T
    q = U.T @ c
    rest = c - U @ q
    coef, root, rank = V @ (q / s), V / s, len(s)
    if rank == R.shape[1]:
        return coef, root, None, rank, float(rest @ rest)
    # The smallest norm in the units of X, not in those of the scaled columns.
    left, s, natural = graded_svd(R * scale, order=order)
    q = left.T @ c
    rest = c - left @ q
    return natural @ (q / s), natural / s, V, len(s), float(rest @ rest)
