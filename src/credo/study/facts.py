"""What a study found out about its selected model, computed once: sentences, tiles and figures read it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from credo.core.wording import capital, count, number, p_value, percent, plural, whole_percent
from credo.distributions import RightCensored
from credo.metrics import forecast, pit, point
from credo.metrics.calibration import (
    ALARM_Z,
    MIN_CALIBRATION_ROWS,
    NEGLIGIBLE_ERROR,
    Calibration,
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
        return point(self.held.dist)

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

    `words` say what the model is. `numbers` or `classes` is None, both if the model predicts no distribution.

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
    def of(
        cls, comparison: Comparison, *, target: str, n_rows: int, seed: int | None, name: str = "", reason: str = ""
    ) -> Self:
        """The facts of a comparison about a model, by default the selected one."""
        name, reason = name or comparison.selected, reason or comparison.reason
        held, base = comparison.held_out.get(name), comparison.held_out.get(BASELINE)
        n_held_out = max((len(one.y) for one in comparison.held_out.values()), default=n_rows)
        folds = Folds(n_rows, n_held_out, comparison.n_folds, comparison.in_order, seed, comparison.groups)
        words = comparison[name].words
        if held is None:
            return cls(name, words, reason, target, folds)
        if comparison.task == "classification":
            known = comparison[BASELINE].held_out["log_loss"] if base is not None else None
            gain = None if base is None else gap(held.log_score, base.log_score, held.weight)
            classes = Classes(held, comparison[name].held_out["log_loss"], known, gain)
            return cls(name, words, reason, target, folds, classes=classes)
        naive = comparison.held_out.get(NAIVE) if name != NAIVE else None
        others = (None if one is None else Predicted(one) for one in (base, naive))
        reference = "the mean of earlier rows" if folds.in_order else ""
        if comparison.exposure:
            reference = f"a constant {target} per {comparison.exposure}"
        return cls(name, words, reason, target, folds, Numbers(Predicted(held), *others, reference))

    def class_name(self, label: Any) -> str:
        """A class in a sentence: a word as it is, a number or truth value with the name of the target."""
        return label if isinstance(label, str) else f"{self.target} = {label}"

    @property
    def reason_in_words(self) -> str:
        """The reason, and what the model is."""
        named = f"Selected: {self.name}"
        return self.reason.replace(named, f"{named} ({self.words})", 1) if self.words else self.reason

    @property
    def performance(self) -> str:
        """How well held-out rows are predicted, in a sentence or two."""
        n = self.folds.n_held_out
        if self.numbers is not None:
            return f"On {plural(n, 'held-out row')} {self._error(self.numbers)}, and {self._inside(self.numbers)}."
        if self.classes is None:
            return ""
        sure, (frequent, share) = self.classes.calibration.confidence, self.classes.frequent
        return (
            f"Its accuracy on {plural(n, 'held-out row')} is {percent(sure.share)} (log loss {self.classes.loss:.3f}); "
            f"always predicting {self.class_name(frequent)} gives {percent(share)}. {self.detection}"
        )

    def _error(self, found: Numbers) -> str:
        """The squared error beside the baseline's; for censored times the log score."""
        if found.is_censored and found.log_gain is not None:
            gain = found.log_gain
            above = f"{number(gain.mean, digits=2)} above" if gain.mean > 0 else "not above"
            chance = "" if gain.clear or gain.mean <= 0 else ", a difference that chance could explain"
            return f"its log score is {above} that of one distribution for all rows{chance}"
        r2 = found.r2 or 0.0
        if not found.reference:
            if r2 < 0:
                return "it explains none of the variance (its RMSE is above that of the baseline)"
            return f"it explains {whole_percent(r2)} of the variance"
        below = f"{whole_percent(r2)} below" if r2 > 0 else "not below"
        said = f"its squared error is {below} that of {found.reference}"
        if found.naive is None:
            return said
        saved = 1 - (found.held.rmse / max(found.naive.rmse, 1e-300)) ** 2
        return f"{said}, {f'{whole_percent(saved)} below' if saved > 0 else 'not below'} that of the last value"

    @staticmethod
    def _inside(found: Numbers) -> str:
        fact = found.held.coverage
        verdict = ", too few" if fact.inside < fact.low else ", more than needed" if fact.inside > fact.high else ""
        return f"its 95 % intervals contain {percent(fact.inside / fact.n)}{verdict}"

    @property
    def detection(self) -> str:
        """Recall and precision of the class that is hardest to find, and the probability from which to predict it."""
        if self.classes is None:
            return ""
        found = self.classes.weakest
        name = self.class_name(found.label)
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
