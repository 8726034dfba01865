"""Predicted against observed numbers: values, residuals and calibration."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from credo.distributions import Distribution
from credo.metrics.calibration import pit_histogram
from credo.metrics.sensitivity import residual_trend
from credo.plots._data import Vector, limits, sample_rows, vector
from credo.plots.styling import ACCENT, ALERT, INK, MUTED, canvas, legend, name_axis, shorten


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
    """Each prediction with its interval against the observed value; intervals that miss it are marked.

    Parameters
    ----------
    y : array of shape (n_samples,)
        Observed values.
    prediction : Distribution or array of shape (n_samples,)
        A distribution, or means.
    interval : pair of arrays, optional
        Lower and upper ends; by default those of the distribution.
    level : float, default 0.95
        Level of the interval.
    name : str, default "target"
        Name of what is predicted.
    max_points : int, default 500
        Larger data are subsampled with a fixed seed.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> from credo.plots import predicted_vs_actual
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> predicted_vs_actual([1.0, 2.0], [1.1, 1.7], interval=([0.9, 1.5], [1.3, 1.9]), ax=ax).get_xlabel()
    'actual target'
    """
    y = vector("y", y)
    mean, lower, upper = _predicted(y, prediction, interval, level)
    shown = sample_rows(np.isfinite(y) & np.isfinite(mean), at_most=max_points)
    y, mean = y[shown], mean[shown]
    low, high = limits(y, mean)
    label = shorten(name)
    with canvas(ax) as ax:
        ax.axline((low, low), slope=1.0, color=MUTED, linewidth=0.8, zorder=1)
        if lower is None or upper is None:
            ax.plot(y, mean, "o", markersize=3.5, color=ACCENT, alpha=0.6, markeredgewidth=0)
        else:
            _bars(ax, y, mean, lower[shown], upper[shown], level=level)
            ends = np.concatenate([lower[shown], upper[shown]])
            # Room for the bars, but at most three times as much as for the data.
            low, high = np.clip(limits(y, mean, ends[np.isfinite(ends)]), 2 * low - high, 2 * high - low)
            legend(ax)
        ax.set(ylim=(low, high), xlim=limits(y))
        name_axis(ax.xaxis, f"actual {label}")
        name_axis(ax.yaxis, f"predicted {label}")
        return ax


def residuals(
    y: ArrayLike, prediction: Any, *, name: str = "target", max_points: int = 500, ax: Axes | None = None
) -> Axes:
    """Actual − predicted against the predicted value.

    With 60 rows or more, a line shows the mean and a band the middle 80 % of the residuals of all rows. A mean away
    from zero is a trend that the model missed, a widening band is noise that isn't constant.

    Parameters
    ----------
    y : array of shape (n_samples,)
    prediction : Distribution or array of shape (n_samples,)
    name : str, default "target"
    max_points : int, default 500
        Larger data are subsampled with a fixed seed.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> from credo.plots import residuals
    >>> from matplotlib.figure import Figure
    >>> residuals([1.0, 2.0], [1.1, 1.7], ax=Figure().subplots()).get_ylabel()
    'actual − predicted'
    """
    y = vector("y", y)
    mean, _, _ = _predicted(y, prediction, None, 0.95)
    left = y - mean
    finite = np.isfinite(left)
    shown = sample_rows(finite, at_most=max_points)
    with canvas(ax) as ax:
        ax.axhline(0.0, color=MUTED, linewidth=0.8, zorder=1)
        ax.plot(mean[shown], left[shown], "o", markersize=3.2, color=ACCENT, alpha=0.5, markeredgewidth=0)
        trend = residual_trend(mean[finite], left[finite])
        if trend is not None:
            x = trend.prediction
            ax.fill_between(x, trend.low, trend.high, color=ACCENT, alpha=0.12, linewidth=0, label="middle 80 %")
            ax.plot(x, trend.mean, color=INK, linewidth=1.4, label="mean")
            legend(ax)
        bound = max(abs(end) for end in limits(left[shown], np.zeros(1)))
        ax.set(xlim=limits(mean[shown]), ylim=(-bound, bound))
        name_axis(ax.xaxis, f"predicted {shorten(name)}")
        name_axis(ax.yaxis, "actual − predicted")
        return ax


def _predicted(
    y: Vector, prediction: Any, interval: tuple[ArrayLike, ArrayLike] | None, level: float
) -> tuple[Vector, Vector | None, Vector | None]:
    """Mean and interval of a distribution, or of an array of means with its interval."""
    if isinstance(prediction, Distribution):
        interval = interval or prediction.interval(level)
        prediction = prediction.mean
    mean = vector("prediction", prediction, length=len(y))
    if interval is None:
        return mean, None, None
    lower = vector("the interval's lower end", interval[0], length=len(y))
    return mean, lower, vector("the interval's upper end", interval[1], length=len(y))


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


def calibration(pit: ArrayLike, *, bins: int | None = None, level: float = 0.99, ax: Axes | None = None) -> Axes:
    """Histogram of PIT values F(y), with the range of the bars of a calibrated model.

    If every observation came from the distribution predicted for it, the values F(y) would be uniform
    (Gneiting, Balabdaoui & Raftery 2007) and the rows in a bin binomial(n, 1/bins). U-shaped: overconfident.
    Hump: underconfident. Slope: biased.

    Parameters
    ----------
    pit : array of shape (n_samples,)
        Predictive cumulative probabilities at the observations, as `credo.metrics.pit(y, dist)` gives them.
    bins : int, optional
        By default 5 below 50 rows, 10 below 1000, 20 above.
    level : float, default 0.99
        All bars of a calibrated model are between the dashed lines with at least this probability.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> from credo.plots import calibration
    >>> from matplotlib.figure import Figure
    >>> ax = calibration([0.05, 0.35, 0.5, 0.65, 0.95], ax=Figure().subplots())
    >>> [int(bar.get_height()) for bar in ax.containers[0]]
    [1, 1, 1, 1, 1]
    """
    values = vector("pit", pit)
    values = values[np.isfinite(values)]
    if not len(values):
        raise ValueError("there is nothing to draw: pit has no finite value")
    # F(y) may be rounded to just outside [0, 1].
    if values.min() < -1e-9 or values.max() > 1 + 1e-9:
        worst = values[np.argmax(np.abs(values - 0.5))]
        raise ValueError(f"pit values are probabilities between 0 and 1; got {worst:g}")
    found = pit_histogram(values, bins=bins, level=level)
    (counts, edges, low, high), outside = found, found.outside
    with canvas(ax) as ax:
        centres, width = 0.5 * (edges[:-1] + edges[1:]), 0.94 / len(counts)
        ax.bar(centres[~outside], counts[~outside], width=width, color=ACCENT, alpha=0.55, linewidth=0)
        if outside.any():
            ax.bar(
                centres[outside], counts[outside], width=width, facecolor=ALERT, alpha=0.75,
                edgecolor="white", hatch="////", linewidth=0, label="outside",
            )  # fmt: skip
        for end, text in ((low, f"{level * 100:g} % range if calibrated"), (high, None)):
            ax.axhline(end, color=MUTED, linewidth=0.9, dashes=(4, 2.5), label=text)
        legend(ax)
        ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.08 * max(counts.max(), high, 1.0)))
        name_axis(ax.xaxis, "PIT: predictive probability below the actual value")
        name_axis(ax.yaxis, "rows")
        return ax
