"""The centered regression data through their singular values.

    √w (X − 1 x̄ᵀ) = U diag(s) Vᵀ,    q = Uᵀ √w (y − ȳ),    rss = ‖√w (y − ȳ) − U q‖²

Given V, s, q and rss, every ridge penalty, prior precision and evidence costs O(p), and so does the posterior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg as sla
from scipy import sparse as sp

from credo.core.estimator import is_sparse
from credo.core.fields import Axes, Finite, NonNegative, Positive
from credo.core.linalg import EPS, column_norms, constant_columns, graded_svd
from credo.core.parts import RowSummary, reduced, row_summary

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Spectrum:
    """Centered data in their singular basis; see the module's equations.

    `weight` is the sum of the sample weights, that is the number of observations; `y_square` is the weighted
    mean square of the raw targets, for the size of their rounding errors.
    """

    V: Annotated[Array, Axes("d R")]
    s: Annotated[Array, Axes("R")]
    q: Annotated[Array, Axes("R")]
    rss: Annotated[float, Finite, NonNegative]
    weight: Annotated[float, Finite, Positive]
    x_mean: Annotated[Array, Axes("d")]
    y_mean: Annotated[float, Finite]
    y_square: Annotated[float, Finite, NonNegative]
    centered: bool

    def _check_state(self) -> None:
        # These are parts of the targets, so their sum of squares is not larger.
        parts = [*np.abs(self.q), self.rss**0.5, abs(self.y_mean) * self.weight**0.5]
        if max(parts) > 1.001 * (self.weight * self.y_square) ** 0.5 + 1e-150:
            raise ValueError("q, rss and y_mean must be smaller than the targets")

    @property
    def dof(self) -> float:
        """Observations, less one for the intercept if there is one."""
        return self.weight - self.centered

    @property
    def spans_all(self) -> bool:
        """Whether the rows span every direction of the feature space."""
        return len(self.s) == len(self.x_mean)

    def coordinates(self, X: Any) -> Array:
        """x − x̄ along the columns of V, for each row of X."""
        return components(X, self.V, self.x_mean)[0]

    def components(self, X: Any) -> tuple[Array, Array]:
        """These coordinates, and the squared length of the rest of x − x̄."""
        return components(X, self.V, self.x_mean, rest=True)

    @classmethod
    def of(cls, summary: RowSummary, *, center: bool) -> Spectrum:
        """The spectrum of summarized rows, about their mean (`center`) or about zero."""
        summary = summary.for_intercept(center)
        x_mean, y_mean = summary.mean[:-1], float(summary.mean[-1])
        rows, target = summary.factor[:, :-1], summary.factor[:, -1]
        flat = constant_columns(column_norms(rows), x_mean, summary.weight)
        rows = np.where(flat, 0.0, rows) if flat.any() else rows
        V, s, q, rss = _decomposed(rows, target, n_rows=summary.n_rows, rank=summary.n_rows - center)
        return cls(
            V=V,
            s=s,
            q=q,
            rss=rss,
            weight=summary.weight,
            x_mean=x_mean,
            y_mean=y_mean,
            y_square=float(target @ target) / summary.weight + y_mean**2,
            centered=center,
        )

    def summary(self) -> RowSummary:
        """A summary of the rows: diag(s) Vᵀ is a square root of their Gram matrix."""
        factor = np.zeros((len(self.s) + 1, len(self.x_mean) + 1))
        factor[:-1, :-1], factor[:-1, -1], factor[-1, -1] = self.s[:, None] * self.V.T, self.q, np.sqrt(self.rss)
        mean = np.append(self.x_mean, self.y_mean)
        n_rows = max(len(self.s) + 1, round(self.weight))
        return RowSummary(reduced(factor), mean, np.zeros_like(mean), self.weight, n_rows, self.centered)


def components(X: Any, V: Array, x_mean: Array, *, rest: bool = False) -> tuple[Array, Array]:
    """Coordinates of x − x̄ along orthonormal V for each row, and (if asked for) the squared length of the rest."""
    sparse = is_sparse(X)
    inside = np.asarray(X @ V) - x_mean @ V if sparse else (X - x_mean) @ V
    if not rest or V.shape[0] == V.shape[1]:
        return inside, np.zeros(len(inside))
    if sparse:
        length = np.asarray(X.multiply(X).sum(axis=1)).ravel() - 2 * (X @ x_mean) + x_mean @ x_mean
        return inside, np.maximum(length - np.einsum("ij,ij->i", inside, inside), 0.0)
    outside = X - x_mean - inside @ V.T
    return inside, np.einsum("ij,ij->i", outside, outside)


def spectrum(X: Any, y: Array, weight: Array | None = None, *, center: bool) -> Spectrum:
    """The spectrum of rows X (dense or CSR) with targets y and weights."""
    n_samples, n_features = X.shape
    # More than 3.2 GB.
    if n_features * min(n_samples, n_features) > 400_000_000:
        raise ValueError(
            f"X has {n_samples} rows and {n_features} columns, whose singular vectors would fill "
            f"{8e-9 * n_features * min(n_samples, n_features):.0f} GB. Use fewer columns, or "
            "LMSRegression.partial_fit on chunks."
        )
    return _of_sparse(X, y, weight, center) if is_sparse(X) else Spectrum.of(row_summary(X, y, weight), center=center)


_Parts = tuple[Array, Array, Array, float]


def _decomposed(rows: Array, target: Array, *, n_rows: int, rank: int) -> _Parts:
    """V, s, q and rss of a factor, by the smaller Gram matrix, or by the SVD if that loses digits.

    `rank` is the largest possible one: the other eigenvalues of the n×n Gram matrix are known to be zero.
    """
    k, n_features = rows.shape
    if k > n_features:
        values, V, trusted = _eigh(rows.T @ rows, n_null=0)
        s = np.sqrt(values)
        U = (rows @ V) / s
    else:
        values, U, trusted = _eigh(rows @ rows.T, n_null=max(k - rank, 0))
        s = np.sqrt(values)
    q = U.T @ target
    residual = target - U @ q
    rss = float(residual @ residual)
    # A Gram matrix blurs directions of small eigenvalues, and residuals that are small compared to the target.
    if not trusted or (k > n_features and rss <= 1e-6 * float(target @ target)):
        return _svd(rows, target, order=n_rows)
    return V if k > n_features else (rows.T @ U) / s, s, q, rss


def _of_sparse(X: Any, y: Array, weight: Array | None, center: bool) -> Spectrum:
    """CSR rows, not made dense if possible: the smaller Gram matrix, centered by means of its row sums."""
    n_samples, n_features = X.shape
    root = np.ones(n_samples) if weight is None else np.sqrt(weight)
    total = float(root @ root)
    x_mean = (X.T @ (root * root)) / total if center else np.zeros(n_features)
    y_mean = float(np.average(y, weights=weight)) if center else 0.0
    rows = sp.diags_array(root) @ X
    target = root * (y - y_mean)
    if n_features < n_samples:
        gram = np.asarray((rows.T @ rows).todense()) - total * np.outer(x_mean, x_mean)
        flat = constant_columns(np.sqrt(np.maximum(gram.diagonal(), 0.0)), x_mean, total)
        gram[flat], gram[:, flat] = 0.0, 0.0
        values, V, trusted = _eigh(gram, n_null=0)
        s = np.sqrt(values)
        q = (V.T @ (rows.T @ target - x_mean * (root @ target))) / s
    else:
        # (R − r x̄ᵀ)(R − r x̄ᵀ)ᵀ with R the weighted rows and r the roots of the weights.
        lean = rows @ x_mean
        gram = np.asarray((rows @ rows.T).todense())
        gram -= np.outer(lean, root) + np.outer(root, lean) - float(x_mean @ x_mean) * np.outer(root, root)
        values, U, trusted = _eigh(gram, n_null=int(center))
        s = np.sqrt(values)
        V = (rows.T @ U - np.outer(x_mean, root @ U)) / s
        q = U.T @ target
    if not trusted and n_samples * n_features <= 8_000_000:
        return Spectrum.of(row_summary(X.toarray(), y, weight), center=center)
    w = V @ (q / s)
    residual = target - (rows @ w - root * float(x_mean @ w))
    y_square = float(np.average(y * y, weights=weight))
    return Spectrum(V, s, q, float(residual @ residual), total, x_mean, y_mean, y_square, center)


def _eigh(gram: Array, *, n_null: int) -> tuple[Array, Array, bool]:
    """Eigenpairs above the rounding noise, largest first, and whether none of them has lost digits.

    `n_null` eigenvalues are known to be zero beforehand and don't count as lost.
    """
    values, vectors = sla.eigh(gram, check_finite=False, driver="evd")
    largest = max(float(values[-1]), 0.0)
    trusted = bool((values[n_null:] > 1e-6 * largest).all())
    # The absolute error is near eps·λ_max: smaller values may be rounding errors, and those below 1e-6 lose digits.
    keep = values > 1e-13 * largest
    keep[:n_null] = False
    return values[keep][::-1], vectors[:, keep][:, ::-1], trusted


def _svd(rows: Array, target: Array, *, order: int = 0) -> _Parts:
    """Thin SVD of the rows with directions at the rounding level dropped."""
    norms = column_norms(rows)
    used = norms[norms > 0]
    if len(used) and used.max() > 1e5 * used.min():
        U, s, V = graded_svd(rows, order=order)
    else:
        U, s, Vt = sla.svd(rows, full_matrices=False, check_finite=False)
        keep = s > (s[0] if len(s) else 0.0) * EPS * max(*rows.shape, order)
        U, s, V = U[:, keep], s[keep], np.ascontiguousarray(Vt[keep].T)
        # A column of zeros has no part in any direction, not even a rounding error.
        V[norms == 0] = 0.0
    q = U.T @ target
    residual = target - U @ q
    return V, s, q, float(residual @ residual)
