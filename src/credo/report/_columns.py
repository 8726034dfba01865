"""The table of columns, with a small histogram of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.io.extras import pandas
from credo.io.preparation.dates import timestamps
from credo.io.preparation.kinds import profile
from credo.io.tables.columns import numbers, present_mask
from credo.plots import shorten
from credo.report._numbers import count, datum, percent, whole_percent

# How many columns are listed.
MAX_COLUMNS = 100
_BINS = 18
_WIDTH, _HEIGHT = 108.0, 22.0


@dataclass(frozen=True)
class Line:
    """A column in the report; `path` is the SVG path of its histogram, if it has one."""

    name: str
    kind: str
    missing: str
    values: str
    detail: str
    path: str


def target_line(name: str, y: NDArray[Any], *, classes: bool = False) -> Line:
    """The line of the target."""
    if classes:
        return Line(shorten(name, width=60), "target", "0", _levels(pandas().Series(y)), "", "")
    return Line(shorten(name, width=60), "target", "0", _spread(y), "", histogram(y))


def lines(columns: Sequence[Any], frame: Any) -> list[Line]:
    """The lines of the columns, with the kinds that the preparation found."""
    return [_line(column, frame) for column in columns[:MAX_COLUMNS]]


def histogram(values: NDArray[np.float64]) -> str:
    """The SVG path of a histogram in a box of 108 × 22; empty if the values don't differ.

    >>> histogram(np.array([1.0, 1.0]))
    ''
    """
    values = values[np.isfinite(values)]
    # A range that overflows, or is lost in rounding, can't be divided into bins.
    with np.errstate(over="ignore"):
        span = np.ptp(values) if len(values) else 0.0
    if not np.isfinite(span) or span <= 1e-12 * np.abs(values).max(initial=0.0):
        return ""
    counts, _ = np.histogram(values, bins=_BINS)
    step = _WIDTH / _BINS
    # A bin that isn't empty stays visible.
    heights = np.where(counts > 0, np.maximum(_HEIGHT * counts / counts.max(), 0.8), 0.0)
    return "".join(
        f"M{i * step + 0.4:.1f} {_HEIGHT:g}v{-height:.1f}h{step - 0.8:.1f}v{height:.1f}z"
        for i, height in enumerate(heights)
        if height
    )


def _line(column: Any, frame: Any) -> Line:
    values = frame[column.name]
    path, text = "", ""
    if column.kind == "numeric":
        path, text = _numeric(values)
    elif column.kind == "date":
        path, text = _dates(values)
    elif column.kind == "categorical":
        text = _levels(values)
    elif column.kind in ("text", "identifier"):
        text = f"{count(int(column.n_distinct))} different"
    share = column.n_missing / max(1, len(frame))
    missing = f"{count(column.n_missing)} ({percent(share)})" if column.n_missing else "0"
    detail = "" if column.detail == text else str(column.detail)
    return Line(shorten(column.name, width=60), column.kind, missing, text, detail, path)


def _numeric(values: Any) -> tuple[str, str]:
    found, odd = numbers(values, present_mask(values))
    # Yes and no are numbers for a model; a reader wants their frequencies.
    if len(odd) > 0.5 * len(values):
        return "", _levels(values)
    return histogram(found), _spread(found)


def _dates(values: Any) -> tuple[str, str]:
    found = profile("", values)
    if found.date_format is None or not found.n_present:
        return "", ""
    stamps = timestamps(values, found.present, found.date_format)
    known = stamps[~np.isnat(stamps)]
    days = (known - known.min()) / np.timedelta64(1, "D")
    return histogram(np.asarray(days, dtype=np.float64)), f"{str(known.min())[:10]} to {str(known.max())[:10]}"


def _spread(values: NDArray[np.float64]) -> str:
    values = values[np.isfinite(values)]
    if not len(values):
        return ""
    low, middle, high = np.quantile(values, (0.0, 0.5, 1.0))
    if low == high:
        return f"always {datum(float(low))}"
    return f"{datum(float(low))} to {datum(float(high))}, median {datum(float(middle))}"


def _levels(values: Any) -> str:
    present = values.dropna()
    if not len(present):
        return ""
    # Equal counts in the order of first appearance, so that equal tables give equal pages.
    counts = present.astype(str).value_counts(sort=False).sort_values(ascending=False, kind="stable")
    top = [f"{shorten(level, width=24)}: {whole_percent(n / len(present))}" for level, n in counts.head(3).items()]
    rest = f", {count(len(counts) - 3)} more" if len(counts) > 3 else ""
    return ", ".join(top) + rest
