"""The lasso with the penalty selected by cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.distributions import StudentT
from credo.estimator import has_weight
from credo.learning.coordinate import Rows, Solution, elastic_net_path, polish, working_set
from credo.penalized.cross_validation import (
    WARM_START_TOL,
    Fold,
    HeldOutLosses,
    PenaltyByCrossValidation,
    split,
)
from credo.penalized.lasso import PenalizedRegression
from credo.penalized.path import fit_path, penalties
from credo.scale import Chunk, Parts, RowSummary, in_parts, parts_of, summary_of, take_summary

Array = NDArray[np.float64]

# The duality gaps that held-out errors need, relative to the smallest squared error: it is known to a few percent.
_PRECISION = 5e-5


class LassoCV(PenaltyByCrossValidation, PenalizedRegression):
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
        The final fit stops when the duality gap is at most tol·‖y − ȳ‖²/n. Those to the training folds stop at 5e-5
        times the smallest held-out error, or at 1e-7·‖y − ȳ‖²/n where that is larger.
    max_iter : int, default 100000
        Maximum number of passes of coordinate descent for one α. The fit warns if any fold's path did not converge.
    random_state : int, Generator or None, default None
        Shuffles the folds if `cv` is an integer: of each `cv` rows in the order of y, one goes to each fold, at random.
        None assigns them in turn, which gives the same folds every time.

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
    _fold_tol = 1e-7

    mse_path_: Array
    mse_: Array
    mse_std_error_: Array

    def __init__(
        self,
        cv: Any = 5,
        *,
        rule: Literal["min", "one-standard-error"] = "min",
        alphas: ArrayLike | None = None,
        n_alphas: int = 100,
        eps: float = 1e-3,
        fit_intercept: bool = True,
        tol: float = 1e-8,
        max_iter: int = 100_000,
        random_state: Any = None,
    ) -> None:
        self.cv = cv
        self.rule = rule
        self.alphas = alphas
        self.n_alphas = n_alphas
        self.eps = eps
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model; a sample weight of k is equivalent to k copies of the row.

        Of a table in parts (see `credo.scale`), whole chunks are held out: chunk i is in fold i modulo `cv`, whatever
        `random_state`.
        """
        self._check_arguments()
        if in_parts(X, y):
            rows, held_out, n_held = self._validate_chunks(parts_of(X, y, sample_weight))
        else:
            rows, held_out, n_held = self._validate_rows(X, y, sample_weight)
        self.mse_path_, self.mse_, self.mse_std_error_ = held_out.path, held_out.mean, held_out.std_error
        selected = held_out.select(self.rule)
        solution = self._refit(rows, self.alphas_[: selected + 1] * rows.total)
        # `_report` warns once, of all fits.
        self._keep(rows, solution, float(self.alphas_[selected]), warns=not held_out.n_missed)
        self.noise_std_, self.dof_ = float(np.sqrt(self.mse_[selected])), float(n_held)
        self._report(held_out, selected)
        return self

    def _validate_rows(self, X: Any, y: ArrayLike | None, sample_weight: Any) -> tuple[Rows, HeldOutLosses, float]:
        """The rows, the losses on those held out, and their number."""
        table, target, weight = self._training_rows(X, y, sample_weight)
        rows = Rows.of(table, target, weight, center=bool(self.fit_intercept))
        self.alphas_ = self._grid(rows)
        omega = np.ones(len(target)) if weight is None else weight
        used = has_weight(sample_weight, len(target))
        folds = split(self.cv, table, target, used, np.zeros(len(used)), self.random_state)
        held_out = self._cross_validate(lambda fold: self._errors(table, target, omega, fold), folds, table, omega)
        # A splitter may hold rows out more than once; each counts once.
        return rows, held_out, min(sum(omega[held].sum() for _, held in folds), rows.total)

    def _validate_chunks(self, parts: Parts) -> tuple[Rows, HeldOutLosses, float]:
        """The same for a table in parts."""
        if not isinstance(self.cv, int | np.integer) or self.cv < 2:
            raise ValueError(f"cv must be a number of folds, at least 2, for a table in parts; got {self.cv!r}")
        by_fold = parts.map_reduce(partial(_fold_summary, n_folds=int(self.cv)), _merged)
        folds = [by_fold[fold] for fold in sorted(by_fold)]
        if len(folds) < 2:
            raise ValueError("cross-validation holds out whole chunks, and needs at least 2: pass more, smaller chunks")
        whole = reduce(RowSummary.merge, folds)
        take_summary(self, whole)
        rows = Rows.of_summary(whole, center=bool(self.fit_intercept))
        self.alphas_ = self._grid(rows)
        found = [self._summary_errors(folds, k) for k in range(len(folds))]
        weight = np.array([fold.weight for fold in folds])
        held_out = HeldOutLosses.of([errors for errors, _ in found], weight, sum(missed for _, missed in found))
        return rows, held_out, rows.total

    def _grid(self, rows: Rows) -> Array:
        return penalties(rows.l1_max() / rows.total, self.alphas, n_alphas=self.n_alphas, eps=self.eps)

    def _notes(self) -> tuple[str, ...]:
        k = int(np.flatnonzero(self.alphas_ == self.alpha_)[0])
        error = f"held-out mean squared error {self.mse_[k]:.4g} ± {self.mse_std_error_[k]:.2g}"
        return f"{error}, rule {self.rule!r}", *super()._notes()

    def _noise(self) -> str:
        return f"noise sd {self.noise_std_:.4g} (root of the held-out error)"

    def _around(self, mean: Array) -> StudentT:
        return StudentT(self.dof_, mean, self.noise_std_)

    def _errors(self, table: Any, target: Array, omega: Array, fold: Fold) -> tuple[Array, int]:
        """Mean squared error on the held-out rows for each α, and the number of fits that did not converge."""
        train, held = fold
        rows = Rows.of(table[train], target[train], omega[train], center=bool(self.fit_intercept))
        X, y, share = table[held], target[held, None], omega[held] / omega[held].sum()
        return self._path_errors(rows, lambda coefs: share @ (y - np.asarray(X @ coefs) - rows.intercept(coefs)) ** 2)

    def _summary_errors(self, folds: list[RowSummary], k: int) -> tuple[Array, int]:
        """The same from summaries: Σω(y − b − wᵀx)² = ‖r_y − R_x w‖² + n(ȳ − b − wᵀx̄)², R = [R_x, r_y]."""
        train, held = reduce(RowSummary.merge, folds[:k] + folds[k + 1 :]), folds[k]
        rows = Rows.of_summary(train, center=bool(self.fit_intercept))

        def errors(coefs: Array) -> Array:
            within = held.factor[:, -1:] - held.factor[:, :-1] @ coefs
            between = held.mean[-1] - held.mean[:-1] @ coefs - rows.intercept(coefs)
            return np.square(within).sum(axis=0) / held.weight + np.square(between)

        return self._path_errors(rows, errors)

    def _path_errors(self, rows: Rows, errors: Callable[[Array], Array]) -> tuple[Array, int]:
        """The held-out errors along the path, with duality gaps that are small relative to the smallest of them.

        The tolerance is adapted each time that α has halved, in which a squared error falls to a quarter or so.
        """
        alphas, tol = self.alphas_, max(self.tol, self._fold_tol)
        columns = working_set(rows, np.zeros(rows.X.shape[1]), n_problems=len(alphas))
        found, needed, n_missed = np.empty(0), tol, 0
        halved = np.flatnonzero(np.diff(np.frexp(alphas / (alphas[0] or 1.0))[1])) + 1
        for part in np.split(alphas, halved):
            coefs, _, missed = fit_path(columns, part, l1_ratio=1.0, tol=needed, max_passes=int(self.max_iter))
            found, n_missed = np.append(found, errors(coefs)), n_missed + missed
            needed = max(tol, _PRECISION * min(1.0, rows.total * float(found.min()) / (rows.yy or 1.0)))
        return found, n_missed

    def _refit(self, rows: Rows, path: Array) -> Solution:
        """The solution on all rows for the last penalty; the path down to it is faster than a cold start."""
        columns, max_passes = working_set(rows, np.zeros(rows.X.shape[1]), n_problems=len(path)), int(self.max_iter)
        for _ in elastic_net_path(columns, path[:-1], l1_ratio=1.0, tol=WARM_START_TOL, max_passes=max_passes):
            pass
        (solution,) = elastic_net_path(columns, path[-1:], l1_ratio=1.0, tol=self.tol, max_passes=max_passes)
        return polish(rows, solution, l1=path[-1], l2=0.0)


def _fold_summary(chunk: Chunk, *, n_folds: int) -> dict[int, RowSummary]:
    """The summary of a chunk, by its fold."""
    return {chunk.number % n_folds: summary_of(chunk)}


def _merged(a: dict[int, RowSummary], b: dict[int, RowSummary]) -> dict[int, RowSummary]:
    return a | {k: a[k].merge(part) if k in a else part for k, part in b.items()}
