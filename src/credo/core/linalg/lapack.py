"""Symmetric matrices in place: comparing, copying and clearing triangles, and checked calls of BLAS and LAPACK.

Lower triangles are in Fortran order; no n×n copy is made.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import blas, lapack

# In units of √(aᵢᵢaⱼⱼ), the bound of |aᵢⱼ|: larger differences between aᵢⱼ and aⱼᵢ are not rounding errors.
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


Array = NDArray[np.float64]


def real_array(name: str, value: ArrayLike) -> Array:
    """The value as a float64 array, not copied when it is one already."""
    raw: Any = value if isinstance(value, np.ndarray) else _as_array(name, value)
    if raw.dtype.kind not in "fiub":
        raise ValueError(f"{name} must be a dense array of real numbers; got {type(value).__name__} of {raw.dtype}")
    return np.asarray(raw, dtype=np.float64)


def cholesky_in_place(A: Array) -> bool:
    """Overwrite the lower triangle of Fortran-ordered A with its Cholesky factor; False if it has none.

    A factor with a pivot as small as rounding errors counts as none. The strict upper triangle is neither read nor
    written, so that a caller can restore A from it.
    """
    if A.shape[0] == 0:
        return True
    diagonal = np.diagonal(A).copy()
    _, info = lapack.dpotrf(A, lower=1, clean=0, overwrite_a=1)
    if info < 0:
        raise ValueError(f"LAPACK's dpotrf rejected its argument number {-info}")
    return info == 0 and bool(resolved(A, diagonal, n=len(A)).all())


def resolved(L: Array, diagonal: Array, *, n: int) -> NDArray[np.bool_]:
    """Which pivots are more than the rounding errors of an n×n matrix with this diagonal.

    A pivot L_jj² is a_jj less what the rows before explain, with an error of about n·eps·a_jj at most (Higham
    2002, theorem 10.5). Whether the pivot of a singular matrix comes out as 10⁻¹⁶ or as −10⁻¹⁶ is chance, and
    neither has a correct digit. NaN, which some LAPACK libraries accept, is not a pivot either.
    """
    return np.square(np.diagonal(L)) > n * np.finfo(np.float64).eps * diagonal


def triangular_solve(L: Array, b: Array, *, transpose: bool = False, overwrite: bool = False) -> Array:
    """L⁻¹b, or L⁻ᵀb, for a vector or the columns of a matrix, which may be in either memory order."""
    if b.size == 0:
        return b.copy()
    into = int(overwrite and b.flags.writeable)
    if b.ndim == 1:
        return blas.dtrsv(L, b, lower=1, trans=int(transpose), overwrite_x=into)
    if b.flags.c_contiguous and not b.flags.f_contiguous:
        # The transposed problem, xᵀLᵀ = bᵀ, has its right-hand side in Fortran order already.
        return blas.dtrsm(1.0, L, b.T, side=1, lower=1, trans_a=int(not transpose), overwrite_b=into).T
    return blas.dtrsm(1.0, L, b, lower=1, trans_a=int(transpose), overwrite_b=into)


def triangular_inverse(L: Array) -> Array:
    """L⁻¹, lower triangular."""
    if L.shape[0] == 0:
        return L.copy(order="F")
    inverse, info = lapack.dtrtri(L, lower=1)
    _expect_regular(info)
    return inverse


def inverse_from_factor(L: Array) -> Array:
    """(L Lᵀ)⁻¹, both triangles filled."""
    if L.shape[0] == 0:
        return L.copy(order="F")
    inverse, info = lapack.dpotri(L, lower=1)
    _expect_regular(info)
    mirror_lower(inverse)
    return inverse


def _as_array(name: str, value: ArrayLike) -> NDArray[Any]:
    try:
        return np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} must be a dense array of real numbers; {error}") from None


def _expect_regular(info: int) -> None:
    if info != 0:
        raise np.linalg.LinAlgError(f"the triangular factor is singular: its diagonal entry {info - 1} is zero")
