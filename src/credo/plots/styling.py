"""The common style of figures: axes, colors, legends, labels and ticks."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import RLock
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.dates import MONTHLY, AutoDateLocator, ConciseDateFormatter
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter, ScalarFormatter
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from credo.core.wording import shorten as shorten

INK = "#24292f"
MUTED = "#646d78"
RULE = "#c3cad2"
# Blue and vermilion of Okabe & Ito (2008), which are distinct under all common color blindness.
ACCENT = "#0072b2"
ALERT = "#d55e00"

SETTINGS: Any = {
    "axes.edgecolor": MUTED,
    "axes.facecolor": "none",
    "axes.labelcolor": INK,
    "axes.labelsize": 8.5,
    "axes.linewidth": 0.6,
    "axes.unicode_minus": True,
    "figure.dpi": 120,
    "figure.facecolor": "white",
    "font.size": 8.5,
    "legend.fontsize": 8.0,
    "savefig.facecolor": "white",
    "text.color": INK,
    # Names from data may contain dollar signs, which would start a formula.
    "text.parse_math": False,
    "text.usetex": False,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
}

_ROOM = "room of the legend"
# matplotlib's settings are global: one thread at a time changes them.
_settings_lock = RLock()


def _renew() -> None:
    """Replace the lock after a fork, because a lock held by another thread stays locked in the child."""
    global _settings_lock
    _settings_lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


@contextmanager
def style(more: Any = None) -> Iterator[None]:
    """Credo's style for figures drawn inside the context, which one thread at a time can enter.

    Parameters
    ----------
    more : mapping, optional
        Further entries for matplotlib's `rcParams`.

    Examples
    --------
    >>> import matplotlib as mpl
    >>> from credo.plots import style
    >>> before = mpl.rcParams["axes.linewidth"]
    >>> with style():
    ...     mpl.rcParams["axes.linewidth"]
    0.6
    >>> mpl.rcParams["axes.linewidth"] == before
    True
    """
    with _settings_lock, mpl.rc_context(SETTINGS | (more or {})):
        yield


@contextmanager
def canvas(ax: Axes | None, *, size: tuple[float, float] = (4.7, 3.0)) -> Iterator[Axes]:
    """The axes to draw on, by default of a new figure, in Credo's style."""
    with style():
        if ax is None:
            # pyplot chooses a window system; a web server, which passes axes, must not load it.
            from matplotlib import pyplot  # noqa: PLC0415

            ax = pyplot.figure(figsize=size, layout="constrained").subplots()
        tidy(ax)
        yield ax


