"""Proper scoring rules for predictive distributions, and the predictive distribution of any fitted model."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from credo.distributions import Bernoulli, Categorical, Distribution, Normal, RightCensored


def outcomes(y: ArrayLike, dist: Distribution) -> NDArray[Any]:
    """The outcomes as an array with one entry for each row of the distribution."""
    if not isinstance(dist, Distribution):
        raise TypeError(
            "dist must be a distribution with one row for each outcome, as predict_dist returns; "
            f"got {type(dist).__name__}"
        )
    # Class labels may be strings; the distribution checks them.
    values = np.asarray(y) if isinstance(dist, Bernoulli | Categorical) else numbers(y, name="y")
    _one_dimension(values, name="y")
    if len(values) != len(dist):
        raise ValueError(f"y has {len(values)} values and dist has {len(dist)} rows; they must match")
    if len(values) == 0:
        raise ValueError("y is empty: a score needs at least one outcome")
    return values


def numbers(values: ArrayLike, *, name: str) -> NDArray[np.float64]:
    """The values as finite floats in one dimension."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers: {error}") from None
    _one_dimension(array, name=name)
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        first = f"the first is {array[bad[0]]} at index {bad[0]}"
        raise ValueError(f"{name} has {bad.size} values that are not finite, {first}; remove those rows")
    return array


def average(values: NDArray[Any], sample_weight: ArrayLike | None) -> float:
    """The mean of the values, weighted when weights are given."""
    if sample_weight is None:
        return float(np.mean(values))
    weight = numbers(sample_weight, name="sample_weight")
    if len(weight) != len(values):
        raise ValueError(f"sample_weight has {len(weight)} values and y has {len(values)}; they must match")
    if weight.min() < 0:
        raise ValueError(f"sample_weight must not be negative; got {weight.min()} at index {weight.argmin()}")
    used = weight > 0
    if not used.any():
        raise ValueError("all sample weights are zero")
    # Rows of weight zero are removed first, as 0 · (−∞) is NaN.
    return float(np.average(values[used], weights=weight[used]))


def _one_dimension(array: NDArray[Any], *, name: str) -> None:
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional; got shape {array.shape}. Use ravel() for a single column")


class NoDistribution(TypeError):
    """Raised if a model predicts no distribution.

    Examples
    --------
    >>> from credo import predictive
    >>> from credo.metrics import NoDistribution
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> model = KNeighborsRegressor(1).fit([[0.0], [1.0]], [0.0, 1.0])
    >>> try:
    ...     predictive(model, [[2.0]])
    ... except NoDistribution:
    ...     print("numbers only: Conformal(model) gives it distributions")
    numbers only: Conformal(model) gives it distributions
    """


def predictive(model: Any, X: Any) -> Distribution:
    """The predictive distribution of a fitted model at the rows of X.

    A scikit-learn Pipeline doesn't forward `predict_dist`, and neither does a search such as GridSearchCV: this
    function transforms X by all steps but the last and calls `predict_dist` of the last.

    Parameters
    ----------
    model : fitted estimator
        Has `predict_dist`, or is a Pipeline or a fitted search around a model that has. scikit-learn's own estimators
        work if they are classifiers with `predict_proba`, or regressors whose `predict` takes `return_std`, such as
        BayesianRidge: their predictions are treated as normal. The standard deviation includes the noise in
        BayesianRidge and ARDRegression, and in GaussianProcessRegressor only if the kernel has a WhiteKernel.
    X : array, frame or sparse matrix of shape (n_samples, n_features)

    Raises
    ------
    NoDistribution
        If the model has none, such as a perceptron; a subclass of TypeError.

    Examples
    --------
    >>> from credo import LinearRegression, predictive
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> pipeline = make_pipeline(StandardScaler(), LinearRegression())
    >>> pipeline = pipeline.fit([[0.0], [1.0], [2.0], [3.0]], [0.1, 0.9, 2.1, 2.9])
    >>> lower, upper = predictive(pipeline, [[1.5]]).interval(0.9)
    >>> lower.round(2), upper.round(2)
    (array([1.09]), array([1.91]))
    """
    if hasattr(model, "predict_dist"):
        return model.predict_dist(X)
    if isinstance(model, Pipeline):
        check_is_fitted(model)
        return predictive(model[-1], model[:-1].transform(X) if len(model) > 1 else X)
    if hasattr(model, "best_estimator_"):
        return predictive(model.best_estimator_, X)
    if is_classifier(model) and hasattr(model, "predict_proba"):
        return _of_classes(np.asarray(model.predict_proba(X)), np.asarray(model.classes_))
    if "return_std" in signature(model.predict).parameters if hasattr(model, "predict") else False:
        return Normal(*model.predict(X, return_std=True))
    raise NoDistribution(
        f"{type(model).__name__} has no predict_dist, so it predicts no distribution; "
        "use one of Credo's models that has it, or a Pipeline that ends in one"
    )


