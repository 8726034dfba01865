"""What a chain recorded, and what several chains agree on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from credo.core.learning.sampling import extra
from credo.sparse._models import Model
from credo.sparse.sampler._bridge import TemperingRecord, bridge_mass

Array = NDArray[np.float64]

# Points in time at which chains are compared.
_MOMENTS = 1000
# Above this share of the posterior in models that other chains visited too, capture–recapture estimates the mass.
_REVISITED = 0.1


@dataclass(frozen=True)
class Trace:
    """The record of a chain.

    `models` are those it visited, each with its `log_evidence` and `rest`, the share of variation it leaves
    unexplained; `steps` are their numbers, step by step, each with its `weight`: the time that a chain in continuous
    time would stay. `included` (n_batches, d) and `batch_weight` (n_batches,) are sums over batches of steps, of
    weight × conditional inclusion probability and of weight. `tempering` is of the replicas, if there are any.
    """

    models: list[Model]
    log_evidence: Array
    rest: Array
    steps: NDArray[np.intp]
    weight: Array
    included: Array
    batch_weight: Array
    tempering: TemperingRecord | None = None

    @property
    def sizes(self) -> NDArray[np.intp]:
        """The number of columns at each step."""
        return np.array([len(model) for model in self.models], dtype=np.intp)[self.steps]

    def joined(self, further: Trace) -> Trace:
        """With as many further steps of the same chain; batches become twice as long."""
        numbers = {model: number for number, model in enumerate(self.models)}
        places = np.array([numbers.setdefault(model, len(numbers)) for model in further.models], dtype=np.intp)
        new = places >= len(self.models)
        return replace(
            further,
            models=list(numbers),
            log_evidence=np.append(self.log_evidence, further.log_evidence[new]),
            rest=np.append(self.rest, further.rest[new]),
            steps=np.append(self.steps, places[further.steps]),
            weight=np.append(self.weight, further.weight),
            included=_in_pairs(self.included, further.included),
            batch_weight=_in_pairs(self.batch_weight, further.batch_weight),
            tempering=self.tempering.joined(further.tempering) if self.tempering and further.tempering else None,
        )

    def evenly(self, n: int) -> NDArray[np.intp]:
        """The numbers of the models at n evenly spaced points in time, which are draws from the posterior."""
        clock = np.cumsum(self.weight)
        steps = np.searchsorted(clock, clock[-1] * (np.arange(n) + 0.5) / n)
        return self.steps[np.minimum(steps, len(self.steps) - 1)]


@dataclass(frozen=True)
class Visits:
    """The models that chains visited, most probable first.

    `log_joint` is ln p(γ)p(y | γ), `log_mass` the estimated logarithm of its sum over all models, visited or not, with
    its error, and `share` the part of it that was visited; zero where the chains are too short to tell.
    """

    models: list[Model]
    log_evidence: Array
    log_joint: Array
    log_mass: float
    log_mass_error: float
    share: float
    best_by_size: tuple[Model, ...]


def visited(models: Iterable[Model]) -> tuple[list[Model], NDArray[np.intp], NDArray[np.intp]]:
    """The distinct models of a sequence, the number of each step's model, and the first step of each model."""
    numbers: dict[Model, int] = {}
    steps: list[int] = []
    first: list[int] = []
    for t, model in enumerate(models):
        number = numbers.setdefault(model, len(first))
        if number == len(first):
            first.append(t)
        steps.append(number)
    return list(numbers), np.array(steps, dtype=np.intp), np.array(first, dtype=np.intp)


