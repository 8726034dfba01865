"""Inclusion probabilities by the columns of the table, from the posterior over subsets of the prepared columns.

A column that was prepared as several ones (levels, a mark for missing values) is included if any of them is, and so is
a column with copies. The words of a text count one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.core.notices import collected
from credo.sparse import LassoPath, ModelPrior, Standard, dependence_of, lasso_path
from credo.study.report._effects import untransformed
from credo.study.report._inputs import dense

Vector = NDArray[np.float64]

# An input almost certainly matters from the first probability on, probably matters from the second on, and probably
# doesn't below the third.
CERTAIN, PROBABLE, IMPROBABLE = 0.95, 0.75, 0.25
# Two inputs replace each other if both are included less often than this share of what independence would give.
_EXCLUSIVE = 0.75
# A member must add this much to the probability that at least one of a group is included; and the largest group.
_ADDS, _MAX_MEMBERS = 0.02, 5
# Larger tables have no lasso path, which ends at this share of its largest penalty; in even larger ones inputs aren't
# compared with each other.
_MAX_CELLS, _PATH_END, _MAX_COMPARED = 10**6, 0.01, 10**7


@dataclass(frozen=True)
class Copies:
    """Inputs that are equal, or `nearly` equal, up to offset and scale; the first stands for all of them."""

    names: tuple[str, ...]
    nearly: bool = False


@dataclass(frozen=True)
class Sums:
    """Inputs some of which are linear combinations of the others: `rank` of them determine all."""

    names: tuple[str, ...]
    rank: int


@dataclass(frozen=True)
class Alternatives:
    """Inputs at least one of which is almost certainly included, with probability `one`; several with `both`."""

    names: list[str]
    one: float
    both: float


@dataclass(frozen=True)
class Dependent:
    """Inputs that, with those `given`, are linear combinations of each other: `rank` of them determine all.

    The `given` ones are almost certainly included. Of the others at least `needed` are, with probability `share`:
    almost certainly, or else `needed` is one.
    """

    names: list[str]
    rank: int
    needed: int
    share: float
    given: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prior:
    """The prior over subsets, and the prior probability of each input."""

    subsets: ModelPrior
    shares: Vector

    @classmethod
    def of(cls, inclusion: Any, origins: Sequence[str]) -> Prior:
        """From `prior_inclusion` of a model, and the input that each prepared column was made of.

        The prior of k out of d columns is of the same kind: an input of k columns is excluded if all of them are.

        >>> Prior.of("beta-binomial", ["soil", "soil", "wind"]).shares.round(4)
        array([0.6667, 0.5   ])
        """
        subsets = ModelPrior.of(inclusion, len(origins))
        out = [float(ModelPrior(k, subsets.inclusion).log_prob(0)) for k in Counter(origins).values()]
        return cls(subsets, -np.expm1(out))


@dataclass(frozen=True)
class Inclusions:
    """The inclusion probability of each input, and inputs that can replace each other.

    The first of `copies` stands in `names` for all of them. `path` is that of the lasso, with the largest coefficient
    of each input's prepared columns. `converged` and `error` are those of the search over subsets. A `wide` table has
    more inputs than rows, so that many may share their probability.
    """

    model: str
    names: list[str]
    values: Vector
    alternatives: list[Alternatives]
    dependent: list[Dependent] = field(default_factory=list)
    copies: list[Copies] = field(default_factory=list)
    path: LassoPath | None = None
    converged: bool = True
    error: float = 0.0
    prior: Prior | None = None
    wide: bool = False

    @property
    def order(self) -> NDArray[np.intp]:
        """The inputs, the most probable first."""
        return np.argsort(-self.values, kind="stable")

    @property
    def groups(self) -> list[Alternatives | Dependent]:
        """Groups of inputs that can replace each other; no input is in two of them."""
        return [*self.alternatives, *self.dependent]

    def n_of(self, names: Sequence[str]) -> int:
        """How many inputs of the table some names stand for."""
        others = {group.names[0]: len(group.names) - 1 for group in self.copies}
        return len(names) + sum(others.get(name, 0) for name in names)

    def value(self, name: str) -> float:
        """The inclusion probability of an input."""
        return float(self.values[self.names.index(name)])

    def between(self, low: float, high: float) -> list[str]:
        """The inputs of a probability in [low, high), the most probable first."""
        return [self.names[i] for i in self.order if low <= self.values[i] < high]


def inclusions(models: Mapping[str, Any], frame: Any, y: Any) -> Inclusions | None:
    """From the first model with a posterior over subsets of the prepared columns.

    None if there is no such model, or a single input. For regression, with the lasso path on the same rows.
    """
    inner = {name: untransformed(model.estimator_)[0] for name, model in models.items()}
    name = next((name for name, each in inner.items() if hasattr(each, "inclusion_probabilities_")), None)
    if name is None:
        return None
    estimator, every = inner[name], models[name].preparation_.inputs()
    if len(set(every)) < 2:
        return None
    if estimator is not models[name].estimator_:
        y = models[name].estimator_.transformation_.forward(y)
    rows = models[name].preparation_.transform(frame)
    size = rows.shape[0] * rows.shape[1]
    same, sums = alike(dense(rows), every) if size <= _MAX_COMPARED else ((), ())
    copies = joined(every, estimator.posterior_, same)
    head = {other: group.names[0] for group in copies for other in group.names}
    origins = [head.get(origin, origin) for origin in every]
    converged = bool(estimator.result_.converged)
    found = grouped(name, origins, estimator.posterior_, sums=sums)
    # Without convergence the groups are the least certain of all.
    found = found if converged else replace(found, alternatives=[], dependent=[])
    return replace(
        found,
        copies=copies,
        path=None if hasattr(estimator, "classes_") or size > _MAX_CELLS else _path(rows, origins, y),
        converged=converged,
        error=float(np.max(estimator.posterior_.diagnostics.get("inclusion_error", 0.0))),
        prior=Prior.of(estimator.prior_inclusion, origins),
        wide=len(set(every)) > len(frame),
    )


def _path(rows: Any, origins: Sequence[str], y: Any) -> LassoPath:
    """The lasso path on the prepared columns, by inputs."""
    # If it doesn't converge at some penalty, the order of the inputs is visible all the same.
    with collected():
        alphas, coefs, gaps = lasso_path(rows, y, eps=_PATH_END)
    names = list(dict.fromkeys(origins))
    largest = np.zeros((len(names), len(alphas)))
    np.maximum.at(largest, [names.index(origin) for origin in origins], np.abs(coefs))
    return LassoPath(alphas, largest, gaps, names=names)


def alike(
    rows: NDArray[np.float64], origins: Sequence[str]
) -> tuple[tuple[Copies, ...], tuple[Sums, ...]]:  # fmt: skip
    """Copies and linear combinations among inputs, from prepared columns, each made of one of the `origins`.

    An input of several prepared columns is a copy of another if each of its columns is one. Only inputs of a single
    column count as parts of a linear combination.

    >>> a, b = np.random.default_rng(0).normal(size=(2, 20))
    >>> copies, sums = alike(np.column_stack([a, b, 32 + 1.8 * a, a - b]), ["a", "b", "fahrenheit", "difference"])
    >>> copies[0].names, sums[0]
    (('a', 'fahrenheit'), Sums(names=('a', 'b', 'difference'), rank=2))
    """
    standard = Standard.of(rows, np.ones(len(rows)))
    if not len(standard.kept):
        return (), ()
    found = dependence_of(standard.columns(rows))
    places = [origins[j] for j in standard.kept]
    exact = _same(found.copies, places)
    copies = tuple(Copies(names, names not in exact) for names in _same([*found.copies, *found.near], places))
    head = {name: group.names[0] for group in copies for name in group.names}
    n_columns = Counter(origins)
    sets = {
        frozenset(head.get(places[j], places[j]) for j in combination)
        for combination in found.combinations
        if all(n_columns[places[j]] == 1 for j in combination)
    }
    return copies, _sums([each for each in sets if len(each) > 2], list(n_columns))


def _same(groups: Sequence[Sequence[int]], origins: Sequence[str]) -> list[tuple[str, ...]]:
    """Groups of inputs whose prepared columns are equal; a group of near copies contains whole groups of copies."""
    kinds = list(range(len(origins)))
    for group in groups:
        for j in group:
            kinds[j] = group[0]
    own: dict[str, set[int]] = {}
    for kind, origin in zip(kinds, origins, strict=True):
        own.setdefault(origin, set()).add(kind)
    found: dict[frozenset[int], list[str]] = {}
    for origin, its in own.items():
        found.setdefault(frozenset(its), []).append(origin)
    return [tuple(names) for names in found.values() if len(names) > 1]


def _sums(sets: Sequence[frozenset[str]], names: Sequence[str]) -> tuple[Sums, ...]:
    """Minimal dependent sets that share inputs are joined; each takes one from the rank."""
    pools: list[tuple[set[str], int]] = []
    for each in sets:
        touching = [pool for pool in pools if pool[0] & each]
        pools = [pool for pool in pools if not pool[0] & each]
        pools.append((set(each).union(*(pool[0] for pool in touching)), 1 + sum(pool[1] for pool in touching)))
    made = [Sums(tuple(name for name in names if name in pool), len(pool) - n) for pool, n in pools]
    return tuple(sorted(made, key=lambda group: names.index(group.names[0])))


@dataclass(frozen=True)
class Counts:
    """How many prepared columns of each input each subset has, (n_subsets, n_inputs), and the weights of the subsets.

    `total` and `largest` are the sum and the maximum of the probabilities of an input's columns, over all subsets.
    """

    names: list[str]
    inside: NDArray[np.int16]
    weight: Vector
    total: Vector
    largest: Vector

    @classmethod
    def of(cls, origins: Sequence[str], posterior: Any) -> Counts:
        names = list(dict.fromkeys(origins))
        number = {name: i for i, name in enumerate(names)}
        place = np.array([number[origin] for origin in origins])
        models, weight = posterior.averaged
        inside = np.zeros((len(models), len(names)), dtype=np.int16)
        for row, subset in zip(inside, models, strict=True):
            np.add.at(row, place[list(subset)], 1)
        single = np.asarray(posterior.inclusion, dtype=np.float64)
        largest, total = np.zeros(len(names)), np.zeros(len(names))
        np.maximum.at(largest, place, single)
        np.add.at(total, place, single)
        return cls(names, inside, weight, total, largest)

    def any_of(self, inputs: Sequence[int]) -> float:
        """The probability that at least one of some inputs is included, as in `ModelPosterior.any_of`.

        Σ p − E[max(N − 1, 0)] for N included columns, so that the probabilities of inputs and of groups agree.
        """
        total = float(self.total[inputs].sum())
        spare = self.weight @ np.maximum(self.inside[:, inputs].sum(axis=1) - 1, 0)
        return float(np.clip(total - spare, self.largest[inputs].max(), min(total, 1.0)))

    def at_least(self, m: int, inputs: Sequence[int]) -> float:
        """The probability that m or more of some inputs are included; by Markov's inequality at most E[N]/m."""
        if m == 1:
            return self.any_of(inputs)
        found = float(self.weight @ ((self.inside[:, inputs] > 0).sum(axis=1) >= m))
        return min(found, float(self.total[inputs].sum()) / m)

    def are_exclusive(self, group: list[int], other: int) -> bool:
        """Whether an input is rarely included together with any of a group."""
        inside, weight = self.inside > 0, self.weight
        share = weight @ inside[:, other]
        both = (
            weight @ (inside[:, i] & inside[:, other]) < _EXCLUSIVE * share * (weight @ inside[:, i]) for i in group
        )
        return all(both)


