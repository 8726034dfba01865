"""MCMC over models, for more columns than can be enumerated.

    γ → γ with column i flipped,   at the rate (p_i + c) / p(γ_i | γ without i, y),   p_i = p(γ_i = 1 | γ without i, y)

Weighted tempered Gibbs sampling (Zanella & Roberts 2019, "Scalable importance tempering and Bayesian variable
selection"): every step flips a column, and a model counts with one over the sum of its rates. Leaving a model takes
about as many steps as it has columns, however much worse its neighbors are; so one of two columns that carry the
same information can replace the other. For classes the rates are approximate, and a flip may be
rejected (`_chain_jit`).

In regression, modes that differ by several columns are connected by parallel tempering (Geyer 1991): replicas sample
p_β(γ), which has the likelihood to a power β between one and zero, and swap.

`_factors_jit` updates the QR factor of a model, `_laplace_jit` finds the mode of a logistic model, `_chain_jit`
evaluates all neighbors of a model and takes the steps, `Chain` runs them. Several chains run in parallel, from
different starting points, until they agree.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

from credo.core.deadlines import check
from credo.core.estimator import ConvergenceWarning, positive_integer
from credo.core.learning.sampling import extra
from credo.core.linalg import one_blas_thread, parallel_map
from credo.core.notices import warn
from credo.core.seeds import generator
from credo.sparse import _chain_jit
from credo.sparse._chain_jit import EMPTY, Labels, Ladder, Problem, Target
from credo.sparse._design import DEPENDENT, lengths
from credo.sparse._factors_jit import Columns, Replicas
from credo.sparse._laplace import LEVEL_PRECISION, Dataset
from credo.sparse._models import Model, ModelPosterior, ModelPrior, size_distribution
from credo.sparse._slabs import Slab, bic_slab
from credo.sparse._slabs_jit import FLOOR

Array = NDArray[np.float64]


def sample_models(
    X: Array, y: Array, slab: Slab, prior: ModelPrior, *, least: Array | float = DEPENDENT, **options: Any
) -> ModelPosterior:  # fmt: skip
    """The posterior over subsets of many columns, by weighted tempered Gibbs sampling (Zanella & Roberts 2019).

    A step evaluates all models that differ from the present one by one column, in O(dk) for d columns and a model of
    k, and flips one column. The conditional probabilities of all columns, averaged over the steps, are the inclusion
    probabilities (Rao–Blackwell). Each chain swaps with replicas at higher temperatures (parallel tempering).

    Arguments are those of `enumerate_models`, and `n_draws`, `n_chains`, `n_models` and `random_state`. `n_draws` steps
    of each chain come after a burn-in of a quarter as many; by default 5000, doubled until the chains agree, up to 40
    000 or about two minutes.

    The log mass is that of the visited models, a lower bound. `diagnostics` has the standard errors of the inclusion
    probabilities, R-hat, and the ``round_trips`` of the replicas.
    """
    d = X.shape[1]
    largest, room = int(min(d, slab.max_size)), int(min(slab.max_size, slab.n))
    log_prior, ladder = prior.log_prob(np.arange(largest + 1)), first_ladder(d, slab, largest)
    with one_blas_thread():
        columns = shared_columns(X, y, ridge=slab.ridge, yy=slab.yy, least=least)
    # Steps of all replicas for each step at β = 1, times the cost of one: fitted to chains of 50 to 5000 columns.
    steps = float(ladder.strides.sum() / ladder.strides[0])
    found = _sample(
        lambda: slab_problem(own_rows(columns), slab, log_prior), ladder, log_prior, d, room,
        seconds=lambda k: steps * (2e-8 * d + 4e-10 * d * k + 2e-9 * k**2), **options,
    )  # fmt: skip
    if not found.diagnostics["converged"]:
        # Attributed to the caller of the estimator's fit.
        warn(found.diagnostics["message"], ConvergenceWarning, stacklevel=4)
    return found


def sample_logistic(data: Dataset, prior: ModelPrior, **options: Any) -> ModelPosterior:
    """The same for classes, at one temperature."""
    d, each = data.n_columns, 5e-10 * data.n_columns * (len(data.y) + 100)
    log_prior = prior.log_prob(np.arange(d + 1))
    ladder = Ladder(np.ones(1), np.full(1, 10), np.zeros(1, dtype=np.int64), _EXPLORATION_RATE / d, np.zeros((0, 2)))
    # A weight of k is equivalent to k copies of a row.
    return _sample(
        lambda: label_problem(data, log_prior), ladder, log_prior, d, int(data.weight.sum()),
        seconds=lambda k: each * (1.0 + k / 5.0), **options,
    )  # fmt: skip


def _sample(
    problem: Callable[[], ProblemOfSize], ladder: Ladder, log_prior: Array, d: int, room: int, *,
    seconds: Callable[[float], float], n_draws: int | None = None, n_chains: int = 4, n_models: int = 1000,
    random_state: Any = None,
) -> ModelPosterior:  # fmt: skip
    check_length(n_draws, n_chains)
    chains = []
    for number, rng in enumerate(generator(random_state).spawn(n_chains)):
        # Every other chain starts from large models, the others from none or a few columns.
        many = many_columns(log_prior, d, room) * (number % 2)
        few = number if len(ladder.betas) == 1 else 0
        starts = [random_start(rng, d, room, many, empty=(few + level) % 2 == 0) for level in range(len(ladder.betas))]
        own = ladder._replace(holder=ladder.holder.copy(), rejected=ladder.rejected.copy())
        chains.append(Chain(problem(), own, len(log_prior) - 1, d, starts, rng))

    def summarize(traces: Sequence[Trace]) -> ModelPosterior:
        trips = sum(chain.round_trips for chain in chains) if len(ladder.betas) > 1 else None
        return summarize_chains(traces, log_prior, n_models=n_models, round_trips=trips)

    return run_until_converged(chains, summarize, n_draws, seconds=seconds)


@dataclass(frozen=True)
class Trace:
    """The record of a chain: the model at each step and its log evidence.

    The `weight` of a step is the time that a chain in continuous time would stay. `included` (n_batches, d) and
    `batch_weight` (n_batches,) are sums over batches of steps, of weight × conditional inclusion probability and of
    weight.
    """

    models: list[Model]
    log_evidence: Array
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
            weight=np.append(self.weight, further.weight),
            included=_in_pairs(self.included, further.included),
            batch_weight=_in_pairs(self.batch_weight, further.batch_weight),
        )

    def thinned(self, n: int) -> list[Model]:
        """The models at n evenly spaced points in time, which are draws from the posterior."""
        clock = np.cumsum(self.weight)
        steps = np.searchsorted(clock, clock[-1] * (np.arange(n) + 0.5) / n)
        return [self.models[step] for step in np.minimum(steps, len(clock) - 1)]


# All inner products are stored up to this many (128 MB); beyond that, each chain stores the rows of the columns that
# entered last.
_MAX_GRAM_ENTRIES, _GRAM_CACHE_ENTRIES = 16_000_000, 4_000_000
# The size of a chain's cache of logistic models, in numbers (32 MB): the odds of all flips from each.
_MODEL_CACHE_ENTRIES = 4_000_000
# Steps after which factors are computed from scratch.
_REFRESH_STEPS = 250
# Columns that the arrays of a model hold at first.
_INITIAL_COLUMNS = 16
# Shares of the burn-in, after each of which the temperatures are adapted.
_BURN_IN_SHARES = (0.05, 0.05, 0.1, 0.2, 0.6)
# The total rate at which columns are tried at random. Zanella & Roberts (2019) use 5; on gene expressions 0.3 to 2 had
# smaller errors than 0.05 and 5.
_EXPLORATION_RATE = 1.0

# Builds the problem for models of up to a number of columns: tables for more may take seconds.
ProblemOfSize = Callable[[int], Problem]


class Chain:
    """Replicas at the temperatures of a ladder, each with the posteriors of all neighbors of its model.

    `largest` is the size of the largest model of `n_columns` columns, `starts` the first model at each temperature.
    Another thread stops it by setting `stopped`.
    """

    stopped = False

    def __init__(
        self, problem: ProblemOfSize, ladder: Ladder, largest: int, n_columns: int, starts: Sequence[Model],
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        self.ladder, self.n_columns, self._largest = ladder, n_columns, largest
        self._problem, self._rng, self._rounds = problem, rng, 0
        self._start(starts, room=_INITIAL_COLUMNS)

    def run(self, *, n_draws: int, n_burn_in: int, n_batches: int) -> Trace:
        """Take steps, and record those after the burn-in, in which the temperatures are adapted."""
        for share in _BURN_IN_SHARES if n_burn_in else ():
            self.advance(round(share * n_burn_in), np.zeros(self.n_columns))
            self.ladder = adapted(self.ladder)
        included = np.zeros((n_batches, self.n_columns))
        batches = np.diff(n_draws * np.arange(n_batches + 1) // n_batches)
        parts = [self.advance(int(length), sums) for length, sums in zip(batches, included, strict=True)]
        evidence, weight = np.concatenate([record for record, _ in parts]).T
        time = np.array([record[:, 1].sum() for record, _ in parts])
        return Trace([model for _, part in parts for model in part], evidence, weight, included, time)

    def advance(self, n_steps: int, included: Array) -> tuple[Array, list[Model]]:
        """Log evidence and weight of each step at β = 1, and its model; adds to `included`."""
        models: list[Model] = []
        trace, strides = np.ones((n_steps, 2)), self.ladder.strides
        while len(models) < n_steps and not self.stopped:
            n_rounds = min(max(_REFRESH_STEPS // int(strides.max()), 1), -(-(n_steps - len(models)) // int(strides[0])))
            uniforms = self._rng.random((n_rounds, 2 * int(strides.sum()) + len(strides)))
            while len(uniforms) and not self.stopped:
                check()
                done, room = len(models), self.replicas.members.shape[1]
                seen = np.empty((n_steps - done, room), dtype=np.int64)
                record = _chain_jit.Record(trace[done:], seen, included)
                rounds, steps = _chain_jit.run_rounds(
                    self.problem, self.replicas, self.ladder, record, uniforms, self._rounds % 2
                )
                models += _models(seen[:steps])
                self._rounds += rounds
                uniforms = uniforms[rounds:]
                if len(uniforms):
                    self._start(self._members(), room=2 * room)
        return trace, models

    @property
    def round_trips(self) -> float:
        """Estimated number of round trips of replicas between β = 1 and β = 0 since the temperatures were adapted.

        With r the rejection rate of a pair, 1/(2 + 2Σ r/(1 − r)) a round (Syed et al. 2022, theorem 1). Each brings a
        model that is independent of those before it.
        """
        tried, rate = self.ladder.rejected[:, 1], np.minimum(self.rejection_rate, 1.0 - 1e-12)
        # A pair is tried in every other round.
        return float(2.0 * tried.max(initial=0.0) / (2.0 + 2.0 * np.sum(rate / (1.0 - rate))))

    @property
    def rejection_rate(self) -> Array:
        """Rejection rate of swaps between each pair of temperatures."""
        return np.asarray(self.ladder.rejected[:, 0] / np.maximum(self.ladder.rejected[:, 1], 1.0))

    def _start(self, starts: Sequence[Model], *, room: int) -> None:
        """Put replicas at models, with room for that many columns."""
        room = max(min(room + int(self.ladder.strides.max()), self._largest), max(map(len, starts)), 1)
        # Neighbors have one column more.
        self.problem = self._problem(room + 1)
        self.replicas = replicas(self.problem, len(starts), self.n_columns, room)
        for i, model in enumerate(starts):
            self.replicas.size[i], self.replicas.members[i, : len(model)] = len(model), model

    def _members(self) -> list[Model]:
        pairs = zip(self.replicas.members, self.replicas.size.tolist(), strict=True)
        return [tuple(row[:k].tolist()) for row, k in pairs]


def shared_columns(X: Array, y: Array, *, ridge: float, yy: float, least: Array | float) -> Columns:
    """Columns of unit length, shared by all chains; the slab adds `ridge` to squared lengths."""
    d = X.shape[1]
    scale = lengths(X)
    # By rows, qᵀX is twice as fast as by columns.
    U = np.ascontiguousarray(X / scale)
    kept = d * d <= _MAX_GRAM_ENTRIES
    return Columns(
        X=U,
        y=np.ascontiguousarray(y / np.sqrt(yy)),
        scale=2.0 * np.log(scale),
        square=np.einsum("ij,ij->j", U, U) + ridge / scale**2,
        ridge=ridge / scale**2,
        least=np.zeros(d) if ridge else np.broadcast_to(np.asarray(least, dtype=np.float64), (d,)).copy(),
        slack=max(yy - float(y @ y), 0.0) / yy,
        gram=U.T @ U if kept else np.empty((0, d)),
        row=np.arange(d) if kept else np.full(d, -1),
        owner=np.empty(0, dtype=np.int64),
        turn=np.zeros(1, dtype=np.int64),
    )


def first_ladder(d: int, slab: Slab, largest: int) -> Ladder:
    """Inverse temperatures in equal ratios down to the one at which the best fit gains one nat, and zero.

    With few columns, modes are steep and steps cheap, so there are many temperatures that swap often. With many
    columns, steps at β = 1 take most of the time.
    """
    n_levels, stride, hot = (12, 2, 2) if d <= 100 else (12, 10, 2) if d <= 1000 else (6, 16, 1)
    sizes = np.arange(1, min(_INITIAL_COLUMNS, largest) + 1)
    perfect, none = (slab.score(sizes, np.full(len(sizes), one_minus_r2)) for one_minus_r2 in (FLOOR, 1.0))
    reach = float((perfect - none).max(initial=2.0))
    betas = np.append(reach ** -np.linspace(0.0, 1.0, n_levels - 1), 0.0)
    strides = np.full(n_levels, hot)
    strides[0] = stride
    return Ladder(betas, strides, np.arange(n_levels), _EXPLORATION_RATE / max(d, 1), np.zeros((n_levels - 1, 2)))


def adapted(ladder: Ladder) -> Ladder:
    """Temperatures with equal rejection rates of swaps (Syed et al. 2022, algorithm 4).

    One accepted and one rejected swap are added to those that were tried, so that a few swaps can't decide.
    """
    rejected, tried = ladder.rejected.T
    barrier = np.append(0.0, np.cumsum((rejected + 1.0) / (tried + 2.0)))
    betas = np.interp(np.linspace(0.0, barrier[-1], len(barrier)), barrier, ladder.betas)
    return ladder._replace(betas=betas, rejected=np.zeros_like(ladder.rejected))


def slab_problem(columns: Columns, slab: Slab, log_prior: Array) -> ProblemOfSize:
    """The posterior over linear models as compiled code reads it.

    At β = 0, all sizes are equally likely with up to 64 columns, so that replicas reach large models with few
    neighbors. With more columns, these models would have half as many columns as rows, so prior and slab still count,
    with R² = 0.
    """
    d = columns.X.shape[1]
    logdet = columns.scale + np.log(np.maximum(columns.square, 1e-300))

    def problem(room: int) -> Problem:
        sizes = np.arange(min(room, len(log_prior) - 1) + 1)
        if d <= 64:
            reference = betaln(sizes + 1.0, d - sizes + 1.0)
        else:
            reference = log_prior[: len(sizes)] + slab.score(sizes, np.ones(len(sizes)), float(logdet.mean()) * sizes)
        return Problem(columns, _NO_LABELS, Target(log_prior, reference, slab.formula(int(sizes[-1]))))

    return problem


def label_problem(data: Dataset, log_prior: Array) -> ProblemOfSize:
    """The posterior over logistic models, with a cache for those of one chain."""
    d, room = data.n_columns, max(_MODEL_CACHE_ENTRIES // data.n_columns, 16)
    # At most half full, so that collisions find a free place nearby.
    size = 1 << (2 * room - 1).bit_length()
    labels = Labels(
        data.ZT, data.y, data.weight, LEVEL_PRECISION, 1.0 / data.variance,
        np.random.default_rng(0).integers(0, 2**64, size=d, dtype=np.uint64), np.zeros(size, dtype=np.uint64),
        np.full(size, EMPTY), np.empty(room), np.empty((room, d)), np.zeros(1, dtype=np.int64),
    )  # fmt: skip
    target = Target(log_prior, log_prior, bic_slab(2.0, 1.0).formula(0))
    return lambda room: Problem(_NO_COLUMNS, labels, target)


def own_rows(columns: Columns) -> Columns:
    """The same for one chain, with its own rows of inner products if not all are stored."""
    if len(columns.gram):
        return columns
    d, turn = columns.X.shape[1], np.zeros(1, dtype=np.int64)
    n_rows = max(_GRAM_CACHE_ENTRIES // max(d, 1), 1)
    return columns._replace(gram=np.empty((n_rows, d)), row=np.full(d, -1), owner=np.full(n_rows, -1), turn=turn)


def replicas(problem: Problem, levels: int, d: int, room: int) -> Replicas:
    """Empty models, one for each level, with room for this many columns."""
    n = len(problem.columns.X)
    # Only linear models have factors, only logistic ones a mode.
    k, near = (0, d + 1) if len(problem.labels.y) else (room, 0)
    return Replicas(
        Q=np.zeros((levels, k, n + k)), R=np.zeros((levels, k, k)), T=np.zeros((levels, k, k)),
        u=np.zeros((levels, k)), e=np.zeros((levels, n + k)), s=np.empty((levels, d)), r=np.empty((levels, d)),
        inside=np.zeros((levels, d), dtype=np.bool_), members=np.zeros((levels, room), dtype=np.int64),
        size=np.zeros(levels, dtype=np.int64), log_joint=np.zeros((levels, d)), here=np.zeros((levels, 3)),
        near=np.zeros((levels, near)),
    )  # fmt: skip


def _models(seen: NDArray[np.int64]) -> list[Model]:
    """Models from rows of columns in any order, padded with −1; equal models are one object."""
    rows, known = np.sort(seen, axis=1), dict[bytes, Model]()
    for row in rows:
        if (key := row.tobytes()) not in known:
            known[key] = tuple(row[row >= 0].tolist())
    return [known[row.tobytes()] for row in rows]


_N_BATCHES = 10
# Default steps of a chain: the first number, doubled until the chains agree, up to the second or to the time limit on
# two cores. The time is estimated: with a clock, results would depend on the machine.
_FIRST_STEPS, _MAX_STEPS, _MAX_SECONDS = 5000, 40_000, 120.0
# Columns of small and large starting models, and the limit on their product with the number of all columns, which is
# the cost of a step.
_SMALL_START, _LARGE_START, _MAX_STEP_COST = 10, 100, 400_000
# A probability known to ±0.1 at 95 % is the least that "which columns matter" needs.
_MAX_STD_ERROR, _MAX_R_HAT = 0.05, 1.1


def _in_pairs(before: Array, after: Array) -> Array:
    """Sums of pairs of consecutive batches."""
    whole = np.concatenate([before, after])
    return np.asarray(whole[::2] + whole[1::2])


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
    known: dict[Model, float] = {}
    for trace in traces:
        known.update(zip(trace.models, trace.log_evidence.tolist(), strict=True))
    probability, error = inclusion(traces)
    r_hat, ess = r_hat_and_ess(traces, {model: value + log_prior[len(model)] for model, value in known.items()})
    looks = np.nan_to_num(ess, nan=np.inf) if round_trips is None else round_trips
    error = np.maximum(error, min(1.0 / (looks + 2.0), 0.02))
    complaint, n_draws = _complaint(error, r_hat), len(traces[0].models)
    message = f"{complaint}: {_remedy(log_prior, traces[0])}" if complaint else (
        f"converged; {len(traces)} chains of {n_draws} steps agree, inclusion probabilities are accurate to "
        f"±{error.max():.2g}" + (" (R-hat was not computed: pip install 'credo[mcmc]')" if np.isnan(r_hat) else "")
    )  # fmt: skip
    sizes, time = np.zeros(len(probability) + 1), Counter[Model]()
    for trace in traces:
        sizes += np.bincount(trace.sizes, trace.weight, len(sizes))
        for model, weight in zip(trace.models, trace.weight.tolist(), strict=True):
            time[model] += weight
    found = ModelPosterior.of_visited(
        known,
        log_prior,
        n_models,
        inclusion=probability,
        size_probability=sizes / sizes.sum(),
        diagnostics={
            "converged": not complaint,
            "message": message,
            "n_chains": len(traces),
            "n_draws": n_draws,
            "r_hat": r_hat,
            "ess": ess,
            "inclusion_error": error,
            "n_visited": len(known),
            "round_trips": looks,
        },
    )
    # The stored models represent the posterior only if the chains converged and were there nearly all of the time.
    if not complaint and sum(time[model] for model in found.models) >= 0.9 * time.total():
        return found
    sample, sample_weight = draws(traces, n_models)
    return replace(found, sample=sample, sample_weight=sample_weight)


def _remedy(log_prior: Array, trace: Trace) -> str:
    """What to do about chains that haven't converged."""
    d, remedy = trace.included.shape[1], f"increase n_draws above {len(trace.models)}"
    # A prior that expects fewer columns is not what prevents convergence.
    if np.arange(len(log_prior)) @ size_distribution(log_prior, d) > 10:
        remedy += f", or use a prior_inclusion that expects fewer columns, such as (1, {d})"
    return remedy


