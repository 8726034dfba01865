"""A table reduced to what linear regression needs: means and a triangular factor, computed block by block.

    √w (Z − 1 z̄ᵀ) = Q R,    Z = [X, y]

R has at most n_features + 1 rows. QR of stacked factors is QR of the stacked rows (Demmel, Grigori, Hoemmen & Langou
2012); the difference of two means is one more row (Chan, Golub & LeVeque 1983). So summaries of parts merge into the
summary of the whole, without the squared condition number that adding up Gram matrices would bring.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse as sp
from scipy.linalg import lapack

from credo.core.estimator import Estimator, is_sparse, training_rows
from credo.core.linalg import NotPositiveDefiniteError, factorize
from credo.core.parts.dask import in_parts, parts_of
from credo.core.parts.parts import Chunk

Array = NDArray[np.float64]

# Numbers in a block, which stays in cache with its factor.
BLOCK_ENTRIES = 400_000


def compensated_mean(X: Array, weight: Array | None) -> tuple[Array, Array]:
    """Weighted means of the columns, and the rounding error to add to them.

    The error of a single pass, up to n·eps of an offset, would make a constant column vary; a second pass averages the
    differences from the first mean.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.parts import compensated_mean
    >>> mean, correction = compensated_mean(np.array([[1.0, 4.0], [3.0, 6.0]]), np.array([1.0, 3.0]))
    >>> mean, correction
    (array([2.5, 5.5]), array([0., 0.]))
    """
    first = np.average(X, axis=0, weights=weight)
    step = max(64, BLOCK_ENTRIES // X.shape[1])
    left = np.zeros_like(first)
    for start in range(0, len(X), step):
        part = slice(start, start + step)
        deviation = X[part] - first
        left += deviation.sum(axis=0) if weight is None else weight[part] @ deviation
    left /= len(X) if weight is None else weight.sum()
    return two_sum(first, left)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b as a rounded sum and its rounding error, for b smaller than a or of its size (Dekker 1971)."""
    total = a + b
    return total, b - (total - a)


def centred(
    X: Array, y: Array, weight: Array | None, *, x_mean: Array, y_mean: float
) -> tuple[Array, Array]:  # fmt: skip
    """√w (X − x̄) and √w (y − ȳ), as new arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.parts import centred
    >>> rows, target = centred(np.array([[1.0], [3.0]]), np.array([5.0, 7.0]), None, x_mean=np.array([2.0]), y_mean=6.0)
    >>> rows.tolist(), target
    ([[-1.0], [1.0]], array([-1.,  1.]))
    """
    rows, target = X - x_mean, y - y_mean
    if weight is None:
        return rows, target
    root = np.sqrt(weight)
    rows *= root[:, None]
    target *= root
    return rows, target


