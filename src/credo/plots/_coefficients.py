"""Coefficients with their intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from credo.plots._arrays import vector
from credo.plots._labels import name_axis, shorten
from credo.plots._style import ACCENT, MUTED, RULE, canvas


def coefficients(
    names: Sequence[str],
    estimates: ArrayLike,
    *,
    lower: ArrayLike,
    upper: ArrayLike,
    label: str = "coefficient",
    max_rows: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Estimates with their intervals, the surest first; filled where the interval excludes zero.

    An estimate whose interval is infinite comes last, without a mark, as "not determined".

    Parameters
    ----------
    names : sequence of str
    estimates, lower, upper : arrays of shape (n_features,)
    label : str, default "coefficient"
        What the horizontal axis measures.
    max_rows : int, default 20
        How many are drawn: those whose estimate is largest compared with the width of its interval.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> ax = coefficients(["weak", "strong"], [0.1, 2.0], lower=[-0.9, 1.0], upper=[1.1, 3.0], ax=ax)
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['strong', 'weak']
    """
    estimate = vector("estimates", estimates)
    low = vector("lower", lower, length=len(estimate))
    high = vector("upper", upper, length=len(estimate))
    if len(names) != len(estimate):
        raise ValueError(f"there are {len(names)} names for {len(estimate)} estimates")
    known = surest(estimate, low, high)[:max_rows]
    if not len(known):
        raise ValueError("there is nothing to draw: no coefficient has a finite estimate and interval")
    loose = np.flatnonzero(np.isfinite(estimate) & np.isinf(high - low))[: max_rows - len(known)]
    rows = np.concatenate([known, loose])
    estimate, low, high = estimate[known], low[known], high[known]
    sure = (low > 0) | (high < 0)
    height = np.arange(len(known), dtype=np.float64)
    with canvas(ax, size=(4.6, 0.8 + 0.22 * len(rows))) as ax:
        ax.axvline(0.0, color=MUTED, linewidth=0.8, zorder=1)
        ax.hlines(height, low, high, color=np.where(sure, ACCENT, MUTED), linewidth=1.4, zorder=2)
        ax.plot(estimate[sure], height[sure], "o", color=ACCENT, markersize=5, zorder=3)
        ax.plot(estimate[~sure], height[~sure], "o", color=MUTED, markerfacecolor="white", markersize=4.5, zorder=3)
        for place in range(len(known), len(rows)):
            ax.annotate(
                "not determined", (0.0, place), xytext=(4, 0), textcoords="offset points", va="center",
                color=MUTED, fontstyle="italic", fontsize="small",
            )  # fmt: skip
        ax.set_yticks(np.arange(len(rows)))
        ax.set_yticklabels([shorten(names[i], width=28) for i in rows], parse_math=False)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.grid(axis="y", color=RULE, linewidth=0.4, alpha=0.7)
        ax.set_axisbelow(True)
        ax.set_ylim(len(rows) - 0.4, -0.6)
        name_axis(ax.xaxis, label)
        return ax


def surest(estimate: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> np.ndarray:
    """Indices of the finite coefficients by |estimate| / width of the interval, largest first.

    The ratio doesn't depend on the units of a column, as the estimate itself does.
    """
    estimate, width = np.asarray(estimate), np.asarray(upper) - np.asarray(lower)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.abs(estimate) / width
    # An interval of width zero around zero says "surely nothing", not "undefined".
    ratio = np.where((width == 0) & (estimate == 0), 0.0, ratio)
    usable = np.isfinite(estimate) & np.isfinite(width)
    order = np.argsort(-np.where(usable, ratio, -1.0), kind="stable")
    return order[: int(usable.sum())]
