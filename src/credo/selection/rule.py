"""The selection rule: the simplest model that is within one standard error of the best.

The best model has the highest mean log score on held-out rows; in a study it is usually the average of all models. A
model is tied with it if it is worse by at most one standard error of the paired differences between the rows, both in
log score and in squared error (for classes, the Brier score of a row). The first tied model in the given order, from
simple to complex, is selected. The baseline, the naive forecast and averages are candidates like any other.

Both scores are needed: a few rows of very low density make the standard error of the log score so large that a model
with twice the error would be tied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.core.wording import capital, listing, spelled

Array = NDArray[np.float64]

BASELINE = "baseline"
# The forecast by the last value, for rows in time order.
NAIVE = "naive"


@dataclass(frozen=True)
class Gap:
    """Mean difference of held-out scores, first − second, with its standard error over the rows.

    Examples
    --------
    >>> from credo.selection import Gap
    >>> Gap(mean=0.12, error=0.02).clear, Gap(mean=0.01, error=0.02).clear
    (True, False)
    """

    mean: float
    error: float

    @property
    def clear(self) -> bool:
        """Whether the difference is larger than two standard errors, which chance exceeds about once in 20 times.

        An infinite difference is clear too: one of the models gave an outcome probability zero.

        >>> Gap(0.30, 0.16).clear, Gap(0.35, 0.16).clear, Gap(float("inf"), float("nan")).clear
        (False, True, True)
        """
        return abs(self.mean) == np.inf or abs(self.mean) > 2 * self.error


def gap(first: Array, second: Array, weight: Array | None = None) -> Gap:
    """The paired difference between the scores of the same rows: their weighted mean.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.selection import gap
    >>> found = gap(np.array([1.0, 3.0, 2.0]), np.array([0.0, 1.0, 2.0]))
    >>> found.mean, round(found.error, 4)
    (1.0, 0.5774)
    """
    difference = np.zeros(len(first))
    np.subtract(first, second, out=difference, where=first != second)
    n = len(difference)
    share = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
    with np.errstate(invalid="ignore"):
        mean = float(share @ difference)
        error = float(np.sqrt(n / (n - 1) * np.sum((share * (difference - mean)) ** 2))) if n > 1 else float("nan")
    return Gap(mean, error)


class Candidate(NamedTuple):
    """A model's held-out log scores and squared errors (of classes, Brier scores), row by row."""

    name: str
    log_score: Array
    error: Array
    weight: Array | None = None

    def ties(self, best: Candidate) -> bool:
        """Whether it is worse by at most one standard error in both scores."""
        losses = gap(best.log_score, self.log_score, self.weight), gap(self.error, best.error, self.weight)
        return all(loss.mean <= 0 or loss.mean <= loss.error for loss in losses)


@dataclass(frozen=True)
class Selection:
    """The model to use, the models that are statistically tied with the best, and why.

    Examples
    --------
    >>> import numpy as np
    >>> from credo import BayesianLinearRegression, LinearRegression, compare
    >>> X = np.arange(20.0)[:, None]
    >>> y = 3 * X[:, 0] + np.tile([0.1, -0.2, 0.3, -0.1], 5)
    >>> models = {"line": LinearRegression(), "bayes": BayesianLinearRegression()}
    >>> comparison = compare(models, X, y, cv=4, random_state=0)
    >>> comparison.selection.name, comparison.selection.reason
    ('line', 'Selected: line. Two models are statistically tied (line and bayes); it is the simplest.')
    """

    name: str
    tied: Sequence[str]
    why: str

    @property
    def reason(self) -> str:
        """The selected model and why, in a sentence or two."""
        return f"Selected: {self.name}. {self.why}"


def select(candidates: Sequence[Candidate]) -> Selection:
    """Select one of the candidates, which are ordered from simple to complex."""
    best = max(candidates, key=lambda one: float(np.average(one.log_score, weights=one.weight)))
    tied = [one.name for one in candidates if one is best or one.ties(best)]
    if len(candidates) == 1:
        why = "It is the only model."
    elif tied == [best.name]:
        why = "It has the best held-out log score, and no simpler model is within one standard error of it."
    elif tied[0] == BASELINE:
        why = "No model predicts better than the baseline, which uses no input, by more than one standard error."
    else:
        names = f" ({listing(tied)})" if len(tied) <= 4 else ""
        better = f", and {best.name} has the best score" if len(tied) > 4 and best.name != tied[0] else ""
        simplest = f"{tied[0]} is the simplest" if better else "it is the simplest"
        why = f"{capital(spelled(len(tied)))} models are statistically tied{names}; {simplest}{better}."
    return Selection(tied[0], tied, why)
