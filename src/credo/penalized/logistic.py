"""Logistic regression with an ℓ₁ penalty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from credo.estimator import LinearClassifier, interval_level, positive, positive_integer
from credo.frames import Table
from credo.learning.coordinate import Labels, LogisticSolution, Rows, blas_threads_for, logistic_path
from credo.penalized.lasso import fit_result, shown_columns

Array = NDArray[np.float64]


class PenalizedClassifier(LinearClassifier):
    """What the classifiers with sparse coefficients share: fitted attributes and summary.

    A subclass has a `_title`; its `fit` ends in `_keep`.
    """

    _accepts_sparse = True
    _title: str

    alpha_: float
    selected_: list[str]
    dual_gap_: float
    log_likelihood_: float
    n_parameters_: int
    n_observations_: float
    n_iter_: int
    tol: float
    max_iter: int

    def summary(self, *, level: float = 0.95) -> Table:
        """The coefficients, without standard deviations as in `Lasso`; with many columns, the nonzero ones."""
        check_is_fitted(self)
        interval_level(level)
        features, shown = self._feature_names(), shown_columns(np.abs(self.coef_).max(axis=0))
        names, table = [str(features[j]) for j in shown], self.coef_[:, shown]
        if self.fit_intercept:
            names, table = ["intercept", *names], np.column_stack([self.intercept_, table])
        if len(self.classes_) > 2:
            names = [f"{label}: {name}" for label in self.classes_ for name in names]
        columns: dict[str, Any] = {"parameter": names, "estimate": list(table.ravel()), "sd": [None] * len(names)}
        return Table(self._title, columns, notes=self._notes())

    def _notes(self) -> tuple[str, ...]:
        n_features = self.coef_.shape[1]
        zero = f"{len(self.selected_)} of {n_features} columns have nonzero coefficients at alpha {self.alpha_:.4g}"
        return zero, self.result_.message

    def _sparse_format(self) -> str | bool:
        return "csc"

    def _keep(self, solution: LogisticSolution, labels: Labels, table: Any, alpha: float) -> None:
        """Set the fitted attributes from the solution for one α."""
        self.alpha_, total = alpha, float(labels.weight.sum())
        self.coef_, self.intercept_ = solution.W, solution.b
        if not labels.binary:
            self.intercept_ = solution.b - solution.b.mean()
        names = self._feature_names()
        self.selected_ = [names[j] for j in np.flatnonzero((self.coef_ != 0).any(axis=0))]
        self.dual_gap_, self.n_iter_ = solution.gap / total, max(solution.n_steps, 1)
        self.log_likelihood_ = -labels.evaluate(self._scores(table)).loss
        n_free = len(self.classes_) - 1 if self.fit_intercept else 0
        self.n_parameters_ = int(np.count_nonzero(self.coef_)) + n_free
        self.n_observations_ = total
        self.result_ = fit_result(solution.converged, solution.n_steps, solution.gap / labels.null_loss(), self.tol)


class SparseLogisticRegression(PenalizedClassifier):
    """Logistic regression with an ℓ₁ penalty, which sets coefficients to zero.

        min (1/n) Σᵢ −ln p(yᵢ | xᵢ) + α‖w‖₁,    p(1 | x) = σ(b + wᵀx)

    The intercept is not penalized. More than two classes are modelled by a softmax (multinomial, not one-vs-rest) with
    penalized coefficients for each class. Equivalent to scikit-learn's `LogisticRegression(l1_ratio=1, solver="saga")`
    with C = 1/(nα). Standardize the columns first, unless they are indicators.

    Predicted probabilities ignore the uncertainty of the coefficients.

    Parameters
    ----------
    alpha : float, default 0.01
        The penalty, positive. All coefficients are zero for α ≥ ``max_j |x_jᵀ(y − ȳ)|/n`` (two classes).
        `SparseLogisticRegressionCV` selects it. For no penalty use `credo.linear.LogisticRegression`.
    fit_intercept : bool, default True
    class_weight : "balanced", dict or None, default None
        Factors by which the sample weights of each class are multiplied.
    tol : float, default 1e-7
        The solver stops when the duality gap is at most tol times the mean log loss of the intercept-only model.
    max_iter : int, default 1000
        Maximum number of Newton iterations.
    warm_start : bool, default False
        Whether to start from the coefficients of the previous fit.

    Attributes
    ----------
    coef_ : coefficients, (1, n_features), or (n_classes, n_features) for more than two classes
    intercept_ : intercepts, (1,) or (n_classes,)
    selected_ : names of the columns with a nonzero coefficient
    dual_gap_ : an upper bound of how far the objective is above its minimum
    log_likelihood_, n_parameters_, n_observations_ : for `credo.bic`
    n_iter_, result_ : iterations and convergence

    Examples
    --------
    >>> import numpy as np
    >>> from credo.sparse import SparseLogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 20))
    >>> model = SparseLogisticRegression(alpha=0.1).fit(X, X[:, 3] - X[:, 7] + rng.logistic(size=200) > 0)
    >>> model.selected_
    ['x3', 'x7']
    """

    _title = "Sparse logistic regression"

    def __init__(
        self,
        alpha: float = 0.01,
        *,
        fit_intercept: bool = True,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        tol: float = 1e-7,
        max_iter: int = 1000,
        warm_start: bool = False,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model; a sample weight of k is equivalent to k copies of the row."""
        if isinstance(self.alpha, int | float) and self.alpha == 0:
            raise ValueError("alpha must be positive; for alpha=0 use credo.linear.LogisticRegression")
        alpha, tol = positive("alpha", self.alpha), positive("tol", self.tol)
        max_iter, center = positive_integer("max_iter", self.max_iter), bool(self.fit_intercept)
        table, codes, weight = self._training_rows(X, y, sample_weight, class_weight=self.class_weight)
        labels = Labels.of(codes, len(self.classes_), np.ones(len(codes)) if weight is None else weight)
        with blas_threads_for(table):
            rows = Rows.of(table, np.zeros(len(codes)), weight, center=center)
            start = self._start(labels.Y.shape[1], rows.squares > 0.0)
            penalties = np.array([alpha * rows.total])
            (solution,) = logistic_path(
                rows, labels, penalties, intercept=center, start=start, tol=tol, max_steps=max_iter
            )
        self._keep(solution, labels, table, alpha)
        return self

    def _start(self, n_scores: int, varies: NDArray[np.bool_]) -> tuple[Array, Array]:
        if self.warm_start and getattr(self, "coef_", np.zeros(0)).shape == (n_scores, len(varies)):
            return np.where(varies, self.coef_, 0.0), self.intercept_
        return np.zeros((n_scores, len(varies))), np.zeros(n_scores)
