"""The centred regression data through their singular values.

    √w (X − 1 x̄ᵀ) = U diag(s) Vᵀ,    q = Uᵀ √w (y − ȳ),    rss = ‖√w (y − ȳ) − U q‖²

Given V, s, q and rss, every ridge penalty, prior precision and evidence costs O(p); and since
diag(s) Vᵀ is a square root of the Gram matrix, two spectra merge into the spectrum of their stacked rows
without ever squaring a condition number. That makes this the sufficient statistic of a stream.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg as sla
from scipy import sparse as sp

from credo.estimator import check_positive, check_shapes, require_squares
from credo.linear._graded import graded_svd
from credo.linear._rows import BLOCK_ENTRIES, EPS, centred, column_norms, flat_columns, is_sparse, means, triangle

Array = NDArray[np.float64]

# Eigenvalues of a Gram matrix carry an absolute error near eps·λ_max: below _NOISE they may be nothing else,
# and below _TRUSTED they have lost digits, so that orthogonal transformations are worth their price.
_NOISE = 1e-13
_TRUSTED = 1e-6
# Columns that differ more than this in size lose digits to one another in an ordinary SVD.
_GRADED = 1e5
# Sparse rows up to this many entries are made dense where that saves digits.
_DENSE_ENTRIES = 8_000_000
# Singular vectors of this many entries need 3.2 GB.
_MAX_ENTRIES = 400_000_000


@dataclass(frozen=True)
class Spectrum:
    """Centred data in their singular basis; see the module's equations.

    `weight` is the sum of the sample weights, that is the number of observations; `y_square` is the weighted
    mean square of the raw targets, the yardstick for their rounding error.
    """

    V: Array
    s: Array
    q: Array
    rss: float
    weight: float
    x_mean: Array
    y_mean: float
    y_square: float
    centered: bool

    def _check_state(self) -> None:
        check_shapes(self, V="d r", s="r", q="r", x_mean="d", y_mean="", rss="", weight="")
        check_positive(self, "weight")

    @property
    def dof(self) -> float:
        """Observations that are left once the intercept, if any, has taken its share."""
        return self.weight - self.centered

    @property
    def spans_all(self) -> bool:
        """Whether the rows span every direction of the feature space."""
        return len(self.s) == len(self.x_mean)

    def coordinates(self, X: Any) -> Array:
        """x − x̄ along the columns of V, for each row of X."""
        if is_sparse(X):
            return np.asarray(X @ self.V) - self.x_mean @ self.V
        return (X - self.x_mean) @ self.V

    def merge(self, other: Spectrum) -> Spectrum:
        """The spectrum of both sets of rows together."""
        weight = self.weight + other.weight
        share = other.weight / weight
        root = [self.s[:, None] * self.V.T, other.s[:, None] * other.V.T]
        target = [self.q, other.q]
        if self.centered:
            # Chan, Golub & LeVeque (1983): the means' difference enters as one more row.
            gap = np.sqrt(self.weight * share)
            root.append(gap * (other.x_mean - self.x_mean)[None, :])
            target.append(np.array([gap * (other.y_mean - self.y_mean)]))
        V, s, q, rss = _svd(np.vstack(root), np.concatenate(target))
        return Spectrum(
            V=V,
            s=s,
            q=q,
            rss=self.rss + other.rss + rss,
            weight=weight,
            x_mean=self.x_mean + share * (other.x_mean - self.x_mean),
            y_mean=self.y_mean + share * (other.y_mean - self.y_mean),
            y_square=self.y_square + share * (other.y_square - self.y_square),
            centered=self.centered,
        )


def spectrum(X: Any, y: Array, weight: Array | None = None, *, center: bool) -> Spectrum:
    """The spectrum of rows X (dense or CSR) with targets y and weights."""
    n_samples, n_features = X.shape
    if n_features * min(n_samples, n_features) > _MAX_ENTRIES:
        raise ValueError(
            f"X has {n_samples} rows and {n_features} columns, whose singular vectors would fill "
            f"{8e-9 * n_features * min(n_samples, n_features):.0f} GB. Use fewer columns, or "
            "LMSRegression.partial_fit on chunks."
        )
    require_squares(X, weight)
    total = float(n_samples if weight is None else weight.sum())
    y_mean = float(np.average(y, weights=weight)) if center else 0.0
    if is_sparse(X):
        x_mean, (V, s, q, rss) = _sparse(X, y - y_mean, weight, center)
    elif n_features < n_samples:
        x_mean, (V, s, q, rss) = _tall(X, y - y_mean, weight, center)
    else:
        x_mean = means(X, weight) if center else np.zeros(n_features)
        V, s, q, rss = _wide(X, y - y_mean, weight, x_mean, center)
    return Spectrum(
        V=V,
        s=s,
        q=q,
        rss=rss,
        weight=total,
        x_mean=x_mean,
        y_mean=y_mean,
        y_square=float(np.average(y * y, weights=weight)),
        centered=center,
    )


_Parts = tuple[Array, Array, Array, float]


def _tall(X: Array, y: Array, weight: Array | None, center: bool) -> tuple[Array, _Parts]:
    """More rows than columns: the Gram matrix, gathered in blocks, or the SVD where that loses digits."""
    x_mean, gram, cross, y_ss = _moments(X, y, weight, center)
    values, V, trusted = _eigh(gram, n_null=0)
    s = np.sqrt(values)
    q = (V.T @ cross) / s
    rss = max(y_ss - float(q @ q), 0.0)
    if trusted and rss > 1e-6 * y_ss:
        return x_mean, (V, s, q, rss)
    # Directions that a Gram matrix blurs, or a fit so close that the subtraction above cancels.
    R = triangle(X, y, weight, x_mean=x_mean, y_mean=0.0)
    total = len(y) if weight is None else float(weight.sum())
    R[:, :-1][:, flat_columns(column_norms(R[:, :-1]), x_mean, total)] = 0.0
    V, s, q, rss = _svd(R[:-1, :-1], R[:-1, -1], order=len(y))
    return x_mean, (V, s, q, rss + float(R[-1, -1]) ** 2)


def _moments(
    X: Array, y: Array, weight: Array | None, center: bool
) -> tuple[Array, Array, Array, float]:  # fmt: skip
    """Mean of X and the centred XᵀX, Xᵀy, yᵀy in one pass over the rows.

    Rows are shifted by the mean of an even sample first, so that the correction for the exact mean,
    Σ(x−c)(x−c)ᵀ − n(x̄−c)(x̄−c)ᵀ, subtracts something small.
    """
    n_samples, n_features = X.shape
    sample = X[:: max(1, n_samples // 256)]
    shift = sample.mean(axis=0) if center else np.zeros(n_features)
    step = max(64, BLOCK_ENTRIES // (n_features + 2))
    buffer = np.empty((min(step, n_samples), n_features + 2))
    total = np.zeros((n_features + 2, n_features + 2))
    for start in range(0, n_samples, step):
        stop = min(start + step, n_samples)
        block = buffer[: stop - start]
        np.subtract(X[start:stop], shift, out=block[:, :n_features])
        block[:, n_features] = y[start:stop]
        block[:, n_features + 1] = 1.0
        if weight is not None:
            block *= np.sqrt(weight[start:stop, None])
        total += block.T @ block
    gram, cross, y_ss = total[:-2, :-2], total[:-2, -2], float(total[-2, -2])
    if not center:
        return shift, gram, cross, y_ss
    gap = total[:-2, -1] / total[-1, -1]
    gram -= total[-1, -1] * np.outer(gap, gap)
    cross -= gap * total[-2, -1]
    x_mean = shift + gap
    flat = flat_columns(np.sqrt(np.maximum(gram.diagonal(), 0.0)), x_mean, total[-1, -1])
    gram[flat], gram[:, flat], cross[flat] = 0.0, 0.0, 0.0
    return x_mean, gram, cross, y_ss


def _wide(X: Array, y: Array, weight: Array | None, x_mean: Array, center: bool) -> _Parts:
    """At least as many columns as rows: the n×n dual, or the SVD where that loses digits."""
    rows, target = centred(X, y, weight, x_mean=x_mean, y_mean=0.0)
    total = len(y) if weight is None else float(weight.sum())
    rows[:, flat_columns(column_norms(rows), x_mean, total)] = 0.0
    gram = rows @ rows.T
    # Centring makes the rows linearly dependent, once.
    values, U, trusted = _eigh(gram, n_null=int(center))
    if not trusted:
        return _svd(rows, target)
    s = np.sqrt(values)
    q = U.T @ target
    residual = target - U @ q
    return (rows.T @ U) / s, s, q, float(residual @ residual)


def _sparse(X: Any, y: Array, weight: Array | None, center: bool) -> tuple[Array, _Parts]:
    """CSR rows, as far as possible not made dense: the smaller Gram matrix, centred by its own row sums."""
    n_samples, n_features = X.shape
    root = np.ones(n_samples) if weight is None else np.sqrt(weight)
    total = float(root @ root)
    x_mean = (X.T @ (root * root)) / total if center else np.zeros(n_features)
    rows = sp.diags_array(root) @ X
    target = root * y
    if n_features < n_samples:
        gram = np.asarray((rows.T @ rows).todense()) - total * np.outer(x_mean, x_mean)
        flat = flat_columns(np.sqrt(np.maximum(gram.diagonal(), 0.0)), x_mean, total)
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
    if not trusted and n_samples * n_features <= _DENSE_ENTRIES:
        if n_features < n_samples:
            return _tall(X.toarray(), y, weight, center)
        return x_mean, _wide(X.toarray(), y, weight, x_mean, center)
    w = V @ (q / s)
    residual = target - (rows @ w - root * float(x_mean @ w))
    return x_mean, (V, s, q, float(residual @ residual))


def _eigh(gram: Array, *, n_null: int) -> tuple[Array, Array, bool]:
    """Eigenpairs above the rounding noise, largest first, and whether none of them has lost digits.

    `n_null` eigenvalues are known to be zero beforehand and don't count as lost.
    """
    values, vectors = sla.eigh(gram, check_finite=False, driver="evd")
    largest = max(float(values[-1]), 0.0)
    trusted = bool((values[n_null:] > _TRUSTED * largest).all())
    keep = values > _NOISE * largest
    keep[:n_null] = False
    return values[keep][::-1], vectors[:, keep][:, ::-1], trusted


def _svd(rows: Array, target: Array, *, order: int = 0) -> _Parts:
    """Thin SVD of the rows with directions at the rounding level dropped."""
    norms = column_norms(rows)
    used = norms[norms > 0]
    if len(used) and used.max() > _GRADED * used.min():
        U, s, V = graded_svd(rows, order=order)
    else:
        U, s, Vt = sla.svd(rows, full_matrices=False, check_finite=False)
        keep = s > (s[0] if len(s) else 0.0) * EPS * max(*rows.shape, order)
        U, s, V = U[:, keep], s[keep], np.ascontiguousarray(Vt[keep].T)
        # No direction has a part of a column of zeros, not even a rounding error.
        V[norms == 0] = 0.0
    q = U.T @ target
    residual = target - U @ q
    return V, s, q, float(residual @ residual)
