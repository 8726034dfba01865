"""What every classifier shares: labels of any kind, `predict`, `predict_proba` and `predict_dist`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight

from credo.distributions import Bernoulli, Categorical
from credo.estimator._estimator import Estimator
from credo.estimator._labels import labels_of
from credo.estimator._numeric import numeric

Array = NDArray[np.float64]


class Classifier(ClassifierMixin, Estimator):
    """A scikit-learn classifier that predicts distributions over labels.

    A subclass writes `fit`, `summary` and `_probabilities`, the table of class probabilities for clean rows; where the
    model has scores that are monotone in them it writes `decision_function` as well. It sets `result_` in `fit` and,
    where the mathematics has one, `log_evidence_` with `evidence_method_` and `evidence_base_`.
    """

    classes_: NDArray[Any]

    def _check_state(self) -> None:
        super()._check_state()
        if self.classes_.ndim != 1 or not self.classes_.size:
            raise ValueError(f"classes_ has shape {self.classes_.shape}")

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most probable label of each row."""
        likeliest = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[likeliest]

    def predict_proba(self, X: ArrayLike) -> Array:
        """The probability of each label, in the order of `classes_`: shape (n_samples, n_classes)."""
        return self._probabilities(self._predict_rows(X))

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """The logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict_dist(self, X: ArrayLike) -> Bernoulli | Categorical:
        """The predictive distribution of each row's label: Bernoulli where the labels are 0 and 1, else Categorical."""
        table = self.predict_proba(X)
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
        """X as finite float64 rows, the labels' places in `classes_`, and the weights; rows of weight zero are dropped.

        A row that is repeated k times and a row of weight k are the same data to every estimator. `class_weight`
        ("balanced", or a mapping from label to factor) multiplies the weights.
        """
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        rows = self._validated(numeric(X))
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
        codes = self._coded(labels)
        if class_weight is not None:
            factors = self._class_factors(class_weight, labels, codes, weight)[codes]
            weight = factors if weight is None else weight * factors
            if not factors.all():
                rows, labels, weight = rows[factors > 0], labels[factors > 0], weight[factors > 0]
                codes = self._coded(labels)
        return rows, codes, weight

    def _coded(self, labels: NDArray[Any]) -> NDArray[np.intp]:
        """The labels' places among the classes, of which there have to be two."""
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            every = f"but every label is {self.classes_.tolist()[0]!r}" if len(labels) else "but no row has any weight"
            raise ValueError(f"{type(self).__name__} needs at least two classes, {every} (1 class)")
        return codes.ravel()

    def _class_factors(
        self, class_weight: Any, labels: NDArray[Any], codes: NDArray[np.intp], weight: Array | None
    ) -> Array:
        """What each class's weights are multiplied by; "balanced" gives every class the same total."""
        if isinstance(class_weight, str) and class_weight == "balanced":
            totals = np.bincount(codes, weight)
            return totals.sum() / (len(totals) * totals)
        factors = compute_class_weight(class_weight, classes=self.classes_, y=labels)
        for label, factor in zip(self.classes_.tolist(), factors.tolist(), strict=True):
            if not (math.isfinite(factor) and factor >= 0):
                raise ValueError(
                    f"class_weight gives class {label!r} the factor {factor:g}; it must be finite, and >= 0"
                )
        return factors
