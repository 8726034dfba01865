"""The penalised log likelihood of linear logits, its gradient and its curvature, in one pass over the rows.

    L(Θ) = Σᵢ ωᵢ ln p(yᵢ|xᵢ) − (α/2)‖W‖²,    p(·|x) = softmax(C Θ φ),    φ = (x − c, 1)

Θ holds one row for each contrast between classes. Two classes have C = (0, 1)ᵀ, so that the row is the log odds; for
K > 2 the K − 1 columns of C are orthonormal and orthogonal to 1, which is the gauge of symmetric logits: they sum to
zero, and ‖W‖² is the same for Θ and for the K logits (Bishop 4.104–4.110 in that gauge).
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg as sla

from credo.linalg import n_threads, one_blas_thread
from credo.linear._rows import is_sparse

Array = NDArray[np.float64]

# Numbers of a block, which stays in a core's cache between the passes over it.
_BLOCK_ENTRIES = 200_000
# Rows are summed in this many parts, on every machine the same digits; below the second number threads don't pay.
_N_PARTS = 8
_FEW_ENTRIES = 400_000
# Columns whose centre is more than this many times their spread from zero, on so many rows, are centred always.
_FAR, _SAMPLE = 100.0, 256


@dataclass(frozen=True)
class Point:
    """The objective at a point: value, slope and (where asked for) curvature, the negative Hessian."""

    theta: Array
    value: float
    log_likelihood: float
    gradient: Array
    curvature: Array | None
    # The smallest lead of a row's own class over the others; above zero the classes are separated.
    least_lead: float


@dataclass(frozen=True)
class Sums:
    """What some rows add to the objective."""

    log_likelihood: float
    gradient: Array
    curvature: Array | None
    least_lead: float


@dataclass(frozen=True)
class Task:
    """Labelled rows, what they are centred by, and the penalty."""

    X: Any
    codes: NDArray[np.intp]
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

    def start(self) -> Array:
        """No weights, and the intercepts at the classes' log frequencies."""
        theta = np.zeros(self.shape)
        if self.intercept:
            level = np.log(np.bincount(self.codes, self.weight, self.n_classes) / self.total)
            theta[:, -1] = level[1] - level[0] if self.n_classes == 2 else level @ self.contrasts
        return theta

    def natural(self, theta: Array) -> tuple[Array, Array]:
        """Weights and intercepts in the units of X: one row for two classes, else one for each."""
        table = theta if self.n_classes == 2 else self.contrasts @ theta
        coef = table[:, : len(self.center)]
        level = table[:, -1] if self.intercept else np.zeros(len(table))
        return coef.copy(), level - coef @ self.center

    def evaluate(self, theta: Array, *, curvature: bool = True) -> Point:
        """The objective at Θ, gathered in blocks of rows, in as many threads as there are cores."""
        n_samples = self.X.shape[0]
        few = n_samples * self.shape[1] <= _FEW_ENTRIES
        edges = [0, n_samples] if few else [n_samples * part // _N_PARTS for part in range(_N_PARTS + 1)]
        work = partial(self._sums, theta, curvature)
        spans = list(pairwise(edges))
        workers = 1 if few else min(n_threads(), _N_PARTS)
        with one_blas_thread():
            if workers == 1:
                parts = [work(span) for span in spans]
            else:
                with ThreadPoolExecutor(workers, thread_name_prefix="credo-logits") as pool:
                    parts = list(pool.map(work, spans))
        return self._joined(theta, parts)

    def _joined(self, theta: Array, parts: list[Sums]) -> Point:
        n_features = self.X.shape[1]
        W = theta[:, :n_features]
        log_likelihood = float(sum(part.log_likelihood for part in parts))
        gradient = sum(part.gradient for part in parts[1:]) + parts[0].gradient
        gradient[:, :n_features] -= self.penalty * W
        H = parts[0].curvature
        if H is not None:
            for part in parts[1:]:
                assert part.curvature is not None
                H += part.curvature
            diagonal = np.einsum("ii->i", H).reshape(theta.shape)
            diagonal[:, :n_features] += self.penalty
        return Point(
            theta=theta,
            value=log_likelihood - 0.5 * self.penalty * float(np.einsum("ij,ij->", W, W)),
            log_likelihood=log_likelihood,
            gradient=gradient,
            curvature=H,
            least_lead=min(part.least_lead for part in parts),
        )

    @cached_property
    def _plain(self) -> bool:
        """Whether the columns lie so near zero that rows needn't be centred for the slope to keep its digits."""
        if is_sparse(self.X):
            return False
        sample = self.X[:: max(1, len(self.X) // _SAMPLE)]
        return bool((np.abs(self.center) <= _FAR * np.abs(sample - self.center).mean(axis=0)).all())

    def _sums(self, theta: Array, curvature: bool, span: tuple[int, int]) -> Sums:
        """What the rows of a span add to the objective."""
        if not curvature and self._plain:
            return self._slope(theta, span)
        m, width = self.shape
        value, lead = 0.0, np.inf
        gradient = np.zeros((m, width))
        H = np.zeros((m, width, m, width)) if curvature else None
        for rows, part in self.blocks(span):
            add = _binary if m == 1 else partial(_multinomial, self.contrasts)
            ll, least = add(rows, theta, self.codes[part], self.weight[part], gradient, H)
            value, lead = value + ll, min(lead, least)
        return Sums(value, gradient, None if H is None else H.reshape(m * width, m * width), lead)

    def _slope(self, theta: Array, span: tuple[int, int]) -> Sums:
        """The same without curvature, from the rows as they stand: Σ r(x − c)ᵀ = Σ r xᵀ − (Σ r)cᵀ."""
        m, width = self.shape
        n_features = self.X.shape[1]
        W = theta[:, :n_features]
        level = (theta[:, -1] if self.intercept else 0.0) - W @ self.center
        value, lead, gradient = 0.0, np.inf, np.zeros((m, width))
        step = max(64, _BLOCK_ENTRIES // width)
        for first in range(span[0], span[1], step):
            part = slice(first, min(first + step, span[1]))
            images = self.X[part] @ W.T + level
            ll, pull, least = self._terms(images, part)
            total = pull.sum(axis=0)
            gradient[:, :n_features] += pull.T @ self.X[part] - np.outer(total, self.center)
            gradient[:, n_features:] += total[:, None]
            value, lead = value + ll, min(lead, least)
        return Sums(value, gradient, None, lead)

    def _terms(self, images: Array, part: slice) -> tuple[float, Array, float]:
        """Log likelihood of some rows, its slope by their images Θφ, and the least lead."""
        codes, weight = self.codes[part], self.weight[part]
        if images.shape[1] == 1:
            value, pull, least, _ = _binary_terms(images[:, 0], codes, weight)
            return value, pull[:, None], least
        value, pull, least, _ = multinomial_terms(self.contrasts, images, codes, weight)
        return value, pull, least

    def blocks(self, span: tuple[int, int]) -> Iterator[tuple[Array, slice]]:
        """The centred rows of a span with their column of ones, block by block, in a buffer that may be spent."""
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


def contrasts(n_classes: int) -> Array:
    """C of the module's equations."""
    if n_classes == 2:
        return np.array([[0.0], [1.0]])
    return np.ascontiguousarray(sla.helmert(n_classes).T)


def _binary(
    rows: Array, theta: Array, codes: NDArray[np.intp], weight: Array, gradient: Array, H: Array | None
) -> tuple[float, float]:
    """Two classes, coded −1 and +1; the rows are spent."""
    value, pull, least, small = _binary_terms(rows @ theta[0], codes, weight)
    gradient[0] += pull @ rows
    if H is not None:
        rows *= (np.sqrt(weight * small) / (1.0 + small))[:, None]
        H[0, :, 0, :] += rows.T @ rows
    return value, least


def _binary_terms(score: Array, codes: NDArray[np.intp], weight: Array) -> tuple[float, Array, float, Array]:
    """Log likelihood, its slope by the score, the least lead, and exp(−|score|)."""
    sign = np.where(codes == 1, 1.0, -1.0)
    lead = sign * score
    small = np.exp(-np.abs(score))
    # σ(−lead), the probability of the other class, to its own digits.
    miss = np.where(lead > 0, small, 1.0) / (1.0 + small)
    value = float(weight @ (np.minimum(lead, 0.0) - np.log1p(small)))
    return value, sign * weight * miss, float(lead.min(initial=np.inf)), small


def _multinomial(
    C: Array, rows: Array, theta: Array, codes: NDArray[np.intp], weight: Array, gradient: Array, H: Array | None
) -> tuple[float, float]:
    """K > 2 classes."""
    value, pull, least, P = multinomial_terms(C, rows @ theta.T, codes, weight)
    gradient += pull.T @ rows
    if H is not None:
        # Covariances under p of the contrasts' values at the label (Bishop 4.110), the mixed ones by polarization:
        # 2 cov(a, b) = var(a + b) − var(a) − var(b), because a product AᵀA takes half the time of any other.
        pure = [_curved(rows, P, weight, C[:, a]) for a in range(C.shape[1])]
        for a, first in enumerate(pure):
            H[a, :, a, :] += first
            for b, second in enumerate(pure[:a]):
                block = 0.5 * (_curved(rows, P, weight, C[:, a] + C[:, b]) - first - second)
                H[a, :, b, :] += block
                H[b, :, a, :] += block
    return value, least


def _curved(rows: Array, P: Array, weight: Array, values: Array) -> Array:
    """Σ ωᵢ vᵢ φᵢφᵢᵀ with vᵢ the variance, under pᵢ, of a class's value."""
    variance = np.einsum("nk,nk->n", P, np.square(values - (P @ values)[:, None]))
    half = rows * np.sqrt(weight * variance)[:, None]
    return half.T @ half


def multinomial_terms(
    C: Array, images: Array, codes: NDArray[np.intp], weight: Array
) -> tuple[float, Array, float, Array]:
    """Log likelihood, its slope by the contrasts, the least lead, and the probabilities."""
    places = np.arange(len(images))
    gap = images @ C.T
    gap -= gap[places, codes][:, None]
    gap[places, codes] = -np.inf
    lead = -gap.max(axis=1)
    gap[places, codes] = 0.0
    top = np.maximum(-lead, 0.0)
    P = np.exp(gap - top[:, None])
    mass = P.sum(axis=1)
    P /= mass[:, None]
    residual = -P
    residual[places, codes] += 1.0
    value = -float(weight @ (top + np.log(mass)))
    return value, (weight[:, None] * residual) @ C, float(lead.min(initial=np.inf)), P
