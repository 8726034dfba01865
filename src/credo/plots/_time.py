"""Predictions in the order of time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from credo.plots._arrays import vector
from credo.plots._labels import name_axis, name_date_axis, shorten
from credo.plots._style import ACCENT, ALERT, INK, MUTED, canvas, key


def over_time(
    days: ArrayLike,
    y: ArrayLike,
    mean: ArrayLike,
    *,
    interval: tuple[ArrayLike, ArrayLike],
    blocks: Sequence[float] = (),
    dates: bool = True,
    level: float = 0.95,
    name: str = "target",
    ax: Axes | None = None,
) -> Axes:
    """Actual and predicted values against the date, with the predictive interval.

    Parameters
    ----------
    days : array of shape (n_samples,)
        Dates as days since 1970-01-01, or other times where `dates` is False.
    y, mean : arrays of shape (n_samples,)
    interval : pair of arrays
    blocks : sequence of floats, default ()
        Days at which blocks of held-out rows begin, marked by dashed lines.
    dates : bool, default True
    level : float, default 0.95
        Of the interval, for the legend.
    name : str, default "target"
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = over_time([0, 1], [1.0, 2.0], [1.1, 1.9], interval=([0, 1], [2, 3]), ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['95 % interval', 'predicted', 'actual']
    """
    days = vector("days", days)
    order = np.argsort(days, kind="stable")
    values, centre, lower, upper = (
        vector(what, part, length=len(days))[order]
        for what, part in (("y", y), ("mean", mean), ("the lower end", interval[0]), ("the upper end", interval[1]))
    )
    days = days[order]
    outside = (values < lower) | (values > upper)
    with canvas(ax, size=(6.4, 3.0)) as ax:
        ax.fill_between(days, lower, upper, color=ACCENT, alpha=0.16, linewidth=0, label=f"{100 * level:g} % interval")
        ax.plot(days, centre, color=ACCENT, linewidth=1.4, label="predicted")
        size = 3.0 if len(days) < 200 else 1.8
        ax.plot(days[~outside], values[~outside], "o", color=INK, markersize=size, markeredgewidth=0, label="actual")
        if outside.any():
            ax.plot(
                days[outside], values[outside], "o", color=ALERT, markerfacecolor="none", markersize=size + 1.0,
                label="outside",
            )  # fmt: skip
        for start in blocks:
            ax.axvline(start, color=MUTED, linewidth=0.8, dashes=(4, 2.5), zorder=0)
        ax.margins(x=0.02)
        key(ax, columns=4)
        name_axis(ax.yaxis, shorten(name))
        (name_date_axis if dates else name_axis)(ax.xaxis, "")
        return ax
