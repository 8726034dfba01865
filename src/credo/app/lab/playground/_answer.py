"""The answer to a page: a model fitted to its points, and everything that is drawn of it."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic, perf_counter
from typing import Any

import numpy as np

from credo.app.lab.playground import _source
from credo.app.lab.playground._catalogue import MODELS
from credo.app.lab.playground._controls import Control
from credo.app.lab.playground._kernels import KernelControl, parameter_control
from credo.app.lab.playground._model import LEVEL, Evidence, Fitted, Model, Settings
from credo.app.lab.playground._problem import Problem, Refused, numbers, rounded
from credo.core.deadlines import TimeUp, until
from credo.core.notices import collected, on_one_line

CURVE, CLASS_CURVE, MOST_COLUMNS = 40, 20, 80
# With more points than this, a curve of a classifier has half as many values.
MANY = 150
# The most that an answer may take.
SECONDS = 15.0


@dataclass(frozen=True)
class Want:
    """What to compute beside the model itself."""

    grid: int = 160
    draws: int = 0
    prior: bool = False
    seed: int = 0
    cursor: float | None = None
    next: bool = False
    curve: str | None = None


def model_of(id: str, task: str) -> Model:
    """A model of the catalogue; raises `Refused` if there is none of this name for the task."""
    model = MODELS.get(id)
    if model is None:
        raise Refused(f"There is no model {id[:40]!r}; there are {', '.join(MODELS)}.")
    if task not in model.shows:
        raise Refused(f"{model.name} has no {task}.")
    return model


def answer(problem: Problem, model: Model, settings: Settings, want: Want) -> dict[str, Any]:
    """Fit the model and say what to draw; what goes wrong with the points becomes a note."""
    start = perf_counter()
    shown = _empty(settings)
    with collected() as warnings, until(monotonic() + SECONDS):
        try:
            shown |= _shown(problem, model, settings, want)
        except TimeUp:
            shown |= _failed(f"This took more than {SECONDS:.0f} seconds and was stopped; use fewer points.")
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            if isinstance(error, Refused):
                raise
            shown |= _failed(on_one_line(error))
    shown["notes"] = list(dict.fromkeys([*shown["notes"], *(" ".join(str(each).split()) for each in warnings)]))
    shown["seconds"] = rounded(perf_counter() - start, 3)
    return shown


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
    """What is shown where there is no fit."""
    return {"notes": [reason], "code": f"# {reason}\n", "evidence": {"value": None, "reason": reason}}


def _shown(problem: Problem, model: Model, settings: Settings, want: Want) -> dict[str, Any]:
    reason = lacking(problem, model)
    if reason:
        return _failed(reason)
    fitted = model.fit(problem, settings)
    evidence = fitted.evidence()
    shown: dict[str, Any] = {"notes": list(fitted.notes), "evidence": _evidence(evidence)}
    shown |= {"equation": fitted.equation().json(), "code": _code(problem, fitted, want)}
    if want.curve is not None:
        control, at = _slider(problem, model, settings, want.curve)
        if evidence.value is not None:
            shown["curve"] = _curve(problem, model, settings, want.curve, control, at)
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


def lacking(problem: Problem, model: Model) -> str:
    """Why there is nothing to fit, or nothing."""
    if problem.task == "classification" and len(problem.labels) < 2:
        return "Add points of at least two classes."
    if problem.n < model.least:
        return "Add a point." if model.least == 1 else f"{model.name} needs at least {model.least} points."
    return ""


def map_size(grid: int) -> tuple[int, int]:
    """Columns and rows of a probability map."""
    columns = max(2, min(grid, MOST_COLUMNS))
    return columns, max(2, round(0.75 * columns))


def _regression(problem: Problem, fitted: Fitted, want: Want) -> dict[str, Any] | None:
    grid = problem.grid(want.grid)
    band = fitted.band(grid)
    if band is None or not np.isfinite(band.mean).all():
        return None
    lower, upper = (None, None) if band.interval is None else map(numbers, band.interval)
    low, high = (None, None) if band.latent is None else map(numbers, band.latent)
    drawn = fitted.draws(grid, want.draws, prior=want.prior, seed=want.seed) if want.draws else None
    return {
        "x": numbers(grid[:, 0], 7),
        "mean": numbers(band.mean),
        "lower": None if upper is None else lower,
        "upper": None if lower is None else upper,
        "latent_lower": None if high is None else low,
        "latent_upper": None if low is None else high,
        "level": LEVEL,
        "draws": [] if drawn is None else numbers(drawn, 5) or [],
    }


def _classification(problem: Problem, fitted: Fitted, want: Want) -> dict[str, Any] | None:
    columns, rows = map_size(want.grid)
    found = fitted.probabilities(problem.map(columns, rows))
    if found is None or not np.isfinite(found).all():
        return None
    maps = np.round(found, 4).T.reshape(-1, rows, columns)
    return {
        "columns": columns,
        "rows": rows,
        "probability": maps[1].tolist() if len(maps) == 2 else maps.tolist(),
        "classes": len(maps),
        "labels": problem.labels,
    }


def _evidence(found: Evidence) -> dict[str, Any]:
    if found.value is None or not np.isfinite(found.value):
        return {"value": None, "reason": found.reason or "The evidence of these settings isn't finite."}
    parts = [{"label": label, "value": rounded(value, 7)} for label, value in found.parts]
    return {"value": rounded(found.value, 7), "parts": parts, "method": found.method, "label": found.label}


def _equivalent_kernel(problem: Problem, fitted: Fitted, cursor: float | None) -> dict[str, Any] | None:
    weights = fitted.equivalent_kernel(cursor) if cursor is not None else None
    if weights is None or not np.isfinite(weights).all():
        return None
    order = np.argsort(problem.X[:, 0], kind="stable")
    return {"x": numbers(problem.X[order, 0], 7), "y": numbers(weights[order]), "at": cursor}


def _next(fitted: Fitted, rows: Any) -> dict[str, Any] | None:
    found = fitted.next(rows)
    if found is None:
        return None
    place = dict(zip(("x", "y"), (rounded(value, 7) for value in found.at), strict=False))
    return {**place, found.measure: rounded(found.amount, 4), "why": found.why}


def _slider(problem: Problem, model: Model, settings: Settings, id: str) -> tuple[Control, float]:
    """The slider that a curve is over, and its present value."""
    controls = {control.id: control for control in model.controls(problem.task, problem.domain)}
    kernel = controls.get("kernel")
    if id.startswith("kernel.") and isinstance(kernel, KernelControl):
        control, at = parameter_control(kernel, settings["kernel"], id)
    elif id in controls and controls[id].kind == "slider":
        control, at = controls[id], settings[id]
    else:
        raise Refused(f"{model.name} has no slider {id[:60]!r}.")
    if not control.curve or "curve" not in model.shows[problem.task]:
        raise Refused(f"{model.name} has no curve over {control.label}.")
    return control, at


def _curve(
    problem: Problem, model: Model, settings: Settings, id: str, control: Control, at: float
) -> dict[str, Any] | None:
    """The log evidence over the range of one slider, the others held."""
    few = CLASS_CURVE if problem.n <= MANY else CLASS_CURVE // 2
    values = np.array(curve_values(control, at, CURVE if problem.task == "regression" else few))
    heights = np.array(model.curve(problem, settings, id, values.tolist()))
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


def _code(problem: Problem, fitted: Fitted, want: Want) -> str:
    if problem.task == "regression":
        place = _source.grid(problem, want.grid)
    else:
        place = _source.map_line(problem, *map_size(want.grid))
    return _source.program(problem, fitted.imports(), [place, *fitted.code()])
