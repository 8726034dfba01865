"""Columns in tiles, as the compiled loops read them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from credo.kernels._jit import TILE


def tiles(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Columns (n_columns, n) as an array (n_tiles, n_columns, TILE), filled up with zeros."""
    n_columns, n = columns.shape
    n_tiles = -(-n // TILE)
    padded = np.zeros((n_columns, n_tiles * TILE))
    padded[:, :n] = columns
    return np.ascontiguousarray(padded.reshape(n_columns, n_tiles, TILE).transpose(1, 0, 2))
