"""Mixtures of distributions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erf

from credo.distributions import _discrete as _steps
from credo.distributions import distribution as valid
from credo.distributions import numeric as _quadrature
from credo.distributions._normal import Normal
from credo.distributions.distribution import Array, Distribution, LocationScale
from credo.distributions.numeric import InverseCdf

# Components of one kind are evaluated together up to this many numbers; with more, that saves no time.
_MAX_JOINT_VALUES = 2**15
# Rows of a mixture, the weights there, and a component of these rows.
_Part = tuple[NDArray[np.intp], Array, Distribution]


class Mixture(Distribution):
    """Σ_k weight_k · component_k for each row.

    Quantiles are found by a bracketing search that is robust to separated components and unequal scales. The CRPS of a
    mixture of normals is exact (Grimit et al. 2006). That of other components is the mean of theirs minus their
    disagreement, which is integrated numerically, accurate to about 1e-10 (less if a Student-t has df close to 1/2), at
    a cost proportional to the number of components. Rows are drawn independently of each other.

    Parameters
    ----------
    components : sequence of Distribution
        They must have equal lengths; a component with one row is used for all rows. If some components are discrete and
        others have densities, `log_prob` raises an error.
    weights : array of shape (k,) or (n_rows, k)
        They must sum to one, up to 1e-6; they are normalized.

    Examples
    --------
    >>> from credo.distributions import Mixture, Normal
    >>> dist = Mixture([Normal([0.0, 1.0], 1.0), Normal(10.0, 0.1)], [0.5, 0.5])
    >>> dist.mean
    array([5. , 5.5])
    >>> dist.quantile([0.75, 1.0])
    array([[10., inf],
           [10., inf]])
    """

    # Each with as many rows as the mixture.
    components: tuple[Distribution, ...]
    # Shape (n_rows, k).
    weights: Array

    def __init__(self, components: Sequence[Distribution], weights: ArrayLike) -> None:
        components = tuple(components)
        parts = _aligned(components)
        scalar = np.ndim(weights) == 1 and all(part._scalar for part in components)
        table = valid.numbers("weights", weights)
        shape = (len(parts[0]), len(parts))
        if table.shape not in {shape, shape[1:]}:
            raise ValueError(
                f"weights must have the shape {shape[1:]} or {shape}, one for each component; got {table.shape}"
            )
        table = np.broadcast_to(valid.probabilities("weights", table), shape)
        vars(self).update(
            components=parts,
            weights=valid.frozen(table),
            _discrete=all(part._discrete for part in parts),
            _scalar=scalar,
        )

    @property
    def _mean(self) -> Array:
        return self._sum(part.mean for part in self.components)

    @property
    def _std(self) -> Array:
        # The law of total variance, by hypot so that no square overflows or vanishes.
        mean, std = self._mean, np.zeros(len(self))
        for weight, part in self._parts():
            with np.errstate(all="ignore"):
                spread = np.sqrt(weight) * np.hypot(part.std, part.mean - mean)
            std = np.where(weight > 0, np.hypot(std, spread), std)
        return np.where(np.isnan(mean), np.nan, std)

    def __len__(self) -> int:
        return len(self.weights)

    def __repr__(self) -> str:
        kinds = ", ".join(dict.fromkeys(type(part).__name__ for part in self.components))
        return f"Mixture(<{len(self.components)} components ({kinds}) of {len(self)} rows>)"

    def _cdf(self, y: Array) -> Array:
        return self._tail(y, np.zeros(y.shape, dtype=bool))

    def _tail(self, y: Array, upper: NDArray[np.bool_]) -> Array:
        # The last axis is that of the rows, unless a single row is evaluated on a grid.
        shape = (-1, max(len(self), 1))
        points, signs = y.reshape(shape), upper.reshape(shape)
        total = np.zeros(points.shape)
        for group in self._groups:
            values = group.weights * group.dist._tail(points[:, group.rows], signs[:, group.rows])
            total[:, group.rows[group.starts]] += np.add.reduceat(values, group.starts, axis=1)
        return np.minimum(total, 1.0).reshape(y.shape)

    def _log_prob(self, y: Array) -> Array:
        kinds = {part._discrete: type(part).__name__ for part in self.components}
        if len(kinds) > 1:
            raise TypeError(f"a density and a probability can't be mixed: {kinds[False]} and {kinds[True]}")
        total = np.full(y.shape, -np.inf)
        for weight, part in self._parts():
            with np.errstate(all="ignore"):
                term = np.log(weight) + part._log_prob(y)
            total = np.logaddexp(total, np.where(weight > 0, term, -np.inf))
        return total

    def _log_far_mass(self, low: Array, high: Array) -> Array:
        total = np.full(len(self), -np.inf)
        for weight, part in self._parts():
            with np.errstate(divide="ignore"):
                total = np.logaddexp(total, np.log(weight) + part._log_mass(low, high))
        return total

    def _crps(self, y: Array) -> Array:
        normals = [part for part in self.components if isinstance(part, Normal)]
        if len(normals) == len(self.components):
            return self._crps_of_normals(normals, y)
        # The mean of the components' scores less their disagreement, which doesn't depend on y:
        # ∫ (F − H)² = Σ_k w_k ∫ (F_k − H)² − ∫ Σ_k w_k (F_k − F)² for any H.
        scores = self._sum(part._crps(y) for part in self.components)
        with np.errstate(all="ignore"):
            score = np.maximum(scores - self._disagreement(), 0.0)
        return np.where(np.isinf(y) | (self._tail_index() <= 0.5), np.inf, score)

    def _crps_of_normals(self, parts: list[Normal], y: Array) -> Array:
        # E|X − y| − E|X − X'|/2, where a difference of normals is normal: Grimit et al. (2006).
        distance = self._sum(_mean_distance(y, part.mean, part.std) for part in parts)
        weights, means, stds = self.weights.T, np.stack([p.mean for p in parts]), np.stack([p.std for p in parts])
        spread = (weights**2 * stds).sum(axis=0) / np.sqrt(np.pi)
        for i in range(1, len(parts)):
            gap = _mean_distance(means[i], means[:i], np.hypot(stds[i], stds[:i]))
            share = weights[i] * weights[:i]
            spread += np.where(share > 0, share * gap, 0.0).sum(axis=0)
        return np.maximum(distance - spread, 0.0)

    def _disagreement(self) -> Array:
        """∫ Σ_k w_k (F_k − F)² dx of each row, where F = Σ_k w_k F_k."""
        edges = _quadrature.mesh(self._knots(), *self._widths())

        def variance(x: Array, rows: NDArray[np.intp]) -> Array:
            upper = x > edges[0, rows] / 2 + edges[-1, rows] / 2
            mean, total, mass = np.zeros(x.shape), np.zeros(x.shape), np.zeros(len(rows))
            # By updates that lose no digits (West 1979).
            for weights, part in self._parts():
                weight = weights[rows]
                gap = part[rows]._tail(x, upper) - mean
                mass = mass + weight
                step = gap * np.where(weight > 0, weight / np.where(mass > 0, mass, 1.0), 0.0)
                total += weight * gap * (gap - step)
                mean += step
            return total

        return _quadrature.integral(edges, variance)

    def _quantile(self, q: Array) -> Array:
        return self._search(q, 1 - q, lambda part: part._quantile(q))

    def _isf(self, p: Array) -> Array:
        return self._search(1 - p, p, lambda part: part._isf(p))

    def _search(self, q: Array, complement: Array, quantiles: Callable[[Distribution], Array]) -> Array:
        """The quantiles at q = 1 − complement, given those of any component."""
        # The quantile lies between the smallest and the largest of the components' quantiles.
        low, high = np.full((len(self), q.size), np.inf), np.full((len(self), q.size), -np.inf)
        for group in self._groups:
            ends, rows = quantiles(group.dist), group.rows[group.starts]
            low[rows] = np.minimum(low[rows], np.minimum.reduceat(ends, group.starts, axis=0))
            high[rows] = np.maximum(high[rows], np.maximum.reduceat(ends, group.starts, axis=0))
        inside, order = (q > 0) & (complement > 0), np.argsort(q)
        values = np.where(q > 0, high, low)
        inverse = InverseCdf(self._tail, q[inside, None], complement[inside, None], smooth=~self._atoms())
        values[:, inside] = inverse.between(low[:, inside].T, high[:, inside].T).T
        # Levels that differ by rounding alone must not make quantiles cross.
        values[:, order] = np.maximum.accumulate(values[:, order], axis=1)
        return values

    def _sample(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        chosen, draws = _steps.choices(self.weights, n, rng), np.empty((n, len(self)))
        for k, part in enumerate(self.components):
            where = np.nonzero(chosen == k)
            draws[where] = part[where[1]]._sample(1, rng)[0]
        return draws

    def _take(self, rows: NDArray[np.intp]) -> Self:
        return type(self)([part[rows] for part in self.components], self.weights[rows])

    def _atoms(self) -> NDArray[np.bool_]:
        return np.any([(weight > 0) & part._atoms() for weight, part in self._parts()], axis=0)

    def _knots(self) -> Array:
        return np.concatenate([part._knots() for part in self.components])

    def _widths(self) -> tuple[Array, Array]:
        # Components without weight have no knots: `mesh` ignores an infinite width.
        found = [(weight > 0, *part._widths()) for weight, part in self._parts()]
        width = np.concatenate([np.where(used, width, np.inf) for used, width, _ in found])
        return width, np.concatenate([np.where(used, reach, -np.inf) for used, _, reach in found])

    def _tail_index(self) -> Array:
        return np.min([np.where(weight > 0, part._tail_index(), np.inf) for weight, part in self._parts()], axis=0)

    @cached_property
    def _groups(self) -> list[_Group]:
        """The components that aren't mixtures, each in the rows where its weight is positive, in groups of one kind."""
        kinds: dict[type, list[_Part]] = {}
        for weight, part in self._leaves():
            rows = np.flatnonzero(weight > 0)
            if len(rows):
                own = part if len(rows) == len(part) else part[rows]
                kinds.setdefault(type(part), []).append((rows, weight[rows], own))
        groups = []
        for kind, parts in kinds.items():
            size = max(1, _MAX_JOINT_VALUES // len(self)) if issubclass(kind, LocationScale) and kind._shown else 1
            groups += [_group(parts[start : start + size]) for start in range(0, len(parts), size)]
        return groups

    def _leaves(self) -> Iterator[tuple[Array, Distribution]]:
        """The weights and components, with mixtures replaced by their own components."""
        for weight, part in self._parts():
            if isinstance(part, Mixture):
                yield from ((weight * share, leaf) for share, leaf in part._leaves())
            else:
                yield weight, part

    def _parts(self) -> Iterator[tuple[Array, Distribution]]:
        """Each component's weights, one for each row, and the component."""
        return zip(self.weights.T, self.components, strict=True)

    def _sum(self, values: Iterable[Array]) -> Array:
        """Σ_k weight_k · value_k, where a weight of zero also removes NaN and infinity."""
        total: Any = 0.0
        for weight, value in zip(self.weights.T, values, strict=True):
            with np.errstate(all="ignore"):
                total = total + np.where(weight > 0, weight * value, 0.0)
        return total


class _Group(NamedTuple):
    """Components of one kind, as one distribution of pairs of a row and a component, in the order of the rows.

    `rows` and `weights` are those of the pairs; each of `starts` is the first pair of a row.
    """

    rows: NDArray[np.intp]
    starts: NDArray[np.intp]
    weights: Array
    dist: Distribution


def _group(parts: Sequence[_Part]) -> _Group:
    """One group of components, given with their rows and weights; several are of one `LocationScale` class."""
    rows, weights, dist = parts[0]
    if len(parts) > 1:
        rows, weights = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
        order = np.argsort(rows, kind="stable")
        columns = [np.concatenate([getattr(part[2], name) for part in parts])[order] for name in dist._shown]
        rows, weights, dist = rows[order], weights[order], type(dist)(*columns)
    return _Group(rows, np.flatnonzero(np.diff(rows, prepend=-1)), weights, dist)


def _aligned(parts: tuple[Distribution, ...]) -> tuple[Distribution, ...]:
    """The components, none of them scalar, with those of one row repeated to the length of the others."""
    if not parts:
        raise ValueError("a mixture needs at least one component; got none")
    for k, part in enumerate(parts):
        if not isinstance(part, Distribution):
            raise TypeError(f"components must be distributions; component {k} is a {type(part).__name__}")
    lengths = {len(part) for part in parts} - {1}
    if len(lengths) > 1:
        sizes = [len(part) for part in parts]
        raise ValueError(f"components must have equal lengths (or length 1); got {sizes}")
    length = lengths.pop() if lengths else 1
    everywhere = np.zeros(length, dtype=np.intp)
    return tuple(part if len(part) == length and not part._scalar else part[everywhere] for part in parts)


def _mean_distance(a: Array, b: Array, std: Array) -> Array:
    """E|a − b + std·z| of a standard normal z."""
    with np.errstate(all="ignore"):
        gap = np.abs(a - b)
        z = np.where(std > 0, gap / std, np.inf)
        return gap * erf(z / np.sqrt(2)) + std * np.sqrt(2 / np.pi) * np.exp(-0.5 * z * z)
