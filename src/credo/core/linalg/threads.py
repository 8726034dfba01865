"""Parallel work on items of a list or rows of a compiled loop, and limits on the threads of BLAS and OpenMP.

Python threads that sleep between calls replace numba's own pool, whose waiting threads would compete with those of
BLAS; no global setting or environment variable is needed.
"""

from __future__ import annotations

import ctypes
import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from functools import lru_cache
from threading import Lock, get_ident
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController


def n_threads() -> int:
    """The number of cores that this process may use, or OMP_NUM_THREADS if that is less.

    Examples
    --------
    >>> from credo.core.linalg import n_threads
    >>> n_threads() >= 1
    True
    """
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wish = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(available, int(wish))) if wish.isdigit() else available


class _Limit:
    """One limit for the process, shared by all callers inside: the last one to leave removes it.

    A fork waits until no thread is changing the limit, so that the child doesn't inherit a lock that is never released.
    In the child, only the thread that forked still holds the limit.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._holders: Counter[int] = Counter()
        self._before: list[int] = []
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._lock.acquire, after_in_parent=self._lock.release, after_in_child=self._begin_child
            )

    def take(self) -> None:
        with self._lock:
            if not self._holders:
                self._before = [library.get_num_threads() for library in _blas()]
                _set_threads([1] * len(self._before))
            self._holders[get_ident()] += 1

    def leave(self) -> None:
        with self._lock:
            self._drop({get_ident(): 1})

    def _begin_child(self) -> None:
        self._drop({thread: count for thread, count in self._holders.items() if thread != get_ident()})
        self._lock.release()

    def _drop(self, holders: dict[int, int]) -> None:
        if not holders:
            return
        # Drops counts of zero as well.
        self._holders -= Counter(holders)
        if not self._holders:
            _set_threads(self._before)


_LIMIT = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Restrict BLAS to the calling threads, and restore the previous limit afterwards.

    BLAS threads wait by spinning. If a matrix of a few hundred rows is factored again and again, or several callers run
    in parallel, they cost more time than they save: on a busy machine a hundred times more. The limit applies to the
    whole process; if several threads set it, it lasts until the last of them has left.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.linalg import one_blas_thread
    >>> with one_blas_thread():
    ...     product = np.eye(3) @ np.ones(3)
    >>> product
    array([1., 1., 1.])
    """
    _LIMIT.take()
    try:
        yield
    finally:
        _LIMIT.leave()


@contextmanager
def one_openmp_thread() -> Iterator[None]:
    """Restrict the OpenMP loops of other libraries to the calling thread, and restore the previous limit afterwards.

    Such threads wait by spinning, too: scikit-learn's boosting of a thousand rows takes five to ten times the CPU time
    with two threads. The limit applies to the calling thread only.

    Examples
    --------
    >>> from credo.core.linalg import one_openmp_thread
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> with one_openmp_thread():
    ...     model = HistGradientBoostingRegressor(max_iter=2).fit([[0.0], [1.0]], [0.0, 1.0])
    >>> model.n_iter_
    2
    """
    with ThreadpoolController().limit(limits=1, user_api="openmp"):
        yield


@lru_cache(maxsize=1)
def _blas() -> list[Any]:
    """Cached, because looking for the loaded libraries takes milliseconds."""
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def _set_threads(numbers: list[int]) -> None:
    for library, number in zip(_blas(), numbers, strict=True):
        library.set_num_threads(number)
        # From threadpoolctl 3.8 on, whoever sets OpenBLAS's threads keeps other threads from setting them; the last to
        # leave must be able to.
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread()


Item = TypeVar("Item")
Value = TypeVar("Value")

# Parts are handed out one by one, so that a delayed thread gets fewer. Their number is fixed, so that sums over parts
# have the same digits on every machine.
_N_PARTS = 32

# Whether this thread runs an item of a `parallel_map` that uses all cores.
_busy: ContextVar[bool] = ContextVar("busy", default=False)
_pool: ThreadPoolExecutor | None = None
# The number of the core that the calling thread is on, if the system has this function.
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
    If the items use all cores, `parallel_rows` stays in their threads.

    Examples
    --------
    >>> from credo.core.linalg import parallel_map
    >>> parallel_map(abs, [-1, 2])
    [1, 2]
    """
    items = list(items)
    n_jobs = min(n_threads() if n_jobs is None else n_jobs, len(items))
    if n_jobs <= 1:
        return list(map(function, items))
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
    >>> from credo.core.linalg import parallel_rows
    >>> def total(start, step, values):  # in Credo such loops are compiled
    ...     return float(values[start::step].sum())
    >>> sum(parallel_rows(total, 5, np.arange(5.0)))
    10.0
    """
    # A thread would cost more than it saves.
    if n_rows <= 200:
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
        # A thread that hasn't started has nothing left to do.
        if not other.cancel():
            other.result()
    return results


def _other_cores() -> set[int]:
    """The cores this thread may use, except the one it is on; empty if the system doesn't tell."""
    return os.sched_getaffinity(0) - {_core()} if _core is not None else set()


def _executor() -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(max_workers=max(n_threads() - 1, 1), thread_name_prefix="credo-rows")
    return _pool


def _reset_after_fork() -> None:
    """Threads don't survive a fork; the child makes its own."""
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
