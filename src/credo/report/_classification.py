"""What the page says of predicted classes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.plots import shorten
from credo.report import _class_facts as facts
from credo.report import _class_sentences as sentences
from credo.report import _input_sentences as words
from credo.report import _sentences
from credo.report._answer import Inputs, inputs, winner
from credo.report._answer import which as which_words
from credo.report._class_figures import held_out_figures, line_figure, regions_figure
from credo.report._curves import probability, typical
from credo.report._effects import Weights, weights
from credo.report._figures import (
    MAX_COEFFICIENTS,
    Figure,
    bar_figure,
    coefficient_figure,
    curve_figures,
    influence_figure,
)
from credo.report._numbers import number, percent
from credo.report._regression import drawn, noted, together
from credo.report._regression import which as which_figure
from credo.report._surprises import LISTED, ROWS_TO_CHOOSE_FROM, Listing, row_label
from credo.selection import Comparison, HeldOut, gap

# Probabilities have one scale, with a little room at its ends.
_SCALE = (-0.03, 1.03)
# Less than about four percentage points of it are shown as they are.
_ENLARGE = 25.0
# So many inputs are named in a sentence.
_STRONGEST = 8
_SURPRISES = ("Row", "Actual", "Predicted", "Probability of the actual", "Probability of the predicted")


def results(
    comparison: Comparison, models: Mapping[str, Any], frame: Any, target: str, guess: facts.Guess
) -> dict[str, Any]:
    """What depends on a model that could be fitted."""
    best = comparison.best
    held, loss = comparison.held_out[best], comparison[best].held_out["log_loss"]
    good = [score.name for score in comparison.scores if score.error is None]
    place = _place(models.get(best), frame)
    found = inputs(best, good, models, frame, y=held.y, spread=np.inf, ask=partial(probability, place=place))
    event = _event(held, target)
    honesty = facts.calibration(held)
    sure = honesty.confidence
    answer = [
        winner(comparison, target),
        sentences.accuracy(sure, guess, gap(held.log_score, guess.log_score), log_loss=loss),
        sentences.confidence(honesty),
    ]
    weighed = weights(models[best], frame) if best in models else None
    answer += which_words(found)
    if found.effects is not None and found.inclusions is None:
        names = [shorten(name) for name in found.effects.names]
        answer.append(_sentences.inputs(found.effects, best=best, target=f"the probability of {event}", names=names))
    elif not found.settled and found.influence is not None and len(found.influence.members) > 1:
        answer.append(words.influences(found.influence, best=best, target=_probabilities(event)))
    elif not found.settled and weighed is not None:
        answer.append(_most(weighed, target))
    return {
        "best": best,
        "answer": answer,
        "tiles": [
            (percent(sure.share), "labels named right", f"always {guess.label}: {percent(guess.accuracy)}"),
            (number(loss), "log loss", f"shares of the classes: {number(guess.log_loss)}"),
            (percent(sure.stated), "mean probability of the named label", f"right in {percent(sure.share)}"),
        ],
        "figures": [
            *held_out_figures(held, target=target),
            *_figures(best, found, weighed, event, models, frame, held.y, target),
        ],
        **_curves(found, models.get(best), place, frame, target),
        "surprises": surprises(held, frame.index),
    }


def _place(model: Any, frame: Any) -> int:
    """The class whose probability the curves show: the second of two, else the likeliest one of the typical row."""
    if model is None or not hasattr(model, "predict_proba") or len(model.classes_) == 2:
        return 1
    row = typical(model, frame)
    return 0 if row is None else int(model.predict_proba(frame.iloc[[row]]).argmax())


def _is_line(found: Inputs, model: Any) -> bool:
    """Whether the model tells two classes apart by one measured input, which has a larger picture."""
    return (
        len(found.curves) == 1
        and found.curves[0].ticks is None
        and len(model.classes_) == 2
        and len(model.preparation_.get_feature_names_out()) == 1
    )


def _curves(found: Inputs, model: Any, place: int, frame: Any, target: str) -> dict[str, Any]:
    """The probability of a class along each input."""
    if not found.curves or found.typical is None or _is_line(found, model):
        return {}
    event = facts.called(model.classes_[place].item(), target)
    return {
        "curves": curve_figures(
            found.curves, target=f"probability of {event}", whole=_SCALE, at_most=_ENLARGE, write=percent
        ),
        "along": f"probability of {event}",
        "has_band": any((curve.upper > curve.lower).any() for curve in found.curves),
        "typical": row_label(frame.index[found.typical]),
        "together": together(found),
        "drawn": drawn(found),
    }


def surprises(held: HeldOut, index: Any) -> Listing:
    """The rows whose own label had the smallest probability."""
    if len(held.y) < ROWS_TO_CHOOSE_FROM:
        return Listing(_SURPRISES, [], "")
    found = facts.predicted(held)
    rows = np.argsort(found.actual, kind="stable")[:LISTED]
    rows = rows[found.named[rows] != found.codes[rows]]
    labels = [shorten(label) for label in found.classes.tolist()]
    lines = [
        (
            row_label(index[i]),
            labels[found.codes[i]],
            labels[found.named[i]],
            _probability(found.actual[i]),
            _probability(found.table[i].max()),
        )
        for i in rows
    ]
    return Listing(_SURPRISES, lines, sentences.unlikely(facts.unlikely(held)) if lines else "")


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
    if best in models:
        regions = regions_figure(models[best], frame, y, target=target)
        made += [] if regions is None else [regions]
        if _is_line(found, models[best]):
            answer = words.curve(found.curves[0], write=percent)
            made.append(line_figure(models[best], frame, y, target=target, answer=answer))
    which, question = which_figure(found, best=best)
    made += which
    moved = found.influence
    if found.effects is not None:
        odds = f"log odds of {event}"
        moves = f"the {odds} change"
        made.append(noted(coefficient_figure(found.effects, best=best, target=odds, moves=moves, **question), found))
    elif moved is not None and len(moved.members) > 1 and moved.values.max() > 0:
        moves = f"the predicted {_probabilities(event)} {'changes' if event else 'change'}"
        shown = influence_figure(moved, best=best, target=_probabilities(event), moves=moves, **question)
        made.append(noted(shown, found))
    elif weighed is not None:
        shown = _weights_figure(weighed, target)
        # Of its own weights it says already how many are left.
        made.append(shown if found.kept is None or found.kept.model == best else noted(shown, found))
    return made


def _weights_figure(weighed: Weights, target: str) -> Figure:
    """The strongest weights of a linear model that has no intervals for them."""
    rows = weighed.order
    part = sentences.drawn(len(rows), len(weighed.values), at_most=MAX_COEFFICIENTS)
    return bar_figure(
        "weights",
        "What moves the predictions?",
        [f"{shorten(weighed.names[i])} → {facts.called(weighed.classes[i], target)}" for i in rows],
        weighed.values[rows],
        label="weight × standard deviation",
        answer=f"{_most(weighed, target)} {part}",
        reading="Each bar is the weight of an input in the log odds of a class, times the standard deviation of that "
        "input over the rows: what is strong where it happens, but hardly ever does, moves little. Associations, not "
        "causes.",
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
