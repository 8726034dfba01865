"""Named parameters: natural units for people, one unconstrained vector for optimisers.

    x = forward(u),    log p(u) = log p(x) + log dx/du

A `Parameter` is a value in its natural units (a number, or a vector such as one length scale a column), the
bijector that maps the real line onto its domain, and perhaps a prior. A `ParameterTree` nests them under
names: `flatten()` gives the vector u of all that is free, `unflatten(u)` gives the tree back, and
`log_prior(u)` its log density and gradient. Everything is immutable; changes give new trees.

Members: `Parameter`, `ParameterTree`, `UnknownParameterError`; the bijectors `Identity`, `Positive`,
`Softplus`, `Interval`, `LogInterval`; the priors `Normal`, `HalfNormal`, `LogNormal`, `Gamma`,
`InverseGamma`, `Uniform`; their bases `Bijector` and `Prior`.

What does not belong here: optimisers and samplers (learning), distributions of predictions (distributions),
and whatever knows what a parameter means.
"""

from credo.params._bijectors import Bijector, Identity, Interval, LogInterval, Positive, Softplus
from credo.params._parameter import Parameter
from credo.params._paths import UnknownParameterError
from credo.params._priors import Gamma, HalfNormal, InverseGamma, LogNormal, Normal, Prior, Uniform
from credo.params._tree import ParameterTree

__all__ = [
    "Bijector",
    "Gamma",
    "HalfNormal",
    "Identity",
    "Interval",
    "InverseGamma",
    "LogInterval",
    "LogNormal",
    "Normal",
    "Parameter",
    "ParameterTree",
    "Positive",
    "Prior",
    "Softplus",
    "Uniform",
    "UnknownParameterError",
]
