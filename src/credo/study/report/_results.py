"""What the page says about the selected model, of numbers and of classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.core.wording import capital, count, datum, number, percent, plural, whole_percent
from credo.plots.class_rows import color, dashes, mark
from credo.selection import BASELINE
from credo.study.facts import Numbers, class_name, reliability_sentence
from credo.study.report._classes import class_figures, class_names, regions_figure
from credo.study.report._curves import MAX_CLASSES, curve_figures, line_figure
from credo.study.report._figure import Figure, Listing
from credo.study.report._held_out import ahead_figure, held_out_figures, time_figure, worst_sentence
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
from credo.study.report._surprises import largest_errors, least_probable
from credo.study.report._survival import event_sentence, survival_figures
from credo.study.study import Study

# The common y-axis of probabilities; curves of less than about four percentage points aren't zoomed.
_PROBABILITY, _MAX_ZOOM = (-0.03, 1.03), 25.0


def opening(study: Study) -> list[str]:
    """Which model is selected, what it is, and why; or that no model beat the baseline."""
    comparison, facts = study.comparison, study.facts
    n_failed = sum(score.error is not None for score in comparison.scores)
    failed = [f"{capital(plural(n_failed, 'model', spell=True))} could not be fitted."] if n_failed else []
    if facts.name != BASELINE:
        return [" ".join([facts.reason_in_words, *failed])]
    advice = (
        f"These columns don't help to predict {facts.target}, or there are too few rows to show that they do. Check "
        "the notes for outliers, or add rows or columns that are related to it."
    )
    ahead = any(comparison.gap(name, BASELINE).mean > 0 for name in comparison.held_out)
    return [f"No model {'clearly ' if ahead else ''}beat the baseline. {facts.reason}", " ".join([advice, *failed])]


def regression(study: Study) -> dict[str, Any]:
    """The parts of the page for a numeric target."""
    facts, ahead, frame = study.facts, study.ahead, study.data.frame
    best, target, numbers = facts.name, facts.target, facts.numbers
    assert numbers is not None
    rate = f"{target} per {study.data.exposure}" if study.data.exposure else target
    held = numbers.held
    spread = float(np.std(held.y))
    if np.ptp(held.y) == 0:
        return {"answer": [f"Every value of {target} is {datum(float(held.y[0]))}: there is nothing to predict."]}
    if best == BASELINE:
        if numbers.is_censored:
            answer = [*opening(study), event_sentence(numbers, target=target)]
            return {"best": best, "answer": answer, "figures": survival_figures(numbers, target=target)}
        text = f"The standard deviation of {target} is {number(spread)}."
        return {"best": best, "answer": [*opening(study), text]}
    found, in_order = inputs(study, n_rows=len(held.y), spread=spread), facts.folds.in_order
    figures = _which_figures(found, best=best, effect=target, influence=target)
    if found.effects is None and len(found.nonlinearity) > 1:
        figures.append(nonlinearity_figure(found.nonlinearity))
    if found.line is not None:
        figures = [line_figure(found.line, study.data.y, target=target)]
    return {
        "best": best,
        "answer": [
            *opening(study),
            *([event_sentence(numbers, target=target)] if numbers.is_censored else []),
            *facts.performance,
            *filter(None, [None if numbers.is_censored else worst_sentence(numbers)]),
            *([] if ahead is None else [ahead.sentence]),
            *_input_sentences(found, best=best, effect=target, influence=target),
        ],
        # The error of forecasts is no noise around a known function.
        "tiles": _tiles(numbers, found if not in_order else replace(found, noise=None), best),
        "figures": [
            *(
                survival_figures(numbers, target=target)
                if numbers.is_censored
                else [
                    *time_figure(held, frame, folds=facts.folds, target=target),
                    *ahead_figure(ahead, target=target),
                    *held_out_figures(numbers, target=target, in_order=in_order),
                ]
            ),
            *figures,
        ],
        "curves": curve_figures(found.curves) if found.curves else [],
        "coefficients": found.tabled and found.tabled.table(rate),
        **_curve_facts(found),
        **_terms(found, best, what=_predicted(found, rate)),
        "has_process": bool(found.nonlinearity),
        "surprises": Listing() if numbers.is_censored else largest_errors(held, frame),
        "failures": found.failures,
    }


def _predicted(found: Inputs, target: str) -> str:
    """What the curves of an additive model are of: with a link, that of the mean."""
    is_mean = found.terms is not None and found.terms.of_mean
    return f"the mean {target} (posterior median)" if is_mean else f"the predicted {target} (median)"


def _tiles(numbers: Numbers, found: Inputs, best: str) -> list[tuple[str, str, str]]:
    """Three or four numbers, each with its label and a detail."""
    held, base, naive = numbers.held, numbers.baseline, numbers.naive
    detail = "on held-out rows" if base is None else f"baseline: {number(base.rmse)}"
    made = [(number(held.rmse), "RMSE", detail)]
    if numbers.is_censored and numbers.log_gain is not None:
        made = [(number(numbers.log_gain.mean, digits=2), "log score gained", "over one distribution for all rows")]
    if naive is not None:
        made.append((number(held.rmse / naive.rmse, digits=2), "× the error of the last value", number(naive.rmse)))
    elif numbers.r2 is not None and numbers.reference:
        below = whole_percent(max(numbers.r2, 0.0))
        made.append((below, "less squared error", f"than {numbers.reference}"))
    elif numbers.r2 is not None:
        made.append((whole_percent(max(numbers.r2, 0.0)), "of the variance explained", "R² of held-out rows"))
    covered = held.coverage
    rows = f"{count(covered.inside)} of {plural(covered.n, 'held-out row')}"
    made.append((percent(covered.inside / covered.n), "inside the 95 % interval", rows))
    if found.effects is not None:
        clear = f"{count(int(found.effects.is_clear.sum()))} of {count(len(found.effects.names))}"
        whose = "" if found.effects.model == best else f" of {found.effects.model}"
        made.append((clear, f"coefficients{whose} with a clear sign", "95 % interval excludes zero"))
    elif found.noise is not None:
        made.append((number(found.noise), "residual noise", "standard deviation, estimated"))
    return made


def classification(study: Study) -> dict[str, Any]:
    """The parts of the page for classes."""
    facts, data = study.facts, study.data
    best, target, classes = facts.name, facts.target, facts.classes
    assert classes is not None
    label, share = facts.frequent
    if best == BASELINE:
        return {"best": best, "answer": [*opening(study), f"The most frequent class is {label} ({percent(share)})."]}
    found, model = inputs(study, n_rows=len(classes.held.y), spread=np.inf), study.model
    names = class_names(classes.forecast.classes, target)
    event = names[1] if len(names) == 2 else None
    changed = "class probabilities" if event is None else f"probability of {event}"
    sure, weakest, guess = classes.calibration.confidence, classes.weakest, classes.baseline_loss
    answer = [
        *opening(study),
        *facts.performance,
        reliability_sentence(classes.calibration),
        *_input_sentences(found, best=best, effect=f"the probability of {event}", influence=changed),
    ]
    if not found.is_settled and not found.has_influence and found.own is not None and found.own.weights()[0].any():
        answer.append(found.own.weight_sentence(target))
    missed = f"{count(weakest.right)} of {plural(weakest.actual, 'row')} found"
    terms = _terms(
        found, best, what=f"the probability of {event} (median)", scale=_PROBABILITY, max_zoom=_MAX_ZOOM, write=percent
    )
    return {
        "best": best,
        "answer": answer,
        "tiles": [
            (percent(sure.share), "accuracy", f"always {label}: {percent(share)}"),
            (percent(weakest.recall), f"recall of {class_name(weakest.label, target)}", missed),
            (number(classes.loss), "log loss", "on held-out rows" if guess is None else f"baseline: {number(guess)}"),
        ],
        "figures": [
            *class_figures(facts),
            *regions_figure(model, data.frame, data.y, target=target),
            *_which_figures(found, best=best, effect=f"log odds of {event}", influence=changed, target=target),
        ],
        **_probability_curves(found, model, data.y, target, study.comparison.order),
        "coefficients": found.tabled and found.tabled.table(target),
        **terms,
        "surprises": least_probable(classes.held, data.frame),
        "failures": found.failures,
    }


def _probability_curves(
    found: Inputs, model: Any, y: NDArray[Any], target: str, order: Sequence[Any]
) -> dict[str, Any]:
    """The probability of the second of two classes, or of the most frequent of more, along each input."""
    if not found.curves:
        return {}
    names, several_classes = class_names(model.classes_, target), bool(found.curves[0].classes)
    shown: list[int] = []
    if several_classes:
        _, counts = np.unique(y, return_counts=True)
        shown = sorted(np.argsort(-counts, kind="stable")[:MAX_CLASSES].tolist())
    if order:
        labels = model.classes_.tolist()
        shown.sort(key=lambda place: order.index(labels[place]))
    return {
        "curves": curve_figures(
            found.curves, scale=_PROBABILITY, max_zoom=_MAX_ZOOM, write=percent, classes=shown
        ),
        "along": "class probabilities" if several_classes else f"probability of {names[1]}",
        "class_key": [(names[place], color(k), dashes(k), mark(k)) for k, place in enumerate(shown)],
        "key_marks": any(curve.ticks is not None for curve in found.curves),
        "key_lines": any(curve.ticks is None for curve in found.curves),
        "classes_left": len(names) - len(shown) if several_classes else 0,
        **_curve_facts(found),
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


def _curve_facts(found: Inputs) -> dict[str, Any]:
    return {
        "averaged": max((curve.n_rows for curve in found.curves), default=1),
        "moved_together": any(curve.together for curve in found.curves),
        "is_local": not found.linear,
        "has_band": any((curve.upper > curve.lower).any() for curve in found.curves),
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
