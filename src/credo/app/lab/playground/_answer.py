"""The answer to a page: a model fitted to its points, everything that is drawn, and settings that are learned.

At most two models learn at a time; a page's newer request stops its older one.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from time import monotonic, perf_counter
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, Field

from credo.app.lab.playground import _equations, _source
from credo.app.lab.playground._controls import Control
from credo.app.lab.playground._kernels import KernelControl, parameter_control
from credo.app.lab.playground._model import LEVEL, Evidence, Model, Settings
from credo.app.lab.playground._problem import Problem, numbers, rounded
from credo.app.lab.refused import Refused
from credo.core.deadlines import TimeUp, check, until
from credo.core.notices import collected, on_one_line

MAX_DRAWS, MAX_GRID = 30, 400
CURVE_POINTS, CLASS_CURVE_POINTS, MAX_MAP_COLUMNS = 40, 20, 80
# The time limit of an answer, and of learning.
SECONDS, MAX_LEARNERS = 15.0, 2
FAILURES = (ValueError, ArithmeticError, np.linalg.LinAlgError)


class Want(BaseModel, extra="forbid", frozen=True, strict=True):
    """What to compute besides the model itself; `page` identifies a page, whose newer requests stop older ones."""

    grid: int = Field(default=160, ge=2, le=MAX_GRID)
    draws: int = Field(default=0, ge=0, le=MAX_DRAWS)
    draws_from: Literal["posterior", "prior"] = "posterior"
    seed: int = Field(default=0, ge=0, lt=2**32)
    cursor: float | None = Field(default=None, ge=-1e9, le=1e9)
    next: bool = False
    curve: str | None = None
    learn: bool = False
    page: str = Field(default="", max_length=64)


def answer(problem: Problem, model: type[Model], settings: Settings, want: Want) -> dict[str, Any]:
    """Fit the model and return what to draw; problems with the points become notes."""
    start = perf_counter()
    shown = _empty(settings)
    with collected() as warnings, until(monotonic() + SECONDS):
        try:
            shown |= _shown(problem, model, settings, want)
        except TimeUp:
            shown |= _failed(f"This took more than {SECONDS:.0f} seconds and was stopped; use fewer points.")
        except FAILURES as error:
            shown |= _failed(on_one_line(error))
    shown["notes"] = list(dict.fromkeys([*shown["notes"], *_sentences(warnings)]))
    shown["seconds"] = rounded(perf_counter() - start, 3)
    return shown


def _sentences(warnings: Sequence[Any]) -> list[str]:
    return [" ".join(str(each).split()) for each in warnings]


def _empty(settings: Settings) -> dict[str, Any]:
    nothing: dict[str, Any] = dict.fromkeys(
        ("regression", "classification", "weights", "curve", "equivalent_kernel", "next", "bars")
    )
    return nothing | {
        "settings": settings,
        "evidence": {"value": None, "reason": "There is no fit yet."},
        "equation": {"mathml": "", "text": ""},
        "code": "",
        "notes": [],
    }


def _failed(reason: str) -> dict[str, Any]:
    """What is shown if there is no fit."""
    return {"notes": [reason], "code": f"# {reason}\n", "evidence": {"value": None, "reason": reason}}


def _shown(problem: Problem, model: type[Model], settings: Settings, want: Want) -> dict[str, Any]:
    reason = lacking(problem, model)
    if reason:
        return _failed(reason)
    fitted = model(problem, settings)
    evidence = fitted.evidence()
    shown: dict[str, Any] = {"notes": list(fitted.notes), "evidence": _evidence(evidence)}
    shown |= {"equation": _equations.shown(fitted.equation()), "code": _code(problem, fitted, want)}
    if want.curve is not None:
        control, at = _slider(fitted, want.curve)
        if evidence.value is not None:
            shown["curve"] = _curve(fitted, want.curve, control, at)
    if problem.task == "regression":
        shown["regression"] = _regression(problem, fitted, want)
        shown["equivalent_kernel"] = _equivalent_kernel(problem, fitted, want.cursor)
        rows = problem.grid(want.grid)
    else:
        shown["classification"] = _classification(problem, fitted, want)
        rows = problem.map(*map_size(want.grid)) if want.next else problem.X
    shown["next"] = _next(fitted, rows) if want.next else None
    weights, bars = fitted.weights(), fitted.bars()
    shown["weights"] = None if weights is None else numbers(weights)
    if bars is not None:
        title, labels, values = bars
        shown["bars"] = {"title": title, "labels": list(labels), "values": numbers(values)}
    return shown


def lacking(problem: Problem, model: type[Model]) -> str:
    """Why there is nothing to fit; empty if there is."""
    if problem.task == "classification" and len(problem.labels) < 2:
        return "Add points of at least two classes."
    if problem.n < model.least:
        return "Add a point." if model.least == 1 else f"{model.name} needs at least {model.least} points."
    return ""


def map_size(grid: int) -> tuple[int, int]:
    """Columns and rows of a probability map."""
    columns = max(2, min(grid, MAX_MAP_COLUMNS))
    return columns, max(2, round(0.75 * columns))


def _regression(problem: Problem, fitted: Model, want: Want) -> dict[str, Any] | None:
    grid = problem.grid(want.grid)
    band = fitted.band(grid)
    if not np.isfinite(band.mean).all():
        return None
    (lower, upper), (low, high) = (_pair(interval) for interval in (band.interval, band.latent))
    drawn = fitted.draws(grid, want.draws, prior=want.draws_from == "prior", seed=want.seed) if want.draws else None
    return {
        "x": numbers(grid[:, 0], 7),
        "mean": numbers(band.mean),
        "lower": lower,
        "upper": upper,
        "latent_lower": low,
        "latent_upper": high,
        "level": LEVEL,
        "draws": [] if drawn is None else numbers(drawn, 5) or [],
        "parts": [{"label": label, "y": numbers(values)} for label, values in fitted.parts(grid)],
    }


def _pair(interval: tuple[Any, Any] | None) -> tuple[Any, Any]:
    """Both bounds, or neither if one isn't finite."""
    found = (None, None) if interval is None else tuple(map(numbers, interval))
    return (None, None) if None in found else (found[0], found[1])


