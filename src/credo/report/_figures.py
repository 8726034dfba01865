"""The report's figures: drawn by `credo.plots`, each with its question and its sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from markupsafe import Markup

from credo import plots
from credo.metrics import Influence
from credo.plots import shorten
from credo.plots._labels import name_axis, name_date_axis
from credo.plots._marks import color, dash, shape
from credo.plots._style import canvas
from credo.report import _facts as facts
from credo.report import _input_sentences as words
from credo.report import _sentences as sentences
from credo.report._curves import Curve, Line
from credo.report._effects import Effects
from credo.report._inputs import Process
from credo.report._numbers import count, number, several

MAX_POINTS = 500
MAX_COEFFICIENTS = 20
MAX_CURVES = 6
# So many classes have a line each.
MAX_CLASSES = 8
# A curve that takes up less than this part of the common scale gets its own.
ENLARGE_FROM = 4.0
_SIZE = (4.7, 3.0)
_SMALL = (3.1, 2.1)
# As many letters stand side by side below a small picture.
_TICKS = 26


@dataclass(frozen=True)
class Figure:
    """A question, the picture that answers it, the answer for this data, and how to read the picture."""

    key: str
    question: str
    svg: Markup
    answer: str
    reading: str


def held_out_figures(held: facts.Predicted, *, target: str, baseline: float | None) -> list[Figure]:
    """Predicted versus actual, calibration and residuals of the selected model; `baseline` is the baseline's RMSE."""
    rmse = float(np.sqrt(np.mean((held.y - held.mean) ** 2)))
    r2 = None if baseline is None else 1 - (rmse / baseline) ** 2
    n = len(held.y)
    some = f" {count(MAX_POINTS)} of {count(n)} rows are drawn." if n > MAX_POINTS else ""
    name = shorten(target)
    interval = (held.lower, held.upper)
    left = held.y - held.mean
    shape = facts.uniformity(held.pit)
    return [
        figure(
            "agreement",
            "How close are the predictions?",
            lambda ax: plots.predicted_vs_actual(
                held.y, held.mean, interval=interval, name=target, max_points=MAX_POINTS, ax=ax
            ),
            sentences.agreement(r2, facts.coverage(held), target=name),
            f"Held-out predictions with 95 % intervals; exact predictions lie on the diagonal.{some}",
        ),
        figure(
            "calibration",
            "Are the intervals calibrated?",
            lambda ax: plots.calibration(held.pit, bins=shape.bars.n, level=1 - facts.ALARM, ax=ax),
            sentences.calibration(shape),
            "Flat: calibrated. U-shaped: overconfident. Hump: underconfident. Slope: biased. With a calibrated model, "
            "all bars stay between the dashed lines in 99 % of cases.",
        ),
        figure(
            "residuals",
            "Do the residuals show a pattern?",
            lambda ax: plots.residuals(held.y, held.mean, name=target, max_points=MAX_POINTS, ax=ax),
            sentences.residuals(facts.pattern(held.y, held.mean, held.std), left, useful=(r2 or 0.0) > 0.05),
            f"Residuals of a good model scatter evenly around zero.{some}",
        ),
    ]


def coefficient_figure(
    effects: Effects,
    *,
    best: str,
    target: str,
    moves: str = "the prediction",
    question: str = "Which inputs matter, and in which direction?",
) -> Figure:
    """The coefficients of the selected model, or of the best other one that has some."""
    names = [shorten(name) for name in effects.names]
    rows = min(MAX_COEFFICIENTS, len(names))
    scale = f"{effects.transform} of {target}" if effects.transform else target
    which = f" {best} has no coefficients with intervals; these are from {effects.model}."
    factor = f" On this scale, +0.1 is about +10 % of {target}." if effects.transform == "log" else ""
    moves = f"the {scale}" if effects.transform else moves
    return figure(
        "coefficients",
        question,
        lambda ax: plots.coefficients(
            effects.names, effects.estimate, lower=effects.lower, upper=effects.upper, label=f"change in {scale}",
            max_rows=MAX_COEFFICIENTS, ax=ax,
        ),
        sentences.coefficients(effects, best=best, names=names, shown=rows),
        f"Change in {moves} when an input rises by one standard deviation (an input with two values: from one to the "
        f"other) and the others stay fixed, with 95 % intervals.{factor} Associations, not causes."
        f"{'' if effects.model == best else which}",
        size=(_SIZE[0], 0.9 + 0.21 * rows),
    )  # fmt: skip


def bend_figure(process: Process) -> Figure:
    """How nonlinear a process is along each column of the table."""
    assert process.bends is not None
    return bar_figure(
        "bends",
        "Along which inputs is the function nonlinear?",
        process.names,
        process.bends,
        label="standard deviation of the input / length scale",
        answer=words.bends(process),
        reading="Long bars: strongly curved along this input. Short bars: nearly linear, steep or flat. The length "
        "scale is the distance over which the function changes direction, not the size of the effect.",
    )


def influence_figure(
    influence: Influence,
    *,
    best: str,
    target: str,
    moves: str = "the prediction",
    question: str = "Which inputs matter?",
) -> Figure:
    """How much each column of the table moves the predictions."""
    order = np.array([i for i in influence.order if influence.values[i] > 0], dtype=np.intp)
    still = len(influence.members) - len(order)
    rest = f" Not shown: {several(still, 'input', spell=True)} without influence." if still else ""
    grouped = " Correlated inputs share one bar, for taking the values of another row." if influence.together else ""
    return bar_figure(
        "influences",
        question,
        [words.bar_name(influence.members[i]) for i in order],
        influence.values[order],
        label=f"change in {target}",
        answer=words.influences(influence, best=best, target=target),
        reading=f"Change in {moves} (root mean square over the rows) when an input moves by one standard deviation or, "
        f"if categorical, takes another of its values.{grouped}{rest} Associations, not causes.",
    )


