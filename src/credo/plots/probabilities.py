"""Class probabilities against observed labels: reliability diagram and ROC curve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta, rankdata

from credo.core.estimator import interval_level, positive_integer
from credo.plots._data import Vector
from credo.plots.class_rows import color, dash, forecast, title
from credo.plots.styling import ACCENT, ALERT, MUTED, canvas, legend, name_axis, shorten, strip_below


def reliability(
    y: ArrayLike,
    prediction: Any,
    *,
    n_bins: int | str = "auto",
    classes: Sequence[Any] | None = None,
    level: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """The observed share of an event against its predicted probability (reliability diagram).

    Rows are grouped by predicted probability. The observed share of each group is drawn against its mean prediction,
    with Jeffreys' interval for a binomial share (Brown, Cai & DasGupta 2001), and marked if that misses the diagonal.
    With two classes the event is the second one; with more, that the predicted class was right, so that points below
    the diagonal mean overconfidence. The histogram at the bottom counts the rows.

    Parameters
    ----------
    y : array of shape (n_samples,)
        Labels of held-out rows.
    prediction : Bernoulli, Categorical or array of shape (n_samples,) or (n_samples, n_classes)
        From `predict_dist` or `predict_proba`; one dimension is the probability of the second class.
    n_bins : int or "auto", default "auto"
        Groups of equal width between 0 and 1; by default 5 below 100 rows, 10 below 5000, 20 above.
    classes : sequence of labels, optional
        Labels of the columns of an array; by default the labels in y, in order.
    level : float, default 0.95
        Level of the intervals.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
        The strip is its ``child_axes[0]``.

    Examples
    --------
    >>> from credo.plots import reliability
    >>> from matplotlib.figure import Figure
    >>> ax = reliability(["no", "no", "yes", "yes"], [0.1, 0.1, 0.1, 0.9], n_bins=2, ax=Figure().subplots())
    >>> ax.lines[1].get_xydata().round(3).tolist()
    [[0.1, 0.333], [0.9, 1.0]]
    """
    found = forecast(y, prediction, classes)
    predicted, happened = found.event
    if len(found.classes) == 2:
        across, up = f"predicted probability of {title(found.classes.tolist()[1])}", "observed share"
    else:
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
        legend(ax, gap=0.6)
        ax.set_xlim(0.0, 1.0)
        name_axis(ax.xaxis, across)
        name_axis(ax.yaxis, up)
        return ax


def grouped(
    predicted: Vector, happened: NDArray[np.bool_], edges: Vector, level: float
) -> tuple[NDArray[np.intp], Vector, Vector, Vector, Vector]:
    """Rows in each group and, for groups with any, mean prediction, share of events and its interval."""
    group = np.clip(np.searchsorted(edges, predicted, side="right") - 1, 0, len(edges) - 2)
    counts = np.bincount(group, minlength=len(edges) - 1)
    used = counts > 0
    n = counts[used]
    events = np.bincount(group, weights=happened, minlength=len(counts))[used]
    mean = np.bincount(group, weights=predicted, minlength=len(counts))[used] / n
    tail = (1 - level) / 2
    # Jeffreys' prior Beta(½, ½); if no row or every row had the event, the interval goes to the end of the scale.
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
    ax.plot(mean, share, color=ACCENT, linewidth=0.8, alpha=0.5, zorder=2)
    for rows, paint, face, text in (
        (calibrated, ACCENT, ACCENT, f"observed, with {level * 100:g} % interval"),
        (~calibrated, ALERT, "#ffffff", "interval misses the diagonal"),
    ):
        if rows.any():
            ax.vlines(mean[rows], lower[rows], upper[rows], color=paint, linewidth=1.2, zorder=2)
            ax.plot(
                mean[rows], share[rows], "o", color=paint, markerfacecolor=face, markersize=5, zorder=3, label=text,
                clip_on=False,
            )  # fmt: skip


def roc(y: ArrayLike, prediction: Any, *, classes: Sequence[Any] | None = None, ax: Axes | None = None) -> Axes:
    """The true positive rate against the false positive rate, for every threshold on the probability.

    The area under the curve (AUC) is the probability that an event was ranked above a non-event, ties counting half.
    The legend has it with its standard error (DeLong, DeLong & Clarke-Pearson 1988), which needs two rows of each kind
    and isn't given for a perfect ranking.

    Parameters
    ----------
    y : array of shape (n_samples,)
        Labels of held-out rows.
    prediction : Bernoulli, Categorical or array of shape (n_samples,) or (n_samples, n_classes), or a dict of them
        From `predict_dist` or `predict_proba`; one dimension is the probability of the second class. With more than two
        classes, each is drawn against the rest. A dict draws the curves of several models.
    classes : sequence of labels, optional
        Labels of the columns of an array; by default the labels in y, in order.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> from credo.plots import roc
    >>> from matplotlib.figure import Figure
    >>> ax = roc(["no", "no", "yes", "yes"], [0.1, 0.4, 0.35, 0.8], ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['0.750 ± 0.354']
    """
    models = prediction if isinstance(prediction, Mapping) else {"": prediction}
    every = {str(name): forecast(y, each, classes) for name, each in models.items()}
    found = next(iter(every.values()))
    known, present = found.classes.tolist(), np.unique(found.codes).tolist()
    if len(present) < 2:
        raise ValueError(f"a ROC curve needs two classes, but every label in y is {known[present[0]]!r}")
    two = len(known) == 2
    shares = [title(label) for label in known] if two else ["other classes", "the class"]
    with canvas(ax, size=(4.0, 4.0)) as ax:
        ax.plot([0.0, 1.0], [0.0, 1.0], color=MUTED, linewidth=0.8, zorder=1)
        events = [(name, place) for name in every for place in ([1] if two else present)]
        for rank, (name, place) in enumerate(events):
            scores, happened = every[name].table[:, place], found.codes == place
            label = ", ".join(
                filter(None, (shorten(name, width=28) if name else "", "" if two else title(known[place])))
            )
            ax.plot(
                *steps(scores, happened), color=color(rank), linestyle=dash(rank), linewidth=1.6, zorder=3,
                label=_entry(label, *area(scores, happened)), clip_on=False,
            )  # fmt: skip
        legend = ax.legend(
            loc="lower right", frameon=False, borderaxespad=0.3, handlelength=2.2, alignment="left",
            title="AUC ± standard error", title_fontsize=8.0,
        )  # fmt: skip
        for line in legend.get_texts():
            line.set_parse_math(False)
        ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), aspect="equal")
        name_axis(ax.xaxis, f"false positive rate (share of {shares[0]})")
        name_axis(ax.yaxis, f"true positive rate (share of {shares[1]})")
        return ax


def area(scores: Vector, happened: NDArray[np.bool_]) -> tuple[float, float]:
    """The area under the curve and its standard error, NaN if a class has a single row.

    With V the share of non-events that an event outranks, or of events that outrank a non-event, the variance is
    var(V of events)/m + var(V of non-events)/n (DeLong et al. 1988), computed from ranks (Sun & Xu 2014).
    """
    m, n = int(happened.sum()), int((~happened).sum())
    ranks = rankdata(scores)
    above = (ranks[happened] - rankdata(scores[happened])) / n
    below = 1 - (ranks[~happened] - rankdata(scores[~happened])) / m
    if min(m, n) < 2:
        return float(above.mean()), np.nan
    return float(above.mean()), float(np.sqrt(above.var(ddof=1) / m + below.var(ddof=1) / n))


def steps(scores: Vector, happened: NDArray[np.bool_]) -> tuple[Vector, Vector]:
    """False and true positive rates as the threshold falls; corners only, and one step for rows of equal score."""
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    hits = np.append(0, np.cumsum(happened[order])[last])
    alarms = np.append(0, np.cumsum(~happened[order])[last])
    # In integers: a point on the line between its neighbors isn't a corner.
    turns = np.diff(hits)[1:] * np.diff(alarms)[:-1] != np.diff(hits)[:-1] * np.diff(alarms)[1:]
    corners = np.concatenate([[True], turns, [True]])
    return alarms[corners] / alarms[-1], hits[corners] / hits[-1]


def _entry(name: str, value: float, error: float) -> str:
    text = f"{value:.3f}" + (f" ± {error:.3f}" if error > 0 else "")
    return f"{name}: {text}" if name else text
