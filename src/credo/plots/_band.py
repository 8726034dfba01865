"""A model of one input: what it believes along the axis, and how sure it is."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from credo.estimator import positive_integer
from credo.plots._arrays import Vector, along, name_of, vector
from credo.plots._fitted import columns, observations, predictive, rows_for
from credo.plots._labels import name_axis, shorten
from credo.plots._style import ACCENT, INK, canvas, key


def band(
    x: ArrayLike,
    dist: Any,
    *,
    latent: Any = None,
    data: tuple[ArrayLike, ArrayLike] | None = None,
    draws: int | ArrayLike | None = None,
    level: float = 0.95,
    name: str | None = None,
    random_state: Any = 0,
    ax: Axes | None = None,
) -> Axes:
    """The predictive mean and interval of a one-dimensional model, with the data it learned from.

    Parameters
    ----------
    x : array of shape (n_points,) or (n_points, 1), series, or frame of one column
        Where the model was asked; any order. A name that it has stands at the axis.
    dist : Distribution of n_points rows, or a fitted model of one column
        As `model.predict_dist` gives it. A model is asked at `x` itself, with noise and without, and shows the
        observations that it keeps.
    latent : Distribution of n_points rows, optional
        The function without the noise of an observation, ``model.predict_dist(X, latent=True)``: a second, darker band
        inside the first.
    data : pair of arrays (x, y), optional
        The observations, in the same forms.
    draws : int, or array of shape (n_draws, n_points), optional
        Functions drawn from the posterior, or how many a model is to draw.
    level : float, default 0.95
    name : str, optional
        What is predicted, for the axis' label; by default the name of the data's y, or "y".
    random_state : int, Generator or None, default 0
        For the functions that a model draws.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from credo.distributions import Normal
    >>> x = np.linspace(0.0, 1.0, 5)
    >>> ax = band(x, Normal(2.0 * x, np.full(5, 0.1)), data=([0.5], [1.05]), ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['95 % interval', 'mean', 'data']

    Of a model, with three functions from its posterior:

    >>> from credo import GPRegressor
    >>> model = GPRegressor().fit(x[:, None], np.sin(6 * x))
    >>> ax = band(np.linspace(-0.2, 1.2, 100), model, draws=3, ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['95 % interval of y', 'of f', 'draws of f', 'mean', 'data']
    """
    own, x, column = name_of(x), along("x", x), "x"
    if hasattr(dist, "predict_dist"):
        column = _only_column(dist)
        data = observed(dist) if data is None else data
        draws = functions(dist, x, n=int(draws), random_state=random_state) if isinstance(draws, Integral) else draws
        latent = predictive(dist, x[:, None], latent=True) if latent is None else latent
        dist = predictive(dist, x[:, None])
    mean, *ends = _mean_and_ends(dist, level, len(x))
    inner = None if latent is None else _mean_and_ends(latent, level, len(x))[1:]
    lines = None if draws is None else _lines(draws, len(x))
    order = np.argsort(x, kind="stable")
    with canvas(ax, size=(5.6, 3.4)) as ax:
        _fill(ax, x[order], *(end[order] for end in ends), label=f"{level * 100:g} % interval" + " of y" * bool(inner))
        if inner:
            _fill(ax, x[order], *(end[order] for end in inner), label="of f", alpha=0.26)
        if lines is not None:
            ax.plot(x[order], lines[:, order].T, color=ACCENT, linewidth=0.7, alpha=0.6 if inner else 0.45)
            ax.lines[-1].set_label("draws of f" if inner else "draws")
        ax.plot(x[order], mean[order], color=ACCENT, linewidth=1.8, label="mean")
        if data is not None:
            dots(ax, *data)
        key(ax, columns=3 if len(ax.get_legend_handles_labels()[1]) > 4 else 4)
        ax.margins(x=0.0)
        name_axis(ax.xaxis, shorten(own or column))
        name_axis(ax.yaxis, shorten(name or (data and name_of(data[1])) or "y"))
        return ax


def observed(model: Any) -> tuple[Vector, Vector] | None:
    """The observations that a model of one column keeps, as a pair to draw."""
    kept = observations(model)
    return None if kept is None else (kept[0][:, 0], kept[1])


def functions(model: Any, x: Vector, *, n: int, random_state: Any) -> NDArray[np.float64]:
    """n functions from a model's posterior along x: `sample` of a process, `sample_functions` of a linear model."""
    draw = getattr(model, "sample", None) or getattr(model, "sample_functions", None)
    if draw is None:
        raise TypeError(f"a {type(model).__name__} can't draw functions; leave draws out")
    rows = rows_for(model, x[:, None])
    return np.asarray(draw(rows, positive_integer("draws", n), random_state=random_state))


def dots(ax: Axes, x: ArrayLike, y: ArrayLike) -> None:
    """Observations as ink."""
    places = along("the data's x", x)
    values = along("the data's y", y, length=len(places))
    ax.plot(places, values, "o", color=INK, markersize=3.5, markeredgewidth=0, zorder=3, label="data")


def _only_column(model: Any) -> str:
    names = columns(model)
    if len(names) != 1:
        raise ValueError(
            f"band draws a model along its one column; this {type(model).__name__} has {len(names)}. Ask it along a "
            "line of your own and give what it says: band(x, model.predict_dist(X))"
        )
    return names[0]


def _mean_and_ends(dist: Any, level: float, n_points: int) -> tuple[Vector, Vector, Vector]:
    if not (hasattr(dist, "interval") and hasattr(dist, "mean")):
        raise TypeError(
            f"band draws a distribution, as model.predict_dist(X) gives it; got a {type(dist).__name__}. Means and "
            "standard deviations make one: credo.distributions.Normal(mean, std)"
        )
    if len(dist) != n_points:
        raise ValueError(f"dist must have one row for each of the {n_points} points; got {len(dist)}")
    return vector("dist.mean", dist.mean, length=n_points), *dist.interval(level)


def _lines(draws: Any, n_points: int) -> NDArray[np.float64]:
    if isinstance(draws, Integral):
        raise TypeError(
            f"draws={draws} asks for functions from a model: give the model in place of its distribution, or the "
            "functions themselves, one a row"
        )
    lines = np.atleast_2d(np.asarray(draws, dtype=np.float64))
    if lines.shape[1] != n_points:
        raise ValueError(f"draws must have one column for each of the {n_points} points; got {lines.shape}")
    return lines


def _fill(ax: Axes, x: Vector, lower: Vector, upper: Vector, *, label: str, alpha: float = 0.16) -> None:
    ax.fill_between(x, lower, upper, color=ACCENT, alpha=alpha, linewidth=0, label=label)
