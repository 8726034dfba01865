"""Missing patterns: how much wider or narrower predictions are for rows that lack the same values.

    z = Φ⁻¹(F(y)),    z ~ N(0, s²) for rows with one missing pattern,    ν/s² ~ χ²_ν

A model with one noise variance is too sure where an important value is missing, and too unsure where none is. The
normal scores z of held-out rows have the standard deviation s in each pattern, whose posterior is shrunken towards 1 by
as much as the patterns are alike: ν maximizes their joint evidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from credo.core.fields import Axes, Finite, Positive
from credo.distributions import Distribution, GivenGroup

Array = NDArray[np.float64]
# The degrees of freedom of the prior that are tried.
_DEGREES = np.exp(np.linspace(0.0, 11.0, 45))


@dataclass(frozen=True)
class Gaps:
    """The missing patterns of a table that a model knows, a row for each, and the scale of its predictions there.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.distributions import Normal
    >>> from credo.tables.gaps import Gaps
    >>> missing = np.repeat([[False], [True]], 5000, axis=0)
    >>> scores = np.random.default_rng(0).normal(size=10000) * np.where(missing[:, 0], 2.0, 0.5)
    >>> found = Gaps.of(missing, scores)
    >>> found.given(Normal([1.0, 1.0], 1.0), np.array([[False], [True]])).std.round(1)
    array([0.5, 2. ])
    """

    patterns: Annotated[NDArray[np.bool_], Axes("m c")]
    scale: Annotated[Array, Axes("m"), Finite, Positive]

    @classmethod
    def of(cls, missing: NDArray[np.bool_], scores: Array) -> Self:
        """From the missing cells and the normal scores of held-out rows; a pattern of a single row isn't kept."""
        patterns, codes = np.unique(missing, axis=0, return_inverse=True)
        found = _Sums.of(codes.ravel(), scores)
        scale, kept = np.sqrt((found.degrees + found.squares) / (found.degrees + found.counts)), found.counts > 1
        return cls(patterns[kept], scale[kept])

    def given(self, dist: Distribution, missing: NDArray[np.bool_]) -> Distribution:
        """The distribution with the scale of each row's pattern; that of another pattern stays as it is."""
        known = {pattern.tobytes(): float(scale) for pattern, scale in zip(self.patterns, self.scale, strict=True)}
        return scaled(dist, np.array([known.get(row.tobytes(), 1.0) for row in np.ascontiguousarray(missing)]))


class _Sums(NamedTuple):
    """The rows and the sum of squared normal scores of each pattern, and the degrees of freedom of the prior."""

    counts: Array
    squares: Array
    degrees: float

    @classmethod
    def of(cls, codes: NDArray[np.intp], scores: Array) -> Self:
        counts, squares = np.bincount(codes).astype(np.float64), np.bincount(codes, scores**2).astype(np.float64)
        v = _DEGREES[:, None]
        evidence = gammaln((v + counts) / 2) - gammaln(v / 2) + (v * np.log(v) - (v + counts) * np.log(v + squares)) / 2
        return cls(counts, squares, float(_DEGREES[int(evidence.sum(axis=1).argmax())]))


def scales_of_others(missing: NDArray[np.bool_], scores: Array) -> Array:
    """The scale of each held-out row from the other rows of its pattern."""
    codes = np.unique(missing, axis=0, return_inverse=True)[1].ravel()
    found = _Sums.of(codes, scores)
    squares = found.degrees + found.squares[codes] - scores**2
    return np.asarray(np.sqrt(squares / (found.degrees + found.counts[codes] - 1.0)))


def gains(scores: Array, scale: Array) -> Array:
    """What the scale of each row adds to its log score: ln N(z; 0, s²) − ln N(z; 0, 1)."""
    return (scores**2 - (scores / scale) ** 2) / 2 - np.log(scale)


def scaled(dist: Distribution, scale: Array) -> Distribution:
    """The distribution in which the normal score of an outcome is multiplied by the scale of its row."""
    return dist if (scale == 1.0).all() else GivenGroup(dist, 0.0, scale)
