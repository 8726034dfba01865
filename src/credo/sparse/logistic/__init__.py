"""Logistic models on subsets of the columns, and the posterior over the subsets.

    p(y = 1 | x, γ) = σ(b + Σ_{j∈γ} w_j z_j),    w_j ~ N(0, v),    b ~ N(0, 10²)

with z_j column j, standardized. `Dataset` finds the mode of a model and Laplace's approximation of its evidence;
`enumerate_logistic` evaluates all subsets, and `sample_logistic` samples them; `learned_slab` averages
over the variance v; a `ClassAverage` of modes predicts.
"""

from credo.sparse.logistic._average import ClassAverage
from credo.sparse.logistic._laplace import Dataset, Standard, enumerate_logistic
from credo.sparse.logistic._sampler import sample_logistic
from credo.sparse.logistic._slab import SlabAverage, given_slab, learned_slab

__all__ = [
    "ClassAverage",
    "Dataset",
    "SlabAverage",
    "Standard",
    "enumerate_logistic",
    "given_slab",
    "learned_slab",
    "sample_logistic",
]
