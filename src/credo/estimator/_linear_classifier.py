"""The base class of linear classifiers: scores, probabilities and the summary table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.utils.validation import check_is_fitted

from credo.estimator._arguments import interval_level
from credo.estimator._classifier import Classifier
from credo.estimator._dask import is_dask, over_partitions
from credo.estimator._state import check_shapes
from credo.frames import Intervals, Table

Array = NDArray[np.float64]


class LinearClassifier(Classifier):
    """A classifier by linear scores, s(x) = Wx + b.

    Two classes have one score, which is positive where the second of `classes_` is more probable; more classes have one
    each. Shapes are scikit-learn's: `coef_` is (1, n_features) or (n_classes, n_features), `intercept_` (1,) or
    (n_classes,).

    Scores are log odds (two classes) or logits (more); a subclass with other scores overrides `_probabilities` and
    `_log_probabilities`. A subclass defines `_title`, and may override `_notes`, `_scales` if it has standard errors,
    and `_tests` if these aren't standard errors of an estimator.

    Examples
    --------
    >>> from credo import LinearDiscriminant
    >>> from credo.estimator import LinearClassifier
    >>> model = LinearDiscriminant().fit([[0.0], [1.0], [3.0], [4.0]], ["low", "low", "high", "high"])
    >>> isinstance(model, LinearClassifier)
    True
    >>> model.classes_.tolist(), model.decision_function([[0.5], [3.5]]).round(2)
    (['high', 'low'], array([ 18., -18.]))
    """

    coef_: Array
    intercept_: Array
    fit_intercept: bool

    _title: str

    def _check_state(self) -> None:
        super()._check_state()
        n_classes = len(self.classes_)
        if n_classes < 2:
            raise ValueError(f"classes_ has {n_classes} labels")
        sizes = {"k": 1 if n_classes == 2 else n_classes, "d": self.n_features_in_}
        check_shapes(self, sizes, coef_="k d", intercept_="k")

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
        """The logarithm of `predict_proba`, accurate also where a probability underflows."""
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
