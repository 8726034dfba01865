"""The terms of a kernel's expansion into waves and finite maps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from credo.kernels.spectra.distributions import SpectralDistribution

Array = NDArray[np.float64]
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
        """Every wave and its probability, if the distributions are discrete and have at most so many."""
        all_atoms = [wave.distribution.atoms for wave in self.waves]
        grids = [atoms for atoms in all_atoms if atoms is not None]
        if len(grids) < len(all_atoms) or math.prod(len(values) for values, _ in grids) >= 2 * most:
            return None
        frequencies = np.array(list(product(*(values for values, _ in grids))))
        probabilities = np.array([math.prod(each) for each in product(*(weights for _, weights in grids))])
        # The distributions are symmetric: the combinations read backwards are the opposite ones, the same waves.
        # Of an odd number the one in the middle is its own opposite.
        half, middle = divmod(len(probabilities), 2)
        own = probabilities[half : half + middle]
        return frequencies[: half + middle], np.append(2.0 * probabilities[:half], own)


def _through(first: Map, then: Map, X: Array) -> Array:
    return then(first(X))
