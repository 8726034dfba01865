"""Python source of a model, which the page offers to copy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import credo
from credo.app.lab.playground._problem import Problem

_LINE_CHARACTERS = 100


def program(problem: Problem, lines: Sequence[str]) -> str:
    """A program that runs as it is: imports, the points, and the lines of a model."""
    if not problem.n:
        return "# There are no points yet: add some, and the code that fits them appears here.\n"
    used = sorted(set(re.findall(r"\b([A-Z]\w+)\(", "\n".join(lines))))
    others = [name for name in used if not hasattr(credo, name)]
    head = ["import numpy as np", f"from credo import {', '.join(name for name in used if name not in others)}"]
    head += [*([f"from credo.features import {', '.join(others)}"] if others else [])]
    # A basis may need other imports.
    head += [*(line for line in lines if line.startswith("from ")), ""]
    lines = [line for line in lines if not line.startswith("from ")]
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
    """Python source of an estimator, with its kernel if it has one: evaluating it gives an equal one."""
    return " ".join(value.__repr__(N_CHAR_MAX=100_000).split())


def _points(problem: Problem) -> list[str]:
    """The points as an array, a few on each line."""
    entries = [f"[{', '.join(f'{value:.12g}' for value in point)}]" for point in problem.points.tolist()]
    lines, line = ["points = np.array(["], "   "
    for entry in entries:
        if len(line) + len(entry) > _LINE_CHARACTERS:
            lines, line = [*lines, line], "   "
        line += f" {entry},"
    return [*lines, line, "])"]
