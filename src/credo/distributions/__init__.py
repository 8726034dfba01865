"""Predictive distributions, vectorized over rows.

    y_i ~ F_i,   i = 1, …, n_rows

A distribution of n rows has `mean`, `std` and `var` of shape (n,), `quantile(q)`, `interval(level)`, `cdf(y)`,
`log_prob(y)`, `crps(y)`, `sample(n)` of shape (n_draws, n_rows), `len()`, `[rows]` and `to_frame()`. It is immutable,
validates its arguments, and is accurate in the tails. A scale of exactly zero is a point mass.

Members: `Distribution` (the base class), `Normal`, `StudentT`, `Bernoulli`, `Categorical`, `Mixture`, `Empirical`,
`TabulatedScale` (one `Tabulated` distribution, shifted and scaled for each row), `PoissonLogNormal` (counts whose log
rate is normal); `t_variance`, the variance of Student's t; `Transformed`, the distribution of y if a `Transform` of y
(`Log`, `BoxCox`, `YeoJohnson`, `Identity`, `LinearTails`) has a given one; `Limited`, that of the possible value
nearest to a number, for the `Support` of counts, amounts and shares; `Recalibrated`, whose cdf is corrected by a
monotone map; `GivenGroup`, given other outcomes of the same group; `Affine`, shifted and stretched; `RightCensored`,
what is observed of a time until an event; and `MultivariateNormal`, a joint distribution with marginals, conditionals,
affine maps and sums.

What doesn't belong here: scores averaged over a data set (`credo.metrics`), likelihoods (`credo.likelihoods`), priors
(`credo.core.params`).
"""

from credo.distributions._affine import Affine
from credo.distributions._censored import RightCensored
from credo.distributions._discrete import Bernoulli, Categorical, Empirical
from credo.distributions._limited import REAL_LINE as REAL_LINE
from credo.distributions._limited import Limited, Support
from credo.distributions._mixture import Mixture
from credo.distributions._multivariate_normal import MultivariateNormal
from credo.distributions._normal import Normal
from credo.distributions._poisson_log_normal import PoissonLogNormal
from credo.distributions._recalibrated import GivenGroup, Recalibrated
from credo.distributions._transform import BoxCox, Identity, LinearTails, Log, Transform, YeoJohnson
from credo.distributions._transformed import Transformed
from credo.distributions.distribution import Distribution
from credo.distributions.student_t import StudentT, t_variance
from credo.distributions.tabulated import Tabulated, TabulatedScale

__all__ = [
    "Affine", "Bernoulli", "BoxCox", "Categorical", "Distribution", "Empirical", "GivenGroup", "Identity", "Limited",
    "LinearTails", "Log", "Mixture", "MultivariateNormal", "Normal", "PoissonLogNormal", "Recalibrated",
    "RightCensored", "StudentT", "Support", "Tabulated", "TabulatedScale", "Transform", "Transformed", "YeoJohnson",
    "t_variance",
]  # fmt: skip
