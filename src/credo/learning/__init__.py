"""Learning what isn't integrated out in closed form: maximised over, or drawn from its posterior.

    θ̂ = argmax ln p(y | θ) + ln p(θ),    or    θ⁽ˢ⁾ ~ p(θ | y)

Models hand in numbers and a function ``objective(vector) -> value, gradient``, a log density on the unconstrained scale
that is −∞ where it can't be evaluated; never themselves.

- `maximize_precisions` finds the prior and noise precision of a Gaussian linear model from its spectrum (a `Line`), at
  the global maximum of the evidence and to a stationary point: `Precisions`. `log_evidence`, `log_evidence_gradient`,
  `gamma_posterior` and the `Gamma` prior belong to it.
- `highest` finds the top of a function of one number with a slope, by a scan and a root: a `Peak`.
- `hyperparameters` climbs an objective by L-BFGS from several starts, first on a few rows, then on all.
- `sample` draws from an objective by NUTS (extra ``mcmc``), from the overdispersed starts that `scatter` makes, and
  gives `Draws`, which know whether their chains agree.

Optimisers (`scipy.optimize`) live here and in `inference` only. What does not belong here: the models, what a parameter
means (params, kernels), and approximations of the posterior of latent functions (inference).
"""

from credo.learning.draws import Draws
from credo.learning.evidence import (
    Gamma,
    Line,
    Precisions,
    gamma_posterior,
    log_evidence,
    log_evidence_gradient,
    maximize_precisions,
)
from credo.learning.peak import Peak, highest
from credo.learning.sampling import sample, scatter

__all__ = [
    "Draws",
    "Gamma",
    "Line",
    "Peak",
    "Precisions",
    "gamma_posterior",
    "highest",
    "log_evidence",
    "log_evidence_gradient",
    "maximize_precisions",
    "sample",
    "scatter",
]
