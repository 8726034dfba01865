"""Requests of the page, checked: bounded points, known names, and sentences for what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.app.lab.playground._answer import Want, model_of
from credo.app.lab.playground._catalogue import DRAWS, GRID, POINTS
from credo.app.lab.playground._model import Model, Settings
from credo.app.lab.playground._problem import Array, Domain, Problem, Refused, as_points, is_number

LARGEST, CLASSES = 1e9, 3
_WANTS = ("grid", "draws", "draws_from", "seed", "cursor", "next", "curve", "learn", "page")


@dataclass(frozen=True)
class Question:
    """A checked request for an answer."""

    problem: Problem
    model: Model
    settings: Settings
    want: Want
    learn: bool
    page: str


def read(body: Any) -> Question:
    """The request in a JSON body; raises `Refused`."""
    body = _object(body, "The request", ("task", "points", "domain", "model", "want"))
    task = body.get("task")
    if task not in ("regression", "classification"):
        raise Refused('The task must be "regression" or "classification".')
    problem = Problem(task, _points(body.get("points", []), task), read_domain(body.get("domain")))
    chosen = _object(body.get("model"), "The model", ("id", "settings"))
    if not isinstance(chosen.get("id"), str):
        raise Refused("The model must have an id.")
    model = model_of(chosen["id"], task)
    settings = model.settings(problem, chosen.get("settings") or {})
    asked = _object(body.get("want") or {}, "What is wanted", _WANTS)
    page = asked.get("page", "")
    if not isinstance(page, str) or len(page) > 64:
        raise Refused("The page must be a text of at most 64 characters.")
    return Question(problem, model, settings, _want(asked), _flag(asked, "learn"), page)


def read_domain(value: Any) -> Domain:
    """The rectangle of the plot."""
    if value is None:
        return Domain()
    value = _object(value, "The domain", ("x", "y"))
    return Domain(*(_interval(value.get(axis), axis) for axis in ("x", "y")))


def _interval(value: Any, axis: str) -> tuple[float, float]:
    if not isinstance(value, list | tuple) or len(value) != 2 or not all(is_number(bound) for bound in value):
        raise Refused(f"The domain of {axis} must be two numbers.")
    low, high = float(value[0]), float(value[1])
    if not (abs(low) <= LARGEST and abs(high) <= LARGEST and high - low > 1e-6 * max(abs(low), abs(high), 1e-3)):
        raise Refused(f"The domain of {axis} must go from a smaller to a larger number within ±1e9.")
    return low, high


def _points(value: Any, task: str) -> Array:
    width = 2 if task == "regression" else 3
    if not isinstance(value, list) or len(value) > POINTS:
        raise Refused(f"The points must be a list of at most {POINTS}.")
    for point in value:
        if not isinstance(point, list) or len(point) != width or not all(is_number(entry) for entry in point):
            parts = "x and y" if task == "regression" else "x1, x2 and the class"
            raise Refused(f"Every point must have {width} numbers: {parts}.")
    points = as_points(value, task)
    if not (np.abs(points) <= LARGEST).all():
        raise Refused("Coordinates must lie within ±1e9.")
    if task == "classification" and not np.isin(points[:, 2], range(CLASSES)).all():
        raise Refused(f"Classes must be whole numbers from 0 to {CLASSES - 1}.")
    return points


def _want(asked: Mapping[str, Any]) -> Want:
    source = asked.get("draws_from", "posterior")
    if source not in ("posterior", "prior"):
        raise Refused('draws_from must be "posterior" or "prior".')
    cursor, curve = asked.get("cursor"), asked.get("curve")
    if cursor is not None and not (is_number(cursor) and abs(cursor) <= LARGEST):
        raise Refused("The cursor must be a number within ±1e9, or null.")
    if curve is not None and not isinstance(curve, str):
        raise Refused("The curve must be the id of a control, or null.")
    return Want(
        grid=_whole(asked, "grid", 2, GRID, 160),
        draws=_whole(asked, "draws", 0, DRAWS, 0),
        prior=source == "prior",
        seed=_whole(asked, "seed", 0, 2**32 - 1, 0),
        cursor=None if cursor is None else float(cursor),
        next=_flag(asked, "next"),
        curve=curve,
    )


def _object(value: Any, what: str, known: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise Refused(f"{what} must be an object with {', '.join(known)}.")
    for name in value:
        if name not in known:
            raise Refused(f"{what} has no member {str(name)[:40]!r}; it may have {', '.join(known)}.")
    return value


def _whole(asked: Mapping[str, Any], name: str, low: int, high: int, default: int) -> int:
    value = asked.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise Refused(f"{name} must be a whole number from {low} to {high}.")
    return value


def _flag(asked: Mapping[str, Any], name: str) -> bool:
    value = asked.get(name, False)
    if not isinstance(value, bool):
        raise Refused(f"{name} must be true or false.")
    return value
