"""What the page says of predicted numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from credo.plots import shorten
from credo.report import _facts as facts
from credo.report._answer import Inputs, answer, inputs, left, tiles
from credo.report._figures import (
    Figure,
    bend_figure,
    coefficient_figure,
    curve_figures,
    held_out_figures,
    influence_figure,
    line_figure,
)
from credo.report._inclusion_figure import inclusion_figure
from credo.report._numbers import datum, listing, spelled
from credo.report._surprises import Listing, row_label, surprises
from credo.selection import Comparison

_SURPRISES = ("Row", "Actual", "Predicted", "95 % interval", "Standard deviations off")


def results(
    comparison: Comparison, models: Mapping[str, Any], frame: Any, target: str, guess: facts.Guess | None
) -> dict[str, Any]:
    """What depends on a model that could be fitted; a sentence alone where the target doesn't vary."""
    best = comparison.best
    held = facts.Predicted(comparison.held_out[best])
    if np.ptp(held.y) == 0:
        return {"answer": [f"Every value of {target} is {datum(float(held.y[0]))}: there is nothing to predict."]}
    good = [score.name for score in comparison.scores if score.error is None]
    found = inputs(best, good, models, frame, y=held.y, spread=float(np.std(held.y)))
    figures = held_out_figures(held, target=target, guess=None if guess is None else guess.rmse)
    listed, sentence = surprises(held, frame.index)
    return {
        "best": best,
        "answer": answer(comparison, target, guess, found),
        "tiles": tiles(comparison[best], guess, facts.coverage(held), found),
        "figures": [*figures, *_input_figures(found, held, best=best, target=target)],
        "curves": curve_figures(found.curves, target=target) if found.curves else [],
        "typical": None if found.typical is None else row_label(frame.index[found.typical]),
        "together": together(found),
        "drawn": drawn(found),
        "has_process": found.process is not None,
        "surprises": Listing(_SURPRISES, [line.cells for line in listed], sentence),
    }


def together(found: Inputs) -> list[str]:
    """The groups of inputs that have no curves of their own, each in words."""
    groups = [] if found.influence is None else found.influence.together
    return [listing([shorten(name) for name in members], at_most=8) for members in groups]


def drawn(found: Inputs) -> str:
    """How many of the inputs have a curve, where not all of them do."""
    n_inputs = 0 if found.influence is None else sum(map(len, found.influence.members))
    n_curves = len(found.curves)
    return f"{spelled(n_curves)} of the {spelled(n_inputs)} inputs" if n_curves < n_inputs else ""


def which(found: Inputs, *, best: str) -> tuple[list[Figure], dict[str, str]]:
    """The picture of which inputs matter, if there is one; and then the question that is left for the next one."""
    if found.inclusions is None:
        return [], {}
    question = "How much, and in which direction?" if found.effects is not None else "What moves the predictions?"
    return [inclusion_figure(found.inclusions, best=best, linear=found.linear)], {"question": question}


def noted(made: Figure, found: Inputs) -> Figure:
    """A picture of the inputs with a sentence on those that a penalty has left, where there is no picture of these."""
    said = left(found) if found.inclusions is None else []
    return replace(made, answer=" ".join([made.answer, *said]))


def _input_figures(found: Inputs, held: facts.Predicted, *, best: str, target: str) -> list[Figure]:
    """The pictures of the inputs: a line, or what matters; coefficients, or what moves the predictions and bends."""
    if found.line is not None:
        return [line_figure(found.line, held, target=target)]
    made, question = which(found, best=best)
    if found.effects is not None:
        return [*made, noted(coefficient_figure(found.effects, best=best, target=target, **question), found)]
    if found.influence is not None and len(found.influence.members) > 1 and found.influence.values.max() > 0:
        made.append(noted(influence_figure(found.influence, best=best, target=target, **question), found))
    if found.process is not None and found.process.bends is not None and len(found.process.names) > 1:
        made.append(bend_figure(found.process))
    return made
