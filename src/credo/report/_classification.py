"""What the page says of predicted classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.plots import shorten
from credo.plots._marks import color, dashes
from credo.report import _class_facts as facts
from credo.report import _class_sentences as sentences
from credo.report import _input_sentences as words
from credo.report._answer import Choice, Inputs, effect_words, inputs, opening, which
from credo.report._class_figures import held_out_figures, line_figure, regions_figure
from credo.report._curves import probability
from credo.report._effects import Weights, weights
from credo.report._figures import (
    MAX_CLASSES,
    MAX_COEFFICIENTS,
    Figure,
    bar_figure,
    coefficient_figure,
    curve_figures,
    influence_figure,
)
from credo.report._numbers import number, percent
from credo.report._regression import drawn, noted, which_figure
from credo.report._surprises import LISTED, ROWS_TO_CHOOSE_FROM, Listing, row_label, unusual, without_empty
from credo.selection import BASELINE, Comparison, HeldOut, gap

# Probabilities have one scale, with a little room at its ends.
_SCALE = (-0.03, 1.03)
# Less than about four percentage points of it are shown as they are.
_ENLARGE = 25.0
# So many inputs are named in a sentence.
_STRONGEST = 8


def results(
    comparison: Comparison, choice: Choice, models: Mapping[str, Any], frame: Any, target: str
) -> dict[str, Any]:
    """What depends on a model that could be fitted."""
    best = choice.name
    held, loss = comparison.held_out[best], comparison[best].held_out["log_loss"]
    frequent = facts.most_frequent(held, target)
    if best == BASELINE:
        said = f"The most frequent class is {frequent[0]} ({percent(frequent[1])})."
        return {"best": best, "answer": [*opening(comparison, choice, target), said]}
    good = [score.name for score in comparison.scores if score.name not in comparison.references]
    found = inputs(best, good, models, frame, y=held.y, rows=held.rows, spread=np.inf, ask=probability)
    event = _event(held, target)
    calibrated = facts.calibration(held)
    sure = calibrated.confidence
    baseline = comparison.held_out.get(BASELINE)
    guess = None if baseline is None else comparison[BASELINE].held_out["log_loss"]
    gain = None if baseline is None else gap(held.log_score, baseline.log_score)
    answer = [
        *opening(comparison, choice, target),
        f"{sentences.accuracy(sure, frequent)} {sentences.loss(loss, guess, gain)}",
        sentences.confidence(calibrated),
    ]
    model = models.get(best)
    weighed = weights(model, frame) if hasattr(model, "preparation_") else None
    answer += which(found)
    if found.effects is not None and found.inclusions is None:
        answer += effect_words(found.effects, best=best, target=f"the probability of {event}")
    elif not found.settled and found.influence is not None and len(found.influence.members) > 1:
        answer.append(words.influences(found.influence, best=best, target=_probabilities(event)))
    elif not found.settled and weighed is not None:
        answer.append(_most(weighed, target))
    return {
        "best": best,
        "answer": answer,
        "tiles": [
            (percent(sure.share), "accuracy", f"always {frequent[0]}: {percent(frequent[1])}"),
            (number(loss), "log loss", "on held-out rows" if guess is None else f"baseline: {number(guess)}"),
            (percent(sure.stated), "mean probability of the predicted class", f"correct: {percent(sure.share)}"),
        ],
        "figures": [
            *held_out_figures(held, target=target),
            *_figures(best, found, weighed, event, models, frame.iloc[held.rows], held.y, target),
        ],
        **_curves(found, model, frame, held.y, target),
        "surprises": surprises(held, frame),
        "troubles": found.troubles,
    }


def _is_line(found: Inputs, model: Any) -> bool:
    """Whether the model tells two classes apart by one measured input, which has a larger picture."""
    return (
        len(found.curves) == 1
        and found.curves[0].ticks is None
        and len(model.classes_) == 2
        and len(model.preparation_.get_feature_names_out()) == 1
    )


def _curves(found: Inputs, model: Any, frame: Any, y: NDArray[Any], target: str) -> dict[str, Any]:
    """The probability of the second of two classes, or of each of more, along each input."""
    if not found.curves or found.typical is None or _is_line(found, model):
        return {}
    names = [facts.called(label, target) for label in model.classes_.tolist()]
    first = found.curves[0]
    shown = facts.most_frequent_places(y, MAX_CLASSES) if first.classes else []
    along = "class probabilities" if first.classes else f"probability of {names[1]}"
    more = len(names) - len(shown)
    return {
        "curves": curve_figures(found.curves, whole=_SCALE, at_most=_ENLARGE, write=percent, classes=shown),
        "along": along,
        "class_key": [(names[place], color(k), dashes(k)) for k, place in enumerate(shown)],
        "classes_left": more if first.classes else 0,
        "has_band": any((curve.upper > curve.lower).any() for curve in found.curves),
        "typical": row_label(frame.index[found.typical]),
        "moved_together": any(curve.together for curve in found.curves),
        "is_local": not found.linear,
        "drawn": drawn(found),
    }


def surprises(held: HeldOut, frame: Any) -> Listing:
    """The misclassified rows whose actual class had the lowest probability, the lowest first."""
    head = ("Row", "Actual", "Predicted", "Probability of the actual", "Probability of the predicted", "Unusual input")
    if len(held.y) < ROWS_TO_CHOOSE_FROM:
        return Listing(head, [], "")
    found = facts.predicted(held)
    rows = np.argsort(found.actual, kind="stable")[:LISTED]
    rows = rows[found.named[rows] != found.codes[rows]]
    labels = [shorten(label) for label in found.classes.tolist()]
    lines = [
        (
            row_label(frame.index[held.rows[i]]),
            labels[found.codes[i]],
            labels[found.named[i]],
            _probability(found.actual[i]),
            _probability(found.table[i].max()),
            note,
        )
        for i, note in zip(rows, unusual(frame, held.rows[rows]), strict=True)
    ]
    return without_empty(Listing(head, lines, sentences.unlikely(facts.unlikely(held)) if lines else ""))


def _figures(
    best: str,
    found: Inputs,
    weighed: Weights | None,
    event: str | None,
    models: Mapping[str, Any],
    frame: Any,
    y: NDArray[Any],
    target: str,
) -> list[Figure]:
    """The pictures of the inputs."""
    made: list[Figure] = []
    if hasattr(models.get(best), "preparation_"):
        regions = regions_figure(models[best], frame, y, target=target)
        made += [] if regions is None else [regions]
        if _is_line(found, models[best]):
            answer = words.curve(found.curves[0], write=percent)
            made.append(line_figure(models[best], frame, y, target=target, answer=answer))
    shown, question = which_figure(found, best=best)
    made += shown
    moved = found.influence
    if found.effects is not None:
        odds = f"log odds of {event}"
        made.append(
            noted(coefficient_figure(found.effects, best=best, target=odds, moves=f"the {odds}", **question), found)
        )
    elif moved is not None and len(moved.members) > 1 and moved.values.max() > 0:
        moves = f"the predicted {_probabilities(event)}"
        influences = influence_figure(moved, best=best, target=_probabilities(event), moves=moves, **question)
        made.append(noted(influences, found))
    elif weighed is not None:
        largest = _weights_figure(weighed, target)
        # Of its own coefficients it says already how many are left.
        made.append(largest if found.kept is None or found.kept.model == best else noted(largest, found))
    return made


def _weights_figure(weighed: Weights, target: str) -> Figure:
    """The largest coefficients of a linear model that has no intervals for them."""
    rows = weighed.order
    part = sentences.drawn(len(rows), len(weighed.values), at_most=MAX_COEFFICIENTS)
    return bar_figure(
        "weights",
        "What moves the predictions?",
        [f"{shorten(weighed.names[i])} → {facts.called(weighed.classes[i], target)}" for i in rows],
        weighed.values[rows],
        label="coefficient × standard deviation",
        answer=f"{_most(weighed, target)} {part}",
        reading="Coefficient of an input in the log odds of a class times the standard deviation of the input, so that "
        "rare inputs count little. Associations, not causes.",
    )


def _most(weighed: Weights, target: str) -> str:
    rows = weighed.order[:_STRONGEST]
    labels = [facts.called(weighed.classes[i], target) for i in rows]
    return sentences.weights([shorten(weighed.names[i]) for i in rows], labels, [weighed.are_words[i] for i in rows])


def _event(held: HeldOut, target: str) -> str | None:
    """The second of two classes, as sentences call it."""
    classes = facts.predicted(held).classes
    return facts.called(classes[1].item(), target) if len(classes) == 2 else None


def _probabilities(event: str | None) -> str:
    return "class probabilities" if event is None else f"probability of {event}"


def _probability(value: float) -> str:
    """A probability in per cent, also a very small one.

    >>> _probability(0.034), _probability(3e-7)
    ('3.4 %', '< 0.01 %')
    """
    return "< 0.01 %" if value < 1e-4 else percent(float(value))
