"""Spectral distributions: a shift-invariant kernel of variance one is the characteristic function of its frequencies.

Each maps points of the unit cube to frequencies, so that quasi-random points give quasi-random frequencies.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, gammaincinv, ive, ndtri
from scipy.stats import qmc

Array = NDArray[np.float64]

# A wave that is faster than this, in units of the length scale, is noise at any distance a double can tell.
_MAX_FREQUENCY = 1e12
# From this concentration on, harmonics are normal to eight digits, and are drawn as such: their list would be long.
_CONCENTRATED = 1e8
# harmonics that are rarer than this beside the likeliest are left out: no factor of a Gram matrix would show them.
_NEGLIGIBLE = 1e-13


@dataclass(frozen=True)
class SpectralDistribution:
    """A symmetric distribution of frequencies: from (m, n_uniforms) numbers between 0 and 1 to (m, n_coordinates)."""

    n_uniforms: int
    frequencies: Callable[[Array], Array]
    # Frequencies and probabilities of a discrete distribution in one coordinate.
    atoms: tuple[Array, Array] | None = None


def normal(n_columns: int) -> SpectralDistribution:
    """The distribution of exp(−r²/2)."""
    return SpectralDistribution(n_columns, ndtri)


def student(n_columns: int, dof: float) -> SpectralDistribution:
    """Student's t, the distribution of the Matérn kernel with ν = dof/2 (Rasmussen & Williams 4.15)."""
    if n_columns == 1:
        return SpectralDistribution(1, partial(_student_size, dof))
    if n_columns == 2:
        return SpectralDistribution(2, partial(_student_plane, dof))
    return SpectralDistribution(n_columns + 1, partial(_mixture, partial(_inverse_gamma, 0.5 * dof)))


def gamma_mixture(n_columns: int, shape: float) -> SpectralDistribution:
    """Normals whose precision of r is gamma: the distribution of (1 + r²/2a)^(−a) (Rasmussen & Williams 4.20)."""
    return SpectralDistribution(n_columns + 1, partial(_mixture, partial(_gamma, shape)))


def harmonics(concentration: float, *, constant: bool = True) -> SpectralDistribution:
    """Whole numbers j with probability e^(−κ) I_j(κ), for exp(κ(cos t − 1)) (Abramowitz & Stegun 9.6.34).

    Without `constant`, j = 0 has probability zero.
    """
    if concentration > _CONCENTRATED:
        return SpectralDistribution(1, partial(_rounded_normal, min(math.sqrt(concentration), _MAX_FREQUENCY)))
    most = math.ceil(9.0 * math.sqrt(concentration)) + 15
    orders = np.arange(-most, most + 1.0)
    weights = ive(np.abs(orders), concentration)
    weights[most] *= constant
    kept = weights > _NEGLIGIBLE * weights.max()
    orders, weights = orders[kept], weights[kept] / weights[kept].sum()
    return SpectralDistribution(1, partial(_quantile, orders, np.cumsum(weights)), (orders, weights))


def one_frequency() -> SpectralDistribution:
    """The frequency one, for cos t."""
    return SpectralDistribution(1, np.ones_like, (np.array([-1.0, 1.0]), np.array([0.5, 0.5])))


def resonance(damping: float) -> SpectralDistribution:
    """The density ∝ 1/((ω² − 1)² + 4b²ω²), of an oscillator with damping b that is driven by white noise."""
    return SpectralDistribution(2, partial(_resonance, damping))


def codes(correlation: float) -> SpectralDistribution:
    """Zero with the given probability, else uniform on the circle: on whole numbers, 1 if equal, else correlation."""
    return SpectralDistribution(1, partial(_circle, correlation))


def sobol_points(n: int, n_uniforms: int, rng: np.random.Generator) -> Array:
    """n = 2ᵏ points, each uniform in the cube and together evenly spread: Sobol's, digitally shifted and jittered."""
    if n_uniforms > qmc.Sobol.MAXDIM:
        return rng.random((n, n_uniforms))
    cells = qmc.Sobol(n_uniforms, scramble=False).random_base2(n.bit_length() - 1)
    shifted = (cells * n).astype(np.int64) ^ rng.integers(n, size=n_uniforms)
    tiny = np.finfo(np.float64).epsneg
    return np.clip((shifted + rng.random(shifted.shape)) / n, tiny, 1.0 - tiny)


def _student_size(dof: float, uniform: Array) -> Array:
    # dof / (t² + dof) ~ Beta(dof/2, ½); opposite signs are one wave.
    share = np.maximum(betaincinv(0.5 * dof, 0.5, uniform), 1e-300)
    return np.minimum(np.sqrt(dof * (1.0 - share) / share), _MAX_FREQUENCY)


def _student_plane(dof: float, uniform: Array) -> Array:
    # P(r² > s) = (1 + s/dof)^(−dof/2) in the plane; opposite directions are one wave.
    size = np.sqrt(dof * (uniform[:, :1] ** (-2.0 / dof) - 1.0))
    angle = np.pi * uniform[:, 1:]
    return np.minimum(size, _MAX_FREQUENCY) * np.hstack([np.cos(angle), np.sin(angle)])


def _mixture(mixing: Callable[[Array], Array], uniform: Array) -> Array:
    """Normals times the root of a random variance, which gets the first coordinate since it matters most."""
    return np.minimum(np.sqrt(mixing(uniform[:, :1])), _MAX_FREQUENCY) * ndtri(uniform[:, 1:])


def _gamma(shape: float, uniform: Array) -> Array:
    return np.asarray(gammaincinv(shape, uniform) / shape, dtype=np.float64)


def _inverse_gamma(shape: float, uniform: Array) -> Array:
    return shape / np.maximum(gammaincinv(shape, uniform), 1e-300)


def _resonance(damping: float, uniform: Array) -> Array:
    # The density of v = ω − 1/ω is that of a Cauchy variable of scale 2b, which ω and 1/ω share in the ratio 1 : ω².
    v = np.minimum(2.0 * damping * np.tan(0.5 * np.pi * uniform[:, :1]), _MAX_FREQUENCY)
    larger = 0.5 * (v + np.sqrt(v * v + 4.0))
    return np.where(uniform[:, 1:] * (1.0 + larger**2) < 1.0, larger, 1.0 / larger)


def _quantile(values: Array, cumulated: Array, uniform: Array) -> Array:
    return np.asarray(values[np.minimum(np.searchsorted(cumulated, uniform), len(values) - 1)])


def _rounded_normal(scale: float, uniform: Array) -> Array:
    return np.rint(scale * ndtri(uniform))


def _circle(correlation: float, uniform: Array) -> Array:
    return 2.0 * np.pi * np.maximum(uniform - correlation, 0.0) / (1.0 - correlation)
