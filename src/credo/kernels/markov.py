"""Kernels of one input as linear stochastic differential equations, for inference in linear time.

    k(t, t′) = Σ_b v_b g_b(t) g_b(t′) [⊗ᵢ exp(Fᵢ rᵢ|t − t′|) Pᵢ]₁₁

A kernel is a sum of terms. Each has a variance v, a polynomial g in time, and a product of components: a Matérn
process, a rotation or a damped oscillator, run at a rate r. The state of a product is the Kronecker product of its
components' states, and the state of the whole has a block for each term (Solin & Särkkä 2014; Särkkä & Solin 2019,
chapter 12).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from credo.kernels.markov_jit import matern_transitions
from credo.kernels.oscillators_jit import oscillator_transitions

Array = NDArray[np.float64]

# The order of a Matérn process is the size of its state; a rotation has the order zero and a state of two.
_GENERATORS: dict[int, Array] = {
    0: np.array([[0.0, -1.0], [1.0, 0.0]]),
    1: np.array([[-1.0]]),
    2: np.array([[0.0, 1.0], [-1.0, -2.0]]),
    3: np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, -3.0, -3.0]]),
}
# How far 1 − b² of an oscillator stays from zero: the covariance differs by less than this from that at b = 1, and
# derivatives by b, which divide by it, lose half their digits.
_CRITICAL = 1e-8
_THIRD = 1.0 / 3.0
_COVARIANCES: dict[int, Array] = {
    0: np.eye(2),
    1: np.eye(1),
    2: np.eye(2),
    3: np.array([[1.0, 0.0, -_THIRD], [0.0, _THIRD, 0.0], [-_THIRD, 0.0, 1.0]]),
}


@dataclass(frozen=True)
class Component:
    """One process of unit variance, run at a rate; `slope` is the derivative of the rate by the parameters."""

    order: int
    rate: float
    slope: Array

    @property
    def generator(self) -> Array:
        """F, for a unit rate."""
        return _GENERATORS[self.order]

    @property
    def covariance(self) -> Array:
        """P, the covariance of the state at any time."""
        return _COVARIANCES[self.order]

    def transitions(self, gaps: Array) -> tuple[Array, Array]:
        """A and Q = P − APAᵀ for each gap in time."""
        size = len(self.generator)
        A, Q = np.empty((len(gaps), size * size)), np.zeros((len(gaps), size * size))
        if self.order:
            matern_transitions((0.0,) * size**2, self.rate, 1.0, gaps, A, Q)
        else:
            angle = self.rate * gaps
            A[:, 0] = A[:, 3] = np.cos(angle)
            A[:, 2] = np.sin(angle)
            A[:, 1] = -A[:, 2]
        return A.reshape(-1, size, size), Q.reshape(-1, size, size)

    def generators(self) -> Iterator[tuple[Array, Array]]:
        """What commutes with F and may be added to it, with the slope of its factor by the parameters."""
        yield self.generator, self.slope

    def covariances(self) -> Iterator[tuple[Array, Array]]:
        """What may be added to P, with the slope of its factor by the parameters."""
        yield from ()

    def padded(self, before: int, after: int) -> Component:
        """The same among more parameters."""
        return replace(self, slope=np.pad(self.slope, (before, after)))


@dataclass(frozen=True)
class Oscillator:
    """A damped oscillator f″ + 2bωf′ + ω²f = noise of unit variance, with the state (f, f′/ω).

    F = ω(−bI + M) with M² = −η²I, η² = 1 − b². The slopes are the derivatives of ω and b by the parameters. A matrix
    that commutes with F is a sum of I and M, so that a change of b at constant M and P isn't one of F alone: with
    F = −(ωb)I + (ωs)M, s = 1 at this b, the covariance is that of another oscillator if ds/db = −b/η² and
    dP₁₂/db = 1/η². Critical damping is a limit, which `oscillator_form` stays away from.
    """

    rate: float
    damping: float
    by_rate: Array
    by_damping: Array
    order: ClassVar[int] = -1

    @property
    def generator(self) -> Array:
        """F, for a unit rate."""
        return np.array([[0.0, 1.0], [-1.0, -2.0 * self.damping]])

    @property
    def covariance(self) -> Array:
        """P, the covariance of the state at any time."""
        return np.eye(2)

    def transitions(self, gaps: Array) -> tuple[Array, Array]:
        """A and Q = P − APAᵀ for each gap in time."""
        A, Q = np.empty((len(gaps), 4)), np.empty((len(gaps), 4))
        oscillator_transitions(self.damping, self.rate, gaps, A, Q)
        return A.reshape(-1, 2, 2), Q.reshape(-1, 2, 2)

    def generators(self) -> Iterator[tuple[Array, Array]]:
        """What commutes with F and may be added to it, with the slope of its factor by the parameters."""
        b = self.damping
        yield -np.eye(2), b * self.by_rate + self.rate * self.by_damping
        yield np.array([[b, 1.0], [-1.0, -b]]), self.by_rate - self.rate * b / (1.0 - b * b) * self.by_damping

    def covariances(self) -> Iterator[tuple[Array, Array]]:
        """What may be added to P, with the slope of its factor by the parameters."""
        yield np.array([[0.0, 1.0], [1.0, 0.0]]), self.by_damping / (1.0 - self.damping**2)

    def padded(self, before: int, after: int) -> Oscillator:
        """The same among more parameters."""
        width = (before, after)
        return replace(self, by_rate=np.pad(self.by_rate, width), by_damping=np.pad(self.by_damping, width))


@dataclass(frozen=True)
class MarkovTerm:
    """variance · Π (t − c) · a product of components; `slope` is the derivative of the variance by the parameters."""

    variance: float
    slope: Array
    components: tuple[Component | Oscillator, ...] = ()
    centers: tuple[float, ...] = ()

    @cached_property
    def covariance(self) -> Array:
        """P, with the variance."""
        P: NDArray[Any] = np.eye(1)
        for part in self.components:
            P = np.kron(P, part.covariance)
        return self.variance * P

    @property
    def size(self) -> int:
        """Number of components of the state."""
        return math.prod(len(part.generator) for part in self.components)

    def polynomial(self, t: Array) -> Array:
        """g(t)."""
        return reduce(np.multiply, (t - center for center in self.centers), np.ones_like(t))

    def transitions(self, gaps: Array) -> tuple[Array, Array]:
        """A and Q for each gap, (n, size, size)."""
        A, Q = np.ones((len(gaps), 1, 1)), np.zeros((len(gaps), 1, 1))
        P: NDArray[Any] = np.eye(1)
        if len(self.components) == 1:
            A, Q = self.components[0].transitions(gaps)
        else:
            for part in self.components:
                own_A, own_Q = part.transitions(gaps)
                # P⊗P′ − (P − Q)⊗(P′ − Q′), as a sum of positive terms.
                Q = _kron(Q, part.covariance - own_Q) + _kron(P[None], own_Q)
                A, P = _kron(A, own_A), np.kron(P, part.covariance)
        Q *= self.variance
        return A, Q

    def generators(self) -> Iterator[tuple[Array, Array, Array]]:
        """For each generator of each component: the derivative G of ln A by its factor times the gap, −(GP + PGᵀ), and
        the slope of the factor."""
        sizes = [len(part.generator) for part in self.components]
        for i, part in enumerate(self.components):
            for own, slope in part.generators():
                G = np.kron(np.kron(np.eye(math.prod(sizes[:i])), own), np.eye(math.prod(sizes[i + 1 :])))
                half = G @ self.covariance
                yield G, -(half + half.T), slope

    def covariances(self) -> Iterator[tuple[Array, Array]]:
        """What changes of the components' covariances add to P, and the slopes of their factors."""
        for i, part in enumerate(self.components):
            for own, slope in part.covariances():
                P = np.array([[self.variance]])
                for j, other in enumerate(self.components):
                    P = np.kron(P, own if j == i else other.covariance)
                yield P, slope

    def padded(self, before: int, after: int) -> MarkovTerm:
        """The same among more parameters."""
        parts = tuple(part.padded(before, after) for part in self.components)
        return replace(self, slope=np.pad(self.slope, (before, after)), components=parts)

    def __mul__(self, other: MarkovTerm) -> MarkovTerm:
        return MarkovTerm(
            self.variance * other.variance,
            self.slope * other.variance + self.variance * other.slope,
            self.components + other.components,
            self.centers + other.centers,
        )


