"""Sharing the rows of a compiled loop among threads.

Python threads that sleep between calls take the place of numba's own pool, whose waiting threads would spin against
those of the BLAS: nothing global is set, and no environment variable is asked for.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

# Below this many rows a thread costs more than it saves.
_FEW_ROWS = 200

_pool: ThreadPoolExecutor | None = None


def share(loop: Callable[..., Any], n_rows: int, *arguments: Any) -> list[Any]:
    """Run loop(start, step, *arguments) over all rows, in as many threads as there are cores; the results."""
    n_threads = _n_threads() if n_rows > _FEW_ROWS else 1
    if n_threads == 1:
        return [loop(0, 1, *arguments)]
    futures = [_executor().submit(loop, start, n_threads, *arguments) for start in range(1, n_threads)]
    first = loop(0, n_threads, *arguments)
    return [first, *(future.result() for future in futures)]


def _n_threads() -> int:
    """Cores that this process may use, or fewer where OMP_NUM_THREADS says so."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wish = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(available, int(wish))) if wish.isdigit() else available


def _executor() -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(max_workers=max(_n_threads() - 1, 1), thread_name_prefix="credo-rows")
    return _pool


def _forget() -> None:
    """Threads don't survive a fork; the child makes its own."""
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
