"""Which rows are held out together: shuffled folds, or blocks in the order of time; copies of a row share a fold.

`splits` makes the training and held-out rows of a user's `cv`, `forward` blocks in time order; `systematic_folds`,
`even_folds` and `group_folds` give the fold of each row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _num_samples

from credo.core.estimator import is_sparse, merge_equal_rows, numeric
from credo.core.seeds import generator

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Split = tuple[Indices, Indices]


def splits(
    X: Any,
    y: NDArray[Any],
    cv: Any,
    rng: np.random.Generator,
    *,
    groups: ArrayLike | None = None,
    classes: bool = False,
) -> tuple[list[Split], list[str]]:
    """The training and held-out rows of each fold, and notes about fewer folds than requested and rows left out.

    `cv` is a number of folds, a scikit-learn splitter, or pairs of training and held-out rows.
    """
    given = cv.split(X, y, groups) if hasattr(cv, "split") and not isinstance(cv, str) else cv
    if isinstance(given, Iterable) and not isinstance(given, str):
        pairs = _checked(given, len(y))
        return with_known_classes(pairs, y) if classes else (pairs, [])
    tests, notes = shuffled(_num_samples(X), cv, rng, groups=groups, classes=y if classes else None)
    every = np.arange(len(y))
    pairs = [(np.setdiff1d(every, test), test) for test in tests]
    if not classes or groups is None:
        return pairs, notes
    pairs, more = with_known_classes(pairs, y)
    return pairs, notes + more


def shuffled(
    n_samples: int,
    cv: int,
    rng: np.random.Generator,
    *,
    groups: ArrayLike | None = None,
    classes: NDArray[Any] | None = None,
) -> tuple[list[Indices], list[str]]:
    """The held-out rows of each fold, shuffled; rows of one group stay together.

    With `classes`, the label of each row, each class is spread over the folds as evenly as whole groups allow. One that
    only a single group has can't be (`with_known_classes`).
    """
    if isinstance(cv, bool) or not isinstance(cv, int | np.integer) or cv < 2:
        raise ValueError(f"cv must be a whole number of at least 2 folds, or a scikit-learn splitter; got {cv!r}")
    labels = np.arange(n_samples) if groups is None else _labels(groups, n_samples)
    sizes = np.bincount(labels)
    n_folds, what = min(int(cv), len(sizes)), "row" if len(sizes) == n_samples else "group"
    notes = [f"Using {n_folds} folds instead of {cv}: there are only {len(sizes)} {what}s."] if n_folds < cv else []
    order = rng.permutation(len(sizes))
    if classes is None and what == "row":
        return [np.sort(fold) for fold in np.array_split(order, n_folds)], notes
    # Groups are assigned to the folds in turn, the largest first, so that fold sizes differ little; and class by class,
    # so that the same is true of each class.
    order = order[np.argsort(-sizes[order], kind="stable")]
    if classes is not None:
        if what == "row":
            _require_two_rows(classes)
        first = np.unique(labels, return_index=True)[1]
        order = order[np.argsort(np.unique(classes, return_inverse=True)[1].ravel()[first][order], kind="stable")]
    fold_of = np.empty(len(sizes), dtype=np.intp)
    fold_of[order] = np.arange(len(sizes)) % n_folds
    return [np.flatnonzero(fold_of[labels] == fold) for fold in range(n_folds)], notes


def forward(order: ArrayLike, cv: int, start: int) -> list[Split]:
    """Blocks of rows in the order of time, each predicted from all rows before it.

    The first `start` rows are never held out; the others are split into `cv` blocks. `order` has the rows from the
    earliest to the latest. Equivalent to scikit-learn's `TimeSeriesSplit` with a `test_size`, on sorted rows.
    """
    rows = np.asarray(order, dtype=np.intp)
    blocks = np.array_split(rows[start:], cv)
    ends = start + np.cumsum([0, *map(len, blocks)])
    return [(rows[:end], block) for end, block in zip(ends, blocks, strict=False)]


def even_folds(strata: NDArray[Any], n_folds: int, seed: Any = 0, *, key: Indices | None = None) -> Indices:
    """A fold for each row, dealt in random order or in that of `key`; each stratum is spread evenly over the folds."""
    if key is None:
        key = np.random.default_rng(seed).permutation(len(strata))
    fold = np.empty(len(strata), dtype=np.intp)
    place = np.unique(strata, return_inverse=True)[1].ravel()
    first = np.full(int(place.max(initial=0)) + 1, len(strata))
    np.minimum.at(first, place, key)
    # Counted on from stratum to stratum, in an order that doesn't depend on their names: otherwise all strata of one
    # row would be in the first fold.
    fold[np.lexsort((key, first[place]))] = np.arange(len(strata)) % n_folds
    return fold


def divided_rows(rows: Array, target: Array | Indices, weight: Array, n_parts: int) -> tuple[Indices, Array, Indices]:
    """Merge equal rows, and divide those whose inputs occur with several targets into up to `n_parts` of equal weight.

    For folds: if all copies of such a row were held out together, the other targets alone would predict it. A row of
    weight k has at most k parts. Returns positions of rows, their weights, and a random order with a fixed seed in
    which the parts of a row are consecutive, so that dealing them out to the folds puts one into each.
    """
    first, _, total = merge_equal_rows(np.column_stack([rows, target]), weight)
    _, inputs, _ = merge_equal_rows(rows[first], total)
    counts = np.clip(np.floor(total * (1.0 + 1e-9)), 1, n_parts).astype(np.intp)
    counts = np.where(np.bincount(inputs)[inputs] > 1, counts, 1)
    key = np.random.default_rng(0).permutation(len(first))
    return np.repeat(first, counts), np.repeat(total / counts, counts), np.repeat(key, counts)


def equal_rows(X: Any, n_rows: int) -> Indices:
    """The number of the group of rows with equal inputs to which each row belongs.

    Each row is a group of its own if columns aren't finite numbers, or if most rows are copies.
    """
    places = row_places(X)
    if places is None or not np.isfinite(places).all():
        return np.arange(n_rows)
    groups = np.unique(places, return_inverse=True)[1].ravel()
    return np.arange(n_rows) if not groups.any() or mostly_copies(n_rows, int(groups.max()) + 1) else groups


def group_folds(groups: Indices, codes: Indices, n_folds: int, seed: Any) -> Indices:
    """A fold for each row: those of a group share it, and each class is spread evenly over the folds."""
    # The smallest class of a group, so that the order of its rows doesn't matter.
    kind = np.full(int(groups.max()) + 1, codes.max())
    np.minimum.at(kind, groups, codes)
    return even_folds(kind, n_folds, seed)[groups]


def systematic_folds(table: Any, order: Array, n_folds: int, random_state: Any = None) -> list[Split]:
    """Row k in the given order goes to fold k modulo n_folds; identical rows, target included, stay together.

    With a random state, each n_folds rows in this order are assigned to the folds at random.

    If most rows are copies, as with a few categorical columns, identical rows are separated: otherwise all training
    rows with the inputs of a held-out row would have other targets.
    """
    if n_folds < 2:
        raise ValueError(f"cv must be at least 2 folds; got {n_folds}")
    key = np.asarray(row_places(table))
    sequence = np.lexsort((key, order))
    new = (np.diff(order[sequence]) != 0) | (np.diff(key[sequence]) != 0)
    rank = np.empty(len(order), dtype=np.intp)
    apart = mostly_copies(len(key), len(np.unique(key)))
    rank[sequence] = np.arange(len(order)) if apart else np.append(0, np.cumsum(new))
    n_folds = min(n_folds, int(rank.max()) + 1)
    if n_folds < 2:
        raise ValueError("cross-validation needs at least 2 different rows, but all are one sample")
    fold = rank % n_folds
    if random_state is not None:
        blocks = np.tile(np.arange(n_folds), (int(rank.max()) // n_folds + 1, 1))
        fold = generator(random_state).permuted(blocks, axis=1).ravel()[rank]
    return pairs_of_folds(fold)


def pairs_of_folds(fold: Indices) -> list[Split]:
    """The training and held-out rows of each fold, from the fold of each row; without folds that have no rows."""
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in np.unique(fold)]


def mostly_copies(n_rows: int, n_distinct: int) -> bool:
    """Whether there are so few distinct rows that equal ones are different observations, and need not share a fold.

    In a table of a few categories, a whole group of equal rows would be predicted from other categories only.
    """
    return n_rows > 3 * n_distinct


def row_places(X: Any) -> Array | None:
    """A number for each row, the same for equal rows only; None if columns aren't numbers.

    It is a fixed linear function of the row, so that an order by it doesn't depend on that of the table.
    """
    try:
        rows = numeric(X)
        if np.iscomplexobj(rows):
            return None
        rows = rows if is_sparse(rows) else np.asarray(rows, dtype=np.float64)
        direction = np.random.default_rng(0).normal(size=rows.shape[1])
        with np.errstate(all="ignore"):
            # Not by BLAS, whose sums may differ in the last digit between equal rows.
            places = rows @ direction if is_sparse(rows) else np.einsum("ij,j->i", rows, direction)
    except (ValueError, TypeError, IndexError):
        return None
    return np.asarray(places).ravel()


def with_known_classes(pairs: Sequence[Split], y: NDArray[Any]) -> tuple[list[Split], list[str]]:
    """The folds without rows of classes that have fewer than two training rows, and a note about those left out.

    Blocks in time order, and folds given by a caller, may hold out a class before any training row has it, and folds of
    whole groups a class that only one group has. A fold whose training rows have fewer than two classes is left out.
    """
    found, lost = [], []
    for train, test in pairs:
        known, counts = np.unique(y[train], return_counts=True)
        known = known[counts >= 2]
        scored = np.isin(y[test], known) & (len(known) >= 2)
        lost.append(test[~scored])
        if scored.any():
            found.append((train[np.isin(y[train], known)], test[scored]))
    if not found:
        raise ValueError(
            "no fold has held-out rows of a class that its training rows have: hold out single rows at random instead "
            "(time_order=False or groups=False in analyze, --shuffle or --no-group in credo fit)"
        )
    rows = np.concatenate(lost)
    if not len(rows):
        return found, []
    classes = ", ".join(repr(label) for label in np.unique(y[rows]).tolist())
    held = "1 held-out row is" if len(rows) == 1 else f"{len(rows):,} held-out rows are"
    return found, [
        f"{held} not scored (classes: {classes}), because the rows that they are predicted from have fewer than two of "
        "that class, or no other class."
    ]


def _checked(pairs: Iterable[tuple[Any, Any]], n_samples: int) -> list[Split]:
    found = [(np.asarray(train, dtype=np.intp), np.sort(np.asarray(test, dtype=np.intp))) for train, test in pairs]
    if not found:
        raise ValueError("cv has no folds")
    tested = np.bincount(np.concatenate([test for _, test in found]), minlength=n_samples)
    if len(tested) > n_samples or tested.max() > 1:
        raise ValueError("cv must hold out each row at most once, as KFold, GroupKFold and TimeSeriesSplit do")
    return found


def _require_two_rows(classes: NDArray[Any]) -> None:
    known, counts = np.unique(classes, return_counts=True)
    if counts.min() < 2:
        raise ValueError(
            f"the class {known[counts.argmin()].item()!r} has one row only, which can't be split into training and "
            "held-out rows: remove it, or merge it with another class"
        )


def _labels(groups: ArrayLike, n_samples: int) -> Indices:
    values = np.asarray(groups)
    if values.shape != (n_samples,):
        raise ValueError(f"groups must have one label for each of the {n_samples} rows of X; got shape {values.shape}")
    labels = np.unique(values, return_inverse=True)[1].ravel()
    if n_samples > 1 and not labels.any():
        raise ValueError("groups has only one label; at least two groups are needed")
    return labels
