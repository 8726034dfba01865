"""Linear regression learned one sample at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from credo.distributions import Normal
from credo.estimator import (
    ConvergenceWarning,
    Regressor,
    Result,
    check_shapes,
    choice,
    interval_level,
    nonnegative,
    positive,
    positive_integer,
)
from credo.frames import Table
from credo.linear._batch import Batch, Memory
from credo.linear._jit import correction_pass, lms_pass
from credo.linear._rows import same_intercept
from credo.notices import warn
from credo.seeds import generator

Array = NDArray[np.float64]
Order = NDArray[np.intp]

# The error of a stable rule stays within this many times the largest target.
_BLOW_UP = 1e6
# Observations per weight after which the automatic step begins to fall.
_PATIENCE = 10.0
# Part of a single-row error that one visit of a correction pass may remove.
_VISIT_SHARE = 0.5
_BEYOND = "the coefficients overflow double precision, so these rows were not used: rescale the columns or the target"


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
    random_state : None, int, Generator or RandomState, default 0
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
    >>> model = LMSRegression(average=True)
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
        random_state: Any = 0,
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

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from a table; a weight of k is the same as k copies of the row."""
        self._check_arguments()
        rows, target, weight = self._training_rows(X, y, sample_weight)
        rng = generator(self.random_state)
        with np.errstate(all="ignore"):
            memory, batch = self._enter(None, rows, target, weight)
            batch = batch.merged() if self.shuffle else batch
            memory = self._pass(memory, batch, self._order(batch.visits, rng))
            more = self._corrected if self._is_automatic() else self._repeated
            memory, n_iter, correlation = more(memory, batch, rng)
            memory = replace(memory, noise=self._residual_noise(memory, batch))
            self._leave(memory, batch, n_iter)
        self.result_ = self._outcome(correlation)
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Update the fit with further rows, in the given order; a sample weight of k is equivalent to k copies."""
        self._check_arguments()
        first = not hasattr(self, "n_seen_")
        rows, target, weight = self._training_rows(X, y, sample_weight, reset=first)
        if not first:
            same_intercept(self.centered_, self.fit_intercept)
        with np.errstate(all="ignore"):
            memory, batch = self._enter(None if first else self._memory(), rows, target, weight)
            memory = self._pass(memory, batch, batch.visits)
            self._leave(memory, batch, 1 if first else self.n_iter_ + 1)
        self.result_ = Result(
            True,
            self.n_iter_,
            f"{self.n_seen_:g} observations in {self.n_iter_} {'batches' if self.n_iter_ > 1 else 'batch'}; "
            f"one-step-ahead error about {self.noise_std_:.3g}",
        )
        return self

    def summary(self, *, level: float = 0.95) -> Table:
        """The coefficients, without standard deviations, because LMS doesn't estimate a covariance."""
        check_is_fitted(self)
        interval_level(level)
        names, estimates = self._feature_names(), list(self.coef_)
        if self.fit_intercept:
            names, estimates = ["intercept", *names], [self.intercept_, *estimates]
        return Table(
            "Linear regression by least mean squares",
            {"parameter": names, "estimate": estimates, "sd": [None] * len(names)},
            notes=(
                f"noise sd {self.noise_std_:.4g}; for standard errors use LinearRegression",
                self.result_.message,
            ),
        )

    def _dist(self, rows: Array, *, latent: bool) -> Normal:
        """The weights as learned, and the noise."""
        if latent:
            raise ValueError(
                "LMSRegression has no covariance of its coefficients, so latent=True is not available: use "
                "LinearRegression or BayesianLinearRegression"
            )
        if np.isnan(self.noise_std_):
            raise ValueError("the noise can't be estimated from one observation: fit more rows")
        return Normal(self._mean(rows), np.full(len(rows), self.noise_std_))

    def _mean(self, X: Array) -> Array:
        return (X - self.x_mean_) @ self.coef_ + float(self._chosen(self.last_, self.average_)[-1])

    def _chosen(self, last: Array, average: Array) -> Array:
        """The weights and level that predict."""
        return average if self.average else last

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

    def _memory(self) -> Memory:
        return Memory(self.n_seen_, self.x_mean_, self.x_scale_, self.last_, self.average_, self.noise_std_)

    def _enter(self, memory: Memory | None, rows: Array, target: Array, weight: Array | None) -> tuple[Memory, Batch]:
        """The memory in the batch's coordinates, and the batch."""
        weight = np.ones(len(target)) if weight is None else weight
        first = memory is None
        if memory is None:
            zero = np.zeros(rows.shape[1])
            start = float(np.average(target, weights=weight))
            start *= self._is_automatic() and self.fit_intercept
            memory = Memory(0.0, zero, zero + 1.0, np.append(zero, start), np.append(zero, start), np.nan)
        if self._is_automatic():
            memory = memory.joined(rows, weight, center=self.fit_intercept, first=first)
        batch = Batch.of(memory, rows, target, weight, bias=float(self.fit_intercept))
        return batch.scaled(memory), batch

    def _leave(self, memory: Memory, batch: Batch, n_iter: int) -> None:
        """Store what was learned, unless the numbers ran out."""
        memory = batch.natural(memory)
        chosen = self._chosen(memory.last, memory.average)
        intercept = float(chosen[-1] - memory.x_mean @ chosen[:-1])
        if not np.isfinite([*memory.last, *memory.average, intercept, np.nan_to_num(memory.noise)]).all():
            raise ValueError(_BEYOND)
        self.n_seen_, self.x_mean_, self.x_scale_ = memory.n_seen, memory.x_mean, memory.x_scale
        self.last_, self.average_, self.noise_std_ = memory.last, memory.average, memory.noise
        self.coef_, self.intercept_, self.n_iter_ = chosen[:-1].copy(), intercept, n_iter
        self.centered_ = bool(self.fit_intercept)

    def _order(self, visits: Order, rng: np.random.Generator) -> Order:
        return rng.permutation(visits) if self.shuffle else visits

    def _pass(self, memory: Memory, batch: Batch, order: Order) -> Memory:
        """One pass of the plain rule."""
        last, average = memory.last.copy(), memory.average.copy()
        track = np.array([memory.n_seen, memory.noise**2])
        automatic, power = self._is_automatic(), batch.power()
        limit = _BLOW_UP * float(np.fmax(np.abs(batch.y).max(), memory.noise))
        stopped = lms_pass(
            batch.Z, batch.y, batch.weight, order, last, average, track,
            1.0 / power if automatic else float(self.step), _PATIENCE * power, 2 / 3 if automatic else 0.0,
            automatic, batch.bias, np.inf if automatic else limit,
        )  # fmt: skip
        if automatic and stopped >= 0:
            raise ValueError(_BEYOND)
        if not automatic and (stopped >= 0 or not np.isfinite(last).all()):
            raise ValueError(
                f"step={self.step!r} is too large for these rows: the errors diverge. Use a step below "
                f"{2 / batch.squares().max():.2g}, or step='auto'"
            )
        return replace(memory, n_seen=float(track[0]), last=last, average=average, noise=float(np.sqrt(track[1])))

    def _repeated(self, memory: Memory, batch: Batch, rng: np.random.Generator) -> tuple[Memory, int, float]:
        """Further passes of the plain rule, until least squares or the last pass."""
        for n_iter in range(1, self.n_epochs + 1):
            residual = batch.residual(self._chosen(memory.last, memory.average))
            correlation = batch.correlation(batch.gradient(residual))
            if correlation <= self.tol or n_iter == self.n_epochs:
                break
            memory = self._pass(memory, batch, self._order(batch.visits, rng))
        return replace(memory, n_seen=batch.total()), n_iter, correlation

    def _corrected(self, memory: Memory, batch: Batch, rng: np.random.Generator) -> tuple[Memory, int, float]:
        """Further passes without the rows' noise; a pass that makes the fit worse is undone and its step halved."""
        w = self._chosen(memory.last, memory.average)
        step, squares = 0.5 / batch.power(), batch.squares()
        share = batch.weight / batch.weight[batch.visits].mean()
        residual = batch.residual(w)
        for n_iter in range(1, self.n_epochs + 1):
            gradient = batch.gradient(residual)
            correlation = batch.correlation(gradient)
            if correlation <= self.tol or n_iter == self.n_epochs:
                break
            # A row with a large φ or weight is visited often, each time for a part of its weight.
            repeats = np.maximum(np.ceil(step * share * squares / _VISIT_SHARE), 1.0).astype(np.intp)
            order = self._order(np.repeat(batch.visits, repeats[batch.visits]), rng)
            delta = np.zeros_like(w)
            correction_pass(batch.Z, share / repeats, order, gradient / batch.total(), step, batch.bias, delta)
            trial = batch.residual(w + delta)
            if batch.rss(trial) <= batch.rss(residual) * (1 + 1e-10):
                w, residual = w + delta, trial
            else:
                step /= 2
        if n_iter > 1:
            memory = replace(memory, last=w, average=w.copy())
        return replace(memory, n_seen=batch.total()), n_iter, correlation

    def _residual_noise(self, memory: Memory, batch: Batch) -> float:
        dof = batch.total() - batch.n_weights()
        if dof <= 0:
            return memory.noise
        residual = batch.residual(self._chosen(memory.last, memory.average))
        return float(np.sqrt(batch.rss(residual) / dof))

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
