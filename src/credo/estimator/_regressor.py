"""What every regressor shares: validation at the door, `predict`, and the shape of a summary."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from credo.distributions import Distribution
from credo.estimator._result import Result
from credo.frames import Table

# The squares of such numbers, summed, still fit into double precision.
_LARGEST = 1e140
# Sums over more observations than this leave double precision in no time.
_HEAVIEST = 1e100


class Regressor(RegressorMixin, BaseEstimator):
    """A scikit-learn regressor that predicts distributions.

    A subclass writes `fit`, `predict_dist`, `summary` and `_mean`; it sets `result_` in `fit` and, where the
    mathematics has one, `log_evidence_` with `evidence_method_`. A subclass that knows how its predictions
    vary together writes `_covariance` as well.
    """

    result_: Result
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    # Whether X may be a scipy sparse matrix or array.
    _accepts_sparse = False

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        return tags

    def predict(self, X: ArrayLike, return_std: bool = False, return_cov: bool = False) -> Any:
        """Predicted means, with their standard deviations or covariance on request.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
        return_std : bool, default False
            Also return the standard deviation of each new observation (noise included).
        return_cov : bool, default False
            Also return the covariance matrix of the new observations (noise included).

        Returns
        -------
        mean : array of shape (n_samples,)
        std or covariance : array, only when asked for
        """
        if return_std and return_cov:
            raise ValueError("ask for return_std or return_cov, not both: the std is the root of cov's diagonal")
        rows = self._predict_rows(X)
        if return_std:
            return self._mean(rows), np.array(self.predict_dist(X).std)
        if return_cov:
            return self._mean(rows), self._covariance(rows)
        return self._mean(rows)

    def predict_dist(self, X: ArrayLike) -> Distribution:
        """The predictive distribution of a new observation at each row."""
        raise NotImplementedError

    def summary(self, *, level: float = 0.95) -> Table:
        """The fitted parameters, with intervals of that level, in a table that a person reads."""
        raise NotImplementedError

    def _mean(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        raise NotImplementedError

    def _covariance(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        raise ValueError(f"{type(self).__name__} doesn't model how predictions vary together; use return_std")

    def _training_rows(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *, reset: bool = True
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.float64] | None]:
        """X, y and weights as finite float64 arrays; rows of weight zero are dropped.

        A row that is repeated k times and a row of weight k are the same data to every estimator.
        """
        accept_sparse = "csr" if self._accepts_sparse else False
        rows: Any
        target: Any
        rows, target = validate_data(
            self, X, y, reset=reset, dtype=np.float64, accept_sparse=accept_sparse, y_numeric=True
        )
        target = np.asarray(target, dtype=np.float64)
        largest = float(np.abs(target).max())
        if largest > _LARGEST or 0 < largest < 1 / _LARGEST:
            raise ValueError(
                f"the largest target is {largest:.3g} in size, whose square a computer can't hold: "
                "change the unit of y, for example divide it by its standard deviation"
            )
        if sample_weight is None:
            return rows, target, None
        weight = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
        used = weight > 0
        if not used.any():
            raise ValueError("every sample_weight is zero, so there is nothing to fit")
        if weight.max() > _HEAVIEST:
            raise ValueError(
                f"the largest sample_weight is {weight.max():.3g}, and a weight of k stands for k rows: divide them "
                "all by one number, so that they sum to the number of observations"
            )
        if used.all():
            return rows, target, weight
        return rows[used], target[used], weight[used]

    def _predict_rows(self, X: ArrayLike) -> Any:
        """X as a finite float64 array with the columns that were fitted."""
        check_is_fitted(self)
        return validate_data(
            self, X, reset=False, dtype=np.float64, accept_sparse="csr" if self._accepts_sparse else False
        )

    def _feature_names(self) -> list[str]:
        """The columns' names as fitted, or x0, x1, … when X had none."""
        names = getattr(self, "feature_names_in_", None)
        return [f"x{i}" for i in range(self.n_features_in_)] if names is None else [str(name) for name in names]