def visits(traces: Sequence[Trace], log_prior: Array) -> Visits:
    """All models that the chains visited; their total is a lower bound of the mass."""
    known: dict[Model, tuple[float, float]] = {}
    for trace in traces:
        pairs = zip(trace.log_evidence.tolist(), trace.rest.tolist(), strict=True)
        known.update(zip(trace.models, pairs, strict=True))
    models, (logs, rest) = list(known), np.array(list(known.values())).T
    joint = logs + log_prior[[len(model) for model in models]]
    seen = float(logsumexp(joint))
    mass, error = _log_mass(traces, {model: number for number, model in enumerate(models)}, joint)
    whole = max(seen, mass) if np.isfinite(mass) else seen
    # Smaller models first among equals, whichever chain visited them first.
    order = sorted(range(len(models)), key=lambda place: (-joint[place], len(models[place]), models[place]))
    best: dict[int, int] = {}
    for place, model in enumerate(models):
        if rest[place] < rest[best.setdefault(len(model), place)]:
            best[len(model)] = place
    return Visits(
        models=[models[place] for place in order],
        log_evidence=logs[order],
        log_joint=joint[order],
        log_mass=whole,
        # An estimate below the mass of the visited models errs by at least the difference.
        log_mass_error=max(error, whole - mass),
        share=float(np.exp(seen - whole)) if np.isfinite(mass) else 0.0,
        best_by_size=tuple(models[best[size]] for size in sorted(best)),
    )


def _log_mass(traces: Sequence[Trace], numbers: dict[Model, int], joint: Array) -> tuple[float, float]:
    """The log mass of all models and its standard error; NaN where neither method works.

    Capture–recapture (George & McCulloch 1997): the mass of the models that one half of the chains visited is known,
    and the other half estimates their share of the posterior. Both halves do so; the error is infinite if only one of
    them succeeds. Where that share is small, as in diffuse posteriors, the replicas' temperatures are bridged instead.
    """
    places = [np.array([numbers[model] for model in trace.models], dtype=np.intp)[trace.steps] for trace in traces]
    shares, estimates, errors = [], [], []
    for half in (0, 1):
        seen = np.zeros(len(joint), dtype=np.bool_)
        seen[np.concatenate(places[half::2])] = True
        hits, time = [], []
        for steps, trace in zip(places[1 - half :: 2], traces[1 - half :: 2], strict=True):
            hits.append([part.sum() for part in np.array_split(trace.weight * seen[steps], len(trace.batch_weight))])
            time.append([part.sum() for part in np.array_split(trace.weight, len(trace.batch_weight))])
        (share,), (error,) = _ratio(np.array(hits)[..., None], np.array(time))
        shares.append(share)
        if share > 0:
            estimates.append(float(logsumexp(joint[seen]) - np.log(share)))
            errors.append(float(error / share))
    records = [trace.tempering for trace in traces if trace.tempering and trace.tempering.betas[-1] == 0.0]
    if records and min(shares) < _REVISITED:
        return bridge_mass(records, traces[0].included.shape[1])
    if not estimates:
        return np.nan, np.nan
    mass = float(logsumexp(estimates) - np.log(len(estimates)))
    return mass, max(float(np.ptp(estimates)) / 2, *errors) if len(estimates) == 2 else np.inf


def _ratio(sums: Array, time: Array) -> tuple[Array, Array]:
    """Means weighted by time, from sums (n_chains, n_batches, d) and times (n_chains, n_batches); and their errors.

    The error is that of a ratio by linearization: from batches or from whole chains, whichever is larger, because
    chains stuck in different modes agree with themselves. Nor is it smaller than the scatter of the chains' own
    estimates: where large models are left sooner than small ones, a chain stuck at them has no weight.
    """
    total = float(time.sum())
    mean = sums.sum(axis=(0, 1)) / total
    rests = sums - time[..., None] * mean
    errors = [np.sqrt(len(rest) / (len(rest) - 1)) * np.linalg.norm(rest, axis=0) / total
              for rest in (rests.reshape(-1, rests.shape[-1]), rests.sum(axis=1)) if len(rest) > 1]  # fmt: skip
    alone = sums.sum(axis=1) / time.sum(axis=1, keepdims=True)
    if len(alone) > 1:
        errors.append(alone.std(axis=0, ddof=1) / np.sqrt(len(alone)))
    return mean, np.max(errors, axis=0)


