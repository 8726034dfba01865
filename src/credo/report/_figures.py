"""The report's figures: drawn by `credo.plots`, each with its question and its sentence."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from credo import plots
from credo.plots import shorten
from credo.report import _facts as facts
from credo.report import _sentences as sentences
from credo.report._effects import Effects
from credo.report._numbers import count
from credo.selection import HeldOut

MAX_POINTS = 500
MAX_COEFFICIENTS = 20
_SIZE = (4.7, 3.0)


@dataclass(frozen=True)
class Figure:
    """A question, the picture that answers it, the answer for this data, and how to read the picture."""

    key: str
    question: str
    svg: Markup
    answer: str
    reading: str


def held_out_figures(held: HeldOut, *, target: str, guess: float | None) -> list[Figure]:
    """Predicted versus actual, calibration and residuals of the best model."""
    rmse = float(np.sqrt(np.mean((held.y - held.dist_mean) ** 2)))
    r2 = None if guess is None else 1 - (rmse / guess) ** 2
    n = len(held.y)
    some = f" {count(MAX_POINTS)} of the {count(n)} rows are drawn." if n > MAX_POINTS else ""
    name = shorten(target)
    interval = (held.lower, held.upper)
    left = held.y - held.dist_mean
    return [
        _figure(
            "agreement",
            "How close are the predictions?",
            lambda ax: plots.predicted_vs_actual(
                held.y, held.dist_mean, interval=interval, name=target, max_points=MAX_POINTS, ax=ax
            ),
            sentences.agreement(r2, facts.coverage(held), target=name),
            f"Each point is a row, predicted by a model that had not seen it, with its 95 % interval.{some}",
        ),
        _figure(
            "calibration",
            "Is the stated uncertainty honest?",
            lambda ax: plots.calibration(held.pit, ax=ax),
            sentences.calibration(facts.uniformity(held.pit)),
            "Level bars are honest; a U is too sure, a hump too unsure, a slope biased. Each bar of an "
            "honest model stays between the dashed lines 99 times in 100.",
        ),
        _figure(
            "residuals",
            "What did the model miss?",
            lambda ax: plots.residuals(held.y, held.dist_mean, name=target, max_points=MAX_POINTS, ax=ax),
            sentences.residuals(facts.pattern(held.y, held.dist_mean), left, useful=(r2 or 0.0) > 0.05),
            f"A cloud without shape around zero is what a good model leaves.{some}",
        ),
    ]


def coefficient_figure(effects: Effects, *, best: str, target: str) -> Figure:
    """The coefficients of the best model that has some."""
    names = [shorten(name) for name in effects.names]
    rows = min(MAX_COEFFICIENTS, len(names))
    unit = f"change in {target}"
    which = f" {best} gives no interval for the coefficient of each column; these are of {effects.model}."
    return _figure(
        "coefficients",
        "Which inputs matter, and in which direction?",
        lambda ax: plots.coefficients(
            effects.names, effects.estimate, lower=effects.lower, upper=effects.upper, label=unit,
            max_rows=MAX_COEFFICIENTS, ax=ax,
        ),
        sentences.coefficients(effects, best=best, names=names, shown=rows),
        "Each dot says how much the prediction changes when that input rises by one standard deviation (an "
        "input with two values: from one to the other) and the others stay; the line is its 95 % interval. "
        "Associations, not causes."
        f"{'' if effects.model == best else which}",
        size=(_SIZE[0], 0.9 + 0.21 * rows),
    )  # fmt: skip


def _figure(
    key: str,
    question: str,
    draw: Callable[[Any], object],
    answer: str,
    reading: str,
    *,
    size: tuple[float, float] = _SIZE,
) -> Figure:
    text = plots.svg(draw, prefix=key, label=f"{question} {answer}", size=size)
    # Built by an XML writer, which escapes every name and label.
    return Figure(key, question, Markup(text), answer, reading)
