"""What the page says about the selected model, of numbers and of classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.metrics._calibration import class_calibration
from credo.plots._classes import color, dashes, mark
from credo.selection import BASELINE, NAIVE, Comparison, gap
from credo.study.report._answer import Choice, Inputs, inputs, opening
from credo.study.report._classes import (
    accuracy_sentence,
    class_figures,
    class_names,
    confidence_sentence,
    loss_sentence,
    most_frequent,
    regions_figure,
    sigmoid_figure,
)
from credo.study.report._curves import MAX_CLASSES, curve_figures, curve_sentence, line_figure, probability
from credo.study.report._effects import Weights, coefficient_figure, effect_sentences, weights
from credo.study.report._held_out import (
    Predicted,
    coverage_sentence,
    error_sentence,
    held_out_figures,
    naive_sentence,
    time_figure,
)
from credo.study.report._inclusion_figure import inclusion_figure
from credo.study.report._inputs import influence_figure, influence_sentence, nonlinearity_figure, process_sentence
from credo.study.report._numbers import Figure, count, datum, number, percent, several
from credo.study.report._surprises import largest_errors, least_probable, row_label

# The common y-axis of probabilities; curves of less than about four percentage points aren't zoomed.
_PROBABILITY, _MAX_ZOOM = (-0.03, 1.03), 25.0


def regression(
    comparison: Comparison, choice: Choice, models: Mapping[str, Any], frame: Any, y: NDArray[Any], target: str
) -> dict[str, Any]:
    """The parts of the page for a numeric target."""
    best = choice.name
    held = Predicted(comparison.held_out[best])
    spread = float(np.std(held.y))
    if np.ptp(held.y) == 0:
        return {"answer": [f"Every value of {target} is {datum(float(held.y[0]))}: there is nothing to predict."]}
    if best == BASELINE:
        text = f"The standard deviation of {target} is {number(spread)}."
        return {"best": best, "answer": [*opening(comparison, choice, target), text]}
    reference = comparison.held_out.get(BASELINE)
    guess = None if reference is None else comparison[BASELINE].held_out["rmse"]
    clear = reference is not None and held.gain(Predicted(reference)).clear
    rmse = comparison[best].held_out["rmse"]
    found = inputs(best, _others(comparison), models, frame, y=held.y, rows=held.held.rows, spread=spread)
    answer = [
        *opening(comparison, choice, target),
        error_sentence(rmse, guess, clear=clear),
        *_naive(comparison, held, best),
        coverage_sentence(held.coverage, held.uniformity),
    ]
    if found.process is not None:
        answer.append(process_sentence(found.process, target=target, spread=spread))
    answer += _input_sentences(found, best=best, effect=target, influence=target)
    figures = _which_figures(found, best=best, effect=target, influence=target)
    if found.effects is None and found.process is not None and found.process.nonlinearity is not None:
        figures += [nonlinearity_figure(found.process)] if len(found.process.names) > 1 else []
    if found.line is not None:
        figures = [line_figure(found.line, y, target=target)]
    over_time = time_figure(held, frame, n_folds=comparison.n_folds, target=target)
    # Where later rows are predicted from earlier ones, the earliest are never held out. The error of forecasts is then
    # no noise around a known function.
    forward = bool(over_time) and len(held.y) < len(frame)
    return {
        "best": best,
        "answer": answer,
        "tiles": _tiles(rmse, guess, held, found if not forward else replace(found, noise=None), best),
        "figures": [
            *over_time,
            *held_out_figures(held, target=target, baseline=guess, in_time=forward),
            *figures,
        ],
        "curves": curve_figures(found.curves) if found.curves else [],
        **_curve_facts(found, frame),
        "has_process": found.process is not None,
        "surprises": largest_errors(held, frame),
        "failures": found.failures,
    }


def _naive(comparison: Comparison, held: Predicted, best: str) -> list[str]:
    """Of rows in time order, the comparison with the simplest forecast."""
    naive = comparison.held_out.get(NAIVE)
    return [] if naive is None or best == NAIVE else [naive_sentence(held, Predicted(naive))]


def _tiles(
    rmse: float, guess: float | None, held: Predicted, found: Inputs, best: str
) -> list[tuple[str, str, str]]:  # fmt: skip
    """Three numbers, each with its label and a detail."""
    covered = held.coverage
    made = [(number(rmse), "RMSE", "on held-out rows" if guess is None else f"baseline: {number(guess)}")]
    rows = f"{count(covered.inside)} of {several(covered.n, 'held-out row')}"
    made.append((percent(covered.inside / covered.n), "inside the 95 % interval", rows))
    if found.effects is not None:
        clear = f"{count(int(found.effects.is_clear.sum()))} of {count(len(found.effects.names))}"
        whose = "" if found.effects.model == best else f" of {found.effects.model}"
        made.append((clear, f"coefficients{whose} with a clear sign", "95 % interval excludes zero"))
    elif found.noise is not None:
        made.append((number(found.noise), "residual noise", "standard deviation, estimated"))
    return made


def classification(
    comparison: Comparison, choice: Choice, models: Mapping[str, Any], frame: Any, y: NDArray[Any], target: str
) -> dict[str, Any]:
    """The parts of the page for classes."""
    best = choice.name
    held, loss = comparison.held_out[best], comparison[best].held_out["log_loss"]
    frequent = most_frequent(held.y, target)
    if best == BASELINE:
        said = f"The most frequent class is {frequent[0]} ({percent(frequent[1])})."
        return {"best": best, "answer": [*opening(comparison, choice, target), said]}
    found = inputs(
        best, _others(comparison), models, frame, y=held.y, rows=held.rows, spread=np.inf, predict=probability
    )
    names = class_names(np.asarray(held.dist.classes) if hasattr(held.dist, "classes") else np.array([0, 1]), target)
    event = names[1] if len(names) == 2 else None
    changed = "class probabilities" if event is None else f"probability of {event}"
    calibrated = class_calibration(held.y, held.dist)
    sure = calibrated.confidence
    reference = comparison.held_out.get(BASELINE)
    guess = None if reference is None else comparison[BASELINE].held_out["log_loss"]
    gain = None if reference is None else gap(held.log_score, reference.log_score)
    model = models.get(best)
    weighed = weights(model, frame) if hasattr(model, "preparation_") else None
    answer = [
        *opening(comparison, choice, target),
        f"{accuracy_sentence(sure, frequent)} {loss_sentence(loss, guess, gain)}",
        confidence_sentence(calibrated),
        *_input_sentences(found, best=best, effect=f"the probability of {event}", influence=changed),
    ]
    if not found.is_settled and not found.has_influence and weighed is not None:
        answer.append(weighed.sentence(target))
    return {
        "best": best,
        "answer": answer,
        "tiles": [
            (percent(sure.share), "accuracy", f"always {frequent[0]}: {percent(frequent[1])}"),
            (number(loss), "log loss", "on held-out rows" if guess is None else f"baseline: {number(guess)}"),
            (percent(sure.stated), "mean probability of the predicted class", f"correct: {percent(sure.share)}"),
        ],
        "figures": [
            *class_figures(held, target=target),
            *_plane_figures(found, model, frame, y, target),
            *_which_figures(
                found, best=best, effect=f"log odds of {event}", influence=changed, weighed=weighed, target=target
            ),
        ],
        **({} if _is_line(found, model) else _probability_curves(found, model, frame, y, target)),
        "surprises": least_probable(held, frame),
        "failures": found.failures,
    }


def _is_line(found: Inputs, model: Any) -> bool:
    """Whether the model has two classes and a single numeric input, which has a larger figure."""
    return (
        len(found.curves) == 1
        and found.curves[0].ticks is None
        and len(model.classes_) == 2
        and len(model.preparation_.get_feature_names_out()) == 1
    )


def _plane_figures(found: Inputs, model: Any, frame: Any, y: NDArray[Any], target: str) -> list[Figure]:
    if not hasattr(model, "preparation_"):
        return []
    made = regions_figure(model, frame, y, target=target)
    if _is_line(found, model):
        answer = curve_sentence(found.curves[0], write=percent)
        made.append(sigmoid_figure(model, frame, y, target=target, answer=answer))
    return made


def _probability_curves(found: Inputs, model: Any, frame: Any, y: NDArray[Any], target: str) -> dict[str, Any]:
    """The probability of the second of two classes, or of the most frequent of more, along each input."""
    if not found.curves or found.typical is None:
        return {}
    names, several_classes = class_names(model.classes_, target), bool(found.curves[0].classes)
    shown: list[int] = []
    if several_classes:
        _, counts = np.unique(y, return_counts=True)
        shown = sorted(np.argsort(-counts, kind="stable")[:MAX_CLASSES].tolist())
    return {
        "curves": curve_figures(
            found.curves, scale=_PROBABILITY, max_zoom=_MAX_ZOOM, write=percent, classes=shown
        ),
        "along": "class probabilities" if several_classes else f"probability of {names[1]}",
        "class_key": [(names[place], color(k), dashes(k), mark(k)) for k, place in enumerate(shown)],
        "key_marks": any(curve.ticks is not None for curve in found.curves),
        "key_lines": any(curve.ticks is None for curve in found.curves),
        "classes_left": len(names) - len(shown) if several_classes else 0,
        "has_band": any((curve.upper > curve.lower).any() for curve in found.curves),
        **_curve_facts(found, frame),
    }  # fmt: skip


def _others(comparison: Comparison) -> list[str]:
    return [score.name for score in comparison.scores]


def _curve_facts(found: Inputs, frame: Any) -> dict[str, Any]:
    return {
        "typical": None if found.typical is None else row_label(frame.index[found.typical]),
        "moved_together": any(curve.together for curve in found.curves),
        "is_local": not found.linear,
        "drawn": found.drawn,
    }


def _input_sentences(found: Inputs, *, best: str, effect: str, influence: str) -> list[str]:
    """Which inputs matter: by inclusion probabilities, coefficients or influences."""
    said = found.sentences()
    if found.effects is not None and found.inclusions is None:
        said += effect_sentences(found.effects, best=best, target=effect)
    elif not found.is_settled and found.has_influence and found.influence is not None:
        said.append(influence_sentence(found.influence, best=best, target=influence))
    return said


def _which_figures(
    found: Inputs, *, best: str, effect: str, influence: str, weighed: Weights | None = None, target: str | None = None
) -> list[Figure]:
    """Inclusion probabilities, and one figure of coefficients or influences; with a `target` it is of classes."""
    made, question, moved = [], {}, found.influence
    if found.inclusions is not None:
        made.append(inclusion_figure(found.inclusions, best=best, linear=found.linear))
        last = "How large are the effects?" if found.effects is not None else "Which inputs change the predictions?"
        question = {"question": last}
    # Without inclusion probabilities, the last figure says which coefficients aren't zero.
    note = "" if found.inclusions is not None or found.non_zero is None else f" {found.non_zero}"
    if found.effects is not None:
        moves = {} if target is None else {"moves": f"the {effect}"}
        last_figure = coefficient_figure(found.effects, best=best, target=effect, **moves, **question)
    elif moved is not None and len(moved.members) > 1 and moved.values.max() > 0:
        moves = {} if target is None else {"moves": f"the predicted {influence}"}
        last_figure = influence_figure(moved, best=best, target=influence, **moves, **question)
    elif weighed is not None and target is not None:
        last_figure = weighed.figure(target)
        # It already says how many of its own coefficients aren't zero.
        note = "" if found.non_zero is None or found.non_zero.model == best else note
    else:
        return made
    return [*made, replace(last_figure, answer=f"{last_figure.answer}{note}")]
