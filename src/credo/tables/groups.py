"""Repeated units: what the outcomes of a patient, shop or school say about its other outcomes.

    z = Φ⁻¹(F(y)),    z of one group ~ N(0, (1 − ρ) I + ρ 11ᵀ)

F is what a model predicts that doesn't see the group's name. The normal scores z of held-out rows have the intraclass
correlation ρ. Given n scores of a group with mean m, the next one is normal
with mean nρm/(1 + (n − 1)ρ) and variance 1 − nρ²/(1 + (n − 1)ρ): `GivenGroup`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from credo.core.fields import Axes, Finite, NonNegative, Positive
from credo.distributions import Distribution, GivenGroup, Limited
from credo.tables.columns import present_mask, words
from credo.tables.errors import pandas

Array = NDArray[np.float64]
# The correlations that are tried: equally spaced in ln(ρ/(1 − ρ)), and none.
_CORRELATIONS = np.concatenate([[0.0], 1.0 / (1.0 + np.exp(-np.linspace(-7.0, 7.0, 281)))])
# Normal scores beyond which a prediction is simply wrong.
_FARTHEST = 6.0


@dataclass(frozen=True)
class Groups:
    """The groups of a table that a model knows, and how much the outcomes of one have in common.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.distributions import Normal
    >>> from credo.tables.groups import Groups
    >>> found = Groups.of("shop", ["a", "a", "a", "b", "b", "b"], np.array([1.0, 1.2, 0.9, -0.8, -1.1, -1.0]))
    >>> found.correlation > 0.9, found.given(Normal([5.0, 5.0], 1.0), ["a", "new"]).mean.round(1)
    (True, array([6., 5.]))
    """

    column: str
    correlation: Annotated[float, NonNegative, Finite]
    names: Annotated[tuple[str, ...], Axes("k")]
    location: Annotated[Array, Axes("k"), Finite]
    scale: Annotated[Array, Axes("k"), Finite, Positive]

    @classmethod
    def of(cls, column: str, labels: Sequence[Any], scores: ArrayLike) -> Self:
        """From the labels of the groups and the normal scores of held-out rows."""
        every = group_names(labels)
        known = np.array([name is not None for name in every], dtype=bool)
        names, codes = np.unique(every[known].astype(str), return_inverse=True)
        own = np.asarray(scores, dtype=np.float64)[known]
        rho = correlation(own, codes)
        n = np.bincount(codes, minlength=len(names)).astype(np.float64)
        location, scale = _next(rho, n, np.bincount(codes, own, minlength=len(names)).astype(np.float64))
        return cls(column, rho, tuple(names.tolist()), location, scale)

    def given(self, dist: Distribution, labels: Sequence[Any]) -> Distribution:
        """The distribution in which known groups are not like new ones."""
        place = {name: i for i, name in enumerate(self.names)}
        at = np.array([place.get(name, -1) for name in group_names(labels)], dtype=np.intp)
        if not self.correlation or not (at >= 0).any():
            return dist
        location, scale = np.append(self.location, 0.0)[at], np.append(self.scale, 1.0)[at]
        return GivenGroup(dist, location, scale)

    def knows(self, labels: Sequence[Any]) -> NDArray[np.bool_]:
        """Which groups are known."""
        known = set(self.names)
        return np.array([name in known for name in group_names(labels)], dtype=bool)


def group_names(labels: Sequence[Any]) -> NDArray[Any]:
    """The names of groups as words, None where missing: 3, 3.0 and "3" are the same group.

    Examples
    --------
    >>> from credo.tables.groups import group_names
    >>> group_names([3.0, "3", "b ", None]).tolist()
    ['3', '3', 'b', None]
    """
    column = labels if isinstance(labels, pandas().Series) else pandas().Series(list(labels), dtype=object)
    return words(column, present_mask(column))


def group_codes(labels: Sequence[Any]) -> NDArray[np.intp]:
    """A number for each group; a row without one is a group of its own."""
    names = group_names(labels)
    missing = np.array([name is None for name in names], dtype=bool)
    codes = np.empty(len(names), dtype=np.intp)
    known, codes[~missing] = np.unique(names[~missing].astype(str), return_inverse=True)
    codes[missing] = len(known) + np.arange(missing.sum())
    return codes


def normal_scores(pit: Array) -> Array:
    """Φ⁻¹ of PIT values, without infinities."""
    return np.clip(ndtri(pit), -_FARTHEST, _FARTHEST)


def correlation(scores: Array, codes: NDArray[np.intp]) -> float:
    """The intraclass correlation of standard normal scores, by maximum likelihood."""
    n = np.bincount(codes).astype(np.float64)
    total, square = np.bincount(codes, scores), np.bincount(codes, scores**2)
    rho = _CORRELATIONS[:, None]
    common = 1.0 + (n - 1.0) * rho
    quadratic = (square - rho * total**2 / common) / (1.0 - rho)
    value = -0.5 * ((n - 1.0) * np.log1p(-rho) + np.log(common) + quadratic).sum(axis=1)
    return float(_CORRELATIONS[int(value.argmax())])


def given_others(dist: Distribution, rho: float, scores: Array, codes: NDArray[np.intp]) -> Distribution:
    """The distribution of each row given the other rows of its group."""
    n, total = np.bincount(codes).astype(np.float64), np.bincount(codes, scores)
    return GivenGroup(dist, *_next(rho, n[codes] - 1.0, total[codes] - scores))


def for_new(dist: Distribution) -> Distribution:
    """What is predicted if no group of the rows is known, from `Groups.given` of it.

    Examples
    --------
    >>> from credo.distributions import GivenGroup, Normal
    >>> from credo.tables.groups import for_new
    >>> for_new(GivenGroup(Normal([10.0], 2.0), [1.5], [0.5])).mean
    array([10.])
    """
    if isinstance(dist, Limited):
        return dist.support.limit(for_new(dist.base))
    return dist.base if isinstance(dist, GivenGroup) else dist


def _next(rho: float, n: Array, total: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of another score of a group, from the number and sum of those that are known."""
    common = 1.0 + (n - 1.0) * rho
    return rho * total / common, np.sqrt(np.maximum(1.0 - n * rho**2 / common, 1e-12))
