"""What a study found out about its selected model, computed once: sentences, tiles and figures read it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from credo.core.wording import capital, count, number, p_value, percent, plural, shorten, whole_percent
from credo.distributions import Categorical, RightCensored
from credo.metrics import forecast, pit
from credo.metrics.calibration import (
    ALARM_Z,
    MIN_CALIBRATION_ROWS,
    NEGLIGIBLE_ERROR,
    Calibration,
    Confidence,
    Coverage,
    Uniformity,
    class_calibration,
    coverage_test,
    interval_probability,
    uniformity,
)
from credo.selection import BASELINE, NAIVE, Comparison, Gap, HeldOut, gap
from credo.study.checks import FEW_ROWS

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Folds:
    """How rows were held out: in `n_parts`, at random or, if `in_order`, each predicted from all rows before it.

    `groups` is the column whose values were held out whole.
    """

    n_rows: int
    n_held_out: int
    n_parts: int
    in_order: bool
    seed: int | None = None
    groups: str = ""

    def __str__(self) -> str:
        """A few words, as below a leaderboard."""
        if self.n_parts == 1:
            if self.in_order:
                return f"the last {plural(self.n_held_out, 'row')}"
            return (
                f"{count(self.n_held_out)} rows{f', all those of some values of {self.groups}' if self.groups else ''}"
            )
        of = f", all rows of a value of {self.groups} in one" if self.groups else ""
        return f"{self.n_parts} {'blocks in time order' if self.in_order else 'folds'}{of}"

    @property
    def method(self) -> str:
        """A sentence for the methods of a paper, without its full stop."""
        seed = "" if self.seed is None else f" (seed {self.seed})"
        if self.in_order:
            last = f"The last {plural(self.n_held_out, 'row')} in time order were"
            if self.n_parts == 1:
                return f"{last} predicted by models fitted to all earlier rows"
            return (
                f"{last} cut into {self.n_parts} blocks. Each block was predicted by models fitted to all earlier rows"
            )
        if self.n_parts == 1:
            what = f" as whole values of {self.groups}" if self.groups else ""
            drawn = f"{count(self.n_held_out)} of {plural(self.n_rows, 'row')}, drawn at random{what}{seed}"
            return f"{drawn}, were held out and predicted by models fitted to the other rows"
        what = f"values of {self.groups}, with all their rows," if self.groups else "rows"
        shuffled = f"The {what} were shuffled{seed} and cut into {self.n_parts} folds"
        return f"{shuffled}. Each fold was predicted by models fitted to the other folds"

    @property
    def of_each_row(self) -> str:
        """Which rows a held-out row was predicted from."""
        if not self.in_order:
            return "Each row was predicted from other rows, earlier and later ones."
        first = f"The first {plural(self.n_rows - self.n_held_out, 'row')} were used for training only."
        if self.n_parts == 1:
            return f"{first} The others were predicted from them."
        return f"{first} Each later block (dashed lines) was predicted from the rows before it."


@dataclass(frozen=True)
class Predicted:
    """Held-out predictions of numbers. Without a mean, `mean` is the median and `std` is infinite."""

    held: HeldOut

    @property
    def y(self) -> Vector:
        return self.held.y

    @cached_property
    def mean(self) -> Vector:
        return self.held.point

    @cached_property
    def std(self) -> Vector:
        return np.where(np.isnan(self.held.dist.std), np.inf, self.held.dist.std)

    @cached_property
    def interval(self) -> tuple[Vector, Vector]:
        return self.held.dist.interval(0.95)

    @cached_property
    def inside(self) -> NDArray[np.bool_]:
        return (self.interval[0] <= self.y) & (self.y <= self.interval[1])

    @cached_property
    def pit(self) -> Vector:
        return pit(self.y, self.held.dist, random_state=0)

    @cached_property
    def uniformity(self) -> Uniformity:
        return uniformity(self.pit)

    @cached_property
    def coverage(self) -> Coverage:
        """How many rows are inside their interval, and how many should be."""
        return coverage_test(self.inside, interval_probability(self.held.dist))

    @cached_property
    def rmse(self) -> float:
        with np.errstate(over="ignore"):
            return float(np.sqrt(np.average((self.y - self.mean) ** 2, weights=self.held.weight)))

    @cached_property
    def log_score(self) -> float:
        return float(np.average(self.held.log_score, weights=self.held.weight))

    def gain(self, other: Predicted) -> Gap:
        """The reduction of the squared error, compared with other predictions."""
        return gap((self.y - other.mean) ** 2, (self.y - self.mean) ** 2, self.held.weight)


@dataclass(frozen=True)
class Numbers:
    """Predictions of numbers beside the baseline's and, in time order, those of the last value.

    `reference` says what the baseline predicts if that isn't the mean of all rows.
    """

    held: Predicted
    baseline: Predicted | None
    naive: Predicted | None
    reference: str = ""

    @property
    def is_censored(self) -> bool:
        """Whether they are times until an event, of which some are censored."""
        return isinstance(self.held.held.dist, RightCensored)

    @cached_property
    def log_gain(self) -> Gap | None:
        """The log score above the baseline's."""
        held, base = self.held.held, self.baseline
        return None if base is None else gap(held.log_score, base.held.log_score, held.weight)

    @cached_property
    def r2(self) -> float | None:
        """The squared error that is saved, as a share of the baseline's; None without one, and for censored times."""
        if self.is_censored or self.baseline is None or not self.baseline.rmse > 0:
            return None
        return float(1 - (self.held.rmse / self.baseline.rmse) ** 2)

    @cached_property
    def is_useful(self) -> bool:
        """Whether the predictions are clearly better than the baseline's."""
        gain = None if self.baseline is None else self.held.gain(self.baseline)
        return gain is not None and gain.clear and gain.mean > 0


