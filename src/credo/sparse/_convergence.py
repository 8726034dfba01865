"""Several chains in parallel: starting points, length, convergence, and the posterior that they give together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from credo.core.estimator import positive_integer
from credo.core.learning.sampling import extra
from credo.core.linalg import one_blas_thread, parallel_map
from credo.sparse._models import Model, ModelPosterior, size_distribution

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Trace:
    """The record of a chain: the model at each step, its log evidence and the share of variation it leaves unexplained.

    The `weight` of a step is the time that a chain in continuous time would stay. `included` (n_batches, d) and
    `batch_weight` (n_batches,) are sums over batches of steps, of weight × conditional inclusion probability and of
    weight.
    """

    models: list[Model]
    log_evidence: Array
    one_minus_r2: Array
    weight: Array
    included: Array
    batch_weight: Array

    @property
    def sizes(self) -> NDArray[np.intp]:
        """The number of columns at each step."""
        return np.array([len(model) for model in self.models], dtype=np.intp)

    def joined(self, further: Trace) -> Trace:
        """With as many further steps of the same chain; batches become twice as long."""
        return Trace(
            models=self.models + further.models,
            log_evidence=np.append(self.log_evidence, further.log_evidence),
            one_minus_r2=np.append(self.one_minus_r2, further.one_minus_r2),
            weight=np.append(self.weight, further.weight),
            included=_in_pairs(self.included, further.included),
            batch_weight=_in_pairs(self.batch_weight, further.batch_weight),
        )

    def thinned(self, n: int) -> list[Model]:
        """The models at n evenly spaced points in time, which are draws from the posterior."""
        clock = np.cumsum(self.weight)
        steps = np.searchsorted(clock, clock[-1] * (np.arange(n) + 0.5) / n)
        return [self.models[step] for step in np.minimum(steps, len(clock) - 1)]


@dataclass(frozen=True)
class Visits:
    """The models that chains visited, most probable first.

    `log_joint` is ln p(γ)p(y | γ) and `log_mass` the logarithm of its sum: a lower bound of the sum over all models.
    `revisited` is the share of the chains' time at models that more than one of them visited: near one if the chains
    visited nearly all of the posterior, near zero if the posterior is diffuse or each chain stays in its own mode.
    """

    models: list[Model]
    log_evidence: Array
    log_joint: Array
    log_mass: float
    revisited: float
    best_by_size: tuple[Model, ...]


def visits(traces: Sequence[Trace], log_prior: Array) -> Visits:
    """All models that the chains visited."""
    known: dict[Model, tuple[float, float]] = {}
    for trace in traces:
        pairs = zip(trace.log_evidence.tolist(), trace.one_minus_r2.tolist(), strict=True)
        known.update(zip(trace.models, pairs, strict=True))
    models, (logs, one_minus_r2) = list(known), np.array(list(known.values())).T
    joint = logs + log_prior[[len(model) for model in models]]
    # Smaller models first among equals, whichever chain visited them first.
    order = sorted(range(len(models)), key=lambda place: (-joint[place], len(models[place]), models[place]))
    best = {len(models[place]): place for place in np.argsort(one_minus_r2, kind="stable")[::-1].tolist()}
    return Visits(
        models=[models[place] for place in order],
        log_evidence=logs[order],
        log_joint=joint[order],
        log_mass=float(logsumexp(joint)),
        revisited=_revisited(traces),
        best_by_size=tuple(models[best[size]] for size in sorted(best)),
    )


def _revisited(traces: Sequence[Trace]) -> float:
    """The share of the chains' time at models that more than one of them visited."""
    chains = Counter(model for trace in traces for model in set(trace.models))
    shared = [np.array([chains[model] > 1 for model in trace.models]) for trace in traces]
    time = sum(float(trace.weight @ known) for trace, known in zip(traces, shared, strict=True))
    return time / sum(float(trace.weight.sum()) for trace in traces)


def inclusion(traces: Sequence[Trace]) -> tuple[Array, Array]:
    """Inclusion probabilities, means over time, and their Monte Carlo standard errors.

    The error is that of a ratio by linearization: from batches or from whole chains, whichever is larger, because
    a chain stuck in one mode looks consistent. It is at least the scatter of the chains' own estimates: a chain stuck
    at large models, which are left sooner than small ones, has no weight.
    """
    sums, time = np.stack([trace.included for trace in traces]), np.stack([trace.batch_weight for trace in traces])
    total = float(time.sum())
    mean = sums.sum(axis=(0, 1)) / total
    deviations = sums - time[..., None] * mean
    errors = [
        np.sqrt(len(part) / (len(part) - 1)) * np.linalg.norm(part, axis=0) / total
        for part in (deviations.reshape(-1, deviations.shape[-1]), deviations.sum(axis=1))
        if len(part) > 1
    ]
    alone = sums.sum(axis=1) / time.sum(axis=1, keepdims=True)
    if len(alone) > 1:
        errors.append(alone.std(axis=0, ddof=1) / np.sqrt(len(alone)))
    return np.clip(mean, 0.0, 1.0), np.max(errors, axis=0)


