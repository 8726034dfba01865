"""Several chains in parallel: where they start, how long they run, and what they say together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from credo.core.estimator import positive_integer
from credo.core.linalg import one_blas_thread, parallel_map
from credo.sparse._models import Model, ModelPosterior, size_distribution
from credo.sparse.sampler._trace import (
    Trace,
    contradiction,
    draws,
    inclusion,
    missed,
    r_hat_and_ess,
    size_probability,
    visits,
)

Array = NDArray[np.float64]

_N_BATCHES = 10
# Steps of a chain unless they are given: so many, doubled until the chains agree, up to the most, or to what takes so
# many seconds on two cores by a rule of thumb: with a clock, results would depend on the machine.
_FIRST, _MOST, _PATIENCE = 5000, 40_000, 120.0
# Steps after which the starting point is forgotten, if ever.
_LONG = 10_000
# Columns of the first models, few or many. A step costs their product with the number of all columns.
_FEW, _MANY, _PRODUCT = 10, 100, 400_000
# No chain starts with more columns than the prior exceeds with this probability.
_UNLIKELY = 1e-6
# A probability known to ±0.1 at 95 % is the least that "which columns matter" needs.
_LARGEST_ERROR, _R_HAT = 0.05, 1.1
# The most that chains which agree may all have missed.
_AGREED = 0.02
# A prior that expects no more columns than this is not what prevents convergence.
_HANDFUL = 10
# A model of this probability should be visited by every chain.
_MISSED = 0.1
# Stored models of this total probability represent the posterior.
_NEARLY_ALL = 0.9


def check_length(n_draws: int | None, n_chains: int) -> None:
    """Refuse chains that are too short or too few for an error to be estimated."""
    for name, value, least in (("n_draws", n_draws, _N_BATCHES), ("n_chains", n_chains, 2)):
        if value is not None and positive_integer(name, value) < least:
            raise ValueError(f"{name} must be at least {least}, so that there is something to compare; got {value}")


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
    length, most = (_FIRST, _MOST) if n_draws is None else (n_draws, n_draws)

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
            if 2 * length > min(most, _PATIENCE / each) or stuck:
                break
            latest = run(0)
            traces = [trace.joined(further) for trace, further in zip(traces, latest, strict=True)]
            length *= 2
            found = summarize(traces)
            if not found.diagnostics["converged"] and length >= 2 * _LONG:
                # The first half may still depend on the starting points.
                late = summarize(latest)
                found = late if late.diagnostics["converged"] else found
    return found


def many_columns(log_prior: Array, d: int, room: int) -> int:
    """How many of d columns a chain that starts from a large model starts with.

    All of them, or half as many as the rows have `room` for, unless steps get too expensive; but of more columns than
    that no more than the prior may expect: a model that is impossible by the prior may fit well and hold up the chain.
    """
    most, half = min(_MANY, max(_FEW, _PRODUCT // max(d, 1))), room // 2
    if d <= half:
        return min(most, d)
    likely = int(np.argmax(1.0 - np.cumsum(size_distribution(log_prior, d)) < _UNLIKELY))
    return min(most, half, max(likely, _FEW))


def random_start(rng: np.random.Generator, d: int, room: int, many: int, *, empty: bool) -> Model:
    """A first model: no columns, a few at random, or `many`, unless that is 0.

    Columns that matter only together are easier to keep than to find; and where columns outnumber rows, large models
    that nearly reproduce the target may be a separate mode.
    """
    few = 0 if empty else min(_FEW, d // 2, room // 2)
    return tuple(rng.choice(d, size=many or few, replace=False).tolist())


def summarize_chains(
    traces: Sequence[Trace], log_prior: Array, *, n_models: int, round_trips: float | None = None
) -> ModelPosterior:
    """The posterior that several chains found, with diagnostics.

    A mode of probability ε is found by about ε of the replicas' round trips (of the effective draws, where there are
    no replicas). After N of them, what nobody has visited may have 1/(N + 2) by Laplace's rule of succession, and any
    column may be in there: no reported error is smaller. With few round trips, agreement of chains from different
    starting points has to do.
    """
    seen = visits(traces, log_prior)
    probability, error = inclusion(traces)
    r_hat, ess = r_hat_and_ess(traces, seen)
    looks = np.nan_to_num(ess, nan=np.inf) if round_trips is None else round_trips
    unknown = min(1.0 / (looks + 2.0), _AGREED)
    error = np.maximum(np.maximum(error, unknown), contradiction(seen, probability, n_models))
    hidden, n_draws = missed(traces, seen), len(traces[0].steps)
    complaint = _complaint(error, r_hat, hidden)
    message = f"{complaint}: {_remedy(log_prior, traces[0])}" if complaint else (
        f"converged; {len(traces)} chains of {n_draws} steps agree, inclusion probabilities are accurate to "
        f"±{error.max():.2g}" + (" (R-hat was not computed: pip install 'credo[mcmc]')" if np.isnan(r_hat) else "")
    )  # fmt: skip
    # Averages over the stored models are right only where the chains have converged and know the total mass.
    listed = float(np.exp(logsumexp(seen.log_joint[:n_models]) - seen.log_mass)) if seen.share > 0 else 0.0
    enough = listed >= _NEARLY_ALL and not complaint
    sample, sample_weight = ((), np.empty(0)) if enough else draws(traces, n_models)
    return ModelPosterior(
        inclusion=probability,
        models=tuple(seen.models[:n_models]),
        probability=np.exp(seen.log_joint[:n_models] - seen.log_mass),
        log_evidence=seen.log_evidence[:n_models],
        log_mass=seen.log_mass,
        size_probability=size_probability(traces, len(probability)),
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
            "share_visited": seen.share,
            "missed": hidden,
            "log_mass_error": float(np.maximum(np.nan_to_num(seen.log_mass_error, nan=np.inf), unknown)),
            "round_trips": looks,
        },
    )


def _remedy(log_prior: Array, trace: Trace) -> str:
    """What to do about chains that haven't converged."""
    d, remedy = trace.included.shape[1], f"increase n_draws above {len(trace.steps)}"
    if np.arange(len(log_prior)) @ size_distribution(log_prior, d) > _HANDFUL:
        remedy += f", or use a prior_inclusion that expects fewer columns, such as (1, {d})"
    return remedy


def _complaint(error: Array, r_hat: float, hidden: float) -> str:
    """Why the chains haven't converged; empty if they have."""
    reason = ""
    # Not `>`: an error that is NaN isn't small.
    if not error.max() <= _LARGEST_ERROR:
        reason = (
            f"some inclusion probabilities are accurate only to ±{error.max():.3g} (target {_LARGEST_ERROR})"
        )  # fmt: skip
    elif hidden > _MISSED:
        reason = (
            f"not all of them visited a model that has {100 * hidden:.2g} % of the posterior probability according to "
            "the others"
        )
    elif r_hat > _R_HAT:
        reason = f"they disagree about the size or posterior of the models (R-hat {r_hat:.3f}, target {_R_HAT})"
    return f"the MCMC chains did not converge: {reason}" if reason else ""
