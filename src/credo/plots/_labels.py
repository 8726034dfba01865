"""Names and numbers in a figure: axis labels, ticks, and names at the ends of lines."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, ScalarFormatter
from numpy.typing import NDArray

from credo.plots._style import MUTED

# Characters that change the direction of the text after them, with which evil.csv could look like vsc.live.
_TURNS = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


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


def probability_text(probability: float) -> str:
    """Two digits, but never 0 or 1.

    >>> [probability_text(p) for p in (0.0, 0.001, 0.5, 0.9999)]
    ['< 0.01', '< 0.01', '0.50', '> 0.99']
    """
    if probability > 0.995:
        return "> 0.99"
    return "< 0.01" if probability < 0.005 else f"{probability:.2f}"


class PlainTicks(ScalarFormatter):
    """Tick labels in units of a power of ten, without an offset."""

    def __init__(self, power: int = 0) -> None:
        super().__init__(useOffset=False, useMathText=False)
        self.set_powerlimits((power, power))
        self.set_scientific(power != 0)

    def get_offset(self) -> str:
        # The label of the axis has it.
        return ""


def name_axis(axis: Axis, label: str) -> None:
    """Label an axis whose limits are set, with short ticks: 3 on an axis of "price (×10⁶)"."""
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


# The width of a letter relative to its height, and the letters between two labels.
_WIDTH, _BETWEEN = 0.66, 1.0


class RoomyTicks(MaxNLocator):
    """At most three round numbers whose labels don't overlap each other nor those of the next panel.

    `size` is that of the labels in points; `beyond` the share of the panel's width by which they may extend beyond it.
    """

    def __init__(self, *, size: float, beyond: float) -> None:
        super().__init__(nbins=3, steps=[1, 2, 5, 10])
        self._size, self._beyond = size, beyond

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """As many numbers as there is room for; zero if there is none."""
        axis: Any = self.axis
        room = axis.axes.bbox.width / axis.axes.figure.dpi * 72.0
        gap = _BETWEEN * _WIDTH * self._size
        for most in (3, 2, 1):
            self.set_params(nbins=most)
            ticks = np.asarray(super().tick_values(vmin, vmax))
            ticks = ticks[(ticks >= vmin) & (ticks <= vmax)]
            texts = axis.get_major_formatter().format_ticks(ticks)
            half = 0.5 * _WIDTH * self._size * np.array([len(text) for text in texts])
            place = (ticks - vmin) / (vmax - vmin) * room
            out = self._beyond * room - gap / 2
            inside = (place - half >= -out) & (place + half <= room + out)
            ticks, half, place = ticks[inside], half[inside], place[inside]
            if len(ticks) and (np.diff(place) >= half[1:] + half[:-1] + gap).all():
                return ticks
        return np.zeros(1) if vmin <= 0.0 <= vmax else np.empty(0)


# Points between two labels.
_LINE = 11.0


@dataclass(frozen=True)
class End:
    """The end of a line as a share of the axes' height, its name, and the colour of the name."""

    height: float
    name: str
    color: str


def label_ends(ax: Axes, ends: Sequence[End]) -> None:
    """Names to the right of the axes, moved apart if they would overlap."""
    order = sorted(ends, key=lambda end: -end.height)
    gap = _LINE / 72.0 * ax.figure.dpi / ax.bbox.height
    above = gap * np.arange(len(order))
    places = np.minimum(spread(np.array([end.height for end in order]), gap), 1.0 - above)
    for end, place in zip(order, np.maximum(places, above[::-1]), strict=True):
        ax.annotate(
            shorten(end.name, width=20), (1.0, end.height), xytext=(1.035, place), xycoords="axes fraction",
            textcoords="axes fraction", va="center", ha="left", color=end.color, parse_math=False,
            arrowprops={"arrowstyle": "-", "color": MUTED, "linewidth": 0.5, "shrinkA": 1, "shrinkB": 1},
        )  # fmt: skip


def room_for_labels(ax: Axes) -> int:
    """How many names there is room for."""
    return max(1, int(ax.bbox.height / ax.figure.dpi * 72.0 / _LINE))


def spread(places: NDArray[np.float64], gap: float) -> NDArray[np.float64]:
    """Positions in descending order, moved as little as possible to be at least `gap` apart (isotonic regression).

    >>> spread(np.array([0.9, 0.5, 0.5]), 0.1).round(2)
    array([0.9 , 0.55, 0.45])
    """
    pools: list[tuple[float, int]] = []
    # With i·gap added to each, "a gap apart" becomes "descending".
    for i, place in enumerate(places):
        mean, size = float(place) + i * gap, 1
        while pools and pools[-1][0] < mean:
            other, count = pools.pop()
            mean, size = (other * count + mean * size) / (count + size), count + size
        pools.append((mean, size))
    return np.repeat([mean for mean, _ in pools], [size for _, size in pools]) - gap * np.arange(len(places))
