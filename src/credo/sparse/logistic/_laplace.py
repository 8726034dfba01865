"""Logistic models: the mode, its evidence by Laplace's approximation, all subsets of few columns, and MCMC.

The prior of the level b at the mean of the inputs is wide enough for log odds of ±20, and proper, so that the evidence
is a probability of the labels.

MCMC has informed proposals. At the mode of a model, score tests approximate what every column would change
(`flip_odds`). Flips are proposed in proportion to p(flipped | the others, y) by these (locally balanced proposals,
Zanella 2020), swaps by the odds of what could enter, and Laplace's evidence decides (Metropolis–Hastings).

Inclusion probabilities are means of p(γ_j = 1 | the others, y) over the steps. If a flip of J ~ q was proposed, the
conditional probability p_j is known from Laplace's evidence, and corrects that of the score test, p̃_j:

    E[p̃_j + 1{J = j} (p_j − p̃_j)/q_j] = E[p_j] = p(γ_j = 1 | y).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from credo.core.deadlines import check
from credo.core.estimator import check_positive, check_shapes
from credo.core.linalg import parallel_map
from credo.core.seeds import generator
from credo.sparse._models import Model, ModelPosterior, ModelPrior
from credo.sparse.logistic import _laplace_jit
from credo.sparse.sampler._convergence import (
    ModelChain,
    Trace,
    check_length,
    many_columns,
    random_start,
    run_until_converged,
    summarize_chains,
)

Array = NDArray[np.float64]

LEVEL_PRECISION = 0.01
_EPS = float(np.finfo(np.float64).eps)
_LARGEST_SQUARABLE = 1e120
# Newton steps of this length, in standard deviations, can't be rounding errors.
_CONVERGED_STEP = 1e-4


@dataclass(frozen=True)
class Standard:
    """Standardization of columns: the places `kept` of those that vary, their means and standard deviations."""

    kept: NDArray[np.intp]
    mean: Array
    scale: Array

    def _check_state(self) -> None:
        check_shapes(self, kept="r", mean="r", scale="r")
        check_positive(self, "scale")

    @classmethod
    def of(cls, X: Array, weight: Array) -> Standard:
        """Weighted means and standard deviations of the columns that vary by more than rounding."""
        mean = np.average(X, axis=0, weights=weight)
        mean = mean + np.average(X - mean, axis=0, weights=weight)
        rest = np.abs(X - mean)
        largest = rest.max(axis=0)
        unit = np.where(largest > 0, largest, 1.0)
        scale = unit * np.sqrt(np.average((rest / unit) ** 2, axis=0, weights=weight))
        kept = np.flatnonzero(scale > 8 * _EPS * np.abs(mean))
        return cls(kept, mean[kept], scale[kept])

    def columns(self, X: Array) -> Array:
        """The columns that vary, standardized as in the fit."""
        # Clipped so that squares don't overflow.
        with np.errstate(over="ignore"):
            return np.clip((X[:, self.kept] - self.mean) / self.scale, -_LARGEST_SQUARABLE, _LARGEST_SQUARABLE)


@dataclass(frozen=True)
class Mode:
    """A model, the mode θ of its level and weights, the factor of the curvature LLᵀ there, and ln p(y | γ)."""

    model: Model
    theta: Array
    L: Array
    log_evidence: float
    gap: float

    @property
    def converged(self) -> bool:
        """Whether Newton's method converged."""
        return self.gap < _CONVERGED_STEP


@dataclass(frozen=True)
class Dataset:
    """Standardized columns `ZT` (d, n), labels 0 and 1, weights, and the variance of the slab."""

    ZT: Array
    y: Array
    weight: Array
    variance: float

    @property
    def n_columns(self) -> int:
        return len(self.ZT)

    def mode(self, model: Model, *, near: Mode | None = None) -> Mode:
        """The mode of a model; the search starts from that of a similar one."""
        known = {} if near is None else dict(zip(near.model, near.theta[1:].tolist(), strict=True))
        level = 0.0 if near is None else float(near.theta[0])
        theta = np.array([level, *(known.get(j, 0.0) for j in model)])
        L = np.zeros((len(theta), len(theta)))
        found = _laplace_jit.laplace(
            self.ZT, np.array(model, dtype=np.int64), self.y, self.weight, LEVEL_PRECISION, 1 / self.variance, theta, L
        )  # fmt: skip
        return Mode(model, theta, L, *found)