class Threshold(NamedTuple):
    """A class is predicted from this probability on, with recall and precision."""

    probability: float
    recall: float
    precision: float


@dataclass(frozen=True)
class Detection:
    """How well a class is found among `n` held-out rows: how many rows are of it, named it, and both.

    `threshold` is the probability with the highest F1 score; None unless it is higher than that of the prediction.
    """

    label: Any
    n: int
    actual: int
    named: int
    right: int
    threshold: Threshold | None = None

    @property
    def recall(self) -> float:
        """The share of the rows of the class that are predicted as such."""
        return self.right / self.actual if self.actual else 0.0

    @property
    def precision(self) -> float | None:
        """The share of the rows predicted as the class that are of it; None if there are none."""
        return self.right / self.named if self.named else None


@dataclass(frozen=True)
class Classes:
    """Predictions of classes beside the baseline's."""

    held: HeldOut
    loss: float
    baseline_loss: float | None
    gain: Gap | None

    @cached_property
    def forecast(self) -> Any:
        return forecast(self.held.y, self.held.dist)

    @cached_property
    def calibration(self) -> Calibration:
        return class_calibration(self.held.y, self.held.dist)

    @cached_property
    def frequent(self) -> tuple[Any, float]:
        """The most frequent class of the held-out rows, and its share."""
        labels, counts = np.unique(self.held.y, return_counts=True)
        return labels[counts.argmax()].item(), float(counts.max() / counts.sum())

    @cached_property
    def weakest(self) -> Detection:
        """The rarer of two classes; of more, the one with the lowest recall."""
        found = self.forecast
        k = len(found.classes)
        actual, named, right = (
            np.bincount(codes, minlength=k)
            for codes in (found.codes, found.predicted, found.codes[found.codes == found.predicted])
        )
        present = actual > 0
        worst = np.where(present, actual if k == 2 else right / np.maximum(actual, 1), np.inf).argmin()
        n_actual, n_named, n_right = (int(part[worst]) for part in (actual, named, right))
        made = Detection(found.classes[worst].item(), len(found.codes), n_actual, n_named, n_right)
        if k > 2:
            return made
        best, f1 = _best_threshold(found.table[:, worst], found.codes == worst)
        own = 2 * made.right / (made.actual + made.named)
        return replace(made, threshold=best if f1 > own else None)


def _in_order(dist: Any, order: Sequence[Any]) -> Any:
    """Probabilities of classes from the lowest to the highest, if they are on a scale."""
    if not order or not isinstance(dist, Categorical):
        return dist
    place = {label: k for k, label in enumerate(dist.classes.tolist())}
    columns = [place[label] for label in order if label in place]
    return Categorical(dist.probs[:, columns], classes=dist.classes[columns])


