"""The number of threads to use, and limits on those of BLAS and OpenMP."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock, get_ident
from typing import Any

from threadpoolctl import ThreadpoolController


def n_threads() -> int:
    """Cores that this process may use, or fewer where OMP_NUM_THREADS says so.

    Examples
    --------
    >>> from credo.linalg import n_threads
    >>> n_threads() >= 1
    True
    """
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wish = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(available, int(wish))) if wish.isdigit() else available


class _Limit:
    """One limit for the process, shared by all callers inside: the last one to leave removes it.

    A fork waits until nobody is changing the limit, so that the child doesn't inherit a lock that is never released.
    Of the holders only the thread that forked lives on in the child.
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
        # Counts of zero go, too.
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
    >>> from credo.linalg import one_blas_thread
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
    >>> from credo.linalg import one_openmp_thread
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
    """Looking for the loaded libraries takes milliseconds, so that it is done once."""
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def _set_threads(numbers: list[int]) -> None:
    for library, number in zip(_blas(), numbers, strict=True):
        library.set_num_threads(number)
        # From threadpoolctl 3.8 on, whoever sets OpenBLAS's threads keeps other threads from setting them; the last to
        # leave must be able to.
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread()