def tidy(ax: Axes) -> None:
    """Two thin axes and short ticks."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set(linewidth=0.6, color=MUTED)
    ax.tick_params(length=2.5, width=0.6, color=MUTED, labelcolor=INK)


def panels(ax: Axes, boxes: Iterable[tuple[float, float, float, float]], size: tuple[float, float]) -> list[Axes]:
    """Axes inside others, which keep only their labels; boxes are left, top, width and height in units of the size."""
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.set(xticks=[], yticks=[])
    across, down = size
    return [
        ax.inset_axes((left / across, 1.0 - (top + height) / down, width / across, height / down))
        for left, top, width, height in boxes
    ]


def legend(ax: Axes, *, columns: int | None = 2, gap: float = 0.2) -> None:
    """A frameless legend above the axes; without `columns`, in one line if it fits. `gap` is in letters."""
    if columns is None:
        texts = ax.get_legend_handles_labels()[1]
        # In points: about 4.4 for a letter, 18 for a handle; layout will widen the axes a little.
        lengths = [4.4 * len(text) + 18 for text in texts]
        room = 1.12 * ax.get_window_extent().width * 72.0 / ax.figure.dpi
        columns = len(texts) if sum(lengths) <= room else max(1, int(room // max(lengths)))
    ax.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, frameon=False, borderaxespad=gap,
        borderpad=0.0, handletextpad=0.3, columnspacing=1.2, handlelength=1.4,
    )  # fmt: skip
    for child in [child for child in ax.child_axes if child.get_label() == _ROOM]:
        child.remove()
    # A title is placed above the children of the axes, but would overlap the legend.
    ax.inset_axes((0.0, 1.0, 1.0, 0.0), label=_ROOM, visible=False).set_axes_locator(partial(_legend_box, ax))


def _legend_box(ax: Axes, _: Axes, renderer: Any) -> Bbox:
    """The position of the legend in figure coordinates, or that of the axes if it was removed."""
    legend = ax.get_legend()
    if legend is None:
        return ax.get_position()
    return legend.get_window_extent(renderer).transformed(ax.figure.transSubfigure.inverted())


def strip_below(ax: Axes, low: float, high: float, *, strip: float = 0.24, room: float = 0.32) -> Axes:
    """A second panel at the bottom of the axes; their own scale from `low` to `high` uses the part above."""
    ax.set_ylim(high - (high - low) / (1 - room), high)
    ticks = np.asarray(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high))
    ax.yaxis.set_major_locator(FixedLocator(list(ticks[(ticks >= low) & (ticks <= high)])))
    ax.spines["left"].set_bounds(low, high)
    ax.yaxis.label.set_y(0.5 * (1 + room))
    panel = ax.inset_axes((0.0, 0.0, 1.0, strip))
    panel.set_facecolor("none")
    panel.spines[["top", "right", "bottom"]].set_visible(False)
    panel.tick_params(labelbottom=False, bottom=False, length=2.5, width=0.6, color=MUTED, labelcolor=INK)
    panel.spines["left"].set(linewidth=0.6, color=MUTED)
    panel.yaxis.set_major_locator(MaxNLocator(nbins=2, steps=[1, 2, 5, 10]))
    return panel


_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def distinct(names: Sequence[Any], *, width: int) -> list[str]:
    """Names shortened to about `width` characters, with more of them, or numbers, where two would look alike.

    >>> distinct(["mean of the first and second half", "mean of the first or second half"], width=20)
    ['mean of the first a…cond half', 'mean of the first o…cond half']
    """
    for length in range(width, 2 * width):
        texts = [shorten(name, width=length) for name in names]
        if len(set(texts)) == len(texts):
            return texts
    return [
        text if texts.count(text) == 1 else f"{text} ({texts[: i + 1].count(text)})" for i, text in enumerate(texts)
    ]


def probability_text(probability: float) -> str:
    """Two digits, but never 0 or 1."""
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
        # It is part of the axis label.
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
    # Between two and a half and four years there are too few years and too many half-years.
    locator.intervald[MONTHLY] = [1, 2, 3, 4, 6, 12]
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


# Distance between two labels.
_LABEL_POINTS = 11.0


@dataclass(frozen=True)
class End:
    """The end of a line as a share of the axes' height, its name, and the color of the name."""

    height: float
    name: str
    color: str


def label_ends(ax: Axes, ends: Sequence[End]) -> None:
    """Names to the right of the axes, moved apart if they would overlap."""
    order = sorted(ends, key=lambda end: -end.height)
    gap = _LABEL_POINTS / 72.0 * ax.figure.dpi / ax.bbox.height
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
    return max(1, int(ax.bbox.height / ax.figure.dpi * 72.0 / _LABEL_POINTS))


def spread(places: NDArray[np.float64], gap: float) -> NDArray[np.float64]:
    """Positions in descending order, moved as little as possible to be at least `gap` apart (isotonic regression)."""
    pools: list[tuple[float, int]] = []
    # With i·gap added to each, "a gap apart" becomes "descending".
    for i, place in enumerate(places):
        mean, size = float(place) + i * gap, 1
        while pools and pools[-1][0] < mean:
            other, count = pools.pop()
            mean, size = (other * count + mean * size) / (count + size), count + size
        pools.append((mean, size))
    return np.repeat([mean for mean, _ in pools], [size for _, size in pools]) - gap * np.arange(len(places))
