"""The two triangles of a symmetric matrix: whether they agree, and copying or clearing one in place."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# In units of √(aᵢᵢaⱼⱼ), the bound of |aᵢⱼ|: larger differences between aᵢⱼ and aⱼᵢ are no rounding errors.
SYMMETRY_TOLERANCE = 1e-8
# Rows at a time: a strip and its transpose stay in the cache, and temporaries stay far below n×n.
_STRIP = 128
_ABOVE = np.triu(np.ones((_STRIP, _STRIP), dtype=bool), 1)


def asymmetric(A: NDArray[np.float64]) -> bool:
    """Whether A differs from its transpose by more than rounding; NaN counts as a difference."""
    scale = np.sqrt(np.abs(np.diagonal(A)))
    for start in range(0, A.shape[0], _STRIP):
        stop = start + _STRIP
        here, there = A[start:stop, start:], A[start:, start:stop].T
        if np.array_equal(here, there):
            continue
        with np.errstate(invalid="ignore", over="ignore"):
            allowed = SYMMETRY_TOLERANCE * scale[start:stop, None] * scale[start:]
            if not (np.abs(here - there) <= allowed).all():
                return True
    return False


def mirror_lower(A: NDArray[np.float64]) -> None:
    """Copy the strict lower triangle onto the upper one, in place; on A.T, the upper onto the lower."""
    for start in range(0, A.shape[0], _STRIP):
        stop = start + _STRIP
        corner = A[start:stop, start:stop]
        np.copyto(corner, corner.T.copy(), where=_ABOVE[: len(corner), : len(corner)])
        A[start:stop, stop:] = A[stop:, start:stop].T


def clear_upper(A: NDArray[np.float64]) -> None:
    """Zero the strict upper triangle in place."""
    for start in range(0, A.shape[0], _STRIP):
        stop = start + _STRIP
        corner = A[start:stop, start:stop]
        np.copyto(corner, 0.0, where=_ABOVE[: len(corner), : len(corner)])
        A[:start, start:stop] = 0.0
