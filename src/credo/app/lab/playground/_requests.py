"""Checks of the page's requests: bounded points and known names; errors are sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ValidationError

from credo.app.lab.playground._answer import Want
from credo.app.lab.playground._catalogue import MAX_POINTS, model_of
from credo.app.lab.playground._model import Model, Settings
from credo.app.lab.playground._problem import Array, Domain, Problem, as_points, is_number
from credo.app.lab.refused import Refused

MAX_COORDINATE, N_CLASSES = 1e9, 3


class _Chosen(BaseModel, extra="forbid"):
    """A model by its name, with settings."""

    id: str
    settings: dict[str, Any] | None = None


class _Asked(BaseModel, extra="forbid"):
    """The body of a request."""

    task: Literal["regression", "classification"]
    points: Any = []
    domain: Any = None
    model: _Chosen
    want: Want = Want()


@dataclass(frozen=True)
class Question:
    """A checked request for an answer."""

    problem: Problem
    model: type[Model]
    settings: Settings
    want: Want


def read(body: Any) -> Question:
    """The request in a JSON body; raises `Refused`."""
    try:
        asked = _Asked.model_validate(body, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        where = repr(first["loc"][-1])[:60] if first["loc"] else "The request"
        raise Refused(f"{where}: {first['msg']}.") from None
    problem = Problem(asked.task, _points(asked.points, asked.task), read_domain(asked.domain))
    model = model_of(asked.model.id, asked.task)
    return Question(problem, model, model.resolve(problem, asked.model.settings or {}), asked.want)


def read_domain(value: Any) -> Domain:
    """The rectangle of the plot."""
    if value is None:
        return Domain()
    if not isinstance(value, dict) or value.keys() - {"x", "y"}:
        raise Refused("The domain must be an object with x and y.")
    return Domain(*(_interval(value.get(axis), axis) for axis in ("x", "y")))


def _interval(value: Any, axis: str) -> tuple[float, float]:
    if not isinstance(value, list) or len(value) != 2 or not all(is_number(bound) for bound in value):
        raise Refused(f"The domain of {axis} must be two numbers.")
    low, high = float(value[0]), float(value[1])
    if not (
        abs(low) <= MAX_COORDINATE
        and abs(high) <= MAX_COORDINATE
        and high - low > 1e-6 * max(abs(low), abs(high), 1e-3)
    ):
        raise Refused(f"The domain of {axis} must go from a smaller to a larger number within ±1e9.")
    return low, high


def _points(value: Any, task: str) -> Array:
    width = 2 if task == "regression" else 3
    if not isinstance(value, list) or len(value) > MAX_POINTS:
        raise Refused(f"The points must be a list of at most {MAX_POINTS}.")
    for point in value:
        if not isinstance(point, list) or len(point) != width or not all(is_number(entry) for entry in point):
            parts = "x and y" if task == "regression" else "x1, x2 and the class"
            raise Refused(f"Every point must have {width} numbers: {parts}.")
    points = as_points(value, task)
    if not (np.abs(points) <= MAX_COORDINATE).all():
        raise Refused("Coordinates must lie within ±1e9.")
    if task == "classification" and not np.isin(points[:, 2], range(N_CLASSES)).all():
        raise Refused(f"Classes must be whole numbers from 0 to {N_CLASSES - 1}.")
    return points
