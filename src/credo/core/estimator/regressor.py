"""The base class of regressors: numeric targets, `predict` and `predict_dist`."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin

from credo.core.estimator.base import Estimator
from credo.core.estimator.dask import is_dask, over_partitions
from credo.core.estimator.rows import check_magnitude, numeric, reads_as_number, require_no_missing
from credo.distributions import Distribution

Array = NDArray[np.float64]


class Regressor(RegressorMixin, Estimator):
    """A scikit-learn regressor that predicts distributions.

    A subclass defines `fit`, `summary`, `_mean` and `_dist`, and `_covariance` if its predictions are correlated. `fit`
    sets `result_` and, if the model has an evidence, `log_evidence_`, `evidence_method_` and `evidence_base_`.

    Examples
    --------
    >>> from credo import LinearRegression
    >>> from credo.core.estimator import Regressor
    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0], [3.0], [4.0]], [0.1, 0.9, 2.1, 2.9, 4.1])
    >>> isinstance(model, Regressor)
    True
    >>> mean, std = model.predict([[5.0]], return_std=True)
    >>> mean.round(2), std.round(2), model.predict_dist([[5.0]], latent=True).std.round(2)  # with and without the noise
    (array([5.02]), array([0.32]), array([0.23]))
    """

    @overload
    def predict(
        self, X: ArrayLike, return_std: Literal[False] = False, return_cov: Literal[False] = False
    ) -> Array: ...

    @overload
    def predict(
        self, X: ArrayLike, return_std: Literal[True], return_cov: Literal[False] = False
    ) -> tuple[Array, Array]: ...

    @overload
    def predict(
        self, X: ArrayLike, return_std: Literal[False] = False, *, return_cov: Literal[True]
    ) -> tuple[Array, Array]: ...

    @overload
    def predict(self, X: ArrayLike, return_std: bool = False, return_cov: bool = False) -> Any: ...

    def predict(self, X: ArrayLike, return_std: bool = False, return_cov: bool = False) -> Any:
        """Predicted means, with their standard deviations or covariance on request.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            For a Dask array or frame, Dask arrays are returned.
        return_std : bool, default False
            Also return the standard deviation of each new observation (noise included).
        return_cov : bool, default False
            Also return the covariance matrix of the new observations (noise included).

        Returns
        -------
        mean : array of shape (n_samples,), or (n_samples, n_targets) for several columns of y
        std or covariance : array, only if requested; several columns of y add an axis at the end
        """
        if return_std and return_cov:
            raise ValueError("return_std and return_cov can't both be True: the std is the root of cov's diagonal")
        if is_dask(X) and not return_cov:
            return over_partitions(self.predict, X, return_std=return_std)
        rows = self._predict_rows(X)
        if return_std:
            return self._mean(rows), self._std(rows)
        if return_cov:
            return self._mean(rows), self._covariance(rows)
        return self._mean(rows)

    def predict_dist(self, X: ArrayLike, *, latent: bool = False) -> Distribution:
        """The predictive distribution of a new observation at each row.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
        latent : bool, default False
            If True, the distribution of f(x) without the noise of an observation: its intervals are the confidence
            (or credible) band of the function.

        Returns
        -------
        Distribution, vectorized over the rows
        """
        return self._dist(self._predict_rows(X), latent=latent)

    def _mean(self, rows: Any) -> Array:
        raise NotImplementedError

    def _dist(self, rows: Any, *, latent: bool) -> Distribution:
        raise NotImplementedError

    def _std(self, rows: Any) -> Array:
        return np.array(self._dist(rows, latent=False).std)

    def _left_out(self, X: Any, y: Array, weight: Array | None) -> Distribution | None:
        """The prediction of each row of the fit given all others, in closed form; None if there is none."""
        return None

    def _covariance(self, rows: Any) -> Array:
        raise ValueError(f"{type(self).__name__} has no covariance between predictions: use return_std")

    def _training_rows(
        self, X: ArrayLike, y: ArrayLike | None, sample_weight: ArrayLike | None = None, *, reset: bool = True
    ) -> tuple[Any, Array, Array | None]:
        """X, y and weights as finite float64 arrays; rows of weight zero are dropped.

        A row of weight k is equivalent to k copies of the row.
        """
        rows: Any
        target: Any
        X, y = numeric(X), require_no_missing(y)
        try:
            rows, target = self._validated(X, y=y, reset=reset, y_numeric=True)
            target = np.asarray(target, dtype=np.float64)
        except ValueError:
            self._reject_text_targets(y)
            raise
        weight = None if sample_weight is None else self._weights(sample_weight, rows)
        if weight is not None and not (weight > 0).all():
            used = weight > 0
            rows, target, weight = rows[used], target[used], weight[used]
        check_magnitude(rows, columns=getattr(self, "feature_names_in_", None))
        check_magnitude(target, name="y")
        return rows, target, weight

    @staticmethod
    def _reject_text_targets(y: Any) -> None:
        """Raise an error if the targets are text; it names the first and suggests a classifier."""
        values = np.asarray(y) if np.ndim(y) == 1 else np.empty(0)
        if values.dtype.kind not in "OU":
            return
        for value in values:
            if isinstance(value, str) and not reads_as_number(value):
                raise ValueError(
                    f"y contains text, such as {str(value)[:40]!r}, but a regression needs numbers. For labels use a "
                    "classifier, such as LogisticRegression, GPClassifier or SpikeSlabClassifier"
                )


def training_rows(
    caller: str,
    X: ArrayLike,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None = None,
    *,
    sparse: str | bool = False,
) -> tuple[Any, Array, Array | None, list[str]]:
    """X, y, weights and feature names for a function, validated as by a regressor's `fit`.

    Error messages name the function `caller`. `sparse` is the format that sparse rows are converted to, or False.

    Examples
    --------
    >>> from credo.core.estimator import training_rows
    >>> X, y, weight, names = training_rows("score", [[1, 2], [3, 4]], [1, 0])
    >>> X.dtype.name, y, names
    ('float64', array([1., 0.]), ['x0', 'x1'])
    """
    estimator = type(caller, (Regressor,), {"_sparse_format": lambda self: sparse})()
    return *estimator._training_rows(X, y, sample_weight), estimator._feature_names()