def bar_figure(
    key: str, question: str, names: list[str], values: Any, *, label: str, answer: str, reading: str
) -> Figure:  # fmt: skip
    """Bars, the longest first."""
    rows = min(MAX_COEFFICIENTS, len(names))
    return figure(
        key,
        question,
        lambda ax: plots.bars(names, values, label=label, max_rows=MAX_COEFFICIENTS, ax=ax),
        answer,
        reading,
        size=(_SIZE[0], 0.9 + 0.24 * rows),
    )


def line_figure(line: Line, held: facts.Predicted, *, target: str) -> Figure:
    """A model of one input, with the data."""
    rows = np.arange(len(held.y))
    if len(rows) > MAX_POINTS:
        rows = np.sort(np.random.default_rng(0).permutation(len(rows))[:MAX_POINTS])
    data = (line.data[held.held.rows[rows]], held.y[rows])

    def draw(ax: Any) -> None:
        plots.band(line.x, line.dist, latent=line.latent, data=data, name=target, ax=ax)
        _name_x(ax, shorten(line.label), dates=line.dates)

    return figure(
        "line",
        "What does the fitted curve look like?",
        draw,
        words.curve(Curve(line.label, line.label, line.x, line.latent, level=line.level, dates=line.dates)),
        "Mean of the model fitted to all rows. Dark band: 95 % interval of the function. Light band: 95 % interval of "
        "a new observation.",
    )


def curve_figures(
    curves: list[Curve],
    *,
    whole: tuple[float, float] | None = None,
    at_most: float = np.inf,
    write: Callable[[float], str] = number,
    classes: Sequence[int] = (),
) -> list[Figure]:
    """One small figure for each column, on one scale; what would look flat on it is zoomed.

    `whole` are the ends of that scale, by default those of all curves; what would have to be zoomed by more than
    `at_most` is as good as flat, and stays so. `write` turns values into text; `classes` are the places of those that
    are drawn, where there are several.
    """
    if whole is None:
        whole = _room(min(curve.lower.min() for curve in curves), max(curve.upper.max() for curve in curves))
    figures = []
    for i, curve in enumerate(curves):
        own = _room(curve.lower.min(), curve.upper.max())
        times = (whole[1] - whole[0]) / (own[1] - own[0]) if own[1] > own[0] else 1.0
        limits, times = (own, times) if ENLARGE_FROM <= times <= at_most else (whole, 1.0)
        draw = partial(_draw_curve, curve=curve, limits=limits, classes=classes)
        said = words.curve(curve, enlarged=times, write=write)
        figures.append(figure(f"curve-{i}", curve.title, draw, said, "", size=_SMALL))
    return figures


def _room(low: float, high: float) -> tuple[float, float]:
    margin = 0.04 * (high - low)
    return float(low - margin), float(high + margin)


def _draw_curve(ax: Any, *, curve: Curve, limits: tuple[float, float], classes: Sequence[int]) -> None:
    parts = [(curve.mean, curve.lower, curve.upper)]
    if curve.classes:
        parts = [(curve.mean[:, k], curve.lower[:, k], curve.upper[:, k]) for k in classes]
    with canvas(ax) as ax:
        for k, (mean, lower, upper) in enumerate(parts):
            paint = color(k)
            if curve.ticks is None:
                ax.fill_between(curve.x, lower, upper, color=paint, alpha=0.16, linewidth=0)
                ax.plot(curve.x, mean, color=paint, linewidth=1.6, linestyle=dash(k))
            else:
                x = curve.x + (0.0 if len(parts) == 1 else 0.5 * (k - (len(parts) - 1) / 2) / len(parts))
                ax.vlines(x, lower, upper, color=paint, linewidth=1.4)
                ax.plot(x, mean, shape(k), color=paint, markersize=5 if len(parts) == 1 else 4)
        if curve.ticks is None:
            ax.margins(x=0.0)
            label = curve.label if curve.label != curve.name or curve.together else ""
            _name_x(ax, shorten(label) if label else "", dates=curve.dates)
        else:
            ax.set_xlim(-0.6, len(curve.x) - 0.4)
            ax.set_xticks(curve.x)
            slanted = sum(map(len, curve.ticks)) > _TICKS
            ax.set_xticklabels(
                curve.ticks, parse_math=False, rotation=30 if slanted else 0, ha="right" if slanted else "center"
            )
        ax.set(ylim=limits)
        name_axis(ax.yaxis, "")


def _name_x(ax: Any, label: str, *, dates: bool) -> None:
    (name_date_axis if dates else name_axis)(ax.xaxis, label)


def figure(
    key: str,
    question: str,
    draw: Callable[[Any], object],
    answer: str,
    reading: str,
    *,
    size: tuple[float, float] = _SIZE,
) -> Figure:
    """A figure with its words; the picture's own name for those who can't see it is made of them.

    A picture that can't be drawn costs that picture: its words stay, with a note.
    """
    try:
        text = plots.svg(draw, prefix=key, label=f"{question} {answer}", size=size)
    except Exception as error:
        note = f"This figure could not be drawn ({type(error).__name__}: {error})."
        return Figure(key, question, Markup('<p class="failed">{}</p>').format(note), answer, reading)
    # Built by an XML writer, which escapes every name and label.
    return Figure(key, question, Markup(text), answer, reading)
