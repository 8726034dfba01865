"""Warnings that a caller can collect in its own thread; without a collector they are Python warnings.

`warnings.catch_warnings` changes the state of the whole process, so that two threads would see each other's warnings.
A collector is a context variable and belongs to a single thread or asynchronous task.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_collector: ContextVar[list[Warning] | None] = ContextVar("credo_notices", default=None)


def warn(message: str | Warning, category: type[Warning] = UserWarning, stacklevel: int = 1) -> None:
    """Add a warning to the innermost collector of this thread or, without one, call `warnings.warn`."""
    notice = message if isinstance(message, Warning) else category(message)
    found = _collector.get()
    if found is None:
        warnings.warn(notice, stacklevel=stacklevel + 1)
    else:
        found.append(notice)


@contextmanager
def collected() -> Iterator[list[Warning]]:
    """Collect the warnings that Credo issues in this thread instead of showing them.

    >>> with collected() as found:
    ...     warn("the path was cut short")
    >>> [str(notice) for notice in found]
    ['the path was cut short']
    """
    found: list[Warning] = []
    token = _collector.set(found)
    try:
        yield found
    finally:
        _collector.reset(token)


def on_one_line(error: BaseException) -> str:
    """The message of an error on one line, preceded by its type unless that is ValueError or TypeError."""
    text = " ".join(str(error).split())
    if isinstance(error, ValueError | TypeError) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
