"""Linear regression learned one row at a time."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from credo.core.estimator import Regressor, Result, center_and_scale, choice, interval_level, positive, positive_integer
from credo.core.fields import Axes, Finite, Positive, Squarable
from credo.core.frames import Table
from credo.core.linalg import column_norms
from credo.core.seeds import generator
from credo.distributions import Normal
from credo.linear._rows import same_intercept

Array = NDArray[np.float64]


class LMSRegression(Regressor):
    """Linear regression by the least-mean-squares (LMS) rule, one row at a time.

        w ← w + η (yₙ − wᵀφₙ) φₙ                                                       (Bishop 3.23)

    The stored state is a few vectors of length p, so `partial_fit` handles streams of any length.

    Parameters
    ----------
    step : "auto" or float, default "auto"
        A number is the η of the textbook's rule, on φ = (x, 1) as it comes and from w = 0; a step that makes the errors
        grow raises an error. "auto" standardizes the columns by the rows of `fit`, or by the first batch of a stream,
        decreases the step as η = (1 + t/10p)^(−2/3)/p at row t, at most 1/‖φₙ‖², and predicts with the average of the
        iterates, in which later ones count more (Polyak & Juditsky 1992; Shamir & Zhang 2013).
    n_epochs : int, default 20
        Passes of `fit` over the rows, each in a new random order.
    fit_intercept : bool, default True
    random_state : None, int, Generator or RandomState, default None

    Attributes
    ----------
    coef_, intercept_ : weights
    noise_std_ : standard deviation of the noise: by `fit` from the residuals and their degrees of freedom, by
        `partial_fit` (and if no degrees of freedom are left) from the one-step-ahead errors
    n_seen_ : updates so far
    result_ : outcome of the fit

    Examples
    --------
    >>> import numpy as np
    >>> from credo import LMSRegression
    >>> rng = np.random.default_rng(0)
    >>> model = LMSRegression(random_state=0)
    >>> for _ in range(100):  # a stream
    ...     X = rng.normal(size=(50, 2))
    ...     model = model.partial_fit(X, X @ [1.0, -2.0] + 3.0 + 0.1 * rng.normal(size=50))
    >>> model.coef_.round(2), round(model.intercept_, 2), round(model.noise_std_, 2)
    (array([ 1., -2.]), 3.0, 0.1)
    """

    coef_: Annotated[Array, Axes("d")]
    intercept_: Annotated[float, Finite]
    # NaN after a single observation.
    noise_std_: Annotated[float, Squarable]
    n_seen_: int
    # What a stream is resumed from: units of the columns, last and average weights in them, the level last.
    x_mean_: Annotated[Array, Axes("d")]
    x_scale_: Annotated[Array, Axes("d"), Positive]
    last_: Annotated[Array, Axes("d+1")]
    average_: Annotated[Array, Axes("d+1")]
    centered_: bool

    _title = "Linear regression by least mean squares, one row at a time"
    _equation = "y = b + Σ wⱼ xⱼ + noise"

    def __init__(
        self,
        step: float | Literal["auto"] = "auto",
        *,
        n_epochs: int = 20,
        fit_intercept: bool = True,
        random_state: Any = None,
    ) -> None:
        self.step = step
        self.n_epochs = n_epochs
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the model by `n_epochs` passes over the rows."""
        n_epochs, rng = positive_integer("n_epochs", self.n_epochs), generator(self.random_state)
        rows, target, _ = self._training_rows(X, y)
        self._start(rows, target)
        for _ in range(n_epochs):
            order = rng.permutation(len(target))
            self._learn(rows[order], target[order])
        residual = target - self._mean(rows)
        # The degrees of freedom of least squares, without constant columns.
        used = (rows != rows[0]).any(axis=0) if self.fit_intercept else rows.any(axis=0)
        left = len(target) - int(used.sum()) - bool(self.fit_intercept)
        if left > 0:
            self.noise_std_ = float(np.linalg.norm(residual) / np.sqrt(left))
        self.result_ = Result(True, n_epochs, f"{n_epochs} passes over {len(target)} rows")
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Update the fit with further rows, in the given order."""
        first = not hasattr(self, "n_seen_")
        rows, target, _ = self._training_rows(X, y, reset=first)
        if first:
            self._start(rows, target)
        same_intercept(self.centered_, self.fit_intercept)
        self._learn(rows, target)
        message = f"{self.n_seen_} rows seen; one-step-ahead error about {self.noise_std_:.3g}"
        self.result_ = Result(True, self.n_seen_, message)
        return self

    def summary(self, *, level: float = 0.95) -> Table:
        """The coefficients, without standard deviations, because LMS doesn't estimate a covariance."""
        check_is_fitted(self)
        interval_level(level)
        lines = [("intercept", self.intercept_)] if self.fit_intercept else []
        lines += zip(self._feature_names(), self.coef_, strict=True)
        noise = f"noise sd {self.noise_std_:.4g}; for standard errors use LinearRegression"
        return Table.of_estimates("Linear regression by least mean squares", lines, notes=(noise, self.result_.message))

    def _start(self, rows: Array, target: Array) -> None:
        """The units of the columns, and the weights before the first row."""
        automatic, p = self.step == "auto", rows.shape[1]
        if isinstance(self.step, str):
            choice("step", self.step, ("auto",))
        else:
            positive("step", self.step)
        choice("fit_intercept", self.fit_intercept, (True, False))
        self.centered_ = bool(self.fit_intercept)
        mean, scale, level = np.zeros(p), np.ones(p), 0.0
        if automatic and self.centered_:
            (mean, scale), level = center_and_scale(rows), float(target.mean())
        elif automatic:
            norms = column_norms(rows) / np.sqrt(len(rows))
            scale = np.where(norms > 0, norms, 1.0)
        self.x_mean_, self.x_scale_ = mean, scale
        self.last_ = self.average_ = np.append(np.zeros(p), level)
        self.n_seen_, self.noise_std_ = 0, np.nan

    def _learn(self, rows: Array, target: Array) -> None:
        """One pass over the rows in their order; the state changes only if it succeeds."""
        phi = np.column_stack([(rows - self.x_mean_) / self.x_scale_, np.full(len(rows), float(self.centered_))])
        largest = 1.0 / np.maximum(np.square(phi).sum(axis=1), 1e-300)
        q, t = phi.shape[1], self.n_seen_ + np.arange(len(rows))
        if isinstance(self.step, str):
            steps, limit = np.minimum((1 + t / (10 * q)) ** (-2 / 3) / q, largest), np.inf
        else:
            steps, limit = np.full(len(rows), self.step), 1e6 * np.nanmax([np.abs(target).max(), self.noise_std_])
        # Weights that grow as t² reduce the influence of the start.
        rates = 3.0 / (t + 3.0)
        w, average, square = self.last_.copy(), self.average_.copy(), self.noise_std_**2
        for i, y in enumerate(target):
            error = y - w @ phi[i]
            if not abs(error) <= limit:
                raise ValueError(
                    f"step={self.step!r} is too large for these rows: the errors diverge. Use a step below "
                    f"{2 * largest.min():.2g}, or step='auto'"
                )
            if t[i]:
                square = error**2 if np.isnan(square) else square + rates[i] * (error**2 - square)
            w += steps[i] * error * phi[i]
            average += rates[i] * (w - average)
        chosen = average if self.step == "auto" else w
        coef = chosen[:-1] / self.x_scale_
        if not np.isfinite([*w, *average, *coef]).all():
            raise ValueError("the coefficients overflow double precision: rescale the columns or the target")
        self.last_, self.average_, self.noise_std_ = w, average, float(np.sqrt(square))
        self.n_seen_ += len(rows)
        self.coef_, self.intercept_ = coef, float(chosen[-1] - self.x_mean_ @ coef)

    def _mean(self, X: Array) -> Array:
        # Relative to the mean of the inputs, where an offset loses no digits.
        return (X - self.x_mean_) @ self.coef_ + (self.intercept_ + self.x_mean_ @ self.coef_)

    def _dist(self, rows: Array, *, latent: bool) -> Normal:
        if latent:
            raise ValueError(
                "LMSRegression has no covariance of its coefficients, so latent=True is not available: use "
                "LinearRegression or BayesianLinearRegression"
            )
        if np.isnan(self.noise_std_):
            raise ValueError("the noise can't be estimated from one observation: fit more rows")
        return Normal(self._mean(rows), np.full(len(rows), self.noise_std_))
