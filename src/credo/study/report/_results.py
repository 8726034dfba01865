"""What the page says about the selected model, of numbers and of classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.core.wording import capital, count, datum, number, percent, plural
from credo.metrics import forecast
from credo.metrics.calibration import class_calibration
from credo.plots.class_rows import color, dashes, mark
from credo.selection import BASELINE, NAIVE, Comparison, gap
from credo.study.report._classes import (
    accuracy_sentence,
    class_figures,
    class_names,
    loss_sentence,
    most_frequent,
    regions_figure,
    reliability_sentence,
)
from credo.study.report._curves import MAX_CLASSES, curve_figures, line_figure
from credo.study.report._held_out import (
    Predicted,
    coverage_sentence,
    error_sentence,
    held_out_figures,
    naive_sentence,
    time_figure,
)
from credo.study.report._inclusions import inclusion_figure
from credo.study.report._inputs import (
    Inputs,
    coefficient_figure,
    effect_sentences,
    influence_figure,
    influence_sentence,
    inputs,
    nonlinearity_figure,
)
from credo.study.report._numbers import Figure
from credo.study.report._surprises import largest_errors, least_probable, row_label

# The common y-axis of probabilities; curves of less than about four percentage points aren't zoomed.
_PROBABILITY, _MAX_ZOOM = (-0.03, 1.03), 25.0


@dataclass(frozen=True)
class Choice:
    """The model that the page is about, and why."""

    name: str
    reason: str


def opening(comparison: Comparison, choice: Choice, target: str) -> list[str]:
    """Which model is selected and why; or that no model beat the baseline."""
    n_failed = sum(score.error is not None for score in comparison.scores)
    failed = [f"{capital(plural(n_failed, 'model', spell=True))} could not be fitted."] if n_failed else []
    if choice.name != BASELINE:
        return [" ".join([choice.reason, *failed])]
    advice = (
        f"These columns don't help to predict {target}, or there are too few rows to show that they do. Check the "
        "notes for outliers, or add rows or columns that are related to it."
    )
    ahead = any(comparison.gap(name, BASELINE).mean > 0 for name in comparison.held_out)
    return [f"No model {'clearly ' if ahead else ''}beat the baseline. {choice.reason}", " ".join([advice, *failed])]


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
    found = inputs(best, _others(comparison), models, frame, n_rows=len(held.y), spread=spread, tied=comparison.tied)
    answer = [
        *opening(comparison, choice, target),
        error_sentence(rmse, guess, clear=clear),
        *_naive(comparison, held, best),
        coverage_sentence(held.coverage, held.uniformity),
    ]
    answer += _input_sentences(found, best=best, effect=target, influence=target)
    figures = _which_figures(found, best=best, effect=target, influence=target)
    if found.effects is None and len(found.nonlinearity) > 1:
        figures.append(nonlinearity_figure(found.nonlinearity))
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
        **_terms(found, best, what=f"the predicted {target} (median)"),
        "has_process": bool(found.nonlinearity),
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
    rows = f"{count(covered.inside)} of {plural(covered.n, 'held-out row')}"
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
    found = inputs(best, _others(comparison), models, frame, n_rows=len(held.y), spread=np.inf, tied=comparison.tied)
    names = class_names(forecast(held.y, held.dist).classes, target)
    event = names[1] if len(names) == 2 else None
    changed = "class probabilities" if event is None else f"probability of {event}"
    calibrated = class_calibration(held.y, held.dist)
    sure = calibrated.confidence
    reference = comparison.held_out.get(BASELINE)
    guess = None if reference is None else comparison[BASELINE].held_out["log_loss"]
    gain = None if reference is None else gap(held.log_score, reference.log_score)
    model = models.get(best)
    weighed = found.own is not None and found.own.weights()[0].any()
    answer = [
        *opening(comparison, choice, target),
        f"{accuracy_sentence(sure, frequent)} {loss_sentence(loss, guess, gain)}",
        reliability_sentence(calibrated),
        *_input_sentences(found, best=best, effect=f"the probability of {event}", influence=changed),
    ]
    if not found.is_settled and not found.has_influence and weighed and found.own is not None:
        answer.append(found.own.weight_sentence(target))
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
            *regions_figure(model, frame, y, target=target),
            *_which_figures(found, best=best, effect=f"log odds of {event}", influence=changed, target=target),
        ],
        **_probability_curves(found, model, frame, y, target),
        **_terms(
            found,
            best,
            what=f"the probability of {event} (median)",
            scale=_PROBABILITY,
            max_zoom=_MAX_ZOOM,
            write=percent,
        ),
        "surprises": least_probable(held, frame),
        "failures": found.failures,
    }


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


def _terms(found: Inputs, best: str, *, what: str, **options: Any) -> dict[str, Any]:
    """The curves of an additive model in the place of others."""
    if found.terms is None:
        return {}
    return {
        "curves": curve_figures(found.terms.curves, **options),
        "about_terms": found.terms.caption(best, what=what),
        "class_key": [],
    }


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


def _which_figures(found: Inputs, *, best: str, effect: str, influence: str, target: str | None = None) -> list[Figure]:
    """Inclusion probabilities, and one figure of coefficients or influences; with a `target` it is of classes."""
    made, question, moved = [], {}, found.influence
    if found.inclusions is not None:
        made.append(inclusion_figure(found.inclusions, best=best, linear=found.linear))
        last = "How large are the effects?" if found.effects is not None else "Which inputs change the predictions?"
        question = {"question": last}
    # Without inclusion probabilities, the last figure says which coefficients aren't zero.
    note = f" {found.non_zero}" if found.inclusions is None and found.non_zero else ""
    if found.effects is not None:
        moves = {} if target is None else {"moves": f"the {effect}"}
        last_figure = coefficient_figure(found.effects, best=best, target=effect, **moves, **question)
    elif moved is not None and len(moved.members) > 1 and moved.values.max() > 0:
        moves = {} if target is None else {"moves": f"the predicted {influence}"}
        last_figure = influence_figure(moved, best=best, target=influence, **moves, **question)
    elif target is not None and found.own is not None and found.own.weights()[0].any():
        last_figure = found.own.weight_figure(target)
        # It already says how many of its own coefficients aren't zero.
        note = "" if found.own.selects else note
    else:
        return made
    return [*made, replace(last_figure, answer=f"{last_figure.answer}{note}")]
