"""How an observation depends on the latent value behind it: p(y | f), one latent value for each row.

    log_prob(y, f)             ln p(y | f)
    derivatives(y, f)          its first three derivatives by f
    tilted(y, mean, var)       ln Z = ln ∫ p(y | f) N(f | mean, var) df and its first two derivatives by the mean
    expected(y, mean, var)     ∫ ln p(y | f) N(f | mean, var) df and its derivatives by mean and variance

Laplace asks for derivatives, expectation propagation for tilted moments, variational inference for expectations; a
likelihood that answers all three works with every rule of `inference`.

Members: `Gaussian`, with which every rule is exact, and `Bernoulli` with a logit or a probit link, for labels −1 and
+1; `Tempered` raises one to a power; the module `moderated` averages class probabilities over log odds that are
normal. What does not belong here: kernels, priors, the rules themselves, and the softmax
of several latent values, which lives with its rule.
"""

from credo.likelihoods._likelihood import Likelihood
from credo.likelihoods.bernoulli import Bernoulli
from credo.likelihoods.gaussian import Gaussian
from credo.likelihoods.tempered import Tempered

__all__ = ["Bernoulli", "Gaussian", "Likelihood", "Tempered"]
