"""The posterior of single coefficients: a spike at zero beside a density."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from credo.estimator import positive_integer
from credo.plots._bars import remark
from credo.plots._fitted import columns as columns_of
from credo.plots._labels import name_axis, probability_text, shorten
from credo.plots._models import posterior_of
from credo.plots._pairs import place_of
from credo.plots._style import ACCENT, ALERT, canvas, tidy
from credo.plots._ticks import RoomyTicks

_POINTS = 241
# What a panel shows of the slab: all but this much at either end.
_TAIL = 0.002
# Of a panel's width and height: what lies between two of them.
_ACROSS, _DOWN = 0.16, 0.62
# Points above the first row, for its names.
_HEAD = 14.0
# Points of the ticks' labels.
_TICKS = 7.5


def coefficient_density(
    model: Any, columns: int | str | Sequence[int | str] | None = None, *, max_panels: int = 12, ax: Axes | None = None
) -> NDArray[np.object_]:
    """A panel for each coefficient: the probability that it is zero as a bar, and the density of what it is else.

    The bar is as high as that probability, which stands above the panel. The density has a height of its own: its peak
    is at the probability that the column is in, so that the higher of the two is the likelier (as the R package BAS
    draws them).

    Parameters
    ----------
    model : fitted model with `coefficient(column)`
        `credo.sparse.SpikeSlabRegressor` or `SpikeSlabClassifier`.
    columns : int, str, or a sequence of them, optional
        Which; by default the most probable, in the order of the table.
    max_panels : int, default 12
        How many, where columns doesn't say.
    ax : matplotlib Axes, optional
        Its place is filled with the panels.

    Returns
    -------
    array of matplotlib Axes, one a column

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from credo.sparse import SpikeSlabRegressor
    >>> X = np.random.default_rng(0).normal(size=(30, 3))
    >>> model = SpikeSlabRegressor().fit(X, X[:, 1] + np.cos(9 * X[:, 0]))
    >>> panels = coefficient_density(model, ["x1", "x2"], ax=Figure().subplots())
    >>> [panel.get_title(loc="left") for panel in panels]
    ['x1', 'x2']
    """
    posterior_of(model)
    names = columns_of(model)
    if columns is None:
        likely = np.argsort(-np.asarray(model.inclusion_probabilities_), kind="stable")
        places = sorted(likely[: positive_integer("max_panels", max_panels)].tolist())
    else:
        chosen = [columns] if isinstance(columns, int | str) else columns
        places = [place_of(each, names, "column") for each in chosen]
    if not places:
        raise ValueError("there is nothing to draw: columns is empty")
    across = min(len(places), 4 if len(places) > 6 else 3)
    down = -(-len(places) // across)
    with canvas(ax, size=(0.5 + 1.75 * across, 0.5 + 1.35 * down)) as ax:
        panels = _panels(ax, len(places), across, down)
        for k, (panel, place) in enumerate(zip(panels, places, strict=True)):
            _draw(panel, model.coefficient(place), shorten(names[place], width=16))
            panel.tick_params(labelleft=k % across == 0)
        ax.set_ylabel("probability", labelpad=22)
        ax.set_xlabel("coefficient (bar: the probability of zero; curve: else)", labelpad=16)
        if columns is None and len(places) < len(names):
            remark(ax, f"the {len(places)} most probable of {len(names):,} columns")
        return panels


def _panels(ax: Axes, n: int, across: int, down: int) -> NDArray[np.object_]:
    """Axes in rows from the top left, in the place of one that keeps nothing but its names."""
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.set(xticks=[], yticks=[])
    top = 1.0 - min(_HEAD / 72.0 * ax.figure.dpi / ax.bbox.height, 0.2)
    width, height = 1.0 / (across + (across - 1) * _ACROSS), top / (down + (down - 1) * _DOWN)
    panels = np.empty(n, dtype=object)
    for k in range(n):
        row, column = divmod(k, across)
        corner = column * width * (1 + _ACROSS), top - height - row * height * (1 + _DOWN)
        panels[k] = ax.inset_axes((*corner, width, height))
    return panels


def _draw(panel: Axes, coefficient: Any, name: str) -> None:
    tidy(panel)
    low, high = _reach(coefficient)
    inside = 1.0 - coefficient.spike
    if coefficient.slab is not None and inside > 0:
        x = np.linspace(low, high, _POINTS)
        density = coefficient.density(x)
        height = density * (inside / density.max())
        panel.fill_between(x, 0.0, height, color=ACCENT, alpha=0.2, linewidth=0)
        panel.plot(x, height, color=ACCENT, linewidth=1.4)
    panel.bar(0.0, coefficient.spike, width=0.035 * (high - low), color=ALERT, linewidth=0, zorder=3)
    panel.set(xlim=(low, high), ylim=(0.0, 1.05), yticks=[0.0, 0.5, 1.0])
    name_axis(panel.xaxis, "")
    panel.tick_params(axis="x", labelsize=_TICKS)
    panel.xaxis.set_major_locator(RoomyTicks(size=_TICKS, beyond=_ACROSS / 2))
    panel.set_title(name, loc="left", fontsize=8.5, pad=4, parse_math=False)
    panel.set_title(probability_text(coefficient.spike), loc="right", fontsize=7.5, pad=4, color=ALERT)


def _reach(coefficient: Any) -> tuple[float, float]:
    """From end to end of the slab, and zero."""
    if coefficient.slab is None:
        return -1.0, 1.0
    ends = np.ravel(coefficient.slab.quantile(np.array([_TAIL, 1.0 - _TAIL])))
    low, high = min(float(ends[0]), 0.0), max(float(ends[1]), 0.0)
    margin = 0.06 * (high - low) or 1.0
    return low - margin, high + margin