def _classification(problem: Problem, fitted: Model, want: Want) -> dict[str, Any] | None:
    columns, rows = map_size(want.grid)
    found = fitted.probabilities(problem.map(columns, rows))
    if not np.isfinite(found).all():
        return None
    maps, scores = np.round(found, 4).T.reshape(-1, rows, columns), fitted.scores(problem.map(columns, rows))
    return {
        "columns": columns,
        "rows": rows,
        "probability": maps[1].tolist() if len(maps) == 2 else maps.tolist(),
        "classes": len(maps),
        "labels": problem.labels,
        # Digits of each value, because a kernel's values far from all points are tiny and only their signs matter.
        "score": None
        if scores is None
        else [[rounded(s, 4) for s in row] for row in scores.reshape(rows, columns).tolist()],
        "cut": fitted.cut(),
    }


def _evidence(found: Evidence) -> dict[str, Any]:
    if found.value is None or not np.isfinite(found.value):
        return {"value": None, "reason": found.reason or "The evidence of these settings isn't finite."}
    parts = [{"label": label, "value": rounded(value, 7)} for label, value in found.parts]
    return {"value": rounded(found.value, 7), "parts": parts, "method": found.method, "label": found.label}


def _equivalent_kernel(problem: Problem, fitted: Model, cursor: float | None) -> dict[str, Any] | None:
    weights = fitted.equivalent_kernel(cursor) if cursor is not None else None
    if weights is None or not np.isfinite(weights).all():
        return None
    order = np.argsort(problem.X[:, 0], kind="stable")
    return {"x": numbers(problem.X[order, 0], 7), "y": numbers(weights[order]), "at": cursor}


def _next(fitted: Model, rows: Any) -> dict[str, Any] | None:
    found = fitted.next(rows)
    if found is None:
        return None
    place = dict(zip(("x", "y"), (rounded(value, 7) for value in found.at), strict=False))
    return {**place, found.measure: rounded(found.amount, 4), "why": found.why}


