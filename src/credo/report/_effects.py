"""The coefficients of a fitted model, on a scale on which they can be compared."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.sparsefuncs import mean_variance_axis

Vector = NDArray[np.float64]

# 97.5 % point of the standard normal, for models that give a posterior standard deviation.
_TWO_SIDED_95 = 1.959963984540054


@dataclass(frozen=True)
class Effects:
    """Change of the target when a feature rises by one standard deviation, with 95 % intervals."""

    model: str
    names: list[str]
    estimate: Vector
    lower: Vector
    upper: Vector

    @property
    def sure(self) -> NDArray[np.bool_]:
        """Which intervals exclude zero."""
        return (self.lower > 0) | (self.upper < 0)


def effects(models: Mapping[str, Any], frame: Any) -> Effects | None:
    """The coefficients of the first model that has them for each prepared column, with their uncertainty."""
    for name, model in models.items():
        found = _intervals(model.estimator_)
        if found is None:
            continue
        names = [str(feature) for feature in model.preparation_.get_feature_names_out()]
        estimate, lower, upper = found
        if len(names) == len(estimate):
            scale = _spread(model.preparation_.transform(frame))
            return Effects(name, names, estimate * scale, lower * scale, upper * scale)
    return None


def _intervals(estimator: Any) -> tuple[Vector, Vector, Vector] | None:
    estimate = np.asarray(getattr(estimator, "coef_", np.empty((0, 0))), dtype=np.float64)
    if estimate.ndim != 1 or not len(estimate):
        return None
    if hasattr(estimator, "confint"):
        lower, upper = np.asarray(estimator.confint(0.95), dtype=np.float64).T
        return estimate, lower, upper
    if hasattr(estimator, "coef_std_"):
        half = _TWO_SIDED_95 * np.asarray(estimator.coef_std_, dtype=np.float64)
        return estimate, estimate - half, estimate + half
    return None


def _spread(X: Any) -> Vector:
    """Standard deviation of each column."""
    if issparse(X):
        return np.sqrt(mean_variance_axis(X.tocsr().astype(np.float64), axis=0)[1])
    return np.asarray(X, dtype=np.float64).std(axis=0)
