"""Functions of one input with their uncertainty."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from credo.core.estimator import describe, positive_integer, rows_for
from credo.distributions import Distribution
from credo.plots._data import Vector, name_of, observations, only_feature, predictive, single_column, vector
from credo.plots.styling import ACCENT, INK, canvas, legend, name_axis, shorten

_ALONG_A_LINE = ". Evaluate it along a line and pass the distribution: band(x, model.predict_dist(X))"


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
        Where the model was evaluated, in any order; its name labels the axis.
    dist : Distribution of n_points rows, or a fitted model of one column
        A model is evaluated at `x`, with noise and without, and the training rows that it keeps are shown.
    latent : Distribution of n_points rows, or (mean, lower, upper), optional
        The function without noise, ``model.predict_dist(X, latent=True)``: a darker band inside the first.
    data : pair of arrays (x, y), optional
        The observations, in the same forms.
    draws : int, or array of shape (n_draws, n_points), optional
        Functions drawn from the posterior, or how many a model is to draw.
    level : float, default 0.95
    name : str, optional
        What is predicted, for the axis' label; by default the name of the data's y, or "y".
    random_state : int, Generator or None, default 0
        For the functions that a model draws. With the default, the same call draws the same picture.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import numpy as np
    >>> from credo.distributions import Distribution, Normal
    >>> from credo.plots import band
    >>> from matplotlib.figure import Figure
    >>> x = np.linspace(0.0, 1.0, 5)
    >>> ax = band(x, Normal(2.0 * x, np.full(5, 0.1)), data=([0.5], [1.05]), ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['95 % interval', 'mean', 'data']

    For a model, with three functions from its posterior:

    >>> from credo import GPRegressor
    >>> model = GPRegressor().fit(x[:, None], np.sin(6 * x))
    >>> ax = band(np.linspace(-0.2, 1.2, 100), model, draws=3, ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['95 % interval of y', 'of f', 'draws of f', 'mean', 'data']
    """
    own, x, column = name_of(x), single_column("x", x), "x"
    if isinstance(dist, BaseEstimator):
        column = only_feature(dist, "band draws a model along its one", _ALONG_A_LINE)
        kept = observations(dist) if data is None else None
        data = data if kept is None else (kept[0][:, 0], kept[1])
        if isinstance(draws, Integral):
            curve, n = describe(dist).curve, positive_integer("draws", draws)
            assert curve is not None
            draws = curve.draws(rows_for(dist, x[:, None]), n, random_state=random_state)
        latent = predictive(dist, x[:, None], latent=True) if latent is None else latent
        dist = predictive(dist, x[:, None])
    mean, *ends = _mean_and_ends(dist, level, len(x))
    inner = None if latent is None else _mean_and_ends(latent, level, len(x))[1:]
    if isinstance(draws, Integral):
        raise TypeError(
            f"draws={draws} asks for functions from a model: give the model instead of its distribution, or the "
            "functions themselves, one in each row"
        )
    lines = None if draws is None else np.atleast_2d(np.asarray(draws, dtype=np.float64))
    if lines is not None and lines.shape[1] != len(x):
        raise ValueError(f"draws must have one column for each of the {len(x)} points; got {lines.shape}")
    order = np.argsort(x, kind="stable")
    with canvas(ax, size=(5.6, 3.4)) as ax:
        fill: Any = {"color": ACCENT, "linewidth": 0}
        text = f"{level * 100:g} % interval" + " of y" * bool(inner)
        ax.fill_between(x[order], ends[0][order], ends[1][order], alpha=0.16, label=text, **fill)
        if inner:
            ax.fill_between(x[order], inner[0][order], inner[1][order], alpha=0.26, label="of f", **fill)
        if lines is not None:
            ax.plot(x[order], lines[:, order].T, color=ACCENT, linewidth=0.7, alpha=0.6 if inner else 0.45)
            ax.lines[-1].set_label("draws of f" if inner else "draws")
        ax.plot(x[order], mean[order], color=ACCENT, linewidth=1.8, label="mean")
        if data is not None:
            places = single_column("the data's x", data[0])
            values = single_column("the data's y", data[1], length=len(places))
            ax.plot(places, values, "o", color=INK, markersize=3.5, markeredgewidth=0, zorder=3, label="data")
        legend(ax, columns=3 if len(ax.get_legend_handles_labels()[1]) > 4 else 4)
        ax.margins(x=0.0)
        name_axis(ax.xaxis, shorten(own or column))
        name_axis(ax.yaxis, shorten(name or (data and name_of(data[1])) or "y"))
        return ax


def _mean_and_ends(dist: Any, level: float, n_points: int) -> tuple[Vector, Vector, Vector]:
    """Mean, lower and upper ends, from a distribution or as given."""
    if isinstance(dist, Distribution):
        dist = (dist.mean, *dist.interval(level))
    if not isinstance(dist, tuple):
        raise TypeError(
            f"band draws a distribution, as model.predict_dist(X) gives it; got a {type(dist).__name__}. Means and "
            "standard deviations make one: credo.distributions.Normal(mean, std)"
        )
    if len(dist[0]) != n_points:
        raise ValueError(f"dist must have one row for each of the {n_points} points; got {len(dist[0])}")
    mean, lower, upper = (vector("dist", part, length=n_points) for part in dist)
    return mean, lower, upper
