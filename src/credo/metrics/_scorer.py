"""Scores of distributions as scikit-learn scorers."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from numpy.typing import ArrayLike

from credo.metrics._classes import accuracy, brier
from credo.metrics._scores import crps, log_score, predictive, rmse

# The sign makes greater better.
_SCORES = {
    "log_score": (1.0, log_score),
    "crps": (-1.0, crps),
    "rmse": (-1.0, rmse),
    "brier": (-1.0, brier),
    "accuracy": (1.0, accuracy),
}


@dataclass(frozen=True)
class Scorer:
    """A scikit-learn scorer: `scorer(estimator, X, y)`, greater is better.

    Examples
    --------
    >>> from credo import LinearRegression
    >>> from credo.metrics import Scorer
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [0.1, 0.9, 2.1, 2.9, 4.1, 4.9]
    >>> cross_val_score(LinearRegression(), X, y, scoring=Scorer("crps"), cv=2).round(2)
    array([-0.19, -0.19])
    """

    name: str

    def __call__(self, estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The score of a fitted estimator's predictive distributions at X."""
        sign, score = _SCORES[self.name]
        return sign * score(y, predictive(estimator, X), sample_weight=sample_weight)


def scorer(name: str) -> Scorer:
    """A scikit-learn scorer, for `scoring=` in cross_val_score, GridSearchCV and similar functions.

    Parameters
    ----------
    name : {"log_score", "crps", "rmse", "brier", "accuracy"}
        CRPS, RMSE and Brier score are negated, so that greater is better; the last two are for classes.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.linear import BayesianLinearRegression
    >>> from credo.metrics import scorer
    >>> from sklearn.model_selection import cross_val_score
    >>> X = np.arange(12.0)[:, None]
    >>> y = X[:, 0] + np.tile([0.1, -0.1, 0.2], 4)
    >>> scores = cross_val_score(BayesianLinearRegression(), X, y, scoring=scorer("log_score"), cv=3)
    >>> scores.shape
    (3,)
    """
    if name not in _SCORES:
        nearest = get_close_matches(str(name), _SCORES, n=1)
        hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
        raise ValueError(f"scorer takes one of {', '.join(map(repr, _SCORES))}; got {name!r}{hint}")
    return Scorer(name)
