"""Scores of predicted class probabilities, and scores of distributions as scikit-learn scorers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.core.estimator import predictive
from credo.distributions import Bernoulli, Categorical, Distribution
from credo.metrics._scores import average, crps, log_score, outcomes, rmse

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Forecast:
    """Labels as indices into `classes`, and the probability of each class, of shape (n_samples, n_classes).

    Examples
    --------
    >>> from credo import Categorical
    >>> from credo.metrics import forecast
    >>> found = forecast(["b", "a"], Categorical([[0.2, 0.8], [0.4, 0.6]], classes=["a", "b"]))
    >>> found.codes.tolist(), found.actual, found.predicted.tolist()
    ([1, 0], array([0.8, 0.4]), [1, 1])
    """

    codes: NDArray[np.intp]
    table: Vector
    classes: NDArray[Any]

    @property
    def actual(self) -> Vector:
        """The predicted probability of each row's actual label."""
        return self.table[np.arange(len(self.codes)), self.codes]

    @property
    def predicted(self) -> NDArray[np.intp]:
        """The most probable class of each row; the first if several are equal."""
        return self.table.argmax(axis=1)

    @property
    def event(self) -> tuple[Vector, NDArray[np.bool_]]:
        """The probability of an event, and whether it occurred.

        With two classes the event is the second one; with more, that the most probable class is the actual one.
        """
        if len(self.classes) == 2:
            return self.table[:, 1], self.codes == 1
        return self.table.max(axis=1), self.predicted == self.codes


def forecast(y: ArrayLike, dist: Distribution) -> Forecast:
    """Labels with their probabilities under a Bernoulli or Categorical.

    Examples
    --------
    >>> from credo.distributions import Categorical
    >>> from credo.metrics import forecast
    >>> found = forecast(["b", "a"], Categorical([[0.2, 0.8], [0.6, 0.4]], classes=["a", "b"]))
    >>> found.actual
    array([0.8, 0.6])
    """
    values = outcomes(y, dist)
    if isinstance(dist, Bernoulli):
        table, classes = np.column_stack([1.0 - dist.probs, dist.probs]), np.array([0, 1])
    elif isinstance(dist, Categorical):
        table, classes = dist.probs, dist.classes
    else:
        raise TypeError(f"class probabilities must be a Bernoulli or a Categorical; got a {type(dist).__name__}")
    place = {label: i for i, label in enumerate(classes.tolist())}
    codes = np.empty(len(values), dtype=np.intp)
    for row, label in enumerate(values.tolist()):
        if label not in place:
            known = ", ".join(map(repr, classes.tolist()[:10]))
            raise ValueError(f"y[{row}] is {label!r}, which is not among the classes {known}")
        codes[row] = place[label]
    return Forecast(codes, table, classes)


def brier(y: ArrayLike, dist: Distribution, *, sample_weight: ArrayLike | None = None) -> float:
    """Mean squared error of the class probabilities; lower is better.

    With two classes (p − 1{y = second})², between 0 and 1; with more, Σₖ (pₖ − 1{y = k})², between 0 and 2 (Brier
    1950).

    Parameters
    ----------
    y : array of shape (n_samples,)
    dist : Bernoulli or Categorical with n_samples rows
    sample_weight : array of shape (n_samples,), optional

    Examples
    --------
    >>> from credo.distributions import Categorical
    >>> from credo.metrics import brier
    >>> round(brier(["a", "b"], Categorical([[0.9, 0.1], [0.4, 0.6]], classes=["a", "b"])), 3)
    0.085
    """
    found = forecast(y, dist)
    hits = np.eye(len(found.classes))[found.codes]
    squares = np.square(found.table - hits).sum(axis=1)
    return average(squares / 2 if len(found.classes) == 2 else squares, sample_weight)


