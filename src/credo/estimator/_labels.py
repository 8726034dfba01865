"""Labels as they come: words, numbers, truth values, categories, objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from credo.estimator._numeric import is_missing, unmasked


def labels_of(y: ArrayLike) -> NDArray[Any]:
    """y as an array of labels of one kind, none of them missing."""
    values = column_or_1d(_plain(unmasked(y, name="y")), warn=True)
    if values.dtype.kind in "OfcmM":
        for row, label in enumerate(values.tolist()):
            if is_missing(label):
                missing = "NaN" if isinstance(label, float) else repr(label)
                raise ValueError(f"y has no label in row {row}: {missing}; leave such rows out")
    if values.dtype.kind == "O":
        values = _of_one_kind(values)
    check_classification_targets(values)
    return values


def _plain(y: ArrayLike) -> Any:
    """A column of a frame as an array of objects where its own conversion would stumble over a missing value."""
    dtype = getattr(y, "dtype", None)
    if dtype is not None and not isinstance(dtype, np.dtype) and getattr(y, "ndim", 0) == 1:
        return np.asarray(y, dtype=object)
    return y


def _of_one_kind(values: NDArray[Any]) -> NDArray[Any]:
    """Objects as truth values or numbers, where they all are; words stay as they are."""
    entries = [label.item() if isinstance(label, np.generic) else label for label in values.tolist()]
    if all(isinstance(label, str) for label in entries):
        return values
    for kind in (bool, int, float):
        if all(isinstance(label, kind) for label in entries):
            return np.array(entries)
    kinds = sorted({type(label).__name__ for label in entries})
    if len(kinds) > 1:
        raise ValueError(f"the labels in y are of several kinds, {' and '.join(kinds)}: make them all words or numbers")
    return values
