"""Scores of models: information criteria of a fit, and measures on held-out rows with their names and formats."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.distributions import Distribution
from credo.metrics import accuracy, brier, calibration_error, final_step, point, rmse, rps


def bic(model: Any) -> float:
    """Schwarz's criterion −2 ln p(y | X, θ̂) + k ln n of a fitted model; smaller is better.

    −½ BIC approximates the log evidence of a model with k free parameters, up to a term that doesn't grow with n
    (Schwarz 1978). θ̂ should be the maximum likelihood estimate, or close to it: a strong penalty makes the criterion
    too large.

    Parameters
    ----------
    model : fitted estimator
        With `log_likelihood_`, `n_parameters_` and `n_observations_`; may be inside a Pipeline or a fitted search.

    Examples
    --------
    >>> from credo.linear import LinearRegression
    >>> from credo.selection import bic
    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0], [3.0]], [1.1, 2.9, 5.2, 6.8])
    >>> round(bic(model), 2)
    -0.04
    """
    fitted = final_step(model)
    if not has_likelihood(fitted):
        raise TypeError(
            f"{type(fitted).__name__} has no log_likelihood_ with n_parameters_ and n_observations_: use a "
            "maximum likelihood model, such as LinearRegression or LogisticRegression"
        )
    return -2.0 * float(fitted.log_likelihood_) + float(fitted.n_parameters_) * math.log(fitted.n_observations_)


def description_length(model: Any) -> float:
    """Two-part description length: the bits that encode the parameters, and then the targets given them.

        −log₂ p(y | X, θ̂) + (k/2) log₂ n  =  bic / (2 ln 2)                          (Rissanen 1978)

    A parameter is encoded to a precision of 1/√n, its standard error up to a constant: ½ log₂ n bits. For labels the
    first term is the length of their code; for numbers, up to a constant that depends on their unit.

    Parameters
    ----------
    model : fitted estimator, as for `bic`

    Examples
    --------
    >>> from credo.linear import LogisticRegression
    >>> from credo.selection import description_length
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], ["a", "b", "a", "b"])
    >>> round(description_length(model), 2)  # four labels, encoded one by one, take 4 bits
    5.39
    """
    return bic(model) / (2.0 * math.log(2.0))


def has_likelihood(model: Any) -> bool:
    """Whether a fitted model has a likelihood and counts of parameters and observations."""
    return hasattr(final_step(model), "log_likelihood_")


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


# Every number of the leaderboard by its name, for tables, terminal and report.
MEASURES: Mapping[str, Measure] = {
    "log_score": Measure("log score", "higher is better", 1, decimals=4),
    "rmse": Measure("RMSE", "lower is better", -1),
    "crps": Measure("CRPS", "lower is better", -1),
    "coverage": Measure("95 % coverage", "near 95 %", is_share=True, brief="coverage"),
    "log_loss": Measure("log loss", "lower is better", -1, decimals=4),
    "rps": Measure("ranked probability score", "lower is better", -1, decimals=4, brief="RPS"),
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

    `rows` returns the scores of each row of a fold, `scores` the means over all held-out rows: weighted ones of
    losses and errors, while coverage, accuracy and the calibration error count rows. A model that predicts no
    distribution has only the score `point_measure`; `point_predictions` says what it predicts.
    """

    name: str
    measures: tuple[str, ...]
    point_measure: str
    point_predictions: str
    rows: Callable[[Vector, Distribution], dict[str, Vector]]
    scores: Callable[[Vector, Distribution, Mapping[str, Vector], Vector | None], dict[str, float]]

    def point_score(self, y: NDArray[Any], predicted: NDArray[Any], weight: Vector | None = None) -> dict[str, float]:
        """The score of predictions without a distribution."""
        name = self.point_measure
        return {name: rmse(y, predicted, sample_weight=weight) if name == "rmse" else float(np.mean(y == predicted))}

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


def _number_scores(
    y: Vector, dist: Distribution, rows: Mapping[str, Vector], weight: Vector | None
) -> dict[str, float]:
    return {
        "log_score": float(np.average(rows["log_density"], weights=weight)),
        "rmse": rmse(y, rows["point"], sample_weight=weight),
        "crps": float(np.average(rows["crps"], weights=weight)),
        "coverage": float(rows["inside"].mean()),
    }


def _time_scores(y: Vector, dist: Distribution, rows: Mapping[str, Vector], weight: Vector | None) -> dict[str, float]:
    # The error of a censored time is unknown.
    return {name: value for name, value in _number_scores(y, dist, rows, weight).items() if name != "rmse"}


def _of_classes(y: Vector, dist: Distribution) -> dict[str, Vector]:
    # Scores need all classes: a fold's Categorical has no probability for labels that its model never saw.
    return {"likeliest": np.asarray(dist.probs if dist.probs.ndim == 1 else dist.probs.max(axis=1))}  # type: ignore[attr-defined]


def _class_scores(y: Vector, dist: Distribution, rows: Mapping[str, Vector], weight: Vector | None) -> dict[str, float]:
    # 0.0 − x instead of −x, so that a loss of zero isn't printed as −0.
    return {
        "log_loss": 0.0 - float(np.average(dist.log_prob(y), weights=weight)),
        "brier": brier(y, dist, sample_weight=weight),
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
# Times until an event, of which some are censored.
TIMES = Task(
    "regression",
    ("log_score", "crps", "coverage"),
    "rmse",
    "numbers without uncertainty",
    _of_numbers,
    _time_scores,
)
CLASSIFICATION = Task(
    "classification",
    ("log_loss", "brier", "accuracy", "calibration_error"),
    "accuracy",
    "labels without probabilities",
    _of_classes,
    _class_scores,
)


def on_a_scale(order: Sequence[Any]) -> Task:
    """Classification into classes on a scale, from the lowest to the highest: also by ranked probability score."""

    def scores(y: Vector, dist: Distribution, rows: Mapping[str, Vector], weight: Vector | None) -> dict[str, float]:
        found = _class_scores(y, dist, rows, weight)
        return {"log_loss": found.pop("log_loss"), "rps": rps(y, dist, order=order, sample_weight=weight), **found}

    first, *others = CLASSIFICATION.measures
    return replace(CLASSIFICATION, measures=(first, "rps", *others), scores=scores)