def _of_classes(table: NDArray[np.float64], classes: NDArray[Any]) -> Distribution:
    if classes.dtype.kind in "biuf" and np.array_equal(classes, [0, 1]):
        return Bernoulli(table[:, 1])
    return Categorical(table, classes=classes)


def point(dist: Distribution) -> NDArray[np.float64]:
    """The point prediction of each row: the mean, or the median if there is no mean or times are censored.

    A Student's t with one degree of freedom, as from a straight line fitted to three rows, has a median but no mean.

    Examples
    --------
    >>> from credo.distributions import StudentT
    >>> from credo.metrics import point
    >>> point(StudentT([1.0, 5.0], [3.0, 4.0], [1.0, 1.0]))
    array([3., 4.])
    """
    if isinstance(dist, RightCensored):
        return dist.quantile(0.5)
    mean = dist.mean
    return mean if np.isfinite(mean).all() else np.where(np.isfinite(mean), mean, dist.quantile(0.5))


def final_step(model: Any) -> Any:
    """The final estimator inside Pipelines and fitted searches, which has the coefficients and the evidence.

    Examples
    --------
    >>> from credo import LinearRegression
    >>> from credo.metrics import final_step
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> pipeline = make_pipeline(StandardScaler(), LinearRegression()).fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0])
    >>> final_step(pipeline).coef_.round(2)
    array([1.22])
    """
    if isinstance(model, Pipeline):
        return final_step(model[-1])
    if hasattr(model, "best_estimator_"):
        return final_step(model.best_estimator_)
    return model


def log_score(y: ArrayLike, dist: Distribution, *, sample_weight: ArrayLike | None = None) -> float:
    """Mean log predictive density of the outcomes; higher is better.

    (1/n) Σ ln p(yᵢ | xᵢ), in nats. It is −∞ if any outcome has density zero.

    Parameters
    ----------
    y : array of shape (n_samples,)
    dist : Distribution with n_samples rows
    sample_weight : array of shape (n_samples,), optional

    Examples
    --------
    >>> from credo.distributions import Normal
    >>> from credo.metrics import log_score
    >>> round(log_score([0.0, 1.0], Normal([0.0, 0.0], [1.0, 1.0])), 4)
    -1.1689
    """
    values = outcomes(y, dist)
    return average(dist.log_prob(values), sample_weight)


def crps(y: ArrayLike, dist: Distribution, *, sample_weight: ArrayLike | None = None) -> float:
    """Mean continuous ranked probability score; lower is better, in the units of y.

    ``∫ (F(t) − 1{t ≥ y})² dt = E|Y − y| − ½ E|Y − Y′|``: the mean absolute error of a distribution. For a
    point mass it is the absolute error.

    Parameters
    ----------
    y : array of shape (n_samples,)
    dist : Distribution with n_samples rows
    sample_weight : array of shape (n_samples,), optional

    Examples
    --------
    >>> from credo.distributions import Normal
    >>> from credo.metrics import crps
    >>> round(crps([0.0], Normal([0.0], [1.0])), 4)
    0.2337
    """
    values = outcomes(y, dist)
    return average(dist.crps(values), sample_weight)


def rmse(y: ArrayLike, prediction: Distribution | ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Root mean squared error of the predicted means; lower is better, in the units of y.

    Parameters
    ----------
    y : array of shape (n_samples,)
    prediction : Distribution or array of shape (n_samples,)
        Predictive distributions, of which the means are used (the median of one without a mean), or predicted values.
    sample_weight : array of shape (n_samples,), optional

    Examples
    --------
    >>> from credo.metrics import rmse
    >>> rmse([1.0, 2.0], [1.0, 4.0])
    1.4142135623730951
    """
    y = numbers(y, name="y")
    mean = numbers(point(prediction) if isinstance(prediction, Distribution) else prediction, name="prediction")
    if len(mean) != len(y):
        raise ValueError(f"y has {len(y)} values and there are {len(mean)} predictions; they must match")
    if len(y) == 0:
        raise ValueError("y is empty: a score needs at least one outcome")
    error = y - mean
    # Scaled by the largest error, so that squares of huge or tiny errors stay numbers.
    scale = float(np.max(np.abs(error)))
    return scale * average((error / scale) ** 2, sample_weight) ** 0.5 if scale > 0 else 0.0
