"""Logistic regression with an ℓ₁ penalty."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.core.estimator import (
    FitWarning,
    LinearClassifier,
    check_labels,
    has_weight,
    positive,
    positive_integer,
)
from credo.core.folds import row_places
from credo.core.learning.coordinate import Labels, LogisticSolution, Rows, blas_threads_for, logistic_path
from credo.core.notices import warn
from credo.sparse.cross_validation import WARM_START_TOL, Fold, PenaltyByCrossValidation, split
from credo.sparse.lasso import SparseCoefficients, fit_result, penalties

Array = NDArray[np.float64]


class PenalizedClassifier(SparseCoefficients, LinearClassifier):
    """Base of classifiers with sparse coefficients. Their `fit` ends in `_keep`."""

    _equation = "log odds = b + Σ wⱼ xⱼ, many wⱼ = 0"

    def _keep(self, solution: LogisticSolution, labels: Labels, table: Any, alpha: float) -> None:
        """Set the fitted attributes from the solution for one α."""
        total, level = float(labels.weight.sum()), 0.0 if labels.binary else solution.b.mean()
        self._keep_coefficients(solution.W, solution.b - level, alpha, solution.gap / total, max(solution.n_steps, 1))
        self.log_likelihood_ = -labels.evaluate(self._scores(table)).loss
        n_free = len(self.classes_) - 1 if self.fit_intercept else 0
        self.n_parameters_ = int(np.count_nonzero(self.coef_)) + n_free
        self.n_observations_ = total
        self.result_ = fit_result(solution.converged, solution.n_steps, solution.gap / labels.null_loss(), self.tol)


class SparseLogisticRegression(PenalizedClassifier):
    """Logistic regression with an ℓ₁ penalty, which sets coefficients to zero.

        min (1/n) Σᵢ −ln p(yᵢ | xᵢ) + α‖w‖₁,    p(1 | x) = σ(b + wᵀx)

    The intercept is not penalized. More than two classes are modeled by a softmax (multinomial, not one-vs-rest) with
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


Indices = NDArray[np.intp]


