"""Sentences about predictions of classes: each says what some facts mean for this data, and no more than they show."""

from __future__ import annotations

import math
from collections.abc import Sequence

from credo.report._class_facts import FEW, SMALL, UNLIKELY, Calibration, Confidence, Confusion, Guess, Unlikely
from credo.report._numbers import about, count, listing, number, percent, several, spelled
from credo.selection import Gap


def accuracy(fact: Confidence, guess: Guess, gain: Gap, *, log_loss: float) -> str:
    """How often the label was right, and what a guess without the columns would reach."""
    text = (
        f"On rows that it had not seen it named the right class in {percent(fact.share)} ({count(fact.right)} of "
        f"{count(fact.n)}); always naming {guess.label}, the most frequent, would be right in "
        f"{percent(guess.accuracy)}."
    )
    loss = f"Its log loss is {number(log_loss)}, that of the classes' shares alone {number(guess.log_loss)}"
    if not math.isfinite(log_loss):
        return f"{text} Its log loss is infinite: it held a label impossible that then came true."
    if gain.mean <= 0:
        return f"{text} {loss}: the columns are of no help here."
    return f"{text} {loss}{'' if gain.clear else ', a difference that chance alone could explain'}."


def confidence(fact: Calibration) -> str:
    """Whether the model was as sure of its labels as it was right, and whether its probabilities come true."""
    sure, right = percent(fact.confidence.stated), percent(fact.confidence.share)
    text = f"It was {sure} sure of the labels that it named, on average, and right in {right}"
    rows = several(fact.confidence.n, "row")
    if fact.confidence.n < FEW:
        return f"{text}; {rows} can't show whether that is honest."
    match fact.verdict:
        case "":
            return f"{text}: no sign that its probabilities are wrong, as far as {rows} can show."
        case "too sure":
            return f"{text}: it is surer than it should be, by more than chance explains."
        case "too unsure":
            return f"{text}: it is less sure than it could be, by more than chance explains."
    return f"{text}. That is honest on the whole, though {_error(fact)}{_close(fact)}."


def reliability(fact: Calibration) -> str:
    """What the reliability diagram shows."""
    if fact.confidence.n < FEW:
        return f"With {several(fact.confidence.n, 'row')} the points can't tell honest probabilities from others."
    text = _error(fact)
    text = text[:1].upper() + text[1:]
    match fact.verdict:
        case "":
            return f"{text}: no sign that the probabilities are wrong."
        case "too sure" | "too unsure":
            way = "surer than it should be" if fact.verdict == "too sure" else "less sure than it could be"
            return f"{text}; the model is {way}{_close(fact)}."
    return f"{text}, so the probabilities are not quite what they say{_close(fact)}."


def _error(fact: Calibration) -> str:
    points, chance = (number(100 * value, digits=2) for value in (fact.error, fact.chance))
    return f"predicted and observed shares differ by {points} percentage points on average; chance alone makes {chance}"


def _close(fact: Calibration) -> str:
    return ", too little to matter for most uses" if fact.error < SMALL else ""


def area(value: float, error: float, *, first: str, second: str) -> str:
    """What the area under the curve means."""
    spread = "" if math.isnan(error) else f" (area under the curve {number(value)} ± {number(error, digits=2)})"
    return (
        f"Of a row of {second} and one of {first}, picked at random, the model gives the first the higher probability "
        f"of {second} in {percent(value)} of all pairs{spread}; without knowledge that is 50 %."
    )


def confusion(fact: Confusion) -> str:
    """Which mistakes are the most frequent, and which class is found least."""
    if not fact.wrong:
        return "Every held-out row got its own label."
    times = "once" if fact.times == 1 else "twice" if fact.times == 2 else f"{count(fact.times)} times"
    text = f"{several(fact.wrong, 'row')} got a wrong label. "
    if len(fact.classes) == 2:
        found = [f"{percent(share)} of {name}" for name, share in zip(fact.classes, fact.recall, strict=True)]
        return f"{text}The model found {listing(found)}."
    lowest = float(fact.recall.min())
    worst = [name for name, share in zip(fact.classes, fact.recall, strict=True) if share == lowest]
    least = f" Least found: {listing(worst, at_most=3)} ({percent(lowest)})." if len(worst) < len(fact.classes) else ""
    return f"{text}Most frequent: {fact.actual} taken for {fact.named}, {times}.{least}"


def unlikely(fact: Unlikely) -> str:
    """Whether there are more surprises than the model's own probabilities promise."""
    happened = f"{spelled(fact.n)} {'row' if fact.n == 1 else 'rows'}" if fact.n else "no row"
    return (
        f"A label that was given at most {percent(UNLIKELY)} came true in {happened}; by the model's own probabilities "
        f"it should be about {about(fact.expected) if fact.expected >= 0.05 else 'none'}."
    )


def weights(names: Sequence[str], labels: Sequence[str], are_words: Sequence[bool]) -> str:
    """Which inputs, and which words of a text, speak for which class; the strongest come first."""
    said = []
    for label in dict.fromkeys(labels):
        own = [i for i, its in enumerate(labels) if its == label]
        words = [f"“{names[i]}”" for i in own if are_words[i]]
        parts = [names[i] for i in own if not are_words[i]]
        parts += [f"the word{'' if len(words) == 1 else 's'} {listing(words)}"] if words else []
        verb = "speaks" if len(own) == 1 else "speak"
        said.append(f"{listing(parts)} {verb} for {label}")
    text = "; ".join(said)
    return f"What counts most: {text}."


def drawn(n_left: int, n_weights: int, *, at_most: int) -> str:
    """How many of a model's weights a picture of the largest shows, where some of them are zero."""
    whole = f"{count(n_left)} of {count(n_weights)} weights are other than zero"
    if n_left <= at_most:
        return f"All {several(n_weights, 'weight')} are drawn." if n_left == n_weights else f"{whole}, all drawn."
    if n_left == n_weights:
        return f"The {count(at_most)} largest of {several(n_weights, 'weight')} are drawn."
    return f"{whole}; the {count(at_most)} largest are drawn."


def regions(first: str, second: str) -> str:
    """What the picture of two inputs shows."""
    return f"The probabilities over {first} and {second}, the only inputs of the model."
