"""The number of threads to use, and a limit on BLAS threads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController


def n_threads() -> int:
    """Cores that this process may use, or fewer where OMP_NUM_THREADS says so."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wish = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(available, int(wish))) if wish.isdigit() else available


class _Limit:
    """One limit for the process, shared by all callers inside: the last one to leave removes it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._holders = 0
        self._limiter: Any = None

    def take(self) -> None:
        with self._lock:
            if self._holders == 0:
                self._limiter = _controller().limit(limits=1, user_api="blas")
            self._holders += 1

    def leave(self) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                self._limiter.restore_original_limits()


_LIMIT = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Restrict BLAS to the calling threads, and restore the previous limit afterwards.

    BLAS threads wait by spinning. If a matrix of a few hundred rows is factored again and again, or several callers run
    in parallel, they cost more time than they save: on a busy machine a hundred times more. The limit applies to the
    whole process; if several threads set it, it lasts until the last of them has left.
    """
    _LIMIT.take()
    try:
        yield
    finally:
        _LIMIT.leave()


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    """Looking for the loaded libraries takes milliseconds, so that it is done once."""
    return ThreadpoolController()
