"""The penalized log likelihood of linear logits, its gradient and its curvature, in one pass over the rows.

    L(Θ) = Σᵢ ωᵢ ln p(yᵢ|xᵢ) − (α/2)‖W‖²,    p(·|x) = softmax(C Θ φ),    φ = (x − c, 1)

Θ has one row for each contrast between classes, W without its last column. Two classes have C = (0, 1)ᵀ, so that the
row is the log odds. For K > 2 the K − 1 columns of C are orthonormal and orthogonal to 1: logits then sum to zero over
the classes, and ‖W‖² is the same for Θ and for the K logits (Bishop 4.104–4.110 in this parametrization).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from itertools import pairwise
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg as sla

from credo.core.estimator import is_sparse
from credo.core.linalg import one_blas_thread, parallel_map

Array = NDArray[np.float64]
Codes = NDArray[np.intp]

# Numbers in a block, which stays in a core's cache between the passes over it.
_BLOCK_ENTRIES = 200_000
# With fewer numbers, threads cost more than they save.
_MIN_PARALLEL_ENTRIES = 400_000


@dataclass(frozen=True)
class Sums:
    """What some rows add to the objective, its gradient and its curvature.

    `min_margin` is the smallest margin of a row, by which the logit of its label exceeds the others; if it is positive,
    the classes are separated.
    """

    log_likelihood: float
    gradient: Array
    curvature: Array | None
    min_margin: float

    def __add__(self, other: Sums) -> Sums:
        both = None if self.curvature is None or other.curvature is None else self.curvature + other.curvature
        margin = min(self.min_margin, other.min_margin)
        return Sums(self.log_likelihood + other.log_likelihood, self.gradient + other.gradient, both, margin)


@dataclass(frozen=True)
class Point(Sums):
    """The objective at Θ: value, gradient and (on request) curvature, the negative Hessian."""

    theta: Array
    value: float


@dataclass(frozen=True)
class Objective:
    """L(Θ) for labeled rows, their center c and the penalty α."""

    X: Any
    codes: Codes
    weight: Array
    n_classes: int
    center: Array
    penalty: float
    intercept: bool

    @cached_property
    def contrasts(self) -> Array:
        """C, of shape (n_classes, n_contrasts)."""
        return contrasts(self.n_classes)

    @property
    def shape(self) -> tuple[int, int]:
        """(n_contrasts, n_features + intercept)."""
        return self.contrasts.shape[1], self.X.shape[1] + self.intercept

    @cached_property
    def total(self) -> float:
        """Number of observations."""
        return float(self.weight.sum())

    @property
    def mean_weight(self) -> float:
        """The mean weight of a row."""
        return self.total / len(self.weight)

    def start(self) -> Array:
        """No weights, and the intercepts at the log frequencies of the classes."""
        theta = np.zeros(self.shape)
        if self.intercept:
            level = np.log(np.bincount(self.codes, self.weight, self.n_classes) / self.total)
            theta[:, -1] = level[1] - level[0] if self.n_classes == 2 else level @ self.contrasts
        return theta

    def coefficients(self, theta: Array) -> tuple[Array, Array]:
        """Weights and intercepts in the units of X: one row for two classes, else one for each class."""
        table = theta if self.n_classes == 2 else self.contrasts @ theta
        coef = table[:, : len(self.center)]
        level = table[:, -1] if self.intercept else np.zeros(len(table))
        return coef.copy(), level - coef @ self.center

    def evaluate(self, theta: Array, *, curvature: bool = True) -> Point:
        """The objective at Θ, in blocks of rows, in as many threads as there are cores."""
        return self._penalized(theta, self._over_rows(partial(self._sums, theta, curvature)))

    def _over_rows(self, sums: Callable[[tuple[int, int]], Sums]) -> Sums:
        """The total over spans of rows, which are shared among threads."""
        n_samples = self.X.shape[0]
        # Always eight parts, so that the digits are the same on every machine.
        n_parts = 1 if n_samples * self.shape[1] <= _MIN_PARALLEL_ENTRIES else 8
        spans = pairwise(n_samples * part // n_parts for part in range(n_parts + 1))
        with one_blas_thread():
            return reduce(add, parallel_map(sums, spans))

    def blocks(self, span: tuple[int, int]) -> Iterator[tuple[Array, slice]]:
        """The centered rows of a span with their column of ones, block by block, in a buffer that is used again."""
        n_features, width = self.X.shape[1], self.shape[1]
        step = max(64, _BLOCK_ENTRIES // width)
        buffer = np.empty((min(step, span[1] - span[0]), width))
        for first in range(span[0], span[1], step):
            part = slice(first, min(first + step, span[1]))
            rows = buffer[: part.stop - first]
            dense = self.X[part].toarray() if is_sparse(self.X) else self.X[part]
            np.subtract(dense, self.center, out=rows[:, :n_features])
            rows[:, n_features:] = 1.0
            yield rows, part

    def _penalized(self, theta: Array, sums: Sums) -> Point:
        n_features = self.X.shape[1]
        W = theta[:, :n_features]
        sums.gradient[:, :n_features] -= self.penalty * W
        if sums.curvature is not None:
            np.einsum("ii->i", sums.curvature).reshape(theta.shape)[:, :n_features] += self.penalty
        value = sums.log_likelihood - 0.5 * self.penalty * float(np.einsum("ij,ij->", W, W))
        return Point(**vars(sums), theta=theta, value=value)

    @cached_property
    def _is_near_zero(self) -> bool:
        """Whether all columns are close enough to zero that the gradient is accurate without centering the rows."""
        if is_sparse(self.X):
            return False
        sample = self.X[:: max(1, len(self.X) // 256)]
        return bool((np.abs(self.center) <= 100.0 * np.abs(sample - self.center).mean(axis=0)).all())

    def _sums(self, theta: Array, curvature: bool, span: tuple[int, int]) -> Sums:
        """What the rows of a span add."""
        if not curvature and self._is_near_zero:
            step = max(64, _BLOCK_ENTRIES // self.shape[1])
            starts = range(span[0], span[1], step)
            return reduce(add, (self._uncentred(theta, slice(a, min(a + step, span[1]))) for a in starts))
        m, width = self.shape
        value, margin, gradient = 0.0, np.inf, np.zeros((m, width))
        H = np.zeros((m, width, m, width)) if curvature else None
        for rows, part in self.blocks(span):
            ll, residual, smallest, P = self._terms(rows @ theta.T, part)
            value, margin = value + ll, min(margin, smallest)
            gradient += residual.T @ rows
            if H is not None:
                _add_curvature(H, rows, P, self.weight[part], self.contrasts)
        return Sums(value, gradient, None if H is None else H.reshape(m * width, m * width), margin)

    def _uncentred(self, theta: Array, part: slice) -> Sums:
        """What some rows add, without curvature and without centering them: Σ r(x − c)ᵀ = Σ r xᵀ − (Σ r)cᵀ."""
        value, residual, margin, _ = self._terms(self._scores(theta, part), part)
        return Sums(value, self._gradient(residual, part), None, margin)

    def _scores(self, theta: Array, part: slice = slice(None)) -> Array:
        """Θφ for some rows, (n_rows, n_contrasts)."""
        W = theta[:, : self.X.shape[1]]
        level = -self.center @ W.T
        if self.intercept:
            level = level + theta[:, -1]
        return np.asarray(self.X[part] @ W.T) + level

    def _gradient(self, residual: Array, part: slice = slice(None)) -> Array:
        """Σ rᵢ φᵢᵀ over some rows, (n_contrasts, width)."""
        total = residual.sum(axis=0)
        by_feature = np.asarray(self.X[part].T @ residual).T - np.outer(total, self.center)
        return np.column_stack([by_feature, total]) if self.intercept else by_feature

    def _terms(self, scores: Array, part: slice) -> tuple[float, Array, float, Array]:
        """Log likelihood of some rows, its gradient by their scores, the smallest margin, and the probabilities.

        For two classes, the probabilities are replaced by their standard deviation √(p(1 − p)).
        """
        if scores.shape[1] == 1:
            return _binary_terms(scores[:, 0], self.codes[part], self.weight[part])
        return _multinomial_terms(self.contrasts, scores, self.codes[part], self.weight[part])


@dataclass(frozen=True)
class MatrixFreeObjective(Objective):
    """The same for many columns: no curvature matrix, but its products with vectors; sparse rows stay sparse."""

    def evaluate(self, theta: Array, *, curvature: bool = True) -> Point:
        """The objective at Θ, without curvature."""
        return self._penalized(theta, self._uncentred(theta, slice(None)))

    def product(self, theta: Array) -> tuple[Callable[[Array], Array], Array]:
        """v ↦ Hv at Θ, and the diagonal of H."""
        C = self.contrasts
        *_, P = _multinomial_terms(C, self._scores(theta), self.codes, self.weight)
        n_features = self.X.shape[1]
        variance = self.weight[:, None] * (P @ np.square(C) - np.square(P @ C))
        diagonal = self._squares(variance)
        diagonal[:, :n_features] += self.penalty

        def times(v: Array) -> Array:
            if len(v) == 1:
                out = self._gradient(variance * self._scores(v))
            else:
                move = self._scores(v) @ C.T
                spread = P * (move - np.einsum("ij,ij->i", P, move)[:, None])
                out = self._gradient((self.weight[:, None] * spread) @ C)
            out[:, :n_features] += self.penalty * v[:, :n_features]
            return out

        return times, diagonal

    def _squares(self, factor: Array) -> Array:
        """Σ factorᵢ φᵢ∘φᵢ, never negative."""
        total = factor.sum(axis=0)
        square: Any = self.X.multiply(self.X).tocsr() if is_sparse(self.X) else np.square(self.X)
        by_feature = np.asarray(square.T @ factor).T - 2 * np.asarray(self.X.T @ factor).T * self.center
        by_feature = np.maximum(by_feature + np.outer(total, np.square(self.center)), 0.0)
        return np.column_stack([by_feature, total]) if self.intercept else by_feature


def contrasts(n_classes: int) -> Array:
    """C of the module's equations."""
    if n_classes == 2:
        return np.array([[0.0], [1.0]])
    return np.ascontiguousarray(sla.helmert(n_classes).T)


