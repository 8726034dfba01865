"""Methods that a class doesn't have though its base does."""

from __future__ import annotations

from typing import Any, NoReturn


class Absent:
    """In place of an inherited method: `hasattr` says no, and whoever asks is told why.

    >>> class Silent:
    ...     speak = Absent("it has nothing to say")
    >>> hasattr(Silent(), "speak")
    False
    """

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __get__(self, instance: Any, owner: type | None = None) -> NoReturn:
        raise AttributeError(self._reason)
