"""Where to measure next: predictions with their uncertainty, and the points that a model suggests."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray

from credo.core.estimator import choice, positive_integer, rows_for
from credo.gp import GPRegressor
from credo.gp.acquisition import expected_improvement, incumbent
from credo.plots._band import band
from credo.plots._data import Vector, feature_names, grid_rows, limits, observations, predictive, rows_of
from credo.plots.styling import ACCENT, ALERT, INK, MUTED, canvas, legend, name_axis, shorten, strip_below

_CRITERIA = ("variance", "improvement")
_TITLES = {"variance": "sd of f", "improvement": "expected\nimprovement"}
_MESH_POINTS = 60


def next_points(
    model: Any, X_pool: ArrayLike, *, n: int = 1, criterion: str = "variance", name: str = "y", ax: Axes | None = None
) -> Axes:
    """The points of a pool to measure next, with the model's current predictions.

    A model of one column is drawn as a band with the criterion below it, one of two columns as a map of the criterion.
    Several suggestions are numbered in their order.

    Parameters
    ----------
    model : fitted model of one or two columns, with `suggest` and `X_train_`, `y_train_`
    X_pool : array or frame of shape (n_rows, n_features)
        The points that could be measured.
    n : int, default 1
        How many to suggest.
    criterion : {"variance", "improvement"}, default "variance"
        The largest uncertainty (``model.suggest``), or the largest expected improvement over the smallest value so far
        (`credo.gp.expected_improvement`), to minimize y.
    name : str, default "y"
        Name of what is measured.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
        For one column the strip is its ``child_axes[0]``.

    Examples
    --------
    >>> import numpy as np
    >>> from credo import GPRegressor
    >>> from credo.plots import next_points
    >>> from matplotlib.figure import Figure
    >>> x = np.array([0.0, 0.5, 1.0, 2.5, 3.0])
    >>> model = GPRegressor().fit(x[:, None], np.sin(x))
    >>> ax = next_points(model, np.linspace(0, 3, 31)[:, None], ax=Figure().subplots())
    >>> ax.child_axes[0].get_ylabel()
    'sd of f'
    """
    names = feature_names(model)
    choice("criterion", criterion, _CRITERIA)
    if len(names) > 2:
        raise ValueError(
            f"next_points draws models of one or two columns; this one has {len(names)}. model.suggest(X_pool, n) "
            "gives the row numbers without a picture"
        )
    kept = observations(model)
    if kept is None or not isinstance(model, GPRegressor):
        raise TypeError(f"next_points needs a model that suggests points, as GPRegressor does; got {model!r}")
    pool = rows_of(model, X_pool, name="X_pool")
    chosen = _suggested(model, X_pool, pool, positive_integer("n", n), criterion)
    size = (5.6, 3.9) if len(names) == 1 else (5.2, 3.9)
    with canvas(ax, size=size) as ax:
        if len(names) == 1:
            _along(ax, model, pool[:, 0], chosen, kept, criterion, label=shorten(name))
        else:
            _map(ax, model, pool, chosen, kept[0], criterion, names)
        return ax


def _suggested(model: Any, X_pool: ArrayLike, pool: NDArray[np.float64], n: int, criterion: str) -> NDArray[np.intp]:
    if criterion == "variance":
        return np.asarray(model.suggest(X_pool, n))
    if n > 1:
        raise ValueError(f"expected improvement suggests one point at a time, the next after measuring it; got n={n}")
    return np.array([int(np.argmax(_score(model, pool, criterion)))])


def _score(model: Any, X: NDArray[np.float64], criterion: str) -> Vector:
    if criterion == "variance":
        return np.asarray(predictive(model, X, latent=True).std)
    return np.asarray(expected_improvement(model, rows_for(model, X)))


def _along(
    ax: Axes,
    model: Any,
    pool: Vector,
    chosen: NDArray[np.intp],
    kept: tuple[NDArray[np.float64], Vector],
    criterion: str,
    *,
    label: str,
) -> None:
    """Band above, criterion in a strip below, and lines through both at the suggestions."""
    places, targets = kept[0][:, 0], kept[1]
    x = np.linspace(*_reach(pool, places), 300)
    # The curve passes through the points of the pool.
    x = np.unique(np.concatenate([x, pool])) if len(pool) <= 1000 else x
    latent = predictive(model, x[:, None], latent=True)
    band(x, latent, data=(places, targets), name=label, ax=ax)
    ax.lines[-1].set_clip_on(False)
    column = feature_names(model)[0]
    name_axis(ax.xaxis, shorten(column))
    low, high = limits(*latent.interval(0.95), targets)
    score = _score(model, x[:, None], criterion)
    strip = strip_below(ax, low, high)
    strip.fill_between(x, 0.0, score, color=ACCENT, alpha=0.16, linewidth=0)
    strip.plot(x, score, color=ACCENT, linewidth=1.2)
    strip.set(xlim=(x[0], x[-1]), ylim=(0.0, 1.25 * score.max() or 1.0))
    strip.set_ylabel(_TITLES[criterion])
    at = pool[chosen]
    strip.plot(at, np.interp(at, x, score), "D", color=ALERT, markersize=4.5, clip_on=False, zorder=4)
    if criterion == "improvement":
        ax.axhline(incumbent(model), color=MUTED, linewidth=0.9, dashes=(1, 1.5), zorder=1, label="best so far")
    for rank, place in enumerate(at, start=1):
        ax.axvline(
            place, color=ALERT, linewidth=0.9, dashes=(4, 2.5), zorder=1, clip_on=False,
            label="next" if rank == 1 else None,
        )  # fmt: skip
        if len(at) > 1:
            _number(ax, rank, (place, high))
    legend(ax, columns=5)


def _map(
    ax: Axes,
    model: Any,
    pool: NDArray[np.float64],
    chosen: NDArray[np.intp],
    rows: NDArray[np.float64],
    criterion: str,
    names: list[str],
) -> None:
    """The criterion as shades over the plane of two columns."""
    across, up = (np.linspace(*_reach(pool[:, i], rows[:, i]), _MESH_POINTS) for i in (0, 1))
    score = _score(model, grid_rows(across, up), criterion).reshape(_MESH_POINTS, _MESH_POINTS)
    shades = LinearSegmentedColormap.from_list("credo", ["white", ACCENT])
    levels = MaxNLocator(nbins=8, steps=[1, 2, 5, 10]).tick_values(min(0.0, score.min()), score.max() or 1.0)
    drawn = ax.contourf(across, up, score, levels=levels, cmap=shades, alpha=0.85)
    bar = ax.figure.colorbar(drawn, ax=ax, pad=0.03, label=_TITLES[criterion].replace("\n", " "))
    bar.outline.set(visible=False)
    bar.ax.tick_params(length=2.5, width=0.6, color=MUTED)
    # A larger pool would hide the map.
    if len(pool) <= 500:
        ax.plot(*pool.T, "o", color=MUTED, markersize=1.2, markeredgewidth=0, clip_on=False, label="pool")
    ax.plot(rows[:, 0], rows[:, 1], "o", color=INK, markersize=3.5, markeredgewidth=0, clip_on=False, label="data")
    ax.plot(
        *pool[chosen].T, "D", color=ALERT, markeredgecolor="white", markeredgewidth=0.8, markersize=6.5, zorder=4,
        clip_on=False, label="next",
    )  # fmt: skip
    if len(chosen) > 1:
        for rank, place in enumerate(pool[chosen], start=1):
            _number(ax, rank, place)
    legend(ax, columns=3)
    name_axis(ax.xaxis, shorten(names[0]))
    name_axis(ax.yaxis, shorten(names[1]))


def _reach(pool: Vector, measured: Vector) -> tuple[float, float]:
    """From the first to the last point: beyond them the criterion rises, but there are no points to choose."""
    low, high = min(pool.min(), measured.min()), max(pool.max(), measured.max())
    return (float(low), float(high)) if low < high else limits(pool)


def _number(ax: Axes, rank: int, place: Any) -> None:
    style: Any = {"color": INK, "fontsize": 8, "fontweight": "bold", "va": "top"}
    ax.annotate(str(rank), tuple(place), xytext=(5, -2), textcoords="offset points", **style)
