"""The compiled sum of boosted trees; `tests/reference/boosting.py` has it in plain NumPy."""

import numpy as np
from numpy.typing import NDArray

from credo._jit import njit

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@njit(nogil=True, cache=True)
def add_trees(
    root: Index,
    left: Index,
    right: Index,
    feature: Index,
    threshold: Array,
    missing_left: NDArray[np.bool_],
    value: Array,
    X: Array,
    F: Array,
) -> None:
    """Add the value of each row's leaf in every tree to F: tree t belongs to column t modulo the columns of F.

    A row goes left where x ≤ threshold. A leaf has no left child: left < 0.
    """
    n_outputs = F.shape[1]
    for i in range(X.shape[0]):
        for t in range(len(root)):
            node = root[t]
            while left[node] >= 0:
                x = X[i, feature[node]]
                goes_left = missing_left[node] if np.isnan(x) else x <= threshold[node]
                node = left[node] if goes_left else right[node]
            F[i, t % n_outputs] += value[node]
