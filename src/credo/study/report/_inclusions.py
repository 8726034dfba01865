"""Which inputs matter, from the posterior over subsets of the prepared columns: numbers, sentences and the figure.

A column that was prepared as several ones (levels, a mark for missing values) is included if any of them is, and so is
a column with copies. The words of a text count one by one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from credo import plots
from credo.core.estimator import describe
from credo.core.wording import about, listing, number, percent, spelled, whole_percent
from credo.plots import shorten
from credo.study.report._figure import MAX_BARS, Figure, figure

if TYPE_CHECKING:
    from credo.sparse import ModelPrior

Vector = NDArray[np.float64]

# An input almost certainly matters from the first probability on, probably matters from the second on, and probably
# doesn't below the third.
CERTAIN, PROBABLE, IMPROBABLE = 0.95, 0.75, 0.25
# Two inputs replace each other if both are included less often than this share of what independence would give.
_EXCLUSIVE = 0.75
# A member must add this much to the probability that at least one of a group is included; and the largest group.
_ADDS, _MAX_MEMBERS = 0.02, 5
# How many inputs a part of the sentence names; more than the second number of irrelevant ones are only counted.
_NAMED, _NAMED_OUT = 6, 4
# Prior odds that are this many times larger or smaller are as reasonable.
_OTHER_ODDS = 4.0
# Up to this many inputs are a few.
_MAX_EXPECTED_FOR_A_FEW = 3.0


@dataclass(frozen=True)
class Alternatives:
    """Inputs that replace each other: at least one is included with probability `one`, several with `both`."""

    names: list[str]
    one: float
    both: float


@dataclass(frozen=True)
class Inclusions:
    """The inclusion probability of each input, the prior one, and inputs that can replace each other.

    The first of `copies` stands in `names` for all of them. `converged` and `error` are those of the search over
    subsets. A `wide` table has more inputs than rows, so that many may share their probability.
    """

    model: str
    names: list[str]
    values: Vector
    alternatives: list[Alternatives] = field(default_factory=list)
    copies: list[tuple[str, ...]] = field(default_factory=list)
    converged: bool = True
    error: float = 0.0
    prior: ModelPrior | None = None
    prior_shares: Vector | None = None
    wide: bool = False

    @property
    def order(self) -> NDArray[np.intp]:
        """The inputs, the most probable first."""
        return np.argsort(-self.values, kind="stable")

    def n_of(self, names: Sequence[str]) -> int:
        """How many inputs of the table some names stand for."""
        return len(names) + sum(len(group) - 1 for group in self.copies if group[0] in names)

    def value(self, name: str) -> float:
        """The inclusion probability of an input."""
        return float(self.values[self.names.index(name)])

    def between(self, low: float, high: float) -> list[str]:
        """The inputs of a probability in [low, high), the most probable first."""
        return [self.names[i] for i in self.order if low <= self.values[i] < high]


def inclusions(models: Mapping[str, Any], n_rows: int) -> Inclusions | None:
    """From the first model with a posterior over subsets of the prepared columns; None without, or for one input."""
    for name, model in models.items():
        subsets, every = describe(model).subsets, model.without_exposure.inputs()
        if subsets is not None and len(set(every)) > 1:
            return grouped(name, every, subsets, wide=len(set(every)) > n_rows)
    return None


def grouped(model: str, inputs: Sequence[str], subsets: Any, *, wide: bool = False) -> Inclusions:
    """The posterior over subsets of prepared columns in terms of the inputs that they were made of."""
    n_columns = Counter(inputs)
    copies = [
        tuple(inputs[j] for j in group) for group in subsets.copies if all(n_columns[inputs[j]] == 1 for j in group)
    ]
    head = {name: group[0] for group in copies for name in group}
    origins = [head.get(name, name) for name in inputs]
    own: dict[str, list[int]] = {}
    for j, origin in enumerate(origins):
        own.setdefault(origin, []).append(j)
    names, places, posterior = list(own), list(own.values()), subsets.posterior
    values = np.array([posterior.any_of(p) if len(p) > 1 else posterior.inclusion[p[0]] for p in places])
    # An input of k columns is excluded if all of them are; the prior of k out of d columns is of the same kind.
    out = [float(replace(subsets.prior, d=len(p)).log_prob(0)) for p in places]
    return Inclusions(
        model,
        names,
        values,
        # Without convergence the groups are the least certain of all.
        _alternatives(names, places, values, posterior) if subsets.converged else [],
        copies,
        converged=subsets.converged,
        error=float(np.max(posterior.diagnostics.get("inclusion_error", 0.0))),
        prior=subsets.prior,
        prior_shares=-np.expm1(out),
        wide=wide,
    )


def _alternatives(
    names: Sequence[str], places: Sequence[Sequence[int]], values: Vector, posterior: Any
) -> list[Alternatives]:
    """Groups of inputs, none of them certain, of which at least one almost certainly is included."""
    order = np.argsort(-values, kind="stable").tolist()
    open_ones = [i for i in order if _ADDS <= values[i] < CERTAIN]
    subsets, weight = posterior.averaged
    inside = np.array([[not set(places[i]).isdisjoint(subset) for i in open_ones] for subset in subsets], dtype=bool)
    column = {i: inside[:, k] for k, i in enumerate(open_ones)} if open_ones else {}
    found: list[Alternatives] = []
    taken: set[int] = set()
    for first in open_ones:
        group, one = [first], float(values[first])
        for other in [] if first in taken else open_ones:
            if one >= CERTAIN or len(group) == _MAX_MEMBERS:
                break
            if other in group or other in taken:
                continue
            share = weight @ column[other]
            apart = (weight @ (column[i] & column[other]) < _EXCLUSIVE * share * (weight @ column[i]) for i in group)
            more = posterior.any_of([j for i in (*group, other) for j in places[i]]) if all(apart) else 0.0
            if more >= one + _ADDS:
                group, one = [*group, other], more
        if len(group) > 1 and one >= CERTAIN:
            taken.update(group)
            # P(N ≥ 2) ≤ E[max(N − 1, 0)] = Σ p − P(N ≥ 1) for N included inputs, with equality for two.
            both = max(float(values[group].sum()) - one, 0.0)
            if len(group) > 2:
                both = min(both, float(weight @ (sum(column[i].astype(int) for i in group) > 1)))
            found.append(Alternatives([names[i] for i in group], one, both))
    return found


def inclusion_sentence(fact: Inclusions, *, linear: bool) -> str:
    """Which inputs almost certainly matter, which probably, which are uncertain, and which probably don't.

    `linear` says whether the selected model is linear, as the models behind these probabilities are.
    """
    text = _which(fact, among="" if linear else " in linear models")
    if fact.converged:
        return text
    by = f" (± {number(100 * fact.error, digits=2)} percentage points or worse)" if fact.error > 0 else ""
    return f"{text} The search over subsets has not converged: these probabilities are approximate{by}."


def _which(fact: Inclusions, *, among: str) -> str:
    n = fact.n_of(fact.names)
    grouped = {name for group in fact.alternatives for name in group.names}
    certain, likely, uncertain, out = (
        [name for name in fact.between(low, high) if name not in grouped]
        for low, high in ((CERTAIN, 2.0), (PROBABLE, CERTAIN), (IMPROBABLE, PROBABLE), (0.0, IMPROBABLE))
    )
    above, below = f"({whole_percent(CERTAIN)} or more)", whole_percent(IMPROBABLE)
    if len(certain) == n:
        every = "Both inputs" if n == 2 else f"All {spelled(n)} inputs"
        return f"{every} almost certainly matter{among} {above}."
    if len(out) == len(fact.names):
        none = "Neither of the two inputs" if n == 2 else f"None of the {spelled(n)} inputs"
        if fact.wide:
            return f"{none} has an inclusion probability above {below}{among}."
        return f"{none} is likely to matter{among} (each below {below})."
    parts = [f"{_listed(certain, fact)} almost certainly matter{'s' * (len(certain) == 1)} {above}"] if certain else []
    if not certain and not fact.alternatives:
        parts = [f"none has an inclusion probability of {whole_percent(CERTAIN)} or more"]
    for group in fact.alternatives:
        two = len(group.names) == 2
        both = f"; {'both' if two else 'several'}: {whole_percent(group.both)}" if group.both >= 0.01 else ""
        one = "over 99 %" if group.one > 0.99 else whole_percent(group.one)
        which = "either" if two else "any one"
        parts.append(f"{which} of {_listed(group.names, fact)} is enough (at least one: {one}{both})")
    if likely:
        parts.append(f"{_listed(likely, fact)} probably matter{'s' * (len(likely) == 1)} ({_range(likely, fact)})")
    if uncertain:
        are = "is" if len(uncertain) == 1 else "are"
        parts.append(f"{_listed(uncertain, fact)} {are} uncertain ({_range(uncertain, fact)})")
    parts += [_improbable(out, fact)] if out else []
    return f"Of the {spelled(n)} inputs{among}, {'; '.join(parts)}."


def _improbable(names: list[str], fact: Inclusions) -> str:
    below = f"below {whole_percent(IMPROBABLE)})"
    if len(names) <= _NAMED_OUT:
        return f"{_listed(names, fact)} probably {'does' if len(names) == 1 else 'do'}n't matter ({below}"
    there_are_others = len(names) < len(fact.names)
    rest = f"{'other ' * there_are_others}{spelled(fact.n_of(names))}"
    if fact.wide:
        return f"none of the {rest} has a high inclusion probability (each {below}"
    return f"{'the ' * there_are_others}{rest} probably don't matter ({below}"


def prior_text(fact: Inclusions) -> str:
    """The prior over subsets in words."""
    assert fact.prior is not None and fact.prior_shares is not None
    if not isinstance(fact.prior.inclusion, tuple):
        return f"each input is included with probability {whole_percent(fact.prior.mean)}, independently of the others"
    if fact.prior.inclusion == (1.0, 1.0):
        return "every number of included inputs is equally probable"
    expected = float(fact.prior_shares.sum())
    if expected <= _MAX_EXPECTED_FOR_A_FEW:
        return "a few inputs are expected to matter"
    return f"about {about(expected)} of the {spelled(len(fact.names))} inputs are expected to matter"


def prior_sentence(fact: Inclusions) -> str:
    """The prior, and the inputs that other prior odds would move across a boundary; empty if there are none."""
    low, high = _with_odds(IMPROBABLE, 1 / _OTHER_ODDS), _with_odds(PROBABLE, _OTHER_ODDS)
    names = [shorten(name) for name in fact.between(low, high)]
    if fact.prior is None or not names:
        return ""
    who = listing(names) if len(names) <= _NAMED_OUT else f"{spelled(len(names))} of these probabilities"
    return f"Prior: {prior_text(fact)}. Another prior could change {who} considerably."


def chance(value: float) -> str:
    """A probability in whole per cent, with a decimal if rounding would lift it to a boundary.

    >>> chance(0.434), chance(0.247), chance(0.2499), chance(0.25)
    ('43 %', '24.7 %', '24.9 %', '25 %')
    """
    text = whole_percent(value)
    is_below = any(value < end and text == whole_percent(end) for end in (IMPROBABLE, PROBABLE, CERTAIN))
    return f"{math.floor(1000 * value) / 10:.1f} %" if is_below else text


def _with_odds(share: float, factor: float) -> float:
    """The probability whose odds are `factor` times those of another.

    >>> round(_with_odds(0.25, 4.0), 4)
    0.5714
    """
    return factor * share / (1 - share + factor * share)


def _range(names: list[str], fact: Inclusions) -> str:
    values = [fact.value(name) for name in names]
    low, high = chance(min(values)), chance(max(values))
    return high if low == high else f"{low.removesuffix(' %')} to {high}"


def _listed(names: Sequence[str], fact: Inclusions) -> str:
    """Names, each with its copies, as in "warmth (or its copy fahrenheit)"."""
    copies = {group[0]: [shorten(name) for name in group[1:]] for group in fact.copies}
    said = [
        f"{shorten(name)} (or its cop{'ies' if copies[name][1:] else 'y'} {listing(copies[name], at_most=_NAMED)})"
        if name in copies
        else shorten(name)
        for name in names
    ]
    return listing(said, at_most=_NAMED)


def inclusion_figure(found: Inclusions, *, best: str, linear: bool) -> Figure:
    """Inclusion probabilities by the columns of the table, the largest first."""
    whose = "" if found.model == best else f", by {found.model},"
    sensitivity, before = prior_sentence(found), ""
    if found.prior_shares is not None:
        shares = found.prior_shares
        share = f" ({percent(float(shares[0]))})" if np.ptp(shares) < 1e-12 else ""
        before = f" Dashed line: prior probability{share}{'' if sensitivity else f': {prior_text(found)}'}."
    copies = " Copies of an input share one bar." * bool(found.copies)
    prior = None if found.prior_shares is None else float(np.mean(found.prior_shares))
    return figure(
        "inclusions",
        "Which inputs matter?",
        lambda ax: plots.inclusions(found.values, names=found.names, prior=prior, max_rows=MAX_BARS, ax=ax),
        f"{inclusion_sentence(found, linear=linear)} {sensitivity}".strip(),
        f"Bars: the posterior probability{whose} that a linear model includes this input, averaged over all subsets of "
        f"inputs. A categorical column counts as included if any of its levels is.{copies}{before} Nonlinear effects "
        "and interactions are not considered. Associations, not causes.",
        size=(4.7, 1.0 + 0.24 * min(len(found.names), MAX_BARS)),
    )
