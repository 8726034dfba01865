"""The total mass of all models, ln Σ p(γ)p(y | γ), from replicas at inverse temperatures between zero and one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp, softmax

from credo.core.learning.crossing import crossing

Array = NDArray[np.float64]

# Parts of a chain whose estimates are compared.
_N_PARTS = 4


@dataclass(frozen=True)
class TemperingRecord:
    """The steps of a chain at all temperatures.

    `steps` (n_rounds, n_steps, 2) hold ln p(γ)p(y | γ) − ln p₀(γ) and the log weight; each of a round's steps is at
    one `level` of the inverse temperatures `betas`, from one down to zero. `reference` is ln p₀ by size. Over the steps
    at β = 0, `entering` (n_sizes, 2) sums by size the weight and the weight × the number of columns that can enter.
    """

    betas: Array
    level: NDArray[np.intp]
    steps: Array
    reference: Array
    entering: Array

    def joined(self, further: TemperingRecord) -> TemperingRecord:
        """With further steps of the same chain."""
        longer = max(self.reference, further.reference, key=len)
        steps = np.concatenate([self.steps, further.steps])
        return replace(further, steps=steps, reference=longer, entering=self.entering + further.entering)

    def parts(self) -> list[TemperingRecord]:
        """Its rounds in successive parts; none where there are fewer."""
        parts = np.array_split(self.steps, _N_PARTS) if len(self.steps) >= _N_PARTS else ()
        return [replace(self, steps=part) for part in parts]


def bridge_mass(records: Sequence[TemperingRecord], d: int) -> tuple[float, float]:
    """ln Z of the posterior over subsets of d columns and its standard error, each chain climbing from β = 0 to β = 1.

    The error is from the scatter of the chains or of their parts, whichever is larger.
    """
    reference = max((record.reference for record in records), key=len)
    parts = [part for record in records for part in record.parts()]
    samples = [np.array([_log_count(r, reference, d) + _climb(r) for r in some]) for some in (records, parts)]
    errors = [sample.std(ddof=1) / np.sqrt(len(sample)) for sample in samples if len(sample) > 1]
    return float(samples[0].mean()), float(max(errors))


def _climb(record: TemperingRecord) -> float:
    """ln Z at β = 1 minus that at β = 0, by Bennett's acceptance ratio (1976) between neighbouring temperatures.

    With δ the difference of two inverse temperatures and f = ln p(γ)p(y | γ)/p₀(γ), ρ = ln Z_cold/Z_hot solves

        E_hot[σ(δf − ρ)] = E_cold[σ(ρ − δf)].
    """
    steps = [record.steps[:, record.level == level].reshape(-1, 2).T for level in range(len(record.betas))]
    total = 0.0
    for step, cold, hot in zip(-np.diff(record.betas), steps[:-1], steps[1:], strict=True):
        total += acceptance_ratio(step * cold[0], softmax(cold[1]), step * hot[0], softmax(hot[1]))
    return total


def acceptance_ratio(cold: Array, cold_weight: Array, hot: Array, hot_weight: Array) -> float:
    """ρ from values of δf and their weights at two temperatures."""

    def unbalanced(rho: float) -> float:
        return float(hot_weight @ expit(hot - rho) - cold_weight @ expit(rho - cold))

    return crossing(unbalanced, min(cold.min(), hot.min()) - 1.0, max(cold.max(), hot.max()) + 1.0)


def _log_count(record: TemperingRecord, reference: Array, d: int) -> float:
    """ln Z at β = 0: ln Σ_k N_k p₀(k), with N_k the number of models of k columns that aren't linearly dependent.

    A model of k + 1 columns comes from k + 1 smaller ones: (k + 1)N_{k+1} = N_k × the mean number of columns that can
    enter models of k, d − k unless some are linearly dependent. Interpolated for sizes that weren't visited.
    """
    sizes = np.arange(len(reference))
    weight, entering = record.entering[: len(sizes)].T
    known = np.flatnonzero((weight > 0) & (sizes < d))
    share = entering[known] / weight[known] / (d - known)
    if not known.size or known[0] > 0:
        known, share = np.append(0, known), np.append(1.0, share)
    able = np.interp(sizes[:-1], known, share) * np.maximum(d - sizes[:-1], 0)
    with np.errstate(divide="ignore"):
        steps = np.log(able) - np.log(sizes[1:])
    return float(logsumexp(reference + np.append(0.0, np.cumsum(steps))))