def rps(
    y: ArrayLike,
    dist: Distribution,
    *,
    order: Sequence[Any] | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Mean ranked probability score of classes on a scale, such as low, medium and high; lower is better.

    Σₖ (P(Y ≤ k) − 1{y ≤ k})² over the levels k of the scale (Epstein 1969): the CRPS of the numbers of the levels. A
    certain prediction that is wrong by d levels costs d, so that near misses cost less than with the Brier score.

    Parameters
    ----------
    y : array of shape (n_samples,)
    dist : Bernoulli or Categorical with n_samples rows
    order : sequence, optional
        All classes from the lowest to the highest; by default those of the distribution, in its order.
    sample_weight : array of shape (n_samples,), optional

    Examples
    --------
    >>> from credo.distributions import Categorical
    >>> from credo.metrics import rps
    >>> sure = Categorical([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], classes=["low", "medium", "high"])
    >>> rps(["medium", "high"], sure)
    1.5
    """
    found = forecast(y, dist)
    place = {label: i for i, label in enumerate(found.classes.tolist())}
    levels = list(place) if order is None else list(order)
    if len(set(levels)) < len(levels) or not place.keys() <= set(levels):
        raise ValueError(
            f"order must name each class once, from the lowest to the highest; the classes are "
            f"{', '.join(map(repr, place))}, and order is {levels!r}"
        )
    columns = [place[level] for level in levels if level in place]
    below, actual = np.cumsum(found.table[:, columns], axis=1), np.eye(len(place))[found.codes][:, columns]
    # Levels that have no probability repeat the difference of the level before.
    width = np.diff([levels.index(level) for level in levels if level in place], append=len(levels) - 1)
    return average((below - np.cumsum(actual, axis=1)) ** 2 @ width, sample_weight)


def accuracy(y: ArrayLike, dist: Distribution, *, sample_weight: ArrayLike | None = None) -> float:
    """Share of the rows whose most probable class is the actual one.

    Parameters
    ----------
    y : array of shape (n_samples,)
    dist : Bernoulli or Categorical with n_samples rows
    sample_weight : array of shape (n_samples,), optional

    Examples
    --------
    >>> from credo.distributions import Bernoulli
    >>> from credo.metrics import accuracy
    >>> round(accuracy([1, 0, 1], Bernoulli([0.9, 0.2, 0.4])), 3)
    0.667
    """
    found = forecast(y, dist)
    return average(found.predicted == found.codes, sample_weight)


def calibration_error(y: ArrayLike, dist: Distribution) -> float:
    """Mean difference between predicted probabilities and observed frequencies.

    Rows are put into ten groups of about equal size by the probability of an event (fewer below 200 rows): with two
    classes the second one, with more that the most probable one is correct. The result is
    ``Σ (rows of a group / n) |mean probability − share of events|``. It is not zero for calibrated probabilities: by
    chance a group of m rows differs by about √(p(1 − p)/m).

    Parameters
    ----------
    y : array of shape (n_samples,)
    dist : Bernoulli or Categorical with n_samples rows

    Examples
    --------
    >>> from credo.distributions import Bernoulli
    >>> from credo.metrics import calibration_error
    >>> calibration_error([1, 1, 1, 0], Bernoulli([0.5, 0.5, 0.5, 0.5]))
    0.25
    """
    predicted, happened = forecast(y, dist).event
    group = groups(predicted)
    return float(np.abs(np.bincount(group, weights=happened - predicted)).sum() / len(group))


def groups(predicted: Vector) -> NDArray[np.intp]:
    """The group of each row, by its probability; rows of equal probability stay together.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.metrics import groups
    >>> groups(np.array([0.1, 0.1, 0.9])).tolist()
    [0, 0, 0]
    """
    n_groups = min(10, max(1, len(predicted) // 20))
    ends = np.quantile(predicted, np.arange(1, n_groups) / n_groups)
    return np.searchsorted(np.unique(ends), predicted, side="right")


# The sign makes greater better.
_SCORES = {
    "log_score": (1.0, log_score),
    "crps": (-1.0, crps),
    "rmse": (-1.0, rmse),
    "brier": (-1.0, brier),
    "rps": (-1.0, rps),
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
    name : {"log_score", "crps", "rmse", "brier", "rps", "accuracy"}
        CRPS, RMSE, Brier and ranked probability score are negated, so that greater is better; the last three are for
        classes, and rps for those whose order by number or alphabet is a scale.

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