def r_factor(X: Array, y: Array, weight: Array | None, *, x_mean: Array, y_mean: float) -> Array:
    """R of the centered, weighted [X, y], of order n_features + 1; Q is never formed.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.parts import r_factor
    >>> R = r_factor(np.array([[1.0], [3.0]]), np.array([5.0, 9.0]), None, x_mean=np.array([2.0]), y_mean=7.0)
    >>> (R.T @ R).round(6).tolist()
    [[2.0, 4.0], [4.0, 8.0]]
    """
    n_samples, width = X.shape[0], X.shape[1] + 1
    step = max(4 * width, BLOCK_ENTRIES // width)
    R = np.zeros((width, width))
    for start in range(0, n_samples, step):
        part = slice(start, start + step)
        rows, target = centred(X[part], y[part], None if weight is None else weight[part], x_mean=x_mean, y_mean=y_mean)
        stacked = np.empty((width + len(rows), width), order="F")
        stacked[:width], stacked[width:, :-1], stacked[width:, -1] = R, rows, target
        R = qr_factor(stacked)
    return R


def qr_factor(A: Array) -> Array:
    """R of A = QR; the contents of A, in Fortran order, are lost."""
    width = A.shape[1]
    factor, _, _, _ = lapack.dgeqrf(A, lwork=64 * width, overwrite_a=1)
    return np.triu(factor[:width])


@dataclass(frozen=True)
class RowSummary:
    """What linear regression, ridge regression, the lasso and selection of columns need to know about a table.

    Made by `credo.summarize`, joined by `merge`, and fitted by the `fit_summary` method of `LinearRegression`, `Ridge`,
    `BayesianLinearRegression`, `Lasso`, `ElasticNet` and `SpikeSlabRegressor`.

    Attributes
    ----------
    factor : array of shape (k, n_features + 1)
        R with RᵀR = Σ w (z − z̄)(z − z̄)ᵀ, where z = (x, y): upper triangular, or any k ≤ n_features rows.
    mean : array of shape (n_features + 1,)
        z̄, the mean row.
    mean_correction : array of shape (n_features + 1,)
        The rounding error of the mean, so that merging loses no digits if columns have a large offset.
    weight : float
        Sum of the sample weights, that is, the number of observations.
    n_rows : int
    centered : bool
        False if R is that of the rows themselves, not of their differences from the mean.
    feature_names : tuple of str or None

    Examples
    --------
    >>> from credo import LinearRegression, Ridge, summarize
    >>> summary = summarize([[0.0], [1.0]], [1.1, 2.9]).merge(summarize([[2.0], [3.0]], [5.2, 6.8]))
    >>> summary.n_rows, summary.mean
    (4, array([1.5, 4. ]))
    >>> LinearRegression().fit_summary(summary).coef_.round(2), Ridge(alpha=1.0).fit_summary(summary).coef_.round(2)
    (array([1.94]), array([1.62]))
    """

    factor: Array
    mean: Array
    mean_correction: Array
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
        difference = (other.mean - self.mean) + (other.mean_correction - self.mean_correction)
        mean, correction = two_sum(self.mean, self.mean_correction + share * difference)
        parts = [self.factor, other.factor]
        if self.centered:
            parts.append(np.sqrt(self.weight * share) * difference[None, :])
        return RowSummary(
            factor=reduced(np.vstack(parts)),
            mean=mean,
            mean_correction=correction,
            weight=weight,
            n_rows=self.n_rows + other.n_rows,
            centered=self.centered,
            feature_names=names,
        )

    def for_intercept(self, fit_intercept: bool) -> RowSummary:
        """The summary that a model with or without intercept needs: of centered rows, or of the rows themselves."""
        if fit_intercept and not self.centered:
            raise ValueError("this summary is of rows that were not centered, as fit_intercept=True needs")
        if fit_intercept or not self.centered:
            return self
        factor = reduced(np.vstack([self.factor, np.sqrt(self.weight) * self.mean[None, :]]))
        zero = np.zeros_like(self.mean)
        return replace(self, factor=factor, mean=zero, mean_correction=zero, centered=False)


def summarize(X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> RowSummary:
    """Reduce a table to what `LinearRegression`, `Ridge`, `Lasso` and other linear models need to know about it.

    Summaries of parts of a table, wherever they were computed, can be merged; `fit_summary` of each of these models
    then gives the fit to all rows. So one pass over a table that doesn't fit into memory serves several models.

    Parameters
    ----------
    X : array, frame or sparse matrix of shape (n_samples, n_features), or a table in parts
        A table in parts (see `credo.core.parts`) is an iterable of chunks, (X, y) or (X, y, weight), without further
        arguments, or a Dask array or frame.
    y : array of shape (n_samples,)
    sample_weight : array of shape (n_samples,), optional
        A weight of k is the same as k copies of the row.

    Examples
    --------
    >>> from credo.linear import LinearRegression, summarize
    >>> first = summarize([[0.0], [1.0]], [1.1, 2.9])
    >>> second = summarize([[2.0], [3.0]], [5.2, 6.8])
    >>> LinearRegression().fit_summary(first.merge(second)).coef_.round(2)
    array([1.94])
    """
    if in_parts(X, y):
        found: RowSummary = parts_of(X, y, sample_weight).map_reduce(summary_of, RowSummary.merge)
        return found
    return summary_of(Chunk(X, y, sample_weight))


def summary_of(chunk: Chunk) -> RowSummary:
    """The summary of the rows of a chunk.

    Examples
    --------
    >>> from credo.core.parts import Chunk, summary_of
    >>> summary_of(Chunk([[0.0], [2.0]], [1.0, 5.0], weight=[1.0, 3.0])).mean
    array([1.5, 4. ])
    """
    rows, target, weight, names = training_rows("summarize", chunk.X, chunk.y, chunk.weight, sparse="csr")
    plain = names == [f"x{i}" for i in range(len(names))]
    return replace(row_summary(rows, target, weight), feature_names=None if plain else tuple(names))


def take_summary(model: Estimator, summary: RowSummary) -> None:
    """Give a model the number and names of the columns from a summary, as validation takes them from X.

    Examples
    --------
    >>> from credo import LinearRegression, summarize
    >>> from credo.core.parts import take_summary
    >>> model = LinearRegression()
    >>> take_summary(model, summarize([[0.0, 1.0], [2.0, 1.5], [3.0, 0.0]], [1.0, 5.0, 6.0]))
    >>> model.n_features_in_
    2
    """
    if not isinstance(summary, RowSummary) or not summary.weight:
        raise ValueError(f"a summary of at least one row is needed, made by summarize(X, y); got {summary!r:.100}")
    model._reset()
    model.n_features_in_ = summary.n_features
    if summary.feature_names is not None:
        model.feature_names_in_, model.names_carried_ = np.array(summary.feature_names, dtype=object), True


def row_summary(X: Any, y: Array, weight: Array | None) -> RowSummary:
    """The summary of validated rows, an array or a CSR matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.parts import row_summary
    >>> summary = row_summary(np.array([[0.0], [2.0]]), np.array([1.0, 5.0]), None)
    >>> summary.mean, summary.weight
    (array([1., 3.]), 2.0)
    """
    n_samples, n_features = X.shape
    total = float(n_samples if weight is None else weight.sum())
    # The Gram matrix takes a third of the time of QR; for small tables its threads cost more than they save.
    worth = n_samples > n_features and (is_sparse(X) or X.size >= 400_000)
    found = _by_gram(X, y, weight) if worth else None
    if found is not None:
        return RowSummary(*found, total, n_samples)
    if is_sparse(X):
        return _in_blocks(X, y, weight)
    mean, correction = map(np.append, compensated_mean(X, weight), compensated_mean(y[:, None], weight))
    x_mean, y_mean = mean[:-1], float(mean[-1])
    if n_samples > n_features:
        factor = r_factor(X, y, weight, x_mean=x_mean, y_mean=y_mean)
    else:
        factor = np.column_stack(centred(X, y, weight, x_mean=x_mean, y_mean=y_mean))
    return RowSummary(factor, mean, correction, total, n_samples)


def _in_blocks(X: Any, y: Array, weight: Array | None) -> RowSummary:
    """The summary of sparse rows, made dense a block at a time."""
    n_samples, n_features = X.shape
    step = max(4 * n_features, BLOCK_ENTRIES // n_features)
    blocks = [slice(start, start + step) for start in range(0, n_samples, step)]
    return reduce(
        RowSummary.merge,
        (row_summary(X[k].toarray(), y[k], None if weight is None else weight[k]) for k in blocks),
    )


def reduced(factor: Array) -> Array:
    """The factor, triangular if it has more rows than there are features.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.parts import reduced
    >>> R = reduced(np.array([[3.0, 1.0], [4.0, 2.0], [0.0, 2.0]]))
    >>> R.shape, (R.T @ R).round(6).tolist()
    ((2, 2), [[25.0, 11.0], [11.0, 9.0]])
    """
    return qr_factor(np.asfortranarray(factor)) if len(factor) >= factor.shape[1] else factor


def _by_gram(X: Any, y: Array, weight: Array | None) -> tuple[Array, Array, Array] | None:
    """R by a Cholesky factor of the Gram matrix, the mean row and its correction; None if that would lose digits."""
    with np.errstate(over="ignore", invalid="ignore"):
        gram, mean, correction = (_sparse_moments if is_sparse(X) else _moments)(X, y, weight)
        scale = np.sqrt(np.maximum(np.diagonal(gram), 0.0))
        total = len(y) if weight is None else weight.sum()
        # Sparse columns are not shifted before they are centered.
        if is_sparse(X) and (total * np.square(mean) > 1e3 * np.square(scale)).any():
            return None
        if not (np.isfinite(scale) & (scale > 0)).all():
            return None
        gram /= scale
        gram /= scale[:, None]
    try:
        L = factorize(gram, jitter=0.0, overwrite=True, assume_symmetric=True).L
    except NotPositiveDefiniteError:
        return None
    rcond, _ = lapack.dtrcon(L[:-1, :-1], norm="1", uplo="L")
    # Ten digits are certain otherwise.
    if rcond < 1e-3 or L[-1, -1] ** 2 < 1e-6:
        return None
    return L.T * scale, mean, correction


def _moments(X: Array, y: Array, weight: Array | None) -> tuple[Array, Array, Array]:
    """The centered Gram matrix of [X, y], the mean row and its correction, in one pass over the rows.

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


def _sparse_moments(X: Any, y: Array, weight: Array | None) -> tuple[Array, Array, Array]:
    """The same for CSR rows, which stay sparse."""
    root = np.ones(len(y)) if weight is None else np.sqrt(weight)
    total, (y_mean, y_correction) = float(root @ root), compensated_mean(y[:, None], weight)
    rows, target = sp.diags_array(root) @ X, root * (y - y_mean[0])
    x_mean = (rows.T @ root) / total
    gram = np.empty((len(x_mean) + 1, len(x_mean) + 1))
    gram[:-1, :-1] = (rows.T @ rows).toarray() - total * np.outer(x_mean, x_mean)
    gram[-1, :-1] = gram[:-1, -1] = rows.T @ target - x_mean * float(root @ target)
    gram[-1, -1] = target @ target
    return gram, np.append(x_mean, y_mean), np.append(np.zeros_like(x_mean), y_correction)
