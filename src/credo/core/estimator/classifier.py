"""The base classes of classifiers and of linear classifiers: labels, scores, probabilities and the summary table."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from credo.core.estimator.base import Estimator
from credo.core.estimator.checks import choice, interval_level
from credo.core.estimator.dask import is_dask, over_partitions
from credo.core.estimator.rows import check_magnitude, is_missing, numeric, unmasked
from credo.core.fields import Axes, Several, Sorted
from credo.core.frames import Intervals, Table
from credo.distributions import Bernoulli, Categorical

Array = NDArray[np.float64]


class Classifier(ClassifierMixin, Estimator):
    """A scikit-learn classifier that predicts distributions over labels.

    A subclass defines `fit`, `summary` and `_probabilities`, the class probabilities of validated rows, and
    `decision_function` if the model has scores. `fit` sets `result_` and, if the model has an evidence,
    `log_evidence_`, `evidence_method_` and `evidence_base_`.

    Examples
    --------
    >>> from credo import BaselineClassifier
    >>> from credo.core.estimator import Classifier
    >>> model = BaselineClassifier().fit([[0.0], [1.0], [2.0]], ["no", "yes", "yes"])
    >>> isinstance(model, Classifier), model.predict_dist([[5.0]]).probs
    (True, array([[0.4, 0.6]]))
    """

    classes_: Annotated[NDArray[Any], Axes("c"), Sorted, Several]

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most probable label of each row; for a Dask array or frame, a Dask array."""
        if is_dask(X):
            return over_partitions(self.predict, X)
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]

    def predict_proba(self, X: ArrayLike) -> Array:
        """The probability of each label, in the order of `classes_`: shape (n_samples, n_classes)."""
        if is_dask(X):
            return over_partitions(self.predict_proba, X)
        return self._probabilities(self._predict_rows(X))

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """The logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict_dist(self, X: ArrayLike) -> Bernoulli | Categorical:
        """The predictive distribution of each row's label: Bernoulli if the labels are 0 and 1, else Categorical."""
        table = self._probabilities(self._predict_rows(X)) if is_dask(X) else self.predict_proba(X)
        if self.classes_.dtype.kind in "biuf" and np.array_equal(self.classes_, [0, 1]):
            return Bernoulli(table[:, 1])
        return Categorical(table, classes=self.classes_)

    def _probabilities(self, rows: Any) -> Array:
        raise NotImplementedError

    def _training_rows(
        self,
        X: ArrayLike,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None = None,
        *,
        class_weight: Any = None,
    ) -> tuple[Any, NDArray[np.intp], Array | None]:
        """X as finite float64 rows, each label's index in `classes_`, and the weights; drops rows of weight zero.

        A row of weight k is equivalent to k copies of the row. `class_weight` ("balanced", or a mapping from label to
        factor) multiplies the weights.
        """
        rows, labels, weight = self._labelled_rows(X, y, sample_weight)
        codes = self._coded(labels)
        if class_weight is not None:
            factors = self._class_factors(class_weight, labels, codes, weight)[codes]
            weight = factors if weight is None else weight * factors
            if not factors.all():
                rows, labels, weight = rows[factors > 0], labels[factors > 0], weight[factors > 0]
                codes = self._coded(labels)
        return rows, codes, weight

    def _labelled_rows(
        self, X: ArrayLike, y: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> tuple[Any, NDArray[Any], Array | None]:
        """X as finite float64 rows, their labels and weights, without the rows of weight zero."""
        X = numeric(X)
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        rows = self._validated(X)
        labels = check_labels(y)
        if len(labels) != rows.shape[0]:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {rows.shape[0]} rows and y has "
                f"{len(labels)}"
            )
        weight = None if sample_weight is None else self._weights(sample_weight, rows)
        if weight is not None and not (weight > 0).all():
            used = weight > 0
            rows, labels, weight = rows[used], labels[used], weight[used]
        check_magnitude(rows, columns=getattr(self, "feature_names_in_", None))
        return rows, labels, weight

    def _coded(self, labels: NDArray[Any]) -> NDArray[np.intp]:
        """The index of each label in `classes_`, which must have at least two."""
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            every = f"but every label is {self.classes_.tolist()[0]!r}" if len(labels) else "but no row has any weight"
            raise ValueError(f"{type(self).__name__} needs at least two classes, {every} (1 class)")
        return codes.ravel()

    def _class_factors(
        self, class_weight: Any, labels: NDArray[Any], codes: NDArray[np.intp], weight: Array | None
    ) -> Array:
        """The factor for the weights of each class; "balanced" gives every class the same total."""
        if isinstance(class_weight, str):
            choice("class_weight", class_weight, ("balanced",))
            totals = np.bincount(codes, weight)
            return totals.sum() / (len(totals) * totals)
        factors = compute_class_weight(class_weight, classes=self.classes_, y=labels)
        for label, factor in zip(self.classes_.tolist(), factors.tolist(), strict=True):
            if not (math.isfinite(factor) and factor >= 0):
                raise ValueError(
                    f"class_weight gives class {label!r} the factor {factor:g}; it must be finite and not negative"
                )
        return factors


