"""Do predicted probabilities come true? Observed shares against what was predicted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta

from credo.estimator import interval_level, positive_integer
from credo.plots._arrays import Vector
from credo.plots._classes import forecast, title
from credo.plots._labels import name_axis
from credo.plots._strip import strip_below
from credo.plots._style import ACCENT, ALERT, MUTED, canvas, key


def reliability(
    y: ArrayLike,
    prediction: Any,
    *,
    n_bins: int | str = "auto",
    classes: Sequence[Any] | None = None,
    level: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """The share of rows in which an event happened, against the probability that it was given.

    Rows are grouped by predicted probability; each group's observed share stands above its mean prediction, with
    Jeffreys' interval for a binomial share (Brown, Cai & DasGupta 2001). Calibrated groups lie on the diagonal; above
    it events come more often than predicted, below it more rarely. A group whose interval misses the diagonal is
    marked. Two classes: the event is the second one. More: that the predicted class was right, so that points below the
    diagonal mean overconfidence. The strip at the foot counts the rows.

    Parameters
    ----------
    y : array of shape (n_samples,)
        Labels that the model had not seen.
    prediction : Bernoulli, Categorical or array of shape (n_samples,) or (n_samples, n_classes)
        As `predict_dist` or `predict_proba` gives it; one dimension is the probability of the second class.
    n_bins : int or "auto", default "auto"
        Groups of equal width between 0 and 1; by default 5 below 100 rows, 10 below 5000, 20 above.
    classes : sequence of labels, optional
        What the columns of an array stand for; by default the labels in y, in order.
    level : float, default 0.95
        Of the intervals.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
        The strip is its ``child_axes[0]``.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = reliability(["no", "no", "yes", "yes"], [0.1, 0.1, 0.1, 0.9], n_bins=2, ax=Figure().subplots())
    >>> ax.lines[1].get_xydata().round(3).tolist()
    [[0.1, 0.333], [0.9, 1.0]]
    """
    found = forecast(y, prediction, classes)
    if len(found.classes) == 2:
        predicted, happened = found.table[:, 1], found.codes == 1
        across, up = f"predicted probability of {title(found.classes[1])}", "observed share"
    else:
        predicted, happened = found.table.max(axis=1), found.table.argmax(axis=1) == found.codes
        across, up = "probability of the predicted class", "accuracy"
    edges = np.linspace(0.0, 1.0, _bins(n_bins, len(predicted)) + 1)
    counts, mean, share, lower, upper = grouped(predicted, happened, edges, interval_level(level))
    with canvas(ax, size=(4.2, 4.2)) as ax:
        ax.plot([0.0, 1.0], [0.0, 1.0], color=MUTED, linewidth=0.8, zorder=1)
        _groups(ax, mean, share, lower, upper, level)
        strip = strip_below(ax, 0.0, 1.0, strip=0.14, room=0.2)
        strip.bar(
            edges[:-1], counts, width=np.diff(edges), align="edge", color=ACCENT, alpha=0.35, edgecolor="#ffffff",
            linewidth=0.6,
        )  # fmt: skip
        strip.set(xlim=(0.0, 1.0), ylim=(0.0, counts.max()), ylabel="rows")
        strip.yaxis.set_major_locator(FixedLocator([0, int(counts.max())]))
        key(ax, gap=0.6)
        ax.set_xlim(0.0, 1.0)
        name_axis(ax.xaxis, across)
        name_axis(ax.yaxis, up)
        return ax


def grouped(
    predicted: Vector, happened: NDArray[np.bool_], edges: Vector, level: float
) -> tuple[NDArray[np.intp], Vector, Vector, Vector, Vector]:
    """Rows in each group, and of those that have any: mean prediction, share of events and the share's interval."""
    group = np.clip(np.searchsorted(edges, predicted, side="right") - 1, 0, len(edges) - 2)
    counts = np.bincount(group, minlength=len(edges) - 1)
    used = counts > 0
    n = counts[used]
    events = np.bincount(group, weights=happened, minlength=len(counts))[used]
    mean = np.bincount(group, weights=predicted, minlength=len(counts))[used] / n
    tail = (1 - level) / 2
    # Jeffreys' prior Beta(½, ½); an end where nothing, or everything, happened is the end of the scale.
    lower = np.where(events == 0, 0.0, beta.ppf(tail, events + 0.5, n - events + 0.5))
    upper = np.where(events == n, 1.0, beta.isf(tail, events + 0.5, n - events + 0.5))
    return counts, mean, events / n, lower, upper


def _bins(n_bins: int | str, n_rows: int) -> int:
    if isinstance(n_bins, str):
        if n_bins != "auto":
            raise ValueError(f'n_bins must be a positive whole number or "auto"; got {n_bins!r}')
        return 5 if n_rows < 100 else 10 if n_rows < 5000 else 20
    return positive_integer("n_bins", n_bins)


def _groups(ax: Axes, mean: Vector, share: Vector, lower: Vector, upper: Vector, level: float) -> None:
    calibrated = (lower <= mean) & (mean <= upper)
    # The eye follows the line of all groups; the marks say which of them to believe.
    ax.plot(mean, share, color=ACCENT, linewidth=0.8, alpha=0.5, zorder=2)
    for rows, color, face, text in (
        (calibrated, ACCENT, ACCENT, f"observed, with {level * 100:g} % interval"),
        (~calibrated, ALERT, "#ffffff", "interval misses the diagonal"),
    ):
        if rows.any():
            ax.vlines(mean[rows], lower[rows], upper[rows], color=color, linewidth=1.2, zorder=2)
            ax.plot(
                mean[rows], share[rows], "o", color=color, markerfacecolor=face, markersize=5, zorder=3, label=text,
                clip_on=False,
            )  # fmt: skip
