"""Names at the right ends of lines, in place of a legend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from credo.plots._labels import shorten
from credo.plots._style import MUTED

# Points between the baselines of two labels.
_LINE = 11.0


@dataclass(frozen=True)
class End:
    """Where a line ends, as a part of the axes' height; its name, and the colour of that."""

    height: float
    name: str
    color: str


def label_ends(ax: Axes, ends: Sequence[End]) -> None:
    """Names beside the axes, the highest first, pushed apart where they would overlap and kept beside the axes."""
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
    """How many names find room beside the axes."""
    return max(1, int(ax.bbox.height / ax.figure.dpi * 72.0 / _LINE))


def spread(places: NDArray[np.float64], gap: float) -> NDArray[np.float64]:
    """Places in descending order moved as little as needed to lie at least a gap apart.

    Pools of touching labels are centred on the mean of where they want to be, as isotonic regression does.

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
