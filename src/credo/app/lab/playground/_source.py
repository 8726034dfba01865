"""Python source of a model, which the page offers to copy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import credo
from credo.app.lab.playground._problem import Problem
from credo.kernels import Constant, Kernel, Linear, Product, Sum

_LINE_CHARACTERS = 100


def program(problem: Problem, lines: Sequence[str]) -> str:
    """A program that runs as it is: imports, the points, and the lines of a model."""
    if not problem.n:
        return "# There are no points yet: add some, and the code that fits them appears here.\n"
    used = sorted(set(re.findall(r"\b([A-Z]\w+)\(", "\n".join(lines))))
    others = [name for name in used if not hasattr(credo, name)]
    head = ["import numpy as np", f"from credo import {', '.join(name for name in used if name not in others)}"]
    head += [*([f"from credo.features import {', '.join(others)}"] if others else []), ""]
    if problem.task == "regression":
        data = [*_points(problem), "x, y = points[:, :1], points[:, 1]"]
    else:
        data = [*_points(problem), "X, labels = points[:, :2], points[:, 2].astype(int)"]
    return "\n".join([*head, *data, "", *lines]) + "\n"


def grid(problem: Problem, n: int) -> str:
    """The line that makes the grid of a plot."""
    low, high = problem.domain.x
    return f"grid = np.linspace({low!r}, {high!r}, {n})[:, None]"


def map_line(problem: Problem, columns: int, rows: int) -> str:
    """The lines that make the rows of a probability map."""
    (left, right), (low, high) = problem.domain.x, problem.domain.y
    across = f"np.linspace({left!r}, {right!r}, {columns}), np.linspace({low!r}, {high!r}, {rows})"
    return f"rows = np.dstack(np.meshgrid({across})).reshape(-1, 2)"


def prediction(rows: str, offset: float = 0.0) -> list[str]:
    """The lines that predict the mean and its interval at some rows; the offset is added to both."""
    bounds = "predicted.interval(0.95)"
    return [
        f"predicted = model.predict_dist({rows})",
        f"mean = {shift('predicted.mean', offset, '+')}",
        f"lower, upper = {f'(bound + {offset!r} for bound in {bounds})' if offset else bounds}",
    ]


def shift(name: str, offset: float, sign: str) -> str:
    """The source of a name plus or minus an offset."""
    return name if not offset else f"{name} {sign} {offset!r}"


def source(value: Any) -> str:
    """Python source of an estimator, kernel, list or number; evaluating it gives an equal value."""
    if isinstance(value, BaseEstimator):
        defaults = type(value)().get_params(deep=False) if not _needs_arguments(value) else {}
        parts = [
            f"{name}={source(given)}"
            for name, given in value.get_params(deep=False).items()
            if name not in defaults or not _same(given, defaults[name])
        ]
        return f"{type(value).__name__}({', '.join(parts)})"
    if isinstance(value, Kernel):
        return _kernel_source(value)
    if isinstance(value, np.ndarray):
        return source(value.tolist())
    if isinstance(value, list):
        return f"[{', '.join(source(entry) for entry in value)}]"
    if isinstance(value, tuple):
        return f"({', '.join(source(entry) for entry in value)})"
    return repr(value.item() if isinstance(value, np.generic) else value)


def _kernel_source(kernel: Kernel) -> str:
    if isinstance(kernel, Sum):
        return " + ".join(_kernel_source(term) for term in kernel.terms)
    if isinstance(kernel, Product):
        return " * ".join(_kernel_source(term) for term in kernel.terms)
    if isinstance(kernel, Constant):
        return f"Constant({kernel.value!r})"
    arguments = [f"{name}={source(value)}" for name, value in kernel.params.items()]
    if isinstance(kernel, Linear):
        arguments += [f"center={source(kernel.center)}", f"scale={source(kernel.scale)}"]
    return f"{type(kernel).__name__}({', '.join(arguments)})"


def _needs_arguments(value: BaseEstimator) -> bool:
    """Whether the first argument of the class has no default."""
    return type(value).__name__ == "ModelAverage"


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and not isinstance(a, list | np.ndarray | BaseEstimator) and a == b


def _points(problem: Problem) -> list[str]:
    """The points as an array, a few on each line."""
    entries = [f"[{', '.join(f'{value:.12g}' for value in point)}]" for point in problem.points.tolist()]
    lines, line = ["points = np.array(["], "   "
    for entry in entries:
        if len(line) + len(entry) > _LINE_CHARACTERS:
            lines, line = [*lines, line], "   "
        line += f" {entry},"
    return [*lines, line, "])"]
