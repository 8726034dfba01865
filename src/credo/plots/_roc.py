"""How well probabilities rank: the receiver operating characteristic and the area below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from credo.estimator import positive_integer
from credo.plots._arrays import Vector
from credo.plots._classes import Forecast, forecast, shown, title
from credo.plots._labels import name_axis, shorten
from credo.plots._marks import color, dash
from credo.plots._style import MUTED, canvas

# The name of the curve, the probability of the event, and whether it happened.
_Curve = tuple[str, Vector, NDArray[np.bool_]]


def roc(
    y: ArrayLike,
    prediction: Any,
    *,
    classes: Sequence[Any] | None = None,
    positive: Any = None,
    max_curves: int = 6,
    ax: Axes | None = None,
) -> Axes:
    """The true positive rate against the false positive rate, for every threshold on the probability.

    The area below the curve is the probability that an event was ranked above a non-event, ties counting half; a
    model that ranks at random follows the diagonal, at 0.5. It stands in the key with its standard error by the method
    of DeLong, DeLong & Clarke-Pearson (1988), which needs two rows of each kind and says nothing where the ranking is
    perfect.

    Parameters
    ----------
    y : array of shape (n_samples,)
        Labels that the model had not seen.
    prediction : Bernoulli, Categorical or array of shape (n_samples,) or (n_samples, n_classes), or a dict of them
        As `predict_dist` or `predict_proba` gives it; one dimension is the probability of the second class. A dict
        draws a curve for each of several models.
    classes : sequence of labels, optional
        What the columns of an array stand for; by default the labels in y, in order.
    positive : label, optional
        The event: by default the second of two classes. Of more classes each is drawn against the rest.
    max_curves : int, default 6
        Of more, those with the smallest areas are drawn strong and the others faint.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = roc(["no", "no", "yes", "yes"], [0.1, 0.4, 0.35, 0.8], ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['0.750 ± 0.354']
    """
    curves, axes = _curves(y, prediction, classes, positive)
    areas = [area(scores, happened) for _, scores, happened in curves]
    strong, faint = _split(np.array([value for value, _ in areas]), positive_integer("max_curves", max_curves))
    with canvas(ax, size=(4.0, 4.0)) as ax:
        ax.plot([0.0, 1.0], [0.0, 1.0], color=MUTED, linewidth=0.8, zorder=1)
        for rank, place in enumerate(strong):
            name, scores, happened = curves[place]
            ax.plot(
                *steps(scores, happened), color=color(rank), linestyle=dash(rank), linewidth=1.6, zorder=3,
                label=_entry(name, *areas[place]), clip_on=False,
            )  # fmt: skip
        text = _others([areas[place][0] for place in faint])
        for place in faint:
            ax.plot(*steps(*curves[place][1:]), color=MUTED, linewidth=0.8, alpha=0.6, zorder=2, label=text)
            text = "_nolegend_"
        # Where a curve that is worth drawing doesn't go.
        legend = ax.legend(
            loc="lower right", frameon=False, borderaxespad=0.3, handlelength=2.2, alignment="left",
            title="AUC ± standard error", title_fontsize=8.0,
        )  # fmt: skip
        for line in legend.get_texts():
            line.set_parse_math(False)
        ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), aspect="equal")
        name_axis(ax.xaxis, f"false positive rate ({axes[0]})")
        name_axis(ax.yaxis, f"true positive rate ({axes[1]})")
        return ax


def area(scores: Vector, happened: NDArray[np.bool_]) -> tuple[float, float]:
    """The area below the curve and its standard error, not a number where a class has a single row.

    With V the share of non-events that an event outranks, and of events that outrank a non-event, the variance is
    var(V of events)/m + var(V of non-events)/n (DeLong et al. 1988), from ranks as Sun & Xu (2014) count them.

    >>> area(np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True]))
    (0.75, 0.3535533905932738)
    """
    m, n = int(happened.sum()), int((~happened).sum())
    ranks = rankdata(scores)
    above = (ranks[happened] - rankdata(scores[happened])) / n
    below = 1 - (ranks[~happened] - rankdata(scores[~happened])) / m
    if min(m, n) < 2:
        return float(above.mean()), np.nan
    return float(above.mean()), float(np.sqrt(above.var(ddof=1) / m + below.var(ddof=1) / n))


def steps(scores: Vector, happened: NDArray[np.bool_]) -> tuple[Vector, Vector]:
    """False-alarm and hit shares as the threshold falls; corners only, and one step for rows of equal score."""
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    hits = np.append(0, np.cumsum(happened[order])[last])
    alarms = np.append(0, np.cumsum(~happened[order])[last])
    # In whole numbers: a point on the line between its neighbours is no corner.
    turns = np.diff(hits)[1:] * np.diff(alarms)[:-1] != np.diff(hits)[:-1] * np.diff(alarms)[1:]
    corners = np.concatenate([[True], turns, [True]])
    return alarms[corners] / alarms[-1], hits[corners] / hits[-1]


def _curves(
    y: ArrayLike, prediction: Any, classes: Sequence[Any] | None, positive: Any
) -> tuple[list[_Curve], tuple[str, str]]:
    """Every curve to draw, and what the two axes are shares of."""
    several = isinstance(prediction, Mapping)
    if several and not prediction:
        raise ValueError("there is nothing to draw: the dict of predictions is empty")
    models = prediction if several else {"": prediction}
    found = {str(name): forecast(y, each, classes) for name, each in models.items()}
    first = next(iter(found.values()))
    if len(first.classes) > 2 and positive is None:
        if several:
            raise ValueError(
                f"curves of several models need one event, and there are {len(first.classes)} classes: say "
                f"positive=, one of {shown(first.classes)}"
            )
        return _against_rest(first), ("share of other classes", "share of the class")
    event = first.classes[1] if positive is None else positive
    curves = []
    for name, each in found.items():
        if event not in each.classes:
            raise ValueError(f"positive must be one of the classes {shown(each.classes)}; got {positive!r}")
        place = each.classes.index(event)
        happened = each.codes == place
        if happened.all() or not happened.any():
            have = "every" if happened.all() else "no"
            raise ValueError(f"a ROC curve needs events and others, and {have} label in y is {event!r}")
        curves.append((shorten(name, width=28) if name else "", each.table[:, place], happened))
    other = title(first.classes[0]) if event == first.classes[-1] and len(first.classes) == 2 else "the others"
    return curves, (f"share of {other}", f"share of {title(event)}")


def _against_rest(found: Forecast) -> list[_Curve]:
    present = np.unique(found.codes)
    if len(present) < 2:
        raise ValueError(f"a ROC curve needs two classes, and every label in y is {found.classes[present[0]]!r}")
    return [(title(found.classes[place]), found.table[:, place], found.codes == place) for place in present]


def _split(areas: Vector, at_most: int) -> tuple[list[int], list[int]]:
    """Which curves are drawn strong, in the order they came, and which faint."""
    if len(areas) <= at_most:
        return list(range(len(areas))), []
    smallest = set(np.argsort(areas, kind="stable")[:at_most].tolist())
    return sorted(smallest), [place for place in range(len(areas)) if place not in smallest]


def _entry(name: str, value: float, error: float) -> str:
    text = f"{value:.3f}" + (f" ± {error:.3f}" if error > 0 else "")
    return f"{name}: {text}" if name else text


def _others(areas: list[float]) -> str:
    if not areas:
        return "_nolegend_"
    return f"{len(areas)} more: {min(areas):.3f} to {max(areas):.3f}"
