"""Gaussian draws with a given covariance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.linalg import NotPositiveDefiniteError, factorize
from credo.seeds import generator

Array = NDArray[np.float64]


def draws(K: Array, n: int, *, random_state: Any, method: str) -> Array:
    """n draws from N(0, K), one per row; K is overwritten."""
    noise = generator(random_state).standard_normal((len(K), n))
    if method == "cholesky":
        return (factorize(K, overwrite=True, assume_symmetric=True).L @ noise).T
    if method != "eigh":
        raise ValueError(f'method must be "cholesky" or "eigh"; got {method!r}')
    values, vectors = np.linalg.eigh(K)
    if values[0] < -1e-8 * max(values[-1], 0.0):
        raise NotPositiveDefiniteError(
            f"the Gram matrix has the eigenvalue {values[0]:.3g}: the kernel is not positive semidefinite"
        )
    return (vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * noise)).T