def labelled_rows(
    caller: str, X: ArrayLike, y: ArrayLike | None, sample_weight: ArrayLike | None = None, *, sparse: bool = True
) -> tuple[Any, NDArray[Any], Array | None, list[str]]:
    """X, labels, weights and feature names for a function, validated as by a classifier's `fit`.

    Examples
    --------
    >>> from credo.core.estimator import labelled_rows
    >>> X, labels, weight, names = labelled_rows("score", [[1, 2], [3, 4]], ["b", "a"])
    >>> X.dtype.name, labels.tolist(), names
    ('float64', ['b', 'a'], ['x0', 'x1'])
    """
    estimator = type(caller, (Classifier,), {"_accepts_sparse": sparse})()
    return *estimator._labelled_rows(X, y, sample_weight), estimator._feature_names()


def encode_labels(y: ArrayLike, classes: NDArray[Any]) -> NDArray[np.intp]:
    """The index of each label in the sorted classes of a fitted model.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.estimator import encode_labels
    >>> encode_labels(["no", "yes", "no"], np.array(["no", "yes"])).tolist()
    [0, 1, 0]
    """
    labels = np.asarray(y)
    known = np.isin(labels, classes)
    if not known.all():
        raise ValueError(f"y has the label {labels[~known].tolist()[0]!r}, which was not in the training rows")
    return np.searchsorted(classes, labels)


def check_labels(y: ArrayLike) -> NDArray[Any]:
    """y as an array of labels of one type, none of them missing.

    Examples
    --------
    >>> from credo.core.estimator import check_labels
    >>> check_labels(["yes", "no", "yes"]).tolist()
    ['yes', 'no', 'yes']
    >>> check_labels(["yes", None])
    Traceback (most recent call last):
    ...
    ValueError: y has no label in row 1: None; leave such rows out
    """
    values = column_or_1d(_plain(unmasked(y, name="y")), warn=True)
    if values.dtype.kind in "OfcmM":
        for row, label in enumerate(values.tolist()):
            if is_missing(label):
                missing = "NaN" if isinstance(label, float) else repr(label)
                raise ValueError(f"y has no label in row {row}: {missing}; leave such rows out")
    if values.dtype.kind == "O":
        values = _of_one_type(values)
    check_classification_targets(values)
    return values


def _plain(y: ArrayLike) -> Any:
    """A column of a frame as an array of objects, because its own conversion may fail on a missing value."""
    dtype = getattr(y, "dtype", None)
    if dtype is not None and not isinstance(dtype, np.dtype) and getattr(y, "ndim", 0) == 1:
        return np.asarray(y, dtype=object)
    return y


def _of_one_type(values: NDArray[Any]) -> NDArray[Any]:
    """Objects as booleans or numbers, if they all are; text stays as it is."""
    entries = [label.item() if isinstance(label, np.generic) else label for label in values.tolist()]
    if all(isinstance(label, str) for label in entries):
        return values
    for kind in (bool, int, float):
        if all(isinstance(label, kind) for label in entries):
            return np.array(entries)
    kinds = sorted({type(label).__name__ for label in entries})
    if len(kinds) > 1:
        raise ValueError(
            f"the labels in y are of several types, {' and '.join(kinds)}: make them all text or all numbers"
        )
    return values


