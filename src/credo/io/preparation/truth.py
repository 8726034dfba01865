"""Words that mean true and false."""

from __future__ import annotations

from collections.abc import Iterable

# The first word of a pair counts as 1.
_PAIRS = (("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"), ("on", "off"), ("ja", "nein"), ("oui", "non"))


def truth_pair(distinct: Iterable[str]) -> tuple[str, str] | None:
    """The pair of words that a column consists of, true first, or None.

    >>> truth_pair(["No", "yes"])
    ('yes', 'no')
    """
    found = {word.casefold() for word in distinct}
    return next((pair for pair in _PAIRS if found == set(pair)), None)


def truth_values(pair: tuple[str, str]) -> dict[str, float]:
    """What each word counts as, 1 and 0 and True and False included."""
    true, false = pair
    return {"true": 1.0, "1": 1.0, true: 1.0, "false": 0.0, "0": 0.0, false: 0.0}