def inclusion(traces: Sequence[Trace]) -> tuple[Array, Array]:
    """Inclusion probabilities and their Monte Carlo standard errors."""
    mean, error = _ratio(np.stack([trace.included for trace in traces]), np.stack([t.batch_weight for t in traces]))
    return np.clip(mean, 0.0, 1.0), error


def missed(traces: Sequence[Trace], seen: Visits) -> float:
    """The largest probability of a model that one chain visited and another didn't; zero where that isn't known."""
    if seen.share == 0.0:
        return 0.0
    common = set(traces[0].models).intersection(*(trace.models for trace in traces[1:]))
    best = next(
        (value for model, value in zip(seen.models, seen.log_joint, strict=True) if model not in common), -np.inf
    )
    return float(np.exp(best - seen.log_mass))


def contradiction(seen: Visits, probability: Array, n_models: int) -> Array:
    """How far inclusion probabilities are outside the bounds given by the most probable models.

    A column is in with at least the probability of the models that contain it, and out with that of those that don't.
    """
    if seen.share == 0.0:
        return np.zeros_like(probability)
    shares = np.exp(seen.log_joint[:n_models] - seen.log_mass)
    least = np.zeros_like(probability)
    for model, share in zip(seen.models[:n_models], shares.tolist(), strict=False):
        least[list(model)] += share
    most = 1.0 - (shares.sum() - least)
    return np.maximum(np.maximum(least - probability, probability - most), 0.0)


def size_probability(traces: Sequence[Trace], d: int) -> Array:
    """The posterior of the model size, shape (d + 1,)."""
    time = sum(np.bincount(trace.sizes, trace.weight, d + 1) for trace in traces)
    return np.asarray(time / np.sum(time))


def draws(traces: Sequence[Trace], n: int) -> tuple[tuple[Model, ...], Array]:
    """About n posterior draws of all chains: the distinct models, most frequent first, and their shares."""
    counts: Counter[Model] = Counter()
    for trace in traces:
        counts.update(trace.models[place] for place in trace.evenly(-(-n // len(traces))))
    ordered = counts.most_common()
    return tuple(model for model, _ in ordered), np.array([count for _, count in ordered]) / counts.total()


def r_hat_and_ess(traces: Sequence[Trace], seen: Visits) -> tuple[float, float]:
    """The larger R-hat and the smaller effective sample size of two quantities: size and log posterior of the models.

    NaN where arviz-stats isn't installed.
    """
    # One number for each model, whichever chain it is from: R-hat ranks even rounding errors.
    heights = dict(zip(seen.models, seen.log_joint.tolist(), strict=True))
    n = min(_MOMENTS, *(len(trace.steps) for trace in traces))
    values = np.stack([
        np.array([[len(model), heights[model]] for model in trace.models])[trace.evenly(n)] for trace in traces
    ])  # fmt: skip
    try:
        stats = extra("arviz_stats.base", "comparing chains").array_stats
    except ImportError:
        return np.nan, np.nan
    axes = {"chain_axis": 0, "draw_axis": 1}
    # A chain that never moves has no variance to divide by: bad, unless all chains are at the same model.
    with np.errstate(divide="ignore", invalid="ignore"):
        r_hat, ess = np.asarray(stats.rhat(values, **axes)), np.asarray(stats.ess(values, **axes))
    together = np.ptp(values, axis=(0, 1)) == 0.0
    r_hat = np.where(together, 1.0, np.where(np.isnan(r_hat), np.inf, r_hat))
    return float(r_hat.max()), float(np.min(ess))


def _in_pairs(before: Array, after: Array) -> Array:
    """Sums of neighbours in a row of batches."""
    whole = np.concatenate([before, after])
    return np.asarray(whole[::2] + whole[1::2])
