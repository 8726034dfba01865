"""Calibration of predictive distributions: the histogram of the probability integral transform."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from credo.metrics._calibration import pit_histogram
from credo.plots._arrays import vector
from credo.plots._labels import name_axis
from credo.plots._style import ACCENT, ALERT, MUTED, canvas, key


def calibration(pit: ArrayLike, *, bins: int | None = None, level: float = 0.99, ax: Axes | None = None) -> Axes:
    """Histogram of PIT values F(y) with the range in which the bars of a calibrated model stay.

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
        All bars of a calibrated model lie between the dashed lines with at least this probability.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = calibration([0.05, 0.35, 0.5, 0.65, 0.95], ax=Figure().subplots())
    >>> [int(bar.get_height()) for bar in ax.containers[0]]
    [1, 1, 1, 1, 1]
    """
    values = vector("pit", pit)
    values = values[np.isfinite(values)]
    if not len(values):
        raise ValueError("there is nothing to draw: pit has no finite value")
    # A hair of slack, since F(y) may round to just outside [0, 1].
    if values.min() < -1e-9 or values.max() > 1 + 1e-9:
        worst = values[np.argmax(np.abs(values - 0.5))]
        raise ValueError(f"pit values are probabilities between 0 and 1; got {worst:g}")
    bars = pit_histogram(values, bins=bins, level=level)
    counts, edges, low, high = bars
    outside = bars.outside
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
        key(ax)
        ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.08 * max(counts.max(), high, 1.0)))
        name_axis(ax.xaxis, "PIT: predictive probability below the actual value")
        name_axis(ax.yaxis, "rows")
        return ax