def _complaint(error: Array, r_hat: float) -> str:
    """Why the chains haven't converged; empty if they have."""
    reason = ""
    # Not `>`, which would accept NaN.
    if not error.max() <= _MAX_STD_ERROR:
        reason = f"some inclusion probabilities are accurate only to ±{error.max():.3g} (target {_MAX_STD_ERROR})"
    elif r_hat > _MAX_R_HAT:
        reason = f"they disagree about the size or posterior of the models (R-hat {r_hat:.3f}, target {_MAX_R_HAT})"
    return f"the MCMC chains did not converge: {reason}" if reason else ""


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


def draws(traces: Sequence[Trace], n: int) -> tuple[tuple[Model, ...], Array]:
    """About n posterior draws of all chains: the distinct models, most frequent first, and their shares."""
    counts: Counter[Model] = Counter()
    for trace in traces:
        counts.update(trace.thinned(-(-n // len(traces))))
    ordered = counts.most_common()
    return tuple(model for model, _ in ordered), np.array([count for _, count in ordered]) / counts.total()


def r_hat_and_ess(traces: Sequence[Trace], heights: Mapping[Model, float]) -> tuple[float, float]:
    """The larger R-hat and the smaller effective sample size of two quantities: size and log posterior of the models.

    NaN if arviz-stats isn't installed. `heights` are the log posteriors: one number for each model in all chains,
    because R-hat would rank rounding errors.
    """
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


_NO_COLUMNS = shared_columns(np.empty((0, 0)), np.empty(0), ridge=0.0, yy=1.0, least=0.0)
_NONE, _NO_KEYS, _NO_PLACES = np.empty(0), np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
_NO_LABELS = Labels(
    np.empty((0, 0)), _NONE, _NONE, 1.0, 1.0, _NO_KEYS, _NO_KEYS, _NO_PLACES, _NONE, np.empty((0, 0)), _NO_PLACES
)
