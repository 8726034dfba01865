"""The members of an ensemble along one input, and their average."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from credo.estimator import interval_level
from credo.plots._data import feature_names, limits, name_of, predictive, rows_for, single_column
from credo.plots._labels import name_axis, shorten
from credo.plots._style import ACCENT, INK, MUTED, canvas, legend

# More members than this make the figure darker, not clearer.
_MOST = 100


def bagged_curves(
    model: Any, X: ArrayLike, y: ArrayLike | None = None, *, level: float = 0.95, ax: Axes | None = None
) -> Axes:
    """The prediction of each member of an ensemble of regressors along its one input, their average, and its interval.

    Where the curves agree, the interval is the members' own; where they differ, their differences widen it.

    Parameters
    ----------
    model : fitted BaggingRegressor, Committee or ModelAverage of one column
    X : array of shape (n_samples,) or (n_samples, 1), or frame of one column
        The data; curves are drawn over their range.
    y : array of shape (n_samples,), optional
        The targets, drawn as dots.
    level : float, default 0.95
        The probability of the interval.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import numpy as np
    >>> from credo import BaggingRegressor
    >>> from credo.plots import bagged_curves
    >>> from matplotlib.figure import Figure
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> x = np.linspace(0, 1, 30)[:, None]
    >>> model = BaggingRegressor(DecisionTreeRegressor(max_depth=3), n_estimators=5).fit(x, np.sin(6 * x[:, 0]))
    >>> ax = bagged_curves(model, x, np.sin(6 * x[:, 0]), ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['95 % interval', '5 members', 'average', 'data']
    """
    if not (hasattr(model, "estimators_") and hasattr(model, "predict_dist")) or hasattr(model, "classes_"):
        raise TypeError(
            f"bagged_curves draws a fitted ensemble of regressors, such as BaggingRegressor; got a "
            f"{type(model).__name__}"
        )
    names = feature_names(model)
    if len(names) != 1:
        raise ValueError(f"bagged_curves draws along one column; this {type(model).__name__} has {len(names)}")
    x = single_column("X", X)
    targets = None if y is None else single_column("y", y, length=len(x))
    grid = np.linspace(*limits(x), 400)
    rows = rows_for(model, grid[:, None])
    dist = predictive(model, grid[:, None])
    lower, upper = dist.interval(interval_level(level))
    members = model.estimators_
    with canvas(ax, size=(5.6, 3.4)) as ax:
        ax.fill_between(
            grid, lower, upper, color=ACCENT, alpha=0.14, linewidth=0, zorder=1, label=f"{level * 100:g} % interval"
        )
        faint = max(0.15, min(0.7, 5.0 / len(members)))
        curves = ax.plot(
            grid, np.column_stack([member.predict(rows) for member in members[:_MOST]]),
            color=MUTED, linewidth=0.6, alpha=faint, zorder=2,
        )  # fmt: skip
        curves[0].set_label(f"{len(members)} members")
        ax.plot(grid, dist.mean, color=ACCENT, linewidth=1.8, zorder=4, label="average")
        if targets is not None:
            ax.plot(x, targets, "o", color=INK, markersize=3.0, markeredgewidth=0, zorder=3, label="data")
        legend(ax, columns=4)
        for line in ax.get_legend().get_lines()[:1]:  # type: ignore[union-attr]
            line.set_alpha(1.0)
        ax.margins(x=0.0)
        name_axis(ax.xaxis, shorten(name_of(X) or names[0]))
        name_axis(ax.yaxis, shorten(name_of(y) or "y"))
        return ax
