"""Names and numbers as they stand in a figure."""

from __future__ import annotations

import math
import unicodedata
from typing import Any

from matplotlib.axis import Axis
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, ScalarFormatter

# Signs that turn the direction of the text after them: evil.csv could pass for vsc.live.
_TURNS = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def shorten(name: Any, *, width: int = 32) -> str:
    """A name on one line of at most `width` characters, its middle replaced by an ellipsis when it is longer.

    The end is kept because that is where the name of an indicator column says which level it stands for.
    Control characters, which no web page may hold, become spaces; marks that turn the direction of writing go.

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


def probability_text(probability: float) -> str:
    """Two digits; probabilities near the ends are not written as if they were certain.

    >>> [probability_text(p) for p in (0.0, 0.001, 0.5, 0.9999)]
    ['< 0.01', '< 0.01', '0.50', '> 0.99']
    """
    if probability > 0.995:
        return "> 0.99"
    return "< 0.01" if probability < 0.005 else f"{probability:.2f}"


class PlainTicks(ScalarFormatter):
    """Tick labels in units of a power of ten, without an offset to add in one's head."""

    def __init__(self, power: int = 0) -> None:
        super().__init__(useOffset=False, useMathText=False)
        self.set_powerlimits((power, power))
        self.set_scientific(power != 0)

    def get_offset(self) -> str:
        # The axis' label says it, where it can't be overlooked or overlap anything.
        return ""


def name_axis(axis: Axis, label: str) -> None:
    """Label an axis whose limits are set, and keep its ticks short: 3 on an axis of "price (×10⁶)"."""
    largest = max(abs(float(end)) for end in axis.get_view_interval())
    power = math.floor(math.log10(largest)) if 0 < largest < math.inf else 0
    power = 0 if -4 <= power < 5 else power
    axis.set_major_formatter(PlainTicks(power))
    unit = f" (×10{str(power).translate(_SUPERSCRIPTS)})" if power else ""
    axis.set_label_text(f"{label}{unit}", parse_math=False)


def name_date_axis(axis: Axis, label: str) -> None:
    """Label an axis of days since 1970, whose ticks are dates."""
    locator = AutoDateLocator(minticks=3, maxticks=6)
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator, show_offset=False))
    axis.set_label_text(label, parse_math=False)


def name_log_axis(axis: Axis, label: str) -> None:
    """Label a log axis whose limits are set; its ticks are plain numbers, as 0.01 or 10⁻⁶."""
    low, high = sorted(float(end) for end in axis.get_view_interval())
    decades = math.log10(high / low)
    subs = (1.0,) if decades > 2.5 else (1.0, 3.0) if decades > 1.5 else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(subs=subs, numticks=8))
    axis.set_major_formatter(FuncFormatter(_log_tick))
    axis.set_minor_locator(LogLocator(subs=tuple(range(2, 10)) if decades < 4 else (1.0,), numticks=50))
    axis.set_minor_formatter(NullFormatter())
    axis.set_label_text(label, parse_math=False)


def _log_tick(value: float, _: Any = None) -> str:
    if not value > 0 or 1e-3 <= value < 1e4:
        return f"{value:g}"
    power = math.floor(math.log10(value) + 1e-9)
    factor = value / 10.0**power
    times = "" if abs(factor - 1) < 1e-6 else f"{factor:g}·"
    return f"{times}10{str(power).translate(_SUPERSCRIPTS)}"
