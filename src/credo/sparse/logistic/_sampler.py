"""MCMC over logistic models: informed proposals, and Rao–Blackwellized inclusion probabilities.

At the mode of a model, score tests approximate what every column would change (`flip_odds`). Flips are proposed in
proportion to p(flipped | the others, y) by these (locally balanced proposals, Zanella 2020), swaps by the odds of what
could enter, and Laplace's evidence decides (Metropolis–Hastings).

Inclusion probabilities are means of p(γ_j = 1 | the others, y) over the steps. Where a flip of J ~ q was proposed, the
conditional probability p_j is known from Laplace's evidence, and corrects that of the score test, p̃_j:

    E[p̃_j + 1{J = j} (p_j − p̃_j)/q_j] = E[p_j] = p(γ_j = 1 | y).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.core.deadlines import check
from credo.core.seeds import generator
from credo.sparse._models import Model, ModelPosterior, ModelPrior
from credo.sparse.logistic import _sampler_jit
from credo.sparse.logistic._laplace import LEVEL_PRECISION, Dataset
from credo.sparse.sampler._convergence import (
    check_length,
    many_columns,
    random_start,
    run_until_converged,
    summarize_chains,
)
from credo.sparse.sampler._trace import Trace, visited

Array = NDArray[np.float64]

# The share of proposals of any column, so that a score test that errs can't exclude one.
_BLIND = 0.05
# The share of steps that propose to exchange two columns that carry the same information.
_SWAPS = 0.25
# The size of a chain's cache, in numbers (32 MB): the odds of all flips from each model.
_CACHED = 4_000_000
# Steps after which a chain can be stopped.
_STRETCH = 250


class LogisticChain:
    """A chain with a cache of the models that it evaluated."""

    def __init__(self, data: Dataset, log_prior: Array, rng: np.random.Generator, *, start: Model = ()) -> None:
        self.stopped, self._rng, self._count = False, rng, 0
        inside = np.zeros(data.n_columns, dtype=np.bool_)
        inside[list(start)] = True
        keys = rng.integers(0, 2**64, size=data.n_columns, dtype=np.uint64)
        self.state = _sampler_jit.State(inside, np.zeros(data.n_columns + 1), keys)
        self._data = _sampler_jit.Posterior(
            data.ZT, data.y, data.weight, LEVEL_PRECISION, 1.0 / data.variance, log_prior
        )  # fmt: skip

    def run(self, *, n_draws: int, n_burn_in: int, n_batches: int) -> Trace:
        """Take steps, and record those after the burn-in."""
        d = len(self.state.inside)
        self._make_cache(_sampler_jit.MOST * (n_draws + n_burn_in))
        self.advance(n_burn_in, np.zeros(d))
        start, included = self.state.inside.copy(), np.zeros((n_batches, d))
        batches = np.diff(n_draws * np.arange(n_batches + 1) // n_batches)
        parts = [self.advance(int(length), sums) for length, sums in zip(batches, included, strict=True)]
        moved, evidence = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        models, steps, first = visited(path(start, moved))
        del self._cache
        # Of models of one size, the one with the largest evidence is the best.
        time = batches.astype(np.float64)
        return Trace(models, evidence[first], -evidence[first], steps, np.ones(len(steps)), included, time)

    def advance(self, n_steps: int, included: Array) -> tuple[NDArray[np.int64], Array]:
        """The columns that each step flips, and the log evidence of the model before it; adds to `included`."""
        moved, trace = np.full((n_steps, 2), -1, dtype=np.int64), np.zeros(n_steps)
        room = len(self._cache.log_evidence)
        stretch = min(_STRETCH, room // _sampler_jit.MOST)
        for done in range(0, n_steps, stretch):
            check()
            if self.stopped:
                break
            part = slice(done, min(done + stretch, n_steps))
            if self._count + _sampler_jit.MOST * stretch > room:
                # The cache is full: start afresh.
                self._cache.slots[:], self._count = _sampler_jit.EMPTY, 0
            uniforms = self._rng.random((part.stop - done, 4))
            self._count = _sampler_jit.run_steps(
                self._data, self._cache, self.state, self._count, _BLIND, _SWAPS, uniforms, included, moved[part],
                trace[part],
            )  # fmt: skip
        return moved, trace

    def _make_cache(self, n_models: int) -> None:
        """For so many models, if that isn't too much."""
        d = len(self.state.inside)
        room = max(min(n_models, _CACHED // d), 16)
        # At most half full, so that collisions find a free place nearby.
        size = 1 << (2 * room - 1).bit_length()
        slots, self._count = np.full(size, _sampler_jit.EMPTY, dtype=np.int64), 0
        self._cache = _sampler_jit.Cache(np.zeros(size, dtype=np.uint64), slots, np.empty(room), np.empty((room, d)))


def sample_logistic(
    data: Dataset, prior: ModelPrior, *, n_draws: int | None, n_chains: int, n_models: int, random_state: Any
) -> ModelPosterior:
    """The posterior over subsets of many columns; arguments and diagnostics as of `sampler.sample_models`."""
    check_length(n_draws, n_chains)
    d = data.n_columns
    log_prior = prior.log_prob(np.arange(d + 1))
    # A weight of k is equivalent to k copies of a row.
    rngs, room = generator(random_state).spawn(n_chains), int(data.weight.sum())
    many = many_columns(log_prior, d, room)
    starts = [random_start(rng, d, room, many * (i % 2), empty=i == 0) for i, rng in enumerate(rngs)]
    chains = [LogisticChain(data, log_prior, rng, start=start) for rng, start in zip(rngs, starts, strict=True)]

    def summarize(traces: Sequence[Trace]) -> ModelPosterior:
        return summarize_chains(blended(traces), log_prior, n_models=n_models)

    each = 5e-10 * d * (len(data.y) + 100)
    return run_until_converged(chains, summarize, n_draws, seconds=lambda k: each * (1.0 + k / 5.0))


def blended(traces: Sequence[Trace]) -> list[Trace]:
    """The same traces, with the better combination of two estimates of inclusion: visits and conditionals.

    Both are unbiased, so that visits + c·(conditionals − visits) is, for every c; for each column c minimizes the
    variance between batches. Where score tests are far off, the correction of the conditionals is noisy.
    """
    time = np.concatenate([trace.batch_weight for trace in traces])[:, None]
    visits = np.concatenate([_visits(trace) for trace in traces])
    apart = np.concatenate([trace.included for trace in traces]) - visits
    rest, spread = visits - time * visits.sum(axis=0) / time.sum(), apart - time * apart.sum(axis=0) / time.sum()
    square = np.square(spread).sum(axis=0)
    share = np.clip(-(rest * spread).sum(axis=0) / np.where(square > 0, square, 1.0), 0.0, 1.0)
    parts = np.split(visits + share * apart, len(traces))
    return [replace(trace, included=part) for trace, part in zip(traces, parts, strict=True)]


def _visits(trace: Trace) -> Array:
    """How often each column was in, batch by batch."""
    counts = np.zeros_like(trace.included)
    edges = np.append(0, np.cumsum(trace.batch_weight)).astype(np.intp)
    for sums, start, stop in zip(counts, edges[:-1], edges[1:], strict=True):
        numbers, times = np.unique(trace.steps[start:stop], return_counts=True)
        for number, time in zip(numbers.tolist(), times.tolist(), strict=True):
            sums[list(trace.models[number])] += time
    return counts


def path(start: NDArray[np.bool_], moved: NDArray[np.int64]) -> list[Model]:
    """The model before each step."""
    members, models = set(np.flatnonzero(start).tolist()), []
    here = tuple(sorted(members))
    for columns in moved.tolist():
        models.append(here)
        if columns[0] >= 0:
            members ^= {j for j in columns if j >= 0}
            here = tuple(sorted(members))
    return models
