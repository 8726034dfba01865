"""Stopping a fit at a deadline: solvers check the clock between steps.

An exception raised in a thread from outside might leave a lock locked. So loops that can take long call `check`, which
does nothing unless the caller has set a deadline.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic

_deadline: ContextVar[float | None] = ContextVar("credo_deadline", default=None)


class TimeUp(BaseException):
    """The deadline has passed. Not an `Exception`, like KeyboardInterrupt, so that it isn't handled as a failed fit."""


@contextmanager
def until(deadline: float | None) -> Iterator[None]:
    """Set the time of the monotonic clock after which `check` raises `TimeUp` in this thread; None is no deadline.

    >>> with until(monotonic() + 60.0):
    ...     check()
    """
    token = _deadline.set(deadline)
    try:
        yield
    finally:
        _deadline.reset(token)


def check() -> None:
    """Raise `TimeUp` if there is a deadline and it has passed."""
    deadline = _deadline.get()
    if deadline is not None and monotonic() > deadline:
        raise TimeUp


def current() -> float | None:
    """The deadline of this thread, to be set by `until` in the threads that work for it."""
    return _deadline.get()
