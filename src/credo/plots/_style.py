"""The common style: thin axes, direct labels, one accent colour, one for what needs attention."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from threading import RLock
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, MaxNLocator
from matplotlib.transforms import Bbox

INK = "#24292f"
MUTED = "#646d78"
RULE = "#c3cad2"
# Blue and vermilion of Okabe & Ito (2008), which stay apart under every common colour blindness.
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
    """After a fork, because a lock that another thread holds stays locked in the child."""
    global _settings_lock
    _settings_lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


@contextmanager
def style(more: Any = None) -> Iterator[None]:
    """Credo's style for what is drawn inside the context. Threads take turns.

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
    """A second panel at the bottom of the axes, whose own scale from `low` to `high` is kept to the part above."""
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
