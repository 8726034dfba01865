"""Stopping a fit at a deadline: solvers check the clock between steps.

An exception raised in a thread from outside might leave a lock locked. So loops that can take long call `check`, which
does nothing unless the caller has set a deadline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic

_deadline: ContextVar[float | None] = ContextVar("credo_deadline", default=None)
_stopped: ContextVar[Callable[[], bool] | None] = ContextVar("credo_stopped", default=None)


class TimeUp(BaseException):
    """The deadline has passed. Not an `Exception`, like KeyboardInterrupt, so that it isn't handled as a failed fit."""


@contextmanager
def until(deadline: float | None, stopped: Callable[[], bool] | None = None) -> Iterator[None]:
    """Set the time of the monotonic clock after which `check` raises `TimeUp` in this thread; None is no deadline.

    `check` also raises it as soon as `stopped` returns True.

    >>> with until(monotonic() + 60.0):
    ...     check()
    """
    token, former = _deadline.set(deadline), _stopped.set(stopped)
    try:
        yield
    finally:
        _deadline.reset(token)
        _stopped.reset(former)


def check() -> None:
    """Raise `TimeUp` if there is a deadline and it has passed, or if the work was stopped."""
    deadline, stopped = _deadline.get(), _stopped.get()
    if (deadline is not None and monotonic() > deadline) or (stopped is not None and stopped()):
        raise TimeUp


def current() -> float | None:
    """The deadline of this thread, to be set by `until` in the threads that work for it."""
    return _deadline.get()