def _best_threshold(probability: Vector, event: NDArray[np.bool_]) -> tuple[Threshold, float]:
    """The threshold with the highest F1 score, 2 × right / (actual + named)."""
    order = np.argsort(-probability, kind="stable")
    sorted_p, right = probability[order], np.cumsum(event[order])
    named, actual = np.arange(1, len(order) + 1), int(event.sum())
    # Rows of equal probability are named together.
    f1 = np.where(np.append(sorted_p[1:] < sorted_p[:-1], True), 2 * right / (actual + named), -1.0)
    i = int(f1.argmax())
    return Threshold(float(sorted_p[i]), float(right[i] / actual), float(right[i] / named[i])), float(f1[i])


@dataclass(frozen=True)
class Facts:
    """The selected model, why it is selected, how it was tested and how it did.

    `words` say what the model is. Either `numbers` or `classes` is None.

    Examples
    --------
    >>> import pandas as pd
    >>> from credo.study import analyze
    >>> x = [float(i) for i in range(12)]
    >>> frame = pd.DataFrame({"dose": x, "growth": [2.0 * v + v % 3 for v in x]})
    >>> facts = analyze(frame, "growth", models=["linear"], progress=False).facts
    >>> str(facts.folds), facts.numbers.held.coverage.inside, round(facts.numbers.r2, 2)
    ('5 folds', 12, 0.98)
    """

    name: str
    words: str
    reason: str
    target: str
    folds: Folds
    numbers: Numbers | None = None
    classes: Classes | None = None

    @classmethod
    def of(cls, comparison: Comparison, name: str, *, reason: str, target: str, n_rows: int, seed: int) -> Self:
        """The facts of a comparison about one of its models."""
        held = comparison.held_out[name]
        base, naive = (None if name == other else comparison.held_out.get(other) for other in (BASELINE, NAIVE))
        n_held_out = max(len(one.y) for one in comparison.held_out.values())
        folds = Folds(n_rows, n_held_out, comparison.n_folds, comparison.in_order, seed, comparison.groups)
        found: dict[str, Any] = {}
        if comparison.task == "classification":
            known = None if base is None else comparison[BASELINE].held_out["log_loss"]
            gain = None if base is None else gap(held.log_score, base.log_score, held.weight)
            held = replace(held, dist=_in_order(held.dist, comparison.order))
            found["classes"] = Classes(held, comparison[name].held_out["log_loss"], known, gain)
        else:
            reference = "the mean of earlier rows" if folds.in_order else ""
            if comparison.exposure:
                reference = f"a constant {shorten(target)} per {shorten(comparison.exposure)}"
            beside, last = (None if one is None else Predicted(one) for one in (base, naive))
            found["numbers"] = Numbers(Predicted(held), beside, last, reference)
        return cls(name, comparison[name].words, reason, shorten(target), folds, **found)

    @property
    def reason_in_words(self) -> str:
        """The reason, and what the model is."""
        named = f"Selected: {self.name}"
        return self.reason.replace(named, f"{named} ({self.words})", 1) if self.words else self.reason

    @property
    def performance(self) -> list[str]:
        """How well held-out rows are predicted, in a few sentences."""
        found = self.numbers
        if found is not None:
            naive = [] if found.naive is None else [naive_sentence(found.held, found.naive)]
            covered = coverage_sentence(found.held.coverage, found.held.uniformity)
            return [log_score_sentence(found) if found.is_censored else error_sentence(found), *naive, covered]
        assert self.classes is not None
        accuracy = accuracy_sentence(self.classes.calibration.confidence, self.frequent)
        loss = loss_sentence(self.classes.loss, self.classes.baseline_loss, self.classes.gain)
        return [f"{accuracy} {loss}", self.detection]

    @property
    def frequent(self) -> tuple[str, float]:
        """The most frequent class of the held-out rows, and its share."""
        assert self.classes is not None
        label, share = self.classes.frequent
        return class_name(label, self.target), share

    @property
    def detection(self) -> str:
        """Recall and precision of the class that is hardest to find, and the probability from which to predict it."""
        assert self.classes is not None
        found = self.classes.weakest
        name = class_name(found.label, self.target)
        precise = "it is never predicted" if found.precision is None else f"precision {percent(found.precision)}"
        rows = f"{count(found.right)} of {plural(found.actual, 'row')} found"
        said = f"Recall of {name}: {percent(found.recall)} ({rows}); {precise}."
        if found.threshold is None:
            return said
        p, recall, precision = found.threshold
        return (
            f"{said} Predicting {name} from a probability of {percent(p)} on, instead of 50 %, would give recall "
            f"{percent(recall)} and precision {percent(precision)} on these rows (highest F1 score)."
        )


