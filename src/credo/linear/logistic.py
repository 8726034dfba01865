"""Logistic regression by maximum likelihood or with an ℓ₂ penalty, for rows in memory and for tables in parts.

For a table in parts, each evaluation of the objective is a sum over the chunks, in one pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from operator import add
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg as sla

from credo.core.estimator import (
    ConvergenceWarning,
    FitWarning,
    LinearClassifier,
    Result,
    choice,
    is_sparse,
    nonnegative,
    positive,
    positive_integer,
)
from credo.core.frames import Intervals
from credo.core.linalg import EPS, column_norms
from credo.core.notices import warn
from credo.core.parts import Chunk, Labels, LabelSurvey, Parts, in_parts, parts_of, survey_labels
from credo.linear._ascent import COLLINEAR, Monitor, Optimum, SeparationMonitor, newton, newton_cg, steepest_ascent
from credo.linear._rows import collinear, graded_axes
from credo.linear._softmax import MatrixFreeObjective, Objective, Point, Sums, contrasts

Array = NDArray[np.float64]

# With more parameters, the curvature isn't stored.
_MAX_STORED_PARAMETERS = 600


@dataclass(frozen=True)
class Path:
    """The steps of steepest ascent: weights, intercepts and the objective, at the start and after each step."""

    coef: Array
    intercept: Array
    objective: Array

    def __len__(self) -> int:
        return len(self.objective)


class LogisticRegression(LinearClassifier):
    """Logistic regression by maximum likelihood, or with an ℓ₂ penalty on the coefficients.

        max Σᵢ ln σ(yᵢ(xᵢᵀw + b)) − (α/2)‖w‖²,    y = ±1                                    (Bishop 4.90)

    α = 0 is maximum likelihood; α > 0 is the MAP estimate under w ~ N(0, α⁻¹I). The intercept is not penalized. More
    than two classes are modeled by a softmax (multinomial); coefficients and intercepts sum to zero over the classes.
    Equivalent to scikit-learn's `LogisticRegression` with C = 1/α.

    If the classes are linearly separable, the likelihood has no maximum. The fit detects this (by finding a separating
    boundary, or by linear programming) and issues a `ConvergenceWarning`; the coefficients then define a separating
    boundary, unless there are ties on it. For collinear columns the coefficients of smallest norm are given, with a
    warning.

    Parameters
    ----------
    alpha : float, default 0.0
        The penalty, or the precision of the prior.
    solver : "newton" or "ascent", default "newton"
        Newton's method (iteratively reweighted least squares) with a line search, or steepest ascent, which is slow but
        instructive: its steps are stored in `path_`.
    fit_intercept : bool, default True
    class_weight : "balanced", dict or None, default None
        Factors by which the sample weights of each class are multiplied.
    tol : float, default 1e-8
        Newton's method stops when its next step would be less than tol standard errors; steepest ascent stops sooner.
    max_iter : int, default 1000

    Attributes
    ----------
    coef_ : coefficients, (1, n_features), or (n_classes, n_features) for more than two classes
    intercept_ : intercepts, (1,) or (n_classes,)
    coef_std_error_, intercept_std_error_ : standard errors from the observed information, for alpha=0 and the solver
        "newton" only (for penalized coefficients see `BayesianLogisticRegression`). Infinite for a coefficient that the
        data don't determine, absent if there are too many parameters
    coef_cov_ : covariance of the coefficients, class by class, if there are standard errors; NaN for a pair if the data
        don't determine both
    log_likelihood_ : log likelihood at the estimate
    n_parameters_, n_observations_ : number of parameters, and sum of the sample weights
    path_ : coefficients, intercepts and objective after each step of steepest ascent
    n_iter_, result_ : iterations and convergence

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
    _accepts_parts = True

    log_likelihood_: float
    n_parameters_: int
    n_observations_: float
    n_iter_: int
    path_: Path
    coef_cov_: Array
    coef_std_error_: Array
    intercept_std_error_: Array

    def __init__(
        self,
        alpha: float = 0.0,
        *,
        solver: Literal["newton", "ascent"] = "newton",
        fit_intercept: bool = True,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
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
        return "Logistic regression by maximum likelihood" if self.alpha == 0 else "Logistic regression, penalized"

    def fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model; a sample weight of k is equivalent to k copies of the row.

        Instead of X and y, an iterable of chunks (X, y) or (X, y, weight) can be passed, or Dask arrays or frames; see
        `credo.core.parts`. Each Newton step reads all of them once.
        """
        alpha, tol = nonnegative("alpha", self.alpha), positive("tol", self.tol)
        choice("solver", self.solver, ("newton", "ascent"))
        max_iter = positive_integer("max_iter", self.max_iter)
        self._reset()
        if in_parts(X, y):
            return self._keep(self._maximum_in_parts(parts_of(X, y, sample_weight)))
        rows, codes, weight = self._training_rows(X, y, sample_weight, class_weight=self.class_weight)
        objective = objective_for(
            rows, codes, weight, n_classes=len(self.classes_), penalty=alpha, intercept=bool(self.fit_intercept)
        )
        monitor = SeparationMonitor() if alpha == 0 else None
        if self.solver == "newton":
            return self._keep(
                maximize(objective, tol=tol, max_iter=max_iter, monitor=monitor, exact_curvature=alpha == 0)
            )
        return self._keep(self._ascend(objective, tol, max_iter, monitor))

    def confint(self, level: float = 0.95) -> Intervals:
        """Wald's confidence intervals of all parameters: class by class, the intercept first.

        Returns
        -------
        Intervals
            Prints as a table with the names of the parameters and converts to a frame (`to_frame()`), or to an array of
            shape (n_parameters, 2) by `np.asarray`; `confint()["age"]` is one interval. Infinite for a
            coefficient that the data don't determine.
        """
        return self._confint(level)

    def _maximum_in_parts(self, parts: Parts) -> Maximum:
        if self.solver != "newton":
            raise ValueError(f"solver={self.solver!r} needs all rows in memory: use solver='newton'")
        found, labels = survey_labels(self, parts, self.class_weight)
        objective = objective_in_parts(
            parts, found, labels, penalty=float(self.alpha), intercept=bool(self.fit_intercept)
        )
        end = maximize_in_parts(objective, tol=float(self.tol), max_iter=int(self.max_iter))
        return Maximum(objective, end, objective.center)

    def _keep(self, top: Maximum) -> Self:
        optimum = top.optimum
        self.coef_, self.intercept_ = top.coefficients()
        self.log_likelihood_, self.n_parameters_ = optimum.point.log_likelihood, top.n_parameters
        self.n_observations_, self.n_iter_ = top.objective.total, max(optimum.n_iter, 1)
        if self.alpha == 0 and optimum.known_curvature is not None:
            self.coef_cov_, self.intercept_std_error_ = top.covariance()
            self.coef_std_error_ = np.sqrt(np.diagonal(self.coef_cov_)).reshape(self.coef_.shape)
        self.result_ = self._outcome(top)
        return self

    def _ascend(
        self, objective: Objective, tol: float, max_iter: int, monitor: SeparationMonitor | None
    ) -> Maximum:  # fmt: skip
        if objective.intercept:
            # Unlike Newton's method, steepest ascent depends on the center.
            objective = replace(objective, center=np.asarray(objective.weight @ objective.X) / objective.total)
        optimum, visited = steepest_ascent(objective, tol=tol, max_iter=max_iter, monitor=monitor)
        coefs, intercepts = zip(*(objective.coefficients(point.theta) for point in visited), strict=True)
        self.path_ = Path(np.array(coefs), np.array(intercepts), np.array([point.value for point in visited]))
        return Maximum(objective, optimum, objective.center)

    def _scales(self) -> tuple[Array, Array] | None:
        if not hasattr(self, "coef_std_error_"):
            return None
        return self.coef_std_error_, self.intercept_std_error_

    def _notes(self) -> tuple[str, ...]:
        fit = f"log likelihood {self.log_likelihood_:.4f} of {self.n_observations_:g} observations"
        return f"{fit}, {self.n_parameters_} free parameters, alpha {self.alpha:g}", self.result_.message

    def _outcome(self, top: Maximum) -> Result:
        end, steps = top.optimum, f"{top.optimum.n_iter} iterations"
        if end.failure:
            warn(end.failure, ConvergenceWarning, stacklevel=4)
            return Result(False, end.n_iter, end.failure)
        if not end.converged:
            message = (
                f"did not converge in {steps} ({end.decrement:.2g} standard errors from the maximum): increase "
                "max_iter, or standardize the columns"
            )
            if self.solver == "ascent":
                message += "; solver='newton' converges in a few iterations"
            warn(message, ConvergenceWarning, stacklevel=4)
            return Result(False, end.n_iter, message)
        message = f"converged in {steps}"
        if top.V is None or self.alpha > 0 or top.V.shape[1] == len(top.center):
            return Result(True, end.n_iter, message)
        message = collinear(top.V.shape[1], len(top.center), "drop columns, or use alpha>0")
        warn(message, FitWarning, stacklevel=4)
        return Result(True, end.n_iter, message)


@dataclass(frozen=True)
class Maximum:
    """A maximum, and the coordinates in which it was found.

    Few parameters: Newton's method with the whole curvature. Many: with its products only. Fewer rows than columns, or
    collinear columns: Newton's method in coordinates of the rows' span,

        X − c = Z Vᵀ,    w = V u,    ‖w‖ = ‖u‖

    where V has orthonormal columns. Weights outside the span change no score, so they are zero at the penalized maximum
    and at the maximum of smallest norm.
    """

    objective: Objective
    optimum: Optimum
    center: Array
    # V, and which single weights the rows determine; None if the coordinates are those of X − c.
    V: Array | None = None
    determined: NDArray[np.bool_] | None = None

    @property
    def n_parameters(self) -> int:
        """Free parameters that the rows determine."""
        return int(np.prod(self.objective.shape))

    def coefficients(self) -> tuple[Array, Array]:
        """Weights and intercepts in the units of X: one row for two classes, else one for each class."""
        coef, level = self.objective.coefficients(self.optimum.point.theta)
        if self.V is None:
            return coef, level
        coef = coef @ self.V.T
        return coef, level - coef @ self.center

    def covariance(self) -> tuple[Array, Array]:
        """The covariance of all weights, class by class, and standard errors of the intercepts, from the curvature.

        Variances that the rows don't determine are infinite, and their covariances NaN.
        """
        objective = self.objective
        m, width = objective.shape
        # H⁻¹ = AAᵀ, with a row of A for each parameter.
        A = self.optimum.curvature.root().T
        C = np.eye(1) if objective.n_classes == 2 else objective.contrasts
        by_class = np.einsum("ka,aws->kws", C, A.reshape(m, width, -1))
        weights = by_class[:, : objective.X.shape[1]]
        if self.V is not None:
            weights = np.einsum("jr,krs->kjs", self.V, weights)
        half = weights.reshape(-1, weights.shape[2])
        cov, level_errors = half @ half.T, np.zeros(len(C))
        if objective.intercept:
            level = by_class[:, -1] - np.einsum("j,kjs->ks", self.center, weights)
            level_errors = np.sqrt(np.square(level).sum(axis=1))
        unknown = np.zeros(len(cov), dtype=bool)
        if self.optimum.failure:
            unknown[:], level_errors[:] = True, np.inf
        elif self.determined is not None:
            unknown = np.tile(~self.determined, len(C))
        cov[unknown], cov[:, unknown] = np.nan, np.nan
        cov[unknown, unknown] = np.inf
        return cov, level_errors


def objective_for(
    X: Any, codes: NDArray[np.intp], weight: Array | None, *, n_classes: int, penalty: float, intercept: bool
) -> Objective:
    """The objective for validated rows, matrix-free if there are many parameters."""
    n_samples, n_features = X.shape
    weight = np.ones(n_samples) if weight is None else weight
    size = contrasts(n_classes).shape[1] * (n_features + intercept)
    kind = Objective if size <= _MAX_STORED_PARAMETERS else MatrixFreeObjective
    return kind(X, codes, weight, n_classes, _center(X) if intercept else np.zeros(n_features), penalty, intercept)


def maximize(
    objective: Objective, *, tol: float, max_iter: int, monitor: Monitor | None, exact_curvature: bool
) -> Maximum:  # fmt: skip
    """The maximum of an objective by Newton's method; see `newton` for the arguments."""
    n_samples, n_features = objective.X.shape
    small = n_samples * n_features <= 8_000_000
    if n_samples <= n_features and small and objective.shape[0] * n_samples <= _MAX_STORED_PARAMETERS:
        return _rotated(objective, tol=tol, max_iter=max_iter, monitor=monitor)
    if isinstance(objective, MatrixFreeObjective):
        end = newton_cg(objective, tol=tol, max_iter=max_iter, monitor=monitor)
        return Maximum(objective, end, objective.center)
    end = newton(objective, tol=tol, max_iter=max_iter, monitor=monitor, exact_curvature=exact_curvature)
    if end.failure == COLLINEAR:
        return _rotated(objective, tol=tol, max_iter=max_iter, monitor=monitor)
    return Maximum(objective, end, objective.center)


def _rotated(objective: Objective, *, tol: float, max_iter: int, monitor: Monitor | None) -> Maximum:
    """The maximum in coordinates of the rows' span."""
    center = objective.center
    X = objective.X.toarray() if is_sparse(objective.X) else objective.X
    R, _, V = graded_axes(X, None, center=center, size=center)
    rotated = Objective(
        (X - center) @ V,
        objective.codes,
        objective.weight,
        objective.n_classes,
        np.zeros(V.shape[1]),
        objective.penalty,
        objective.intercept,
    )
    end = newton(rotated, tol=tol, max_iter=max_iter, monitor=monitor, independent=True)
    # A single weight is determined if its axis lies in the span of the rows, with columns of unit length.
    norms = column_norms(R)
    _, s, Vt = sla.svd(R / np.where(norms > 0, norms, 1.0), full_matrices=False, check_finite=False)
    span = Vt[s > EPS * max(X.shape) * s.max(initial=0.0)]
    return Maximum(rotated, end, center, V, 1.0 - np.einsum("ij,ij->j", span, span) <= 1e-8)


def _center(X: Any) -> Array:
    if is_sparse(X):
        return np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    # Any center near the rows gives the same fit.
    sample = X[:: max(1, len(X) // 256)]
    # The second mean corrects the rounding error of the first, which would make a constant column vary.
    center = sample.mean(axis=0)
    return center + (sample - center).mean(axis=0)


@dataclass(frozen=True)
class PartsObjective(Objective):
    """L(Θ) for rows in parts; X, codes and weight are a sample of them, with the weight of all rows."""

    parts: Parts = field(kw_only=True)
    labels: Labels = field(kw_only=True)
    row_count: int = field(kw_only=True)

    @property
    def mean_weight(self) -> float:
        return self.total / self.row_count

    def start(self) -> Array:
        """No weights, and the intercepts at the log frequencies of the classes among all rows."""
        theta = np.zeros(self.shape)
        if self.intercept:
            level = np.log(self.labels.totals / self.labels.totals.sum())
            theta[:, -1] = level[1] - level[0] if len(level) == 2 else level @ self.contrasts
        return theta

    def evaluate(self, theta: Array, *, curvature: bool = True) -> Point:
        """The objective at Θ, in one pass over the table."""
        # Without penalties, which are added once for all chunks.
        empty = Objective(
            np.empty((0, 0)), np.empty(0, np.intp), np.empty(0), self.n_classes, self.center, 0.0, self.intercept
        )
        sums = self.parts.map_reduce(partial(_chunk_sums, theta, curvature, empty, self.labels), add)
        return self._penalized(theta, sums)

    @property
    def sample(self) -> Objective:
        """The objective of the sample alone."""
        return Objective(self.X, self.codes, self.weight, self.n_classes, self.center, self.penalty, self.intercept)


def _chunk_sums(theta: Array, curvature: bool, empty: Objective, labels: Labels, chunk: Chunk) -> Sums:
    """What a chunk adds to the objective."""
    rows, codes, weight = labels.read(chunk)
    found = replace(empty, X=rows, codes=codes, weight=weight).evaluate(theta, curvature=curvature)
    return Sums(found.log_likelihood, found.gradient, found.curvature, found.min_margin)


def objective_in_parts(
    parts: Parts, found: LabelSurvey, labels: Labels, *, penalty: float, intercept: bool
) -> PartsObjective:
    """The objective of the parts that were surveyed."""
    X, codes, weight = labels.read_sample(found.sample)
    n_classes = len(labels.classes)
    n_parameters = contrasts(n_classes).shape[1] * (X.shape[1] + intercept)
    if n_parameters > 5000:
        raise ValueError(
            f"{n_parameters} parameters are too many for a table in parts, whose curvature is stored: at most 5000. "
            "Use fewer columns, or a sample of the rows that fits into memory"
        )
    return PartsObjective(
        X,
        codes,
        weight * (labels.totals.sum() / weight.sum()),
        n_classes,
        _center(X) if intercept else np.zeros(X.shape[1]),
        penalty,
        intercept,
        parts=parts,
        labels=labels,
        row_count=found.sample.n_rows,
    )


def maximize_in_parts(objective: PartsObjective, *, tol: float, max_iter: int) -> Optimum:
    """The maximum by Newton's method, started at that of the sample, if it has one and no class is missing."""
    sample, start = objective.sample, objective.start()
    if np.unique(sample.codes).size == sample.n_classes:
        # A start needn't be accurate.
        near = newton(sample, start=start, tol=1.0, max_iter=20)
        if near.converged and not near.failure and near.point.min_margin <= 0:
            start = near.point.theta
    monitor = SeparationMonitor(exact=False) if objective.penalty == 0 else None
    end = newton(objective, start=start, tol=tol, max_iter=max_iter, monitor=monitor)
    if end.failure == COLLINEAR:
        raise ValueError(
            "the columns are collinear, so the maximum isn't unique: drop columns that repeat others or are constant, "
            "or set alpha to a number above 0"
        )
    return end
