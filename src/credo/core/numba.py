"""numba's `njit` with a cache that several processes can share, and that read-only machines can do without.

numba refuses to compile a function at all where it finds no folder for its cache, as in a container with a read-only
file system. The compiled code is then kept in a folder of temporary files that belongs to this user alone (cached code
is executed when it is read) or, where there is none either, in memory.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import IndexDataCacheFile
from numba.core.registry import CPUDispatcher


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit` with these options; `cache=True` means a cache wherever one can be kept.

    The wrappers through which C and Python call a function take time to compile, most where arguments are tuples of
    arrays. None has the first; functions whose name starts with an underscore are called by compiled code only, and
    have neither.
    """

    def compiled(function: Callable[..., Any]) -> Any:
        made = _compiled(function, {"no_cfunc_wrapper": True, "no_cpython_wrapper": _is_inner(function)} | options)
        if _is_inner(function) and isinstance(made, CPUDispatcher):
            made.__class__ = _Inner
        return made

    return compiled


def _is_inner(function: Callable[..., Any]) -> bool:
    return function.__name__.startswith("_")


class _Inner(CPUDispatcher):
    """A function that Python can't call: without a wrapper, numba would crash."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{self.py_func.__name__} is called by compiled code only")


def _compiled(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    try:
        return _checked(numba.njit(**options)(function))
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
    folder = _own_folder()
    config: Any = numba.config
    before = config.CACHE_DIR
    try:
        config.CACHE_DIR = folder
        return _checked(numba.njit(**options | {"cache": bool(folder)})(function))
    except RuntimeError:
        return numba.njit(**options | {"cache": False})(function)
    finally:
        config.CACHE_DIR = before


class _CheckedFile(IndexDataCacheFile):
    """numba's cached code of a function; what isn't the code asked for is compiled again.

    numba numbers data files by an index that it reads and writes without a lock. Two processes that compile one
    function for different types may take the same number, and a process that is killed between index and data leaves
    the code of an earlier source. So each data file says what it is the code of.
    """

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (key, self._source_stamp, data))

    def load(self, key: Any) -> Any:
        try:
            found = super().load(key)
        except Exception:
            # Whatever unpickling another file's content raises.
            return None
        return found[2] if isinstance(found, tuple) and found[:2] == (key, self._source_stamp) else None

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except Exception:
            return {}


def _checked(function: Any) -> Any:
    """The function with its cache checked; it has none where numba is told not to compile, or not to keep the code."""
    if found := getattr(getattr(function, "_cache", None), "_cache_file", None):
        found.__class__ = _CheckedFile
    return function


@cache
def _own_folder() -> str:
    """A folder of temporary files that only this user can read and write; empty where there is none."""
    try:
        folder = Path(tempfile.gettempdir()) / f"credo-numba-{os.getuid() if hasattr(os, 'getuid') else 'cache'}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return ""
    if not stat.S_ISDIR(found.st_mode):
        return ""
    private = not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o077)
    return str(folder) if private else ""
