"""Predictions in the order of time, of tables that have one."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo import plots
from credo.io.preparation.dates import date_format, timestamps
from credo.io.tables.columns import present_mask, words
from credo.report import _facts as facts
from credo.report._figures import Figure, figure
from credo.report._numbers import count, number, several

# Fewer rows than this make no series.
_FEWEST = 12
MAX_POINTS = 1000


def time_figure(held: facts.Predicted, model: Any, frame: Any, *, n_folds: int, target: str) -> list[Figure]:
    """Predicted and actual values against the date, where the table has one date for each row."""
    found = _dates(model, frame)
    if found is None:
        return []
    name, days = found
    rows = held.held.rows
    order = np.argsort(days[rows], kind="stable")[-MAX_POINTS:]
    picked = rows[order]
    blocks = _blocks(days, rows, n_folds)
    inside = (held.lower <= held.y) & (held.y <= held.upper)
    halves = np.array_split(order, 2)
    early, late = (float(np.sqrt(np.mean((held.y[part] - held.mean[part]) ** 2))) for part in halves)
    some = f" The last {count(MAX_POINTS)} rows are drawn." if len(rows) > MAX_POINTS else ""
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
                blocks=blocks, name=target, ax=ax,
            ),
            f"RMSE is {number(early)} in the earlier half of the held-out rows and {number(late)} in the later half. "
            f"{count(int(inside[order].sum()))} of {count(len(order))} rows are inside the 95 % band.",
            f"Held-out predictions (line and band) and actual values (dots) by {name}. {how}{some}",
            size=(9.6, 3.0),
        )
    ]  # fmt: skip


def _blocks(days: NDArray[np.float64], rows: NDArray[np.intp], n_folds: int) -> list[float]:
    """Where each held-out block begins, if each was predicted from the rows before it; else nothing."""
    parts = np.array_split(np.argsort(days, kind="stable"), n_folds + 1)
    if len(np.intersect1d(parts[0], rows)) or len(parts[0]) + len(rows) != len(days):
        return []
    return [float(days[part[0]]) for part in parts[1:] if len(part)]


def _dates(model: Any, frame: Any) -> tuple[str, NDArray[np.float64]] | None:
    """The first date column that has a different date in almost every row, in days since 1970."""
    columns = getattr(getattr(model, "preparation_", None), "columns_", ())
    for column in columns:
        if column.kind != "date" or column.name not in frame or len(frame) < _FEWEST:
            continue
        values = frame[column.name]
        present = present_mask(values)
        written = words(values, present)
        style = date_format(values, written[present])
        if style is None or not present.all():
            continue
        stamps = timestamps(values, present, written, style)
        days = (stamps - np.datetime64("1970-01-01", "us")) / np.timedelta64(1, "D")
        if len(np.unique(days)) >= 0.9 * len(days) and np.isfinite(days).all():
            return str(column.name), np.asarray(days, dtype=np.float64)
    return None
