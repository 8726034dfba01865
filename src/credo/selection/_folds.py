"""Cutting rows into folds: shuffled, groups kept together, classes spread evenly."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Folds = list[NDArray[np.intp]]


def folds(
    n_samples: int,
    cv: int,
    rng: np.random.Generator,
    *,
    groups: ArrayLike | None = None,
    classes: NDArray[Any] | None = None,
) -> tuple[Folds, list[str]]:
    """The held-out rows of each fold, and a note where there are fewer folds than were asked for.

    With `classes`, the label of each row, each class is spread over the folds as evenly as whole groups allow.
    """
    if isinstance(cv, bool) or not isinstance(cv, int | np.integer) or cv < 2:
        raise ValueError(f"cv must be a whole number of at least 2 folds; got {cv!r}")
    labels = np.arange(n_samples) if groups is None else _labels(groups, n_samples)
    sizes = np.bincount(labels)
    n_folds, what = min(int(cv), len(sizes)), "row" if len(sizes) == n_samples else "group"
    notes = [f"{len(sizes)} {what}s make {n_folds} folds of one {what}, not {cv}."] if n_folds < cv else []
    order = rng.permutation(len(sizes))
    if classes is None and what == "row":
        return [np.sort(fold) for fold in np.array_split(order, n_folds)], notes
    # Groups are dealt out like cards, the largest first, so that no fold gets more than one of them ahead; and one
    # class after the other, so that the same is true of each class.
    order = order[np.argsort(-sizes[order], kind="stable")]
    if classes is not None:
        order = order[np.argsort(_class_of_groups(classes, labels)[order], kind="stable")]
    fold_of = np.empty(len(sizes), dtype=np.intp)
    fold_of[order] = np.arange(len(sizes)) % n_folds
    return [np.flatnonzero(fold_of[labels] == fold) for fold in range(n_folds)], notes


def _class_of_groups(classes: NDArray[Any], labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """The class of each group's first row; every class must have two groups, one to learn from and one to hold out."""
    known, codes = np.unique(classes, return_inverse=True)
    pairs = np.unique(np.column_stack([codes.ravel(), labels]), axis=0)
    few = np.flatnonzero(np.bincount(pairs[:, 0]) < 2)
    if len(few):
        n = int(np.sum(codes == few[0]))
        rows = "one row only" if n == 1 else f"{n} rows, all of one group"
        raise ValueError(
            f"the class {known[few[0]].item()!r} has {rows}, which can't be learned from and held out at once: leave "
            "it out, or join it to another class"
        )
    return codes.ravel()[np.unique(labels, return_index=True)[1]]


def _labels(groups: ArrayLike, n_samples: int) -> NDArray[np.intp]:
    values = np.asarray(groups)
    if values.shape != (n_samples,):
        raise ValueError(f"groups needs one label for each of the {n_samples} rows of X; got shape {values.shape}")
    labels = np.unique(values, return_inverse=True)[1].ravel()
    if n_samples > 1 and not labels.any():
        raise ValueError("all rows carry the same label in groups, so that none can be held out from the others")
    return labels
