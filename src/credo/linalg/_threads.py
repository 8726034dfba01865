"""How many threads to use, and how to keep the BLAS from using too many."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from threadpoolctl import ThreadpoolController


def n_threads() -> int:
    """Cores that this process may use, or fewer where OMP_NUM_THREADS says so."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wish = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(available, int(wish))) if wish.isdigit() else available


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let the BLAS work in the calling threads alone, and restore what was before.

    The BLAS' own threads wait by spinning. Where a matrix of some hundred rows is factored again and again, or
    several callers work side by side, they cost more than they give: on a busy machine a hundred times more.
    """
    with _controller().limit(limits=1, user_api="blas"):
        yield


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    """Looking for the loaded libraries takes milliseconds, so that it is done once."""
    return ThreadpoolController()
