"""The components of a kernel search."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from credo.core.estimator import nonnegative, rows_for
from credo.plots._band import band
from credo.plots.class_rows import draw_bands
from credo.plots.styling import ACCENT, INK, MUTED, canvas, legend, name_axis, panels, shorten, tidy
from credo.selection import Component, KernelSearch

_N_POINTS = 600
# The height of a panel, of the first one, and between two.
_PANEL_INCHES, _FIRST_PANEL_INCHES, _GAP_INCHES = 1.15, 2.4, 0.35


def components(
    result: KernelSearch, *, ahead: float = 0.2, name: str = "y", ax: Axes | None = None
) -> NDArray[np.object_]:
    """The data with the model's prediction, and below them a panel for each component with its 95 % interval.

    Parameters
    ----------
    result : KernelSearch
        The result of `credo.search_kernel`. If there are several columns, each component is drawn along its first
        column, with the others at their medians, and the data aren't drawn.
    ahead : float, default 0.2
        How far to continue beyond the data, as a share of their range.
    name : str, default "y"
        Name of what is predicted.
    ax : matplotlib Axes, optional
        The axes that all panels share.

    Returns
    -------
    array of matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from credo import search_kernel
    >>> from credo.plots import components
    >>> from matplotlib.figure import Figure
    >>> x = np.arange(30.0)
    >>> found = search_kernel(x[:, None], 2 * x + np.sin(x**2))
    >>> panels = components(found, ax=Figure().subplots())
    >>> panels[1].get_title(loc="left")
    '99.8 %: a rising linear trend'
    """
    if not isinstance(result, KernelSearch):
        raise TypeError(f"components draws what credo.search_kernel returns; got a {type(result).__name__}")
    model, parts = result.model, result.components
    single = model.n_features_in_ == 1
    heights = [_FIRST_PANEL_INCHES] * single + [_PANEL_INCHES] * len(parts)
    if not heights:
        raise ValueError("there is nothing to draw: the search found no structure beyond noise")
    with canvas(ax, size=(6.2, sum(heights) + _GAP_INCHES * len(heights))) as ax:
        tops = np.cumsum([0.0, *(height + _GAP_INCHES for height in heights)])
        boxes = ((0.0, top, 1.0, height) for top, height in zip(tops.tolist(), heights, strict=False))
        made = panels(ax, boxes, (1.0, float(tops[-1]) - _GAP_INCHES))
        for panel in made:
            tidy(panel)
        if single:
            x = _grid(result, 0, nonnegative("ahead", ahead))[:, 0]
            band(x, model, name=name, ax=made[0])
            made[0].lines[-1].set_markersize(1.8)
            legend(made[0], columns=4)
            made[0].set_xlabel("")
            for panel in made[:-1]:
                panel.tick_params(labelbottom=False)
        for i, component in enumerate(parts):
            _component(made[i + single], result, i, component, float(ahead))
        return np.array(made, dtype=object)


def _component(ax: Axes, result: KernelSearch, i: int, component: Component, ahead: float) -> None:
    j = component.columns[0]
    rows = _grid(result, j, ahead)
    dist = result.decompose(rows_for(result.model, rows))[i]
    draw_bands(ax, rows[:, j], [(dist.mean, *dist.interval(0.95))], [ACCENT])
    ax.axhline(0.0, color=MUTED, linewidth=0.6, zorder=1)
    if ahead:
        ax.axvline(result.model.X_train_[:, j].max(), color=MUTED, linewidth=0.7, dashes=(2, 2), zorder=1)
    ax.set_title(shorten(f"{component.percent}: {component.words}", width=86), loc="left", fontsize=8.0, color=INK)
    last = i == len(result.components) - 1 or result.model.n_features_in_ > 1
    if last:
        name_axis(ax.xaxis, shorten(result.model._feature_names()[j]))


def _grid(result: Any, j: int, ahead: float) -> NDArray[np.float64]:
    """Rows along a column, with the others at their medians."""
    X = result.model.X_train_
    low, high = X[:, j].min(), X[:, j].max()
    rows = np.tile(np.median(X, axis=0), (_N_POINTS, 1))
    rows[:, j] = np.linspace(low, high + ahead * (high - low), _N_POINTS)
    return rows
