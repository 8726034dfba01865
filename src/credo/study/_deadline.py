"""Ending a fit when its time is up."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic


class TimeUp(BaseException):
    """The time for the models is over. Like KeyboardInterrupt it is no Exception, so that no model swallows it."""


@contextmanager
def until(deadline: float | None) -> Iterator[None]:
    """Raise `TimeUp` in this thread if the block is not finished at that time of the monotonic clock.

    The exception arrives between two steps of Python code: a compiled loop or a call of LAPACK ends first.
    """
    if deadline is None:
        yield
        return
    thread, lock, over = threading.get_ident(), threading.Lock(), threading.Event()

    def fire() -> None:
        with lock:
            if not over.is_set():
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(TimeUp))

    timer = threading.Timer(max(0.0, deadline - monotonic()), fire)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with lock:
            over.set()
            # One that was raised and has not arrived is taken back.
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), None)
        timer.cancel()
