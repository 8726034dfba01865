"""The terms of an additive model, each in a panel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from numpy.typing import NDArray

from credo.core.estimator import describe, positive_integer
from credo.core.wording import whole_percent
from credo.plots.class_rows import color, dash, draw_bands, draw_levels, level_ticks
from credo.plots.styling import ACCENT, ALERT, INK, MUTED, canvas, name_axis, panels, shorten, tidy

# Inches of a panel, between panels, and of a title with the label of the axis above it.
_WIDTH, _HEIGHT, _GAP, _LINES = 1.8, 1.35, 0.6, 0.72
_MOST_COLUMNS = 3
# More lines or dots aren't named.
_MOST_LEGEND = 5
_SIGNED = LinearSegmentedColormap.from_list("signed", [ACCENT, "#ffffff", ALERT])


def terms(
    model: Any, *, level: float = 0.95, name: str = "y", max_terms: int = 20, ax: Axes | None = None
) -> NDArray[np.object_]:
    """The terms of an additive model, a panel for each, in the order of their share of the explained variance.

    A curve has its interval at each point and, lighter, the band that contains the whole curve with the same
    probability; marks on the axis are the quantiles 0, 5 %, …, 100 % of the training rows. Levels are dots with their
    intervals, those of a random effect in the order of their size. A pair of numbers is a surface. Terms that the
    evidence is against are gray. All effects but surfaces share one axis; they are zero on average over the training
    rows, in units of `y` or of the link.

    Parameters
    ----------
    model : fitted AdditiveRegressor or AdditiveClassifier, or a model of tables that has one
    level : float, default 0.95
    name : str, default "y"
        Name of what is predicted.
    max_terms : int, default 20
        The terms with the largest shares are shown.
    ax : matplotlib Axes, optional
        The axes that all panels share.

    Returns
    -------
    array of matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from credo import AdditiveRegressor
    >>> from credo.plots import terms
    >>> from matplotlib.figure import Figure
    >>> X = np.random.default_rng(0).uniform(size=(80, 2))
    >>> model = AdditiveRegressor(family="gaussian").fit(X, np.sin(6 * X[:, 0]) + 0.01 * X[:, 1])
    >>> panels = terms(model, ax=Figure().subplots())
    >>> panels[0].get_title(loc="left")
    '99.9 %: x0'
    """
    found = describe(model)
    if not found.terms:
        raise TypeError(
            f"terms draws a fitted additive model, such as AdditiveRegressor; a {type(model).__name__} has no terms"
        )
    groups = panels_of(found.terms)[: positive_integer("max_terms", max_terms)]
    columns = min(_MOST_COLUMNS, len(groups))
    rows = -(-len(groups) // columns)
    width, height = columns * (_WIDTH + _GAP) - _GAP, rows * (_HEIGHT + _LINES) - _LINES
    scale, units = common_limits(groups, level), {curve.unit for curve in found.terms}
    with canvas(ax, size=(width + 0.7, height + _LINES)) as ax:
        corners = ((i % columns * (_WIDTH + _GAP), i // columns * (_HEIGHT + _LINES)) for i in range(len(groups)))
        made = panels(ax, ((*corner, _WIDTH, _HEIGHT) for corner in corners), (width, height))
        for i, (panel, curves) in enumerate(zip(made, groups, strict=True)):
            tidy(panel)
            draw_term(panel, curves, limits=scale, level=level)
            if i % columns == 0 and not panel.get_ylabel():
                unit = "log odds of each class" if len(units) > 1 else curves[0].unit
                panel.set_ylabel(effect_label(unit, name, found.transform), fontsize=8.0)
            title = term_title(curves[0], unit=len(curves) < len(units))
            panel.set_title(title, loc="left", fontsize=8.0, color=INK if curves[0].is_needed else MUTED)
        return np.array(made, dtype=object)


def effect_label(unit: str, name: str, transform: str = "") -> str:
    """The label of an axis of effects."""
    what = unit or (f"{transform} of {shorten(name)}" if transform else shorten(name))
    return f"effect on {what}"


def panels_of(curves: Sequence[Any]) -> list[list[Any]]:
    """The curves of each panel: those of one term for several classes, but surfaces alone; the largest share first."""
    found: dict[Any, list[Any]] = {}
    for i, curve in enumerate(curves):
        found.setdefault(curve.label if len(curve.points) == 1 else i, []).append(curve)
    return sorted(found.values(), key=lambda group: (not group[0].is_needed, -group[0].share))


def term_title(curve: Any, *, unit: bool = False) -> str:
    """The share of a term, what it is, and if `unit` which class it is of."""
    share = whole_percent(max(curve.share, 0.0)) if curve.is_needed else "not needed"
    return f"{share}: {shorten(curve.words, width=26)}{f', {shorten(_class(curve), width=12)}' if unit else ''}"


def _class(curve: Any) -> str:
    return str(curve.unit).removeprefix("log odds of ")


def common_limits(panels: Sequence[Sequence[Any]], level: float) -> tuple[float, float]:
    """Limits for the intervals of all needed terms but surfaces."""
    alone = [curve for curves in panels for curve in curves if _n_numeric(curve) < 2]
    ends = [_inner(curve, level) for curve in [c for c in alone if c.is_needed] or alone] or [(-1.0, 1.0)]
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    margin = 0.05 * (high - low) or 1.0
    return low - margin, high + margin


def _inner(curve: Any, level: float) -> tuple[float, float]:
    """The least and largest mean, and ends of intervals where nine tenths of the training rows are."""
    lower, upper = curve.interval(level)
    if len(curve.rug):
        (x,) = curve.points.values()
        inner = (curve.rug[1] <= x) & (x <= curve.rug[-2])
        lower, upper = np.where(inner, lower, curve.mean), np.where(inner, upper, curve.mean)
    return float(lower.min()), float(upper.max())


def draw_term(ax: Axes, curves: Sequence[Any], *, limits: tuple[float, float], level: float = 0.95) -> None:
    """One panel: the term, its intervals and the names of its columns."""
    first = curves[0]
    names = list(first.points)
    if _n_numeric(first) == 2:
        _surface(ax, first)
        name_axis(ax.yaxis, shorten(names[1], width=20))
    elif _n_numeric(first) == 0 and len(names) == 2:
        _cells(ax, first)
    else:
        ax.axhline(0.0, color=MUTED, linewidth=0.6, zorder=1)
        ax.set_ylim(limits)
        if len(names) == 2:
            _lines(ax, first, level)
        elif first.is_of_levels:
            _dots(ax, curves, level)
        else:
            _curves(ax, curves, level)
        name_axis(ax.yaxis, "")
        if len(curves) > 1:
            _key(ax, [_class(curve) for curve in curves])
    numeric = [name for name in names if first.points[name].dtype.kind == "f"]
    if numeric and not (len(names) == 1 and first.is_of_levels):
        name_axis(ax.xaxis, shorten(numeric[0]))


def _n_numeric(curve: Any) -> int:
    return sum(values.dtype.kind == "f" for values in curve.points.values())


def _paint(curves: Sequence[Any], k: int) -> str:
    return color(k) if curves[0].is_needed else MUTED


def _curves(ax: Axes, curves: Sequence[Any], level: float) -> None:
    (x,) = curves[0].points.values()
    parts = [(curve.mean, *curve.interval(level)) for curve in curves]
    if len(curves) == 1:
        parts = [(*parts[0], *curves[0].band(level))]
    draw_bands(ax, x, parts, [_paint(curves, k) for k in range(len(curves))])
    ax.vlines(curves[0].rug, 0.0, 0.035, transform=ax.get_xaxis_transform(), color=INK, linewidth=0.6)


def _dots(ax: Axes, curves: Sequence[Any], level: float) -> None:
    (values,) = curves[0].points.values()
    order = np.argsort(curves[0].mean, kind="stable") if curves[0].kind == "random" else np.arange(len(values))
    parts = [(curve.mean[order], *(end[order] for end in curve.interval(level))) for curve in curves]
    draw_levels(ax, _texts(values[order]), parts, [_paint(curves, k) for k in range(len(curves))])


def _lines(ax: Axes, curve: Any, level: float) -> None:
    """A line for each level, with intervals if they are few."""
    (x_name, *_), (by, *_) = (
        [name for name, values in curve.points.items() if (values.dtype.kind == "f") is numeric]
        for numeric in (True, False)
    )
    x, levels = curve.points[x_name], curve.points[by]
    known = list(dict.fromkeys(levels.tolist()))
    few, (lower, upper) = len(known) <= _MOST_LEGEND, curve.interval(level)
    for k, value in enumerate(known):
        own = levels == value
        paint = (color(k) if few else ACCENT) if curve.is_needed else MUTED
        if few:
            ax.fill_between(x[own], lower[own], upper[own], color=paint, alpha=0.14, linewidth=0)
        ax.plot(x[own], curve.mean[own], color=paint, linewidth=1.2 if few else 0.8, linestyle=dash(k) if few else "-")
    ax.margins(x=0.0)
    if few:
        _key(ax, [_text(value) for value in known])


def _key(ax: Axes, names: Sequence[str]) -> None:
    """The names of lines or dots in their colors, inside the panel."""
    if len(names) > _MOST_LEGEND:
        return
    for k, text in enumerate(names):
        ax.text(
            0.98, 0.97 - 0.105 * k, shorten(text, width=18), transform=ax.transAxes, ha="right", va="top",
            fontsize=6.5, color=color(k), parse_math=False,
        )  # fmt: skip


def _surface(ax: Axes, curve: Any) -> None:
    """Contours of the mean: blue is negative, vermilion positive."""
    x, y = (np.unique(values) for values in curve.points.values())
    z = curve.mean.reshape(len(x), len(y)).T
    largest = float(np.abs(z).max()) or 1.0
    ax.contourf(x, y, z, levels=np.linspace(-largest, largest, 15), cmap=_SIGNED, alpha=0.75)
    lines = ax.contour(x, y, z, levels=7, colors=INK if curve.is_needed else MUTED, linewidths=0.5)
    ax.clabel(lines, fontsize=6.0, fmt="%.3g")


def _cells(ax: Axes, curve: Any) -> None:
    """Two factors: a cell for each combination of levels."""
    known = [list(dict.fromkeys(values.tolist())) for values in curve.points.values()]
    z = curve.mean.reshape(len(known[0]), len(known[1])).T
    largest = float(np.abs(z).max()) or 1.0
    ax.pcolormesh(np.arange(len(known[0])), np.arange(len(known[1])), z, cmap=_SIGNED, vmin=-largest, vmax=largest)
    level_ticks(ax, _texts(known[0]))
    ax.set_ylabel("")
    ax.set_yticks(range(len(known[1])), [shorten(_text(value), width=8) for value in known[1]], fontsize=6.5)


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _texts(values: Any) -> list[str]:
    return [shorten(_text(value), width=12) for value in values]
