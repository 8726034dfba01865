"""Inclusion probabilities, and the posterior of single coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from credo.estimator import positive_integer
from credo.penalized import LassoPath
from credo.plots._bars import draw_bars, name_rows, remark
from credo.plots._data import feature_names, index_of
from credo.plots._labels import RoomyTicks, name_axis, name_log_axis, probability_text, shorten
from credo.plots._models import posterior_of
from credo.plots._style import ACCENT, ALERT, MUTED, RULE, canvas, legend, tidy
from credo.subsets import ModelPrior

# The shares of the width for the bars and for the panel of a path.
LEFT, _RIGHT = 0.52, 0.42
# The right end of the bars' scale, with room for the values.
_END = 1.14


def inclusions(model: Any, *, path: LassoPath | None = None, max_rows: int = 20, ax: Axes | None = None) -> Axes:
    """The inclusion probability of each column, the largest first, with the prior.

    Bars from one half on are filled: the median probability model, except for copies. With a lasso path, dots show the
    share of the largest penalty at which each column enters; hollow ones don't enter down to the last penalty.

    Parameters
    ----------
    model : fitted model with `inclusion_probabilities_`
        `credo.sparse.SpikeSlabRegressor` or `SpikeSlabClassifier`.
    path : LassoPath, optional
        Of the same columns on one scale, from `credo.sparse.lasso_path`.
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
    >>> from credo.plots import inclusions
    >>> from credo.sparse import SpikeSlabRegressor
    >>> from matplotlib.figure import Figure
    >>> X = np.random.default_rng(0).normal(size=(30, 3))
    >>> ax = inclusions(SpikeSlabRegressor().fit(X, X[:, 1] + np.cos(9 * X[:, 0])), ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['x1', 'x2', 'x0']
    """
    posterior_of(model)
    names = feature_names(model)
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
            largest = probability_text(inclusion[order[len(rows)]]).removeprefix("< ")
            remark(ax, f"{len(order) - len(rows):,} more columns of at most {largest}")
        if path is not None:
            ax.xaxis.label.set_x(0.5 * LEFT / _END)
            draw_entrances(ax, path, rows)
        legend(ax)
        return ax


def entrances(path: LassoPath) -> NDArray[np.float64]:
    """The largest penalty with a non-zero coefficient, as a share of the path's largest; 0 if there is none.

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
    # Columns that don't enter are drawn a little beyond the end of the path.
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
        legend(panel)
    name_log_axis(panel.xaxis, "enters the lasso at α / α max")


_POINTS = 241
# The probability of the slab beyond each end of a panel.
_TAIL = 0.002
# The space between panels, as a share of their width and height.
_ACROSS, _DOWN = 0.16, 0.62
# Points above the first row for its names, and the size of the tick labels.
_HEAD, _TICKS = 14.0, 7.5


def coefficient_density(
    model: Any, columns: int | str | Sequence[int | str] | None = None, *, max_panels: int = 12, ax: Axes | None = None
) -> NDArray[np.object_]:
    """A panel for each coefficient: the probability that it is zero as a bar, and its density otherwise.

    The density is scaled so that its peak is the inclusion probability: the higher of the two is the likelier (as in
    the R package BAS).

    Parameters
    ----------
    model : fitted model with `coefficient(column)`
        `credo.sparse.SpikeSlabRegressor` or `SpikeSlabClassifier`.
    columns : int, str, or a sequence of them, optional
        By default the most probable, in the order of the table.
    max_panels : int, default 12
        How many by default.
    ax : matplotlib Axes, optional
        Replaced by the panels.

    Returns
    -------
    array of matplotlib Axes, one a column

    Examples
    --------
    >>> import numpy as np
    >>> from credo.plots import coefficient_density
    >>> from credo.sparse import SpikeSlabRegressor
    >>> from matplotlib.figure import Figure
    >>> X = np.random.default_rng(0).normal(size=(30, 3))
    >>> model = SpikeSlabRegressor().fit(X, X[:, 1] + np.cos(9 * X[:, 0]))
    >>> panels = coefficient_density(model, ["x1", "x2"], ax=Figure().subplots())
    >>> [panel.get_title(loc="left") for panel in panels]
    ['x1', 'x2']
    """
    posterior_of(model)
    names = feature_names(model)
    if columns is None:
        likely = np.argsort(-np.asarray(model.inclusion_probabilities_), kind="stable")
        places = sorted(likely[: positive_integer("max_panels", max_panels)].tolist())
    else:
        chosen = [columns] if isinstance(columns, int | str) else columns
        places = [index_of(each, names, "column") for each in chosen]
    if not places:
        raise ValueError("there is nothing to draw: columns is empty")
    across = min(len(places), 4 if len(places) > 6 else 3)
    down = -(-len(places) // across)
    with canvas(ax, size=(0.5 + 1.75 * across, 0.5 + 1.35 * down)) as ax:
        panels = panel_grid(ax, len(places), across, down)
        for k, (panel, place) in enumerate(zip(panels, places, strict=True)):
            _draw(panel, model.coefficient(place), shorten(names[place], width=16))
            panel.tick_params(labelleft=k % across == 0)
        ax.set_ylabel("probability", labelpad=22)
        ax.set_xlabel("coefficient (bar: the probability of zero; curve: else)", labelpad=16)
        if columns is None and len(places) < len(names):
            remark(ax, f"the {len(places)} most probable of {len(names):,} columns")
        return panels


def panel_grid(ax: Axes, n: int, across: int, down: int) -> NDArray[np.object_]:
    """Axes in rows from the top left, inside an axes of which only the labels remain."""
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.set(xticks=[], yticks=[])
    top = 1.0 - min(_HEAD / 72.0 * ax.figure.dpi / ax.bbox.height, 0.2)
    width, height = 1.0 / (across + (across - 1) * _ACROSS), top / (down + (down - 1) * _DOWN)
    panels = np.empty(n, dtype=object)
    for k in range(n):
        row, column = divmod(k, across)
        corner = column * width * (1 + _ACROSS), top - height - row * height * (1 + _DOWN)
        panels[k] = ax.inset_axes((*corner, width, height))
    return panels


def _draw(panel: Axes, coefficient: Any, name: str) -> None:
    tidy(panel)
    low, high = _reach(coefficient)
    inside = 1.0 - coefficient.spike
    if coefficient.slab is not None and inside > 0:
        x = np.linspace(low, high, _POINTS)
        density = coefficient.density(x)
        height = density * (inside / density.max())
        panel.fill_between(x, 0.0, height, color=ACCENT, alpha=0.2, linewidth=0)
        panel.plot(x, height, color=ACCENT, linewidth=1.4)
    panel.bar(0.0, coefficient.spike, width=0.035 * (high - low), color=ALERT, linewidth=0, zorder=3)
    panel.set(xlim=(low, high), ylim=(0.0, 1.05), yticks=[0.0, 0.5, 1.0])
    name_axis(panel.xaxis, "")
    panel.tick_params(axis="x", labelsize=_TICKS)
    panel.xaxis.set_major_locator(RoomyTicks(size=_TICKS, beyond=_ACROSS / 2))
    panel.set_title(name, loc="left", fontsize=8.5, pad=4, parse_math=False)
    panel.set_title(probability_text(coefficient.spike), loc="right", fontsize=7.5, pad=4, color=ALERT)


def _reach(coefficient: Any) -> tuple[float, float]:
    """The range of the slab and zero."""
    if coefficient.slab is None:
        return -1.0, 1.0
    ends = np.ravel(coefficient.slab.quantile(np.array([_TAIL, 1.0 - _TAIL])))
    low, high = min(float(ends[0]), 0.0), max(float(ends[1]), 0.0)
    margin = 0.06 * (high - low) or 1.0
    return low - margin, high + margin
