"""The scores computed on held-out rows for regression and classification: names, formats, functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.distributions import Distribution
from credo.metrics import accuracy, brier, calibration_error, point, rmse

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Measure:
    """A column of the leaderboard: its title, a `brief` one for narrow tables, and which direction is better.

    `sign` is 1 if higher is better, −1 if lower is, and 0 if neither. Logarithms have a fixed number of `decimals`,
    because their differences matter. Shares are written in per cent, other numbers with significant digits.

    Examples
    --------
    >>> from credo.selection import MEASURES
    >>> MEASURES["crps"].title, MEASURES["crps"].sign
    ('CRPS', -1)
    """

    title: str
    way: str = ""
    sign: int = 0
    decimals: int | None = None
    is_share: bool = False
    brief: str = ""

    @property
    def short(self) -> str:
        """The title for a narrow column."""
        return self.brief or self.title


# Every number of the leaderboard by its name, for tables, terminal and report alike.
MEASURES: Mapping[str, Measure] = {
    "log_score": Measure("log score", "higher is better", 1, decimals=4),
    "rmse": Measure("RMSE", "lower is better", -1),
    "crps": Measure("CRPS", "lower is better", -1),
    "coverage": Measure("95 % coverage", "near 95 %", is_share=True, brief="coverage"),
    "log_loss": Measure("log loss", "lower is better", -1, decimals=4),
    "brier": Measure("Brier score", "lower is better", -1, decimals=4, brief="Brier"),
    "accuracy": Measure("accuracy", "higher is better", 1, is_share=True),
    "calibration_error": Measure("calibration error", "near chance", is_share=True, brief="calib error"),
    "log_evidence": Measure("log evidence", "higher is better", 1, decimals=2),
    "evidence_method": Measure("evidence by"),
    "model_probability": Measure("model probability", "higher is better", 1, is_share=True),
    "bic": Measure("BIC", "lower is better", -1, decimals=2),
    "description_length": Measure("description length (bits)", "lower is better", -1, decimals=2),
    "seconds": Measure("seconds"),
}


@dataclass(frozen=True)
class Task:
    """What is predicted, and its `measures`.

    `rows` returns the scores of each row of a fold, `scores` the means over all held-out rows. A model that predicts no
    distribution has only the score `point_measure`; `point_predictions` says what it predicts.
    """

    name: str
    measures: tuple[str, ...]
    point_measure: str
    point_predictions: str
    rows: Callable[[Vector, Distribution], dict[str, Vector]]
    scores: Callable[[Vector, Distribution, Mapping[str, Vector]], dict[str, float]]

    def point_score(self, y: NDArray[Any], predicted: NDArray[Any]) -> dict[str, float]:
        """The score of predictions without a distribution."""
        name = self.point_measure
        return {name: rmse(y, predicted) if name == "rmse" else float(np.mean(y == predicted))}

    def note(self, name: str) -> str:
        """Why a model that predicts no distribution has only one score."""
        *absent, last = [MEASURES[key].title for key in self.measures if key != self.point_measure]
        return f"{name} predicts {self.point_predictions} (it has no predict_dist): no {', '.join(absent)} or {last}."


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
    # Scores need all classes: a fold's Categorical has no probability for labels that its model never saw.
    return {"likeliest": np.asarray(dist.probs if dist.probs.ndim == 1 else dist.probs.max(axis=1))}  # type: ignore[attr-defined]


def _class_scores(y: Vector, dist: Distribution, rows: Mapping[str, Vector]) -> dict[str, float]:
    # 0.0 − x instead of −x, so that a loss of zero isn't printed as −0.
    return {
        "log_loss": 0.0 - float(np.mean(dist.log_prob(y))),
        "brier": brier(y, dist),
        "accuracy": accuracy(y, dist),
        "calibration_error": calibration_error(y, dist),
    }


REGRESSION = Task(
    "regression",
    ("log_score", "rmse", "crps", "coverage"),
    "rmse",
    "numbers without uncertainty",
    _of_numbers,
    _number_scores,
)
CLASSIFICATION = Task(
    "classification",
    ("log_loss", "brier", "accuracy", "calibration_error"),
    "accuracy",
    "labels without probabilities",
    _of_classes,
    _class_scores,
)
