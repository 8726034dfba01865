"""Ending a fit when its time is up: solvers look at the clock between two steps.

An exception that is thrown into a thread from outside may arrive while a lock is taken and leave it locked for ever.
So the loops that can take long call `check`, which does nothing unless the caller has set a deadline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Value = TypeVar("Value")

_deadline: ContextVar[float | None] = ContextVar("credo_deadline", default=None)


class TimeUp(BaseException):
    """The time is over. Like KeyboardInterrupt it is no Exception, so that no model takes it for a failed fit."""


@contextmanager
def until(deadline: float | None) -> Iterator[None]:
    """Let `check` raise `TimeUp` in this thread after that time of the monotonic clock; None is no deadline.

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


def carried(function: Callable[Arguments, Value]) -> Callable[Arguments, Value]:
    """The function for another thread, which then has this thread's deadline."""
    deadline = _deadline.get()

    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Value:
        with until(deadline):
            return function(*args, **kwargs)

    return run
