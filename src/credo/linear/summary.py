"""A table reduced to what linear regression needs of it, in a form that can be merged.

    √w (Z − 1 z̄ᵀ) = Q R,    Z = [X, y]

R has at most n_features + 1 rows. QR of stacked factors is QR of the stacked rows (Demmel, Grigori, Hoemmen & Langou
2012); the difference of two means is one more row (Chan, Golub & LeVeque 1983). So summaries of parts merge into the
summary of the whole, without the squared condition number that adding up Gram matrices would bring.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from credo.linalg import NotPositiveDefiniteError, factorize
from credo.linear._rows import BLOCK_ENTRIES, centred, means_and_rest, qr_factor, triangle, two_sum

Array = NDArray[np.float64]

# From this many numbers on, the Gram matrix is tried first: it takes a third of the time of QR. Below, the threads that
# a product of matrices wakes cost more than they save.
_MANY_ENTRIES = 400_000
# Its Cholesky factor is used if the columns, scaled to one length, have a reciprocal condition number above the first
# number, and the residuals more than the second share of the sum of squares. Ten digits are then certain.
_SAFE_RCOND, _SAFE_RESIDUAL = 1e-3, 1e-6


@dataclass(frozen=True)
class RowSummary:
    """What `LinearRegression`, `Ridge` and `BayesianLinearRegression` need to know of a table.

    Made by `credo.linear.summarize`, joined by `merge`, and fitted by the `fit_summary` method of these models.

    Attributes
    ----------
    factor : array of shape (k, n_features + 1)
        R with RᵀR = Σ w (z − z̄)(z − z̄)ᵀ, where z = (x, y): upper triangular, or any k ≤ n_features rows.
    mean : array of shape (n_features + 1,)
        z̄, the mean row.
    mean_rest : array of shape (n_features + 1,)
        What rounding has taken from the mean, so that merging costs no digits where columns have a large offset.
    weight : float
        Sum of the sample weights, that is, the number of observations.
    n_rows : int
    centered : bool
        False where R is that of the rows themselves, not of their differences from the mean.
    feature_names : tuple of str or None
    """

    factor: Array
    mean: Array
    mean_rest: Array
    weight: float
    n_rows: int
    centered: bool = True
    feature_names: tuple[str, ...] | None = None

    @classmethod
    def empty(cls, n_features: int) -> Self:
        """The summary of no rows, which changes nothing when merged."""
        zero = np.zeros(n_features + 1)
        return cls(np.empty((0, n_features + 1)), zero, zero, 0.0, 0)

    @property
    def n_features(self) -> int:
        return len(self.mean) - 1

    def __repr__(self) -> str:
        return f"RowSummary({self.n_rows} rows, {self.n_features} features, weight {self.weight:g})"

    def merge(self, other: RowSummary) -> RowSummary:
        """The summary of the rows of both."""
        if other.n_features != self.n_features:
            raise ValueError(f"summaries of {self.n_features} and of {other.n_features} columns can't be merged")
        if None not in (self.feature_names, other.feature_names) and self.feature_names != other.feature_names:
            raise ValueError(
                f"summaries of different columns can't be merged: {self.feature_names} and {other.feature_names}"
            )
        names = other.feature_names if self.feature_names is None else self.feature_names
        if not self.weight or not other.weight:
            return replace(self if self.weight else other, feature_names=names)
        if self.centered != other.centered:
            return self.for_intercept(False).merge(other.for_intercept(False))
        weight = self.weight + other.weight
        share = other.weight / weight
        difference = (other.mean - self.mean) + (other.mean_rest - self.mean_rest)
        mean, rest = two_sum(self.mean, self.mean_rest + share * difference)
        parts = [self.factor, other.factor]
        if self.centered:
            parts.append(np.sqrt(self.weight * share) * difference[None, :])
        return RowSummary(
            factor=reduced(np.vstack(parts)),
            mean=mean,
            mean_rest=rest,
            weight=weight,
            n_rows=self.n_rows + other.n_rows,
            centered=self.centered,
            feature_names=names,
        )

    def for_intercept(self, fit_intercept: bool) -> RowSummary:
        """The summary that a model with or without intercept needs: of centred rows, or of the rows themselves."""
        if fit_intercept and not self.centered:
            raise ValueError("this summary is of rows that were not centred, as fit_intercept=True needs")
        if fit_intercept or not self.centered:
            return self
        factor = reduced(np.vstack([self.factor, np.sqrt(self.weight) * self.mean[None, :]]))
        zero = np.zeros_like(self.mean)
        return replace(self, factor=factor, mean=zero, mean_rest=zero, centered=False)


def row_summary(X: Array, y: Array, weight: Array | None) -> RowSummary:
    """The summary of validated dense rows."""
    n_samples, n_features = X.shape
    total = float(n_samples if weight is None else weight.sum())
    found = _by_gram(X, y, weight) if n_samples > n_features and X.size >= _MANY_ENTRIES else None
    if found is not None:
        return RowSummary(*found, total, n_samples)
    mean, rest = map(np.append, means_and_rest(X, weight), means_and_rest(y[:, None], weight))
    x_mean, y_mean = mean[:-1], float(mean[-1])
    if n_samples > n_features:
        factor = triangle(X, y, weight, x_mean=x_mean, y_mean=y_mean)
    else:
        factor = np.column_stack(centred(X, y, weight, x_mean=x_mean, y_mean=y_mean))
    return RowSummary(factor, mean, rest, total, n_samples)


def reduced(factor: Array) -> Array:
    """The factor, triangular where it has more rows than there are features."""
    return qr_factor(np.asfortranarray(factor)) if len(factor) >= factor.shape[1] else factor


def _by_gram(X: Array, y: Array, weight: Array | None) -> tuple[Array, Array, Array] | None:
    """R as the Cholesky factor of the Gram matrix, the mean row and its rest; None where that would cost digits."""
    with np.errstate(over="ignore", invalid="ignore"):
        gram, mean, rest = _moments(X, y, weight)
        scale = np.sqrt(np.maximum(np.diagonal(gram), 0.0))
        if not (np.isfinite(scale) & (scale > 0)).all():
            return None
        gram /= scale
        gram /= scale[:, None]
    try:
        L = factorize(gram, jitter=0.0, overwrite=True, assume_symmetric=True).L
    except NotPositiveDefiniteError:
        return None
    rcond, _ = lapack.dtrcon(L[:-1, :-1], norm="1", uplo="L")
    if rcond < _SAFE_RCOND or L[-1, -1] ** 2 < _SAFE_RESIDUAL:
        return None
    return L.T * scale, mean, rest


def _moments(X: Array, y: Array, weight: Array | None) -> tuple[Array, Array, Array]:
    """The centred Gram matrix of [X, y], the mean row and its rest, in one pass over the rows.

    Rows are shifted by the mean of a sample first, so that the correction for the exact mean,
    Σ(z−c)(z−c)ᵀ − n(z̄−c)(z̄−c)ᵀ, subtracts something small.
    """
    n_samples, n_features = X.shape
    sample = slice(None, None, max(1, n_samples // 256))
    shift = np.append(X[sample].mean(axis=0), y.mean())
    step = max(64, BLOCK_ENTRIES // (n_features + 2))
    buffer = np.empty((min(step, n_samples), n_features + 2))
    total = np.zeros((n_features + 2, n_features + 2))
    for start in range(0, n_samples, step):
        stop = min(start + step, n_samples)
        block = buffer[: stop - start]
        np.subtract(X[start:stop], shift[:-1], out=block[:, :-2])
        block[:, -2] = y[start:stop] - shift[-1]
        block[:, -1] = 1.0
        if weight is not None:
            block *= np.sqrt(weight[start:stop, None])
        total += block.T @ block
    gap = total[:-1, -1] / total[-1, -1]
    return total[:-1, :-1] - total[-1, -1] * np.outer(gap, gap), *two_sum(shift, gap)
