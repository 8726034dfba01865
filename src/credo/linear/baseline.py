"""Predictions without any column, which every other model should beat, and the naive forecast of a series."""

from __future__ import annotations

from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from credo.core.estimator import Classifier, Estimator, Regressor, Result, nonnegative_integer, positive, unmasked
from credo.core.fields import Axes, Finite, Increasing, Indices, NonNegative, Positive
from credo.core.frames import Table
from credo.distributions import StudentT

Array = NDArray[np.float64]


class _IgnoresColumns(Estimator):
    """An estimator that uses only the number of rows of X."""

    _equation = "y doesn't depend on x"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.no_validation = True
        tags.input_tags.sparse = tags.input_tags.allow_nan = tags.input_tags.string = True
        for kind in (tags.regressor_tags, tags.classifier_tags):
            if kind is not None:
                kind.poor_score = True
        return tags

    def _predict_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return _blank(X)

    def _take_columns(self, X: Any) -> None:
        """Take over the number and names of the columns of X, after a fit to `_blank(X)`."""
        del self.n_features_in_
        validate_data(self, X, skip_check_array=True)
        self._take_names(X)


def _blank(X: Any) -> Array:
    return np.zeros((_num_samples(unmasked(X, name="X")), 1))


class BaselineRegressor(_IgnoresColumns, Regressor):
    """Always the mean of the training targets, with their spread as its uncertainty.

        y | y₁ … yₙ ~ t(n − 1, ȳ, s √(1 + 1/n)),   and for the mean itself t(n − 1, ȳ, s / √n)

    Equivalent to `LinearRegression` without columns. X is not used.

    Attributes
    ----------
    mean_, std_ : float
        Mean and standard deviation (n − 1 in the denominator) of the targets.
    n_observations_ : float

    Examples
    --------
    >>> from credo.linear import BaselineRegressor
    >>> model = BaselineRegressor().fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 3.0])
    >>> model.predict([[100.0]])
    array([2.])
    """

    mean_: float
    std_: float
    n_observations_: float

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the mean and the spread of y."""
        rows, target, weight = self._training_rows(_blank(X), y, sample_weight)
        weight = np.ones(rows.shape[0]) if weight is None else weight
        self.n_observations_ = float(weight.sum())
        if self.n_observations_ <= 1:
            raise ValueError(f"a spread needs more than one observation; got n_samples = {self.n_observations_:g}")
        self.mean_ = float(np.average(target, weights=weight))
        left = target - self.mean_
        self.std_ = float(np.sqrt(weight @ left**2 / (self.n_observations_ - 1)))
        self._take_columns(X)
        self.result_ = Result(True, 1, "converged (closed form)")
        return self

    def summary(self, *, level: float = 0.95) -> Table:
        """Mean and spread of the targets."""
        check_is_fitted(self)
        error = self.std_ / np.sqrt(self.n_observations_)
        lower, upper = StudentT([self.n_observations_ - 1], [self.mean_], [error]).interval(level)
        columns: dict[str, list[Any]] = {
            "parameter": ["mean", "standard deviation"],
            "estimate": [self.mean_, self.std_],
            "sd": [float(error), None],
            "lower": [float(lower[0]), None],
            "upper": [float(upper[0]), None],
        }
        return Table("Baseline: always the mean", columns)

    _title = "Always the mean"

    def _mean(self, rows: Any) -> Array:
        return np.full(rows.shape[0], self.mean_)

    def _dist(self, rows: Any, *, latent: bool) -> StudentT:
        n, m = rows.shape[0], self.n_observations_
        factor = np.sqrt(1 / m) if latent else np.sqrt(1 + 1 / m)
        return StudentT(np.full(n, m - 1), self._mean(rows), np.full(n, self.std_ * factor))


class BaselineClassifier(_IgnoresColumns, Classifier):
    """The frequencies of the classes among the training rows, by Laplace's rule: (nₖ + 1)/(n + K).

    That is the posterior mean under a uniform prior on the frequencies. X is not used.

    Attributes
    ----------
    probabilities_ : array of shape (n_classes,)

    Examples
    --------
    >>> from credo.linear import BaselineClassifier
    >>> model = BaselineClassifier().fit([[0.0], [1.0], [2.0]], ["a", "a", "b"])
    >>> model.predict_proba([[100.0]])
    array([[0.6, 0.4]])
    """

    probabilities_: Annotated[Array, Axes("c")]

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Count the classes."""
        _, codes, weight = self._training_rows(_blank(X), y, sample_weight)
        counts = np.bincount(codes, weight, minlength=len(self.classes_))
        self.probabilities_ = (counts + 1.0) / (counts.sum() + len(counts))
        self._take_columns(X)
        self.result_ = Result(True, 1, "converged (closed form)")
        return self

    def summary(self, *, level: float = 0.95) -> Table:
        """The probability of each class."""
        check_is_fitted(self)
        names = [str(label) for label in self.classes_.tolist()]
        return Table("Baseline: the class frequencies", {"parameter": names, "estimate": self.probabilities_.tolist()})

    _title = "Always the class frequencies"

    def _probabilities(self, rows: Any) -> Array:
        return np.tile(self.probabilities_, (rows.shape[0], 1))