class LinearClassifier(Classifier):
    """A classifier by linear scores, s(x) = Wx + b.

    Two classes have one score, which is positive if the second of `classes_` is more probable; more classes have one
    each. Shapes are scikit-learn's: `coef_` is (1, n_features) or (n_classes, n_features), `intercept_` (1,) or
    (n_classes,).

    Scores are log odds (two classes) or logits (more); a subclass with other scores overrides `_probabilities` and
    `_log_probabilities`. A subclass defines `_title`, and may override `_notes`, `_scales` if it has standard errors,
    and `_tests` if these aren't standard errors of an estimator.

    Examples
    --------
    >>> from credo import LinearDiscriminant
    >>> from credo.core.estimator import LinearClassifier
    >>> model = LinearDiscriminant().fit([[0.0], [1.0], [3.0], [4.0]], ["low", "low", "high", "high"])
    >>> isinstance(model, LinearClassifier)
    True
    >>> model.classes_.tolist(), model.decision_function([[0.5], [3.5]]).round(2)
    (['high', 'low'], array([ 18., -18.]))
    """

    coef_: Annotated[Array, Axes("k d")]
    intercept_: Annotated[Array, Axes("k")]
    fit_intercept: bool

    _title: str
    _equation = "log odds = b + Σ wⱼ xⱼ"

    def _sizes(self) -> dict[str, int]:
        return {"k": 1 if len(self.classes_) == 2 else len(self.classes_)}

    def decision_function(self, X: ArrayLike) -> Array:
        """The scores: (n_samples,) for two classes, (n_samples, n_classes) for more."""
        scores = self._scores(self._predict_rows(X))
        return scores.ravel() if len(self.classes_) == 2 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The label with the highest score; for a Dask array or frame, a Dask array."""
        if is_dask(X):
            return over_partitions(self.predict, X)
        scores = self._scores(self._predict_rows(X))
        places = (scores[:, 0] > 0).astype(np.intp) if len(self.classes_) == 2 else np.argmax(scores, axis=1)
        return self.classes_[places]

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """The logarithm of `predict_proba`, accurate even if a probability underflows."""
        return self._log_probabilities(self._predict_rows(X))

    def summary(self, *, level: float = 0.95) -> Table:
        """Estimate, and standard deviation and interval if known, of each parameter, and notes about the fit."""
        check_is_fitted(self)
        level = interval_level(level)
        names, estimate = self._parameters()
        columns: dict[str, Any] = {"parameter": names, "estimate": list(estimate)}
        scales = self._scales()
        if scales is None:
            return Table(self._title, {**columns, "sd": [None] * len(names)}, notes=self._notes())
        scale = self._interleaved(*scales)
        lower, upper = _normal_ends(estimate, scale, level).T
        columns |= {"sd": list(scale), **self._tests(estimate, scale), "lower": list(lower), "upper": list(upper)}
        return Table(self._title, columns, notes=(f"intervals at {100 * level:g} %", *self._notes()))

    def _confint(self, level: float) -> Intervals:
        """Intervals of all parameters, class by class, by the normal distribution."""
        check_is_fitted(self)
        level, scales = interval_level(level), self._scales()
        if scales is None:
            raise ValueError(
                f"this {type(self).__name__} has no standard errors, which are those of maximum likelihood by Newton's "
                "method (alpha=0); BayesianLogisticRegression has intervals with a prior"
            )
        names, estimate = self._parameters()
        return Intervals.of(names, _normal_ends(estimate, self._interleaved(*scales), level), level)

    def _scores(self, rows: Any) -> Array:
        return np.asarray(rows @ self.coef_.T) + self.intercept_

    def _probabilities(self, rows: Any) -> Array:
        scores = self._scores(rows)
        return np.hstack([expit(-scores), expit(scores)]) if scores.shape[1] == 1 else softmax(scores, axis=1)

    def _log_probabilities(self, rows: Any) -> Array:
        scores = self._scores(rows)
        if scores.shape[1] == 1:
            return np.hstack([log_expit(-scores), log_expit(scores)])
        return log_softmax(scores, axis=1)

    def _scales(self) -> tuple[Array, Array] | None:
        """Standard errors of weights and intercepts, in their shapes, or None."""
        return None

    def _tests(self, estimate: Array, scale: Array) -> dict[str, list[float]]:
        """The columns between sd and interval: Wald's z and its two-sided p-value."""
        with np.errstate(divide="ignore", invalid="ignore"):
            z = estimate / scale
        return {"z": list(z), "p": list(2 * stats.norm.sf(np.abs(z)))}

    def _notes(self) -> tuple[str, ...]:
        return (self.result_.message,)

    def _parameters(self) -> tuple[list[str], Array]:
        """Names and values of all parameters, class by class, with the intercept first."""
        features = self._feature_names()
        names = ["intercept", *features] if self.fit_intercept else features
        if len(self.classes_) > 2:
            names = [f"{label}: {name}" for label in self.classes_ for name in names]
        return names, self._interleaved(self.coef_, self.intercept_)

    def _interleaved(self, by_feature: Array, by_class: Array) -> Array:
        table = np.column_stack([by_class, by_feature]) if self.fit_intercept else by_feature
        return table.ravel()


def _normal_ends(estimate: Array, scale: Array, level: float) -> Array:
    half = stats.norm.isf((1 - level) / 2) * scale
    return np.column_stack([estimate - half, estimate + half])
