"""Values by name: bars, and coefficients with intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from credo.estimator import positive_integer
from credo.plots._data import Vector, vector
from credo.plots._labels import name_axis, shorten
from credo.plots._style import ACCENT, MUTED, RULE, canvas

# A bar below this share of the largest is hollow.
FAINT = 0.1


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
        raise ValueError("bars need at least one value, all of them finite: leave out what is not known")
    order = np.argsort(-lengths, kind="stable")
    rows = order[: positive_integer("max_rows", max_rows)]
    shown = lengths[rows]
    with canvas(ax, size=(4.6, 0.8 + 0.24 * len(rows))) as ax:
        draw_bars(ax, shown, filled=np.abs(shown) > FAINT * np.abs(lengths).max())
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
    """Two digits, also where the second is a zero; a whole number stays whole.

    >>> _digits(0.2), _digits(-12.3), _digits(3.0), _digits(1234.5)
    ('0.20', '−12', '3', '1234')
    """
    is_short = abs(value) < 99.5 and not float(value).is_integer()
    text = f"{value:#.2g}".rstrip(".") if is_short else f"{value:.0f}"
    return text.replace("-", "−")


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    """A name at each row, the first at the top."""
    ax.set_yticks(np.arange(len(names)))
    ax.set_yticklabels([shorten(name, width=28) for name in names], parse_math=False)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(names) - 0.4, -0.6)


def remark(ax: Axes, text: str) -> None:
    """A second line below the label of the horizontal axis, for what the figure leaves out."""
    ax.set_xlabel(f"{ax.get_xlabel()}\n{text}", parse_math=False, linespacing=1.5)


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

    The ratio doesn't depend on the units of a column, as the estimate itself does.
    """
    estimate, width = np.asarray(estimate), np.asarray(upper) - np.asarray(lower)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.abs(estimate) / width
    # An interval of width zero around zero is a coefficient that is certainly zero.
    ratio = np.where((width == 0) & (estimate == 0), 0.0, ratio)
    usable = np.isfinite(estimate) & np.isfinite(width)
    order = np.argsort(-np.where(usable, ratio, -1.0), kind="stable")
    return order[: int(usable.sum())]
