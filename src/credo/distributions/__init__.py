"""What predictions are: distributions, vectorised over rows.

    y_i ~ F_i,   i = 1, …, n_rows

A distribution of n rows has `mean`, `std` and `var` of shape (n,), `quantile(q)`, `interval(level)`,
`cdf(y)`, `log_prob(y)`, `crps(y)`, `sample(n)` of shape (n_draws, n_rows), `len()`, `[rows]` and
`to_frame()`. It is immutable, checks what it is given, works in logs and keeps its digits in the tails. A
scale of exactly zero is a point mass.

Members: `Distribution` (the contract), `Normal`, `StudentT`, `Bernoulli`, `Categorical`, `Mixture`,
`Empirical`; `t_variance`, the variance of Student's t; `Transformed`, the distribution of y where a `Transform` of y
(`Log`, `BoxCox`, `YeoJohnson`, `Identity`) has a given one; and `MultivariateNormal`, which is joint over its
coordinates: marginals, conditionals, affine maps, sums.

What doesn't belong here: scores averaged over a data set (`credo.metrics`), likelihoods with parameters to
learn (`credo.likelihoods`), priors (`credo.params`).
"""

from credo.distributions._bernoulli import Bernoulli
from credo.distributions._categorical import Categorical
from credo.distributions._distribution import Distribution
from credo.distributions._empirical import Empirical
from credo.distributions._mixture import Mixture
from credo.distributions._multivariate_normal import MultivariateNormal
from credo.distributions._normal import Normal
from credo.distributions._student_t import StudentT, t_variance
from credo.distributions._transform import BoxCox, Identity, Log, Transform, YeoJohnson
from credo.distributions._transformed import Transformed

__all__ = [
    "Bernoulli",
    "BoxCox",
    "Categorical",
    "Distribution",
    "Empirical",
    "Identity",
    "Log",
    "Mixture",
    "MultivariateNormal",
    "Normal",
    "StudentT",
    "Transform",
    "Transformed",
    "YeoJohnson",
    "t_variance",
]