@dataclass(frozen=True)
class MarkovForm:
    """The terms of a kernel; slopes are by all entries of its parameters, fixed ones as well."""

    terms: tuple[MarkovTerm, ...]
    n_parameters: int
    sizes: NDArray[np.intp] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", np.array([term.size for term in self.terms], dtype=np.intp))

    @property
    def size(self) -> int:
        """Number of components of the state."""
        return int(self.sizes.sum())

    def transitions(self, gaps: Array) -> tuple[Array, Array]:
        """A and Q for each gap in time: the blocks of all terms, flat, one row for each gap."""
        A, Q = (np.empty((len(gaps), int((self.sizes**2).sum()))) for _ in range(2))
        start = 0
        for term in self.terms:
            end = start + term.size**2
            own_A, own_Q = term.transitions(gaps)
            A[:, start:end], Q[:, start:end] = own_A.reshape(len(gaps), -1), own_Q.reshape(len(gaps), -1)
            start = end
        return A, Q

    def covariance(self) -> Array:
        """P of every block, flat."""
        return np.concatenate([term.covariance.ravel() for term in self.terms])

    def observation(self, t: Array) -> Array:
        """g_b(t) for each time and term: f = Σ_b g_b(t)·(the first entry of block b)."""
        return np.stack([term.polynomial(t) for term in self.terms], axis=1)

    def pullback(
        self,
        by_generator: Sequence[Array],
        by_diffusion: Sequence[Array],
        by_covariance: Sequence[Array],
        by_scale: Array,
    ) -> Array:
        """The derivative by every parameter, from those by each block's G, by −(GP + PGᵀ), by P and by ln v."""
        total = np.zeros(self.n_parameters)
        for i, term in enumerate(self.terms):
            total += by_scale[i] / term.variance * term.slope
            for G, D, slope in term.generators():
                total += (float(np.sum(G * by_generator[i])) + float(np.sum(D * by_diffusion[i]))) * slope
            for change, slope in term.covariances():
                total += float(np.sum(change * by_covariance[i])) * slope
        return total


