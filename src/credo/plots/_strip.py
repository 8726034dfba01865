"""A second panel in the foot of a figure's axes."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, MaxNLocator

from credo.plots._style import INK, MUTED

# Of the height: the strip, and the room that it takes.
STRIP, ROOM = 0.24, 0.32


def strip_below(ax: Axes, low: float, high: float, *, strip: float = STRIP, room: float = ROOM) -> Axes:
    """A strip below the axes' own scale, which is kept to the part above it: from `low` to `high`."""
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
