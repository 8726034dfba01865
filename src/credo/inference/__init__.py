"""Conditioning a latent Gaussian on data.

    prior N(0, K) × likelihood → posterior, ln p(y), ∂ ln p(y)/∂θ

`exact` is for Gaussian noise, with the coefficients of the mean integrated out. `laplace`, `ep` and `vi` approximate
each row's likelihood by a Gaussian site (`SiteGaussian`) and differ only in how they choose it; with a Gaussian
likelihood they equal `exact` to rounding error. Each returns an `Approximation`: the distribution of the latent values,
ln p(y), and its derivative with respect to the Gram matrix, from which a kernel computes that by its parameters.
`softmax_laplace` is Laplace for more than two classes. `elliptical_slice` samples latent values, and
`annealed_evidence` estimates ln p(y) by annealed importance sampling. Optimizers are in `learning`.
"""

from credo.inference.ep import ep
from credo.inference.exact import Conditioned, Evidence, condition, log_evidence
from credo.inference.laplace import laplace
from credo.inference.mcmc import Walk, annealed_evidence, elliptical_slice
from credo.inference.sites import Approximation, SiteGaussian
from credo.inference.softmax import SoftmaxApproximation, softmax_laplace
from credo.inference.vi import vi

__all__ = [
    "Approximation",
    "Conditioned",
    "Evidence",
    "SiteGaussian",
    "SoftmaxApproximation",
    "Walk",
    "annealed_evidence",
    "condition",
    "elliptical_slice",
    "ep",
    "laplace",
    "log_evidence",
    "softmax_laplace",
    "vi",
]
