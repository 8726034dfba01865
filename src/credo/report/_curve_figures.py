"""Curves along one column in sentences and figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo import plots
from credo.plots import shorten
from credo.plots._classes import color, dash, shape
from credo.plots._labels import name_axis
from credo.plots._style import canvas
from credo.report._curves import Curve
from credo.report._figures import MAX_POINTS, Figure, figure, name_x
from credo.report._numbers import datum, day, listing, number

# At most this many inputs have a curve, and this many classes.
MAX_CURVES, MAX_CLASSES = 6, 8
# A curve that could be enlarged this many times has a y-axis of its own.
_ZOOM_FROM = 4.0
# A change of direction by less than this share of a curve's range doesn't count.
_TURN = 0.1
_SMALL = (3.1, 2.1)
# With more letters the ticks of a small figure are slanted.
_TICKS = 26


def curve_sentence(fact: Curve, *, zoom: float = 1.0, write: Callable[[float], str] = number) -> str:
    """What a curve does, whether it has a clear effect, and whether its y-axis is zoomed.

    The effect is clear if the curve isn't flat by its `is_flat` or, if that is unknown, if no horizontal line fits into
    the band. `write` formats the values.
    """
    suffix = f" (y-axis zoomed {zoom:.0f}×)" if zoom > 1 else ""
    return f"{_classes(fact) if fact.classes else _shape(fact, write)}{suffix}."


def _classes(fact: Curve) -> str:
    """Which class is the most likely where."""
    best = fact.mean.argmax(axis=1)
    names = [shorten(name, width=24) for name in fact.classes]
    if (best == best[0]).all():
        return f"{names[best[0]]} is the most likely class throughout"
    if fact.ticks is not None:
        parts = [
            f"{names[k]} at {listing([fact.ticks[i] for i in np.flatnonzero(best == k)], at_most=4)}"
            for k in dict.fromkeys(best.tolist())
        ]
        return f"Most likely: {', '.join(parts)}"
    ends = np.flatnonzero(np.diff(best)).tolist()
    if len(ends) > 3:
        return f"The most likely class changes {len(ends)} times"
    parts = [f"{names[best[i]]} up to {_point(fact, i)}" for i in ends]
    return f"Most likely: {', '.join(parts)}, then {names[best[-1]]}"


def _shape(fact: Curve, write: Callable[[float], str]) -> str:
    mean, lower, upper = fact.mean, fact.lower, fact.upper
    span = float(np.ptp(mean))
    # Compared with the range of the curve, rounding errors of a zero are nothing.
    low, high = (write(end if abs(end) > 1e-4 * span else 0.0) for end in (float(mean.min()), float(mean.max())))
    if upper.max() <= lower.min():
        return "No effect"
    fits_horizontal = bool(lower.max() <= upper.min())
    if fact.is_flat or (fact.is_flat is None and fits_horizontal):
        return "No clear effect"
    tolerance = _TURN * span
    turns = _turns(mean, tolerance)
    if fact.ticks is not None or (fits_horizontal and turns):
        lowest, highest = (_point(fact, int(i)) for i in (mean.argmin(), mean.argmax()))
        return f"Lowest at {lowest} ({low}), highest at {highest} ({high})"
    # A line that never falls fits into the band if no upper end is below a lower end to its left. Without a band only
    # turns count; and where a horizontal line fits, rising and falling ones do alike.
    way = np.sign(mean[-1] - mean[0]) if not turns and (fits_horizontal or not (upper > lower).any()) else 0
    if way > 0 or (way == 0 and (np.maximum.accumulate(lower) <= upper).all()):
        return f"Rises{' overall' if turns else ''} from {low} to {high}"
    if way < 0 or (np.minimum.accumulate(upper) >= lower).all():
        return f"Falls{' overall' if turns else ''} from {high} to {low}"
    if turns == 1 and mean.max() - max(mean[0], mean[-1]) > tolerance:
        return f"Rises to {high} at {_point(fact, int(mean.argmax()))}, then falls"
    if turns == 1:
        return f"Falls to {low} at {_point(fact, int(mean.argmin()))}, then rises"
    return f"Rises and falls between {low} and {high}"


def _point(fact: Curve, i: int) -> str:
    if fact.ticks is not None:
        return fact.ticks[i]
    return day(float(fact.x[i])) if fact.dates else datum(float(fact.x[i]))


def _turns(mean: NDArray[np.float64], tolerance: float) -> int:
    """How often a curve changes its direction by more than a tolerance."""
    turns, direction, extreme = 0, 0, float(mean[0])
    for value in mean.tolist():
        falls, rises = value < extreme - tolerance, value > extreme + tolerance
        if (direction >= 0 and falls) or (direction <= 0 and rises):
            turns += direction != 0
            direction, extreme = (1 if rises else -1), value
        elif direction:
            extreme = max(extreme, value) if direction > 0 else min(extreme, value)
    return turns


def line_figure(line: Curve, y: NDArray[np.float64], *, target: str) -> Figure:
    """A model of one input, with the data."""
    assert line.data is not None
    rows = np.sort(np.random.default_rng(0).permutation(len(y))[:MAX_POINTS])
    data = (line.data[rows], y[rows])

    def draw(ax: Any) -> None:
        plots.band(line.x, line.predictive, latent=line.dist, data=data, name=target, ax=ax)
        name_x(ax, shorten(line.label), dates=line.dates)

    return figure(
        "line",
        "What does the fitted curve look like?",
        draw,
        curve_sentence(line),
        "Mean of the model fitted to all rows. Dark band: 95 % interval of the function. Light band: 95 % interval of "
        "a new observation.",
    )


def curve_figures(
    curves: list[Curve],
    *,
    scale: tuple[float, float] | None = None,
    max_zoom: float = np.inf,
    write: Callable[[float], str] = number,
    classes: Sequence[int] = (),
) -> list[Figure]:
    """A small figure for each curve on one y-axis; those that would look flat are zoomed, up to `max_zoom`.

    `scale` are the limits of that axis, by default the range of all curves. `write` formats values; `classes` are the
    indices of the classes that are drawn, if there are several.
    """
    if scale is None:
        scale = _limits(min(curve.lower.min() for curve in curves), max(curve.upper.max() for curve in curves))
    figures = []
    for i, curve in enumerate(curves):
        own = _limits(curve.lower.min(), curve.upper.max())
        zoom = (scale[1] - scale[0]) / (own[1] - own[0]) if own[1] > own[0] else 1.0
        limits, zoom = (own, zoom) if _ZOOM_FROM <= zoom <= max_zoom else (scale, 1.0)
        draw = partial(_draw_curve, curve=curve, limits=limits, classes=classes)
        said = curve_sentence(curve, zoom=zoom, write=write)
        figures.append(figure(f"curve-{i}", curve.title, draw, said, "", size=_SMALL))
    return figures


def _limits(low: float, high: float) -> tuple[float, float]:
    margin = 0.04 * (high - low)
    return float(low - margin), float(high + margin)


def _draw_curve(ax: Any, *, curve: Curve, limits: tuple[float, float], classes: Sequence[int]) -> None:
    parts = [(curve.mean, curve.lower, curve.upper)]
    if curve.classes:
        parts = [(curve.mean[:, k], curve.lower[:, k], curve.upper[:, k]) for k in classes]
    n = len(parts)
    with canvas(ax) as ax:
        for k, (mean, lower, upper) in enumerate(parts):
            paint = color(k)
            if curve.ticks is None:
                ax.fill_between(curve.x, lower, upper, color=paint, alpha=0.16, linewidth=0)
                ax.plot(curve.x, mean, color=paint, linewidth=1.6, linestyle=dash(k))
            else:
                x = curve.x + (0.0 if n == 1 else 0.5 * (k - (n - 1) / 2) / n)
                ax.vlines(x, lower, upper, color=paint, linewidth=1.4)
                ax.plot(x, mean, shape(k), color=paint, markersize=5 if n == 1 else 4)
        if curve.ticks is None:
            ax.margins(x=0.0)
            is_named = curve.label != curve.name or curve.together
            name_x(ax, shorten(curve.label) if is_named else "", dates=curve.dates)
        else:
            ax.set_xlim(-0.6, len(curve.x) - 0.4)
            slanted = sum(map(len, curve.ticks)) > _TICKS
            turn = {"rotation": 30, "ha": "right"} if slanted else {"rotation": 0, "ha": "center"}
            ax.set_xticks(curve.x)
            ax.set_xticklabels(curve.ticks, parse_math=False, **turn)
        ax.set(ylim=limits)
        name_axis(ax.yaxis, "")
