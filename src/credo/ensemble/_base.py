"""What all models made of other models share: they pass X on unchanged, check y themselves, and predict by members."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, _safe_indexing, check_array, column_or_1d, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted, has_fit_parameter

from credo.distributions import Bernoulli, Categorical, Distribution
from credo.estimator import Estimator, Regressor, check_magnitude, labels_of, observed, unmasked
from credo.metrics import final_step, point

Array = NDArray[np.float64]


def _classifies(model: Any) -> bool:
    if not model._predicts_classes:
        raise AttributeError(f"this {type(model).__name__} is made of regressors and has no class probabilities")
    return True


class MetaEstimator(Estimator):
    """A model that passes X on to other estimators unchanged, and so accepts what all of them accept."""

    def _estimators(self) -> Sequence[Any]:
        """The unfitted estimators, as they were given."""
        raise NotImplementedError

    @property
    def _accepts_sparse(self) -> bool:  # type: ignore[override]
        return all(get_tags(estimator).input_tags.sparse for estimator in self._estimators())

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = [get_tags(estimator).input_tags for estimator in self._estimators()]
        for name in ("sparse", "allow_nan", "string", "categorical"):
            setattr(tags.input_tags, name, all(getattr(one, name) for one in inner))
        return tags

    def _predict_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return unmasked(X, name="X")


class Ensemble(MetaEstimator):
    """A model of other models, whose task, regression or classification, is theirs.

    A subclass defines `fit`, `summary`, `_estimators`, and `_dist` (of validated rows) for regressors and
    `_probabilities` for classifiers.
    """

    classes_: NDArray[Any]

    @property
    def _predicts_classes(self) -> bool:
        return is_classifier(self._estimators()[0])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        first = get_tags(self._estimators()[0])
        tags.estimator_type, tags.target_tags.required = first.estimator_type, True
        tags.regressor_tags, tags.classifier_tags = first.regressor_tags, first.classifier_tags
        return tags

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The most probable label of each row; or the mean, on request with the standard deviation."""
        rows = self._predict_rows(X)
        if self._predicts_classes:
            return self.classes_[np.argmax(self._probabilities(rows), axis=1)]
        dist = self._dist(rows, latent=False)
        return (point(dist), np.array(dist.std)) if return_std else point(dist)

    def predict_dist(self, X: Any, *, latent: bool = False) -> Distribution:
        """The predictive distribution of a new observation at each row.

        Parameters
        ----------
        X : whatever the estimators take
        latent : bool, default False
            For regressors: the distribution of f(x), without the noise of an observation.
        """
        rows = self._predict_rows(X)
        if not self._predicts_classes:
            return self._dist(rows, latent=latent)
        table = self._probabilities(rows)
        if self.classes_.dtype.kind in "biuf" and np.array_equal(self.classes_, [0, 1]):
            return Bernoulli(table[:, 1])
        return Categorical(table, classes=self.classes_)

    @available_if(_classifies)
    def predict_proba(self, X: Any) -> Array:
        """The probability of each label, in the order of `classes_`: shape (n_samples, n_classes)."""
        return self._probabilities(self._predict_rows(X))

    @available_if(_classifies)
    def predict_log_proba(self, X: Any) -> Array:
        """The logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """R² of the predicted means, or the accuracy of the predicted labels."""
        measure = accuracy_score if self._predicts_classes else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def _dist(self, rows: Any, *, latent: bool) -> Distribution:
        raise NotImplementedError

    def _probabilities(self, rows: Any) -> Array:
        raise NotImplementedError

    def _training(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Any, NDArray[Any], Array | None]:  # fmt: skip
        """X unchanged, the targets or labels, and the weights; rows of weight zero are removed."""
        return (labelled_rows if self._predicts_classes else target_rows)(self, X, y, sample_weight)


def target_rows(
    owner: Estimator, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Any, Array, Array | None]:
    """X unchanged, y and weights as arrays of numbers; rows of weight zero are removed."""
    _require(owner, y)
    y = observed(y)
    try:
        values = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y", estimator=owner)
    except ValueError:
        Regressor._refuse_words(y)
        raise
    target = np.asarray(column_or_1d(values, warn=True), dtype=np.float64)
    check_magnitude(target, name="y")
    return _weighted(owner, X, target, sample_weight)


def labelled_rows(
    owner: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Any, NDArray[Any], Array | None]:
    """X unchanged, labels and weights; rows of weight zero are removed. Sets `classes_`, of which two are needed."""
    _require(owner, y)
    rows, labels, weight = _weighted(owner, X, labels_of(y), sample_weight)
    if not len(labels):
        raise ValueError(f"{type(owner).__name__} needs rows to learn from; got 0 samples (n_samples = 0)")
    owner.classes_ = np.unique(labels)
    if len(owner.classes_) < 2:
        every = f"but every label is {owner.classes_.tolist()[0]!r}"
        raise ValueError(f"{type(owner).__name__} needs at least two classes, {every} (1 class)")
    return rows, labels, weight


def fit_arguments(estimator: Any, weight: Array | None, column_groups: Sequence[Any] | None = None) -> dict[str, Any]:
    """Weights and column groups as arguments of the estimator's `fit`; groups only if it takes them."""
    last = final_step(estimator)
    step = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
    arguments: dict[str, Any] = {}
    if weight is not None:
        if not has_fit_parameter(last, "sample_weight"):
            raise ValueError(
                f"{type(last).__name__}.fit takes no sample_weight: use another estimator, such as a decision tree or "
                "a linear model"
            )
        arguments[f"{step}sample_weight"] = weight
    if column_groups is not None and not step and has_fit_parameter(estimator, "column_groups"):
        arguments["column_groups"] = column_groups
    return arguments


def take_columns(owner: Any, fitted: Any) -> None:
    """Take over the number and names of the columns that a fitted member saw."""
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(fitted, name):
            setattr(owner, name, getattr(fitted, name))


def latent_dist(model: Any, X: Any) -> Distribution:
    """The distribution of f(x) under a model, or the last step of a pipeline."""
    if isinstance(model, Pipeline):
        return latent_dist(model[-1], model[:-1].transform(X) if len(model) > 1 else X)
    found: Distribution = final_step(model).predict_dist(X, latent=True)
    return found


def class_probabilities(model: Any, X: Any, classes: NDArray[Any]) -> Array:
    """The probabilities of these classes under a fitted classifier that may not have seen all of them.

    The label that a classifier without probabilities predicts has probability one.
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


def _require(owner: Any, y: Any) -> None:
    if y is None:
        raise ValueError(f"{type(owner).__name__} requires y to be passed, but the target y is None")


def _weighted(
    owner: Any, X: Any, y: NDArray[Any], sample_weight: ArrayLike | None
) -> tuple[Any, NDArray[Any], Array | None]:
    # Estimators of scikit-learn would ignore a mask.
    X = unmasked(X, name="X")
    check_consistent_length(X, y)
    if sample_weight is None:
        return X, y, None
    weight = owner._weights(sample_weight, y[:, None])
    used = np.flatnonzero(weight > 0)
    if len(used) == len(weight):
        return X, y, weight
    return _safe_indexing(X, used), y[used], weight[used]
