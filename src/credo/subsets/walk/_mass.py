"""The mass of all models, ln Σ p(γ)p(y | γ), from replicas at powers of the fit between none and one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp, softmax

from credo.learning.crossing import crossing

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Heat:
    """What the replicas of a chain felt, at `powers` from one down.

    `records` (n_rounds, n_steps, 4) hold the fit, the logarithm of the weight, the size, and the number of columns that
    could enter; each of a round's steps is at one `level`. `bottom` is the log density at power zero of a model of each
    size, but for the same constant as the fit; `ways` (n_ways, n_sizes) tell how many columns could enter models that
    grew from nothing, where some are dependent; NaN where they ended. `sizes`, from the least to the largest, are those
    that replicas came to at all powers.
    """

    powers: Array
    level: NDArray[np.intp]
    records: Array
    bottom: Array
    ways: Array
    sizes: tuple[int, int]

    def joined(self, further: Heat) -> Heat:
        """With the rounds that came after; the powers stayed."""
        n_sizes = max(self.ways.shape[1], further.ways.shape[1])
        ways = np.full((len(self.ways) + len(further.ways), n_sizes), np.nan)
        ways[: len(self.ways), : self.ways.shape[1]] = self.ways
        ways[len(self.ways) :, : further.ways.shape[1]] = further.ways
        return replace(further, records=np.concatenate([self.records, further.records]), ways=ways)

    def quarters(self) -> list[Heat]:
        """Its rounds in four parts, one after the other; none where there are fewer."""
        if len(self.records) < 4:
            return []
        return [replace(self, records=part) for part in np.array_split(self.records, 4)]

    def at(self, level: int) -> Array:
        """What was felt at one power, in models of its sizes."""
        rows, (least, largest) = self.records[:, self.level == level].reshape(-1, 4), self.sizes
        return np.asarray(rows[(rows[:, 2] >= least) & (rows[:, 2] <= largest)])

    def log_share(self) -> float:
        """The logarithm of the part of the posterior that is in models of its sizes."""
        return float(logsumexp(self.at(0)[:, 1]) - logsumexp(self.records[:, self.level == 0, 1]))


def log_mass(heats: Sequence[Heat], d: int) -> tuple[float, float]:
    """ln Z of the posterior over models of d columns, and its standard error: the mean of the chains' estimates.

    At power zero Z is a sum over sizes; each chain climbs from there, power by power. Where it came to some sizes only
    it counts the models of these, and knows from the whole power which part of all they are. The error is from the
    scatter of chains or of their quarters, whichever is larger: that of four numbers is small by chance now and then.
    NaN where a chain never came to its sizes at some power.
    """
    bottom = max((heat.bottom for heat in heats), key=len)
    parts = [part for heat in heats for part in heat.quarters()]
    samples = [np.array([_counted(heat, bottom, d) for heat in some]) for some in (heats, parts)]
    errors = [sample.std(ddof=1) / np.sqrt(len(sample)) for sample in samples if len(sample) > 1]
    return float(samples[0].mean()), float(max(errors))


def _counted(heat: Heat, bottom: Array, d: int) -> float:
    """What one chain says of ln Z."""
    if not all(len(heat.at(level)) for level in range(len(heat.powers))):
        return np.nan
    return ground(heat, bottom, d) + climb(heat) - heat.log_share()


def climb(heat: Heat) -> float:
    """ln Z of its sizes at the whole power less that at power zero, by bridges (Bennett 1976) between neighbours.

    With δ the difference of two powers and f the fit, ρ = ln Z_high/Z_low solves

        E_low[σ(δf − ρ)] = E_high[σ(ρ − δf)].
    """
    total = 0.0
    for level, step in enumerate(-np.diff(heat.powers)):
        high, low = heat.at(level), heat.at(level + 1)
        total += bridge(step * high[:, 0], softmax(high[:, 1]), step * low[:, 0], softmax(low[:, 1]))
    return total


def bridge(high: Array, above: Array, low: Array, below: Array) -> float:
    """The ρ at which both sides are equal, from values of δf and their weights at two powers."""

    def unbalanced(rho: float) -> float:
        return float(below @ expit(low - rho) - above @ expit(rho - high))

    return crossing(unbalanced, min(high.min(), low.min()) - 1.0, max(high.max(), low.max()) + 1.0)


def ground(heat: Heat, bottom: Array, d: int) -> float:
    """ln Z of its sizes at power zero: Σ_k N_k e^(bottom_k), N_k the number of models that aren't dependent.

    Each model of k + 1 columns comes from k + 1 smaller ones: (k + 1)N_{k+1} = N_k × the mean number of columns that
    can enter, over the models of k, which at power zero are all alike. Without dependent columns that number is d − k
    and nothing is left to chance.
    """
    sizes = np.arange(len(bottom))
    able = _able(heat, d, len(bottom)) * np.maximum(d - sizes, 0)
    with np.errstate(divide="ignore"):
        steps = np.log(able[:-1]) - np.log(sizes[1:])
    least, largest = heat.sizes
    return float(logsumexp((bottom + np.append(0.0, np.cumsum(steps)))[least : largest + 1]))


def _able(heat: Heat, d: int, n_sizes: int) -> Array:
    """The mean share of the other columns that can enter, over all models of each size.

    Ways up from no columns come to small models, to which replicas may not; a way comes to a model by one over the
    product of the numbers before, which makes that its weight. Beyond what was seen the share stays.
    """
    rows = heat.records[:, heat.level == len(heat.powers) - 1].reshape(-1, 4)
    size, weight, able = rows[:, 2].astype(np.intp), softmax(rows[:, 1]), rows[:, 3]
    time = np.bincount(size, weight, n_sizes)
    visits = np.where(time > 0, np.bincount(size, minlength=n_sizes), 0)
    visited = np.bincount(size, weight * able, n_sizes) / np.where(time > 0, time, 1.0)
    ways, grown = _grown(heat.ways, n_sizes)
    known = visits + ways
    mean = (visits * visited + ways * grown) / np.where(known > 0, known, 1.0)
    share = mean / np.maximum(d - np.arange(n_sizes), 1)
    # The last size before that is known.
    before = np.maximum.accumulate(np.where(known > 0, np.arange(n_sizes), -1))
    return np.where(before >= 0, share[before], 1.0)


def _grown(ways: Array, n_sizes: int) -> tuple[Array, Array]:
    """From ways up: how many speak of each size, and the mean number of columns that can enter."""
    count, mean, product = np.zeros(n_sizes), np.zeros(n_sizes), np.ones(len(ways))
    for k, able in enumerate(ways.T[:n_sizes]):
        product = np.where(np.isnan(able), 0.0, product)
        if not product.any():
            break
        able = np.nan_to_num(able)
        count[k], mean[k] = np.count_nonzero(product), np.average(able, weights=product)
        product *= able / max(able.max(), 1.0)
    return count, mean
