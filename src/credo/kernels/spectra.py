"""Random Fourier features: functions from a Gaussian-process prior that can be evaluated anywhere.

A kernel that has features is a sum of terms

    scale · E cos(ωᵀ(c(x) − c(z))) · Π_l ψ_l(x)ᵀψ_l(z)

of a shift-invariant part, given by the distribution of its frequencies ω (Bochner's theorem; Rahimi & Recht 2007), and
of finite maps ψ. Sums concatenate their terms. Products multiply them out and add the frequencies of the factors,
because the characteristic function of a sum of independent frequencies is the product of theirs.

With Φ = `random_features(terms, n, rng)` and w ~ N(0, I), f(x) = Φ(x)w is a draw of a Gaussian process whose covariance
ΦΦᵀ is the kernel in expectation. Finite maps are exact; waves come in pairs of cosine and sine, so that a
shift-invariant part has exactly its variance; frequencies are quasi-random draws from their distribution.

A spectral distribution maps points of the unit cube to frequencies, so that quasi-random points give quasi-random
frequencies. Kernels import this module and return `Term`s.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, gammaincinv, ive, ndtri
from scipy.stats import qmc

from credo.core.linalg import parallel_rows
from credo.kernels import _jit

__all__ = ["Features", "Finite", "Term", "Waves", "random_features"]


Array = NDArray[np.float64]

# A wave that is faster than this, in units of the length scale, is noise at any distance that a double can resolve.
_MAX_FREQUENCY = 1e12


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
    # Harmonics are then normal to eight digits, and there would be many.
    if concentration > 1e8:
        return SpectralDistribution(1, partial(_rounded_normal, min(math.sqrt(concentration), _MAX_FREQUENCY)))
    most = math.ceil(9.0 * math.sqrt(concentration)) + 15
    orders = np.arange(-most, most + 1.0)
    weights = ive(np.abs(orders), concentration)
    weights[most] *= constant
    # Rarer harmonics are below the rounding errors of a Gram matrix.
    kept = weights > 1e-13 * weights.max()
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


Map = Callable[[Array], Array]


@dataclass(frozen=True)
class Waves:
    """E cos(ωᵀ(c(x) − c(z))): coordinates of a row, and the distribution of the frequencies."""

    coordinates: Map
    distribution: SpectralDistribution


@dataclass(frozen=True)
class Finite:
    """ψ(x)ᵀψ(z) with a map of a known number of columns."""

    size: int
    map: Map


@dataclass(frozen=True)
class Term:
    """scale · (the product of the waves) · (the product of the maps)."""

    scale: float
    waves: tuple[Waves, ...] = ()
    maps: tuple[Finite, ...] = ()

    def __mul__(self, other: Term) -> Term:
        return Term(self.scale * other.scale, self.waves + other.waves, self.maps + other.maps)

    def on(self, pick: Map) -> Term:
        """The term on what `pick` takes of a row."""
        return replace(
            self,
            waves=tuple(Waves(partial(_through, pick, wave.coordinates), wave.distribution) for wave in self.waves),
            maps=tuple(Finite(part.size, partial(_through, pick, part.map)) for part in self.maps),
        )

    @property
    def n_columns(self) -> int:
        """Columns of all finite maps multiplied out."""
        return math.prod(part.size for part in self.maps)

    def atoms(self, most: int) -> tuple[Array, Array] | None:
        """Every wave and its probability, if the distributions are discrete and have at most `most`."""
        all_atoms = [wave.distribution.atoms for wave in self.waves]
        grids = [atoms for atoms in all_atoms if atoms is not None]
        if len(grids) < len(all_atoms) or math.prod(len(values) for values, _ in grids) >= 2 * most:
            return None
        frequencies = np.array(list(product(*(values for values, _ in grids))))
        probabilities = np.array([math.prod(each) for each in product(*(weights for _, weights in grids))])
        # The distributions are symmetric: the reversed list has the opposite frequencies, which are the same waves. If
        # their number is odd, the middle one is its own opposite.
        half, middle = divmod(len(probabilities), 2)
        own = probabilities[half : half + middle]
        return frequencies[: half + middle], np.append(2.0 * probabilities[:half], own)


def _through(first: Map, then: Map, X: Array) -> Array:
    return then(first(X))


# Below this many frequencies the waves of a term are poorly sampled: its finite maps are projected at random instead.
_MIN_FREQUENCIES = 32


@dataclass(frozen=True)
class Drawn:
    """The features of one term: waves of fixed frequencies and amplitudes, times finite maps.

    `signs` project each map at random to one number for each wave; without them maps and waves are multiplied out.
    """

    term: Term
    frequencies: Array
    amplitudes: Array
    signs: tuple[Array, ...] | None

    @property
    def size(self) -> int:
        waves = len(self.amplitudes) * (2 if self.term.waves else 1)
        return waves if self.signs is not None else waves * self.term.n_columns

    def __call__(self, X: Array) -> Array:
        waves = self._waves(X)
        columns = [part.map(X) for part in self.term.maps]
        if self.signs is not None:
            projected = np.prod([a @ b for a, b in zip(columns, self.signs, strict=True)], axis=0)
            return waves * np.tile(projected, waves.shape[1] // projected.shape[1])
        return reduce(_outer, columns, waves)

    def _waves(self, X: Array) -> Array:
        m = len(self.amplitudes)
        if not self.term.waves:
            return np.tile(self.amplitudes, (len(X), 1))
        # Whole turns of the circle change nothing: in turns, not radians, taking them off costs no digit.
        turns = np.hstack([wave.coordinates(X) for wave in self.term.waves]) @ (self.frequencies.T / (2.0 * np.pi))
        waves = np.empty((len(X), 2 * m))
        parallel_rows(_jit.cosines_and_sines, len(X), turns, self.amplitudes, waves)
        return waves


@dataclass(frozen=True)
class Features:
    """Φ: from rows to features."""

    parts: tuple[Drawn, ...]

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    def __call__(self, X: Array) -> Array:
        parts = [part(X) for part in self.parts]
        return parts[0] if len(parts) == 1 else np.hstack(parts)


def random_features(terms: Sequence[Term], n: int, rng: np.random.Generator) -> Features:
    """Features of a sum of terms: exact if they are few, and about n/2 pairs of waves shared among the others."""
    exact = [_exact(term, n) for term in terms]
    left = n - sum(part.size for part in exact if part is not None)
    shares = iter(_shares(left // 2, exact.count(None)))
    return Features(
        tuple(
            _drawn(term, next(shares), rng) if part is None else part for term, part in zip(terms, exact, strict=True)
        )
    )


def _exact(term: Term, n: int) -> Drawn | None:
    """The features in closed form, if they are finite and few; a single map may have any number of columns."""
    if not term.waves and (term.n_columns <= n or len(term.maps) == 1):
        return Drawn(term, np.empty((1, 0)), np.array([math.sqrt(term.scale)]), None)
    atoms = term.atoms(n // (2 * term.n_columns)) if term.waves else None
    return None if atoms is None else Drawn(term, atoms[0], np.sqrt(term.scale * atoms[1]), None)


def _shares(n: int, n_terms: int) -> list[int]:
    """Powers of two, as equal as possible, that sum to about n, or to the least that every term needs."""
    shares = [max(_power_of_two(n / n_terms), _MIN_FREQUENCIES) for _ in range(n_terms)]
    for i, own in enumerate(shares):
        if sum(shares) + own <= n:
            shares[i] = 2 * own
    return shares


def _drawn(term: Term, m: int, rng: np.random.Generator) -> Drawn:
    """m waves, or fewer if each has so many columns that the features would need too much memory."""
    # Fewer frequencies if finite maps have many columns, to save memory.
    affordable = min(m, _power_of_two(8 * m / term.n_columns))
    signs = None
    if term.waves and affordable >= _MIN_FREQUENCIES:
        m = affordable
    elif term.maps:
        m = m if term.waves else 2 * m
        signs = tuple(rng.choice([-1.0, 1.0], size=(part.size, m)) for part in term.maps)
    sizes = [wave.distribution.n_uniforms for wave in term.waves]
    blocks = np.split(sobol_points(m, sum(sizes), rng), np.cumsum(sizes)[:-1], axis=1) if sizes else []
    frequencies = [wave.distribution.frequencies(block) for wave, block in zip(term.waves, blocks, strict=True)]
    return Drawn(term, np.hstack([np.empty((m, 0)), *frequencies]), np.full(m, math.sqrt(term.scale / m)), signs)


def _power_of_two(n: float) -> int:
    """The power of two nearest to n, on a logarithmic scale; at least 1."""
    return 1 << max(round(math.log2(max(n, 1.0))), 0)


def _outer(A: Array, B: Array) -> Array:
    """All products of a column of A and a column of B."""
    return (A[:, :, None] * B[:, None, :]).reshape(len(A), -1)
