"""Work in parallel threads: items of a list, or rows for a compiled loop.

Python threads that sleep between calls replace numba's own pool, whose waiting threads would compete with those of
BLAS; no global setting or environment variable is needed.
"""

from __future__ import annotations

import ctypes
import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

from credo.linalg._threads import n_threads

Item = TypeVar("Item")
Value = TypeVar("Value")

# Below this many rows a thread costs more than it saves.
_FEW_ROWS = 200
# Parts are handed out one by one, so that a thread which the system holds up does fewer. Their number is fixed: sums
# over parts have the same digits on every machine.
_N_PARTS = 32

# Whether all cores are at work on the items of a `parallel_map`, of which the calling thread has one.
_busy: ContextVar[bool] = ContextVar("busy", default=False)
_pool: ThreadPoolExecutor | None = None
# Where the system has it: the number of the core that the calling thread is on.
_core = getattr(ctypes.CDLL(None), "sched_getcpu", None) if hasattr(os, "sched_setaffinity") else None


def parallel_map(
    function: Callable[[Item], Value],
    items: Iterable[Item],
    *,
    n_jobs: int | None = None,
    cancel: Callable[[], object] | None = None,
) -> list[Value]:
    """[function(item) for item in items], in as many threads as there are cores or `n_jobs` says.

    Deadlines and collected warnings of the calling thread (its context variables) hold in the threads as well. After
    an error or an interrupt, items that haven't begun are dropped, and `cancel` is called, which may end the others.
    Where items take all cores, `parallel_rows` stays in their threads.

    Examples
    --------
    >>> from credo.linalg import parallel_map
    >>> parallel_map(abs, [-1, 2])
    [1, 2]
    """
    items = list(items)
    n_jobs = min(n_threads() if n_jobs is None else n_jobs, len(items))
    if n_jobs <= 1:
        return [function(item) for item in items]
    busy = n_jobs >= n_threads()

    def work(item: Item) -> Value:
        if busy:
            _busy.set(True)
        return function(item)

    with ThreadPoolExecutor(n_jobs, thread_name_prefix="credo-map") as pool:
        futures = [pool.submit(copy_context().run, work, item) for item in items]
        try:
            return [future.result() for future in futures]
        except BaseException:
            # An interrupt reaches the main thread only.
            if cancel is not None:
                cancel()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def parallel_rows(loop: Callable[..., Any], n_rows: int, *arguments: Any) -> list[Any]:
    """The results of a compiled ``loop(start, step, *arguments)`` over all rows, in as many threads as there are cores.

    For some hundredths of a second after a call, BLAS threads still spin on their cores, and the system may wake ours
    on the core of their caller, so they move to other cores first.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.linalg import parallel_rows
    >>> def total(start, step, values):  # in Credo such loops are compiled
    ...     return float(values[start::step].sum())
    >>> sum(parallel_rows(total, 5, np.arange(5.0)))
    10.0
    """
    if n_rows <= _FEW_ROWS:
        return [loop(0, 1, *arguments)]
    if _busy.get():
        return [loop(part, _N_PARTS, *arguments) for part in range(_N_PARTS)]
    waiting, results = deque(range(_N_PARTS)), [None] * _N_PARTS

    def work(cores: set[int] | None = None) -> None:
        if cores:
            with suppress(OSError):
                os.sched_setaffinity(0, cores)
        while True:
            try:
                part = waiting.popleft()
            except IndexError:
                return
            results[part] = loop(part, _N_PARTS, *arguments)

    elsewhere = _other_cores()
    others = [_executor().submit(work, elsewhere) for _ in range(n_threads() - 1)]
    work()
    for other in others:
        # One that hasn't begun has nothing left to do.
        if not other.cancel():
            other.result()
    return results


def _other_cores() -> set[int]:
    """The cores this thread may use, but for the one it is on; empty where the system doesn't say."""
    return os.sched_getaffinity(0) - {_core()} if _core is not None else set()


def _executor() -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(max_workers=max(n_threads() - 1, 1), thread_name_prefix="credo-rows")
    return _pool


def _forget() -> None:
    """Threads don't survive a fork; the child makes its own."""
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
