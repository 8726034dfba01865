"""The columns that a walk chooses from, with what every chain needs to know of them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# All inner products are kept up to this many numbers (128 MB); beyond, a row of them is made when it is asked for.
_KEPT_ENTRIES = 16_000_000
# Of a column that depends on others, inner products leave this much of its squared length by rounding.
_DEPENDENT = 1e-10


@dataclass(frozen=True)
class Columns:
    """Centred (and weighted) columns, shared by all chains.

    `square` is x_iᵀx_i + ridge, `common` x_iᵀy, `least` what must be left of a column for it to enter a model, and
    `gram` XᵀX, or empty where that would be too large.
    """

    X: Array
    square: Array
    common: Array
    least: Array
    gram: Array

    @classmethod
    def of(cls, X: Array, y: Array, *, ridge: float) -> "Columns":
        """From columns and target; `ridge` is what the slab adds to their squared lengths."""
        # Rows in memory one after the other: x_jᵀX is twice as fast as with columns.
        X = np.ascontiguousarray(X, dtype=np.float64)
        plain = np.einsum("ij,ij->j", X, X)
        # Rounding can't take what a ridge adds, unless that is too little to be seen beside the columns.
        least = np.minimum(0.5 * ridge, _DEPENDENT * plain) if ridge else _DEPENDENT * plain
        d = X.shape[1]
        gram = X.T @ X if d * d <= _KEPT_ENTRIES else np.empty((0, 0))
        return cls(X, plain + ridge, y @ X, least, gram)

    @property
    def n_features(self) -> int:
        """How many there are."""
        return self.X.shape[1]
