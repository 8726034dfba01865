"""Which inputs are in: probabilities over all models, beside the order in which the lasso lets them in."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from credo.estimator import positive_integer
from credo.penalized import LassoPath
from credo.plots._arrays import Vector
from credo.plots._bars import draw_bars, name_rows, remark
from credo.plots._fitted import columns
from credo.plots._labels import name_axis, name_log_axis, probability_text
from credo.plots._models import posterior_of
from credo.plots._style import ACCENT, ALERT, MUTED, RULE, canvas, key, tidy
from credo.subsets import ModelPrior

# Of the width, where a path stands beside the bars: the bars, and the path's panel.
LEFT, _RIGHT = 0.52, 0.42
# The right end of the bars' own scale, which has room for the values' texts.
_END = 1.14


def inclusions(model: Any, *, path: LassoPath | None = None, max_rows: int = 20, ax: Axes | None = None) -> Axes:
    """The probability that each column is in, the largest first, with that before the data.

    Bars of one half and more are filled: the median model, but for copies. A path of the lasso adds, for each column,
    the share of the largest penalty at which its weight leaves zero, so that the two orders can be compared; a hollow
    mark at the left is a column that isn't in by the path's last penalty.

    Parameters
    ----------
    model : fitted model with `inclusion_probabilities_`
        `credo.sparse.SpikeSlabRegressor` or `SpikeSlabClassifier`.
    path : LassoPath, optional
        Of the same columns, brought to one scale, as `credo.sparse.lasso_path` gives it.
    max_rows : int, default 20
        How many columns are drawn.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
        Of the bars; with a path, its panel is ``child_axes[0]``.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from credo.sparse import SpikeSlabRegressor
    >>> X = np.random.default_rng(0).normal(size=(30, 3))
    >>> ax = inclusions(SpikeSlabRegressor().fit(X, X[:, 1] + np.cos(9 * X[:, 0])), ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['x1', 'x2', 'x0']
    """
    posterior_of(model)
    names = columns(model)
    inclusion = np.asarray(model.inclusion_probabilities_)
    if path is not None and len(path.coefs) != len(names):
        raise ValueError(f"the path has {len(path.coefs)} columns and the model {len(names)}: they must be the same")
    order = np.argsort(-inclusion, kind="stable")
    rows = order[: positive_integer("max_rows", max_rows)]
    shown = inclusion[rows]
    with canvas(ax, size=(4.8 if path is None else 6.2, 0.9 + 0.24 * len(rows))) as ax:
        draw_bars(ax, shown, filled=shown >= 0.5, texts=[probability_text(p) for p in shown])
        name_rows(ax, [names[j] for j in rows])
        ax.set_xlim(0.0, _END if path is None else _END / LEFT)
        prior = ModelPrior.of(model.prior_inclusion, len(names)).mean
        ax.axvline(prior, color=ALERT, linewidth=1.0, dashes=(4, 2.5), zorder=2, label=f"prior ({prior:.3g})")
        name_axis(ax.xaxis, "probability of being in the model")
        ax.set_xticks([0.0, 0.25, 0.5, 0.75, 1.0], ["0", "¼", "½", "¾", "1"])
        ax.spines["bottom"].set_bounds(0.0, 1.0)
        if len(rows) < len(order):
            remark(ax, _rest(inclusion[order[len(rows) :]]))
        if path is not None:
            ax.xaxis.label.set_x(0.5 * LEFT / _END)
            draw_entrances(ax, path, rows)
        key(ax)
        return ax


def _rest(others: Vector) -> str:
    return f"{len(others):,} more columns of at most {probability_text(others[0]).removeprefix('< ')}"


def entrances(path: LassoPath) -> NDArray[np.float64]:
    """The largest penalty with which each column has a weight, as a share of the path's largest; 0 if it never has.

    >>> entrances(LassoPath(np.array([2.0, 1.0]), np.array([[0.0, 0.3], [0.0, 0.0]]), np.zeros(2)))
    array([0.5, 0. ])
    """
    inside = path.coefs != 0
    first = np.argmax(inside, axis=1)
    return np.where(inside.any(axis=1), path.alphas[first] / path.alphas.max(), 0.0)


def draw_entrances(ax: Axes, path: LassoPath, rows: NDArray[np.intp]) -> None:
    """A panel at the right with a mark in each row where its column enters the lasso."""
    panel = ax.inset_axes((1.0 - _RIGHT, 0.0, _RIGHT, 1.0))
    tidy(panel)
    panel.spines["left"].set_visible(False)
    shares, height = entrances(path)[rows], np.arange(len(rows))
    last = float(path.alphas.min() / path.alphas.max())
    low = min(last, 0.5)
    # Those that don't enter stand a little before the end of the path.
    left = low**1.06
    panel.set_xscale("log")
    panel.set(xlim=(low**1.12, low**-0.04), ylim=ax.get_ylim(), yticks=[])
    panel.hlines(height, panel.get_xlim()[0], np.where(shares > 0, shares, left), color=RULE, linewidth=0.8, zorder=1)
    inside = shares > 0
    panel.plot(shares[inside], height[inside], "o", color=ACCENT, markersize=5, zorder=3)
    panel.plot(
        np.full((~inside).sum(), left), height[~inside], "o", color=MUTED, markerfacecolor="white", markersize=4.5,
        zorder=3, label=f"not by {100 * last:.2g} %",
    )  # fmt: skip
    if not inside.all():
        key(panel)
    name_log_axis(panel.xaxis, "enters the lasso at α / α max")
