"""Predictions in the order of time, of tables that have one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo import plots
from credo.io.preparation import time_column
from credo.plots import shorten
from credo.report import _facts as facts
from credo.report._figures import Figure, figure
from credo.report._numbers import count, number, several

_MAX_POINTS = 1000
_EPOCH = np.datetime64("1970-01-01")


def time_figure(held: facts.Predicted, frame: Any, *, n_folds: int, target: str) -> list[Figure]:
    """Predicted and actual values in the order of time, where the table has one."""
    found = time_column(frame)
    if found is None or found.repeated:
        return []
    dates = found.dates(found.values)
    days = found.values if dates is None else (dates - _EPOCH) / np.timedelta64(1, "D")
    rows = held.held.rows
    every = np.argsort(days[rows], kind="stable")
    order = every[-_MAX_POINTS:]
    picked = rows[order]
    blocks = _blocks(days, rows, n_folds)
    inside = (held.lower <= held.y) & (held.y <= held.upper)
    halves = np.array_split(every, 2)
    early, late = (float(np.sqrt(np.mean((held.y[part] - held.mean[part]) ** 2))) for part in halves)
    some = f" The last {count(_MAX_POINTS)} rows are drawn." if len(rows) > _MAX_POINTS else ""
    how = (
        f"The first {several(len(frame) - len(rows), 'row')} were used for training only. Each later block (dashed "
        "lines) was predicted from the rows before it."
        if blocks
        else "Each row was predicted from other rows, earlier and later ones."
    )
    return [
        figure(
            "time",
            "How do the predictions do over time?",
            lambda ax: plots.over_time(
                days[picked], held.y[order], held.mean[order], interval=(held.lower[order], held.upper[order]),
                blocks=blocks, dates=dates is not None, name=target, ax=ax,
            ),
            f"RMSE is {number(early)} in the earlier half of the held-out rows and {number(late)} in the later half. "
            f"{count(int(inside.sum()))} of {count(len(rows))} rows are inside the 95 % band.",
            f"Held-out predictions (line and band) and actual values (dots) by {shorten(found.name)}. {how}{some}",
            size=(9.6, 3.0),
        )
    ]  # fmt: skip


def _blocks(days: NDArray[np.float64], rows: NDArray[np.intp], n_folds: int) -> list[float]:
    """Where each held-out block begins, if each was predicted from the rows before it; else nothing."""
    parts = np.array_split(np.argsort(days, kind="stable"), n_folds + 1)
    if len(np.intersect1d(parts[0], rows)) or len(parts[0]) + len(rows) != len(days):
        return []
    return [float(days[part[0]]) for part in parts[1:] if len(part)]
