"""Values that can't be changed once they are built."""

from __future__ import annotations

from typing import Any, NoReturn


class Immutable:
    """Refuses to set or delete attributes; a constructor writes `vars(self)`."""

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} can't be changed; build a new one with another {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} can't be changed; {name} stays")
