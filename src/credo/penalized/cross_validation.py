"""The lasso with the penalty selected by cross-validation."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.distributions import StudentT
from credo.estimator import ConvergenceWarning, FitWarning, choice, positive, positive_integer
from credo.learning.coordinate import Rows, block_of, descend, polished
from credo.notices import warn
from credo.penalized._folds import RULES, Fold, HeldOut, folds_of, side_by_side, unfinished_words, weighty
from credo.penalized.lasso import PenalizedRegression
from credo.penalized.path import penalties, walk

Array = NDArray[np.float64]

# Errors on held-out rows are known to a few percent at best: this is enough for the paths over the folds.
_PATH_TOL = 1e-7
# And this on the way to the penalty that was chosen.
_WAY_TOL = 1e-3


class LassoCV(PenalizedRegression):
    """Lasso with α selected by cross-validation, refitted to all rows.

    All folds use one grid of α. If `cv` is an integer, rows are assigned to folds in the order of y, so that each fold
    has small and large targets. Identical rows stay in one fold, so neither the order of the rows nor whether a row is
    repeated or weighted matters.

    The predictive distribution is Student's t with location b + wᵀx. Its scale is the root of the mean squared
    held-out error at α, and its degrees of freedom the number of held-out rows. Unlike the residuals of the fit,
    held-out errors include the uncertainty of the coefficients and of the choice of columns. They don't include that α
    was selected by the same errors, so intervals are slightly too narrow with few rows.

    Parameters
    ----------
    cv : int, splitter or iterable of (training rows, held-out rows), default 5
    rule : "min" or "one-standard-error", default "min"
        The α with the smallest mean squared held-out error; or the largest α whose error is within one standard error
        (over the folds) of the smallest, which selects fewer columns (Breiman et al. 1984).
    alphas : array, optional
        The grid of penalties; 0 is least squares. By default `n_alphas` values from the smallest α at which all
        coefficients are zero down to `eps` times that. The fit warns if the smallest value is selected and a smaller
        one would be better.
    n_alphas, eps : the default range, 100 and 1e-3
    fit_intercept : bool, default True
    tol : float, default 1e-8
        The final fit stops when the duality gap is at most tol·‖y − ȳ‖²/n.
    max_iter : int, default 100000
        Maximum number of passes of coordinate descent for one α. The fit warns if any fold's path did not converge.

    Attributes
    ----------
    alpha_ : the selected penalty
    alphas_ : the grid of penalties, largest first
    mse_path_ : mean squared errors on held-out rows, (n_alphas, n_folds)
    mse_, mse_std_error_ : their means over the folds, by the folds' weights, and standard errors
    noise_std_, dof_ : root of `mse_` at `alpha_` and the number of rows held out, those of the predictive distribution
    coef_, intercept_, selected_, dual_gap_, n_iter_, result_ : as in `Lasso`, of all rows

    Examples
    --------
    >>> import numpy as np
    >>> from credo.sparse import LassoCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 8))
    >>> model = LassoCV(rule="one-standard-error").fit(X, 2 * X[:, 1] - X[:, 4] + rng.normal(size=60))
    >>> model.selected_
    ['x1', 'x4']
    """

    _title = "Lasso, penalty by cross-validation"

    alphas_: Array
    mse_path_: Array
    mse_: Array
    mse_std_error_: Array

    def __init__(
        self,
        cv: Any = 5,
        *,
        rule: str = "min",
        alphas: ArrayLike | None = None,
        n_alphas: int = 100,
        eps: float = 1e-3,
        fit_intercept: bool = True,
        tol: float = 1e-8,
        max_iter: int = 100_000,
    ) -> None:
        self.cv = cv
        self.rule = rule
        self.alphas = alphas
        self.n_alphas = n_alphas
        self.eps = eps
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model; a sample weight of k is equivalent to k copies of the row."""
        choice("rule", self.rule, RULES)
        tol, max_iter = positive("tol", self.tol), positive_integer("max_iter", self.max_iter)
        table, target, weight = self._training_rows(X, y, sample_weight)
        rows = Rows.of(table, target, weight, center=bool(self.fit_intercept))
        self.alphas_ = penalties(rows.steepest() / rows.total, self.alphas, n_alphas=self.n_alphas, eps=self.eps)
        omega = np.ones(len(target)) if weight is None else weight

        missed: list[int] = []

        def errors(fold: Fold) -> Array:
            loss, unfinished = self._errors(table, target, omega, fold, max_iter)
            missed.append(unfinished)
            return loss

        used = weighty(sample_weight, len(target))
        folds = folds_of(self.cv, table, target, used, np.zeros(len(used)))
        share = np.array([omega[held].sum() for _, held in folds])
        held_out = HeldOut.of(side_by_side(errors, folds, table), share)
        self.mse_path_, self.mse_, self.mse_std_error_ = held_out.path, held_out.mean, held_out.std_error
        place = held_out.place(self.rule)
        # The grid down to the choice leads there faster than a start from nothing.
        block = block_of(rows, np.zeros(table.shape[1]), n_problems=place + 1)
        way = self.alphas_[: place + 1] * rows.total
        deque(descend(block, way[:-1], l1_ratio=1.0, tol=_WAY_TOL, max_passes=max_iter), maxlen=0)
        (step,) = descend(block, way[-1:], l1_ratio=1.0, tol=tol, max_passes=max_iter)
        self._keep(rows, polished(rows, step, l1=way[-1], l2=0.0), float(self.alphas_[place]))
        # A splitter may hold rows out more than once, which tells no more of them.
        self.noise_std_, self.dof_ = float(np.sqrt(self.mse_[place])), float(min(share.sum(), rows.total))
        if any(missed):
            word = unfinished_words(sum(missed), len(folds) * len(self.alphas_), max(tol, _PATH_TOL))
            warn(word, ConvergenceWarning, stacklevel=2)
            self.result_ = replace(self.result_, converged=False, message=word)
        for word in held_out.words(place, self.alphas_):
            warn(word, FitWarning, stacklevel=2)
            self.result_ = replace(self.result_, message=f"{self.result_.message}; {word}")
        return self

    def _notes(self, n_chosen: int) -> tuple[str, ...]:
        place = int(np.flatnonzero(self.alphas_ == self.alpha_)[0])
        error = f"held-out mean squared error {self.mse_[place]:.4g} ± {self.mse_std_error_[place]:.2g}"
        return f"{error}, rule {self.rule!r}", *super()._notes(n_chosen)

    def _noise(self) -> str:
        return f"noise sd {self.noise_std_:.4g} (root of the held-out error)"

    def _around(self, mean: Array) -> StudentT:
        return StudentT(self.dof_, mean, self.noise_std_)

    def _errors(self, table: Any, target: Array, omega: Array, fold: Fold, max_iter: int) -> tuple[Array, int]:
        """Mean squared error on the held-out rows for each α, and the number of fits that did not converge."""
        train, held = fold
        rows = Rows.of(table[train], target[train], omega[train], center=bool(self.fit_intercept))
        coefs, _, missed = walk(rows, self.alphas_, l1_ratio=1.0, tol=max(self.tol, _PATH_TOL), max_passes=max_iter)
        fitted = np.asarray(table[held] @ coefs) + rows.intercept(coefs)
        return omega[held] @ (target[held, None] - fitted) ** 2 / omega[held].sum(), missed
