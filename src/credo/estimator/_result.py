"""How a fit ended."""

from __future__ import annotations

from dataclasses import dataclass

from sklearn import exceptions


class FitWarning(UserWarning):
    """The fit succeeded, but with something that the user should know about."""


class ConvergenceWarning(FitWarning, exceptions.ConvergenceWarning):
    """The fit did not converge. Also scikit-learn's warning of that name, so filters for either of them apply."""


@dataclass(frozen=True)
class Result:
    """Outcome of a fit: whether it converged, the number of iterations, and a message.

    If the fit did not converge, the message says what to try next.
    """

    converged: bool
    n_iter: int
    message: str
