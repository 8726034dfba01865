"""The posterior over subsets of the columns: inclusion probabilities, single coefficients, and all models by score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from credo.core.estimator import Description, describe, positive_integer
from credo.plots._bars import draw_bars, name_rows, remark
from credo.plots._data import Vector, index_of, limits, vector
from credo.plots.styling import ACCENT, ALERT, INK, canvas, legend, name_axis, name_log_axis, probability_text, shorten
from credo.sparse import SpikeSlabRegressor


def inclusions(
    model: Any,
    *,
    names: Sequence[str] | None = None,
    prior: float | None = None,
    max_rows: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """The inclusion probability of each column, the largest first, with the prior.

    Bars of at least one half are filled: the median probability model, except for copies.

    Parameters
    ----------
    model : fitted `credo.sparse.SpikeSlabRegressor` or `SpikeSlabClassifier`, or array of probabilities
    names : sequence of str, optional
        Names of the columns; by default those of the model.
    prior : float, optional
        The prior inclusion probability; by default that of the model.
    max_rows : int, default 20
        How many columns are drawn.
    ax : matplotlib Axes, optional

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
    if isinstance(model, BaseEstimator):
        found = subsets_of(model)
        names, prior = found.columns if names is None else names, found.subsets.prior.mean if prior is None else prior
        model = [value for _, value in found.inputs]
    inclusion = vector("the probabilities", model)
    titles = [f"x{i}" for i in range(len(inclusion))] if names is None else list(names)
    order = np.argsort(-inclusion, kind="stable")
    rows = order[: positive_integer("max_rows", max_rows)]
    shown = inclusion[rows]
    with canvas(ax, size=(4.8, 0.9 + 0.24 * len(rows))) as ax:
        draw_bars(ax, shown, filled=shown >= 0.5, texts=[probability_text(p) for p in shown])
        name_rows(ax, [titles[j] for j in rows])
        # With room for the values.
        ax.set_xlim(0.0, 1.14)
        if prior is not None:
            ax.axvline(prior, color=ALERT, linewidth=1.0, dashes=(4, 2.5), zorder=2, label=f"prior ({prior:.3g})")
        name_axis(ax.xaxis, "probability of being in the model")
        ax.set_xticks([0.0, 0.25, 0.5, 0.75, 1.0], ["0", "¼", "½", "¾", "1"])
        ax.spines["bottom"].set_bounds(0.0, 1.0)
        if len(rows) < len(order):
            largest = probability_text(inclusion[order[len(rows)]]).removeprefix("< ")
            remark(ax, f"{len(order) - len(rows):,} more columns of at most {largest}")
        if prior is not None:
            legend(ax)
        return ax


def subsets_of(model: Any) -> Description:
    """The description of a fitted model with a posterior over subsets of the columns."""
    check_is_fitted(model)
    found = describe(model)
    if found.subsets is None:
        kind = type(model).__name__
        raise TypeError(f"this figure needs a posterior over subsets, as SpikeSlabRegressor has it; a {kind} has none")
    return found


_N_DENSITY_POINTS = 241
# The probability of the slab beyond each end of the axis.
_TAIL_PROBABILITY = 0.002


def coefficient_density(model: Any, column: int | str, *, ax: Axes | None = None) -> Axes:
    """The posterior of a coefficient: the probability that it is zero as a bar, and its density otherwise.

    The density is scaled so that its peak is the inclusion probability: the higher of the two is more probable (as in
    the R package BAS).

    Parameters
    ----------
    model : fitted `credo.sparse.SpikeSlabRegressor` or `SpikeSlabClassifier`
    column : int or str
        Its index or name.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import numpy as np
    >>> from credo.plots import coefficient_density
    >>> from credo.sparse import SpikeSlabRegressor
    >>> from matplotlib.figure import Figure
    >>> X = np.random.default_rng(0).normal(size=(30, 3))
    >>> model = SpikeSlabRegressor().fit(X, X[:, 1] + np.cos(9 * X[:, 0]))
    >>> coefficient_density(model, "x1", ax=Figure().subplots()).get_xlabel()
    'coefficient of x1'
    """
    names = list(subsets_of(model).columns)
    place = index_of(column, names, "column")
    found = model.coefficient(place)
    low, high = -1.0, 1.0
    if found.slab is not None:
        ends = np.ravel(found.slab.quantile(np.array([_TAIL_PROBABILITY, 1.0 - _TAIL_PROBABILITY])))
        low, high = limits(np.append(ends, 0.0))
    with canvas(ax) as ax:
        if found.slab is not None and found.spike < 1:
            x = np.linspace(low, high, _N_DENSITY_POINTS)
            density = found.density(x)
            height = density * ((1.0 - found.spike) / density.max())
            ax.fill_between(x, 0.0, height, color=ACCENT, alpha=0.2, linewidth=0)
            ax.plot(x, height, color=ACCENT, linewidth=1.4, label="density if not zero")
        text = f"zero: {probability_text(found.spike)}"
        ax.bar(0.0, found.spike, width=0.02 * (high - low), color=ALERT, linewidth=0, zorder=3, label=text)
        ax.set(xlim=(low, high), ylim=(0.0, 1.05))
        legend(ax)
        name_axis(ax.xaxis, f"coefficient of {shorten(names[place])}")
        name_axis(ax.yaxis, "probability")
        return ax


# The share of the posterior that is shaded.
_SHADED_SHARE = 0.9


def model_scores(model: Any, *, ax: Axes | None = None) -> Axes:
    """The log posterior of every model, most probable first, with the best model of each size marked.

    The shaded models have nine tenths of the posterior. Numbers at the marks are sizes, if there is room. If not all
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
    subsets_of(model)
    scores, whole = _scores(model)
    ranks = np.arange(1, len(scores) + 1)
    shown = np.unique(np.geomspace(1, len(scores), 400).astype(np.intp)) - 1
    sizes, places, heights = _best_of_sizes(model, scores, whole=whole)
    with canvas(ax, size=(5.4, 3.4)) as ax:
        ax.set_xscale("log")
        ax.set(xlim=(0.85, 1.18 * len(scores)), ylim=_room(scores, heights))
        enough = int(np.searchsorted(np.cumsum(np.exp(scores)), _SHADED_SHARE)) + 1
        if enough <= len(scores):
            text = f"{100 * _SHADED_SHARE:g} % of the posterior: {enough:,} model{'s' * (enough > 1)}"
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


def _scores(model: Any) -> tuple[Vector, bool]:
    """ln p(γ | y), largest first, and whether all models are included."""
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
    if whole and isinstance(model, SpikeSlabRegressor):
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
    """Sizes above the marks if there is room, the most probable first."""
    marks = 72.0 / ax.figure.dpi * ax.transData.transform(np.column_stack([ranks, heights]))
    taken: list[Vector] = []
    for place in np.argsort(-heights, kind="stable"):
        # Numbers are at least 11 points apart.
        if all(np.abs(marks[place] - other).max() > 11.0 for other in taken):
            taken.append(marks[place])
            ax.annotate(
                str(sizes[place]), (ranks[place], heights[place]), xytext=(4, 2), textcoords="offset points",
                fontsize=8, color=INK, zorder=5,
            )  # fmt: skip


def _room(scores: Vector, heights: Vector) -> tuple[float, float]:
    low, high = min(scores[-1], heights.min()), scores[0]
    margin = 0.08 * (high - low) or 0.5
    return float(low - margin), float(high + 1.5 * margin)
