"""Numbers and lists of names as they are written in sentences and table cells.

A figure of the report: a question, the picture, the answer for this data, and how to read the picture.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from credo import plots
from credo.plots._style import name_axis, name_date_axis

_MINUS = "−"
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def number(value: float, *, digits: int = 3) -> str:
    """A number to some significant digits, with a real minus sign.

    >>> number(-0.5), number(0.00042, digits=2), number(54.6), number(2.5e9)
    ('−0.500', '0.00042', '54.6', '2.5×10⁹')
    """
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
    """A value of the data: integers without decimals, and without a comma below 10,000 (years).

    >>> datum(19.0), datum(25.66), datum(2007.0), datum(12345.0)
    ('19', '25.7', '2007', '12,345')
    """
    if not (float(value).is_integer() and abs(value) < 1e6):
        return trimmed(number(value))
    text = fixed(value, decimals=0)
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
    """A number with a fixed number of decimals; zero has no sign.

    >>> fixed(-0.5, decimals=2), fixed(-0.001, decimals=2)
    ('−0.50', '0.00')
    """
    text = f"{value:,.{decimals}f}"
    return (text if text.strip("-0.") else text.lstrip("-")).replace("-", _MINUS)


def aligned(values: Sequence[float | None]) -> list[str]:
    """The cells of a column of numbers to four digits, all with the same decimals; a dash where there is none.

    >>> aligned([54.321, 7.7, None])
    ['54.32', '7.70', '—']
    """
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


def several(n: int, noun: str, *, spell: bool = False) -> str:
    """A count with its noun.

    >>> several(1, "row"), several(3, "row"), several(2, "model", spell=True)
    ('1 row', '3 rows', 'two models')
    """
    return f"{spelled(n) if spell else count(n)} {noun}{'' if n == 1 else 's'}"


def spelled(n: int) -> str:
    """A count, as a word up to ten."""
    return _WORDS[n] if n < len(_WORDS) else count(n)


def percent(share: float) -> str:
    """A share in per cent with at most one decimal, or two where it would be rounded to 0 or 100.

    >>> percent(0.25), percent(0.9486), percent(0.9996), percent(1.0)
    ('25 %', '94.9 %', '99.96 %', '100 %')
    """
    for decimals in (1, 2):
        text = fixed(100 * share, decimals=decimals)
        if float(text.replace(_MINUS, "-").replace(",", "")) not in (0.0, 100.0) or share in (0.0, 1.0):
            break
    return f"{trimmed(text)} %"


def whole_percent(share: float) -> str:
    """A share in whole per cent, with decimals below 1 % and above 99 %.

    >>> whole_percent(0.4842), whole_percent(0.9996)
    ('48 %', '99.96 %')
    """
    return f"{100 * share:.0f} %" if 0.01 <= share < 0.99 else percent(share)


def p_value(p: float) -> str:
    """A p-value in a sentence."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def listing(names: Sequence[str], *, at_most: int | None = None) -> str:
    """Names with commas and an "and".

    >>> listing(["a", "b", "c"]), listing(["a", "b", "c", "d"], at_most=2)
    ('a, b and c', 'a, b and 2 more')
    """
    items = list(names)
    if at_most is not None and len(items) > at_most:
        items = [*items[:at_most], f"{count(len(items) - at_most)} more"]
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def capital(text: str) -> str:
    """The text with a capital letter at its start."""
    return text[:1].upper() + text[1:]


MAX_POINTS = 500
MAX_BARS = 20
SIZE = (4.7, 3.0)


@dataclass(frozen=True)
class Figure:
    """A question, the picture that answers it, the answer for this data, and how to read the picture."""

    key: str
    question: str
    svg: Markup
    answer: str
    reading: str


def figure(
    key: str,
    question: str,
    draw: Callable[[Any], object],
    answer: str,
    reading: str,
    *,
    size: tuple[float, float] = SIZE,
) -> Figure:
    """Draw a figure; its text alternative is the question and the answer.

    If drawing fails, the texts stay and a note takes the place of the picture.
    """
    try:
        # Built by an XML writer, which escapes every name and label.
        image = Markup(plots.svg(draw, prefix=key, label=f"{question} {answer}", size=size))
    except Exception as error:
        note = f"This figure could not be drawn ({type(error).__name__}: {error})."
        image = Markup('<p class="failed">{}</p>').format(note)
    return Figure(key, question, image, answer, reading)


def bar_figure(
    key: str, question: str, names: list[str], values: Any, *, label: str, answer: str, reading: str
) -> Figure:  # fmt: skip
    """Horizontal bars, the longest first."""
    return figure(
        key,
        question,
        lambda ax: plots.bars(names, values, label=label, max_rows=MAX_BARS, ax=ax),
        answer,
        reading,
        size=(SIZE[0], 0.9 + 0.24 * min(MAX_BARS, len(names))),
    )


def name_x(ax: Any, label: str, *, dates: bool) -> None:
    """Label the horizontal axis, with dates as ticks if its values are days since 1970."""
    (name_date_axis if dates else name_axis)(ax.xaxis, label)
