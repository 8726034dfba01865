"""Units that changed between training and prediction: percent signs, fractions and currencies."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.io.preparation.encoders import Numbers
from credo.io.tables.text import SIGNS


def signs_of(table: Any) -> dict[str, str] | None:
    """The signs of the columns that were written with one, as % or $; None if the table wasn't read from a file."""
    found = table.attrs.get(SIGNS)
    return found if isinstance(found, dict) else None


def changed_sign(encoder: Numbers, sign: str | None, column: Any) -> str | None:
    """The sentence about a column whose numbers are written in another way than the training data, or None.

    `sign` is empty for a column of a file without one, and None where nothing is known.
    """
    before = encoder.sign
    if before is None or before == sign:
        return None
    place = f"column {encoder.name!r}"
    values = encoder.values(column)
    known = np.abs(values[np.isfinite(values)])
    largest = max(abs(encoder.low), abs(encoder.high))
    if before == "%" and not sign and len(known) and known.max() <= 1.0 < largest:
        return (
            f"{place}: the values look like fractions, and the training data had percentages (up to "
            f"{encoder.text(largest)} %); multiply them by 100"
        )
    if sign is None:
        return None
    now, then = (f"with {mark!r}" if mark else "without a sign" for mark in (sign, before))
    return f"{place}: the numbers are written {now}, and in the training data {then}; they are used as they are"
