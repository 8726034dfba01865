"""Selecting a penalty by cross-validation: the folds, the losses on held-out rows, and the selection rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse as sp
from sklearn.model_selection import check_cv

from credo.estimator import ConvergenceWarning, FitWarning, Result, choice, is_sparse, positive, positive_integer
from credo.linalg import one_blas_thread, parallel_map
from credo.notices import warn
from credo.seeds import generator

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Fold = tuple[Indices, Indices]

RULES = ("min", "one-standard-error")
# The tolerance of the path down to the selected penalty, which only has to be a good starting point.
WARM_START_TOL = 1e-3
# Tables with fewer entries are finished before threads have started.
_PARALLEL_ENTRIES = 50_000
# Identical rows stay in one fold if at least one row in this many is distinct.
_DISTINCT = 3
# A relative decrease of the held-out loss below this is no reason for a warning.
_NEGLIGIBLE = 2e-3
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
        return bool(mean[0] > max(_NEGLIGIBLE * self.mean[-1], std_error[0]))


class PenaltyByCrossValidation:
    """The part of `fit` that the models with a penalty by cross-validation share."""

    # Held-out losses are known to a few percent at best, so the paths of the folds need no higher precision.
    _fold_tol: float

    cv: Any
    rule: str
    random_state: Any
    tol: float
    max_iter: int
    alphas_: Array
    result_: Result

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


def systematic_folds(table: Any, order: Array, n_folds: int, random_state: Any = None) -> list[Fold]:
    """Row k in the given order goes to fold k modulo n_folds; identical rows, target included, stay together.

    With a random state, each n_folds rows in this order are assigned to the folds at random.

    If fewer than one row in three is distinct, as with a few categorical columns, identical rows are separated:
    otherwise all training rows with the inputs of a held-out row would have other targets.
    """
    if n_folds < 2:
        raise ValueError(f"cv must be at least 2 folds; got {n_folds}")
    key = row_keys(table)
    sequence = np.lexsort((key, order))
    new = (np.diff(order[sequence]) != 0) | (np.diff(key[sequence]) != 0)
    rank = np.empty(len(order), dtype=np.intp)
    few_distinct = _DISTINCT * len(np.unique(key)) <= len(key)
    rank[sequence] = np.arange(len(order)) if few_distinct else np.append(0, np.cumsum(new))
    n_folds = min(n_folds, int(rank.max()) + 1)
    if n_folds < 2:
        raise ValueError("cross-validation needs at least 2 different rows, but all are one sample")
    fold = rank % n_folds
    if random_state is not None:
        blocks = np.tile(np.arange(n_folds), (int(rank.max()) // n_folds + 1, 1))
        fold = generator(random_state).permuted(blocks, axis=1).ravel()[rank]
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)]


def row_keys(table: Any) -> Array:
    """A number for each row, equal for equal rows: its projection on a fixed direction in general position."""
    direction = np.cos(np.arange(1.0, table.shape[1] + 1) ** 2)
    return np.asarray(sp.csr_array(table) @ direction) if is_sparse(table) else np.einsum("ij,j->i", table, direction)


def _mean_and_error(path: Array, weight: Array) -> tuple[Array, Array]:
    """Weighted means over the folds (last axis) and their standard errors."""
    mean = path @ weight
    # Scaled by the largest loss, whose square may overflow.
    unit = float(np.abs(path).max()) or 1.0
    variance = (((path - mean[:, None]) / unit) ** 2) @ weight
    return mean, unit * np.sqrt(variance / (len(weight) - 1))
