"""Sentences about predictions of classes: each says what some facts mean for this data, and no more than they show."""

import math

from credo.report._class_facts import UNLIKELY, Calibration, Confidence, Confusion, Guess, Unlikely
from credo.report._facts import Gap
from credo.report._numbers import about, count, listing, number, percent, several, spelled

# Fewer rows than this can't show whether probabilities are honest.
_FEW = 20


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


def confidence(fact: Confidence) -> str:
    """Whether the model was as sure of its labels as it was right."""
    sure, right = percent(fact.stated), percent(fact.share)
    text = f"It was {sure} sure of the labels that it named, on average, and right in {right}"
    if fact.n < _FEW:
        return f"{text}; {several(fact.n, 'row')} can't show whether that is honest."
    if fact.honest:
        return f"{text}: no sign that its probabilities are wrong, as far as {several(fact.n, 'row')} can show."
    verdict = "it is surer than it should be" if fact.z < 0 else "it is less sure than it could be"
    return f"{text}: {verdict}, by more than chance explains."


def reliability(fact: Calibration) -> str:
    """What the reliability diagram shows."""
    if fact.confidence.n < _FEW:
        return f"With {several(fact.confidence.n, 'row')} the points can't tell honest probabilities from others."
    points, chance = (number(100 * value, digits=2) for value in (fact.error, fact.chance))
    text = f"Predicted and observed shares differ by {points} percentage points on average; chance alone makes {chance}"
    if fact.by_chance:
        return f"{text}: no sign that the probabilities are wrong."
    close = ", too little to matter for most uses" if fact.error < 0.02 else ""
    return f"{text}, so the probabilities are not quite what they say{close}."


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


def weights(names: list[str], labels: list[str]) -> str:
    """Which inputs count most, and for which class; the strongest come first."""
    groups = {label: [name for name, its in zip(names, labels, strict=True) if its == label] for label in labels}
    return f"What counts most: {'; '.join(f'for {label} {listing(group)}' for label, group in groups.items())}."


def regions(first: str, second: str) -> str:
    """What the picture of two inputs shows."""
    return f"The probabilities over {first} and {second}, the only inputs of the model."
