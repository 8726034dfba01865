"""Whether the spread of the target around its expected value varies with the inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import cKDTree
from scipy.stats import kruskal

from credo.study._size import MAX_LENGTHSCALES

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# With fewer rows nothing is said, and of more so many are used.
_FEWEST, _MOST = 60, 3000
# Pairs of rows in each of at most so many parts of a column's range.
_PAIRS, _MOST_PARTS = 12, 8
# The probability of a false alarm, over all columns; pairs that share a row make it somewhat larger.
_LEVEL = 0.003


def spread_varies(rows: Any, y: Array) -> bool:
    """Whether differences between neighbouring rows are larger in some parts of a column's range than in others.

    The difference of a linear model's residuals at a row and at its nearest neighbour contains little of a smooth
    function. Along each column, and along the predictions of that model, a Kruskal–Wallis test compares the absolute
    differences between parts of the range.

    Parameters
    ----------
    rows : array of shape (n_samples, n_features)
        The prepared columns. Nothing is said of sparse rows and of many columns.
    """
    if sparse.issparse(rows) or len(y) < _FEWEST or not 0 < rows.shape[1] <= MAX_LENGTHSCALES or np.ptp(y) == 0:
        return False
    some = np.random.default_rng(0).permutation(len(y))[:_MOST]
    X, y = np.asarray(rows, dtype=np.float64)[some], y[some]
    basis = np.column_stack([np.ones(len(y)), X])
    fitted = basis @ np.linalg.lstsq(basis, y, rcond=None)[0]
    first, second = _neighbours(X)
    sizes = np.abs((y - fitted)[first] - (y - fitted)[second])
    lines = [line for line in (*X.T, fitted) if np.ptp(line) > 0]
    if np.ptp(sizes) == 0:
        return False
    return any(_p_value(line[first] + line[second], sizes) < _LEVEL / len(lines) for line in lines)


def _neighbours(X: Array) -> tuple[Index, Index]:
    """Pairs of a row and its nearest neighbour, each once."""
    nearest = np.asarray(cKDTree(X).query(X, k=2)[1])
    # Of equal rows, the first that is found may be another one than the row itself.
    own = np.arange(len(X))
    other = np.where(nearest[:, 0] == own, nearest[:, 1], nearest[:, 0])
    pairs = np.unique(np.sort(np.column_stack([own, other]), axis=1), axis=0)
    return pairs[:, 0], pairs[:, 1]


def _p_value(line: Array, sizes: Array) -> float:
    """Of equal spread along a line."""
    order = np.argsort(line, kind="stable")
    return float(kruskal(*np.array_split(sizes[order], min(_MOST_PARTS, len(sizes) // _PAIRS))).pvalue)
