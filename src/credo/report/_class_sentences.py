"""Sentences about predictions of classes: each says what some facts mean for this data, and no more than they show."""

from __future__ import annotations

import math
from collections.abc import Sequence

from credo.report._class_facts import FEW, SMALL, UNLIKELY, Calibration, Confidence, Confusion, Unlikely
from credo.report._numbers import about, count, listing, number, percent, several
from credo.selection import Gap


def accuracy(fact: Confidence, frequent: tuple[str, float] | None) -> str:
    """How often the predicted class was right; `frequent` is the most frequent class and its share."""
    text = f"Accuracy on held-out rows: {percent(fact.share)} ({count(fact.right)} of {count(fact.n)})"
    if frequent is None:
        return f"{text}."
    return f"{text}; always predicting {frequent[0]}, the most frequent class, gives {percent(frequent[1])}."


def loss(value: float, baseline: float | None, gain: Gap | None) -> str:
    """The log loss beside that of the baseline, and `gain`, how far the model is ahead row by row."""
    if not math.isfinite(value):
        return "Log loss is infinite: the model gave an observed label the probability zero."
    text = f"Log loss: {number(value)}"
    if baseline is None or gain is None:
        return f"{text}."
    other = f"the baseline, which always predicts the class frequencies, has {number(baseline)}"
    if gain.mean <= 0:
        return f"{text}, no better than the baseline, which always predicts the class frequencies ({number(baseline)})."
    return f"{text}; {other}{'' if gain.clear else ', a difference that chance could explain'}."


def confidence(fact: Calibration) -> str:
    """Whether the probabilities are calibrated."""
    text = (
        f"Calibration: the mean probability of the predicted class is {percent(fact.confidence.stated)}, and it is "
        f"right in {percent(fact.confidence.share)}"
    )
    rows = several(fact.confidence.n, "row")
    if fact.confidence.n < FEW:
        return f"{text}; {rows} are too few to judge calibration."
    match fact.verdict:
        case "":
            return f"{text}: no sign of miscalibration in {rows}."
        case "overconfident":
            return f"{text}: the model is overconfident."
        case "underconfident":
            return f"{text}: the model is underconfident."
    return f"{text}. Within groups of rows, {_error(fact)}{_close(fact)}."


def reliability(fact: Calibration) -> str:
    """What the reliability diagram shows."""
    if fact.confidence.n < FEW:
        return f"{several(fact.confidence.n, 'row')} are too few to judge calibration."
    text = _error(fact)
    text = text[:1].upper() + text[1:]
    match fact.verdict:
        case "":
            return f"{text}: no sign of miscalibration."
        case "overconfident" | "underconfident":
            return f"{text}: the model is {fact.verdict}{_close(fact)}."
    return f"{text}: some probabilities are off{_close(fact)}."


def _error(fact: Calibration) -> str:
    points, chance = (number(100 * value, digits=2) for value in (fact.error, fact.chance))
    return (
        f"predicted and observed frequencies differ by {points} percentage points on average ({chance} expected by "
        "chance)"
    )


def _close(fact: Calibration) -> str:
    return ", too little to matter for most uses" if fact.error < SMALL else ""


def area(value: float, error: float, *, first: str, second: str) -> str:
    """What the area under the curve means."""
    spread = "" if math.isnan(error) else f" ± {number(error, digits=2)}"
    return (
        f"AUC {number(value)}{spread}: of a random row of {second} and a random row of {first}, the row of {second} "
        f"gets the higher probability of {second} in {percent(value)} of all pairs (50 % by chance)."
    )


def confusion(fact: Confusion) -> str:
    """Which errors are the most frequent, and which class is recognised least."""
    if not fact.wrong:
        return "Every held-out row was classified correctly."
    times = "once" if fact.times == 1 else "twice" if fact.times == 2 else f"{count(fact.times)} times"
    were = "was" if fact.wrong == 1 else "were"
    text = f"{several(fact.wrong, 'row')} {were} misclassified. "
    if len(fact.classes) == 2:
        found = [f"{percent(share)} of {name}" for name, share in zip(fact.classes, fact.recall, strict=True)]
        return f"{text}Recall: {listing(found)}."
    lowest = float(fact.recall.min())
    worst = [name for name, share in zip(fact.classes, fact.recall, strict=True) if share == lowest]
    least = (
        f" Lowest recall: {listing(worst, at_most=3)} ({percent(lowest)})." if len(worst) < len(fact.classes) else ""
    )
    return f"{text}Most frequent error: {fact.actual} predicted as {fact.named}, {times}.{least}"


def unlikely(fact: Unlikely) -> str:
    """Whether there are more surprising labels than the model's own probabilities promise."""
    happened = several(fact.n, "row", spell=True) if fact.n else "no row"
    expected = about(fact.expected) if fact.expected >= 0.05 else "none"
    return (
        f"In {happened} the actual class had a probability of at most {percent(UNLIKELY)}; if the probabilities were "
        f"right, about {expected} would be expected."
    )


def weights(names: Sequence[str], labels: Sequence[str], are_words: Sequence[bool]) -> str:
    """Which inputs, and which words of a text, point to which class; the strongest come first."""
    said = []
    for label in dict.fromkeys(labels):
        own = [i for i, its in enumerate(labels) if its == label]
        words = [f"“{names[i]}”" for i in own if are_words[i]]
        parts = [names[i] for i in own if not are_words[i]]
        parts += [f"the word{'' if len(words) == 1 else 's'} {listing(words)}"] if words else []
        said.append(f"{listing(parts)} for {label}")
    return f"Largest coefficients: {'; '.join(said)}."


def drawn(n_left: int, n_weights: int, *, at_most: int) -> str:
    """How many of a model's coefficients a figure of the largest shows, where some of them are zero."""
    whole = f"{count(n_left)} of {count(n_weights)} coefficients are non-zero"
    if n_left <= at_most:
        return f"All {several(n_weights, 'coefficient')} are shown." if n_left == n_weights else f"{whole}, all shown."
    if n_left == n_weights:
        return f"The {count(at_most)} largest of {several(n_weights, 'coefficient')} are shown."
    return f"{whole}; the {count(at_most)} largest are shown."


def regions(first: str, second: str) -> str:
    """What the figure of two inputs shows."""
    return f"Class probabilities over {first} and {second}, the only inputs of the model."
