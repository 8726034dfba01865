"""Two things chosen out of many, by name or by place."""

from __future__ import annotations

from collections.abc import Sequence


def two(argument: str, pair: Sequence[int | str], known: Sequence[str], *, what: str) -> list[int]:
    """The places of two different members; `argument` is what the user calls the pair, `what` what it holds.

    >>> two("columns", ("b", 0), ["a", "b", "c"], what="column")
    [1, 0]
    """
    if isinstance(pair, str) or len(pair) != 2:
        raise ValueError(f"{argument} must be two {what}s, by name or place; got {pair!r}")
    places = [place_of(each, known, what) for each in pair]
    if places[0] == places[1]:
        raise ValueError(f"{argument} must be two different {what}s; got {pair!r}")
    return places


def place_of(each: int | str, known: Sequence[str], what: str) -> int:
    """The place of a member that is given by its name or place."""
    if isinstance(each, str) and each in known:
        return list(known).index(each)
    if not isinstance(each, str) and 0 <= int(each) < len(known):
        return int(each)
    few = ", ".join(known[:10]) + (", …" if len(known) > 10 else "")
    raise ValueError(f"the model has no {what} {each!r}; it has {len(known)}: {few}")
