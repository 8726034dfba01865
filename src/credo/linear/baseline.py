"""Predictions without any column, which every other model should beat."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from credo.distributions import StudentT
from credo.estimator import Classifier, Estimator, Regressor, Result
from credo.frames import Table

Array = NDArray[np.float64]


class _IgnoresColumns(Estimator):
    """An estimator that uses only the number of rows of X."""

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
    return np.zeros((_num_samples(X), 1))


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

    probabilities_: Array

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

    def _probabilities(self, rows: Any) -> Array:
        return np.tile(self.probabilities_, (rows.shape[0], 1))