def _slider(fitted: Model, id: str) -> tuple[Control, float]:
    """The slider that a curve is over, and its present value."""
    task = fitted.problem.task
    controls = {control.id: control for control in fitted.controls(task, fitted.problem.domain)}
    kernel = controls.get("kernel")
    if id.startswith("kernel.") and isinstance(kernel, KernelControl):
        control, at = parameter_control(kernel, fitted.settings["kernel"], id)
    elif id in controls and controls[id].kind == "slider":
        control, at = controls[id], fitted.settings[id]
    else:
        raise Refused(f"{fitted.name} has no slider {id[:60]!r}.")
    if not control.curve or "curve" not in fitted.shows[task]:
        raise Refused(f"{fitted.name} has no curve over {control.label}.")
    return control, at


def _curve(fitted: Model, id: str, control: Control, at: float) -> dict[str, Any] | None:
    """The log evidence over the range of one slider, with the others fixed."""

    def height(value: float) -> float:
        check()
        try:
            found = fitted.with_value(id, value).evidence().value
        except FAILURES:
            found = None
        return np.nan if found is None else found

    # With many points, a curve of a classifier has half as many values.
    few = CLASS_CURVE_POINTS if fitted.problem.n <= 150 else CLASS_CURVE_POINTS // 2
    values = np.array(curve_values(control, at, CURVE_POINTS if fitted.problem.task == "regression" else few))
    heights = np.array([height(value) for value in values.tolist()])
    known = np.isfinite(heights)
    if not known.any():
        return None
    return {
        "control": id,
        "x": [rounded(value) for value in values[known].tolist()],
        "y": numbers(heights[known], 7),
        "scale": control.scale,
        "at": at,
        "label": "log evidence",
    }


def curve_values(control: Control, at: float, n: int) -> list[float]:
    """About n values of a slider's range, widened to contain the present one."""
    low, high = min(control.low, at), max(control.high, at)
    if control.scale == "log":
        return np.geomspace(low, high, n).tolist()
    values = np.linspace(low, high, n)
    return np.unique(values.round() if control.step >= 1 else values).tolist()


def _code(problem: Problem, fitted: Model, want: Want) -> str:
    if problem.task == "regression":
        place = _source.grid(problem, want.grid)
    else:
        place = _source.map_line(problem, *map_size(want.grid))
    return _source.program(problem, [place, *fitted.code()])


class Learners:
    """The requests to learn of all pages."""

    def __init__(self) -> None:
        self._lock, self._slots = threading.Lock(), threading.Semaphore(MAX_LEARNERS)
        self._stops: dict[str, threading.Event] = {}

    def learn(
        self, page: str, problem: Problem, model: type[Model], settings: Settings, seconds: float = SECONDS
    ) -> tuple[Settings, list[str]]:
        """Learned settings and notes; raises `Refused` if a newer request of the page arrives."""
        if "learn" not in model.shows[problem.task]:
            raise Refused(f"{model.name} has nothing to learn.")
        if problem.n < 2 or lacking(problem, model):
            return settings, ["Add more points to learn from."]
        stop = threading.Event()
        with self._lock:
            older = self._stops.get(page)
            if page:
                self._stops[page] = stop
        if older is not None:
            older.set()
        if not self._slots.acquire(timeout=SECONDS):
            raise Refused("Too many models are learning; try again when they are done.", 409)
        try:
            return _learned(problem, model, settings, seconds, stop)
        finally:
            self._slots.release()
            with self._lock:
                if self._stops.get(page) is stop:
                    del self._stops[page]


def _learned(
    problem: Problem, model: type[Model], settings: Settings, seconds: float, stop: threading.Event
) -> tuple[Settings, list[str]]:
    with collected() as warnings, until(monotonic() + seconds, stop.is_set):
        try:
            learned, notes = model.learn(problem, settings)
        except TimeUp:
            if stop.is_set():
                raise Refused("A newer request replaced this one.", 409) from None
            return settings, [f"Learning took more than {seconds:.0f} seconds; the settings are unchanged."]
        except FAILURES as error:
            return settings, [f"Nothing was learned: {on_one_line(error)}"]
    return learned, [*notes, *_sentences(warnings)]
