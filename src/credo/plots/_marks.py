"""How classes are told apart: by colour, and without it by the shape of their marks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from numpy.typing import NDArray

from credo.plots._arrays import some
from credo.plots._classes import title
from credo.plots._style import ACCENT, ALERT

# Okabe & Ito (2008) without black and the yellow that white paper swallows.
_COLORS = (ACCENT, ALERT, "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
N_COLORS = len(_COLORS)
# Seven shapes and six colours: no pair comes twice below 42 classes.
_SHAPES = ("o", "^", "s", "D", "v", "P", "X")
_DASHES: tuple[Any, ...] = ("solid", (0, (5, 1.6)), (0, (1.2, 1.2)), (0, (6, 1.6, 1.2, 1.6)), (0, (9, 3)))


def color(place: int) -> str:
    """The colour of the class at a place in the order of classes."""
    return _COLORS[place % len(_COLORS)]


def shape(place: int) -> str:
    """The marker of a class."""
    return _SHAPES[place % len(_SHAPES)]


def dash(place: int) -> Any:
    """The line style of a class's curve."""
    return _DASHES[place % len(_DASHES)]


def dashes(place: int) -> str:
    """The line style of a class's curve as SVG's stroke-dasharray, in widths of the line."""
    style = dash(place)
    return "none" if style == "solid" else " ".join(f"{1.6 * length:g}" for length in style[1])


def palette(n_classes: int) -> NDArray[np.float64]:
    """The colours of all classes as rows of red, green and blue."""
    return np.array([to_rgb(color(place)) for place in range(n_classes)])


def points(
    ax: Axes,
    places: NDArray[np.float64],
    codes: NDArray[np.intp],
    classes: Sequence[Any],
    *,
    max_points: int,
    name: str | None = None,
    clip: bool = True,
) -> None:
    """Observations, each with the mark of its class; where there are many, always the same ones of them."""
    shown = some(np.ones(len(places), dtype=bool), at_most=max_points)
    size = 5.0 if len(shown) < 80 else 4.2 if len(shown) < 300 else 3.2
    for place, label in enumerate(classes):
        rows = shown[codes[shown] == place]
        ax.plot(
            places[rows, 0], places[rows, 1], shape(place), color=color(place), markeredgecolor="#ffffff",
            markeredgewidth=0.5, markersize=size, zorder=3, label=title(label, name=name), linestyle="none",
            clip_on=clip,
        )  # fmt: skip