class SparseLogisticRegressionCV(PenaltyByCrossValidation, PenalizedClassifier):
    """Sparse logistic regression with α selected by cross-validation, refitted to all rows.

    All folds use one grid of α. If `cv` is an integer, the folds are stratified by class. Identical rows stay in one
    fold, so neither the order of the rows nor whether a row is repeated or weighted matters. A label with fewer rows
    than folds is scored only in folds whose training rows contain it.

    Parameters
    ----------
    cv : int, splitter or iterable of (training rows, held-out rows), default 5
    rule : "min" or "one-standard-error", default "min"
        The α with the smallest held-out log loss; or the largest α whose loss is within one standard error (over the
        folds) of the smallest, which selects fewer columns (Breiman et al. 1984).
    alphas : array, optional
        The grid of penalties, all positive; by default `n_alphas` values from the smallest α at which all coefficients
        are zero down to `eps` times that. The fit warns if the smallest value is selected and a smaller one would be
        better.
    n_alphas, eps : the default range, 100 and 1e-3
    fit_intercept, class_weight : as in `SparseLogisticRegression`; the weights count in the held-out loss as well
    tol : float, default 1e-7
        The final fit stops when the duality gap is at most tol times the mean log loss of the intercept-only model.
    max_iter : int, default 1000
        Maximum number of Newton iterations for one α. The fit warns if any fold's path did not converge.
    random_state : int, Generator or None, default None
        Shuffles the folds if `cv` is an integer: each `cv` rows in the order of the classes are assigned to the folds
        at random. None assigns them in turn, which gives the same folds every time.

    Attributes
    ----------
    alpha_ : the selected penalty
    alphas_ : the grid of penalties, largest first
    log_loss_path_ : mean log losses (natural) on held-out rows, (n_alphas, n_folds)
    log_loss_, log_loss_std_error_ : their means over the folds, by the folds' weights, and standard errors
    coef_, intercept_, selected_, dual_gap_, n_iter_, result_ : as in `SparseLogisticRegression`, of all rows

    Examples
    --------
    >>> import numpy as np
    >>> from credo.sparse import SparseLogisticRegressionCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 20))
    >>> y = 2 * X[:, 3] - 2 * X[:, 7] + rng.logistic(size=200) > 0
    >>> SparseLogisticRegressionCV(rule="one-standard-error").fit(X, y).selected_
    ['x3', 'x7']
    """

    _title = "Sparse logistic regression, penalty by cross-validation"
    _fold_tol = 1e-5

    log_loss_path_: Array
    log_loss_: Array
    log_loss_std_error_: Array

    def __init__(
        self,
        cv: Any = 5,
        *,
        rule: Literal["min", "one-standard-error"] = "min",
        alphas: ArrayLike | None = None,
        n_alphas: int = 100,
        eps: float = 1e-3,
        fit_intercept: bool = True,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        tol: float = 1e-7,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            cv, rule=rule, alphas=alphas, n_alphas=n_alphas, eps=eps, fit_intercept=fit_intercept, tol=tol,
            max_iter=max_iter, random_state=random_state,
        )  # fmt: skip
        self.class_weight = class_weight

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model; a sample weight of k is equivalent to k copies of the row."""
        self._check_arguments()
        table, codes, weight = self._training_rows(X, y, sample_weight, class_weight=self.class_weight)
        omega, center = np.ones(len(codes)) if weight is None else weight, bool(self.fit_intercept)
        labels = Labels.of(codes, len(self.classes_), omega)
        rows = Rows.of(table, np.zeros(len(codes)), weight, center=center)
        largest = labels.l1_max(rows, intercept=center) / rows.total
        self.alphas_ = penalties(largest, self.alphas, n_alphas=self.n_alphas, eps=self.eps, zero=False)
        folds = self._folds(table, codes, omega, y, sample_weight)
        unseen = np.setdiff1d(np.arange(len(self.classes_)), codes[np.concatenate([held for _, held in folds])])
        if len(unseen):
            warn(
                f"label {self.classes_[unseen].tolist()[0]!r} is so rare that no held-out row with it could be scored, "
                "because the training folds must contain it too: the penalty is selected on the other labels",
                FitWarning,
                stacklevel=2,
            )
        held_out = self._cross_validate(lambda fold: self._losses(table, codes, omega, fold), folds, table, omega)
        self.log_loss_path_, self.log_loss_ = held_out.path, held_out.mean
        self.log_loss_std_error_ = held_out.std_error
        selected = held_out.select(self.rule)
        # The path down to the selected penalty is faster than a cold start.
        start = None
        for solution in self._path(rows, labels, self.alphas_[:selected], tol=WARM_START_TOL):
            start = solution.W, solution.b
        (solution,) = self._path(rows, labels, self.alphas_[selected : selected + 1], tol=self.tol, start=start)
        self._keep(solution, labels, table, float(self.alphas_[selected]))
        self._report(held_out, selected)
        return self

    def _notes(self) -> tuple[str, ...]:
        k = int(np.flatnonzero(self.alphas_ == self.alpha_)[0])
        loss = f"held-out log loss {self.log_loss_[k]:.4g} ± {self.log_loss_std_error_[k]:.2g}"
        return f"{loss}, rule {self.rule!r}", *super()._notes()

    def _path(
        self, rows: Rows, labels: Labels, alphas: Array, *, tol: float, start: tuple[Array, Array] | None = None
    ) -> Iterator[LogisticSolution]:
        n_scores = labels.Y.shape[1]
        start = (np.zeros((n_scores, rows.X.shape[1])), np.zeros(n_scores)) if start is None else start
        options: dict[str, Any] = {"intercept": bool(self.fit_intercept), "max_steps": int(self.max_iter)}
        return logistic_path(rows, labels, alphas * rows.total, start=start, tol=tol, **options)

    def _losses(self, table: Any, codes: Indices, omega: Array, fold: Fold) -> tuple[Array, int]:
        """Mean log loss on the held-out rows for each α, and the number of fits that did not converge."""
        train, held = fold
        known, known_codes = np.unique(codes[train], return_inverse=True)
        labels = Labels.of(known_codes, len(known), omega[train])
        held_labels = Labels.of(np.searchsorted(known, codes[held]), len(known), omega[held])
        rows = Rows.of(table[train], np.zeros(len(train)), omega[train], center=bool(self.fit_intercept))
        held_table = table[held]
        path = list(self._path(rows, labels, self.alphas_, tol=max(self.tol, self._fold_tol)))
        loss = [held_labels.evaluate(np.asarray(held_table @ step.W.T) + step.b).loss for step in path]
        return np.array(loss) / omega[held].sum(), sum(not step.converged for step in path)

    def _folds(self, table: Any, codes: Indices, omega: Array, y: Any, sample_weight: Any) -> list[Fold]:
        """Folds whose training rows have two classes or more, with the held-out rows of known classes."""
        given = check_labels(y)
        used = np.isin(given, self.classes_) & has_weight(sample_weight, len(given))
        # The order of the classes depends on their rows, not on their names, so that renaming classes changes nothing.
        key = np.asarray(row_places(table))
        first = [key[codes == k].min() for k in range(len(self.classes_))]
        position = np.empty(len(first))
        position[np.lexsort((np.bincount(codes, omega), first))] = np.arange(len(first))
        found = []
        for train, held in split(self.cv, table, position[codes], used, given, self.random_state):
            known = np.unique(codes[train])
            scored = held[np.isin(codes[held], known)]
            if len(known) > 1 and len(scored):
                found.append((train, scored))
        if len(found) < 2:
            raise ValueError(
                f"cross-validation needs at least 2 folds with 2 classes among the training rows, but cv={self.cv!r} "
                f"gives {len(found)} (identical rows stay in one fold): use SparseLogisticRegression with a fixed alpha"
            )
        return found