def sum_of(forms: Sequence[MarkovForm]) -> MarkovForm:
    """The form of a sum of kernels, whose parameters follow each other."""
    n = sum(form.n_parameters for form in forms)
    return MarkovForm(tuple(term for terms in _side_by_side(forms, n) for term in terms), n)


def product_of(forms: Sequence[MarkovForm]) -> MarkovForm:
    """The form of a product of kernels."""
    n = sum(form.n_parameters for form in forms)
    factors = _side_by_side(forms, n)
    terms = reduce(lambda left, right: [a * b for a in left for b in right], factors)
    return MarkovForm(tuple(terms), n)


def _side_by_side(forms: Sequence[MarkovForm], n: int) -> list[list[MarkovTerm]]:
    """The terms of each form with slopes by the parameters of all."""
    before, found = 0, []
    for form in forms:
        found.append([term.padded(before, n - before - form.n_parameters) for term in form.terms])
        before += form.n_parameters
    return found


def matern_form(order: int, lengthscale: float, variance: float) -> MarkovForm:
    """Parameters: length scale and variance."""
    rate = math.sqrt(2.0 * order - 1.0) / lengthscale
    component = Component(order, rate, np.array([-rate / lengthscale, 0.0]))
    return MarkovForm((MarkovTerm(variance, np.array([0.0, 1.0]), (component,)),), 2)


def oscillator_form(period: float, quality: float, variance: float) -> MarkovForm:
    """Parameters: period, quality and variance."""
    rate, damping = 2.0 * math.pi / period, 0.5 / quality
    if abs(1.0 - damping**2) < _CRITICAL:
        damping = 1.0 - 0.5 * _CRITICAL
    by_rate, by_damping = np.array([-rate / period, 0.0, 0.0]), np.array([0.0, -0.5 / quality**2, 0.0])
    part = Oscillator(rate, damping, by_rate, by_damping)
    return MarkovForm((MarkovTerm(variance, np.array([0.0, 0.0, 1.0]), (part,)),), 3)


def cosine_form(period: float, variance: float) -> MarkovForm:
    """Parameters: period and variance."""
    rate = 2.0 * math.pi / period
    turn = Component(0, rate, np.array([-rate / period, 0.0]))
    return MarkovForm((MarkovTerm(variance, np.array([0.0, 1.0]), (turn,)),), 2)


def harmonic_form(shares: Array, slopes: Array, period: float, variance: float, *, first: int) -> MarkovForm:
    """Σⱼ sharesⱼ cos(2πjt/period) for j from `first` on; parameters: length scale, period and variance.

    `slopes` are the derivatives of the shares by the length scale.
    """
    terms = []
    for j, (share, slope) in enumerate(zip(shares, slopes, strict=True), start=first):
        rate = 2.0 * math.pi * j / period
        turn = (Component(0, rate, np.array([0.0, -rate / period, 0.0])),) if j else ()
        terms.append(MarkovTerm(variance * share, np.array([variance * slope, 0.0, share]), turn))
    return MarkovForm(tuple(terms), 3)


def _kron(A: Array, B: Array) -> Array:
    """Kronecker products of two stacks of matrices, either of which may be a stack of one."""
    size = A.shape[-1] * B.shape[-1]
    return (A[:, :, None, :, None] * B[:, None, :, None, :]).reshape(-1, size, size)
