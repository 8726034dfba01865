"""Linear regression learned one sample at a time."""

import warnings
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from credo.distributions import Distribution, Normal
from credo.estimator import FitWarning, Regressor, Result, choice, nonnegative, positive, positive_integer
from credo.frames import Table
from credo.linear._jit import correction_pass, lms_pass

Array = NDArray[np.float64]
Order = NDArray[np.intp]

_EPS = float(np.finfo(np.float64).eps)
# The error of a stable rule stays within this many times the largest target.
_BLOW_UP = 1e6
# Observations per weight after which the automatic step begins to fall.
_PATIENCE = 10.0
# Part of a single-row error that one visit of a correction pass may remove.
_VISIT_SHARE = 0.5


class LMSRegression(Regressor):
    """Sequential least squares: the least-mean-squares rule, one sample at a time.

        w ← w + η (yₙ − wᵀφₙ) φₙ                                                       (Bishop 3.23)

    The state is a few vectors of p numbers, so that `partial_fit` reads streams of any length. `fit` passes over a
    table until the residuals are uncorrelated with every column, which is least squares.

    Parameters
    ----------
    step : "auto" or float, default "auto"
        A number is the η of the textbook's rule, on φ = (1, x) as it comes and from w = 0; a step that makes the
        errors grow is refused. "auto" can't diverge and doesn't depend on the units of the columns: the rule works
        on columns brought to mean 0 and variance 1 by the moments of all rows seen so far, with
        η = (1 + t/10q)^(−2/3)/q at the t-th sample, q being the mean of ‖φ‖², and never more than 1/‖φₙ‖². In `fit`,
        from the second pass on, the noise that a single row brings into the step is taken out (SVRG: Johnson & Zhang
        2013), so that the step needn't fall and the passes converge to least squares geometrically.
    n_epochs : int, default 500
        The most passes that `fit` makes. 1 is one pass of the plain rule.
    average : bool, default False
        Predict with the average of the iterates, later ones counting more (Polyak & Juditsky 1992; Shamir & Zhang
        2013), instead of the last one: steadier on noisy streams and with a fixed step.
    fit_intercept : bool, default True
    shuffle : bool, default True
        Whether `fit` visits the rows in random order, a new one each pass; equal rows are then taken together, so
        that neither their order nor whether a row is repeated or weighted shows. False keeps the given order.
        `partial_fit` always keeps it.
    random_state : int, RandomState or None, default 0
    tol : float, default 1e-7
        `fit` ends when no column's correlation with the residuals, relative to the target's spread, is above
        this.

    Attributes
    ----------
    coef_, intercept_ : weights
    noise_std_ : standard deviation of the noise: by `fit` from the residuals and their degrees of freedom, by
        `partial_fit` (and when no degrees of freedom are left) from the running one-step-ahead errors
    n_seen_ : observations so far (the sum of their weights)
    n_iter_ : passes of `fit`, or batches of `partial_fit`
    result_ : how the fit ended

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

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from a table; a weight of k is the same as k copies of the row."""
        self._check_arguments()
        rows, target, weight = self._training_rows(X, y, sample_weight)
        self._begin(rows.shape[1])
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            batch = self._batch(rows, target, weight)
            if self.shuffle:
                batch = batch.merged()
            rng = check_random_state(self.random_state)
            self._pass(batch, self._order(batch, rng))
            if self._automatic:
                outcome = self._correct(batch, rng)
            else:
                outcome = self._repeat(batch, rng)
            self.n_seen_ = batch.total
            self.n_iter_, correlation = outcome
            self._adopt(batch)
            self.noise_std_ = self._residual_std(batch)
        self.result_ = self._fit_result(correlation)
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from further rows, in their order; a weight of k is the same as k copies in a row."""
        self._check_arguments()
        first = not hasattr(self, "n_seen_")
        rows, target, weight = self._training_rows(X, y, sample_weight, reset=first)
        before = dict(vars(self))
        try:
            if first:
                self._begin(rows.shape[1])
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                batch = self._batch(rows, target, weight)
                self._pass(batch, np.arange(len(target)))
                self.n_seen_ += batch.total
                self.n_iter_ += 1
                self._adopt(batch)
        except ValueError:
            vars(self).clear()
            vars(self).update(before)
            raise
        self.result_ = Result(
            True,
            self.n_iter_,
            f"{self.n_seen_:g} observations in {self.n_iter_} batches; the error of a one-step-ahead prediction "
            f"is about {self.noise_std_:.3g}",
        )
        return self

    def predict_dist(self, X: ArrayLike) -> Distribution:
        """Normal prediction of a new observation at each row: the weights as learned, and the noise."""
        rows = self._predict_rows(X)
        if np.isnan(self.noise_std_):
            raise ValueError("one observation says nothing about the noise: learn from more rows")
        return Normal(self._mean(rows), np.full(len(rows), self.noise_std_))

    def summary(self) -> Table:
        """The weights; the rule keeps no covariance, so they have no standard deviations."""
        check_is_fitted(self)
        names, estimates = self._feature_names(), list(self.coef_)
        if self.fit_intercept:
            names, estimates = ["intercept", *names], [self.intercept_, *estimates]
        return Table(
            "Linear regression by least mean squares",
            {"parameter": names, "estimate": estimates, "sd": [np.nan] * len(names)},
            notes=(
                f"noise sd {self.noise_std_:.4g}; LinearRegression gives standard errors, which one-sample learning "
                f"doesn't; {self.result_.message}",
            ),
        )
