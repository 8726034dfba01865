"""The weights of averaged models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from credo.plots._classes import color, dash, shape
from credo.plots._data import vector
from credo.plots._labels import name_axis, shorten
from credo.plots._style import canvas, legend


def weights_by_rows(
    sizes: ArrayLike, weights: ArrayLike, names: Sequence[str], *, ax: Axes | None = None
) -> Axes:  # fmt: skip
    """The weights of averaged models as the number of rows grows.

    With Bayesian averaging they concentrate on one model, because one model is assumed to have made all rows; with
    stacking they tend to the best combination.

    Parameters
    ----------
    sizes : array of shape (n_sizes,)
        Numbers of rows.
    weights : array of shape (n_sizes, n_models)
        The weights at each size.
    names : sequence of str
        Of the models.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> from credo.plots import weights_by_rows
    >>> from matplotlib.figure import Figure
    >>> ax = weights_by_rows([10, 100], [[0.5, 0.5], [0.1, 0.9]], ["normal", "Cauchy"], ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['normal', 'Cauchy']
    """
    rows, table = vector("sizes", sizes), np.asarray(weights, dtype=np.float64)
    if table.shape != (len(rows), len(names)):
        raise ValueError(
            f"weights must have a row for each of the {len(rows)} sizes and a column for each of the {len(names)} "
            f"names; got shape {table.shape}"
        )
    with canvas(ax) as ax:
        for j, name in enumerate(names):
            ax.plot(
                rows, table[:, j], color=color(j), linestyle=dash(j), marker=shape(j), markersize=4, label=shorten(name)
            )
        ax.set(xscale="log", ylim=(-0.03, 1.03))
        ax.set_xticks(rows, [f"{size:g}" for size in rows])
        ax.minorticks_off()
        legend(ax, columns=None)
        name_axis(ax.xaxis, "rows")
        name_axis(ax.yaxis, "weight")
        return ax
