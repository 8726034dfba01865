"""Bagging of regressors: the mixture of members fitted to bootstrap samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.distributions import Distribution, Normal
from credo.ensemble._bagging import OUT_OF_BAG, Bagging, average
from credo.ensemble._base import target_rows
from credo.ensemble._bootstrap import Bag
from credo.ensemble._diagnosis import ErrorSums
from credo.ensemble._members import dist_of, mixture_of, require_distribution, variance_parts
from credo.estimator import Regressor, check_positive
from credo.metrics import point
from credo.trees import DecisionTreeRegressor

Array = NDArray[np.float64]

# Without predictive distributions of the members, the noise is at least this share of the mean squared error.
_LEAST_NOISE = 0.1
# It is estimated from about this many rows, in so many steps of EM.
_NOISE_ROWS, _NOISE_STEPS = 2000, 30


class BaggingRegressor(Bagging, Regressor):
    """The average of one regressor fitted to many bootstrap samples of the rows.

        p(y | x) = (1/M) Σ_m p_m(y | x)

    Each sample has as many rows as the table, drawn with replacement. The variance of a prediction is the mean variance
    within members plus the variance between their means (`variance_parts`).

    Parameters
    ----------
    estimator : regressor, optional
        Any, pipelines included; by default a tree that isn't pruned, `DecisionTreeRegressor(pruning=0.0)`. If it
        predicts no distribution, its errors are taken as normal, with a standard deviation that is estimated from the
        errors out of bag.
    n_estimators : int, default 50
        M.
    n_jobs : int, optional
        How many members are fitted at once, by joblib: in threads, or as `joblib.parallel_config` says. The result
        doesn't depend on it.
    random_state : int, Generator or None, default None

    Attributes
    ----------
    estimators_ : the fitted members
    oob_prediction_, oob_std_ : arrays of shape (n_samples,), out of bag: mean and standard deviation for each row by
        the members whose sample has no copy of it; NaN if there is none
    oob_score_, oob_log_score_ : R² and the mean log density, out of bag
    noise_std_ : standard deviation of the noise, if members predict no distribution, otherwise None
    result_ : how the fits ended

    Notes
    -----
    The variance between members is that of a single member, of which their average has only a part. So intervals are
    conservative for members that fit closely, such as fully grown trees.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(200, 1))
    >>> y = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=200)
    >>> model = BaggingRegressor(n_estimators=20, random_state=0).fit(X, y)
    >>> found = model.diagnosis()
    >>> bool(found.committee_error < found.member_error)
    True
    """

    oob_prediction_: Array
    oob_std_: Array
    noise_std_: float | None  # type: ignore[assignment]

    def __init__(
        self, estimator: Any = None, *, n_estimators: int = 50, n_jobs: int | None = None, random_state: Any = None
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_state(self) -> None:
        super()._check_state()
        if self.noise_std_ is None:
            for i, model in enumerate(self.estimators_):
                require_distribution(f"member {i}", model)
        else:
            check_positive(self, "noise_std_", zero=True)

    def variance_parts(self, X: Any) -> tuple[Array, Array]:
        """The variance of each row in two parts: the mean variance within members, and that between their means."""
        parts = self._parts(self._predict_rows(X), latent=False)
        return variance_parts(parts, np.full(len(parts), 1.0 / len(parts)))

    def _inner(self) -> Any:
        return DecisionTreeRegressor(pruning=0.0) if self.estimator is None else self.estimator

    def _training(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> tuple[Any, Array, Array | None]:
        return target_rows(self, X, y, sample_weight)

    def _out_of_bag(
        self, bags: Sequence[Bag], y: Array, weight: Array | None, given: NDArray[np.intp], n_given: int
    ) -> None:
        sums, variance, log_density = ErrorSums(y), np.zeros(len(y)), np.full(len(y), -np.inf)
        plain = any(bag.std is None for bag in bags)
        for bag in bags:
            sums.add(bag.predicted, bag.rows)
            if bag.std is not None and bag.log_prob is not None:
                variance[bag.rows] += bag.std**2
                log_density[bag.rows] = np.logaddexp(log_density[bag.rows], bag.log_prob)
        self.diagnosis_ = sums.diagnosis(weight, OUT_OF_BAG)
        seen, error = sums.seen, sums.mean()[:, 0]
        m = np.where(seen, sums.count, np.nan)
        between = np.maximum(sums.squares / m - error**2, 0.0)
        share = np.ones(len(y))[seen] if weight is None else weight[seen]
        self.noise_std_ = _noise_std(bags, y, error[seen], between[seen], share) if plain else None
        if self.noise_std_ is not None:
            variance, log_density = m * self.noise_std_**2, _normal_mixture(bags, y, self.noise_std_)
        self.oob_prediction_, self.oob_std_ = np.full(n_given, np.nan), np.full(n_given, np.nan)
        self.oob_prediction_[given] = y + error
        self.oob_std_[given] = np.sqrt(variance / m + between)
        self.oob_score_ = _r2(error[seen], y[seen], share)
        self.oob_log_score_ = average((log_density - np.log(m))[seen], share)

    def _scores(self) -> list[tuple[str, float]]:
        noise = [] if self.noise_std_ is None else [("noise sd", self.noise_std_)]
        return [("R²", self.oob_score_), ("log score", self.oob_log_score_), *noise]

    def _oob_points(self) -> Array:
        return self.oob_prediction_

    def _errors(self, points: Array, y: Array) -> Array:
        return (points - y) ** 2

    def _parts(self, rows: Any, *, latent: bool) -> list[Distribution]:
        return [dist_of(model, rows, latent=latent, noise_std=self.noise_std_) for model in self.estimators_]

    def _dist(self, rows: Any, *, latent: bool) -> Distribution:
        parts = self._parts(rows, latent=latent)
        return mixture_of(parts, np.full(len(parts), 1.0 / len(parts)))

    def _mean(self, rows: Any) -> Array:
        if self.noise_std_ is not None:
            return np.mean([model.predict(rows) for model in self.estimators_], axis=0)
        return point(self._dist(rows, latent=False))


def _r2(error: Array, y: Array, share: Array) -> float:
    if not len(y):
        return float("nan")
    spread = np.average((y - np.average(y, weights=share)) ** 2, weights=share)
    return float(1.0 - np.average(error**2, weights=share) / spread) if spread > 0 else float("nan")


def _noise_std(bags: Sequence[Bag], y: Array, error: Array, between: Array, share: Array) -> float:
    """The standard deviation of normal noise around each member, out of bag.

    It maximizes the likelihood, by EM, but doesn't go below what the disagreement of the members leaves of the mean
    squared error: where a member predicts the target exactly, as is common with whole numbers, the likelihood has no
    maximum.
    """
    if not len(error):
        return float(np.std(y))
    squared = float(np.average(error**2, weights=share))
    least = max(squared - float(np.average(between, weights=share)), _LEAST_NOISE * squared)
    if least == 0:
        return 0.0
    variance = squared
    # The sums run over at most so many rows.
    some = np.arange(len(y)) % max(1, len(y) // _NOISE_ROWS) == 0
    kept = [(bag.rows[some[bag.rows]], (bag.predicted - y[bag.rows])[some[bag.rows]] ** 2) for bag in bags]
    for _ in range(_NOISE_STEPS):
        total, weighted, lowest = np.zeros(len(y)), np.zeros(len(y)), np.full(len(y), np.inf)
        for rows, squares in kept:
            lowest[rows] = np.minimum(lowest[rows], squares)
        for rows, squares in kept:
            density = np.exp((lowest[rows] - squares) / (2 * variance))
            total[rows] += density
            weighted[rows] += density * squares
        found = total > 0
        variance = max(least, float(np.mean(weighted[found] / total[found])))
    return float(np.sqrt(variance))


def _normal_mixture(bags: Sequence[Bag], y: Array, noise_std: float) -> Array:
    """The log of the sum, over the members that leave out a row, of normal densities around their predictions."""
    total = np.full(len(y), -np.inf)
    for bag in bags:
        density = Normal(bag.predicted, noise_std).log_prob(y[bag.rows])
        total[bag.rows] = np.logaddexp(total[bag.rows], density)
    return total
