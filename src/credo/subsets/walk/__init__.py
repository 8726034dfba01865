"""A walk over models, for more columns than can be enumerated.

    γ → γ with column i flipped,   at the rate (p_i + c) / p(γ_i | γ without i, y),   p_i = p(γ_i = 1 | γ without i, y)

Weighted tempered Gibbs sampling (Zanella & Roberts 2019, "Scalable importance tempering and Bayesian variable
selection"): every step flips a column, one that matters rather than one that doesn't, and a model counts with one over
the sum of its rates. Leaving a model costs about as many steps as it has columns, however much worse its neighbours
are: of two columns that say the same, either can leave and the other take its place.

A summit that is reached only by exchanging several columns at once, through models that are far worse, is found from
below: replicas of the chain walk over the posterior with the fit to a power between one and none, and change places
(parallel tempering, Geyer 1991) by

    min(1, p_β(γ')Z_β(γ') p_β'(γ)Z_β'(γ) / p_β(γ)Z_β(γ) p_β'(γ')Z_β'(γ')),   Z the sum of the rates,

since p_β Z_β is what the steps of a weighted chain are drawn from.

Small models and large ones that are worlds of their own have a level way between them (`_umbrella`).

`walk` is for Gaussian noise, where all neighbours of a model (`neighbours`) follow from one factor (`factors`), by
logarithms and exponentials of many numbers at once (`elementary`). What does not
belong here: priors of coefficients and models, and searches that see every model.
"""

from credo.subsets.walk._walk import walk

__all__ = ["walk"]
