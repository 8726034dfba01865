"""Logistic regression: maximum likelihood, or the maximum of the posterior."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.estimator import FitWarning, LinearClassifier, Result, choice, nonnegative, positive, positive_integer
from credo.linear._maximum import Maximum, maximize, posed
from credo.linear._separable import SeparationWatch
from credo.linear._softmax import Task
from credo.linear._steepest import Path, ascend
from credo.notices import warn

Array = NDArray[np.float64]


class LogisticRegression(LinearClassifier):
    """Log odds that are linear in x, by maximum likelihood or with a penalty on the weights.

        max Σᵢ ln σ(yᵢ(xᵢᵀw + b)) − (α/2)‖w‖²,    y = ±1                                    (Bishop 4.90)

    α = 0 is maximum likelihood; α > 0 is the MAP estimate under w ~ N(0, α⁻¹I). The intercept is free. More than two
    classes have the softmax of one linear logit each, in the symmetric gauge: the weights of the classes sum to zero
    (for α > 0 they do so by themselves), and so do the intercepts. Equivalent to scikit-learn's `LogisticRegression`
    with C = 1/α.

    Where a linear boundary tells the classes apart without error, the likelihood has no maximum. That is found out, by
    a boundary that does it or by a linear program, and said in a `FitWarning`; the fit ends with weights that separate,
    or, where the boundary has ties on it, on the way there. Columns that depend on one another get the weights of
    smallest norm, and a warning.

    Parameters
    ----------
    alpha : float, default 0.0
        The penalty, or the precision of the prior.
    solver : "newton" or "ascent", default "newton"
        Newton's method (iterated reweighted least squares) with a line search, or steepest ascent, which is there to be
        watched: `path_` holds its steps.
    fit_intercept : bool, default True
    class_weight : "balanced", dict or None, default None
        Factors for the weights of the rows by their label.
    tol : float, default 1e-8
        Newton's method ends when its next step would be below this many standard deviations of the estimate; steepest
        ascent is content sooner.
    max_iter : int, default 1000

    Attributes
    ----------
    coef_ : weights, (1, n_features), or (n_classes, n_features) for more than two classes
    intercept_ : offsets, (1,) or (n_classes,)
    coef_std_error_, intercept_std_error_ : their standard errors, from the curvature at the maximum; with alpha=0 and
        the solver "newton" only (`BayesianLogisticRegression` has the spread of penalised weights). Infinite where the
        data don't determine a weight, absent where there are too many parameters
    log_likelihood_ : Σ ωᵢ ln p(yᵢ|xᵢ) at the estimate
    n_parameters_, n_observations_ : free parameters, and the sum of the weights
    path_ : weights, intercepts and objective after each step of steepest ascent
    n_iter_, result_ : how the fit ended

    Examples
    --------
    >>> from credo.linear import LogisticRegression
    >>> hours = [[0.5], [1.0], [1.5], [2.0], [2.5], [3.0], [3.5], [4.0]]
    >>> passed = ["no", "no", "yes", "no", "no", "yes", "yes", "yes"]
    >>> model = LogisticRegression().fit(hours, passed)
    >>> model.coef_.round(2), model.coef_std_error_.round(2)
    (array([[1.65]]), array([[1.09]]))
    >>> model.predict_proba([[2.25]]).round(2)
    array([[0.5, 0.5]])
    """

    _accepts_sparse = True

    log_likelihood_: float
    n_parameters_: int
    n_observations_: float
    n_iter_: int
    path_: Path
    coef_std_error_: Array
    intercept_std_error_: Array

    def __init__(
        self,
        alpha: float = 0.0,
        *,
        solver: Literal["newton", "ascent"] = "newton",
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        self.alpha = alpha
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter

    @property
    def _title(self) -> str:  # type: ignore[override]
        return "Logistic regression by maximum likelihood" if self.alpha == 0 else "Logistic regression, penalised"

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from a table; a weight of k is the same as k copies of the row."""
        alpha, tol = nonnegative("alpha", self.alpha), positive("tol", self.tol)
        choice("solver", self.solver, ("newton", "ascent"))
        max_iter = positive_integer("max_iter", self.max_iter)
        self._forget()
        rows, codes, weight = self._training_rows(X, y, sample_weight, class_weight=self.class_weight)
        task = posed(
            rows, codes, weight, n_classes=len(self.classes_), penalty=alpha, intercept=bool(self.fit_intercept)
        )
        watch = SeparationWatch() if alpha == 0 else None
        if self.solver == "newton":
            top = maximize(task, tol=tol, max_iter=max_iter, watch=watch, curved=alpha == 0)
        else:
            top = self._ascended(task, tol, max_iter, watch)
        point = top.summit.point
        self.coef_, self.intercept_ = top.coef, top.intercept
        self.log_likelihood_, self.n_parameters_ = point.log_likelihood, top.n_parameters
        self.n_observations_, self.n_iter_ = task.total, max(top.summit.n_iter, 1)
        if alpha == 0 and top.summit.curvature is not None:
            self.coef_std_error_, self.intercept_std_error_ = top.std_errors()
            if top.summit.obstacle:
                self.coef_std_error_[:], self.intercept_std_error_[:] = np.inf, np.inf
        self.result_ = self._outcome(top)
        return self

    def _ascended(self, task: Task, tol: float, max_iter: int, watch: SeparationWatch | None) -> Maximum:
        if task.intercept:
            # Unlike Newton's, this way depends on the centre.
            task = replace(task, center=np.asarray(task.weight @ task.X) / task.total)
        summit, visited = ascend(task, tol=tol, max_iter=max_iter, watch=watch)
        top = Maximum(task, summit, None, task.center)
        steps = [top.natural(point.theta) for point in visited]
        self.path_ = Path(
            np.array([coef for coef, _ in steps]),
            np.array([level for _, level in steps]),
            np.array([point.value for point in visited]),
        )
        return top

    def _scales(self) -> tuple[Array, Array] | None:
        if not hasattr(self, "coef_std_error_"):
            return None
        return self.coef_std_error_, self.intercept_std_error_

    def _notes(self) -> tuple[str, ...]:
        fit = f"log likelihood {self.log_likelihood_:.4f} of {self.n_observations_:g} observations"
        return f"{fit}, {self.n_parameters_} free parameters, alpha {self.alpha:g}", self.result_.message

    def _outcome(self, top: Maximum) -> Result:
        summit, steps = top.summit, f"{top.summit.n_iter} steps"
        if summit.obstacle:
            warn(summit.obstacle, FitWarning, stacklevel=3)
            return Result(False, summit.n_iter, summit.obstacle)
        if not summit.converged:
            message = (
                f"after {steps} the maximum is still {summit.decrement:.2g} standard deviations away: raise max_iter, "
                "or bring the columns to one scale"
            )
            if self.solver == "ascent":
                message += "; solver='newton' needs a few steps only"
            warn(message, FitWarning, stacklevel=3)
            return Result(False, summit.n_iter, message)
        message = f"{'Newton' if self.solver == 'newton' else 'steepest ascent'} converged in {steps}"
        if top.rotation is None or self.alpha > 0 or top.rotation.rank == len(top.center):
            return Result(True, summit.n_iter, message)
        message = (
            f"the {len(top.center)} columns have rank {top.rotation.rank}: the weights are those of smallest norm "
            "among all that fit equally well; drop columns, or use alpha>0 to tell them apart"
        )
        warn(message, FitWarning, stacklevel=3)
        return Result(True, summit.n_iter, message)
