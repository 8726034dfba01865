"""Random features of a sum of terms: Φ with E ΦΦᵀ = K."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from credo.kernels.spectra import waves_jit
from credo.kernels.spectra.distributions import sobol_points
from credo.kernels.spectra.terms import Term
from credo.linalg import parallel_rows

Array = NDArray[np.float64]

# Below this many frequencies the waves of a term are poorly sampled: its finite maps are projected at random instead.
_FEW_FREQUENCIES = 32
# With more columns of finite maps than this for each wave, fewer frequencies are drawn, to save memory.
_MANY_COLUMNS = 8


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
        parallel_rows(waves_jit.cosines_and_sines, len(X), turns, self.amplitudes, waves)
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
    """Features of a sum of terms: exact ones where they are few, about n/2 pairs of waves shared among the others."""
    exact = [_exact(term, n) for term in terms]
    left = n - sum(part.size for part in exact if part is not None)
    shares = iter(_shares(left // 2, exact.count(None)))
    return Features(
        tuple(
            _drawn(term, next(shares), rng) if part is None else part for term, part in zip(terms, exact, strict=True)
        )
    )


def _exact(term: Term, n: int) -> Drawn | None:
    """The features in closed form, where they are finite and few; the columns of a single map are never too many."""
    if not term.waves and (term.n_columns <= n or len(term.maps) == 1):
        return Drawn(term, np.empty((1, 0)), np.array([math.sqrt(term.scale)]), None)
    atoms = term.atoms(n // (2 * term.n_columns)) if term.waves else None
    return None if atoms is None else Drawn(term, atoms[0], np.sqrt(term.scale * atoms[1]), None)


def _shares(n: int, n_terms: int) -> list[int]:
    """Powers of two, as even as they can be, that sum to about n, or to the least that every term needs."""
    shares = [max(_power_of_two(n / n_terms), _FEW_FREQUENCIES) for _ in range(n_terms)]
    for i, own in enumerate(shares):
        if sum(shares) + own <= n:
            shares[i] = 2 * own
    return shares


def _drawn(term: Term, m: int, rng: np.random.Generator) -> Drawn:
    """m waves, or fewer where each comes with so many columns that the features would need too much memory."""
    affordable = min(m, _power_of_two(_MANY_COLUMNS * m / term.n_columns))
    signs = None
    if term.waves and affordable >= _FEW_FREQUENCIES:
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
