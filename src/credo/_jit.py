"""numba's `njit` for machines on which neither the package's folder nor a home can be written to.

numba refuses to compile a function at all where it finds no folder for its cache, as in a container with a read-only
file system. The compiled code is then kept in a folder of temporary files that belongs to this user alone (cached code
is executed when it is read) or, where there is none either, in memory.
"""

import os
import stat
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit` with these options; `cache=True` means a cache wherever one can be kept."""

    def compiled(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(**options)(function)
        except RuntimeError as error:
            if "cannot cache" not in str(error):
                raise
        folder = _own_folder()
        config: Any = numba.config
        before = config.CACHE_DIR
        try:
            config.CACHE_DIR = folder
            return numba.njit(**options | {"cache": bool(folder)})(function)
        except RuntimeError:
            return numba.njit(**options | {"cache": False})(function)
        finally:
            config.CACHE_DIR = before

    return compiled


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
