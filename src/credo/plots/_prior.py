"""What a kernel believes before it has seen data."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from credo.distributions import Normal
from credo.estimator import interval_level, positive_integer
from credo.kernels import Kernel
from credo.plots._arrays import Vector, vector
from credo.plots._labels import name_axis, shorten
from credo.plots._style import ACCENT, MUTED, canvas, key

_POINTS = 300


def prior_draws(
    kernel: Kernel,
    X: ArrayLike = (0.0, 5.0),
    *,
    n: int = 5,
    level: float = 0.95,
    random_state: Any = 0,
    ax: Axes | None = None,
) -> Axes:
    """Functions from the Gaussian-process prior f ~ GP(0, k), and the band in which they lie.

    One of them is drawn strong, so that the eye can follow it.

    Parameters
    ----------
    kernel : Kernel
        Of one column; ``model.kernel_`` is the one that a model learned.
    X : array of shape (n_points,) or (n_points, 1), default (0, 5)
        Where to draw. Two numbers are the ends of an interval.
    n : int, default 5
        How many functions.
    level : float, default 0.95
        The band holds f(x) with this probability at each x.
    random_state : int, Generator or None, default 0
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from credo.kernels import RBF
    >>> ax = prior_draws(RBF(0.5), (0.0, 3.0), n=2, ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['draws of RBF(lengthscale=0.5)', '95 % band']
    """
    if not isinstance(kernel, Kernel):
        raise TypeError(
            f"prior_draws draws from a kernel such as credo.kernels.RBF(0.5), or a fitted model's kernel_; got "
            f"a {type(kernel).__name__}"
        )
    x = _places(X)
    lower, upper = Normal(0.0, np.sqrt(kernel.diagonal(x[:, None]))).interval(interval_level(level))
    lines = kernel.sample(x[:, None], positive_integer("n", n), random_state=random_state)
    text = f"draws of {shorten(kernel, width=64)}"
    with canvas(ax, size=(5.6, 3.0)) as ax:
        ax.axhline(0.0, color=MUTED, linewidth=0.6, zorder=1)
        ax.plot(x, lines[0], color=ACCENT, linewidth=1.8, zorder=3, label=text)
        ax.plot(x, lines[1:].T, color=ACCENT, linewidth=0.9, alpha=0.6, zorder=2)
        ax.fill_between(x, lower, upper, color=ACCENT, alpha=0.1, linewidth=0, label=f"{level * 100:g} % band")
        key(ax, columns=1 if len(text) > 48 else 2)
        ax.margins(x=0.0)
        name_axis(ax.xaxis, "x")
        name_axis(ax.yaxis, "f(x)")
        return ax


def _places(X: ArrayLike) -> Vector:
    """Points along one column in ascending order."""
    array = np.asarray(X, dtype=np.float64)
    if array.ndim == 2 and array.shape[1] > 1:
        raise ValueError(
            f"prior_draws draws along one column; X has {array.shape[1]}. A kernel of several columns is drawn on one "
            "of them by a kernel of that column alone"
        )
    x = vector("X", array[:, 0] if array.ndim == 2 else array)
    if len(x) < 2 or not np.isfinite(x).all() or np.ptp(x) == 0:
        raise ValueError(f"X must hold an interval (low, high) or finite points that differ; got {X!r}")
    return np.linspace(x.min(), x.max(), _POINTS) if len(x) == 2 else np.sort(x)
