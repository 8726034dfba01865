"""What is measured on held-out rows, of numbers and of classes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.distributions import Distribution
from credo.metrics import accuracy, brier, calibration_error, point, rmse

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Task:
    """What is predicted: `rows` gives numbers for each row of a fold, `scores` the means over all held-out rows."""

    name: str
    rows: Callable[[Vector, Distribution], dict[str, Vector]]
    scores: Callable[[Vector, Distribution, Mapping[str, Vector]], dict[str, float]]


def _of_numbers(y: Vector, dist: Distribution) -> dict[str, Vector]:
    lower, upper = dist.interval(0.95)
    return {
        "point": point(dist),
        "inside": ((lower <= y) & (y <= upper)).astype(np.float64),
        "width": upper - lower,
        "log_density": dist.log_prob(y),
        "crps": dist.crps(y),
    }


def _number_scores(y: Vector, dist: Distribution, rows: Mapping[str, Vector]) -> dict[str, float]:
    return {
        "log_score": float(rows["log_density"].mean()),
        "rmse": rmse(y, rows["point"]),
        "crps": float(rows["crps"].mean()),
        "coverage": float(rows["inside"].mean()),
    }


def _of_classes(y: Vector, dist: Distribution) -> dict[str, Vector]:
    # A Categorical refuses labels that its model never saw; all folds together know them.
    return {"likeliest": np.asarray(dist.probs if dist.probs.ndim == 1 else dist.probs.max(axis=1))}  # type: ignore[attr-defined]


def _class_scores(y: Vector, dist: Distribution, rows: Mapping[str, Vector]) -> dict[str, float]:
    # Zero minus, so that a certain hit has the loss 0 and not −0.
    return {
        "log_loss": 0.0 - float(np.mean(dist.log_prob(y))),
        "brier": brier(y, dist),
        "accuracy": accuracy(y, dist),
        "calibration_error": calibration_error(y, dist),
    }


REGRESSION = Task("regression", _of_numbers, _number_scores)
CLASSIFICATION = Task("classification", _of_classes, _class_scores)
