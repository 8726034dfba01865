"""Numbers that a table writes as text: 1 234,5 or $1,234 or 12 %.

A column is read as numbers only if all its values have the same form; a note says what was removed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.io.errors import not_numbers

# Missing in any column.
NA_WORDS = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "#N/A", "#NA", "<NA>")
# Missing in a column of numbers; in other columns these may be ordinary levels.
SUSPECT_WORDS = frozenset(
    ("-", "--", "---", "–", "—", "?", "??", ".", "..", "*", "none", "missing", "unknown", "unk", "n.a.", "n.d.",
     "nd", "na", "k.a.", "k. a.", "tbd", "#value!", "#div/0!", "#num!", "#ref!", "#name?", "not available",
     "not applicable", "not measured")
)  # fmt: skip
_CURRENCIES = "$€£"
_PLAIN = {
    decimal: re.compile(rf"[+-]?(\d+({point}\d*)?|{point}\d+)([eE][+-]?\d+)?", re.ASCII)
    for decimal, point in ((".", r"\."), (",", ","))
}
# No number of thousands begins with a zero: 0,250 is a quarter.
_GROUPED = {
    decimal: re.compile(rf"[+-]?[1-9]\d{{0,2}}(?P<group>[{groups}])\d{{3}}((?P=group)\d{{3}})*({point}\d+)?", re.ASCII)
    for decimal, point, groups in ((".", r"\.", ", '’\u00a0\u202f\u2009"), (",", ",", ". '’\u00a0\u202f\u2009"))
}
# With a larger share of other words, a column isn't numeric with some typing errors.
_SLIPS = 0.05
_SLIP_ROWS = 20


@dataclass(frozen=True, eq=False)
class Reading:
    """A column of words read as numbers, the notes that say how, and the sign they were written with, as % or $."""

    values: NDArray[np.float64]
    notes: tuple[str, ...]
    sign: str = ""


def read_numbers(words: NDArray[Any], *, name: str, decimal: str) -> Reading | None:
    """The numbers of a column of words, missing ones None or NaN; None if they aren't numbers.

    >>> read_numbers(np.array(["1 234,5", "2 000", "?"], dtype=object), name="price", decimal=",").values
    array([1234.5, 2000. ,    nan])
    """
    missing = np.array([not isinstance(word, str) for word in words], dtype=bool)
    texts = [str(word).strip().replace("−", "-") for word in words[~missing]]
    distinct = sorted(set(texts))
    for form in _forms(distinct, decimal=decimal):
        odd = [text for text in texts if text in form.odd]
        if _are_slips(odd, total=len(texts)):
            values = np.full(len(words), np.nan)
            values[~missing] = [form.numbers.get(text, np.nan) for text in texts]
            return Reading(values, tuple(_sentences(name, form.notes, odd)), form.sign)
    return None


def plain_number(text: str) -> float | None:
    """A number as programs write it, or None.

    >>> plain_number("-1.5e3"), plain_number("1,5")
    (-1500.0, None)
    """
    parsed = _number(text, decimal=".")
    return parsed[0] if parsed is not None and not parsed[1] else None


@dataclass(frozen=True, eq=False)
class _Form:
    """The number of each word, the words that are none, how the numbers are written, and with which sign."""

    numbers: dict[str, float]
    odd: set[str]
    notes: list[str]
    sign: str
    grouped: bool


def _forms(distinct: list[str], *, decimal: str) -> list[_Form]:
    """The readings of the words, most plausible first: with the decimal sign of the table, or with the other one."""
    own = _form(distinct, decimal=decimal)
    if own is not None and not own.odd:
        return [own]
    other = _form(distinct, decimal="," if decimal == "." else ".")
    if other is None:
        return [] if own is None else [own]
    other.notes.append(f"with {'commas' if decimal == '.' else 'points'} as decimal signs, unlike the rest")
    if own is None:
        return [other]
    # 1,250 is a thousand and more, unless 0,250 in the same column shows that its comma is a decimal sign.
    return [other, own] if own.grouped and len(other.odd) < len(own.odd) else [own, other]


def _form(distinct: list[str], *, decimal: str) -> _Form | None:
    """How the words are read with this decimal sign; None if they can't be."""
    numbers: dict[str, float] = {}
    groups: set[str] = set()
    affixes: set[tuple[str, str]] = set()
    for text in distinct:
        before, rest = (text[:1], text[1:]) if text[:1] in _CURRENCIES else ("", text)
        after, rest = (rest[-1:], rest[:-1]) if rest[-1:] in _CURRENCIES + "%" else ("", rest)
        parsed = _number(rest.strip(), decimal=decimal)
        if parsed is not None:
            numbers[text], group = parsed
            affixes.add((before, after))
            groups |= {group} - {""}
    if not numbers or len(affixes) > 1 or len(groups) > 1:
        return None
    if groups and any(_is_ungrouped(text, decimal=decimal) for text in numbers):
        return None
    (sign,) = (before or after for before, after in affixes)
    return _Form(numbers, set(distinct) - numbers.keys(), _written(groups, sign), sign, bool(groups))


def _number(text: str, *, decimal: str) -> tuple[float, str] | None:
    """A number and the sign that groups its digits, or None."""
    if _PLAIN[decimal].fullmatch(text):
        return float(text.replace(decimal, ".")), ""
    grouped = _GROUPED[decimal].fullmatch(text)
    if grouped:
        return float(text.replace(grouped["group"], "").replace(decimal, ".")), grouped["group"]
    if text.lower().lstrip("+-") in ("inf", "infinity"):
        return float(text), ""
    return None


def _is_ungrouped(text: str, *, decimal: str) -> bool:
    """Whether there are four digits in a row before the decimal sign: then other entries aren't grouped numbers."""
    return re.search(rf"(?<!\d|{re.escape(decimal)})\d{{4,}}", text, re.ASCII) is not None


def _are_slips(odd: list[str], *, total: int) -> bool:
    strange = sum(text.casefold() not in SUSPECT_WORDS for text in odd)
    return strange == 0 or (total >= _SLIP_ROWS and strange <= _SLIPS * total)


def _written(groups: set[str], sign: str) -> list[str]:
    names = {".": "points", ",": "commas", "'": "apostrophes", "’": "apostrophes"}
    notes = [f"with {names.get(group, 'spaces')} between thousands" for group in groups]
    if sign:
        notes.append(f"without the sign {sign!r}" + (" (12 % is 12)" if sign == "%" else ""))
    return notes


def _sentences(name: str, notes: list[str], odd: list[str]) -> list[str]:
    found = [f"Column {name!r} was read as numbers {' and '.join(notes)}."] if notes else []
    if odd:
        found.append(f"Column {name!r}: {not_numbers(len(odd), sorted(set(odd)))} treated as missing.")
    return found
