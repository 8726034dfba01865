"""Inclusion probabilities, and the posterior of single coefficients.

The posterior over subsets of the columns: all models by their scores, and the most probable of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from credo.core.estimator import positive_integer
from credo.plots._bars import draw_bars, name_rows, remark
from credo.plots._data import Vector, feature_names, index_of
from credo.plots._style import (
    ACCENT,
    ALERT,
    INK,
    MUTED,
    RULE,
    PlainTicks,
    RoomyTicks,
    canvas,
    legend,
    name_axis,
    name_log_axis,
    probability_text,
    shorten,
    tidy,
)
from credo.sparse import LassoPath, ModelPrior

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


# Points of the line.
_POINTS_ACROSS = 400
# The share of the posterior that is shaded.
_MOST = 0.9
# Possible offsets of a number from its mark, in points. The line falls, so there is room above right and below left.
_SIDES = ((4, 2), (-4, -3), (4, 11), (-4, -12))
# Half the width of a mark, and the size of a digit, in points.
_MARK, _DIGIT = 2.5, (5.2, 8.5)
# Heights of the bars and of a row of the table in inches, and the share of the height between them.
_BARS, _ROW, _GAP = 1.2, 0.22, 0.05


def model_scores(model: Any, *, ax: Axes | None = None) -> Axes:
    """The log posterior of every model, most probable first, with the best model of each size marked.

    The shaded models have nine tenths of the posterior. Numbers at the marks are sizes, where there is room. If not all
    models were visited, or there are more than 2²⁰, only the stored ones are drawn.

    Parameters
    ----------
    model : fitted model with a posterior over subsets
        `credo.sparse.SpikeSlabRegressor` or `SpikeSlabClassifier`.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import numpy as np
    >>> from credo.plots import model_scores
    >>> from credo.sparse import SpikeSlabRegressor
    >>> from matplotlib.figure import Figure
    >>> X = np.random.default_rng(0).normal(size=(30, 4))
    >>> ax = model_scores(SpikeSlabRegressor().fit(X, X[:, 1] + np.cos(9 * X[:, 0])), ax=Figure().subplots())
    >>> ax.get_xlabel()
    'all 16 models, most probable first'
    """
    posterior_of(model)
    scores, whole = _scores(model)
    ranks = np.arange(1, len(scores) + 1)
    shown = np.unique(np.geomspace(1, len(scores), _POINTS_ACROSS).astype(np.intp)) - 1
    sizes, places, heights = _best_of_sizes(model, scores, whole=whole)
    with canvas(ax, size=(5.4, 3.4)) as ax:
        ax.set_xscale("log")
        ax.set(xlim=(0.85, 1.18 * len(scores)), ylim=_room(scores, heights))
        enough = int(np.searchsorted(np.cumsum(np.exp(scores)), _MOST)) + 1
        if enough <= len(scores):
            text = f"{100 * _MOST:g} % of the posterior: {enough:,} model{'s' * (enough > 1)}"
            ax.axvspan(ax.get_xlim()[0], enough + 0.5, color=ACCENT, alpha=0.1, linewidth=0, label=text)
        marker = "." if len(scores) <= 64 else None
        ax.plot(ranks[shown], scores[shown], color=ACCENT, linewidth=1.8, marker=marker, markersize=4, zorder=2)
        ax.plot(
            places, heights, "o", color=INK, markersize=4.5, markeredgecolor="white", markeredgewidth=0.6, zorder=4,
            label="best of its size (the number)",
        )  # fmt: skip
        _number_sizes(ax, sizes, places, heights)
        legend(ax, columns=None)
        count = f"all {len(scores):,} models" if whole else f"the {len(scores):,} models kept"
        name_log_axis(ax.xaxis, f"{count}, most probable first")
        if not whole:
            remark(ax, f"together {100 * np.exp(scores).sum():.3g} % of the posterior")
        name_axis(ax.yaxis, "log posterior probability, ln p(γ | y)")
        return ax


def posterior_of(model: Any) -> Any:
    """The posterior over models of a fitted model."""
    feature_names(model)
    if not hasattr(model, "posterior_") or not hasattr(model, "inclusion_probabilities_"):
        raise TypeError(
            f"this figure is of a posterior over subsets, as SpikeSlabRegressor has it; a {type(model).__name__} has "
            "none"
        )
    return model.posterior_


def _scores(model: Any) -> tuple[Vector, bool]:
    """ln p(γ | y), largest first, and whether that is of all models."""
    posterior = model.posterior_
    try:
        scores = np.asarray(model.all_scores()) - posterior.log_mass
    except (AttributeError, ValueError):
        kept = np.log(posterior.probability[posterior.probability > 0])
        return kept, len(kept) == posterior.diagnostics.get("n_visited") and model.search_ == "enumerate"
    # Subsets of dependent columns aren't models.
    return scores[np.isfinite(scores)], True


def _best_of_sizes(model: Any, scores: Vector, *, whole: bool) -> tuple[list[int], Vector, Vector]:
    """Sizes, the rank of the best model of each, and its ln p(γ | y)."""
    posterior = model.posterior_
    if whole and hasattr(model, "log_scores"):
        subsets = posterior.best_by_size
        heights = model.log_scores(subsets) - posterior.log_mass
    else:
        first: dict[int, int] = {}
        for place, subset in enumerate(posterior.models[: len(scores)]):
            first.setdefault(len(subset), place)
        subsets = [posterior.models[place] for place in first.values()]
        heights = scores[list(first.values())]
    ranks = np.searchsorted(-scores, -heights - 1e-9 * np.abs(heights)).astype(np.float64) + 1.0
    return [len(subset) for subset in subsets], ranks, heights


def _number_sizes(ax: Axes, sizes: list[int], ranks: Vector, heights: Vector) -> None:
    """Sizes beside the marks, from the most probable on, where there is room."""
    points = 72.0 / ax.figure.dpi
    marks = points * ax.transData.transform(np.column_stack([ranks, heights]))
    left, bottom = points * ax.bbox.x0, points * ax.bbox.y0
    outside = [np.array([-np.inf, -np.inf, left, np.inf]), np.array([-np.inf, -np.inf, np.inf, bottom])]
    taken = outside + [np.concatenate([mark - _MARK, mark + _MARK]) for mark in marks]
    for place in np.argsort(-heights, kind="stable"):
        text = str(sizes[place])
        boxes = {side: _box(marks[place], side, text) for side in _SIDES}
        side = next((side for side, box in boxes.items() if not any(_overlap(box, other) for other in taken)), None)
        if side is None:
            continue
        taken.append(boxes[side])
        ax.annotate(
            text, (ranks[place], heights[place]), xytext=side, textcoords="offset points",
            ha="right" if side[0] < 0 else "left", va="top" if side[1] < 0 else "bottom",
            fontsize=8, color=INK, zorder=5,
        )  # fmt: skip


def _box(mark: Vector, side: tuple[int, int], text: str) -> Vector:
    """The box of a number beside a mark, in points: left, bottom, right, top."""
    size, away = np.array([_DIGIT[0] * len(text), _DIGIT[1]]), np.array(side)
    corner = mark + away - np.where(away < 0, size, 0.0)
    return np.concatenate([corner, corner + size])


def _overlap(box: Vector, other: Vector) -> bool:
    return bool((box[:2] < other[2:]).all() and (other[:2] < box[2:]).all())


def _room(scores: Vector, heights: Vector) -> tuple[float, float]:
    low, high = min(scores[-1], heights.min()), scores[0]
    margin = 0.08 * (high - low) or 0.5
    return float(low - margin), float(high + 1.5 * margin)


def top_models(model: Any, *, n: int = 12, max_rows: int = 20, ax: Axes | None = None) -> Axes:
    """The posterior probabilities of the most probable models, and below each bar the columns of the model.

    Columns are ordered by their inclusion probabilities. A row that is filled throughout is a column that all probable
    models have; two rows that alternate are columns that replace each other.

    Parameters
    ----------
    model : fitted model with a posterior over subsets
        `credo.sparse.SpikeSlabRegressor` or `SpikeSlabClassifier`.
    n : int, default 12
        How many models.
    max_rows : int, default 20
        How many columns, the most probable of those in the models.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
        Of the table of columns; the bars are its ``child_axes[0]``.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.plots import top_models
    >>> from credo.sparse import SpikeSlabRegressor
    >>> from matplotlib.figure import Figure
    >>> X = np.random.default_rng(0).normal(size=(30, 3))
    >>> ax = top_models(SpikeSlabRegressor().fit(X, X[:, 1] + np.cos(9 * X[:, 0])), n=4, ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['x1', 'x2', 'x0']
    """
    posterior, names = posterior_of(model), feature_names(model)
    models = posterior.models[: positive_integer("n", n)]
    share = posterior.probability[: len(models)]
    seen = sorted({j for subset in models for j in subset}, key=lambda j: (-posterior.inclusion[j], j))
    rows = seen[: positive_integer("max_rows", max_rows)] or [int(np.argmax(posterior.inclusion))]
    held = np.array([[j in subset for subset in models] for j in rows])
    with canvas(ax, size=(max(3.6, 1.6 + 0.32 * len(models)), 0.7 + _BARS + _ROW * len(rows))) as ax:
        _table(ax, held)
        name_rows(ax, [names[j] for j in rows])
        part = min(max(_BARS / (_BARS + _ROW * len(rows)), 0.25), 0.6)
        ax.set_ylim(len(rows) - 0.4, len(rows) - 0.4 - len(rows) / (1.0 - _GAP - part))
        _bars(ax, share, part)
        listed = f"the top {len(models)} models" if len(models) > 1 else "the top model"
        ax.set_xlabel(f"{listed} ({100 * share.sum():.3g} % of the posterior)")
        if len(rows) < len(names):
            remark(ax, _left_out(len(names) - len(rows), len(seen) - len(rows)))
        return ax


def _left_out(others: int, used: int) -> str:
    more = f"{others:,} more column{'s' * (others > 1)}"
    return f"{more}, {used:,} of which one of them has" if used else f"{more} that none of them has"


def _table(ax: Axes, held: NDArray[np.bool_]) -> None:
    """A square for each column that a model has, a point for the others."""
    rows, places = np.nonzero(held)
    ax.bar(places, 0.76, bottom=rows - 0.38, width=0.76, color=ACCENT, alpha=0.75, linewidth=0)
    rows, places = np.nonzero(~held)
    ax.plot(places, rows, ".", color=RULE, markersize=2.5)
    n_models = held.shape[1]
    ax.set_xlim(-0.6, n_models - 0.4)
    ax.set_xticks(np.arange(n_models), [str(k + 1) for k in range(n_models)])
    ax.tick_params(axis="x", length=0)
    ax.spines[["left", "bottom"]].set_visible(False)


def _bars(ax: Axes, share: Vector, part: float) -> None:
    """The probabilities above the table."""
    panel = ax.inset_axes((0.0, 1.0 - part, 1.0, part))
    tidy(panel)
    panel.bar(np.arange(len(share)), share, width=0.76, color=ACCENT, alpha=0.75, linewidth=0)
    panel.set(xlim=ax.get_xlim(), ylim=(0.0, 1.08 * float(share.max())))
    panel.tick_params(labelbottom=False, bottom=False)
    panel.yaxis.set_major_locator(MaxNLocator(nbins=3, steps=[1, 2, 5, 10]))
    panel.yaxis.set_major_formatter(PlainTicks())
    panel.set_ylabel("probability")