def _binary_terms(score: Array, codes: Codes, weight: Array) -> tuple[float, Array, float, Array]:
    """`Objective._terms` for two classes, coded −1 and +1."""
    sign = np.where(codes == 1, 1.0, -1.0)
    margin = sign * score
    small = np.exp(-np.abs(score))
    # σ(−margin), the probability of the other class, to full relative precision.
    miss = np.where(margin > 0, small, 1.0) / (1.0 + small)
    value = float(weight @ (np.minimum(margin, 0.0) - np.log1p(small)))
    deviation = np.sqrt(small) / (1.0 + small)
    return value, (sign * weight * miss)[:, None], float(margin.min(initial=np.inf)), deviation


def _multinomial_terms(C: Array, scores: Array, codes: Codes, weight: Array) -> tuple[float, Array, float, Array]:
    """`Objective._terms` for any number of classes."""
    places = np.arange(len(scores))
    gap = scores @ C.T
    gap -= gap[places, codes][:, None]
    gap[places, codes] = -np.inf
    margin = -gap.max(axis=1)
    gap[places, codes] = 0.0
    top = np.maximum(-margin, 0.0)
    P = np.exp(gap - top[:, None])
    mass = P.sum(axis=1)
    P /= mass[:, None]
    residual = -P
    residual[places, codes] += 1.0
    value = -float(weight @ (top + np.log(mass)))
    return value, (weight[:, None] * residual) @ C, float(margin.min(initial=np.inf)), P


