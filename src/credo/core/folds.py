"""Which rows are held out together: shuffled folds, or blocks in the order of time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _num_samples

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
    return [(np.setdiff1d(every, test), test) for test in tests], notes


def shuffled(
    n_samples: int,
    cv: int,
    rng: np.random.Generator,
    *,
    groups: ArrayLike | None = None,
    classes: NDArray[Any] | None = None,
) -> tuple[list[Indices], list[str]]:
    """The held-out rows of each fold, shuffled; rows of one group stay together.

    With `classes`, the label of each row, each class is spread over the folds as evenly as whole groups allow.
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
        order = order[np.argsort(_class_of_groups(classes, labels)[order], kind="stable")]
    fold_of = np.empty(len(sizes), dtype=np.intp)
    fold_of[order] = np.arange(len(sizes)) % n_folds
    return [np.flatnonzero(fold_of[labels] == fold) for fold in range(n_folds)], notes


def forward(order: ArrayLike, cv: int, start: int) -> list[Split]:
    """Blocks of rows in the order of time, each predicted from all rows before it.

    The first `start` rows are never held out; the others are split into `cv` blocks. `order` has the rows from the
    earliest to the latest. Equivalent to scikit-learn's `TimeSeriesSplit` with a `test_size`, on sorted rows.

    >>> [(train.tolist(), test.tolist()) for train, test in forward([0, 1, 2, 3, 4, 5], 2, 2)]
    [([0, 1], [2, 3]), ([0, 1, 2, 3], [4, 5])]
    """
    rows = np.asarray(order, dtype=np.intp)
    blocks = np.array_split(rows[start:], cv)
    ends = start + np.cumsum([0, *map(len, blocks)])
    return [(rows[:end], block) for end, block in zip(ends, blocks, strict=False)]


def with_known_classes(pairs: Sequence[Split], y: NDArray[Any]) -> tuple[list[Split], list[str]]:
    """The folds without rows of classes that have fewer than two training rows, and a note about those left out.

    Blocks in time order, and folds given by a caller, may hold out a class before any training row has it. A fold whose
    training rows have fewer than two classes is left out.
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
            "no fold has held-out rows of a class that its training rows have: hold out rows at random instead "
            "(time_order=False in analyze, --shuffle in credo fit)"
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


def _class_of_groups(classes: NDArray[Any], labels: Indices) -> Indices:
    """The class of each group's first row; every class must have at least two groups, for training and for testing."""
    known, codes = np.unique(classes, return_inverse=True)
    pairs = np.unique(np.column_stack([codes.ravel(), labels]), axis=0)
    few = np.flatnonzero(np.bincount(pairs[:, 0]) < 2)
    if len(few):
        n = int(np.sum(codes == few[0]))
        rows = "one row only" if n == 1 else f"{n} rows, all of one group"
        raise ValueError(
            f"the class {known[few[0]].item()!r} has {rows}, which can't be split into training and held-out rows: "
            "remove it, or merge it with another class"
        )
    return codes.ravel()[np.unique(labels, return_index=True)[1]]


def _labels(groups: ArrayLike, n_samples: int) -> Indices:
    values = np.asarray(groups)
    if values.shape != (n_samples,):
        raise ValueError(f"groups must have one label for each of the {n_samples} rows of X; got shape {values.shape}")
    labels = np.unique(values, return_inverse=True)[1].ravel()
    if n_samples > 1 and not labels.any():
        raise ValueError("groups has only one label; at least two groups are needed")
    return labels