def class_name(label: Any, target: str) -> str:
    """A class in a sentence: a word as it is, a number or truth value with the name of the target.

    >>> class_name("spam", "label"), class_name(1, "passed")
    ('spam', 'passed = 1')
    """
    return shorten(label if isinstance(label, str) else f"{target} = {label}")


def error_sentence(found: Numbers) -> str:
    """The RMSE beside that of the baseline, and whether chance explains the difference."""
    rmse = found.held.rmse
    text = f"RMSE on held-out rows: {number(rmse)}"
    if found.baseline is None or not found.baseline.rmse > 0 or not math.isfinite(rmse):
        return f"{text}."
    guess = f"the baseline, which always predicts {found.reference or 'the mean'}"
    saved, known = 1 - rmse / found.baseline.rmse, number(found.baseline.rmse)
    if saved >= 0.01:
        verdict = "" if found.held.gain(found.baseline).clear else ", a difference that chance could explain"
        return f"{text}; {guess}, has {known}. That is {whole_percent(saved)} below the baseline{verdict}."
    verdict = "no smaller than" if saved > -0.01 else "larger than"
    return f"{text}, {verdict} that of {guess} ({known})."


def log_score_sentence(found: Numbers) -> str:
    """The log score of times beside that of the baseline, and whether chance explains the difference."""
    text, gain = f"Log score of held-out rows: {number(found.held.log_score)}", found.log_gain
    if gain is None:
        return f"{text}."
    guess = "the baseline, one distribution for all rows"
    if gain.mean <= 0:
        return f"{text}, not above that of {guess}."
    chance = "" if gain.clear else ", a difference that chance could explain"
    return f"{text}, {number(gain.mean, digits=2)} above that of {guess}{chance}."


def naive_sentence(held: Predicted, naive: Predicted) -> str:
    """Whether forecasts are better than the last value before the held-out rows."""
    rmse = f"the last value, the naive forecast (RMSE {number(naive.rmse)})"
    if held.rmse >= naive.rmse:
        return f"It doesn't beat {rmse}."
    chance = "" if held.gain(naive).clear else ", a difference that chance could explain"
    return f"It beats {rmse}: its error is {whole_percent(1 - held.rmse / naive.rmse)} smaller{chance}."


def coverage_sentence(fact: Coverage, shape: Uniformity | None = None) -> str:
    """Whether the 95 % intervals hold 95 % of the rows; with `shape`, also whether those of other levels are right."""
    share, wide = fact.inside / fact.n, shape is not None and shape.too_wide
    narrow = shape is not None and shape.too_narrow
    bounds = count(fact.low) if fact.low == fact.high else f"{count(fact.low)}–{count(fact.high)}"
    if fact.low <= fact.inside <= fact.high:
        other = f". Intervals of lower levels are {'wider' if wide else 'narrower'} than they should be"
        verdict = f"as expected ({bounds}){other if wide or narrow else ''}"
    elif fact.inside < fact.low and wide:
        verdict = f"fewer than expected ({bounds}), although most intervals are wider than necessary"
    elif fact.inside < fact.low:
        what = "slightly overconfident" if share > 0.93 else "overconfident: treat its intervals as too narrow"
        verdict = f"fewer than expected ({bounds}); the model is {what}"
    else:
        what = "slightly underconfident" if share < 0.97 else "underconfident: its intervals are wider than necessary"
        verdict = f"more than expected ({bounds}); the model is {what}"
    rows = f"{count(fact.inside)} of {plural(fact.n, 'held-out row')} ({percent(share)})"
    return f"Coverage: {rows} are inside their 95 % interval, {verdict}."


