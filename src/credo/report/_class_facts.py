"""What held-out predictions of classes show, as numbers; the sentences are made of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.metrics import Forecast, forecast
from credo.metrics._calibration_test import FEW as FEW
from credo.metrics._calibration_test import SMALL as SMALL
from credo.metrics._calibration_test import Calibration as Calibration
from credo.metrics._calibration_test import Confidence as Confidence
from credo.metrics._calibration_test import class_calibration
from credo.metrics._calibration_test import confidence as _confidence
from credo.plots import shorten
from credo.plots._roc import area as area_under_curve
from credo.selection import HeldOut

# A label of less than this probability is unlikely.
UNLIKELY = 0.05


@dataclass(frozen=True)
class Confusion:
    """The most frequent error; `recall` is the share of each class that was recognised."""

    classes: list[str]
    recall: NDArray[np.float64]
    wrong: int
    actual: str
    named: str
    times: int


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
    return _confidence(held.y, held.dist)


def calibration(held: HeldOut) -> Calibration:
    """The calibration error beside that of calibrated probabilities."""
    return class_calibration(held.y, held.dist)


def confusion(held: HeldOut, target: str = "y") -> Confusion:
    """Which classes are confused."""
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


def most_frequent(held: HeldOut, target: str = "y") -> tuple[str, float]:
    """The most frequent class and its share."""
    classes, counts = np.unique(held.y, return_counts=True)
    return called(classes[counts.argmax()].item(), target), float(counts.max() / counts.sum())


def most_frequent_places(y: NDArray[Any], at_most: int) -> list[int]:
    """The places of the most frequent classes among all of them, in their order.

    >>> most_frequent_places(np.array(["a", "b", "b", "c", "c"]), 2)
    [1, 2]
    """
    _, counts = np.unique(y, return_counts=True)
    return sorted(np.argsort(-counts, kind="stable")[:at_most].tolist())


def unlikely(held: HeldOut) -> Unlikely:
    """How many rows had an improbable class, and how many should have by the predicted probabilities."""
    found = predicted(held)
    small = found.table <= UNLIKELY
    return Unlikely(
        int(np.sum(found.actual <= UNLIKELY)), float(found.table[small].sum()), float(found.actual.min())
    )  # fmt: skip
