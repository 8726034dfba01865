"""Column names that are there and differ."""

from __future__ import annotations

from credo.io.errors import quoted


def unique_names(names: list[str]) -> tuple[list[str], list[str]]:
    """Names for unnamed columns, a number after repeated ones, and notes about both.

    >>> unique_names(["a", "a", ""])[0]
    ['a', 'a_2', 'column_3']
    """
    unnamed = [j + 1 for j, name in enumerate(names) if not name]
    # An unnamed first column is what pandas and R make of row numbers.
    named = [name or ("row" if j == 0 else f"column_{j + 1}") for j, name in enumerate(names)]
    taken, seen = set(named), set[str]()
    unique, repeated = [], []
    for name in named:
        final = name
        if name in seen:
            number = 2
            while f"{name}_{number}" in taken:
                number += 1
            final = f"{name}_{number}"
            repeated.append(name)
        seen.add(name)
        taken.add(final)
        unique.append(final)
    notes = [f"Columns without a name (number {', '.join(map(str, unnamed))}) were given one."] if unnamed else []
    if repeated:
        notes.append(f"Column names that occur more than once were numbered: {quoted(dict.fromkeys(repeated))}.")
    return unique, notes
