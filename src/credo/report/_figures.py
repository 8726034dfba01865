"""The report's figures: drawn by `credo.plots`, each with its question and its sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from markupsafe import Markup

from credo import plots
from credo.metrics import Influence
from credo.plots import shorten
from credo.plots._style import ACCENT, canvas
from credo.report import _facts as facts
from credo.report import _input_sentences as words
from credo.report import _sentences as sentences
from credo.report._curves import Curve, Line
from credo.report._effects import Effects
from credo.report._inputs import Process
from credo.report._numbers import count, number, spelled

MAX_POINTS = 500
MAX_COEFFICIENTS = 20
MAX_CURVES = 6
# A curve that takes up less than this part of the common scale gets its own.
ENLARGE_FROM = 4.0
_SIZE = (4.7, 3.0)
_SMALL = (3.1, 2.1)
# As many letters stand side by side below a small picture.
_TICKS = 32


@dataclass(frozen=True)
class Figure:
    """A question, the picture that answers it, the answer for this data, and how to read the picture."""

    key: str
    question: str
    svg: Markup
    answer: str
    reading: str


def held_out_figures(held: facts.Predicted, *, target: str, guess: float | None) -> list[Figure]:
    """Predicted versus actual, calibration and residuals of the best model."""
    rmse = float(np.sqrt(np.mean((held.y - held.mean) ** 2)))
    r2 = None if guess is None else 1 - (rmse / guess) ** 2
    n = len(held.y)
    some = f" {count(MAX_POINTS)} of the {count(n)} rows are drawn." if n > MAX_POINTS else ""
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
            f"Each point is a row, predicted by a model that had not seen it, with its 95 % interval.{some}",
        ),
        figure(
            "calibration",
            "Is the stated uncertainty honest?",
            lambda ax: plots.calibration(held.pit, bins=shape.bars.n, level=1 - facts.ALARM, ax=ax),
            sentences.calibration(shape),
            "Level bars are honest; a U is too sure, a hump too unsure, a hump between raised ends both, a slope "
            "biased. All bars of an honest model stay between the dashed lines at least 99 times in 100.",
        ),
        figure(
            "residuals",
            "What did the model miss?",
            lambda ax: plots.residuals(held.y, held.mean, name=target, max_points=MAX_POINTS, ax=ax),
            sentences.residuals(facts.pattern(held.y, held.mean), left, useful=(r2 or 0.0) > 0.05),
            f"A cloud without shape around zero is what a good model leaves.{some}",
        ),
    ]


def coefficient_figure(
    effects: Effects,
    *,
    best: str,
    target: str,
    moves: str = "the prediction changes",
    question: str = "Which inputs matter, and in which direction?",
) -> Figure:
    """The coefficients of the best model that has some."""
    names = [shorten(name) for name in effects.names]
    rows = min(MAX_COEFFICIENTS, len(names))
    unit = f"change in {target}"
    which = f" {best} gives no interval for the coefficient of each column; these are of {effects.model}."
    return figure(
        "coefficients",
        question,
        lambda ax: plots.coefficients(
            effects.names, effects.estimate, lower=effects.lower, upper=effects.upper, label=unit,
            max_rows=MAX_COEFFICIENTS, ax=ax,
        ),
        sentences.coefficients(effects, best=best, names=names, shown=rows),
        f"Each dot says how much {moves} when that input rises by one standard deviation (an "
        "input with two values: from one to the other) and the others stay; the line is its 95 % interval. "
        "Associations, not causes."
        f"{'' if effects.model == best else which}",
        size=(_SIZE[0], 0.9 + 0.21 * rows),
    )  # fmt: skip


def bend_figure(process: Process) -> Figure:
    """How much a process bends along each column of the table."""
    assert process.bends is not None
    return bar_figure(
        "bends",
        "Along which inputs does the function bend?",
        process.names,
        process.bends,
        label="wiggliness (spread of the input / length scale)",
        answer=words.bends(process),
        reading="Each bar is the spread of an input divided by its length scale, the distance over which the function "
        "changes its course: how wiggly it is along that input, not how far it moves. A short bar is a straight line, "
        "steep or flat; the pictures below tell which.",
    )


def influence_figure(
    influence: Influence,
    *,
    best: str,
    target: str,
    moves: str = "the prediction changes",
    question: str = "Which inputs matter?",
) -> Figure:
    """How much each column of the table moves the predictions."""
    order = np.array([i for i in influence.order if influence.values[i] > 0], dtype=np.intp)
    still = len(influence.members) - len(order)
    rest = f" Left out: {spelled(still)} of no influence." if still else ""
    grouped = "; inputs that go together have one bar, for the values of another row" if influence.together else ""
    return bar_figure(
        "influences",
        question,
        [words.bar_name(influence.members[i]) for i in order],
        influence.values[order],
        label=f"change in {target}",
        answer=words.influences(influence, best=best, target=target),
        reading=f"Each bar says how much {moves}, by root mean square over the rows, when that input moves by "
        f"one standard deviation, or takes another of its values{grouped}.{rest} Associations, not causes.",
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
    data = (line.data[rows], held.y[rows])

    def draw(ax: Any) -> None:
        plots.band(line.x, line.dist, latent=line.latent, data=data, name=target, ax=ax)
        ax.set_xlabel(shorten(line.label), parse_math=False)

    return figure(
        "line",
        "What does the curve look like?",
        draw,
        words.curve(Curve(line.label, line.label, line.x, line.latent, level=line.level)),
        "The line is the model's mean, fitted to all rows. The function itself lies in the dark band with a "
        "probability of 95 %, a new observation in the pale one.",
    )


def curve_figures(
    curves: list[Curve],
    *,
    target: str,
    whole: tuple[float, float] | None = None,
    at_most: float = np.inf,
    write: Callable[[float], str] = number,
) -> list[Figure]:
    """One small picture for each column, on one scale; what would look flat on it is enlarged.

    `whole` are the ends of that scale, by default those of all curves; what would have to be enlarged more often than
    `at_most` is as good as flat, and stays so. `write` turns values into text.
    """
    if whole is None:
        whole = _room(min(curve.lower.min() for curve in curves), max(curve.upper.max() for curve in curves))
    figures = []
    for i, curve in enumerate(curves):
        own = _room(curve.lower.min(), curve.upper.max())
        times = (whole[1] - whole[0]) / (own[1] - own[0]) if own[1] > own[0] else 1.0
        limits, times = (own, times) if ENLARGE_FROM <= times <= at_most else (whole, 1.0)
        draw = partial(_draw_curve, curve=curve, limits=limits, target=target)
        said = words.curve(curve, enlarged=times, write=write)
        figures.append(figure(f"curve-{i}", shorten(curve.name), draw, said, "", size=_SMALL))
    return figures


def _room(low: float, high: float) -> tuple[float, float]:
    margin = 0.04 * (high - low)
    return float(low - margin), float(high + margin)


def _draw_curve(ax: Any, *, curve: Curve, limits: tuple[float, float], target: str) -> None:
    if curve.ticks is None:
        plots.band(curve.x, curve.dist, name=target, ax=ax)
        # A key and the names of the axes don't fit a picture this small; the page says what they are.
        ax.get_legend().remove()
        ax.set_xlabel(shorten(curve.label) if curve.label != curve.name else "", parse_math=False)
    else:
        with canvas(ax) as ax:
            ax.vlines(curve.x, curve.lower, curve.upper, color=ACCENT, linewidth=1.4)
            ax.plot(curve.x, curve.mean, "o", color=ACCENT, markersize=5)
            ax.set_xlim(-0.6, len(curve.x) - 0.4)
            ax.set_xticks(curve.x)
            slanted = sum(map(len, curve.ticks)) > _TICKS
            ax.set_xticklabels(
                curve.ticks, parse_math=False, rotation=30 if slanted else 0, ha="right" if slanted else "center"
            )
    ax.set(ylim=limits, ylabel="")


def figure(
    key: str,
    question: str,
    draw: Callable[[Any], object],
    answer: str,
    reading: str,
    *,
    size: tuple[float, float] = _SIZE,
) -> Figure:
    """A figure with its words; the picture's own name for those who can't see it is made of them."""
    text = plots.svg(draw, prefix=key, label=f"{question} {answer}", size=size)
    # Built by an XML writer, which escapes every name and label.
    return Figure(key, question, Markup(text), answer, reading)
