"""Which inputs matter to a process with a length scale for each (automatic relevance determination)."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from credo.estimator import positive_integer
from credo.plots._fitted import columns
from credo.plots._labels import name_axis, name_log_axis, shorten
from credo.plots._style import ACCENT, INK, MUTED, canvas

# Of the largest relevance: an input below this share is drawn as one that hardly matters.
_FAINT = 0.1
# Points between the baselines of two labels.
_LINE = 11.0
_MEANING = "relevance (standard deviation / length scale)"


def relevances(model: Any, *, max_rows: int = 20, ax: Axes | None = None) -> Axes:
    """How much each input moves the function: its standard deviation over its length scale, the largest first.

    An input whose bar is a tenth of the longest or less is drawn hollow: along it the function hardly bends.

    Parameters
    ----------
    model : fitted model with `relevance_`
        Such as `credo.GPRegressor` with a length scale for each column.
    max_rows : int, default 20
        How many are drawn.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from credo import GPRegressor
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> ax = relevances(GPRegressor().fit(X, np.sin(2 * X[:, 1])), ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['x1', 'x0']
    """
    names = columns(model)
    values = _relevance(model, "relevance_", len(names))
    rows = np.argsort(-values, kind="stable")[: positive_integer("max_rows", max_rows)]
    values = values[rows]
    strong = values > _FAINT * values[0]
    with canvas(ax, size=(4.6, 0.8 + 0.24 * len(rows))) as ax:
        bars = ax.barh(np.arange(len(rows)), values, height=0.62, color=ACCENT, alpha=0.75, linewidth=0)
        for bar, is_strong in zip(bars, strong, strict=True):
            if not is_strong:
                bar.set(facecolor="white", edgecolor=MUTED, linewidth=0.8, alpha=1.0)
        texts = [f"{value:.2g}" if value < 100 else f"{value:.0f}" for value in values]
        ax.bar_label(bars, texts, padding=3, color=MUTED, fontsize=7.5)
        ax.set_yticks(np.arange(len(rows)))
        ax.set_yticklabels([shorten(names[i], width=28) for i in rows], parse_math=False)
        ax.tick_params(axis="y", length=0)
        ax.set(ylim=(len(rows) - 0.4, -0.6), xlim=(0.0, 1.12 * values[0] or 1.0))
        name_axis(ax.xaxis, _MEANING)
        return ax


def relevance_trace(model: Any, *, max_labels: int = 10, ax: Axes | None = None) -> Axes:
    """Each input's relevance after every step of the search for the maximum of the evidence, on a log axis.

    The lines of inputs that end at a tenth of the largest relevance or less are drawn faint (after Bishop 2006,
    figure 6.10).

    Parameters
    ----------
    model : fitted model with `relevance_trace_`, of shape (n_steps, n_features)
    max_labels : int, default 10
        How many lines are labelled at their right ends: those that end highest.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    names = columns(model)
    trace = _relevance(model, "relevance_trace_", len(names))
    if not (trace > 0).all():
        raise ValueError("relevance_trace_ must be positive to be drawn on a log axis")
    steps, last = np.arange(len(trace)), trace[-1]
    order = np.argsort(-last, kind="stable")
    with canvas(ax, size=(5.2, 3.2)) as ax:
        for column in order[::-1]:
            strong = last[column] > _FAINT * last.max()
            ax.plot(
                steps, trace[:, column], color=ACCENT if strong else MUTED, linewidth=1.6 if strong else 1.0,
                alpha=1.0 if strong else 0.7, marker="o" if len(trace) == 1 else None, markersize=3.5,
            )  # fmt: skip
        ax.set_yscale("log")
        low, high = np.log10(trace.min()), np.log10(trace.max())
        margin = 0.06 * (high - low) or 0.5
        ax.set(xlim=(0, max(len(trace) - 1, 1)), ylim=(10 ** (low - margin), 10 ** (high + margin)))
        _label_ends(ax, order[: positive_integer("max_labels", max_labels)], names, last)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        name_axis(ax.xaxis, "step of the search")
        name_log_axis(ax.yaxis, _MEANING)
        return ax


def _relevance(model: Any, attribute: str, n_features: int) -> NDArray[np.float64]:
    """A fitted attribute with a value for each column, or why there is none."""
    try:
        values = np.asarray(getattr(model, attribute), dtype=np.float64)
    except AttributeError as error:
        raise ValueError(
            f"this {type(model).__name__} has no {attribute}: relevances need a kernel with one length scale for each "
            f"column, as in RBF(np.ones({n_features})), and a search for them ({error})"
        ) from None
    if values.shape[-1:] != (n_features,) or not values.size or not np.isfinite(values).all():
        raise ValueError(
            f"{attribute} must hold a finite value for each of the {n_features} columns; got shape {values.shape}"
        )
    return values


def _label_ends(ax: Axes, order: NDArray[np.intp], names: list[str], last: NDArray[np.float64]) -> None:
    """Names at the right ends of the lines, pushed apart where they would overlap."""
    bottom, top = np.log10(ax.get_ylim())
    ends = (np.log10(last[order]) - bottom) / (top - bottom)
    height = _LINE / 72.0 * ax.figure.dpi / ax.bbox.height
    for column, end, place in zip(order, ends, spread(ends, height), strict=True):
        strong = last[column] > _FAINT * last.max()
        ax.annotate(
            shorten(names[column], width=20), (1.0, end), xytext=(1.035, place), xycoords="axes fraction",
            textcoords="axes fraction", va="center", ha="left", color=INK if strong else MUTED, parse_math=False,
            arrowprops={"arrowstyle": "-", "color": MUTED, "linewidth": 0.5, "shrinkA": 1, "shrinkB": 1},
        )  # fmt: skip


def spread(places: NDArray[np.float64], gap: float) -> NDArray[np.float64]:
    """Places in descending order moved as little as needed to lie at least a gap apart.

    Pools of touching labels are centred on the mean of where they want to be, as isotonic regression does.

    >>> spread(np.array([0.9, 0.5, 0.5]), 0.1).round(2)
    array([0.9 , 0.55, 0.45])
    """
    pools: list[tuple[float, int]] = []
    # With i·gap added to each, "a gap apart" becomes "descending".
    for i, place in enumerate(places):
        mean, size = float(place) + i * gap, 1
        while pools and pools[-1][0] < mean:
            other, count = pools.pop()
            mean, size = (other * count + mean * size) / (count + size), count + size
        pools.append((mean, size))
    return np.repeat([mean for mean, _ in pools], [size for _, size in pools]) - gap * np.arange(len(places))
