"""Ticks of small panels that stand side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator

# Of a letter's height: its width, on the safe side. And the letters between two labels.
_WIDTH, _BETWEEN = 0.66, 1.0


class RoomyTicks(MaxNLocator):
    """At most three round numbers whose labels touch neither each other nor those of a panel beside this one.

    Parameters
    ----------
    size : float
        Of the labels, in points.
    beyond : float
        The share of the panel's width by which a label may stick out at either side.
    """

    def __init__(self, *, size: float, beyond: float) -> None:
        super().__init__(nbins=3, steps=[1, 2, 5, 10])
        self._size, self._beyond = size, beyond

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """The most numbers that find room; zero, if none do."""
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
