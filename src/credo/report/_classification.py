"""What the page says of predicted classes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.plots import shorten
from credo.report import _class_facts as facts
from credo.report import _class_sentences as sentences
from credo.report import _facts, _sentences
from credo.report import _input_sentences as words
from credo.report._answer import winner
from credo.report._class_figures import held_out_figures, regions_figure
from credo.report._effects import Effects, Weights, effects, weights
from credo.report._figures import MAX_COEFFICIENTS, Figure, bar_figure, coefficient_figure, influence_figure
from credo.report._inputs import Influence, influence
from credo.report._numbers import number, percent
from credo.report._surprises import LISTED, ROWS_TO_CHOOSE_FROM, Listing, row_label
from credo.selection import Comparison, HeldOut

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
    own, moved = _inputs(best, good, models, frame)
    event = _event(held, target)
    sure = facts.confidence(held)
    answer = [
        winner(comparison, target),
        sentences.accuracy(sure, guess, _facts.gap(held.log_score, guess.log_score), log_loss=loss),
        sentences.confidence(sure),
    ]
    if own is not None:
        names = [shorten(name) for name in own.names]
        answer.append(_sentences.inputs(own, best=best, target=f"the probability of {event}", names=names))
    elif moved is not None:
        answer.append(words.influences(moved, best=best, target=_probabilities(event)))
    elif best in models and (weighed := weights(models[best], frame)) is not None:
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
            *_figures(best, own, moved, event, models, frame, held.y, target),
        ],
        "surprises": surprises(held, frame.index),
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


def _inputs(
    best: str, good: Sequence[str], models: Mapping[str, Any], frame: Any
) -> tuple[Effects | None, Influence | None]:
    """The coefficients of the model that is taken, or what moves its probabilities; else another's coefficients."""
    model = models.get(best)
    if model is None or not hasattr(model, "predict_dist"):
        return None, None
    own = effects({best: model}, frame)
    if own is not None:
        return own, None
    moved = influence(best, model, frame, spread=np.inf)
    if moved is not None and len(moved.names) > 1:
        return None, moved
    return effects({name: models[name] for name in good if name in models}, frame), None


def _figures(
    best: str,
    own: Effects | None,
    moved: Influence | None,
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
    if own is not None:
        odds = f"log odds of {event}"
        made.append(coefficient_figure(own, best=best, target=odds, moves=f"the {odds} change"))
    elif moved is not None and len(moved.order) > 1 and moved.values.max() > 0:
        moves = f"the predicted {_probabilities(event)} {'changes' if event else 'change'}"
        made.append(influence_figure(moved, target=_probabilities(event), moves=moves))
    elif best in models and (weighed := weights(models[best], frame)) is not None:
        made.append(_weights_figure(weighed, target))
    return made


def _weights_figure(weighed: Weights, target: str) -> Figure:
    """The strongest weights of a linear model that has no intervals for them."""
    rows = weighed.order[:MAX_COEFFICIENTS]
    return bar_figure(
        [f"{shorten(weighed.names[i])} → {facts.called(weighed.classes[i], target)}" for i in rows],
        weighed.values[rows],
        label="change in log odds",
        answer=_most(weighed, target),
        reading="Each bar says how much the log odds of a class change when that input rises by one standard deviation "
        "(an input with two values: from one to the other) and the others stay. Associations, not causes.",
    )


def _most(weighed: Weights, target: str) -> str:
    rows = weighed.order[:_STRONGEST]
    labels = [facts.called(weighed.classes[i], target) for i in rows]
    return sentences.weights([shorten(weighed.names[i]) for i in rows], labels)


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
