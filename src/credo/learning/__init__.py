"""Learning what isn't integrated out: precisions by maximum evidence, and whatever needs an optimiser.

`maximize_precisions` finds the prior and noise precision of a Gaussian linear model from its spectrum, at the
global maximum of the evidence and to a stationary point. Optimisers (`scipy.optimize`) live here and in
`inference` only; models hand in numbers, not themselves.
"""

from credo.learning.evidence import (
    Gamma,
    Line,
    Precisions,
    gamma_posterior,
    log_evidence,
    log_evidence_gradient,
    maximize_precisions,
)

__all__ = [
    "Gamma",
    "Line",
    "Precisions",
    "gamma_posterior",
    "log_evidence",
    "log_evidence_gradient",
    "maximize_precisions",
]
