"""`numba.njit` on machines where no cache can be written, and what compiled code needs to run as plain Python too.

numba stores compiled code next to the source or in the user's cache folder, and rejects `cache=True` if it can write
to neither, as in a container with a read-only file system. Functions are then compiled again in each process; the
environment variable `NUMBA_CACHE_DIR` sets another cache folder. With `NUMBA_DISABLE_JIT=1`, numba compiles
nothing, and every function runs as Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.cpython.unsafe.tuple import tuple_setitem

__all__ = ["njit", "tuple_setitem"]


def njit(**options: Any) -> Callable[[Any], Any]:
    """`numba.njit` with these options; `cache=True` caches if a cache folder is writable.

    A function that is compiled already is compiled once more with the new options.
    """

    def compiled(function: Any) -> Any:
        function = getattr(function, "py_func", function)
        try:
            return numba.njit(**options)(function)
        except RuntimeError as error:
            if "cannot cache" not in str(error):
                raise
        return numba.njit(**options | {"cache": False})(function)

    return compiled


if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]

    def tuple_setitem(values: tuple[Any, ...], index: int, value: Any) -> tuple[Any, ...]:  # type: ignore[misc]
        """The tuple with one of its items replaced; numba's own exists in compiled code only."""
        return (*values[:index], value, *values[index + 1 :])
