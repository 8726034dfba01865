"""One calm style: thin axes, direct labels, one accent, one colour for what needs attention."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from threading import RLock
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
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
    # Names from data may hold dollar signs, which would start a formula.
    "text.parse_math": False,
    "text.usetex": False,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
}

_ROOM = "room of the key"
# matplotlib's settings are shared by the whole process: one thread at a time changes them, and puts them back.
_settings_lock = RLock()


def _renew() -> None:
    """A lock that another thread holds at a fork stays taken in the child."""
    global _settings_lock
    _settings_lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


@contextmanager
def style(more: Any = None) -> Iterator[None]:
    """Credo's style for what is drawn inside the context; matplotlib's own settings return afterwards.

    Threads take turns, so that figures drawn in several of them come out as in one.

    Parameters
    ----------
    more : mapping, optional
        Further entries for matplotlib's `rcParams`.

    Examples
    --------
    >>> import matplotlib as mpl
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
    """The axes to draw on, tidied, with the style in force."""
    with style():
        if ax is None:
            # pyplot picks a window system; who brings axes, as a web server does, must not load it.
            from matplotlib import pyplot  # noqa: PLC0415

            ax = pyplot.figure(figsize=size, layout="constrained").subplots()
        tidy(ax)
        yield ax


def tidy(ax: Axes) -> None:
    """Two thin axes and short ticks."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set(linewidth=0.6, color=MUTED)
    ax.tick_params(length=2.5, width=0.6, color=MUTED, labelcolor=INK)


def key(ax: Axes, *, columns: int | None = 2, gap: float = 0.2) -> None:
    """A frameless line of labels above the axes, out of the data's way; without `columns`, one line if they fit.

    `gap`, in letters, is more where marks stand out above the axes.
    """
    if columns is None:
        texts = ax.get_legend_handles_labels()[1]
        # In points: a letter takes about 4.4, a handle and its gaps 18; layout will widen the axes a little.
        lengths = [4.4 * len(text) + 18 for text in texts]
        room = 1.12 * ax.get_window_extent().width * 72.0 / ax.figure.dpi
        columns = len(texts) if sum(lengths) <= room else max(1, int(room // max(lengths)))
    ax.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, frameon=False, borderaxespad=gap,
        borderpad=0.0, handletextpad=0.3, columnspacing=1.2, handlelength=1.4,
    )  # fmt: skip
    for child in [child for child in ax.child_axes if child.get_label() == _ROOM]:
        child.remove()
    # A title stands above an axes' children, but would stand on its legend.
    ax.inset_axes((0.0, 1.0, 1.0, 0.0), label=_ROOM, visible=False).set_axes_locator(partial(_key_box, ax))


def _key_box(ax: Axes, _: Axes, renderer: Any) -> Bbox:
    """The place of the axes' legend, in parts of the figure; the axes' own where it was taken away."""
    legend = ax.get_legend()
    if legend is None:
        return ax.get_position()
    return legend.get_window_extent(renderer).transformed(ax.figure.transSubfigure.inverted())
