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
from credo.ensemble._spread import OutOfBag
from credo.estimator import Regressor, check_positive, check_shapes
from credo.metrics import point
from credo.trees import DecisionTreeRegressor

Array = NDArray[np.float64]


class BaggingRegressor(Bagging, Regressor):
    """The average of one regressor fitted to many bootstrap samples of the rows.

        p(y | x) = (1/M) Σ_m N(y | μ(x) + b (μ_m(x) − μ(x)), w² σ_m(x)² + s²),    μ(x) = (1/M) Σ_m μ_m(x)

    Each sample has as many rows as the table, drawn with replacement. μ_m and σ_m are mean and standard deviation of
    member m. The variance of a prediction is the mean variance within members, w² mean σ_m² + s², plus the variance
    between their means, b² var μ_m (`variance_parts`).

    The mixture of the members as they are, w = b = 1 and s = 0, is too wide where they overfit: the error of an average
    is smaller than the differences between members. So w, b and s have the highest log score out of bag; s is at least
    a tenth of the root mean squared error there.

    Parameters
    ----------
    estimator : regressor, optional
        Any, pipelines included; by default a tree that isn't pruned, `DecisionTreeRegressor(pruning=0.0)`. If it
        predicts no distribution, σ_m = 0, and s is the standard deviation of the noise.
    n_estimators : int, default 50
        M.
    calibrate : "oob" or None, default "oob"
        None leaves the spread as it is: the predictive distribution is the mixture of the members' own, which may be
        skewed or have heavy tails. So it is also where a member has no finite standard deviation. Of members without
        a distribution, only s is learned.
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
    spread_factors_ : array [w, b], with w = 0 if members predict no distribution; None without calibration
    noise_std_ : s; None without calibration
    result_ : how the fits ended

    Examples
    --------
    >>> import numpy as np
    >>> from credo.ensemble import BaggingRegressor
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
    spread_factors_: Array | None
    noise_std_: float | None

    def _check_state(self) -> None:
        super()._check_state()
        if (self.spread_factors_ is None) != (self.noise_std_ is None):
            raise ValueError("spread_factors_ and noise_std_ must be given together")
        if self.spread_factors_ is not None:
            check_shapes(self, {"two": 2}, spread_factors_="two", noise_std_="")
            check_positive(self, "spread_factors_", "noise_std_", zero=True)
        if not self._is_plain:
            for i, model in enumerate(self.estimators_):
                require_distribution(f"member {i}", model)

    def variance_parts(self, X: Any) -> tuple[Array, Array]:
        """The variance of each row in two parts: the mean variance within members, and that between their means.

        Both are calibrated as the predictive distribution is.
        """
        parts = self._parts(self._predict_rows(X), latent=False)
        return variance_parts(parts, np.full(len(parts), 1.0 / len(parts)))

    def _inner(self) -> Any:
        return DecisionTreeRegressor(pruning=0.0) if self.estimator is None else self.estimator

    def _training(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> tuple[Any, Array, Array | None]:
        return target_rows(self, X, y, sample_weight)

    def _out_of_bag(
        self, bags: Sequence[Bag], y: Array, weight: Array | None, given: NDArray[np.intp], n_given: int
    ) -> None:
        sums = ErrorSums(y)
        for bag in bags:
            sums.add(bag.predicted, bag.rows)
        self.diagnosis_ = sums.diagnosis(weight, OUT_OF_BAG)
        seen = np.flatnonzero(sums.seen)
        error = sums.mean()[seen, 0]
        share = np.ones(len(seen)) if weight is None else weight[seen]
        outside = OutOfBag.of(bags, y, weight)
        log_score = self._learn_spread(outside, bags, y)
        within, between = (1.0, 1.0) if self.spread_factors_ is None else self.spread_factors_
        with np.errstate(invalid="ignore"):
            variance = (within * outside.std) ** 2 + (between * outside.gap) ** 2 + (self.noise_std_ or 0.0) ** 2
        self.oob_prediction_, self.oob_std_ = np.full(n_given, np.nan), np.full(n_given, np.nan)
        self.oob_prediction_[given[seen]] = y[seen] + error
        self.oob_std_[given[seen]] = np.sqrt(outside.sums(variance) / outside.count)
        self.oob_score_ = _r2(error, y[seen], share)
        self.oob_log_score_ = average(log_score, share)

    def _learn_spread(self, outside: OutOfBag, bags: Sequence[Bag], y: Array) -> Array:
        """Set the noise and the factors of the spread; the log density of each row out of bag."""
        self.noise_std_, self.spread_factors_ = None, None
        plain, calibrate = any(bag.std is None for bag in bags), self.calibrate is not None
        usable = outside.size > 0 and bool(np.isfinite(outside.std).all())
        if not plain and not (calibrate and usable):
            return outside.log_means(np.concatenate([bag.log_prob for bag in bags]))
        if not usable:
            self.noise_std_, self.spread_factors_ = 0.0 if len(outside.rows) else float(np.std(y)), np.array([0.0, 1.0])
            return np.full(len(outside.rows), np.inf)
        within, between, noise = outside.best(calibrate=calibrate)
        self.noise_std_, self.spread_factors_ = noise, np.array([0.0 if plain else within, between])
        return outside.log_score(within, between, noise)[0]

    def _scores(self) -> list[tuple[str, float]]:
        lines = [("R²", self.oob_score_), ("log score", self.oob_log_score_)]
        if self.spread_factors_ is None or self.noise_std_ is None:
            return lines
        own = [] if self._is_plain else [("w, factor within members", float(self.spread_factors_[0]))]
        return [
            *lines,
            *own,
            ("b, factor between members", float(self.spread_factors_[1])),
            ("noise sd", self.noise_std_),
        ]

    def _oob_points(self) -> Array:
        return self.oob_prediction_

    def _errors(self, points: Array, y: Array) -> Array:
        return (points - y) ** 2

    def _parts(self, rows: Any, *, latent: bool) -> list[Distribution]:
        plain = 0.0 if self._is_plain else None
        parts = [dist_of(model, rows, latent=latent, noise_std=plain) for model in self.estimators_]
        if self.spread_factors_ is None or self.noise_std_ is None:
            return parts
        means, stds = np.stack([part.mean for part in parts]), np.stack([part.std for part in parts])
        if not np.isfinite(stds).all():
            return parts
        within, between = self.spread_factors_
        center = means.mean(axis=0)
        stds = np.hypot(within * stds, 0.0 if latent else self.noise_std_)
        return [Normal(*one) for one in zip(center + between * (means - center), stds, strict=True)]

    @property
    def _is_plain(self) -> bool:
        """Whether members predict numbers only."""
        return self.spread_factors_ is not None and self.spread_factors_[0] == 0

    def _dist(self, rows: Any, *, latent: bool) -> Distribution:
        parts = self._parts(rows, latent=latent)
        return mixture_of(parts, np.full(len(parts), 1.0 / len(parts)))

    def _mean(self, rows: Any) -> Array:
        if self._is_plain:
            return np.mean([model.predict(rows) for model in self.estimators_], axis=0)
        return point(self._dist(rows, latent=False))


def _r2(error: Array, y: Array, share: Array) -> float:
    if not len(y):
        return float("nan")
    spread = np.average((y - np.average(y, weights=share)) ** 2, weights=share)
    return float(1.0 - np.average(error**2, weights=share) / spread) if spread > 0 else float("nan")
