"""Conditioning a latent Gaussian on data.

    prior N(0, K) × likelihood → posterior, ln p(y), ∂ ln p(y)/∂θ

Two things can be chosen independently (`protocols` has the contract between them):

- the representation of the covariance: `Dense`, every covariance in one matrix; `Inducing`, those with a few inducing
  points; `StateSpace`, the states of a Markov process, for one column; `Vecchia`, those with a few neighbors.
  `InducingFeatures` sums over rows that needn't be in one place, and `SummaryPosterior` is the process given the sums.
  `representation(method, X, kernel)` looks it up by name, `choose` resolves "auto", and `cost_remark` says whether
  another takes much less time.
- the inference: `prior.observe` is exact for Gaussian noise, or a bound with inducing points, with the coefficients
  of the mean integrated out. `laplace`, `ep` and `vi` approximate each row's likelihood by a Gaussian site and differ
  only in how they choose it; with a Gaussian likelihood they equal the exact result to rounding error.
  `softmax_laplace` is Laplace for more than two classes. `elliptical_slice` samples latent values.

What does not belong here: the search for hyperparameters, which is in `learning`, and estimators.
"""

from credo.core.inference.dense import Dense
from credo.core.inference.inducing import Inducing, SummaryPosterior, default_points
from credo.core.inference.inducing_sums import InducingFeatures, InducingSummary
from credo.core.inference.mcmc import elliptical_slice
from credo.core.inference.paths import Paths
from credo.core.inference.protocols import (
    Approximation,
    Basis,
    Gradient,
    HasInformation,
    LatentPosterior,
    LatentPrior,
    ObservedPosterior,
    Representation,
    SitePosterior,
    no_basis,
)
from credo.core.inference.representations import REPRESENTATIONS, choose, cost_remark, representation
from credo.core.inference.site_updates import AndersonAcceleration, ep, laplace, vi
from credo.core.inference.softmax import SoftmaxApproximation, softmax_laplace
from credo.core.inference.state_space import StateSpace
from credo.core.inference.vecchia import Vecchia

__all__ = [
    "REPRESENTATIONS",
    "AndersonAcceleration",
    "Approximation",
    "Basis",
    "Dense",
    "Gradient",
    "HasInformation",
    "Inducing",
    "InducingFeatures",
    "InducingSummary",
    "LatentPosterior",
    "LatentPrior",
    "ObservedPosterior",
    "Paths",
    "Representation",
    "SitePosterior",
    "SoftmaxApproximation",
    "StateSpace",
    "SummaryPosterior",
    "Vecchia",
    "choose",
    "cost_remark",
    "default_points",
    "elliptical_slice",
    "ep",
    "laplace",
    "no_basis",
    "representation",
    "softmax_laplace",
    "vi",
]
