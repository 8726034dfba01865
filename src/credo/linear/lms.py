"""Linear regression learned one sample at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from credo.core.estimator import (
    ConvergenceWarning,
    Regressor,
    Result,
    check_positive,
    check_shapes,
    choice,
    interval_level,
    merge_equal_rows,
    nonnegative,
    positive,
    positive_integer,
)
from credo.core.frames import Table
from credo.core.notices import warn
from credo.core.seeds import generator
from credo.distributions import Normal
from credo.linear._jit import correction_pass, lms_pass
from credo.linear._rows import EPS, same_intercept

Array = NDArray[np.float64]
Order = NDArray[np.intp]

# With a fixed step, errors this many times larger than the largest target mean divergence.
_DIVERGED = 1e6
# Observations per weight after which the automatic step begins to decrease.
_PATIENCE = 10.0
# Part of the error of a row that one visit of a correction pass may remove.
_VISIT_SHARE = 0.5
_OVERFLOW = "the coefficients overflow double precision, so these rows were not used: rescale the columns or the target"


@dataclass(frozen=True)
class _State:
    """What is stored between batches: the moments of the columns, and the weights, whose last entry is f at x_mean."""

    n_seen: float
    x_mean: Array
    x_scale: Array
    last: Array
    average: Array
    noise: float

    def with_moments_of(self, rows: Array, weight: Array, *, center: bool) -> _State:
        """The state with further rows in its moments, and with its levels moved to the new mean."""
        total = float(weight.sum())
        mean = np.average(rows, axis=0, weights=weight) if center else np.zeros(rows.shape[1])
        scale = _root_mean_square(rows - mean, weight / total)
        # Chan, Golub & LeVeque (1979): moments of the union from the moments of its parts.
        part = total / (self.n_seen + total)
        shift = mean - self.x_mean
        parts = np.stack([self.x_scale, scale, np.sqrt(part) * np.abs(shift)])
        scale = _root_mean_square(parts, np.array([1 - part, part, 1 - part]))
        last, average = self.last.copy(), self.average.copy()
        for w in (last, average):
            w[-1] += part * (shift @ w[:-1])
        return replace(self, x_mean=self.x_mean + part * shift, x_scale=scale, last=last, average=average)


class _Batch:
    """Rows in the coordinates of the rule: φ = (z, bias) with z = (x − mean)/scale."""

    def __init__(self, state: _State, rows: Array, target: Array, weight: Array, *, bias: float) -> None:
        varies = state.x_scale > 8 * EPS * np.abs(state.x_mean)
        scale = np.where(varies, state.x_scale, 1.0)
        self.Z = np.ascontiguousarray(np.where(varies, (rows - state.x_mean) / scale, 0.0))
        # Weights in these coordinates are those in the units of X times `factor`.
        self.factor = np.append(scale, 1.0)
        self.y, self.weight = (np.require(values, requirements=["W"]) for values in (target, weight))
        self.bias, self.total = bias, float(weight.sum())
        self.n_weights = bias + int(varies.sum())
        # The mean of ‖φ‖² over all rows seen, because the columns have unit variance.
        self.power = max(self.n_weights, 1.0)
        self.squares = bias + np.einsum("ij,ij->i", self.Z, self.Z)

    def residual(self, w: Array) -> Array:
        return self.y - self.Z @ w[:-1] - self.bias * w[-1]

    def rss(self, residual: Array) -> float:
        return float(self.weight @ np.square(residual))

    def gradient(self, residual: Array) -> tuple[Array, float]:
        """Σ ω r φ, and the largest correlation of a column with the residuals, relative to that with the target."""
        pull = self.weight * residual
        gradient = np.append(pull @ self.Z, self.bias * pull.sum())
        norms = np.sqrt(np.append(self.weight @ np.square(self.Z), self.bias * self.total))
        slope = float((np.abs(gradient) / np.where(norms > 0, norms, 1.0)).max())
        center = np.average(self.y, weights=self.weight) if self.bias else 0.0
        size = np.sqrt(self.rss(self.y - center))
        # Below the rounding error of the targets there is no correlation.
        return gradient, max(slope - 8 * EPS * np.sqrt(self.rss(self.y)), 0.0) / size if size > 0 else 0.0


class LMSRegression(Regressor):
    """Linear regression by the least-mean-squares (LMS) rule, one sample at a time.

        w ← w + η (yₙ − wᵀφₙ) φₙ                                                       (Bishop 3.23)

    The stored state is a few vectors of length p, so `partial_fit` handles streams of any length. `fit` passes over
    the rows until the residuals are uncorrelated with every column, which is the least-squares solution.

    Parameters
    ----------
    step : "auto" or float, default "auto"
        A number is the η of the textbook's rule, on φ = (1, x) as it comes and from w = 0; a step that makes
        the errors grow is refused. "auto" can't diverge and doesn't depend on the units of the columns: the
        rule works on columns brought to mean 0 and variance 1 by the moments of all rows seen so far, with
        η = (1 + t/10q)^(−2/3)/q at the t-th sample, q being the mean of ‖φ‖², and never more than 1/‖φₙ‖². In
        `fit`, from the second pass on, the noise that a single row brings into the step is taken out
        (SVRG: Johnson & Zhang 2013), so that the step needn't fall and the passes converge to least squares
        geometrically.
    n_epochs : int, default 500
        Maximum number of passes of `fit`. 1 is a single pass of the plain rule.
    average : bool, default False
        Predict with the average of the iterates, later ones counting more (Polyak & Juditsky 1992; Shamir &
        Zhang 2013), instead of the last one: steadier on noisy streams and with a fixed step.
    fit_intercept : bool, default True
    shuffle : bool, default True
        Whether `fit` visits the rows in a new random order in each pass; identical rows are then merged, so neither
        the order of the rows nor whether a row is repeated or weighted matters. False keeps the given order, as
        `partial_fit` always does.
    random_state : None, int, Generator or RandomState, default None
    tol : float, default 1e-7
        `fit` stops when the largest inner product of a column with the residuals, relative to the norms of the column
        and of the centred target, is at most tol.

    Attributes
    ----------
    coef_, intercept_ : weights
    noise_std_ : standard deviation of the noise: by `fit` from the residuals and their degrees of freedom, by
        `partial_fit` (and when no degrees of freedom are left) from the running one-step-ahead errors
    n_seen_ : observations so far (the sum of their weights)
    n_iter_ : passes of `fit`, or batches of `partial_fit`
    result_ : outcome of the fit

    Examples
    --------
    >>> import numpy as np
    >>> from credo import LMSRegression
    >>> rng = np.random.default_rng(0)
    >>> model = LMSRegression(average=True, random_state=0)
    >>> for _ in range(100):  # a stream
    ...     X = rng.normal(size=(50, 2))
    ...     model = model.partial_fit(X, X @ [1.0, -2.0] + 3.0 + 0.1 * rng.normal(size=50))
    >>> model.coef_.round(2), round(model.intercept_, 2), round(model.noise_std_, 2)
    (array([ 1., -2.]), 3.0, 0.1)
    """

    coef_: Array
    intercept_: float
    noise_std_: float
    n_seen_: float
    n_iter_: int
    # What a stream is resumed from: moments of the columns; last and average weights, the level at x_mean_ last.
    x_mean_: Array
    x_scale_: Array
    last_: Array
    average_: Array
    centered_: bool

    def __init__(
        self,
        step: float | Literal["auto"] = "auto",
        *,
        n_epochs: int = 500,
        average: bool = False,
        fit_intercept: bool = True,
        shuffle: bool = True,
        random_state: Any = None,
        tol: float = 1e-7,
    ) -> None:
        self.step = step
        self.n_epochs = n_epochs
        self.average = average
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.random_state = random_state
        self.tol = tol

    def _check_state(self) -> None:
        super()._check_state()
        sizes = {"d": self.n_features_in_}
        check_shapes(self, sizes, x_mean_="d", x_scale_="d", coef_="d", last_="d+1", average_="d+1")
        if not np.isnan(self.noise_std_):
            check_positive(self, "noise_std_", zero=True, square=True)

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model; a sample weight of k is equivalent to k copies of the row."""
        self._check_arguments()
        rows, target, weight = self._training_rows(X, y, sample_weight)
        rng = generator(self.random_state)
        with np.errstate(all="ignore"):
            weight = np.ones(len(target)) if weight is None else weight
            if self.shuffle:
                first, _, weight = merge_equal_rows(np.column_stack([target, rows]), weight)
                rows, target = rows[first], target[first]
            state, batch = self._enter(None, rows, target, weight)
            state = self._pass(state, batch, self._order(np.arange(len(target)), rng))
            state, n_iter, correlation = self._passes(state, batch, rng)
            if batch.total > batch.n_weights:
                rss = batch.rss(batch.residual(self._chosen(state)))
                state = replace(state, noise=float(np.sqrt(rss / (batch.total - batch.n_weights))))
            self._leave(state, batch, n_iter)
        self.result_ = self._outcome(correlation)
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Update the fit with further rows, in the given order; a sample weight of k is equivalent to k copies."""
        self._check_arguments()
        state = None
        if hasattr(self, "n_seen_"):
            state = _State(self.n_seen_, self.x_mean_, self.x_scale_, self.last_, self.average_, self.noise_std_)
        rows, target, weight = self._training_rows(X, y, sample_weight, reset=state is None)
        if state is not None:
            same_intercept(self.centered_, self.fit_intercept)
        with np.errstate(all="ignore"):
            n_iter = 1 if state is None else self.n_iter_ + 1
            weight = np.ones(len(target)) if weight is None else weight
            state, batch = self._enter(state, rows, target, weight)
            self._leave(self._pass(state, batch, np.arange(len(target))), batch, n_iter)
        batches = "1 batch" if n_iter == 1 else f"{n_iter} batches"
        message = f"{self.n_seen_:g} observations in {batches}; one-step-ahead error about {self.noise_std_:.3g}"
        self.result_ = Result(True, n_iter, message)
        return self

    def summary(self, *, level: float = 0.95) -> Table:
        """The coefficients, without standard deviations, because LMS doesn't estimate a covariance."""
        check_is_fitted(self)
        interval_level(level)
        lines = [("intercept", self.intercept_)] if self.fit_intercept else []
        lines += zip(self._feature_names(), self.coef_, strict=True)
        noise = f"noise sd {self.noise_std_:.4g}; for standard errors use LinearRegression"
        return Table.of_estimates("Linear regression by least mean squares", lines, notes=(noise, self.result_.message))

    def _dist(self, rows: Array, *, latent: bool) -> Normal:
        if latent:
            raise ValueError(
                "LMSRegression has no covariance of its coefficients, so latent=True is not available: use "
                "LinearRegression or BayesianLinearRegression"
            )
        if np.isnan(self.noise_std_):
            raise ValueError("the noise can't be estimated from one observation: fit more rows")
        return Normal(self._mean(rows), np.full(len(rows), self.noise_std_))

    def _mean(self, X: Array) -> Array:
        # About the mean of the inputs, where an offset costs no digits.
        return (X - self.x_mean_) @ self.coef_ + float((self.average_ if self.average else self.last_)[-1])

    def _chosen(self, state: _State) -> Array:
        """The weights that predict."""
        return state.average if self.average else state.last

    def _is_automatic(self) -> bool:
        return isinstance(self.step, str)

    def _check_arguments(self) -> None:
        if self._is_automatic():
            choice("step", self.step, ("auto",))
        else:
            positive("step", self.step)
        positive_integer("n_epochs", self.n_epochs)
        nonnegative("tol", self.tol)
        for name in ("average", "fit_intercept", "shuffle"):
            choice(name, getattr(self, name), (True, False))

    def _enter(self, state: _State | None, rows: Array, target: Array, weight: Array) -> tuple[_State, _Batch]:
        """The batch, and the state in its coordinates."""
        if state is None:
            zero = np.zeros(rows.shape[1])
            start = np.append(zero, np.average(target, weights=weight) * (self._is_automatic() and self.fit_intercept))
            state = _State(0.0, zero, zero + 1.0, start, start, np.nan)
        if self._is_automatic():
            state = state.with_moments_of(rows, weight, center=self.fit_intercept)
        batch = _Batch(state, rows, target, weight, bias=float(self.fit_intercept))
        return replace(state, last=state.last * batch.factor, average=state.average * batch.factor), batch

    def _leave(self, state: _State, batch: _Batch, n_iter: int) -> None:
        """Store what was learned, unless a number has overflowed."""
        state = replace(state, last=state.last / batch.factor, average=state.average / batch.factor)
        chosen = self._chosen(state)
        intercept = float(chosen[-1] - state.x_mean @ chosen[:-1])
        if not np.isfinite([*state.last, *state.average, intercept, np.nan_to_num(state.noise)]).all():
            raise ValueError(_OVERFLOW)
        self.n_seen_, self.x_mean_, self.x_scale_ = state.n_seen, state.x_mean, state.x_scale
        self.last_, self.average_, self.noise_std_ = state.last, state.average, state.noise
        self.coef_, self.intercept_, self.n_iter_ = chosen[:-1].copy(), intercept, n_iter
        self.centered_ = bool(self.fit_intercept)

    def _order(self, visits: Order, rng: np.random.Generator) -> Order:
        return rng.permutation(visits) if self.shuffle else visits

    def _pass(self, state: _State, batch: _Batch, order: Order) -> _State:
        """One pass of the LMS rule."""
        last, average = state.last.copy(), state.average.copy()
        track = np.array([state.n_seen, state.noise**2], dtype=np.float64)
        automatic, power = self._is_automatic(), batch.power
        limit = np.inf if automatic else _DIVERGED * float(np.fmax(np.abs(batch.y).max(), state.noise))
        step, decay = (1.0 / power, 2 / 3) if automatic else (float(self.step), 0.0)
        stopped = lms_pass(
            batch.Z, batch.y, batch.weight, order, last, average, track, step, _PATIENCE * power, decay, automatic,
            batch.bias, limit,
        )  # fmt: skip
        if automatic and stopped >= 0:
            raise ValueError(_OVERFLOW)
        if not automatic and (stopped >= 0 or not np.isfinite(last).all()):
            raise ValueError(
                f"step={self.step!r} is too large for these rows: the errors diverge. Use a step below "
                f"{2 / batch.squares.max():.2g}, or step='auto'"
            )
        return replace(state, n_seen=float(track[0]), last=last, average=average, noise=float(np.sqrt(track[1])))

    def _passes(self, state: _State, batch: _Batch, rng: np.random.Generator) -> tuple[_State, int, float]:
        """Further passes, until the least-squares solution is reached or `n_epochs` are over.

        With an automatic step they are those of SVRG; one that makes the fit worse is undone, and the step halved.
        """
        step, residual = 0.5 / batch.power, batch.residual(self._chosen(state))
        share, visits = batch.weight / batch.weight.mean(), np.arange(len(residual))
        for n_iter in range(1, self.n_epochs + 1):
            gradient, correlation = batch.gradient(residual)
            if correlation <= self.tol or n_iter == self.n_epochs:
                break
            if not self._is_automatic():
                state = self._pass(state, batch, self._order(visits, rng))
                residual = batch.residual(self._chosen(state))
                continue
            # A row with a large φ or weight is visited several times, each time with a part of its weight.
            repeats = np.maximum(np.ceil(step * share * batch.squares / _VISIT_SHARE), 1.0).astype(np.intp)
            order = self._order(np.repeat(visits, repeats), rng)
            delta = np.zeros_like(state.last)
            correction_pass(batch.Z, share / repeats, order, gradient / batch.total, step, batch.bias, delta)
            w = self._chosen(state) + delta
            trial = batch.residual(w)
            if batch.rss(trial) <= batch.rss(residual) * (1 + 1e-10):
                state, residual = replace(state, last=w, average=w.copy()), trial
            else:
                step /= 2
        return replace(state, n_seen=batch.total), n_iter, correlation

    def _outcome(self, correlation: float) -> Result:
        passes = f"{self.n_iter_} passes" if self.n_iter_ > 1 else "one pass"
        if correlation <= self.tol:
            return Result(True, self.n_iter_, f"converged in {passes} (residual correlation {correlation:.1e})")
        cure = "increase n_epochs, or use LinearRegression, which is solved directly"
        if not self._is_automatic():
            cure = "with a fixed step, decrease it, set average=True, or use step='auto'"
        message = (
            f"did not converge in {passes} (residual correlation {correlation:.1e} above tol={self.tol:g}): {cure}"
        )
        warn(message, ConvergenceWarning, stacklevel=3)
        return Result(False, self.n_iter_, message)


def _root_mean_square(values: Array, share: Array) -> Array:
    """√(Σ share v²) of each column, without overflow."""
    largest = np.abs(values).max(axis=0)
    unit = np.where(largest > 0, largest, 1.0)
    return unit * np.sqrt(share @ np.square(values / unit))
