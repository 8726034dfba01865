"""Likelihoods p(y | f) of an observation given a latent value, one for each row.

    log_prob(y, f)             ln p(y | f)
    derivatives(y, f)          its first three derivatives by f
    tilted(y, mean, var)       ln Z = ln ∫ p(y | f) N(f | mean, var) df and its first two derivatives by the mean
    expected(y, mean, var)     ∫ ln p(y | f) N(f | mean, var) df and its derivatives by mean and variance

The Laplace approximation needs derivatives, expectation propagation tilted moments, variational inference expectations;
a likelihood with all three works with every method of `inference`.

Members: `Gaussian`, for which every method is exact; `StudentT`, whose outliers have little influence; `Bernoulli` with
a logit or a probit link, for labels −1 and +1; `Poisson` with a log link, for counts; `NegativeBinomial`, `Gamma` and
`Beta`, for dispersed counts, positive numbers and shares; `Ordinal`, for ordered classes; `ZeroTruncated`, for counts
above zero; `LogNormal` and `Weibull`, for times until an event, of which some are right-censored; `Tempered` raises a
likelihood to a power; `expected_sigmoid` is E σ(f) for a normal f, to rounding error, and `expected_sigmoid_fast` the
same to 2·10⁻⁹; the module `bernoulli` averages class probabilities over normally distributed log odds, and `Marginal`
is the distribution of y for a normal f. What does not belong here: kernels, priors, inference methods, and the softmax
of several latent values, which is in `inference`.
"""

from credo.likelihoods._likelihood import Gaussian, Likelihood, Poisson, Tempered
from credo.likelihoods.bernoulli import Bernoulli, expected_sigmoid, expected_sigmoid_fast
from credo.likelihoods.dispersed import Beta, Gamma, NegativeBinomial, ZeroTruncated
from credo.likelihoods.marginal import Marginal
from credo.likelihoods.ordinal import Ordinal
from credo.likelihoods.student_t import StudentT
from credo.likelihoods.survival import LogNormal, Weibull

__all__ = [
    "Bernoulli", "Beta", "Gamma", "Gaussian", "Likelihood", "LogNormal", "Marginal", "NegativeBinomial", "Ordinal",
    "Poisson", "StudentT", "Tempered", "Weibull", "ZeroTruncated", "expected_sigmoid", "expected_sigmoid_fast",
]  # fmt: skip
