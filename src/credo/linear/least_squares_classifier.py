"""Classification by least squares on indicators of the classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg as sla

from credo.core.estimator import FitWarning, LinearClassifier, Result, is_sparse
from credo.core.learning.spectrum import spectrum
from credo.core.linalg import column_norms, constant_columns, graded_svd
from credo.core.notices import warn
from credo.core.parts import row_summary
from credo.linear._rows import collinear

Array = NDArray[np.float64]


class LeastSquaresClassifier(LinearClassifier):
    """Least squares on targets −1 and +1, or on one 0/1 indicator for each class (Bishop 4.1.3).

    Fast, but sensitive to rows far from the boundary on the correct side, unlike `LogisticRegression`. With two
    classes the score is that of `LinearRegression` on y = ±1.

    Scores are not log odds. `predict_proba` projects the fitted indicators onto the probability simplex, which keeps
    their order; for two classes that is (1 + score)/2, clipped to [0, 1]. The result ranks rows but is not calibrated,
    and zeros are common.

    Parameters
    ----------
    fit_intercept : bool, default True
    class_weight : "balanced", dict or None, default None
        Factors by which the sample weights of each class are multiplied.

    Attributes
    ----------
    coef_ : coefficients, (1, n_features), or (n_classes, n_features) for more than two classes
    intercept_ : intercepts, (1,) or (n_classes,)
    rank_ : numerical rank of the design (without the intercept)
    result_ : outcome of the fit

    Examples
    --------
    >>> from credo.linear import LeastSquaresClassifier
    >>> model = LeastSquaresClassifier().fit([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"])
    >>> model.coef_, model.intercept_
    (array([[0.8]]), array([-1.2]))
    >>> model.predict_proba([[2.0], [9.0]]).round(2)
    array([[0.3, 0.7],
           [0. , 1. ]])
    """

    _accepts_sparse = True
    _title = "Classification by least squares"

    rank_: int

    def __init__(
        self, *, fit_intercept: bool = True, class_weight: Mapping[Any, float] | Literal["balanced"] | None = None
    ) -> None:
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model; a sample weight of k is equivalent to k copies of the row."""
        rows, codes, weight = self._training_rows(X, y, sample_weight, class_weight=self.class_weight)
        n_classes = len(self.classes_)
        targets = np.eye(n_classes)[codes] if n_classes > 2 else np.where(codes[:, None] == 1, 1.0, -1.0)
        coef, self.intercept_, self.rank_ = joint_least_squares(rows, targets, weight, center=bool(self.fit_intercept))
        self.coef_ = coef.T.copy()
        self.result_ = self._outcome()
        return self

    def _probabilities(self, rows: Any) -> Array:
        scores = self._scores(rows)
        if scores.shape[1] == 1:
            share = np.clip(0.5 + 0.5 * scores, 0.0, 1.0)
            return np.hstack([1.0 - share, share])
        return nearest_simplex(scores)

    def _log_probabilities(self, rows: Any) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self._probabilities(rows))

    def _outcome(self) -> Result:
        if self.rank_ == self.n_features_in_:
            return Result(True, 1, "solved directly")
        message = collinear(self.rank_, self.n_features_in_, "drop columns, or use LogisticRegression(alpha=1)")
        warn(message, FitWarning, stacklevel=3)
        return Result(True, 1, message)


def nearest_simplex(V: Array) -> Array:
    """The nearest point of the probability simplex to each row: max(v − τ, 0) with the τ that makes it sum to one.

    Duchi, Shalev-Shwartz, Singer & Chandra (2008).
    """
    # Shifting a row doesn't change its projection; from its largest entry, huge scores lose no digits.
    V = V - V.max(axis=1, keepdims=True)
    falling = -np.sort(-V, axis=1)
    # τ if exactly the k largest entries stay positive.
    tau = (np.cumsum(falling, axis=1) - 1.0) / np.arange(1, V.shape[1] + 1)
    kept = (falling > tau).sum(axis=1)
    return np.maximum(V - tau[np.arange(len(V)), kept - 1][:, None], 0.0)


def joint_least_squares(X: Any, Y: Array, weight: Array | None, *, center: bool) -> tuple[Array, Array, int]:
    """Weights (n_features, n_targets), intercepts and rank of the least-squares fit to several targets at once."""
    if is_sparse(X):
        data = spectrum(X, Y[:, 0], weight, center=center)
        y_mean = np.average(Y, axis=0, weights=weight) if center else np.zeros(Y.shape[1])
        pull = Y - y_mean if weight is None else weight[:, None] * (Y - y_mean)
        cross = np.asarray(X.T @ pull) - np.outer(data.x_mean, pull.sum(axis=0))
        coef = data.V @ ((data.V.T @ cross) / np.square(data.s)[:, None])
        return coef, y_mean - data.x_mean @ coef, len(data.s)
    # All targets but the last are appended to the columns of X.
    n_features = X.shape[1]
    summary = row_summary(np.hstack([X, Y[:, :-1]]), Y[:, -1], weight).for_intercept(center)
    x_mean, y_mean = summary.mean[:n_features], summary.mean[n_features:]
    R, c = summary.factor[:, :n_features], summary.factor[:, n_features:]
    scale = column_norms(R)
    flat = constant_columns(scale, x_mean, summary.weight)
    coef, rank = _least_norm(np.where(flat, 0.0, R), c, np.where(flat, 1.0, scale), len(X))
    return coef, y_mean - x_mean @ coef, rank


def _least_norm(R: Array, c: Array, scale: Array, n_samples: int) -> tuple[Array, int]:
    """The solution of smallest norm of Rw = c, and the rank of R."""
    n_features = R.shape[1]
    if len(R) > n_features and np.array_equal(R, np.triu(R)):
        top = R[:n_features] / scale
        if np.abs(np.diagonal(top)).min() > 1e-10:
            return sla.solve_triangular(top, c[:n_features], check_finite=False) / scale[:, None], n_features
    U, s, V = graded_svd(R, order=n_samples)
    return V @ ((U.T @ c) / s[:, None]), len(s)
