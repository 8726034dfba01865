"""From the results to one page of HTML, with the table of columns and a small histogram of each."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape
from numpy.typing import NDArray

from credo._version import versions
from credo.core.estimator import Description, describe
from credo.core.notices import collected
from credo.core.seeds import random_states
from credo.core.wording import count, datum, fixed, number, percent, plural, whole_percent
from credo.distributions import Limited
from credo.plots import shorten
from credo.study.report import _leaderboard as leaderboard
from credo.study.report._figure import Listing
from credo.study.report._results import classification, regression
from credo.study.study import Study
from credo.study.units import Known
from credo.tables import Days, Numbers
from credo.tables.errors import pandas
from credo.tables.files import replacing

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


def lines(columns: Sequence[Any], encoders: Sequence[Any], frame: Any) -> list[Line]:
    """The lines of the columns, with the kinds that the preparation found."""
    used = {encoder.name: encoder for encoder in encoders}
    return [_line(column, used.get(column.name), frame[column.name]) for column in columns[:MAX_COLUMNS]]


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


def _line(column: Any, encoder: Any, values: Any) -> Line:
    path, text = "", ""
    if isinstance(encoder, Days):
        path, text = histogram(encoder.values(values)), f"{encoder.text(encoder.low)} to {encoder.text(encoder.high)}"
    # Yes and no are numbers for a model; a reader wants their frequencies.
    elif isinstance(encoder, Numbers) and encoder.words is None:
        found = encoder.values(values)
        path, text = histogram(found), _spread(found)
    elif column.kind in ("numeric", "categorical"):
        text = _levels(values)
    elif column.kind in ("text", "identifier", "unit"):
        text = f"{count(int(column.n_distinct))} different"
    share = column.n_missing / max(1, len(values))
    missing = f"{count(column.n_missing)} ({percent(share)})" if column.n_missing else "0"
    detail = "" if column.detail == text else str(column.detail)
    return Line(shorten(column.name, width=60), column.kind, missing, text, detail, path)


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


def render(study: Study, *, date: str | None = None) -> str:
    """The report of a study as one HTML page that needs nothing else.

    Parameters
    ----------
    study : Study
    date : str, optional
        Printed as it is; without it the page holds no date, and equal studies make equal bytes.

    Examples
    --------
    >>> import pandas as pd
    >>> from credo import analyze
    >>> from credo.study.report import render
    >>> x = [float(i) for i in range(12)]
    >>> frame = pd.DataFrame({"dose": x, "growth": [2.0 * v + v % 3 for v in x]})
    >>> page = render(analyze(frame, "growth", models=["linear"], progress=False))
    >>> page.startswith("<!doctype html>"), "Predicting growth from 1 column" in page
    (True, True)
    """
    data, comparison, facts = study.data, study.comparison, study.facts
    classes, models = study.task == "classification", comparison.fitted
    every: Sequence[Any] = data.preparation.columns_
    columns = [
        # The page has a word for this kind, which isn't one that a column can be read as.
        replace(column, kind="unit", detail="its rows are held out together")
        if column.name == data.unit
        else replace(column, detail="exposure")
        if column.name == data.exposure
        else column
        for column in every
    ]
    board = leaderboard.rows(comparison, study.selected)
    with collected():
        found = (classification if classes else regression)(study)
    alerts = dict.fromkeys(note.text for note in study.notes if note.important)
    of_table = dict.fromkeys(note.text for note in data.notes if note.text not in alerts)
    of_run = dict.fromkeys(note.text for note in study.notes if not {note.text} & (alerts.keys() | of_table.keys()))
    return _template().render(
        _NOTHING
        | found
        | {
            "title": shorten(
                f"Predicting {study.target} from {plural(len(data.preparation.columns_), 'column')}", width=_TITLE
            ),
            "source": shorten(data.source, width=_TITLE),
            "style": Markup(_source("style.css")),
            "size": [plural(len(data.y), "row"), plural(len(columns), "column"), f"target {facts.target}"],
            "date": date,
            "classes": classes,
            "is_on_a_scale": bool(comparison.order),
            "alerts": list(alerts),
            "head": leaderboard.head(comparison),
            "board": board,
            "board_words": leaderboard.words(comparison, study.selected) if len(np.unique(data.y)) > 1 else [],
            "of_times": data.happened is not None,
            "of_whole_numbers": any(
                isinstance(held.dist, Limited) and held.dist.support.step > 0 for held in comparison.held_out.values()
            ),
            "has_flags": any(cell.flag for row in board for cell in row.cells),
            "has_evidence": leaderboard.has_evidence(comparison),
            "lines": [
                target_line(study.target, data.y, classes=classes),
                *lines(columns, data.preparation.encoders_, data.frame),
            ],
            "unlisted": max(0, len(columns) - MAX_COLUMNS),
            "notes": list(of_table),
            "run_notes": list(of_run),
            "folds": facts.folds,
            "dated": [shorten(column.name) for column in columns if column.kind == "date"],
            "drawn_seeds": _seeds(models),
            "settings": {name: _settings(describe(model)) for name, model in models.items()},
            "fingerprint": data.fingerprint,
            "units": [] if study.known is None else _unit_lines(study.known),
            "versions": versions().items(),
        }
    )


def write(path: str | os.PathLike[str], study: Study, *, date: str | None = None) -> None:
    """Write the page that `render` makes, replacing the file in one step.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from credo import analyze
    >>> from credo.study.report import write
    >>> x = [float(i) for i in range(12)]
    >>> frame = pd.DataFrame({"dose": x, "growth": [2.0 * v + v % 3 for v in x]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(Path(folder) / "report.html", analyze(frame, "growth", models=["linear"], progress=False))
    ...     "<h1" in (Path(folder) / "report.html").read_text(encoding="utf-8")
    True
    """
    page = render(study, date=date)
    # Half a surrogate pair, which a broken file name may contain, isn't valid UTF-8.
    with replacing(path) as handle:
        handle.write(page.encode("utf-8", errors="xmlcharrefreplace"))


# What the template reads and not every page has.
_NOTHING: dict[str, Any] = {
    **dict.fromkeys(("tiles", "figures", "curves", "class_key", "failures"), ()),
    **dict.fromkeys(("best", "along", "drawn", "about_terms"), ""),
    **dict.fromkeys(("has_process", "moved_together", "is_local", "key_marks", "key_lines", "coefficients"), False),
    "averaged": 1,
    "has_band": True,
    "classes_left": 0,
    "surprises": Listing(),
}


def _unit_lines(known: Known) -> list[tuple[str, list[str]]]:
    """Rows of a new and of a known unit, with their scores."""
    unit = shorten(known.unit)
    return [
        (f"{which} {unit}", [f"{own.log_score:.4f}", number(own.rmse), percent(own.coverage), number(own.width)])
        for which, own in (("new", known.new), ("known", known.known))
    ]


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
