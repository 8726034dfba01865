"""What a model predicts, and how its fit ended, for models of this library and of others."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from credo.core.estimator.base import Result
from credo.core.estimator.description import final_step
from credo.distributions import Bernoulli, Categorical, Distribution, Normal, RightCensored


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
    if hasattr(model, "predict") and "return_std" in signature(model.predict).parameters:
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


def is_predictor(model: Any) -> bool:
    """Whether a value has the methods of an estimator that predicts.

    Examples
    --------
    >>> from credo import LinearRegression
    >>> from credo.core.estimator import is_predictor
    >>> is_predictor(LinearRegression()), is_predictor("linear")
    (True, False)
    """
    return all(hasattr(model, name) for name in ("fit", "predict", "get_params"))


def has_distribution(model: Any, *, latent: bool = False) -> bool:
    """Whether a regressor, or the last step of a pipeline, predicts more than numbers; if `latent`, also without noise.

    Examples
    --------
    >>> from credo import LinearRegression
    >>> from credo.core.estimator import has_distribution
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> has_distribution(LinearRegression()), has_distribution(KNeighborsRegressor())
    (True, False)
    """
    last = final_step(model)
    return hasattr(last, "predict_dist") or (not latent and "return_std" in signature(last.predict).parameters)


def class_probabilities(model: Any, X: Any, classes: NDArray[Any]) -> NDArray[np.float64]:
    """The probabilities of these classes under a fitted classifier that may not have seen all of them.

    The label that a classifier without probabilities predicts has probability one.

    Examples
    --------
    >>> import numpy as np
    >>> from credo import BaselineClassifier
    >>> from credo.core.estimator import class_probabilities
    >>> model = BaselineClassifier().fit([[0.0], [1.0]], ["a", "c"])
    >>> class_probabilities(model, [[2.0]], np.array(["a", "b", "c"]))
    array([[0.5, 0. , 0.5]])
    """
    if not hasattr(model, "predict_proba"):
        return (np.asarray(model.predict(X))[:, None] == classes).astype(np.float64)
    table = np.asarray(model.predict_proba(X), dtype=np.float64)
    if np.isnan(table).any():
        raise ValueError(f"{type(model).__name__} predicts probabilities that are not numbers (NaN)")
    if len(model.classes_) == len(classes):
        return table
    full = np.zeros((len(table), len(classes)))
    full[:, np.searchsorted(classes, model.classes_)] = table
    return full


def ending_of(model: Any) -> Result | None:
    """How the fit of a model, or of the last step of a pipeline, ended; None if it doesn't say.

    Examples
    --------
    >>> from credo import LinearRegression
    >>> from credo.core.estimator import ending_of
    >>> ending_of(LinearRegression().fit([[0.0], [1.0], [3.0]], [0.0, 1.0, 2.0])).converged
    True
    """
    return getattr(final_step(model), "result_", None)


def take_columns(owner: Any, fitted: Any) -> None:
    """Copy the number and names of the columns from another fitted model.

    Examples
    --------
    >>> from credo import LinearRegression
    >>> from credo.core.estimator import take_columns
    >>> model = LinearRegression()
    >>> take_columns(model, LinearRegression().fit([[0.0], [1.0], [3.0]], [0.0, 1.0, 2.0]))
    >>> model.n_features_in_
    1
    """
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(fitted, name):
            setattr(owner, name, getattr(fitted, name))
