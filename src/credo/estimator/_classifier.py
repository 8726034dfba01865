"""The base class of classifiers: labels, `predict`, `predict_proba` and `predict_dist`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from credo.distributions import Bernoulli, Categorical
from credo.estimator._arguments import choice
from credo.estimator._dask import is_dask, over_partitions
from credo.estimator._estimator import Estimator
from credo.estimator._numeric import check_magnitude, is_missing, numeric, unmasked

Array = NDArray[np.float64]


class Classifier(ClassifierMixin, Estimator):
    """A scikit-learn classifier that predicts distributions over labels.

    A subclass defines `fit`, `summary` and `_probabilities`, the class probabilities of validated rows, and
    `decision_function` if the model has scores. `fit` sets `result_` and, if the model has an evidence,
    `log_evidence_`, `evidence_method_` and `evidence_base_`.

    Examples
    --------
    >>> from credo import BaselineClassifier
    >>> from credo.estimator import Classifier
    >>> model = BaselineClassifier().fit([[0.0], [1.0], [2.0]], ["no", "yes", "yes"])
    >>> isinstance(model, Classifier), model.predict_dist([[5.0]]).probs
    (True, array([[0.4, 0.6]]))
    """

    classes_: NDArray[Any]

    def _check_state(self) -> None:
        super()._check_state()
        if self.classes_.ndim != 1 or not self.classes_.size:
            raise ValueError(f"classes_ has shape {self.classes_.shape}")

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
        """The predictive distribution of each row's label: Bernoulli where the labels are 0 and 1, else Categorical."""
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

        To every estimator a row of weight k is the same as k copies of the row. `class_weight`
        ("balanced", or a mapping from label to factor) multiplies the weights.
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
        labels = labels_of(y)
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
    >>> from credo.estimator import labelled_rows
    >>> X, labels, weight, names = labelled_rows("score", [[1, 2], [3, 4]], ["b", "a"])
    >>> X.dtype.name, labels.tolist(), names
    ('float64', ['b', 'a'], ['x0', 'x1'])
    """
    estimator = type(caller, (Classifier,), {"_accepts_sparse": sparse})()
    return *estimator._labelled_rows(X, y, sample_weight), estimator._feature_names()


def codes_of(y: ArrayLike, classes: NDArray[Any]) -> NDArray[np.intp]:
    """The place of each label among the sorted classes of a fitted model.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.estimator import codes_of
    >>> codes_of(["no", "yes", "no"], np.array(["no", "yes"])).tolist()
    [0, 1, 0]
    """
    labels = np.asarray(y)
    known = np.isin(labels, classes)
    if not known.all():
        raise ValueError(f"y has the label {labels[~known].tolist()[0]!r}, which was not in the training rows")
    return np.searchsorted(classes, labels)


def labels_of(y: ArrayLike) -> NDArray[Any]:
    """y as an array of labels of one type, none of them missing.

    Examples
    --------
    >>> from credo.estimator import labels_of
    >>> labels_of(["yes", "no", "yes"]).tolist()
    ['yes', 'no', 'yes']
    >>> labels_of(["yes", None])
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
