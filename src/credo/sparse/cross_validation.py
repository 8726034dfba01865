"""Penalties selected by cross-validation, and `LassoCV`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import check_cv

from credo.core.estimator import ConvergenceWarning, FitWarning, Result, choice, has_weight, positive, positive_integer
from credo.core.folds import systematic_folds
from credo.core.learning.coordinate import Rows, Solution, elastic_net_path, polish, working_set
from credo.core.linalg import one_blas_thread, parallel_map
from credo.core.notices import warn
from credo.core.parts import Chunk, Parts, RowSummary, in_parts, parts_of, summary_of, take_summary
from credo.distributions import StudentT
from credo.sparse.lasso import PenalizedRegression, fit_path, penalties

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Fold = tuple[Indices, Indices]

RULES = ("min", "one-standard-error")
# The tolerance of the path down to the selected penalty, which only has to be a good starting point.
WARM_START_TOL = 1e-3
# Tables with fewer entries are finished before threads have started.
_PARALLEL_ENTRIES = 50_000
# Without a number in it, so that many fits give one warning.
_SMALLEST_SELECTED = (
    "the held-out error is smallest at the smallest penalty tried: decrease eps, pass smaller alphas, or use a model "
    "without this penalty"
)


@dataclass(frozen=True)
class HeldOutLosses:
    """Mean losses on held-out rows for each penalty (largest first) and fold, their means and standard errors.

    `weight` is the share of each fold in the total weight of held-out rows, `n_missed` the number of fits that did not
    converge.
    """

    path: Array
    weight: Array
    mean: Array
    std_error: Array
    n_missed: int

    @classmethod
    def of(cls, losses: Sequence[ArrayLike], weight: Array, n_missed: int = 0) -> Self:
        """From the losses of each fold and the weight of its held-out rows."""
        path, weight = np.column_stack(losses), weight / weight.sum()
        return cls(path, weight, *_mean_and_error(path, weight), n_missed)

    def select(self, rule: str) -> int:
        """The index of the smallest mean loss, or of the largest penalty within one standard error of that."""
        best = int(np.argmin(self.mean))
        if rule == "min":
            return best
        return int(np.flatnonzero(self.mean <= self.mean[best] + self.std_error[best])[0])

    def suggests_smaller(self, selected: int, alphas: Array) -> bool:
        """Whether the smallest penalty was selected and the loss is still decreasing there."""
        last = alphas[-1]
        if selected < len(alphas) - 1 or last == alphas[0] or last == 0.0:
            return False
        # Extrapolated linearly, the loss decreases from the last penalty to zero as much as from twice the last to the
        # last. The standard error of the difference is that of paired losses, much smaller than that of each.
        before = max(int(np.count_nonzero(alphas >= 2.0 * last)) - 1, 0)
        part = min(1.0, last / (alphas[before] - last))
        mean, std_error = _mean_and_error(part * (self.path[before] - self.path[-1])[None, :], self.weight)
        # A smaller relative decrease is no reason for a warning.
        return bool(mean[0] > max(2e-3 * self.mean[-1], std_error[0]))


class PenaltyByCrossValidation:
    """The part of `fit` that the models with a penalty by cross-validation share."""

    # Held-out losses are known to a few percent at best, so the paths of the folds need no higher precision.
    _fold_tol: float

    alphas_: Array
    result_: Result

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

    def _check_arguments(self) -> None:
        choice("rule", self.rule, RULES)
        positive("tol", self.tol)
        positive_integer("max_iter", self.max_iter)

    def _cross_validate(
        self, losses: Callable[[Fold], tuple[Array, int]], folds: list[Fold], table: Any, weight: Array
    ) -> HeldOutLosses:
        """The held-out losses; `losses` returns those of a fold, and the number of its fits that did not converge."""
        with one_blas_thread():
            found = parallel_map(losses, folds, n_jobs=1 if table.size < _PARALLEL_ENTRIES else None)
        shares = np.array([weight[held].sum() for _, held in folds])
        return HeldOutLosses.of([loss for loss, _ in found], shares, sum(missed for _, missed in found))

    def _report(self, held_out: HeldOutLosses, selected: int) -> None:
        """Warn about paths that did not converge, and about a grid that ends too early."""
        if held_out.n_missed:
            message = (
                f"{held_out.n_missed} of {held_out.path.size} fits to the training folds did not converge, so the "
                "held-out errors may be inaccurate: increase max_iter, standardize the columns, remove columns that "
                "nearly repeat others, or increase eps to leave out the smallest penalties"
            )
            warn(message, ConvergenceWarning, stacklevel=3)
            self.result_ = replace(self.result_, converged=False, message=message)
        elif held_out.suggests_smaller(selected, self.alphas_):
            warn(_SMALLEST_SELECTED, FitWarning, stacklevel=3)
            self.result_ = replace(self.result_, message=f"{self.result_.message}; {_SMALLEST_SELECTED}")


def split(cv: Any, table: Any, order: Array, used: NDArray[np.bool_], y: Any, random_state: Any = None) -> list[Fold]:
    """(training rows, held-out rows) among the rows that are used; a splitter sees all rows, and their y.

    An integer number of folds assigns the rows by `order`, and rows of equal order by their values.
    """
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        return systematic_folds(table, order, positive_integer("cv", int(cv)), random_state)
    index = np.where(used, np.cumsum(used) - 1, -1)
    splits = check_cv(cv).split(np.zeros((len(used), 1)), y)
    folds = [(index[train], index[held]) for train, held in splits]
    folds = [(train[train >= 0], held[held >= 0]) for train, held in folds]
    folds = [(train, held) for train, held in folds if len(train) and len(held)]
    if len(folds) < 2:
        raise ValueError(f"cv={cv!r} gives {len(folds)} folds with rows in both parts; at least 2 are needed")
    return folds


def _mean_and_error(path: Array, weight: Array) -> tuple[Array, Array]:
    """Weighted means over the folds (last axis) and their standard errors."""
    mean = path @ weight
    # Scaled by the largest loss, whose square may overflow.
    unit = float(np.abs(path).max()) or 1.0
    variance = (((path - mean[:, None]) / unit) ** 2) @ weight
    return mean, unit * np.sqrt(variance / (len(weight) - 1))


# Duality gaps of the folds' paths, relative to the smallest held-out error, which is known to a few percent.
_RELATIVE_GAP = 5e-5


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
        times the smallest held-out error, or at 1e-7·‖y − ȳ‖²/n if that is larger.
    max_iter : int, default 100000
        Maximum number of passes of coordinate descent for one α. The fit warns if any fold's path did not converge.
    random_state : int, Generator or None, default None
        Shuffles the folds if `cv` is an integer: each `cv` rows in the order of y are assigned to the folds at random.
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

    def fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model; a sample weight of k is equivalent to k copies of the row.

        With a table in parts, whole chunks are held out: chunk i is in fold i modulo `cv`, regardless of
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
        # `_report` warns once for all fits.
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

        The tolerance is adapted each time α has halved, which reduces a squared error to about a quarter.
        """
        alphas, tol = self.alphas_, max(self.tol, self._fold_tol)
        columns = working_set(rows, np.zeros(rows.X.shape[1]), n_problems=len(alphas))
        found, needed, n_missed = np.empty(0), tol, 0
        halved = np.flatnonzero(np.diff(np.frexp(alphas / (alphas[0] or 1.0))[1])) + 1
        for part in np.split(alphas, halved):
            coefs, _, missed = fit_path(columns, part, l1_ratio=1.0, tol=needed, max_passes=int(self.max_iter))
            found, n_missed = np.append(found, errors(coefs)), n_missed + missed
            needed = max(tol, _RELATIVE_GAP * min(1.0, rows.total * float(found.min()) / (rows.yy or 1.0)))
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