def missed(traces: Sequence[Trace], seen: Visits) -> float:
    """The largest probability, among visited models, of one that not all chains visited."""
    common = set(traces[0].models).intersection(*(trace.models for trace in traces[1:]))
    best = next(
        (value for model, value in zip(seen.models, seen.log_joint, strict=True) if model not in common), -np.inf
    )
    return float(np.exp(best - seen.log_mass))


def contradiction(seen: Visits, probability: Array, n_models: int) -> Array:
    """How far inclusion probabilities are outside the bounds given by the most probable models.

    A column is in with at least the total probability of the models that contain it, and out with at least that of the
    others. Their probabilities are those among visited models, times `revisited`.
    """
    shares = seen.revisited * np.exp(seen.log_joint[:n_models] - seen.log_mass)
    least = np.zeros_like(probability)
    for model, share in zip(seen.models[:n_models], shares.tolist(), strict=False):
        least[list(model)] += share
    most = 1.0 - (shares.sum() - least)
    return np.maximum(np.maximum(least - probability, probability - most), 0.0)


def draws(traces: Sequence[Trace], n: int) -> tuple[tuple[Model, ...], Array]:
    """About n posterior draws of all chains: the distinct models, most frequent first, and their shares."""
    counts: Counter[Model] = Counter()
    for trace in traces:
        counts.update(trace.thinned(-(-n // len(traces))))
    ordered = counts.most_common()
    return tuple(model for model, _ in ordered), np.array([count for _, count in ordered]) / counts.total()


def r_hat_and_ess(traces: Sequence[Trace], seen: Visits) -> tuple[float, float]:
    """The larger R-hat and the smaller effective sample size of two quantities: size and log posterior of the models.

    NaN if arviz-stats isn't installed.
    """
    # One number for each model in all chains: R-hat would rank rounding errors.
    heights = dict(zip(seen.models, seen.log_joint.tolist(), strict=True))
    # Chains are compared at up to 1000 points in time.
    n = min(1000, *(len(trace.weight) for trace in traces))
    values = np.array([[[len(model), heights[model]] for model in trace.thinned(n)] for trace in traces])
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
    """Sums of pairs of consecutive batches."""
    whole = np.concatenate([before, after])
    return np.asarray(whole[::2] + whole[1::2])


_N_BATCHES = 10
# Default steps of a chain: the first number, doubled until the chains agree, up to the second or to the time limit on
# two cores. The time is estimated: with a clock, results would depend on the machine.
_FIRST_STEPS, _MAX_STEPS, _MAX_SECONDS = 5000, 40_000, 120.0
# Columns of small and large starting models, and the limit on their product with the number of all columns, which is
# the cost of a step.
_SMALL_START, _LARGE_START, _MAX_STEP_COST = 10, 100, 400_000
# A probability known to ±0.1 at 95 % is the least that "which columns matter" needs.
_MAX_STD_ERROR, _MAX_R_HAT = 0.05, 1.1


def check_length(n_draws: int | None, n_chains: int) -> None:
    """Raise an error if chains are too short or too few to estimate an error."""
    for name, value, least in (("n_draws", n_draws, _N_BATCHES), ("n_chains", n_chains, 2)):
        if value is not None and positive_integer(name, value) < least:
            raise ValueError(f"{name} must be at least {least}, to estimate the error of the result; got {value}")


def run_until_converged(
    chains: Sequence[Any],
    summarize: Callable[[Sequence[Trace]], ModelPosterior],
    n_draws: int | None,
    *,
    seconds: Callable[[float], float],
) -> ModelPosterior:
    """Run chains for `n_draws` steps each, or until `summarize` says that they have converged.

    The chains' own error estimates decide how long they run (Jones, Haran, Caffo & Neath 2006). `seconds` is the cost
    of a step, given the mean size of the models.
    """
    length, most = (_FIRST_STEPS, _MAX_STEPS) if n_draws is None else (n_draws, n_draws)

    def run(n_burn_in: int) -> list[Trace]:
        return parallel_map(
            lambda chain: chain.run(n_draws=length, n_burn_in=n_burn_in, n_batches=_N_BATCHES), chains, cancel=stop
        )

    def stop() -> None:
        for chain in chains:
            chain.stopped = True

    with one_blas_thread():
        traces = latest = run(math.ceil(length / 4))
        found = summarize(traces)
        while not found.diagnostics["converged"]:
            each = len(chains) * seconds(float(np.mean([trace.sizes.mean() for trace in latest])))
            stuck = found.diagnostics["round_trips"] * most < length
            if 2 * length > min(most, _MAX_SECONDS / each) or stuck:
                break
            latest = run(0)
            traces = [trace.joined(further) for trace, further in zip(traces, latest, strict=True)]
            length *= 2
            found = summarize(traces)
            if not found.diagnostics["converged"] and length >= 20_000:
                # The first half may still depend on the starting points.
                late = summarize(latest)
                found = late if late.diagnostics["converged"] else found
    return found


def many_columns(log_prior: Array, d: int, room: int) -> int:
    """The number of columns, out of d, of a large starting model.

    All of them, or half as many as the rows have `room` for, unless steps get too expensive. In the second case no more
    than is likely by the prior: a chain may get stuck at a model that is impossible by the prior but fits well.
    """
    most, half = min(_LARGE_START, max(_SMALL_START, _MAX_STEP_COST // max(d, 1))), room // 2
    if d <= half:
        return min(most, d)
    # The prior exceeds this size with a probability below one in a million.
    likely = int(np.argmax(1.0 - np.cumsum(size_distribution(log_prior, d)) < 1e-6))
    return min(most, half, max(likely, _SMALL_START))


def random_start(rng: np.random.Generator, d: int, room: int, many: int, *, empty: bool) -> Model:
    """A first model: no columns, a few at random, or `many`, unless that is 0.

    Columns that matter only together are easier to keep than to find; and if columns outnumber rows, large models that
    nearly reproduce the target may be a separate mode.
    """
    few = 0 if empty else min(_SMALL_START, d // 2, room // 2)
    return tuple(rng.choice(d, size=many or few, replace=False).tolist())


def summarize_chains(
    traces: Sequence[Trace], log_prior: Array, *, n_models: int, round_trips: float | None = None
) -> ModelPosterior:
    """The posterior that several chains found, with diagnostics.

    A mode of probability ε is found by about ε of the replicas' round trips (of the effective draws, if there are no
    replicas). After N of them, unvisited models may have the probability 1/(N + 2) by Laplace's rule of succession, and
    may contain any column: no reported error is smaller. With few round trips, chains from different starting points
    that agree are taken to have missed at most 2 %.
    """
    seen = visits(traces, log_prior)
    probability, error = inclusion(traces)
    r_hat, ess = r_hat_and_ess(traces, seen)
    looks = np.nan_to_num(ess, nan=np.inf) if round_trips is None else round_trips
    unknown = min(1.0 / (looks + 2.0), 0.02)
    error = np.maximum(np.maximum(error, unknown), contradiction(seen, probability, n_models))
    hidden, n_draws = missed(traces, seen), len(traces[0].models)
    sizes = np.sum([np.bincount(trace.sizes, trace.weight, len(probability) + 1) for trace in traces], axis=0)
    complaint = _complaint(error, r_hat, hidden)
    message = f"{complaint}: {_remedy(log_prior, traces[0])}" if complaint else (
        f"converged; {len(traces)} chains of {n_draws} steps agree, inclusion probabilities are accurate to "
        f"±{error.max():.2g}" + (" (R-hat was not computed: pip install 'credo[mcmc]')" if np.isnan(r_hat) else "")
    )  # fmt: skip
    # The stored models represent the posterior only if the chains converged and visited nearly all of it.
    listed = seen.revisited * float(np.exp(logsumexp(seen.log_joint[:n_models]) - seen.log_mass))
    enough = listed >= 0.9 and not complaint
    sample, sample_weight = ((), np.empty(0)) if enough else draws(traces, n_models)
    return ModelPosterior(
        inclusion=probability,
        models=tuple(seen.models[:n_models]),
        probability=np.exp(seen.log_joint[:n_models] - seen.log_mass),
        log_evidence=seen.log_evidence[:n_models],
        log_mass=seen.log_mass,
        size_probability=sizes / sizes.sum(),
        best_by_size=seen.best_by_size,
        sample=sample,
        sample_weight=sample_weight,
        diagnostics={
            "converged": not complaint,
            "message": message,
            "n_chains": len(traces),
            "n_draws": n_draws,
            "r_hat": r_hat,
            "ess": ess,
            "inclusion_error": error,
            "n_visited": len(seen.models),
            "revisited": seen.revisited,
            "missed": hidden,
            "round_trips": looks,
        },
    )


def _remedy(log_prior: Array, trace: Trace) -> str:
    """What to do about chains that haven't converged."""
    d, remedy = trace.included.shape[1], f"increase n_draws above {len(trace.models)}"
    # A prior that expects fewer columns is not what prevents convergence.
    if np.arange(len(log_prior)) @ size_distribution(log_prior, d) > 10:
        remedy += f", or use a prior_inclusion that expects fewer columns, such as (1, {d})"
    return remedy


def _complaint(error: Array, r_hat: float, hidden: float) -> str:
    """Why the chains haven't converged; empty if they have."""
    reason = ""
    # Not `>`, which would accept NaN.
    if not error.max() <= _MAX_STD_ERROR:
        reason = (
            f"some inclusion probabilities are accurate only to ±{error.max():.3g} (target {_MAX_STD_ERROR})"
        )  # fmt: skip
    elif hidden > 0.1:
        reason = (
            f"not all of them visited a model that has {100 * hidden:.2g} % of the posterior probability according to "
            "the others"
        )
    elif r_hat > _MAX_R_HAT:
        reason = f"they disagree about the size or posterior of the models (R-hat {r_hat:.3f}, target {_MAX_R_HAT})"
    return f"the MCMC chains did not converge: {reason}" if reason else ""
