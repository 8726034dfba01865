"""From the results to one page of HTML, with the table of columns and a small histogram of each."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape
from numpy.typing import ArrayLike, NDArray

from credo._version import __version__
from credo.core.estimator import Description, describe
from credo.core.notices import collected
from credo.core.seeds import random_states
from credo.core.wording import count, datum, fixed, percent, plural, whole_percent
from credo.distributions import Limited
from credo.plots import shorten
from credo.selection import Comparison
from credo.study.ahead import Ahead
from credo.study.data import column_notes
from credo.study.facts import Facts, Folds
from credo.study.report import _leaderboard as leaderboard
from credo.study.report._results import classification, regression
from credo.study.report._surprises import Listing
from credo.tables.columns import as_frame, numbers, present_mask
from credo.tables.errors import pandas
from credo.tables.files import replacing
from credo.tables.kinds import profile, timestamps

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
    elif column.kind in ("text", "identifier", "unit"):
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


# The longest title.
_TITLE = 120
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "pandas", "matplotlib")


def render(
    *,
    title: str,
    sheet_notes: Sequence[str],
    preparation: Any,
    comparison: Comparison,
    models: Mapping[str, Any],
    target: str,
    frame: Any,
    y: ArrayLike,
    seed: int | None,
    source: str | None = None,
    date: str | None = None,
    notes: Sequence[Any] = (),
    facts: Facts | None = None,
    ahead: Ahead | None = None,
    fingerprint: str | None = None,
) -> str:
    """The report of a comparison as one HTML page that needs nothing else.

    Parameters
    ----------
    title : str
        The page's heading, best a question.
    sheet_notes : sequence of str
        What was noticed while the table was read.
    preparation : fitted credo.tables.Preparation
        For the columns and what was done to them.
    comparison : credo.selection.Comparison
    models : dict of name to credo.tables.TableModel
        Fitted on all rows, by the names of the comparison.
    target : str
        The name of what is predicted.
    frame : pandas.DataFrame
        The rows that were compared on, without the target.
    y : array of shape (n_samples,)
    seed : int or None
        For the record.
    source : str, optional
        What the table is called, printed below the heading.
    date : str, optional
        Printed as it is; without it the page holds no date, and equal input makes equal bytes.
    notes : sequence of str, or of objects with a text and an attribute `important`
        What else the reader should know, by default the notes of the comparison. Important notes (also among
        `sheet_notes`) are highlighted on top of the page.
    facts : Facts, optional
        What is known about the model that the page is about; by default the one that the comparison selects.
    ahead : Ahead, optional
        The forecast after the last row of a table in time order.
    fingerprint : str, optional
        A hash of the table, for the record.

    Examples
    --------
    >>> import pandas as pd
    >>> from credo import analyze
    >>> from credo.study.report import render
    >>> x = [float(i) for i in range(12)]
    >>> frame = pd.DataFrame({"dose": x, "growth": [2.0 * v + v % 3 for v in x]})
    >>> study = analyze(frame, "growth", models=["linear"], progress=False)
    >>> data, board = study.data, study.comparison
    >>> page = render(
    ...     title="What determines growth?", sheet_notes=[], preparation=data.preparation, comparison=board,
    ...     models=board.fitted, target="growth", frame=data.frame, y=data.y, seed=0,
    ... )
    >>> page.startswith("<!doctype html>"), "What determines growth?" in page
    (True, True)
    """
    classes = comparison.task == "classification"
    values = np.asarray(y) if classes else np.asarray(y, dtype=np.float64)
    frame = as_frame(frame)
    columns = [
        replace(column, kind="unit", detail="its rows are held out together")
        if column.name == comparison.groups
        else replace(column, detail="exposure")
        if column.name == comparison.exposure
        else column
        for column in preparation.columns_
    ]
    if facts is None and comparison.held_out:
        facts = Facts.of(comparison, target=target, n_rows=len(values), seed=seed)
    if facts is not None:
        facts = replace(facts, target=shorten(target))
    board = leaderboard.rows(comparison, selected=None if facts is None else facts.name)
    varies = len(np.unique(values)) > 1
    with collected():
        found = _results(comparison, facts, models, frame, values, ahead)
    of_table = [*sheet_notes, *column_notes(preparation, len(values), comparison.groups or None)]
    of_run = [*(notes or comparison.notes)]
    every = _unique([*of_run, *of_table])
    alerts = [note for note in every if getattr(note, "important", False)]
    return _template().render(
        title=shorten(title, width=_TITLE),
        source=None if source is None else shorten(source, width=_TITLE),
        style=Markup(_source("style.css")),
        size=[plural(len(values), "row"), plural(len(columns), "column"), f"target {shorten(target)}"],
        date=date,
        classes=classes,
        **found,
        alerts=alerts,
        head=leaderboard.head(comparison),
        board=board,
        board_words=leaderboard.words(comparison, None if facts is None else facts.name) if varies else [],
        of_whole_numbers=any(
            isinstance(held.dist, Limited) and held.dist.support.step > 0 for held in comparison.held_out.values()
        ),
        has_flags=any(cell.flag for row in board for cell in row.cells),
        has_evidence=leaderboard.has_evidence(comparison),
        lines=[target_line(target, values, classes=classes), *lines(columns, frame)],
        unlisted=max(0, len(columns) - MAX_COLUMNS),
        notes=_without(alerts, of_table),
        run_notes=_without([*alerts, *of_table], of_run),
        folds=facts.folds if facts is not None else Folds(len(values), len(values), comparison.n_folds, False, seed),
        dated=[shorten(column.name) for column in columns if column.kind == "date"],
        seed=seed,
        drawn_seeds=_seeds(models),
        settings={name: _settings(describe(model)) for name, model in models.items()},
        fingerprint=fingerprint,
        versions=_versions(),
    )


def write(path: str | os.PathLike[str], **content: Any) -> None:
    """Write the page that `render` makes of the same arguments, replacing the file in one step.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from credo import analyze
    >>> x = [float(i) for i in range(12)]
    >>> frame = pd.DataFrame({"dose": x, "growth": [2.0 * v + v % 3 for v in x]})
    >>> study = analyze(frame, "growth", models=["linear"], progress=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     study.report(Path(folder) / "report.html")  # calls `write` with the parts of the study
    ...     "<h1" in (Path(folder) / "report.html").read_text(encoding="utf-8")
    True
    """
    page = render(**content)
    # Half a surrogate pair, which a broken file name may contain, isn't valid UTF-8.
    with replacing(path) as handle:
        handle.write(page.encode("utf-8", errors="xmlcharrefreplace"))


def _results(
    comparison: Comparison, facts: Facts | None, models: Mapping[str, Any], frame: Any, y: Any, ahead: Ahead | None
) -> dict[str, Any]:
    """The parts of the page that need a fitted model."""
    nothing: dict[str, Any] = {key: [] for key in ("tiles", "figures", "curves", "class_key", "failures")}
    nothing |= dict.fromkeys(("best", "along", "drawn", "about_terms"), "")
    nothing |= dict.fromkeys(("has_process", "moved_together", "is_local", "key_marks", "key_lines"), False)
    nothing |= {"coefficients": None, "averaged": 1, "has_band": True, "classes_left": 0, "surprises": Listing()}
    if all(score.error is not None for score in comparison.scores):
        return nothing | {"answer": ["No model could be fitted; the leaderboard says why."]}
    if facts is None or (facts.numbers is None and facts.classes is None):
        return nothing | {"answer": ["None of these models predicts a distribution; the leaderboard has their errors."]}
    if comparison.task == "classification":
        return nothing | classification(comparison, facts, models, frame, y)
    return nothing | regression(comparison, facts, models, frame, y, ahead)


def _settings(found: Description) -> str:
    """The settings of a model; of an average, the weights of its members."""
    differ = len({weight for _, weight in found.members}) > 1
    weights = [f"{name} {fixed(weight, decimals=3)}" for name, weight in found.members if differ]
    own = [f"{name}={text}" for name, text in found.settings if not (weights and name == "estimators")]
    return ", ".join([*([f"weights: {'; '.join(weights)}"] if weights else []), *own])


def _seeds(models: Mapping[str, Any]) -> list[int]:
    """The seeds that models were fitted with."""
    found = [model.get_params()[name] for model in models.values() for name in random_states(model)]
    return sorted({int(seed) for seed in found if isinstance(seed, int | np.integer)})


def _versions() -> list[tuple[str, str]]:
    own = [("credo", __version__), ("python", platform.python_version())]
    return own + [(name, version(name)) for name in _LIBRARIES]


def _unique(notes: Sequence[Any]) -> list[Any]:
    """Notes without repetition; a repeated one is important if any of them is."""
    found: dict[str, Any] = {}
    for note in notes:
        known = found.setdefault(str(note), note)
        if getattr(note, "important", False) and not getattr(known, "important", False):
            found[str(note)] = note
    return list(found.values())


def _without(alerts: Sequence[Any], notes: Sequence[Any]) -> list[str]:
    """The texts of the notes that aren't among the alerts."""
    seen = {str(alert) for alert in alerts}
    return [str(note) for note in _unique(notes) if str(note) not in seen]


def _source(name: str) -> str:
    return files("credo.study.report").joinpath(name).read_text(encoding="utf-8")


@cache
def _template() -> Any:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["tie"] = _tie
    environment.filters["mark"] = _mark
    return environment.from_string(_source("template.html"))


def _tie(text: Any) -> Markup:
    """Text with non-breaking spaces in numbers, ranges and equations."""
    tied = str(text).replace(" %", "\u202f%").replace("y-axis", "y\u2011axis")
    tied = re.sub(r"(?<=\d)–(?=\d)", "\u2060–\u2060", tied)
    tied = re.sub(r"(?<=\w) ([=<]) (?=[\w−])", "\u00a0\\1\u00a0", tied)
    return escape(tied)


def _mark(text: str, name: str) -> Markup:
    """A sentence with a name in bold, but not inside a longer name, as "logistic" in "bayes-logistic"."""
    parts = re.split(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text, maxsplit=1) if name else [text]
    if len(parts) == 1:
        return _tie(text)
    return _tie(parts[0]) + Markup("<strong>{}</strong>").format(name) + _tie(parts[1])
