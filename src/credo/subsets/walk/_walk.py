"""Several chains over models, side by side, and what they say together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from credo.estimator import ConvergenceWarning
from credo.linalg import one_blas_thread
from credo.notices import warn
from credo.seeds import generator
from credo.subsets._dependence import DEPENDENT
from credo.subsets._model_prior import ModelPrior, size_law
from credo.subsets._models import Model, ModelPosterior
from credo.subsets._slabs import Slab
from credo.subsets.walk._chain import Chain, Target
from credo.subsets.walk._columns import columns_of
from credo.subsets.walk._gather import agreement, contradiction, drawn, inclusion, missed, size_probability, visits
from credo.subsets.walk._jit import Ladder
from credo.subsets.walk._ladder import first_ladder
from credo.subsets.walk._path import Path
from credo.subsets.walk._together import PATIENCE, check_length, most_at_first, random_start, until_settled
from credo.subsets.walk._umbrella import STAGES, STRIDES, WAY, level_way, worlds_apart

Array = NDArray[np.float64]

# A probability known to ±0.1 at 95 % is the least that "which columns matter" needs.
_LARGEST_ERROR, _R_HAT = 0.05, 1.1
# What chains that agree may all have missed, at the most.
_AGREED = 0.02
# A prior that expects no more columns than this is not what keeps chains from settling.
_HANDFUL = 10
# Fewer steps than this are a quick look.
_WORTH = 1000
# A model with this share of the posterior is one that every chain comes to, or something keeps it away.
_MISSED = 0.1
# Listed models that hold this much of the posterior stand for all of it.
_NEARLY_ALL = 0.9


def walk(
    X: Array,
    y: Array,
    slab: Slab,
    prior: ModelPrior,
    *,
    least: Array | float = DEPENDENT,
    n_draws: int | None = None,
    n_chains: int = 4,
    n_models: int = 1000,
    random_state: Any = None,
) -> ModelPosterior:
    """The posterior over subsets of many columns, by weighted tempered Gibbs sampling (Zanella & Roberts 2019).

    A step looks at all models that differ from the present one by one column, which costs O(dk) for d columns and a
    model of k, and flips one of them. The conditional probabilities of all columns, averaged over the steps, are the
    inclusion probabilities (Rao-Blackwell). Each chain has replicas at lower powers of the fit with which it changes
    places, so that it doesn't stay at the first summit.

    Parameters
    ----------
    X, y : arrays of shape (n, d) and (n,)
        Centred, with the square roots of weights folded in.
    slab, prior : the evidence of a model, and its probability beforehand
    least : array of shape (d,) or float
        The share of a column's length that must be left beside others, unless the slab has a ridge.
    n_draws : int, optional
        Steps of each chain; a quarter more come before them and aren't counted, in which the powers are found. By
        default 5000, and as many again as long as the chains don't agree, up to 40 000 or some two minutes. Chains that
        don't agree then, and were at small models and at large ones, start again on a level way between these, if it
        can be found in about a minute, or `n_draws` says that there is time (8000 or more).
    n_chains : int, default 4
    n_models : int, default 1000
        How many of the visited models to list.
    random_state : None, int, Generator or RandomState

    Returns
    -------
    ModelPosterior
        `diagnostics` tells the Monte-Carlo standard errors of the inclusion probabilities, how well the chains agree,
        which share of the posterior lies in the models that were visited, the largest share of a model that some chain
        ``missed``, the error of the log mass, the ``powers`` of each chain's replicas, which part of their exchanges
        was ``refused``, and the number of ``round_trips`` that they made together.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.subsets._model_prior import ModelPrior
    >>> from credo.subsets._slabs import slab_of
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 200))
    >>> y = 2.0 * X[:, 3] - X[:, 50] + rng.normal(size=60)
    >>> X, y = X - X.mean(axis=0), y - y.mean()
    >>> found = walk(X, y, slab_of("g", 60, y @ y, 200), ModelPrior(200, (1.0, 1.0)), random_state=0)
    >>> found.map_model
    (3, 50)
    """
    check_length(n_draws, n_chains)
    d = X.shape[1]
    largest = int(min(d, slab.most))
    log_prior = prior.log_prob(np.arange(largest + 1))
    target = Target(slab, log_prior)
    rngs = generator(random_state).spawn(n_chains)
    with one_blas_thread():
        columns = columns_of(X, y, ridge=slab.ridge, yy=slab.yy, least=least)
    chains = [
        Chain(columns, target, *_beginning(rng, d, target, large=number % 2 == 1)) for number, rng in enumerate(rngs)
    ]

    def judge(paths: Sequence[Path]) -> ModelPosterior:
        trips = sum(chain.round_trips for chain in chains)
        return posterior_of(paths, log_prior, n_models=n_models, round_trips=trips)

    # Steps of all replicas to one at the whole power, at first and on a level way.
    first, later = (float(strides.sum() / strides[0]) for strides in (chains[0].ladder.strides, STRIDES))

    def seconds(k: float) -> float:
        """What a step of one replica costs: fitted to walks of 50 to 5000 columns."""
        return 2e-8 * d + 4e-10 * d * k + 2e-9 * k**2

    runs = [partial(chain.run, rng) for chain, rng in zip(chains, rngs, strict=True)]
    found, paths = until_settled(chains, runs, judge, n_draws, seconds=lambda k: first * seconds(k))
    last = 0 if found.diagnostics["converged"] else min(worlds_apart(paths, len(X)), largest)
    # A level way between worlds has to be worth its time: a minute, or as long as the chains walked.
    soon = n_chains * WAY * seconds(0.6 * last) <= PATIENCE / 2 and len(paths[0].steps) >= _WORTH
    if last and (soon or (n_draws is not None and later * n_draws >= WAY)):
        with one_blas_thread():
            chains = level_way(columns, target, rngs, last, max(STAGES, (n_draws or 0) // 1000))
        runs = [partial(chain.run, rng) for chain, rng in zip(chains, rngs, strict=True)]
        found, _ = until_settled(chains, runs, judge, n_draws, seconds=lambda k: later * seconds(k), tuned=True)
    refused = np.stack([chain.ladder.rejected[:, 0] / np.maximum(chain.ladder.rejected[:, 1], 1.0) for chain in chains])
    powers = np.stack([chain.ladder.powers for chain in chains])
    found = replace(found, diagnostics={**found.diagnostics, "powers": powers, "refused": refused})
    if not found.diagnostics["converged"]:
        # Of an estimator's fit, which calls its own search.
        warn(found.diagnostics["message"], ConvergenceWarning, stacklevel=4)
    return found


def _beginning(rng: np.random.Generator, d: int, target: Target, *, large: bool) -> tuple[Ladder, list[Model]]:
    """Powers, and where their replicas start: at large models, or from a few columns at random and none by turns."""
    ladder, room = first_ladder(d, target.reach, len(target.log_prior) - 1), int(min(target.slab.most, target.slab.n))
    most, levels = most_at_first(target.log_prior, d, room) if large else 0, range(len(ladder.powers))
    return ladder, [random_start(rng, d, room, most, empty=level % 2 == 0) for level in levels]


def posterior_of(
    paths: Sequence[Path], log_prior: Array, *, n_models: int, round_trips: float | None = None
) -> ModelPosterior:
    """What several chains say together.

    A place that has the probability ε is found by about ε of the replicas' round trips (of the independent draws, where
    there are no replicas). Where nobody has come to may be as much as Laplace's rule of succession says, 1/(N + 2)
    after N of them, and any column may be in there: no error is told that is smaller, however well the chains agree.
    Where few trips are made, agreement of chains from far-off starts has to stand for them.
    """
    seen = visits(paths, log_prior)
    probability, error = inclusion(paths)
    r_hat, ess = agreement(paths, seen)
    looks = np.nan_to_num(ess, nan=np.inf) if round_trips is None else round_trips
    unknown = min(1.0 / (looks + 2.0), _AGREED)
    error = np.maximum(np.maximum(error, unknown), contradiction(seen, probability, n_models))
    hidden = missed(paths, seen)
    complaint = _complaint(error, r_hat, hidden, _remedy(log_prior, paths[0]))
    # Zero where chains are too short to know the mass of all. Averages over listed models are of the posterior that the
    # inclusion probabilities are of only where the chains have found it.
    listed = float(np.exp(logsumexp(seen.log_joint[:n_models]) - seen.log_mass)) if seen.share > 0 else 0.0
    enough = listed >= _NEARLY_ALL and not complaint
    sample, sample_weight = ((), np.empty(0)) if enough else drawn(paths, n_models)
    n_draws = len(paths[0].steps)
    well = f"converged; {len(paths)} chains of {n_draws} steps agree, inclusion probabilities are accurate to "
    well += f"±{error.max():.2g}"
    if np.isnan(r_hat):
        well += " (R-hat was not computed: pip install 'credo[mcmc]')"
    return ModelPosterior(
        inclusion=probability,
        models=tuple(seen.models[:n_models]),
        probability=np.exp(seen.log_joint[:n_models] - seen.log_mass),
        log_evidence=seen.log_evidence[:n_models],
        log_mass=seen.log_mass,
        size_probability=size_probability(paths, len(probability)),
        best_by_size=seen.best_by_size,
        sample=sample,
        sample_weight=sample_weight,
        diagnostics={
            "converged": not complaint,
            "message": complaint or well,
            "n_chains": len(paths),
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


def _remedy(log_prior: Array, path: Path) -> str:
    """What to do about chains like this one: ln p(γ) for each size says how many columns the prior expects."""
    d, remedy = path.included.shape[1], f"increase n_draws above {len(path.steps)}"
    if np.arange(len(log_prior)) @ size_law(log_prior, d) > _HANDFUL:
        remedy += f", or use a prior_inclusion that expects fewer columns, such as (1, {d})"
    return remedy


def _complaint(error: Array, r_hat: float, hidden: float, remedy: str) -> str:
    """What speaks against the chains, with a remedy; empty where nothing does."""
    # An error that is no number is none that is small.
    if not error.max() <= _LARGEST_ERROR:
        return (
            f"the MCMC chains did not converge: some inclusion probabilities are accurate only to ±{error.max():.3g} "
            f"(target {_LARGEST_ERROR}): {remedy}"
        )
    if hidden > _MISSED:
        return (
            "the MCMC chains did not converge: not all of them visited a model that has "
            f"{100 * hidden:.2g} % of the posterior probability according to the others: {remedy}"
        )
    if r_hat > _R_HAT:
        return (
            "the MCMC chains did not converge: they disagree about the size or posterior of the models (R-hat "
            f"{r_hat:.3f}, target {_R_HAT}): {remedy}"
        )
    return ""
