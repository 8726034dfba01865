"""The effects of the levels of a category on the target, shrunken towards zero by how little their rows say.

    y = m + Xb + Σ_c u_c[level in column c] + e,    u_c ~ N(0, v_c),    b ~ N(0, s),    e ~ N(0, σ²)

A category with many levels has one column with the posterior mean of u, as random intercepts of a mixed model have,
instead of a column for each level. X are the other prepared columns, so that a level isn't credited with what these
explain. The posterior is approximated by one in which the blocks are independent, and EM gives the variances.

An effect that has seen the target of a row would be too good there. Training rows are therefore divided into parts, and
each has the effects of the other parts (target encoding by cross-fitting, Micci-Barreca 2001).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import ndtri
from sklearn.utils import _safe_indexing

from credo.core.estimator import center_and_scale, is_sparse
from credo.core.folds import even_folds

Array = NDArray[np.float64]
Codes = NDArray[np.intp]

_N_PARTS = 5
# EM ends when no variance changes by more than this share; variances, in units of that of the target, have a floor.
_MAX_ITERATIONS, _TOLERANCE, _SMALLEST = 100, 1e-3, 1e-6
# Eigenvalues of more columns than this share of the rows take longer than their products.
_MOST_COLUMNS = 0.1


def plain_target(y: Any) -> NDArray[Any]:
    """The target as floats, or labels of classes as text."""
    given = np.asarray(y)
    is_text = given.dtype.kind not in "biufO" or any(isinstance(value, str) for value in given.ravel())
    return given.astype(str if is_text else np.float64)


def effect_names(y: NDArray[Any]) -> tuple[str, ...]:
    """The names of the effects on a target, which are those on numbers, or on all classes but the first.

    >>> effect_names(np.array([1.0, 3.5])), effect_names(np.array(["no", "yes", "perhaps"]))
    (('effect',), ('effect on perhaps', 'effect on yes'))
    """
    labels = () if y.dtype.kind == "f" else np.unique(y)[1:]
    return tuple(f"effect on {label}" for label in labels) if len(labels) > 1 else ("effect",)


def scores(y: NDArray[Any]) -> Array:
    """What the effects are learned on: normal scores of numbers, or indicators of classes.

    Normal scores stay the same under any increasing transformation of the target, and have no outliers.

    >>> scores(np.array([1.0, 10.0, 1000.0])).ravel().round(2)
    array([-0.97,  0.  ,  0.97])
    """
    if y.dtype.kind == "f":
        if not np.isfinite(y).all():
            raise ValueError("the target has missing or infinite values: leave these rows out")
        _, place, counts = np.unique(y, return_inverse=True, return_counts=True)
        return np.asarray(ndtri((np.cumsum(counts) - counts / 2) / len(y)))[place.ravel(), None]
    labels, codes = np.unique(y, return_inverse=True)
    return (codes.ravel()[:, None] == np.arange(min(1, len(labels) - 1), len(labels))).astype(np.float64)


def level_effects(
    codes: Sequence[Codes], sizes: Sequence[int], Y: Array, X: Array, weight: Array
) -> tuple[list[Array], list[Array]]:
    """The effects of the levels of each category, and for each row those of its level without the row's own part.

    Parameters
    ----------
    codes : list of arrays of shape (n_rows,), the levels in each category
    sizes : the number of levels of each
    Y : array of shape (n_rows, n_targets)
    X : array of shape (n_rows, n_columns), other columns
    weight : array of shape (n_rows,)

    Returns
    -------
    effects : list of arrays of shape (n_levels, n_targets)
    without : list of arrays of shape (n_rows, n_targets)
    """
    line = _Line(X, weight)
    each = [_effects_on(codes, sizes, y, line, weight) for y in Y.T]
    effects, without = ([np.column_stack([part[k][c] for part in each]) for c in range(len(codes))] for k in range(2))
    return effects, without


def _effects_on(
    codes: Sequence[Codes], sizes: Sequence[int], y: Array, line: _Line, weight: Array
) -> tuple[list[Array], list[Array]]:
    total = weight.sum()
    spread = float(np.sqrt(weight @ (y - weight @ y / total) ** 2 / total)) or 1.0
    y = (y - weight @ y / total) / spread
    line.restart()
    effects = [np.zeros(size) for size in sizes]
    counts = [np.bincount(code, weight, size) for code, size in zip(codes, sizes, strict=True)]
    variances, noise = np.full(len(codes), 0.5), 1.0
    rest = y.copy()
    for _ in range(_MAX_ITERATIONS):
        before, uncertain = np.append(variances, noise), 0.0
        rest += line.fitted
        uncertain += line.update(rest, noise)
        rest -= line.fitted
        for c, (code, count) in enumerate(zip(codes, counts, strict=True)):
            rest += effects[c][code]
            precision = count / noise + 1.0 / variances[c]
            effects[c] = np.bincount(code, weight * rest, sizes[c]) / noise / precision
            rest -= effects[c][code]
            seen = count > 0
            variances[c] = max(float(np.mean((effects[c] ** 2 + 1.0 / precision)[seen])), _SMALLEST)
            uncertain += float((count / precision).sum())
        noise = max(float(weight @ rest**2 + uncertain) / total, _SMALLEST)
        if np.abs(np.log(np.append(variances, noise) / before)).max() < _TOLERANCE:
            break
    part = even_folds(np.zeros(len(y)), min(_N_PARTS, len(y)))
    without = []
    for c, (code, count) in enumerate(zip(codes, counts, strict=True)):
        shape = part.max() + 1, sizes[c]
        own = part * sizes[c] + code
        values = weight * (rest + effects[c][code])
        sums = np.bincount(code, values, sizes[c]) - np.bincount(own, values, np.prod(shape)).reshape(shape)
        rows = count - np.bincount(own, weight, np.prod(shape)).reshape(shape)
        without.append(spread * (sums / (rows + noise / variances[c]))[part, code])
    return [spread * effect for effect in effects], without


class _Line:
    """The part Xb, whose coefficients have a common prior variance; nothing if X has many columns."""

    def __init__(self, X: Array, weight: Array) -> None:
        X = X if X.shape[1] <= _MOST_COLUMNS * len(X) else X[:, :0]
        center, scale = center_and_scale(X, weight)
        self.X = (X - center) / scale
        self.values, self.vectors = np.linalg.eigh((self.X * weight[:, None]).T @ self.X)
        self.weight = weight
        self.restart()

    def restart(self) -> None:
        self.prior, self.fitted = 1.0, np.zeros(len(self.X))

    def update(self, rest: Array, noise: float) -> float:
        """Fit the rest; returns the total posterior variance of the fitted values."""
        if not self.X.shape[1]:
            return 0.0
        precision = np.maximum(self.values, 0.0) / noise + 1.0 / self.prior
        mean = self.vectors.T @ (self.X.T @ (self.weight * rest)) / noise / precision
        self.fitted = self.X @ (self.vectors @ mean)
        self.prior = max(float(np.mean(mean**2 + 1.0 / precision)), _SMALLEST)
        return float((np.maximum(self.values, 0.0) / precision).sum())


@dataclass(frozen=True, eq=False)
class FoldEffects:
    """Replaces the effects in the prepared rows of a table by those that the training rows of a split show.

    `places` are the prepared columns of each category, `codes` and `sizes` its levels, and `dense` the number of
    prepared columns that aren't words.
    """

    places: Sequence[slice]
    codes: Sequence[Codes]
    sizes: Sequence[int]
    y: NDArray[Any]
    dense: int

    def __call__(self, rows: Any, train: Codes, test: Codes) -> tuple[Any, Any]:
        """The training rows and the held-out rows of prepared rows."""
        own = np.concatenate([np.arange(place.start, place.stop) for place in self.places])
        others = np.setdiff1d(np.arange(self.dense), own)
        kept, held = _safe_indexing(rows, train), _safe_indexing(rows, test)
        X = kept[:, others].toarray() if is_sparse(kept) else np.asarray(kept)[:, others]
        Y = scores(self.y)[train]
        effects, without = level_effects([code[train] for code in self.codes], self.sizes, Y, X, np.ones(len(train)))
        new = np.column_stack([effect[code[test]] for effect, code in zip(effects, self.codes, strict=True)])
        known = np.column_stack(without)
        center, scale = center_and_scale(known)
        return _replaced(kept, own, (known - center) / scale), _replaced(held, own, (new - center) / scale)


def _replaced(rows: Any, own: Codes, values: Array) -> Any:
    """A copy of the rows with other values in some columns."""
    if not is_sparse(rows):
        rows = rows.copy()
        rows.iloc[:, own] = values
        return rows
    place = np.repeat(np.arange(len(values)), len(own)), np.tile(own, len(values))
    zeroed = rows @ sparse.diags_array((~np.isin(np.arange(rows.shape[1]), own)).astype(np.float64))
    return sparse.csr_array(zeroed + sparse.csr_array((values.ravel(), place), shape=rows.shape))