def _add_curvature(H: Array, rows: Array, P: Array, weight: Array, C: Array) -> None:
    """Add Σ ωᵢ cov(contrasts under pᵢ) ⊗ φᵢφᵢᵀ to H (Bishop 4.110); for two classes, the rows are overwritten."""
    if P.ndim == 1:
        rows *= (np.sqrt(weight) * P)[:, None]
        H[0, :, 0, :] += rows.T @ rows
        return
    # Mixed terms by polarization, 2 cov(a, b) = var(a + b) − var(a) − var(b), because a product AᵀA takes half the time
    # of any other.
    pure = [_weighted_gram(rows, P, weight, C[:, a]) for a in range(C.shape[1])]
    for a, first in enumerate(pure):
        H[a, :, a, :] += first
        for b, second in enumerate(pure[:a]):
            block = 0.5 * (_weighted_gram(rows, P, weight, C[:, a] + C[:, b]) - first - second)
            H[a, :, b, :] += block
            H[b, :, a, :] += block


def _weighted_gram(rows: Array, P: Array, weight: Array, values: Array) -> Array:
    """Σ ωᵢ vᵢ φᵢφᵢᵀ, where vᵢ is the variance of `values` (one for each class) under pᵢ."""
    variance = np.einsum("nk,nk->n", P, np.square(values - (P @ values)[:, None]))
    half = rows * np.sqrt(weight * variance)[:, None]
    return half.T @ half
