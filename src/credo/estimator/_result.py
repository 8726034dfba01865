"""How a fit ended."""

from dataclasses import dataclass


class FitWarning(UserWarning):
    """The fit gave an answer, and there is something about it that its user should know."""


@dataclass(frozen=True)
class Result:
    """How a fit ended: whether it converged, after how many steps, and a sentence.

    The message of a fit that did not converge says what to try next.
    """

    converged: bool
    n_iter: int
    message: str