class NaiveForecast(Regressor):
    """The last value before a time, or that of the last season, with the growing uncertainty of a random walk.

        y(t) | y(s) ~ t(m, y(s), σ √(t − s)),    σ² = (1/m) Σ (yᵢ₊₁ − yᵢ)² / (tᵢ₊₁ − tᵢ)

    s is the last time before t. With a `period` P, s is the last time before t, and not after the last training row,
    that differs from t by a whole number k of periods, and the scale is σ √k with σ² the mean square of the differences
    between values one period apart. Values of one time are averaged. Other columns are not used.

    Parameters
    ----------
    time : int, default 0
        The column of times.
    period : float, optional
        The length of a season, in the unit of that column.

    Attributes
    ----------
    times_, values_ : arrays of the distinct times and their mean values
    step_std_ : float
        σ, the standard deviation of the change in one unit of time, or from one season to the next.
    n_steps_ : int
        m, the number of differences.

    Examples
    --------
    >>> from credo import NaiveForecast
    >>> model = NaiveForecast().fit([[0.0], [1.0], [2.0], [3.0], [4.0]], [5.0, 6.0, 5.0, 6.0, 5.0])
    >>> model.predict([[5.0], [8.0]])
    array([5., 5.])
    >>> model.predict_dist([[5.0], [8.0]]).std.round(1)  # twice as wide, four times as far ahead
    array([1.4, 2.8])
    """

    time: Annotated[int, Indices("d")]
    period: Annotated[float | None, Finite, Positive]
    times_: Annotated[Array, Axes("n"), Increasing]
    values_: Annotated[Array, Axes("n")]
    step_std_: Annotated[float, Finite, NonNegative]
    n_steps_: Annotated[int, Positive]

    _equation = "y(t) = y(last) + noise that grows with t"

    def __init__(self, time: int = 0, *, period: float | None = None) -> None:
        self.time = time
        self.period = period

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if tags.regressor_tags is not None:
            tags.regressor_tags.poor_score = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Store the series and estimate how much it changes."""
        rows, target, weight = self._training_rows(X, y, sample_weight)
        weight = np.ones(len(target)) if weight is None else weight
        column = nonnegative_integer("time", self.time)
        if column >= rows.shape[1]:
            raise ValueError(f"time is column {column}, and X has {rows.shape[1]} columns")
        if self.period is not None:
            positive("period", self.period)
        rows, target, weight = rows[weight > 0], target[weight > 0], weight[weight > 0]
        self.times_, group = np.unique(rows[:, self.time], return_inverse=True)
        counts = np.bincount(group, weight)
        self.values_ = np.bincount(group, weight * target) / counts
        squares = self._squares()
        self.n_steps_ = len(squares)
        if not self.n_steps_:
            # A single time, or less than a season: the spread of the values.
            n = float(weight.sum())
            if n <= 1:
                raise ValueError(f"a spread needs more than one observation; got n_samples = {n:g}")
            squares = np.array([weight @ (target - np.average(target, weights=weight)) ** 2 / (n - 1)])
            self.n_steps_ = max(int(n) - 1, 1)
        self.step_std_ = float(np.sqrt(squares.mean()))
        self.result_ = Result(True, 1, "converged (closed form)")
        return self

    def summary(self, *, level: float = 0.95) -> Table:
        """The last value, and how much the series changes."""
        check_is_fitted(self)
        what, unit = ("step", self._step) if self.period is None else ("season", 1.0)
        lines = [
            ("last value", float(self.values_[-1])),
            (f"standard deviation of the change in one {what}", self.step_std_ * float(np.sqrt(unit))),
        ]
        return Table.of_estimates("Naive forecast: the last " + ("value" if self.period is None else "season"), lines)

    def _words(self) -> str:
        return "The last value (random walk)" if self.period is None else "The value of the last season"

    def _squares(self) -> Array:
        """Squared changes in the training rows, for a unit of time or a season."""
        if self.period is None:
            return np.asarray(np.diff(self.values_) ** 2 / np.diff(self.times_))
        later = self.times_ - self.period >= self.times_[0]
        source, _ = self._source(self.times_[later])
        return np.asarray((self.values_[later] - self.values_[source]) ** 2)

    def _source(self, times: Array) -> tuple[NDArray[np.intp], Array]:
        """The training row whose value is the forecast, and the distance in units of time or seasons."""
        known, last = self.times_, len(self.times_) - 1
        if self.period is None:
            before = np.clip(np.searchsorted(known, times, side="left") - 1, 0, last)
            gap = np.abs(times - known[before])
            # Times before the first row use its value.
            return before, np.where(gap > 0, gap, self._step)
        # A whole number of seasons may be slightly exceeded by rounding.
        seasons = np.maximum(np.ceil((times - known[-1]) / self.period - 1e-9), 1.0)
        # The time a whole number of seasons earlier, or the nearest one.
        at = times - seasons * self.period
        right = np.clip(np.searchsorted(known, at), 1, max(last, 1))
        right = np.minimum(right, last)
        left = np.maximum(right - 1, 0)
        return np.where(at - known[left] <= known[right] - at, left, right), seasons

    @property
    def _step(self) -> float:
        return float(np.median(np.diff(self.times_))) if len(self.times_) > 1 else 1.0

    def _mean(self, rows: Array) -> Array:
        return self.values_[self._source(rows[:, self.time])[0]]

    def _dist(self, rows: Array, *, latent: bool) -> StudentT:
        source, distance = self._source(rows[:, self.time])
        scale = self.step_std_ * np.sqrt(distance)
        return StudentT(np.full(len(rows), float(self.n_steps_)), self.values_[source], scale)
