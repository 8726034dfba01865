"""Dotted paths such as "left.lengthscale", and the error for an unknown one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class UnknownParameterError(KeyError, ValueError):
    """Raised for an unknown parameter name; the message suggests the nearest."""

    # KeyError would print the message in quotes.
    def __str__(self) -> str:
        return str(self.args[0])


def check_name(name: object) -> str:
    """The name, checked to be usable as a keyword argument and as a part of a path."""
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"a parameter's name must be one word of letters, digits and underscores; got {name!r}")
    return name


def join(parent: str, name: str) -> str:
    """The path of a child."""
    return f"{parent}.{name}" if parent else name


def unknown(path: str, known: Iterable[str]) -> UnknownParameterError:
    """The error for a path that isn't among the known ones."""
    names = list(known)
    if path.endswith("]") and path.partition("[")[0] in names:
        whole = path.partition("[")[0]
        return UnknownParameterError(f"{path!r} is one entry of {whole!r}; use the whole parameter, {whole!r}")
    nearest = get_close_matches(path, names, n=1, cutoff=0.5)
    # A bare leaf name is the commonest slip in a nested tree.
    nearest = nearest or [name for name in names if name.rpartition(".")[2] == path][:1]
    hint = f"; did you mean {nearest[0]!r}?" if nearest else "."
    there = ", ".join(names) if names else "none"
    return UnknownParameterError(f"there is no parameter {path!r}{hint} The parameters are: {there}")