def enumerate_logistic(data: Dataset, prior: ModelPrior, *, n_models: int) -> ModelPosterior:
    """The posterior over all subsets; each mode is searched from that of a subset with one column less."""
    d, empty = data.n_columns, data.mode(())

    def family(j: int) -> list[Mode]:
        """A model of one column and all that follow by adding later columns."""
        waiting, found = [data.mode((j,), near=empty)], []
        while waiting:
            check()
            mode = waiting.pop()
            # Without the curvature: 2ᵈ of them would fill the memory.
            found.append(Mode(mode.model, np.empty(0), np.empty((0, 0)), mode.log_evidence, mode.gap))
            waiting += [data.mode((*mode.model, i), near=mode) for i in range(mode.model[-1] + 1, d)]
        return found

    modes = [empty, *(mode for part in parallel_map(family, range(d)) for mode in part)]
    modes.sort(key=lambda mode: (len(mode.model), mode.model))
    models, evidence = [mode.model for mode in modes], np.array([mode.log_evidence for mode in modes])
    inside, sizes = np.zeros((len(models), d)), np.array([len(model) for model in models])
    for row, model in zip(inside, models, strict=True):
        row[list(model)] = 1.0
    joint = evidence + prior.log_prob(sizes)
    log_mass = float(logsumexp(joint))
    probability = np.exp(joint - log_mass)
    order = np.argsort(-joint, kind="stable")[:n_models]
    best = [max(np.flatnonzero(sizes == k), key=lambda place: evidence[place]) for k in range(d + 1)]
    return ModelPosterior(
        inclusion=np.minimum(probability @ inside, 1.0),
        models=tuple(models[place] for place in order),
        probability=probability[order],
        log_evidence=evidence[order],
        log_mass=log_mass,
        size_probability=np.bincount(sizes, probability, d + 1).astype(np.float64),
        best_by_size=tuple(models[place] for place in best),
        diagnostics={
            "converged": all(mode.converged for mode in modes),
            "message": f"converged; all {len(models)} models were evaluated",
            "n_visited": len(models),
        },
    )


# The share of proposals of any column, so that a score test that errs can't exclude one.
_BLIND = 0.05
# The share of steps that propose to exchange two columns that carry the same information.
_SWAPS = 0.25
# The size of a chain's cache, in numbers (32 MB): the odds of all flips from each model.
_CACHED = 4_000_000
# Steps after which a chain can be stopped.
_STRETCH = 250


class LogisticChain(ModelChain):
    """A chain with a cache of the models that it evaluated."""

    def __init__(self, data: Dataset, log_prior: Array, rng: np.random.Generator, *, start: Model = ()) -> None:
        self.n_columns, self._rng, self._count = data.n_columns, rng, 0
        inside = np.zeros(data.n_columns, dtype=np.bool_)
        inside[list(start)] = True
        keys = rng.integers(0, 2**64, size=data.n_columns, dtype=np.uint64)
        self.state = _laplace_jit.State(inside, np.zeros(data.n_columns + 1), keys)
        self._data = _laplace_jit.Posterior(
            data.ZT, data.y, data.weight, LEVEL_PRECISION, 1.0 / data.variance, log_prior
        )  # fmt: skip
        room = max(_CACHED // data.n_columns, 16)
        # At most half full, so that collisions find a free place nearby.
        size = 1 << (2 * room - 1).bit_length()
        self._cache = _laplace_jit.Cache(
            np.zeros(size, dtype=np.uint64), np.full(size, _laplace_jit.EMPTY), np.empty(room),
            np.empty((room, data.n_columns)),
        )  # fmt: skip

    def advance(self, n_steps: int, included: Array) -> tuple[Array, list[Model]]:
        """The largest evidence, not R², decides which of two models of one size is better; all steps weigh the same."""
        moved, evidence = np.full((n_steps, 2), -1, dtype=np.int64), np.zeros(n_steps)
        start, room = self.state.inside.copy(), len(self._cache.log_evidence)
        stretch = min(_STRETCH, room // _laplace_jit.MOST)
        for done in range(0, n_steps, stretch):
            check()
            if self.stopped:
                break
            part = slice(done, min(done + stretch, n_steps))
            if self._count + _laplace_jit.MOST * stretch > room:
                # The cache is full: start afresh.
                self._cache.slots[:], self._count = _laplace_jit.EMPTY, 0
            uniforms = self._rng.random((part.stop - done, 4))
            self._count = _laplace_jit.run_steps(
                self._data, self._cache, self.state, self._count, _BLIND, _SWAPS, uniforms, included, moved[part],
                evidence[part],
            )  # fmt: skip
        return np.column_stack([evidence, -evidence, np.ones(n_steps)]), path(start, moved)


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
