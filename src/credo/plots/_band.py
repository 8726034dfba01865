"""A model of one input: what it believes along the axis, and how sure it is."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from credo.plots._arrays import vector
from credo.plots._style import ACCENT, INK, canvas, key


def band(
    x: ArrayLike,
    dist: Any,
    *,
    data: tuple[ArrayLike, ArrayLike] | None = None,
    draws: ArrayLike | None = None,
    level: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """The predictive mean and interval of a one-dimensional model, with the data it learned from.

    Parameters
    ----------
    x : array of shape (n_points,)
        Where the model was asked; any order.
    dist : Distribution of n_points rows
        As `model.predict_dist` gives it.
    data : pair of arrays (x, y), optional
        The observations.
    draws : array of shape (n_draws, n_points), optional
        Functions drawn from the posterior, as `sample_functions` gives them.
    level : float, default 0.95
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
    """
    x = vector("x", x)
    if not (hasattr(dist, "interval") and hasattr(dist, "mean")):
        raise TypeError(
            f"band draws a distribution, as model.predict_dist(X) gives it; got a {type(dist).__name__}. Means and "
            "standard deviations make one: credo.distributions.Normal(mean, std)"
        )
    if len(dist) != len(x):
        raise ValueError(f"dist must have one row for each of the {len(x)} points; got {len(dist)}")
    mean = vector("dist.mean", dist.mean, length=len(x))
    lower, upper = dist.interval(level)
    order = np.argsort(x, kind="stable")
    with canvas(ax, size=(5.6, 3.4)) as ax:
        ax.fill_between(
            x[order], lower[order], upper[order], color=ACCENT, alpha=0.16, linewidth=0,
            label=f"{level * 100:g} % interval",
        )  # fmt: skip
        if draws is not None:
            lines = np.atleast_2d(np.asarray(draws, dtype=np.float64))
            if lines.shape[1] != len(x):
                raise ValueError(f"draws must have one column for each of the {len(x)} points; got {lines.shape}")
            ax.plot(x[order], lines[:, order].T, color=ACCENT, linewidth=0.7, alpha=0.45)
            ax.lines[-1].set_label("draws")
        ax.plot(x[order], mean[order], color=ACCENT, linewidth=1.8, label="mean")
        if data is not None:
            observed = vector("the data's x", data[0])
            values = vector("the data's y", data[1], length=len(observed))
            ax.plot(observed, values, "o", color=INK, markersize=3.5, markeredgewidth=0, label="data")
        key(ax, columns=4)
        ax.margins(x=0.0)
        return ax
