"""Other libraries, each with its usual settings for a small table; those not installed are left out with a line."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor, kernels
from sklearn.linear_model import BayesianRidge, LogisticRegressionCV
from sklearn.model_selection import train_test_split

from benchmarks.harness import skipped
from credo.distributions import Normal

# Of the intervals whose coverage is counted.
LEVELS = (0.5, 0.95)


def peers(task: str) -> dict[str, Callable[[int], Any]]:
    """By name, functions that make a model for a table of so many columns."""
    if task == "classification":
        return {
            "sklearn.LogisticCV": lambda d: LogisticRegressionCV(
                Cs=10, scoring="neg_log_loss", max_iter=2000, l1_ratios=(0.0,), use_legacy_attributes=False
            ),
            "sklearn.GP": lambda d: GaussianProcessClassifier(_signal(d), random_state=0),
            "sklearn.forest": lambda d: RandomForestClassifier(500, random_state=0),
        }
    rivals: dict[str, Any] = {"GPy": GPyRegressor, "ngboost": NGBoost, "mapie": MAPIE}
    return {
        "sklearn.BayesianRidge": lambda d: BayesianRidge(),
        "sklearn.GP": lambda d: GaussianProcessRegressor(
            _signal(d) + kernels.WhiteKernel(0.1), normalize_y=True, random_state=0
        ),
        "sklearn.forest": lambda d: OutOfBagForest(),
        **{kind.__name__: lambda d, kind=kind: kind() for name, kind in rivals.items() if _installed(name)},
    }


@cache
def _installed(name: str) -> bool:
    found = find_spec(name) is not None
    if not found:
        skipped(name, "which isn't installed")
    return found


def _signal(n_columns: int) -> kernels.Kernel:
    return kernels.ConstantKernel(1.0) * kernels.RBF(np.ones(n_columns))


class OutOfBagForest:
    """A forest with normal intervals whose variance is the mean squared out-of-bag error."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        self.forest = RandomForestRegressor(500, oob_score=True, random_state=0).fit(X, y)
        self.std = float(np.sqrt(np.nanmean(np.square(y - self.forest.oob_prediction_))))
        return self

    def predict_dist(self, X: np.ndarray) -> Normal:
        return Normal(self.forest.predict(X), self.std)


class GPyRegressor:
    """An ARD RBF and noise, by maximum likelihood, for a standardised target."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        import GPy

        self.center, self.scale = y.mean(), y.std()
        kernel = GPy.kern.RBF(X.shape[1], ARD=True)
        self.model = GPy.models.GPRegression(X, (y[:, None] - self.center) / self.scale, kernel, noise_var=0.1)
        self.model.optimize("lbfgsb", max_iters=1000)
        return self

    def predict_dist(self, X: np.ndarray) -> Normal:
        mean, variance = self.model.predict(X)
        return Normal(self.center + self.scale * mean[:, 0], self.scale * np.sqrt(np.maximum(variance[:, 0], 1e-12)))


class NGBoost:
    """Normal distributions by natural gradient boosting, stopped early on a fifth of the rows."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        from ngboost import NGBRegressor

        inside, outside, y_inside, y_outside = train_test_split(X, y, test_size=0.2, random_state=0)
        model = NGBRegressor(n_estimators=2000, verbose=False, random_state=0)
        self.model = model.fit(inside, y_inside, X_val=outside, Y_val=y_outside, early_stopping_rounds=50)
        return self

    def predict_dist(self, X: np.ndarray) -> Normal:
        found = self.model.pred_dist(X, max_iter=self.model.best_val_loss_itr)
        return Normal(found.loc, np.maximum(found.scale, 1e-12))


@dataclass(frozen=True)
class Intervals:
    """Points and intervals of given levels, which is all that MAPIE predicts: no log score and no CRPS."""

    mean: np.ndarray
    ends: dict[float, np.ndarray]

    def interval(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        return self.ends[level][:, 0], self.ends[level][:, 1]


class MAPIE:
    """CV+ intervals (five folds) around a forest."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        from mapie.regression import CrossConformalRegressor

        forest = RandomForestRegressor(100, random_state=0)
        self.model = CrossConformalRegressor(forest, confidence_level=LEVELS, cv=5, random_state=0)
        self.model.fit_conformalize(X, y)
        return self

    def predict_dist(self, X: np.ndarray) -> Intervals:
        points, ends = self.model.predict_interval(X)
        return Intervals(points, {level: ends[:, :, j] for j, level in enumerate(LEVELS)})
