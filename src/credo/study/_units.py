"""Repeated measurements: a column that names what several rows were measured on, such as a patient."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.io.extras import pandas
from credo.io.preparation.time_order import name_words

_NAMES = {
    "subject", "patient", "participant", "person", "individual", "respondent", "animal", "household", "student", "id",
}  # fmt: skip
# A unit has this many rows on average, and there are so many units.
_ROWS_EACH, _FEWEST_UNITS = 3, 5
# Agreement within the units that chance explains less often than this shows that a column belongs to them.
_CHANCE = 1e-4
# Wide tables aren't searched.
_MOST_COLUMNS = 100


def repeated_units(frame: Any) -> tuple[str, list[str]] | None:
    """The column of units that have several rows each, and the columns that are equal within all of them.

    It has whole numbers or words, and a name such as subject or patient_id, or other columns depend on it alone.
    """
    if frame.shape[1] > _MOST_COLUMNS:
        return None
    codes = {name: pandas().factorize(frame[name])[0] for name in frame.columns}
    counts = {name: int(own.max()) + 1 if len(own) else 0 for name, own in codes.items()}
    found = []
    for name, own in codes.items():
        if not _FEWEST_UNITS <= counts[name] <= len(own) / _ROWS_EACH or not _has_labels(frame[name]):
            continue
        equal = [
            other
            for other in frame.columns
            if 1 < counts[other] < counts[name] and _depends(codes[other], own, counts[name])
        ]
        if equal or name_words(str(name)) & _NAMES:
            found.append((counts[name], name, equal))
    # Of nested units, such as patients of hospitals, the smallest.
    return max(found)[1:] if found else None


def _has_labels(column: Any) -> bool:
    """Whether a column has words or whole numbers, and none missing."""
    if column.isna().any() or column.dtype.kind in "mM":
        return False
    return column.dtype.kind not in "fc" or bool((column == np.floor(column)).all())


def _depends(other: NDArray[np.intp], own: NDArray[np.intp], n_units: int) -> bool:
    """Whether a column is equal within every unit, by more than chance."""
    if other.min() < 0 or len(np.unique(np.column_stack([own, other]), axis=0)) > n_units:
        return False
    share = np.bincount(other) / len(other)
    return float(np.square(share).sum()) ** (len(own) - n_units) < _CHANCE


def unit_notes(frame: Any) -> list[str]:
    """What the scores mean where units have several rows each."""
    units = repeated_units(frame)
    if units is None:
        return []
    name, equal = units
    same = f", with equal {', '.join(map(repr, equal[:3]))}{' and others' if len(equal) > 3 else ''}" if equal else ""
    return [
        f"Each value of {name!r} has several rows{same}. Rows are held out at random, so the scores and intervals are "
        f"about values of {name!r} that are in the training data. For new ones errors may be much larger."
    ]
