"""The Bayesian information criterion and the description length of a fitted model."""

from __future__ import annotations

import math
from typing import Any

from credo.metrics import final_step


def bic(model: Any) -> float:
    """Schwarz's criterion −2 ln p(y | X, θ̂) + k ln n of a fitted model; smaller is better.

    −½ BIC approximates the log evidence of a model with k free parameters, up to a term that doesn't grow with n
    (Schwarz 1978). θ̂ should be the maximum likelihood estimate, or close to it: a strong penalty makes the criterion
    too large.

    Parameters
    ----------
    model : fitted estimator
        With `log_likelihood_`, `n_parameters_` and `n_observations_`; also inside a Pipeline or a fitted search.

    Examples
    --------
    >>> from credo.linear import LinearRegression
    >>> from credo.selection import bic
    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0], [3.0]], [1.1, 2.9, 5.2, 6.8])
    >>> round(bic(model), 2)
    -0.04
    """
    fitted = final_step(model)
    if not has_likelihood(fitted):
        raise TypeError(
            f"{type(fitted).__name__} has no log_likelihood_ with n_parameters_ and n_observations_: use a "
            "maximum likelihood model, such as LinearRegression or LogisticRegression"
        )
    return -2.0 * float(fitted.log_likelihood_) + float(fitted.n_parameters_) * math.log(fitted.n_observations_)


def description_length(model: Any) -> float:
    """Two-part description length: the bits that encode the parameters, and then the targets given them.

        −log₂ p(y | X, θ̂) + (k/2) log₂ n  =  bic / (2 ln 2)                          (Rissanen 1978)

    A parameter is encoded to a precision of 1/√n, its standard error up to a constant: ½ log₂ n bits. For labels the
    first term is the length of their code; for numbers it is so up to a constant that depends on their unit.

    Parameters
    ----------
    model : fitted estimator, as for `bic`

    Examples
    --------
    >>> from credo.linear import LogisticRegression
    >>> from credo.selection import description_length
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], ["a", "b", "a", "b"])
    >>> round(description_length(model), 2)  # four labels, encoded one by one, take 4 bits
    5.39
    """
    return bic(model) / (2.0 * math.log(2.0))


def has_likelihood(model: Any) -> bool:
    """Whether a fitted model has a likelihood and counts of parameters and observations."""
    return hasattr(final_step(model), "log_likelihood_")
