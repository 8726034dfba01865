"""Logistic models on subsets of the columns, and the posterior over the subsets.

    p(y = 1 | x, γ) = σ(b + Σ_{j∈γ} w_j z_j),    w_j ~ N(0, v),    b ~ N(0, 10²)

with z_j column j, standardized. `Dataset` finds the mode of a model and Laplace's approximation of its evidence;
`enumerate_logistic` evaluates all subsets, and `sample_logistic` samples them.
"""
