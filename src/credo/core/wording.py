"""Numbers and lists of names as they are written in sentences and table cells."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

# Longer names are cut.
_MAX_NAME_LENGTH = 100
_MINUS = "−"
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def number(value: float, *, digits: int = 3) -> str:
    """A number to some significant digits, with a real minus sign."""
    if not math.isfinite(value):
        return "—" if math.isnan(value) else "∞" if value > 0 else f"{_MINUS}∞"
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(abs(float(f"{value:.{digits - 1}e}"))))
    if not -5 < exponent < 6:
        mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
        return f"{trimmed(mantissa)}×10{str(int(power)).translate(_SUPERSCRIPTS)}".replace("-", _MINUS)
    return fixed(value, decimals=max(0, digits - 1 - exponent))


def datum(value: float) -> str:
    """A value of the data: integers without decimals, and no comma below 10,000 (years)."""
    text = fixed(value, decimals=0) if float(value).is_integer() and abs(value) < 1e6 else trimmed(number(value))
    return text.replace(",", "") if abs(value) < 1e4 else text


def day(value: float) -> str:
    """The date of a number of days since 1970."""
    return str(np.datetime64("1970-01-01", "D") + int(np.floor(value)))


def about(value: float) -> str:
    """An approximate number, to two digits."""
    return trimmed(number(value, digits=2))


def trimmed(text: str) -> str:
    """The text of a number without zeros at the end of its decimals."""
    return text.rstrip("0").rstrip(".") if "." in text and "×" not in text else text


def fixed(value: float, *, decimals: int) -> str:
    """A number with a fixed number of decimals; zero has no sign."""
    text = f"{value:,.{decimals}f}"
    return (text if text.strip("-0.") else text.lstrip("-")).replace("-", _MINUS)


def aligned(values: Sequence[float | None]) -> list[str]:
    """The cells of a column of numbers to four digits, all with the same decimals; a dash if there is none."""
    finite = sorted(abs(v) for v in values if v is not None and math.isfinite(v) and v != 0)
    if not finite:
        return ["—" if v is None else number(v) for v in values]
    decimals = 3 - math.floor(math.log10(finite[len(finite) // 2]))
    is_short = 0 <= decimals <= 6
    return [
        "—" if v is None else fixed(v, decimals=decimals) if is_short and abs(v) < 1e6 else number(v, digits=4)
        for v in values
    ]


def count(n: int) -> str:
    """A count with thousands separators."""
    return f"{n:,}"


def plural(n: int, noun: str, *, spell: bool = False) -> str:
    """A count with its noun: 1 row, 1,200 rows, 2 entries."""
    if n != 1:
        noun = noun[:-1] + "ies" if noun.endswith("ry") else noun + "s"
    return f"{spelled(n) if spell else count(n)} {noun}"


def spelled(n: int) -> str:
    """A count, as a word up to ten."""
    return _WORDS[n] if n < len(_WORDS) else count(n)


def percent(share: float) -> str:
    """A share in per cent with at most one decimal, or two if it would be rounded to 0 or 100."""
    for decimals in (1, 2):
        text = fixed(100 * share, decimals=decimals)
        if float(text.replace(_MINUS, "-").replace(",", "")) not in (0.0, 100.0) or share in (0.0, 1.0):
            break
    return f"{trimmed(text)} %"


def whole_percent(share: float) -> str:
    """A share in whole per cent, with decimals below 1 % and above 99 %."""
    return f"{100 * share:.0f} %" if 0.01 <= share < 0.99 else percent(share)


def p_value(p: float) -> str:
    """A p-value in a sentence."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def listing(names: Sequence[str], *, at_most: int | None = None) -> str:
    """Names with commas and an "and"."""
    items = list(names)
    if at_most is not None and len(items) > at_most:
        items = [*items[:at_most], f"{count(len(items) - at_most)} more"]
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def capital(text: str) -> str:
    """The text with a capital letter at its start."""
    return text[:1].upper() + text[1:]


def quoted(names: Iterable[object], *, most: int = 5) -> str:
    """Names as they appear in a sentence: 'a', 'b' and 3 more; very long names are shortened."""
    return first_few([repr(_clipped(str(name))) for name in names], most=most)


def first_few(names: Sequence[str], *, most: int = 3) -> str:
    """The first names with commas, and how many more there are: a, b, c and 2 more."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def _clipped(name: str) -> str:
    return name if len(name) <= _MAX_NAME_LENGTH else f"{name[: _MAX_NAME_LENGTH - 1]}…"


def not_numbers(count: int, examples: Iterable[object], first: int) -> str:
    """A phrase about values that aren't numbers, the first of them in row `first`, counted from 1."""
    if count == 1:
        return f"1 value that isn't a number ({quoted(examples)} in row {first})"
    return f"{plural(count, 'value')} that aren't numbers ({quoted(examples)}; the first in row {first})"


def shown(value: object) -> str:
    """A value of a table in a sentence: whole numbers without a decimal point or commas, others to six digits."""
    if isinstance(value, float | int | np.number) and not isinstance(value, bool):
        number = float(value)
        return f"{number:.0f}" if number.is_integer() and abs(number) < 1e15 else f"{number:.6g}"
    return _clipped(str(value))


# Characters that change the direction of the following text, so that vsc.live could look like evil.csv.
_TURNS = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))


def shorten(name: Any, *, width: int = 32) -> str:
    """A name on one line of at most `width` characters, with an ellipsis in the middle if it is longer.

    The end is kept because it names the level of an indicator column. Control characters become spaces; characters that
    change the direction of writing are removed.

    Examples
    --------
    >>> from credo.plots import shorten
    >>> shorten("concentration of the second reagent = high", width=24)
    'concentration o…t = high'
    >>> shorten("two\\nlines")
    'two lines'
    """
    plain = str(name).translate(_TURNS)
    text = "".join(" " if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") else c for c in plain)
    text = " ".join(text.split()) or "(no name)"
    if len(text) <= width:
        return text
    tail = width // 3
    return f"{text[: width - tail - 1].rstrip()}…{text[-tail:].lstrip()}"