def grouped(model: str, origins: Sequence[str], posterior: Any, *, sums: Sequence[Sums] = ()) -> Inclusions:
    """The posterior over subsets of prepared columns in terms of the inputs that they were made of."""
    counts = Counts.of(origins, posterior)
    values = np.array([counts.any_of([i]) for i in range(len(counts.names))])
    # A combination of near copies, which are one input here, isn't reported.
    sums = [group for group in sums if set(group.names) <= set(counts.names)]
    dependent = _dependent(values, counts, sums)
    seen = {name for group in dependent for name in group.names}
    return Inclusions(model, counts.names, values, _alternatives(values, counts, seen), dependent)


def joined(origins: Sequence[str], posterior: Any, copies: Sequence[Copies]) -> list[Copies]:
    """Copies, and near copies unless the data distinguish them.

    They do if one is almost certainly included, or as probable as the whole group.
    """
    counts = Counts.of(origins, posterior)
    kept = []
    for group in copies:
        places = [counts.names.index(name) for name in group.names]
        largest = max(counts.any_of([i]) for i in places)
        if not group.nearly or (largest < CERTAIN and counts.any_of(places) >= largest + _ADDS):
            kept.append(group)
    return kept


def _dependent(values: Vector, counts: Counts, sums: Sequence[Sums]) -> list[Dependent]:
    """Linear combinations to report: probable ones, unless one input is as probable as the whole group."""
    found, names = [], counts.names
    for group in sums:
        places = [names.index(name) for name in group.names]
        given, places = [i for i in places if values[i] >= CERTAIN], [i for i in places if values[i] < CERTAIN]
        rank = group.rank - len(given)
        if rank < 1 or len(places) < 2:
            continue
        shares = {m: counts.at_least(m, places) for m in range(rank, 0, -1)}
        needed = next((m for m, share in shares.items() if share >= CERTAIN), 1)
        if shares[needed] >= IMPROBABLE and (needed > 1 or shares[1] >= values[places].max() + _ADDS):
            beside = tuple(names[i] for i in given)
            found.append(Dependent([names[i] for i in places], rank, needed, shares[needed], beside))
    return found


