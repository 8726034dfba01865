"""Column names that are there and differ."""

from __future__ import annotations

from credo.io.errors import quoted

# How many unnamed columns a note lists.
_LISTED = 10


def unique_names(names: list[str]) -> tuple[list[str], list[str]]:
    """Names for unnamed columns, a number after repeated ones, and notes about both.

    >>> unique_names(["a", "a", ""])[0]
    ['a', 'a_2', 'column_3']
    """
    unnamed = [j + 1 for j, name in enumerate(names) if not name]
    # An unnamed first column is what pandas and R make of row numbers.
    named = [name or ("row" if j == 0 else f"column_{j + 1}") for j, name in enumerate(names)]
    taken = set(named)
    # The last number that each name was given: beginning at 2 for each repetition would take quadratic time.
    last: dict[str, int] = {}
    unique, repeated = [], []
    for name in named:
        final = name
        if name in last:
            while final in taken:
                last[name] += 1
                final = f"{name}_{last[name]}"
            repeated.append(name)
        last.setdefault(name, 1)
        taken.add(final)
        unique.append(final)
    which = ", ".join(map(str, unnamed[:_LISTED])) + (f" and {len(unnamed) - _LISTED} more" * (len(unnamed) > _LISTED))
    notes = [f"Columns without a name (number {which}) were given one."] if unnamed else []
    if repeated:
        notes.append(f"Column names that occur more than once were numbered: {quoted(dict.fromkeys(repeated))}.")
    return unique, notes
