"""Inputs that stand in for each other, as the posterior over subsets has it: one or the other is in, seldom both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.report._alike import Sums

Vector = NDArray[np.float64]

# From these probabilities on an input is almost surely in, and probably in; below the last it is probably out.
SURE, IN, OUT = 0.95, 0.75, 0.25
# Of two inputs that stand in for each other, both are in less often than this share of what chance would make it.
_SHUN = 0.75
# A stand-in adds at least so much to the probability that one of the group is in; larger groups say nothing.
ADDS, _MOST_MEMBERS = 0.02, 5


@dataclass(frozen=True)
class Either:
    """Inputs of which one is in, almost surely: which one, the rows don't tell. `both` is that more than one is."""

    names: list[str]
    one: float
    both: float


@dataclass(frozen=True)
class Some:
    """Weighted sums of each other, `rank` of which tell all: at least `needed` of them are in with probability `share`.

    That many are almost surely in; or it is one, with less. They are sums together with those that are `given`, which
    are almost surely in by themselves.
    """

    names: list[str]
    rank: int
    needed: int
    share: float
    given: tuple[str, ...] = ()


@dataclass(frozen=True)
class Counts:
    """How many prepared columns of each input the subsets that averages go over hold, (n_subsets, n_inputs), and the
    subsets' weights; with the sum and the largest of the columns' own probabilities, which are over all subsets.
    """

    inside: NDArray[np.int16]
    weight: Vector
    total: Vector
    largest: Vector

    def any_of(self, inputs: Sequence[int]) -> float:
        """The probability that one of the columns of some inputs is in, as `ModelPosterior.any_of` has it.

        It is the sum of their own, without what they are in together, which the listed subsets say: a bar, and that of
        a group of bars, agree with each other.
        """
        total = float(self.total[inputs].sum())
        spare = self.weight @ np.maximum(self.inside[:, inputs].sum(axis=1) - 1, 0)
        return float(np.clip(total - spare, self.largest[inputs].max(), min(total, 1.0)))

    def at_least(self, m: int, inputs: Sequence[int]) -> float:
        """The probability that m or more of some inputs are in; by Markov's inequality at most E[N]/m."""
        if m == 1:
            return self.any_of(inputs)
        found = float(self.weight @ ((self.inside[:, inputs] > 0).sum(axis=1) >= m))
        return min(found, float(self.total[inputs].sum()) / m)


def combined(names: Sequence[str], values: Vector, counts: Counts, sums: Sequence[Sums]) -> list[Some]:
    """What is to be said of weighted sums of each other, beside those that are almost surely in by themselves.

    Nothing where they are all but out, or where one is as probably in as one of them is.
    """
    found = []
    for group in sums:
        places = [names.index(name) for name in group.names]
        given, places = [i for i in places if values[i] >= SURE], [i for i in places if values[i] < SURE]
        rank = group.rank - len(given)
        if rank < 1 or len(places) < 2:
            continue
        shares = {m: counts.at_least(m, places) for m in range(rank, 0, -1)}
        needed = next((m for m, share in shares.items() if share >= SURE), 1)
        if shares[needed] >= OUT and (needed > 1 or shares[1] >= values[places].max() + ADDS):
            beside = tuple(names[i] for i in given)
            found.append(Some([names[i] for i in places], rank, needed, shares[needed], beside))
    return found


def either_of(names: Sequence[str], values: Vector, counts: Counts, told: Sequence[str]) -> list[Either]:
    """Groups of inputs that are undecided one by one, and of which one is almost surely in; without those `told`."""
    order = np.argsort(-values, kind="stable").tolist()
    open_to = [i for i in order if ADDS <= values[i] < SURE and names[i] not in told]
    inside = counts.inside > 0
    found: list[Either] = []
    taken: set[int] = set()
    for first in open_to:
        if first in taken:
            continue
        group, one = [first], float(values[first])
        for other in open_to:
            if one >= SURE or len(group) == _MOST_MEMBERS:
                break
            if other in group or other in taken or not _shun(inside, counts.weight, group, other):
                continue
            more = counts.any_of([*group, other])
            if more >= one + ADDS:
                group, one = [*group, other], more
        if len(group) > 1 and one >= SURE:
            taken.update(group)
            both = _several(values[group], inside[:, group], counts.weight, one)
            found.append(Either([names[i] for i in group], one, both))
    return found


def _several(values: Vector, inside: NDArray[np.bool_], weight: Vector, one: float) -> float:
    """The probability that more than one is in: of two, what their own leave beside that of one of them.

    With N in, P(N ≥ 2) ≤ E[max(N − 1, 0)] = Σ p − P(N ≥ 1), with equality for two.
    """
    spare = max(float(values.sum()) - one, 0.0)
    return spare if len(values) == 2 else min(spare, float(weight @ (inside.sum(axis=1) > 1)))


def _shun(inside: NDArray[np.bool_], weight: Vector, group: list[int], other: int) -> bool:
    """Whether an input is hardly in together with any one of a group."""
    share = weight @ inside[:, other]
    return all(weight @ (inside[:, i] & inside[:, other]) < _SHUN * share * (weight @ inside[:, i]) for i in group)
