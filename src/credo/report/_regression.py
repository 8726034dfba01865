"""What the page says of predicted numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from credo.report import _facts as facts
from credo.report import _input_sentences as words
from credo.report import _sentences as sentences
from credo.report._answer import Choice, Inputs, effect_words, inputs, left, opening, which
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
from credo.report._numbers import count, datum, number, percent, several, spelled
from credo.report._surprises import row_label, surprises
from credo.report._time import time_figure
from credo.selection import BASELINE, Comparison


def results(
    comparison: Comparison, choice: Choice, models: Mapping[str, Any], frame: Any, target: str
) -> dict[str, Any]:
    """What depends on a model that could be fitted; a sentence alone where the target doesn't vary."""
    best = choice.name
    held = facts.Predicted(comparison.held_out[best])
    if np.ptp(held.y) == 0:
        return {"answer": [f"Every value of {target} is {datum(float(held.y[0]))}: there is nothing to predict."]}
    if best == BASELINE:
        spread = f"The standard deviation of {target} is {number(float(np.std(held.y)))}."
        return {"best": best, "answer": [*opening(comparison, choice, target), spread]}
    known = comparison.held_out.get(BASELINE)
    baseline = None if known is None else facts.Predicted(known)
    guess = None if baseline is None else comparison[BASELINE].held_out["rmse"]
    good = [score.name for score in comparison.scores if score.name not in comparison.references]
    found = inputs(best, good, models, frame, y=held.y, rows=held.held.rows, spread=float(np.std(held.y)))
    rmse = comparison[best].held_out["rmse"]
    clear = baseline is not None and facts.gain(held, baseline).clear
    covered = facts.coverage(held)
    answer = [
        *opening(comparison, choice, target),
        sentences.error(rmse, guess, clear=clear, target=target),
        sentences.coverage(covered, facts.uniformity(held.pit)),
    ]
    if found.process is not None:
        answer.append(words.process(found.process, target=target, spread=float(np.std(held.y))))
    answer += which(found)
    if found.effects is not None and found.inclusions is None:
        answer += effect_words(found.effects, best=best, target=target)
    elif not found.settled and found.influence is not None and len(found.influence.members) > 1:
        answer.append(words.influences(found.influence, best=best, target=target))
    return {
        "best": best,
        "answer": answer,
        "tiles": _tiles(rmse, guess, covered, found, best),
        "figures": [
            *time_figure(held, frame, n_folds=comparison.n_folds, target=target),
            *held_out_figures(held, target=target, baseline=guess),
            *_input_figures(found, held, best=best, target=target),
        ],
        "curves": curve_figures(found.curves) if found.curves else [],
        "typical": None if found.typical is None else row_label(frame.index[found.typical]),
        "moved_together": any(curve.together for curve in found.curves),
        "is_local": not found.linear,
        "drawn": drawn(found),
        "has_process": found.process is not None,
        "surprises": surprises(held, frame),
        "troubles": found.troubles,
    }


def _tiles(
    rmse: float, guess: float | None, covered: facts.Coverage, found: Inputs, best: str
) -> list[tuple[str, str, str]]:  # fmt: skip
    """Three numbers to remember, each with its label and a detail."""
    made = [(number(rmse), "RMSE", "on held-out rows" if guess is None else f"baseline: {number(guess)}")]
    rows = f"{count(covered.inside)} of {several(covered.n, 'held-out row')}"
    made.append((percent(covered.inside / covered.n), "inside the 95 % interval", rows))
    if found.effects is None and found.noise is not None:
        made.append((number(found.noise), "residual noise", "standard deviation, estimated"))
    elif found.effects is not None:
        clear = f"{count(int(found.effects.sure.sum()))} of {count(len(found.effects.names))}"
        whose = "" if found.effects.model == best else f" of {found.effects.model}"
        made.append((clear, f"coefficients{whose} with a clear sign", "95 % interval excludes zero"))
    return made


def drawn(found: Inputs) -> str:
    """How many of the inputs have a curve, where not all of them do."""
    n_inputs = 0 if found.influence is None else sum(map(len, found.influence.members))
    n_curves = sum(1 + len(curve.together) for curve in found.curves)
    return f"{spelled(n_curves)} of the {spelled(n_inputs)} inputs" if n_curves < n_inputs else ""


def which_figure(found: Inputs, *, best: str) -> tuple[list[Figure], dict[str, str]]:
    """The figure of which inputs matter, if there is one; and then the question that is left for the next one."""
    if found.inclusions is None:
        return [], {}
    question = "How large are the effects?" if found.effects is not None else "What moves the predictions?"
    return [inclusion_figure(found.inclusions, best=best, linear=found.linear)], {"question": question}


def noted(made: Figure, found: Inputs) -> Figure:
    """A figure of the inputs with a sentence on the coefficients that aren't zero, where no figure shows these."""
    said = left(found) if found.inclusions is None else []
    return replace(made, answer=" ".join([made.answer, *said]))


def _input_figures(found: Inputs, held: facts.Predicted, *, best: str, target: str) -> list[Figure]:
    """The figures of the inputs: a line, or what matters; coefficients, or what moves the predictions and bends."""
    if found.line is not None:
        return [line_figure(found.line, held, target=target)]
    made, question = which_figure(found, best=best)
    if found.effects is not None:
        return [*made, noted(coefficient_figure(found.effects, best=best, target=target, **question), found)]
    if found.influence is not None and len(found.influence.members) > 1 and found.influence.values.max() > 0:
        made.append(noted(influence_figure(found.influence, best=best, target=target, **question), found))
    if found.process is not None and found.process.bends is not None and len(found.process.names) > 1:
        made.append(bend_figure(found.process))
    return made
