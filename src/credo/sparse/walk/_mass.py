"""The mass of all models, ln Σ p(γ)p(y | γ), from replicas at powers of the fit between none and one."""

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
    size, but for the same constant as the fit.
    """

    powers: Array
    level: NDArray[np.intp]
    records: Array
    bottom: Array

    def joined(self, further: "Heat") -> "Heat":
        """With the rounds that came after; the powers stayed."""
        return replace(further, records=np.concatenate([self.records, further.records]))

    def quarters(self) -> "list[Heat]":
        """Its rounds in four parts, one after the other; none where there are fewer."""
        if len(self.records) < 4:
            return []
        return [replace(self, records=part) for part in np.array_split(self.records, 4)]

    def at(self, level: int) -> tuple[Array, Array]:
        """Fits and their weights at one power."""
        rows = self.records[:, self.level == level].reshape(-1, 4)
        return rows[:, 0], softmax(rows[:, 1])


def log_mass(heats: Sequence[Heat], d: int) -> tuple[float, float]:
    """ln Z of the posterior over models of d columns, and its standard error: the mean of the chains' estimates.

    At power zero Z is a sum over sizes; each chain climbs from there, power by power. The error is from the scatter of
    chains or of their quarters, whichever is larger: that of four numbers is small by chance now and then.
    """
    values = np.array([climb(heat) for heat in heats])
    parts = np.array([climb(part) for heat in heats for part in heat.quarters()])
    errors = [sample.std(ddof=1) / np.sqrt(len(sample)) for sample in (values, parts) if len(sample) > 1]
    return ground(heats, d) + float(values.mean()), float(max(errors))


def climb(heat: Heat) -> float:
    """ln Z at the whole power less ln Z at power zero, by bridges (Bennett 1976) from each power to the next.

    With δ the difference of two powers and f the fit, ρ = ln Z_high/Z_low solves

        E_low[σ(δf − ρ)] = E_high[σ(ρ − δf)].
    """
    total = 0.0
    for level, step in enumerate(-np.diff(heat.powers)):
        (high, above), (low, below) = heat.at(level), heat.at(level + 1)

        total += bridge(step * high, above, step * low, below)
    return total


def bridge(high: Array, above: Array, low: Array, below: Array) -> float:
    """The ρ at which both sides are equal, from values of δf and their weights at two powers."""

    def unbalanced(rho: float) -> float:
        return float(below @ expit(low - rho) - above @ expit(rho - high))

    return crossing(unbalanced, min(high.min(), low.min()) - 1.0, max(high.max(), low.max()) + 1.0)


def ground(heats: Sequence[Heat], d: int) -> float:
    """ln Z at power zero: Σ_k N_k e^(bottom_k), N_k the number of models of k columns that aren't dependent.

    Each model of k + 1 columns comes from k + 1 smaller ones: (k + 1)N_{k+1} = N_k × the mean number of columns that
    can enter, over the models of k, which at power zero are all alike. Without dependent columns that number is d − k
    and nothing is left to chance; sizes that no replica came to are taken to be without.
    """
    bottom = max((heat.bottom for heat in heats), key=len)
    able, weight = np.zeros((2, len(bottom)))
    for heat in heats:
        rows = heat.records[:, heat.level == len(heat.powers) - 1].reshape(-1, 4)
        place, share = rows[:, 2].astype(np.intp), softmax(rows[:, 1])
        np.add.at(able, place, share * rows[:, 3])
        np.add.at(weight, place, share)
    sizes = np.arange(len(bottom))
    able = np.where(weight > 0, able / np.where(weight > 0, weight, 1.0), np.maximum(d - sizes, 0))
    with np.errstate(divide="ignore"):
        steps = np.log(able[:-1]) - np.log(sizes[1:])
    return float(logsumexp(bottom + np.append(0.0, np.cumsum(steps))))