def _alternatives(values: Vector, counts: Counts, seen: set[str]) -> list[Alternatives]:
    """Groups of inputs, none of them certain, of which at least one almost certainly is included."""
    order = np.argsort(-values, kind="stable").tolist()
    open_ones = [i for i in order if _ADDS <= values[i] < CERTAIN and counts.names[i] not in seen]
    found: list[Alternatives] = []
    taken: set[int] = set()
    for first in open_ones:
        if first in taken:
            continue
        group, one = [first], float(values[first])
        for other in open_ones:
            if one >= CERTAIN or len(group) == _MAX_MEMBERS:
                break
            if other in group or other in taken or not counts.are_exclusive(group, other):
                continue
            more = counts.any_of([*group, other])
            if more >= one + _ADDS:
                group, one = [*group, other], more
        if len(group) > 1 and one >= CERTAIN:
            taken.update(group)
            # P(N ≥ 2) ≤ E[max(N − 1, 0)] = Σ p − P(N ≥ 1) for N included inputs, with equality for two.
            spare = max(float(values[group].sum()) - one, 0.0)
            several = float(counts.weight @ ((counts.inside[:, group] > 0).sum(axis=1) > 1))
            both = spare if len(group) == 2 else min(spare, several)
            found.append(Alternatives([counts.names[i] for i in group], one, both))
    return found