def accuracy_sentence(fact: Confidence, frequent: tuple[str, float]) -> str:
    """How often the predicted class was right, and how often the most `frequent` class would be."""
    return (
        f"Accuracy on held-out rows: {percent(fact.share)} ({count(fact.right)} of {count(fact.n)}); always predicting "
        f"{frequent[0]}, the most frequent class, gives {percent(frequent[1])}."
    )


def loss_sentence(value: float, baseline: float | None = None, gain: Gap | None = None) -> str:
    """The log loss beside that of the baseline; `gain` is the paired difference of their log scores."""
    if not math.isfinite(value):
        return "Log loss is infinite: the model gave an observed label the probability zero."
    text, guess = f"Log loss: {number(value)}", "the baseline, which always predicts the class frequencies"
    if baseline is None or gain is None:
        return f"{text}."
    if gain.mean <= 0:
        return f"{text}, no better than {guess} ({number(baseline)})."
    chance = "" if gain.clear else ", a difference that chance could explain"
    return f"{text}; {guess}, has {number(baseline)}{chance}."


def bias_words(fact: Uniformity) -> str:
    """On which side of their predictions too many observations are; empty if chance explains it."""
    if fact.n < FEW_ROWS or abs(fact.bias) <= ALARM_Z:
        return ""
    side, verdict = ("above", "low") if fact.bias > 0 else ("below", "high")
    share = fact.above if fact.bias > 0 else 1 - fact.above
    return (
        f"biased: {whole_percent(share)} of the observations are {side} the median of their predictive "
        f"distributions, so predictions tend to be too {verdict}"
    )


def calibration_sentence(fact: Uniformity) -> str:
    """What the PIT histogram shows."""
    if fact.n < FEW_ROWS:
        return f"{plural(fact.n, 'row')} are too few to judge calibration."
    test = f"chi-square test, {p_value(fact.bars.p)}"
    signs = [_width(fact)] if fact.too_wide or fact.too_narrow else []
    signs += filter(None, [bias_words(fact)])
    if not signs and fact.is_flat:
        return f"No sign of miscalibration in {plural(fact.n, 'row')} ({test})."
    signs = signs or [f"the bars are less even than chance allows ({test})"]
    points = 100 * fact.distance
    close = ", too little to matter for most uses" if points < 2 else ""
    return (
        f"{'. '.join(map(capital, signs))}. Predicted and observed probabilities differ by up to "
        f"{number(points, digits=2)} percentage points{close}."
    )


def _width(fact: Uniformity) -> str:
    if not fact.too_wide:
        return "overconfident: too many observations are in the tails of their predictive distributions"
    if not fact.too_narrow:
        return "underconfident: too many observations are near the middle of their predictive distributions"
    outer = 1 - fact.coverage.inside / fact.coverage.n
    wide, narrow = ("most rows", "some") if fact.central > 0.5 else ("some rows", "others")
    return (
        f"{whole_percent(fact.central)} of the observations are in the middle half of their predictive distributions "
        f"(50 % expected) and {whole_percent(outer)} in the outermost 5 %: intervals are too wide for {wide} and too "
        f"narrow for {narrow}"
    )


_VERDICTS = {f"{way}confident": f"the model is {way}confident" for way in ("over", "under")}


def reliability_sentence(fact: Calibration) -> str:
    """What the reliability diagram shows."""
    if fact.confidence.n < MIN_CALIBRATION_ROWS:
        return f"{plural(fact.confidence.n, 'row')} are too few to judge calibration."
    text = capital(_error(fact))
    if not fact.verdict:
        return f"{text}: no sign of miscalibration."
    return f"{text}: {_VERDICTS.get(fact.verdict, 'some probabilities are off')}{_close(fact)}."


def _error(fact: Calibration) -> str:
    points, chance = (number(100 * value, digits=2) for value in (fact.error, fact.chance))
    differ = f"predicted and observed frequencies differ by {points} percentage points on average"
    return f"{differ} ({chance} expected by chance)"


def _close(fact: Calibration) -> str:
    return ", too little to matter for most uses" if fact.error < NEGLIGIBLE_ERROR else ""
