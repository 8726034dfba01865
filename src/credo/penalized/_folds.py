"""A penalty by cross-validation: who is held out when, side by side in threads, and the rule that chooses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp
from sklearn.model_selection import check_cv

from credo.deadlines import carried
from credo.estimator import choice, positive_integer
from credo.learning.coordinate import is_sparse
from credo.linalg import n_threads, one_blas_thread

Array = NDArray[np.float64]
Order = NDArray[np.intp]
Fold = tuple[Order, Order]

RULES = ("min", "one-standard-error")
# Below so many numbers in a table its folds are through before threads have got out of each other's way.
_SMALL = 50_000
# Copies stay in one fold where at least one row in this many is distinct.
_DISTINCT = 3
# Held-out losses are known to about this share: the paths over the folds are followed no more closely.
_KNOWN = 2e-3
# Without a number in it, so that what many fits say can be told once.
_AT_THE_END = (
    "the held-out error is smallest at the smallest penalty tried: decrease eps, pass smaller alphas, or use a model "
    "without this penalty"
)


@dataclass(frozen=True)
class HeldOut:
    """Losses on held-out rows for each penalty (largest first) and fold, their means and standard errors.

    Folds count by their `share` of the held-out weight.
    """

    path: Array
    share: Array
    mean: Array
    std_error: Array

    @classmethod
    def of(cls, losses: Iterable[Array], share: Array) -> Self:
        """From the losses of each fold and the weight of its held-out rows."""
        path, share = np.column_stack(list(losses)), share / share.sum()
        return cls(path, share, *_averages(path, share))

    def place(self, rule: str) -> int:
        """The least mean loss; or the largest penalty whose loss is within one standard error of that."""
        choice("rule", rule, RULES)
        best = int(np.argmin(self.mean))
        if rule == "min":
            return best
        return int(np.flatnonzero(self.mean <= self.mean[best] + self.std_error[best])[0])

    def words(self, place: int, alphas: Array) -> list[str]:
        """A warning if the smallest penalty was selected and the loss is still decreasing there."""
        last = alphas[-1]
        if place < len(alphas) - 1 or last == alphas[0] or last == 0.0:
            return []
        # On a straight line the loss falls as much from the last penalty to none as it did from twice the last. Folds
        # have to agree that it falls: their losses have much in common, and the fall its own, smaller standard error.
        before = max(int(np.count_nonzero(alphas >= 2.0 * last)) - 1, 0)
        part = min(1.0, last / (alphas[before] - last))
        mean, std_error = _averages(part * (self.path[before] - self.path[-1])[None, :], self.share)
        return [_AT_THE_END] if mean[0] > max(_KNOWN * self.mean[-1], std_error[0]) else []


def _averages(path: Array, share: Array) -> tuple[Array, Array]:
    """Means over the folds, in the last axis, and their standard errors."""
    mean = path @ share
    # In units of the largest, whose square may be more than a computer can hold.
    unit = float(np.abs(path).max()) or 1.0
    spread = (((path - mean[:, None]) / unit) ** 2) @ share
    return mean, unit * np.sqrt(spread / (len(share) - 1))


def side_by_side(loss: Callable[[Fold], Array], folds: list[Fold], table: Any) -> list[Array]:
    """The losses of each fold, in as many threads as there are cores where the table is worth it."""
    workers = min(n_threads(), len(folds))
    with one_blas_thread():
        if workers == 1 or (table.nnz if is_sparse(table) else table.size) < _SMALL:
            return [loss(fold) for fold in folds]
        with ThreadPoolExecutor(workers, thread_name_prefix="credo-folds") as pool:
            return list(pool.map(carried(loss), folds))


def folds_of(cv: Any, table: Any, order: Array, used: NDArray[np.bool_], y: Any) -> list[Fold]:
    """(training rows, held-out rows) among those that are used; a splitter sees all rows, and their y.

    A whole number of folds deals the rows out by `order`, and then by what is in them.
    """
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        return dealt(table, order, positive_integer("cv", int(cv)))
    place = np.where(used, np.cumsum(used) - 1, -1)
    splits = check_cv(cv).split(np.zeros((len(used), 1)), y)
    folds = [(place[train], place[held]) for train, held in splits]
    folds = [(train[train >= 0], held[held >= 0]) for train, held in folds]
    folds = [(train, held) for train, held in folds if len(train) and len(held)]
    if len(folds) < 2:
        raise ValueError(f"cv={cv!r} gives {len(folds)} folds with rows in both parts; at least 2 are needed")
    return folds


def unfinished_words(missed: int, total: int, tol: float) -> str:
    """The warning about fits to training folds that did not converge."""
    return (
        f"{missed} of {total} fits to the training folds did not converge (relative duality gap above {tol:g}), so the "
        "held-out errors may be inaccurate: increase max_iter, standardize the columns, remove columns that nearly "
        "repeat others, or increase eps to leave out the smallest penalties"
    )


def weighty(sample_weight: Any, n_samples: int) -> NDArray[np.bool_]:
    """Which rows have a weight above zero, of all that were given."""
    weight = np.asarray(1.0 if sample_weight is None else sample_weight, dtype=np.float64)
    return weight > 0 if weight.ndim else np.ones(n_samples, dtype=np.bool_)


def dealt(table: Any, order: Array, n_folds: int) -> list[Fold]:
    """Folds dealt out by `order`; copies of a row, target included, stay together unless rows are few and discrete.

    Where inputs repeat so often that fewer than one row in three differs from all others, as with a few categories,
    holding all copies of a row and its target out would leave only other targets to learn from.
    """
    if n_folds < 2:
        raise ValueError(f"cv must be at least 2 folds; got {n_folds}")
    mark = marks(table)
    sequence = np.lexsort((mark, order))
    new = (np.diff(order[sequence]) != 0) | (np.diff(mark[sequence]) != 0)
    rank = np.empty(len(order), dtype=np.intp)
    discrete = _DISTINCT * len(np.unique(mark)) <= len(mark)
    rank[sequence] = np.arange(len(order)) if discrete else np.append(0, np.cumsum(new))
    n_folds = min(n_folds, int(rank.max()) + 1)
    if n_folds < 2:
        raise ValueError("cross-validation needs at least 2 different rows, but all are one sample")
    return [(np.flatnonzero(rank % n_folds != k), np.flatnonzero(rank % n_folds == k)) for k in range(n_folds)]


def marks(table: Any) -> Array:
    """A number for each row, by which different rows can be told apart; equal rows have equal numbers."""
    # Any fixed direction in general position will do.
    direction = np.cos(np.arange(1.0, table.shape[1] + 1) ** 2)
    return np.asarray(sp.csr_array(table) @ direction) if is_sparse(table) else np.einsum("ij,j->i", table, direction)
