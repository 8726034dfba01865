"""A classifier of one input: the probability of the second class along the axis."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from credo.estimator import interval_level
from credo.plots._classes import labelled, points, title
from credo.plots._data import Vector, limits, name_of, only_feature, rows_for
from credo.plots._labels import name_axis, shorten
from credo.plots._style import ACCENT, INK, MUTED, canvas, legend

_POINTS = 400
# Observations are drawn outside the scale of probabilities, where they don't hide the curve.
_AWAY, _JITTER = 0.08, 0.04
# More crossings than this are marked, but not named.
_NAMED = 3


def sigmoid(
    model: Any,
    x: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    level: float = 0.95,
    name: str | None = None,
    max_points: int = 500,
    random_state: Any = 0,
    ax: Axes | None = None,
) -> Axes:
    """The probability of the second class along the one column of a classifier, with the observations.

    A model that knows how sure it is of the probability, as `credo.BayesianLogisticRegression` does, shows the
    interval. Observations lie below 0 and above 1, moved a little at random so that equal ones are seen. Where the
    probability is 1/2, and the prediction changes, the place is marked.

    Parameters
    ----------
    model : fitted classifier of one column and two classes, with `predict_proba`
    x : array of shape (n_samples,) or (n_samples, 1), optional
        The observations; by default those that the model keeps.
    y : array of shape (n_samples,), optional
        Their labels. Without them, x only sets the range of the curve.
    level : float, default 0.95
        Of the interval, where ``model.proba_interval(X, level)`` exists.
    name : str, optional
        Of the input, for the axis' label.
    max_points : int, default 500
        Of more observations a random sample is drawn, always the same one.
    random_state : int, Generator or None, default 0
        For the jitter. With the default, the same call draws the same picture.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import numpy as np
    >>> from credo.linear import LogisticRegression
    >>> from credo.plots import sigmoid
    >>> from matplotlib.figure import Figure
    >>> x = np.array([-2.0, -1.0, 0.5, 1.0, 2.0, 3.0])
    >>> y = ["no", "no", "yes", "no", "yes", "yes"]
    >>> ax = sigmoid(LogisticRegression().fit(x[:, None], y), x, y, ax=Figure().subplots())
    >>> ax.get_ylabel()
    'probability of yes'
    """
    column, level = _only_column(model), interval_level(level)
    if x is not None and np.ndim(x) == 1:
        x = np.asarray(x)[:, None]
    rows, codes = labelled(model, x, y)
    grid = np.linspace(*limits(rows[:, 0]), _POINTS)
    places = rows_for(model, grid[:, None])
    curve = np.asarray(model.predict_proba(places))[:, 1]
    ends = model.proba_interval(places, level) if hasattr(model, "proba_interval") else None
    with canvas(ax, size=(5.6, 3.4)) as ax:
        for height in (0.0, 1.0):
            ax.axhline(height, color=MUTED, linewidth=0.6, zorder=1)
        if ends is not None:
            text = f"{level * 100:g} % interval"
            ax.fill_between(grid, ends[0][:, 1], ends[1][:, 1], color=ACCENT, alpha=0.16, linewidth=0, label=text)
        ax.plot(grid, curve, color=ACCENT, linewidth=1.8, zorder=2, label="probability")
        ax.set(xlim=(grid[0], grid[-1]), ylim=(-_AWAY - 1.5 * _JITTER, 1 + _AWAY + 1.5 * _JITTER))
        _mark_crossings(ax, crossings(grid, curve))
        if codes is not None:
            away = np.where(codes == 1, 1 + _AWAY, -_AWAY)
            away = away + np.random.default_rng(random_state).uniform(-_JITTER, _JITTER, size=len(codes))
            points(
                ax, np.column_stack([rows[:, 0], away]), codes, model.classes_, max_points=max_points, name=name_of(y)
            )
        legend(ax, columns=None)
        ax.set_yticks([0.0, 0.25, 0.5, 0.75, 1.0])
        ax.spines["left"].set_bounds(0.0, 1.0)
        name_axis(ax.xaxis, shorten(column if name is None else name))
        name_axis(ax.yaxis, f"probability of {title(model.classes_.tolist()[1], name=name_of(y))}")
        return ax


def crossings(x: Vector, probability: Vector) -> Vector:
    """Where the probability crosses 1/2, by linear interpolation.

    >>> crossings(np.array([0.0, 1.0, 2.0]), np.array([0.2, 0.6, 0.4]))
    array([0.75, 1.5 ])
    """
    above = probability > 0.5
    left = np.flatnonzero(above[1:] != above[:-1])
    part = (0.5 - probability[left]) / (probability[left + 1] - probability[left])
    return x[left] + part * (x[left + 1] - x[left])


def _only_column(model: Any) -> str:
    column = only_feature(
        model, "sigmoid draws a classifier along its one", ". Two columns are drawn by decision_regions"
    )
    kind = type(model).__name__
    if not hasattr(model, "predict_proba"):
        raise TypeError(f"sigmoid draws probabilities, and a {kind} has none (no predict_proba)")
    if len(model.classes_) != 2:
        raise ValueError(f"sigmoid draws two classes; this {kind} has {len(model.classes_)}")
    return column


def _mark_crossings(ax: Axes, places: Vector) -> None:
    if not len(places):
        return
    ax.vlines(places, 0.0, 0.5, color=INK, linewidth=0.8, linestyles=(0, (4, 2.5)), zorder=2)
    ax.plot(places, np.full(len(places), 0.5), "o", color=INK, markersize=4.5, zorder=4)
    if len(places) > _NAMED:
        return
    low, high = ax.get_xlim()
    for place in places:
        right = place < 0.5 * (low + high)
        # As many digits as the width of the axis can show.
        digits = max(0, 2 - int(np.floor(np.log10(high - low))))
        ax.annotate(
            f"{place:.{digits}f}", (place, 0.03), xytext=(4 if right else -4, 0), textcoords="offset points",
            ha="left" if right else "right", va="bottom", color=INK, fontsize=8,
        )  # fmt: skip
