"""Rows that are equal, as one row of their total weight."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]


def merge_equal_rows(table: Array, weight: Array) -> tuple[Index, Index, Array]:
    """The index of the first of each group of equal rows, the group of each row, and the groups' weights.

    Groups are in the order of their sorted rows, so that nothing depends on the order of the table or on whether a row
    is repeated or weighted. NaN counts as unequal to itself: replace it first.

    >>> first, group, total = merge_equal_rows(np.array([[2.0], [1.0], [2.0]]), np.ones(3))
    >>> first, group, total
    (array([1, 0]), array([1, 0, 1]), array([1., 2.]))
    """
    _, first, group = np.unique(table, axis=0, return_index=True, return_inverse=True)
    group = group.ravel()
    return first, group, np.bincount(group, weights=weight).astype(np.float64)
