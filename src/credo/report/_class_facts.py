"""What held-out predictions of classes show, as numbers; the sentences are made of these."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.metrics import Forecast, forecast, groups
from credo.plots import shorten
from credo.plots._roc import area as area_under_curve
from credo.report._facts import ALARM_Z
from credo.selection import HeldOut

# A label of less than this probability is unlikely.
UNLIKELY = 0.05
# Fewer rows than this can't show whether probabilities are honest.
FEW = 20
# A calibration error below this matters little for most uses.
SMALL = 0.02


@dataclass(frozen=True)
class Confidence:
    """How sure a model was of the labels it named, on average, and how often it was right.

    Were its probabilities true, the number of right labels would have the mean Σ cᵢ and the variance Σ cᵢ(1 − cᵢ): `z`
    is the standardised difference, negative where the model was too sure.
    """

    n: int
    right: int
    stated: float
    z: float

    @property
    def share(self) -> float:
        """The share of right labels."""
        return self.right / self.n

    @property
    def honest(self) -> bool:
        """Whether chance explains the difference."""
        return abs(self.z) <= ALARM_Z


@dataclass(frozen=True)
class Calibration:
    """Mean difference between predicted and observed shares over groups of rows, and what chance alone would leave.

    `z` measures the excess over chance in standard deviations.
    """

    error: float
    chance: float
    z: float
    confidence: Confidence

    @property
    def by_chance(self) -> bool:
        """Whether chance explains the error."""
        return self.z <= ALARM_Z

    @property
    def verdict(self) -> str:
        """The one judgement of the probabilities: "", "too sure", "too unsure", "off" or "slightly off".

        Nothing is said where chance explains both the error in groups of rows and the share of right labels.
        """
        if self.confidence.n < FEW or (self.by_chance and self.confidence.honest):
            return ""
        if not self.confidence.honest:
            return "too sure" if self.confidence.z < 0 else "too unsure"
        return "slightly off" if self.error < SMALL else "off"


@dataclass(frozen=True)
class Confusion:
    """The two classes that are mistaken most; `recall` is the share of each class that was found."""

    classes: list[str]
    recall: NDArray[np.float64]
    wrong: int
    actual: str
    named: str
    times: int


@dataclass(frozen=True)
class Guess:
    """The scores of giving every row the shares of the classes among the other rows, by Laplace's rule.

    `accuracy` is that of always naming `label`, the most frequent class.
    """

    label: str
    log_loss: float
    brier: float
    accuracy: float
    log_score: NDArray[np.float64]


@dataclass(frozen=True)
class Unlikely:
    """Rows whose own label had been held unlikely, how many there should be, and how small the smallest was."""

    n: int
    expected: float
    smallest: float


def called(label: Any, target: str) -> str:
    """A class as a sentence calls it: a word as it is, a number or truth value with the name of the target.

    >>> called("spam", "label"), called(1, "passed")
    ('spam', 'passed = 1')
    """
    return shorten(label if isinstance(label, str) else f"{target} = {label}")


def predicted(held: HeldOut) -> Forecast:
    """Labels and their probabilities."""
    return forecast(held.y, held.dist)


def confidence(held: HeldOut) -> Confidence:
    """How sure the model was, and how often right."""
    found = predicted(held)
    stated, right = found.table.max(axis=1), found.named == found.codes
    spread = float(np.sqrt(np.sum(stated * (1 - stated))))
    excess = float(right.sum() - stated.sum())
    # Certain and right everywhere leaves nothing to doubt; certain and wrong leaves no doubt at all.
    z = excess / spread if spread > 0 else 0.0 if excess == 0 else float(np.copysign(np.inf, excess))
    return Confidence(len(right), int(right.sum()), float(stated.mean()), z)


def calibration(held: HeldOut) -> Calibration:
    """The calibration error beside that of honest probabilities.

    In a group the events differ from their probabilities' sum by about a normal number of variance v = Σ p(1 − p): its
    size has the mean √(2v/π) and the variance (1 − 2/π) v.
    """
    probability, happened = predicted(held).event
    group = groups(probability)
    off = np.abs(np.bincount(group, weights=happened - probability))
    variance = np.bincount(group, weights=probability * (1 - probability))
    chance = float(np.sqrt(2 * variance / np.pi).sum())
    spread = float(np.sqrt((1 - 2 / np.pi) * variance.sum()))
    excess = float(off.sum()) - chance
    # A fraction of one row is no more than rounding where all probabilities are certain.
    z = excess / spread if spread > 0 else 0.0 if excess < 0.5 else np.inf
    return Calibration(float(off.sum()) / len(group), chance / len(group), z, confidence(held))


def confusion(held: HeldOut, target: str = "y") -> Confusion:
    """Which classes are taken for which."""
    found = predicted(held)
    n_classes = len(found.classes)
    counts = np.zeros((n_classes, n_classes), dtype=np.intp)
    np.add.at(counts, (found.codes, found.named), 1)
    recall = np.diag(counts) / np.maximum(counts.sum(axis=1), 1)
    wrong = counts - np.diag(np.diag(counts))
    actual, named = np.unravel_index(int(wrong.argmax()), wrong.shape)
    names = [called(label, target) for label in found.classes.tolist()]
    return Confusion(names, recall, int(wrong.sum()), names[actual], names[named], int(wrong.max()))


def area(held: HeldOut) -> tuple[float, float]:
    """The area under the curve of two classes, and its standard error."""
    return area_under_curve(*predicted(held).event)


def guess(y: NDArray[Any], target: str = "y") -> Guess:
    """Scores of (n_k + 1)/(n + K) with the row's own label taken out: what looks at no column would reach."""
    classes, codes = np.unique(y, return_inverse=True)
    codes = codes.ravel()
    n, n_classes = len(codes), len(classes)
    counts = np.bincount(codes)
    probability = (counts[None, :] + 1.0 - np.eye(n_classes)) / (n - 1 + n_classes)
    log_score = np.log(probability[np.arange(n_classes), np.arange(n_classes)])[codes]
    squares = np.square(probability - np.eye(n_classes)).sum(axis=1) / (2 if n_classes == 2 else 1)
    label = called(classes[counts.argmax()].item(), target)
    return Guess(label, -float(log_score.mean()), float(squares[codes].mean()), float(counts.max() / n), log_score)


def unlikely(held: HeldOut) -> Unlikely:
    """How many labels came true that the model had held unlikely, and how many should have by its own account."""
    found = predicted(held)
    small = found.table <= UNLIKELY
    return Unlikely(
        int(np.sum(found.actual <= UNLIKELY)), float(found.table[small].sum()), float(found.actual.min())
    )  # fmt: skip
