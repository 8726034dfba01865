"""Predictions against what happened: the values themselves, and what was left over."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from credo.plots._arrays import Vector, limits, predicted, some, vector
from credo.plots._labels import name_axis, shorten
from credo.plots._style import ACCENT, ALERT, INK, MUTED, canvas, key

# Fewer rows than this say nothing about how the residuals' spread changes along the axis.
_ROWS_FOR_A_TREND = 60


def predicted_vs_actual(
    y: ArrayLike,
    prediction: Any,
    *,
    interval: tuple[ArrayLike, ArrayLike] | None = None,
    level: float = 0.95,
    name: str = "target",
    max_points: int = 500,
    ax: Axes | None = None,
) -> Axes:
    """Each prediction with its interval above the value that was observed.

    A bar that crosses the diagonal holds its observation; those that miss it are marked.

    Parameters
    ----------
    y : array of shape (n_samples,)
        Observed values.
    prediction : Distribution or array of shape (n_samples,)
        Predictive distributions, or their means.
    interval : pair of arrays, optional
        Lower and upper ends of the bars; taken from `prediction` when it is a distribution.
    level : float, default 0.95
        The interval's level, for the label and for taking it from a distribution.
    name : str, default "target"
        What is predicted, for the axes' labels.
    max_points : int, default 500
        With more rows than this a random choice of them is drawn, always the same one.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> predicted_vs_actual([1.0, 2.0], [1.1, 1.7], interval=([0.9, 1.5], [1.3, 1.9]), ax=ax).get_xlabel()
    'actual target'
    """
    y = vector("y", y)
    mean, lower, upper = predicted(y, prediction, interval, level)
    shown = some(np.isfinite(y) & np.isfinite(mean), at_most=max_points)
    y, mean = y[shown], mean[shown]
    low, high = limits(y, mean)
    label = shorten(name)
    with canvas(ax) as ax:
        ax.axline((low, low), slope=1.0, color=MUTED, linewidth=0.8, zorder=1)
        if lower is None or upper is None:
            ax.plot(y, mean, "o", markersize=3.5, color=ACCENT, alpha=0.6, markeredgewidth=0)
        else:
            _bars(ax, y, mean, lower[shown], upper[shown], level=level)
            low, high = _room_for_bars(low, high, lower[shown], upper[shown])
            key(ax)
        ax.set(ylim=(low, high), xlim=limits(y))
        name_axis(ax.xaxis, f"actual {label}")
        name_axis(ax.yaxis, f"predicted {label}")
        return ax


def residuals(
    y: ArrayLike, prediction: Any, *, name: str = "target", max_points: int = 500, ax: Axes | None = None
) -> Axes:
    """What the prediction left over, actual − predicted, along the predicted value.

    With 60 rows or more a line follows the mean and a band the middle 80 % of the residuals, computed from
    all rows: a line away from zero is a trend that the model missed, a band that widens is noise that isn't
    constant.

    Parameters
    ----------
    y : array of shape (n_samples,)
    prediction : Distribution or array of shape (n_samples,)
    name : str, default "target"
    max_points : int, default 500
        With more rows than this a random choice of them is drawn, always the same one.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> residuals([1.0, 2.0], [1.1, 1.7], ax=Figure().subplots()).get_ylabel()
    'actual − predicted'
    """
    y = vector("y", y)
    mean, _, _ = predicted(y, prediction, None, 0.95)
    left = y - mean
    finite = np.isfinite(left)
    shown = some(finite, at_most=max_points)
    with canvas(ax) as ax:
        ax.axhline(0.0, color=MUTED, linewidth=0.8, zorder=1)
        ax.plot(mean[shown], left[shown], "o", markersize=3.2, color=ACCENT, alpha=0.5, markeredgewidth=0)
        trend = _trend(mean[finite], left[finite])
        if trend is not None:
            x, average, low, high = trend
            ax.fill_between(x, low, high, color=ACCENT, alpha=0.12, linewidth=0, label="middle 80 %")
            ax.plot(x, average, color=INK, linewidth=1.4, label="mean")
            key(ax)
        bound = max(abs(end) for end in limits(left[shown], np.zeros(1)))
        ax.set(xlim=limits(mean[shown]), ylim=(-bound, bound))
        name_axis(ax.xaxis, f"predicted {shorten(name)}")
        name_axis(ax.yaxis, "actual − predicted")
        return ax


def _bars(ax: Axes, y: Vector, mean: Vector, lower: Vector, upper: Vector, *, level: float) -> None:
    inside = (lower <= y) & (y <= upper)
    for rows, color, face, alpha, text in (
        (inside, ACCENT, ACCENT, 0.25, f"inside its {level * 100:g} % interval"),
        (~inside, ALERT, "none", 0.8, "outside"),
    ):
        if not rows.any():
            continue
        gaps = np.full(rows.sum(), np.nan)
        # One broken line for all bars: a quarter of the file size of one line each.
        ax.plot(
            np.column_stack([y[rows], y[rows], gaps]).ravel(),
            np.column_stack([lower[rows], upper[rows], gaps]).ravel(),
            color=color, alpha=alpha, linewidth=0.8, zorder=2,
        )  # fmt: skip
        ax.plot(
            y[rows], mean[rows], "o", markersize=3.5 if len(y) < 150 else 2.8, zorder=3, label=text,
            color=color, markerfacecolor=face, markeredgewidth=0.0 if face == color else 1.0,
        )  # fmt: skip


def _room_for_bars(low: float, high: float, lower: Vector, upper: Vector) -> tuple[float, float]:
    """Limits that hold the bars, except that a few endless ones don't squeeze the data to a line."""
    span = high - low
    ends = np.concatenate([lower, upper])
    ends = ends[np.isfinite(ends)]
    if not len(ends):
        return low, high
    return max(low - span, min(low, limits(ends)[0])), min(high + span, max(high, limits(ends)[1]))


def _trend(mean: Vector, left: Vector) -> tuple[Vector, Vector, Vector, Vector] | None:
    """Mean and 10 % and 90 % quantiles of the residuals in groups of neighbouring predictions."""
    if len(mean) < _ROWS_FOR_A_TREND or np.ptp(mean) == 0:
        return None
    order = np.argsort(mean, kind="stable")
    groups = np.array_split(order, min(12, len(mean) // 20))
    x = np.array([np.median(mean[group]) for group in groups])
    if len(np.unique(x)) < len(x):
        return None
    average = np.array([left[group].mean() for group in groups])
    low, high = np.array([np.quantile(left[group], (0.1, 0.9)) for group in groups]).T
    return x, average, low, high
