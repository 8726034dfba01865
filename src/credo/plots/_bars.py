"""Values by name: bars, which inputs matter, the steps to a prediction, and coefficients with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from credo.core.estimator import describe, positive_integer
from credo.plots._data import Vector, vector
from credo.plots.styling import (
    ACCENT,
    ALERT,
    INK,
    MUTED,
    RULE,
    canvas,
    distinct,
    name_axis,
    shorten,
)

# A bar below this share of the largest is hollow.
HOLLOW_SHARE = 0.1


def bars(
    names: Sequence[str], values: ArrayLike, *, label: str = "value", max_rows: int = 20, ax: Axes | None = None
) -> Axes:
    """Values by name, the largest first; hollow if a value is a tenth of the largest or less.

    Parameters
    ----------
    names : sequence of str
    values : array of shape (len(names),)
        Finite. Negative values come last.
    label : str, default "value"
        What the horizontal axis measures.
    max_rows : int, default 20
        How many are drawn; if there are more, the figure says so.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> from credo.plots import bars
    >>> from matplotlib.figure import Figure
    >>> ax = bars(["wind", "rain", "snow"], [0.2, 3.0, 1.0], label="change in yield", ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['rain', 'snow', 'wind']
    """
    lengths = vector("values", values, length=len(names))
    if not len(lengths) or not np.isfinite(lengths).all():
        raise ValueError("bars need at least one value, and all must be finite: leave out unknown ones")
    order = np.argsort(-lengths, kind="stable")
    rows = order[: positive_integer("max_rows", max_rows)]
    shown = lengths[rows]
    with canvas(ax, size=(4.6, 0.8 + 0.24 * len(rows))) as ax:
        draw_bars(ax, shown, filled=np.abs(shown) > HOLLOW_SHARE * np.abs(lengths).max())
        name_rows(ax, [names[i] for i in rows])
        low, high = min(0.0, float(shown.min())), max(0.0, float(shown.max()))
        room = 0.12 * (high - low) or 1.0
        ax.set_xlim(low - room * (low < 0), high + room * (high > 0 or low == 0))
        if low < 0:
            ax.axvline(0.0, color=MUTED, linewidth=0.8, zorder=1)
        name_axis(ax.xaxis, label)
        if len(rows) < len(order):
            remark(ax, f"the {len(rows)} largest of {len(order):,}")
        return ax


def draw_bars(ax: Axes, values: Vector, *, filled: NDArray[np.bool_], texts: Sequence[str] | None = None) -> None:
    """Bars from the top down with their values beside them."""
    drawn = ax.barh(np.arange(len(values)), values, height=0.62, color=ACCENT, alpha=0.75, linewidth=0)
    for bar, is_filled in zip(drawn, filled, strict=True):
        if not is_filled:
            bar.set(facecolor="white", edgecolor=MUTED, linewidth=0.8, alpha=1.0)
    if texts is None:
        texts = [_digits(value) for value in values]
    paper = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
    ax.bar_label(drawn, texts, padding=3, color=MUTED, fontsize=7.5, bbox=paper)


def _digits(value: float) -> str:
    """Two digits, even if the second is a zero; whole numbers have no decimals."""
    is_short = abs(value) < 99.5 and not float(value).is_integer()
    text = f"{value:#.2g}".rstrip(".") if is_short else f"{value:.0f}"
    return text.replace("-", "−")


def name_rows(ax: Axes, names: Sequence[str], *, width: int = 28) -> None:
    """A name at each row, the first at the top."""
    ax.set_yticks(np.arange(len(names)))
    ax.set_yticklabels(distinct(names, width=width), parse_math=False)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(names) - 0.4, -0.6)


def remark(ax: Axes, text: str) -> None:
    """A second line below the label of the horizontal axis, about what isn't shown."""
    ax.set_xlabel(f"{ax.get_xlabel()}\n{text}", parse_math=False, linespacing=1.5)


def waterfall(
    names: Sequence[str],
    contributions: ArrayLike,
    *,
    base: float,
    errors: ArrayLike | None = None,
    values: Sequence[Any] | None = None,
    label: str = "prediction",
    max_rows: int = 12,
    ax: Axes | None = None,
) -> Axes:
    """The steps from the average prediction to one prediction: what each input adds, the largest first.

    Parameters
    ----------
    names : sequence of str
    contributions : array of shape (len(names),)
        As `credo.metrics.shapley` gives them for a row.
    base : float
        The average prediction, from which the steps start.
    errors : array of shape (len(names),), optional
        The standard errors of the contributions, shown unless they are below the last digit.
    values : sequence of len(names) numbers or texts, optional
        The values of the inputs in this row, None if missing.
    label : str, default "prediction"
        What the horizontal axis measures.
    max_rows : int, default 12
        How many steps are drawn; if there are more, the smallest ones are one step.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> from credo.plots import waterfall
    >>> from matplotlib.figure import Figure
    >>> ax = waterfall(["dose", "age"], [-1.0, 4.0], base=10.0, values=[0.5, 71], ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['average', 'age = 71', 'dose = 0.5', 'prediction']
    >>> [text.get_text() for text in ax.texts]
    ['10.00', '+4.00', '−1.00', '13.00']
    """
    steps = vector("contributions", contributions, length=len(names))
    error = np.zeros(len(steps)) if errors is None else vector("errors", errors, length=len(names))
    if not len(steps) or not np.isfinite([base, *steps, *error]).all():
        raise ValueError("a waterfall needs at least one contribution, and all numbers finite")
    titles = distinct(names, width=24)
    if values is not None:
        titles = [f"{title} = {_value(value)}" for title, value in zip(titles, values, strict=True)]
    order = np.argsort(-np.abs(steps), kind="stable")
    if len(order) > positive_integer("max_rows", max_rows):
        order, rest = np.split(order, [max_rows - 1])
        steps, titles = np.append(steps[order], steps[rest].sum()), [titles[i] for i in order]
        # The errors of the rest aren't independent: this is the largest that their sum may have.
        error, titles = np.append(error[order], error[rest].sum()), [*titles, f"{len(rest):,} other inputs"]
    else:
        steps, error, titles = steps[order], error[order], [titles[i] for i in order]
    levels = base + np.concatenate([[0.0], np.cumsum(steps)])
    largest = float(np.abs(steps).max())
    decimals = 2 - math.floor(math.log10(largest)) if largest > 0 else 2
    form = f".{max(0, decimals)}f" if decimals < 7 and np.abs(levels).max() < 1e6 else ".4g"
    texts = [f"{step:+{form}}" for step in steps]
    texts = [
        f"{text} ± {size:{form}}" if float(f"{size:{form}}") else text for text, size in zip(texts, error, strict=True)
    ]
    texts = [text.replace("-", "−") for text in (f"{base:{form}}", *texts, f"{levels[-1]:{form}}")]
    place = np.arange(1, len(steps) + 1)
    with canvas(ax, size=(6.0, 1.0 + 0.26 * len(texts))) as ax:
        above = np.arange(len(levels)) + 0.31
        ax.vlines(levels, above, above + 0.38, color=MUTED, linewidth=0.6)
        ax.barh(place, steps, left=levels[:-1], height=0.62, color=np.where(steps < 0, ALERT, ACCENT), linewidth=0)
        ax.plot(levels[[0, -1]], [0, len(steps) + 1], "o", color=INK, markersize=4.5, zorder=3)
        for i, text in enumerate(texts):
            right = max(levels[max(i - 1, 0)], levels[min(i, len(levels) - 1)])
            ax.annotate(
                text, (right, i), xytext=(4, 0), textcoords="offset points", va="center", color=INK, fontsize=7.5,
                parse_math=False,
            )  # fmt: skip
        name_rows(ax, ["average", *titles, "prediction"], width=60)
        low, high = float(levels.min()), float(levels.max())
        span = (high - low) or abs(high) or 1.0
        # In points: about 4.8 for a character; the names leave about half of the width to the axes.
        room = min(0.6, (8 + 4.8 * max(map(len, texts))) / (0.5 * ax.get_window_extent().width * 72 / ax.figure.dpi))
        ax.set_xlim(low - 0.04 * span, high + span * room / (1 - room))
        name_axis(ax.xaxis, label)
        return ax


def _value(value: Any) -> str:
    if value is None:
        return "(missing)"
    return f"{value:.4g}" if isinstance(value, float) else shorten(value, width=20)


def coefficients(
    names: Sequence[str],
    estimates: ArrayLike,
    *,
    lower: ArrayLike,
    upper: ArrayLike,
    label: str = "coefficient",
    max_rows: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Estimates with their intervals, the clearest first; filled if the interval excludes zero.

    An estimate with an infinite interval comes last, without a mark, as "not determined".

    Parameters
    ----------
    names : sequence of str
    estimates, lower, upper : arrays of shape (n_features,)
    label : str, default "coefficient"
        What the horizontal axis measures.
    max_rows : int, default 20
        How many are drawn: those with the largest estimate relative to the width of the interval.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> from credo.plots import coefficients
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> ax = coefficients(["weak", "strong"], [0.1, 2.0], lower=[-0.9, 1.0], upper=[1.1, 3.0], ax=ax)
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['strong', 'weak']
    """
    estimate = vector("estimates", estimates)
    low = vector("lower", lower, length=len(estimate))
    high = vector("upper", upper, length=len(estimate))
    if len(names) != len(estimate):
        raise ValueError(f"there are {len(names)} names for {len(estimate)} estimates")
    known = _clearest(estimate, low, high)[:max_rows]
    if not len(known):
        raise ValueError("there is nothing to draw: no coefficient has a finite estimate and interval")
    loose = np.flatnonzero(np.isfinite(estimate) & np.isinf(high - low))[: max_rows - len(known)]
    rows = np.concatenate([known, loose])
    estimate, low, high = estimate[known], low[known], high[known]
    sure = (low > 0) | (high < 0)
    height = np.arange(len(known), dtype=np.float64)
    with canvas(ax, size=(4.6, 0.8 + 0.22 * len(rows))) as ax:
        ax.axvline(0.0, color=MUTED, linewidth=0.8, zorder=1)
        ax.hlines(height, low, high, color=np.where(sure, ACCENT, MUTED), linewidth=1.4, zorder=2)
        ax.plot(estimate[sure], height[sure], "o", color=ACCENT, markersize=5, zorder=3)
        ax.plot(estimate[~sure], height[~sure], "o", color=MUTED, markerfacecolor="white", markersize=4.5, zorder=3)
        for place in range(len(known), len(rows)):
            ax.annotate(
                "not determined", (0.0, place), xytext=(4, 0), textcoords="offset points", va="center",
                color=MUTED, fontstyle="italic", fontsize="small",
            )  # fmt: skip
        name_rows(ax, [names[i] for i in rows])
        ax.spines["left"].set_visible(False)
        ax.grid(axis="y", color=RULE, linewidth=0.4, alpha=0.7)
        ax.set_axisbelow(True)
        name_axis(ax.xaxis, label)
        return ax


def _clearest(estimate: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> np.ndarray:
    """Indices of the finite coefficients by |estimate| / width of the interval, largest first.

    Unlike the estimate, the ratio doesn't depend on the units of a column.
    """
    estimate, width = np.asarray(estimate), np.asarray(upper) - np.asarray(lower)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.abs(estimate) / width
    # An interval of width zero around zero is a coefficient that is certainly zero.
    ratio = np.where((width == 0) & (estimate == 0), 0.0, ratio)
    usable = np.isfinite(estimate) & np.isfinite(width)
    order = np.argsort(-np.where(usable, ratio, -1.0), kind="stable")
    return order[: int(usable.sum())]


def importances(model: Any, *, max_rows: int = 20, ax: Axes | None = None) -> Axes:
    """How much each input matters by the model's own measure, the largest first.

    The nonlinearity of a Gaussian process (standard deviation over length scale), the share of the improvement of
    trees, the inclusion probabilities of spike and slab. Bars of a tenth of the longest or less are hollow.

    Parameters
    ----------
    model : fitted model whose `describe()` has `inputs`
    max_rows : int, default 20
        How many are drawn.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import numpy as np
    >>> from credo import GPRegressor
    >>> from credo.plots import importances
    >>> from matplotlib.figure import Figure
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> ax = importances(GPRegressor().fit(X, np.sin(2 * X[:, 1])), ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['x1', 'x0']
    """
    check_is_fitted(model)
    found = describe(model)
    if not found.inputs:
        raise ValueError(
            f"this {type(model).__name__} has no measure of how much each input matters; a Gaussian process has one "
            "with a length scale for each column, as in RBF([1.0, 1.0])"
        )
    names, values = zip(*found.inputs, strict=True)
    return bars(names, values, label=found.measure, max_rows=max_rows, ax=ax)
