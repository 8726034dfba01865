"""Inputs that say the same: copies of each other, and weighted sums of each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.subsets import Dependence, Standard, dependence_of


@dataclass(frozen=True)
class Copies:
    """Inputs that say the same, but for offset and scale, or `nearly` the same; the first stands for all of them."""

    names: tuple[str, ...]
    nearly: bool = False


@dataclass(frozen=True)
class Sums:
    """Inputs some of which are weighted sums of the others: `rank` of them tell all."""

    names: tuple[str, ...]
    rank: int


@dataclass(frozen=True)
class Alike:
    """Groups of copies, and of weighted sums; no input is in two groups of a kind."""

    copies: tuple[Copies, ...] = ()
    sums: tuple[Sums, ...] = ()


def alike(rows: NDArray[np.float64], origins: Sequence[str]) -> Alike:
    """The inputs that say the same in some rows of prepared columns, of which each is made of one of the `origins`.

    An input that was prepared as several columns is a copy of another where each of its columns is one; as a part of
    a sum only inputs of a single column count.

    >>> a, b = np.random.default_rng(0).normal(size=(2, 20))
    >>> found = alike(np.column_stack([a, b, 32 + 1.8 * a, a - b]), ["a", "b", "fahrenheit", "difference"])
    >>> found.copies[0].names, found.sums[0]
    (('a', 'fahrenheit'), Sums(names=('a', 'b', 'difference'), rank=2))
    """
    standard = Standard.of(rows, np.ones(len(rows)))
    if not len(standard.kept):
        return Alike()
    found = dependence_of(standard.columns(rows))
    places = [origins[j] for j in standard.kept]
    copies = _copies(found, places)
    head = {name: group.names[0] for group in copies for name in group.names}
    count = Counter(origins)
    circuits = {
        frozenset(head.get(places[j], places[j]) for j in circuit)
        for circuit in found.combinations
        if all(count[places[j]] == 1 for j in circuit)
    }
    return Alike(copies, _sums([circuit for circuit in circuits if len(circuit) > 2], list(count)))


def _copies(found: Dependence, origins: Sequence[str]) -> tuple[Copies, ...]:
    """Inputs whose prepared columns are of the same kinds."""
    exact, near = _kinds(found.copies, len(origins)), _kinds([*found.copies, *found.near], len(origins))
    made = []
    for names in _same(near, origins):
        strict = [group for group in _same(exact, origins) if set(group) <= set(names)]
        made.append(Copies(names, nearly=names not in strict))
    return tuple(made)


def _kinds(groups: Iterable[Sequence[int]], n: int) -> list[int]:
    """For each column the first of those like it; a group of near copies holds whole groups of copies."""
    kinds = list(range(n))
    for group in groups:
        for j in group:
            kinds[j] = group[0]
    return kinds


def _same(kinds: Sequence[int], origins: Sequence[str]) -> list[tuple[str, ...]]:
    """Groups of two inputs or more that are made of the same kinds of columns."""
    own: dict[str, set[int]] = {}
    for kind, origin in zip(kinds, origins, strict=True):
        own.setdefault(origin, set()).add(kind)
    groups: dict[frozenset[int], list[str]] = {}
    for origin, its in own.items():
        groups.setdefault(frozenset(its), []).append(origin)
    return [tuple(names) for names in groups.values() if len(names) > 1]


def _sums(circuits: Sequence[frozenset[str]], names: Sequence[str]) -> tuple[Sums, ...]:
    """Circuits that share inputs go together. Each has one input that no other has, and takes one from the rank."""
    pools: list[tuple[set[str], int]] = []
    for circuit in circuits:
        members, n_circuits = set(circuit), 1
        for pool in [pool for pool in pools if pool[0] & circuit]:
            pools.remove(pool)
            members, n_circuits = members | pool[0], n_circuits + pool[1]
        pools.append((members, n_circuits))
    made = [Sums(tuple(name for name in names if name in pool), len(pool) - n) for pool, n in pools]
    return tuple(sorted(made, key=lambda group: names.index(group.names[0])))
