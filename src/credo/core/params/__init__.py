"""Named parameters: values in natural units for users, one unconstrained vector for optimizers.

    x = forward(u),    log p(u) = log p(x) + log dx/du

A `Parameter` has a value in its natural units (a number, or a vector such as one length scale per column), the bijector
that maps the real line onto its domain, and optionally a prior. A `ParameterTree` nests them under names: `flatten()`
returns the vector u of all free parameters, `unflatten(u)` the tree, and `log_prior(u)` the log prior density and its
gradient. Trees are immutable; changes return new trees.

Members: `Parameter`, `ParameterTree`, `UnknownParameterError`; the bijectors `Identity`, `Positive`,
`Interval`, `LogInterval`; the priors `Normal`, `HalfNormal`, `LogNormal`, `Gamma`,
`InverseGamma`, `Uniform`; their bases `Bijector` and `Prior`.

What does not belong here: optimizers and samplers (learning), distributions of predictions (distributions), and the
meaning of a parameter.
"""

from credo.core.params.bijectors import Bijector, Identity, Interval, LogInterval, Positive
from credo.core.params.priors import Gamma, HalfNormal, InverseGamma, LogNormal, Normal, Prior, Uniform
from credo.core.params.tree import Parameter, ParameterTree, UnknownParameterError

__all__ = [
    "Bijector", "Gamma", "HalfNormal", "Identity", "Interval", "InverseGamma", "LogInterval", "LogNormal", "Normal",
    "Parameter", "ParameterTree", "Positive", "Prior", "Uniform", "UnknownParameterError",
]  # fmt: skip
