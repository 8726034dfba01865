"""Times until an event: the Kaplan–Meier curve, beside what a model predicts."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from credo.metrics import KaplanMeier
from credo.plots.styling import ACCENT, INK, canvas, legend, name_axis, shorten


def survival(
    curve: KaplanMeier,
    *,
    predicted: tuple[ArrayLike, ArrayLike] | None = None,
    name: str = "time",
    ax: Axes | None = None,
) -> Axes:
    """A Kaplan–Meier curve with its 95 % band, and the average of predicted survival functions.

    Parameters
    ----------
    curve : KaplanMeier
    predicted : pair of arrays, optional
        Times, and the predicted probability of a longer time at each.
    name : str, default "time"
        Name of the time.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> from credo.metrics import kaplan_meier
    >>> from credo.plots import survival
    >>> from matplotlib.figure import Figure
    >>> survival(kaplan_meier([1.0, 2.0, 3.0], [1, 0, 1]), ax=Figure().subplots()).get_ylabel()
    'probability of a longer time'
    """
    with canvas(ax) as ax:
        time = np.concatenate([[0.0], curve.time])
        lower, upper = (np.concatenate([[1.0], end]) for end in curve.interval(0.95))
        ax.fill_between(time, lower, upper, step="post", color=INK, alpha=0.12, linewidth=0)
        ax.step(time, np.concatenate([[1.0], curve.survival]), where="post", color=INK, linewidth=1.2, label="observed")
        if predicted is not None:
            ax.plot(*predicted, color=ACCENT, linewidth=1.6, label="predicted, average")
            legend(ax)
        ax.set(ylim=(0.0, 1.02), xlim=(0.0, None), ylabel="probability of a longer time")
        name_axis(ax.xaxis, shorten(name))
    return ax
