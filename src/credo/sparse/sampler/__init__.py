"""MCMC over models, for more columns than can be enumerated.

    γ → γ with column i flipped,   at the rate (p_i + c) / p(γ_i | γ without i, y),   p_i = p(γ_i = 1 | γ without i, y)

Weighted tempered Gibbs sampling (Zanella & Roberts 2019, "Scalable importance tempering and Bayesian variable
selection"): every step flips a column, and a model counts with one over the sum of its rates. Leaving a model takes
about as many steps as it has columns, however much worse its neighbours are; so of two columns that carry the same
information, either can leave and the other take its place.

Modes that differ by several columns are connected by parallel tempering (Geyer 1991): replicas sample p_β(γ), which
has the likelihood to a power β between one and zero, and swap.

`_factors_jit` updates the QR factor of a model, `_neighbours_jit` evaluates all its neighbours, `_gibbs_jit` takes the
steps, `Chain` runs them; `_trace` and `_convergence` combine several chains, also those over logistic models.
"""

from credo.sparse.sampler._sample import sample_models

__all__ = ["sample_models"]
