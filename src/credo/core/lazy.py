"""Packages whose members are imported on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy(package: str, members: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """The `__getattr__` of a package, whose members are given by module.

    Examples
    --------
    >>> from credo.core.lazy import lazy
    >>> lazy("credo.core", {"seeds": ("generator",)})("generator").__name__
    'generator'
    """
    home = {name: module for module, names in members.items() for name in names}

    def __getattr__(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"{package} has no member {name!r}")
        return getattr(import_module(f"{package}.{home[name]}"), name)

    return __getattr__
