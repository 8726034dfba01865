"""Conditioning a latent Gaussian on data.

    prior N(0, K) × likelihood → posterior, ln p(y), ∂ ln p(y)/∂θ

`exact` is for Gaussian noise, with the coefficients of the mean integrated out. Rules that approximate other
likelihoods by Gaussian sites will join it here, with the same signature. Kernels come in as they are; optimisers stand
above, in `learning`.
"""

from credo.inference.exact import Conditioned, Evidence, condition, log_evidence

__all__ = ["Conditioned", "Evidence", "condition", "log_evidence"]
