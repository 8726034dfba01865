"""The posterior over subsets of many columns, for Gaussian noise, by MCMC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.core.estimator import ConvergenceWarning
from credo.core.linalg import one_blas_thread
from credo.core.notices import warn
from credo.core.seeds import generator
from credo.sparse._dependence import DEPENDENT
from credo.sparse._models import ModelPosterior, ModelPrior
from credo.sparse._slabs import Slab
from credo.sparse.sampler._chain import Chain, first_ladder, shared_columns
from credo.sparse.sampler._convergence import (
    check_length,
    many_columns,
    random_start,
    run_until_converged,
    summarize_chains,
)
from credo.sparse.sampler._trace import Trace

Array = NDArray[np.float64]


def sample_models(
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

    A step evaluates all models that differ from the present one by one column, in O(dk) for d columns and a model of
    k, and flips one column. The conditional probabilities of all columns, averaged over the steps, are the inclusion
    probabilities (Rao–Blackwell). Each chain swaps with replicas at higher temperatures (parallel tempering).

    Arguments as of `enumerate_models`. `n_draws` steps of each chain come after a burn-in of a quarter as many; by
    default 5000, doubled as long as the chains don't agree, up to 40 000 or about two minutes.

    `diagnostics` has the standard errors of the inclusion probabilities, R-hat, the share of the posterior that was
    visited, the largest probability of a model that some chain ``missed``, the error of the log mass, the
    ``inverse_temperatures`` of each chain, the ``swap_rates`` between them, and the ``round_trips`` of the replicas.
    """
    check_length(n_draws, n_chains)
    d = X.shape[1]
    largest, room = int(min(d, slab.max_size)), int(min(slab.max_size, slab.n))
    log_prior = prior.log_prob(np.arange(largest + 1))
    with one_blas_thread():
        columns = shared_columns(X, y, ridge=slab.ridge, yy=slab.yy, least=least)
    chains = []
    for number, rng in enumerate(generator(random_state).spawn(n_chains)):
        # Every other chain starts from large models, the others from none or a few columns.
        ladder, many = first_ladder(d, slab, largest), many_columns(log_prior, d, room) * (number % 2)
        starts = [random_start(rng, d, room, many, empty=level % 2 == 0) for level in range(len(ladder.betas))]
        chains.append(Chain(columns, slab, log_prior, ladder, starts, rng))

    def summarize(traces: Sequence[Trace]) -> ModelPosterior:
        trips = sum(chain.round_trips for chain in chains)
        return summarize_chains(traces, log_prior, n_models=n_models, round_trips=trips)

    # Steps of all replicas for one at β = 1, times what one costs: fitted to chains of 50 to 5000 columns.
    steps = float(ladder.strides.sum() / ladder.strides[0])
    found = run_until_converged(
        chains, summarize, n_draws, seconds=lambda k: steps * (2e-8 * d + 4e-10 * d * k + 2e-9 * k**2)
    )
    betas = np.stack([chain.ladder.betas for chain in chains])
    swaps = np.stack([1.0 - chain.rejection_rate for chain in chains])
    found = replace(found, diagnostics={**found.diagnostics, "inverse_temperatures": betas, "swap_rates": swaps})
    if not found.diagnostics["converged"]:
        # Attributed to the caller of the estimator's fit.
        warn(found.diagnostics["message"], ConvergenceWarning, stacklevel=4)
    return found
