"""Optimization and sampling: parameters by maximum evidence, or drawn from their posterior.

    θ̂ = argmax ln p(y | θ) + ln p(θ),    or    θ⁽ˢ⁾ ~ p(θ | y)

Functions here take numbers and an ``objective(vector) -> value, gradient``, a log density on the unconstrained scale
that is −∞ if it can't be evaluated; never a model.

- `maximize_precisions` finds the prior and noise precision of a Gaussian linear model at the global maximum of the
  evidence (`Precisions`), from its `EvidenceTerms`. `log_evidence`, `log_evidence_gradient`, `gamma_posterior` and the
  `Gamma` prior belong to it.
- `integrate_precisions` integrates them out instead: a `PrecisionMixture` of a few values of their ratio.
- `maximize_scalar` finds the global maximum of a function of one variable from its derivative, by a scan and root
  finding: a `Peak`.
- `ascent` maximizes an objective from one starting point, by L-BFGS or by Fisher scoring, and `hyperparameters` from
  several, first on a few rows, then on all.
- `sample` draws from an objective by NUTS (extra ``mcmc``), from the overdispersed starting points of `scatter`, and
  returns `Draws` with convergence diagnostics.
- `em` runs EM from several starts, and selects the number of components by BIC.
- `stacking_weights` finds the weights of a mixture that maximize the log density of held-out outcomes.
- `integrate` averages over a few weighted points around the mode of an objective.
- `spectrum` decomposes centered data into a `Spectrum`, given which every ridge penalty and prior precision costs O(p);
  `Posterior` is that of the coefficients. `Penalty`, `penalties`, `loo_squares` and `residual_noise` choose the penalty
  of ridge regression on columns and on kernels.

Optimizers (`scipy.optimize`) are used here and in `inference` only. What does not belong here: the models, what a
parameter means (params, kernels), and approximations of the posterior of latent functions (inference).
"""

from credo.core.learning.ascent import Peak, maximize_scalar
from credo.core.learning.integration import Integral, integrate
from credo.core.learning.linear_posterior import Penalty as Penalty
from credo.core.learning.linear_posterior import Posterior as Posterior
from credo.core.learning.linear_posterior import loo_squares as loo_squares
from credo.core.learning.linear_posterior import penalties, residual_noise
from credo.core.learning.precisions import (
    EvidenceTerms,
    Gamma,
    PrecisionMixture,
    Precisions,
    gamma_posterior,
    integrate_precisions,
    log_evidence,
    log_evidence_gradient,
    maximize_precisions,
)
from credo.core.learning.sampling import Draws, sample, scatter
from credo.core.learning.spectrum import Spectrum as Spectrum
from credo.core.learning.spectrum import spectrum as spectrum
from credo.core.learning.stacking import stacking_weights

__all__ = [
    "Draws",
    "EvidenceTerms",
    "Gamma",
    "Integral",
    "Peak",
    "PrecisionMixture",
    "Precisions",
    "gamma_posterior",
    "integrate",
    "integrate_precisions",
    "log_evidence",
    "log_evidence_gradient",
    "maximize_precisions",
    "maximize_scalar",
    "penalties",
    "residual_noise",
    "sample",
    "scatter",
    "stacking_weights",
]  # fmt: skip
