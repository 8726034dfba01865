"""Immutable objects."""

from __future__ import annotations

from typing import Any, NoReturn


class Immutable:
    """Setting or deleting attributes raises an error; a constructor writes `vars(self)`."""

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable; create a new one with another {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable; {name} can't be deleted")
