"""Predictions of new rows by the model of a job: one row from a form, or the rows of a table."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from credo.core.notices import collected
from credo.metrics import predictive
from credo.study._large import large_table
from credo.tables import Days, Levels, Numbers, TableModel, Texts, load, read_table
from credo.tables.errors import pandas, plural, shown
from credo.tables.predictions import distribution_frame, table_predictions

LEVEL = 0.95
# Points of the curve of a predictive density, and its range in standard deviations.
_POINTS, _REACH = 121, 4.0
# Rows of predictions, and choices of a category, that the page gets.
_SHOWN, _CHOICES = 100, 500


@lru_cache(maxsize=4)
def _model(path: str, modified: int) -> TableModel:
    found: TableModel = load(path)
    return found


def model_at(path: str) -> TableModel:
    """The model of a file, loaded once."""
    return _model(path, Path(path).stat().st_mtime_ns)


def form(model: str) -> dict[str, Any]:
    """The fields of the form: one for each column that the model uses, with its range or choices."""
    found = model_at(model)
    fields = [field(encoder) for encoder in found.preparation_.encoders_]
    return {"fields": fields, "target": found.target, "classes": is_classifier(found)}


def field(encoder: Any) -> dict[str, Any]:
    """One field of the form; its default is the median or the most frequent level."""
    if isinstance(encoder, Levels):
        shares = dict(zip([*encoder.levels, encoder.reference], encoder.shares, strict=False))
        choices = [*(encoder.order or encoder.levels), *encoder.pooled][:_CHOICES]
        default = max(shares, key=lambda level: shares[level]) if shares else choices[0]
        return {"name": encoder.name, "kind": "category", "choices": choices, "default": default}
    if isinstance(encoder, Texts):
        return {"name": encoder.name, "kind": "text", "default": ""}
    low, high, middle = (encoder.text(value) for value in (encoder.low, encoder.high, encoder.fill))
    if isinstance(encoder, Numbers) and encoder.words is not None:
        coded = encoder.words
        words = sorted(coded, key=lambda word: -coded[word])
        choices = [word for word in words if word not in ("0", "1")]
        choices = [word for word in choices if word not in ("true", "false")] or choices
        default = next(word for word in choices if coded[word] == round(encoder.fill))
        return {"name": encoder.name, "kind": "category", "choices": choices, "default": default}
    kind = "date" if isinstance(encoder, Days) else "number"
    return {"name": encoder.name, "kind": kind, "low": low, "high": high, "default": middle}


def predict(model: str, row: Mapping[str, Any], level: float = LEVEL) -> dict[str, Any]:
    """The prediction of one row: mean, interval and density, or the probability of each class."""
    found = model_at(model)
    frame = pandas().DataFrame({name: [_cell(found, name, value)] for name, value in row.items()})
    with collected() as notices:
        outside = found.outside(frame).reasons[0]
        dist = predictive(found, frame)
        table = distribution_frame(dist, level=level, classes=getattr(found, "classes_", None))
    notes = [str(notice) for notice in notices]
    if is_classifier(found):
        labels = [str(label) for label in np.asarray(found.classes_).tolist()]
        values = table.iloc[0, 1:].astype(float).tolist()
        answer = {"predicted": str(table["predicted"].iat[0]), "classes": labels, "probabilities": values}
        return answer | {"outside": outside, "notes": notes}
    numbers = {key: float(table[key].iat[0]) for key in ("mean", "std", "lower", "upper")}
    return numbers | {"level": level, "curve": density(found, frame, numbers), "outside": outside, "notes": notes}


def density(model: TableModel, frame: Any, numbers: Mapping[str, float]) -> dict[str, list[float]] | None:
    """The predictive density of a row over the range of the target that matters, for the picture."""
    width = max(numbers["upper"] - numbers["lower"], _REACH * numbers["std"])
    if not np.isfinite(width) or width <= 0:
        return None
    centre = (numbers["lower"] + numbers["upper"]) / 2
    x = np.linspace(centre - 0.9 * width, centre + 0.9 * width, _POINTS)
    many = frame.iloc[np.zeros(_POINTS, dtype=int)].reset_index(drop=True)
    with collected(), np.errstate(all="ignore"):
        y = np.exp(predictive(model, many).log_prob(x))
    return {"x": x.tolist(), "y": np.nan_to_num(y, nan=0.0, posinf=0.0).tolist()}


def predictions(path: str, name: str, model: str, output: str) -> dict[str, Any]:
    """Predict the rows of a table into a CSV file; returns its first rows for the page."""
    found, large = model_at(model), large_table(path, {})
    notes: list[str] = []
    if large is None:
        sheet = read_table(path)
        tables, notes = iter([sheet.frame]), list(sheet.notes)
    else:
        tables = large.frames()
    start = n_outside = 0
    with Path(output).open("w", encoding="utf-8", newline="") as file, collected() as notices:
        for table in tables:
            frame = table_predictions(found, table, level=LEVEL, start=start)
            frame.to_csv(file, index=False, header=not start, lineterminator="\n")
            n_outside += int((frame["outside"] != "").sum())
            start += len(table)
    with Path(output).open(encoding="utf-8", newline="") as file:
        header, *rows = islice(csv.reader(file), _SHOWN + 1)
    notes += dict.fromkeys(str(notice) for notice in notices)
    if n_outside:
        verb = "is" if n_outside == 1 else "are"
        notes.append(f"{plural(n_outside, 'row')} {verb} outside the training data: extrapolations, marked below.")
    first = [_short(header, row) for row in rows]
    return {"rows": start, "outside": n_outside, "header": header, "shown": first, "notes": notes}


def _short(header: list[str], row: list[str]) -> list[str]:
    """The cells of a row for the page: numbers to six digits, probabilities to four decimals."""
    cells = []
    for title, cell in zip(header, row, strict=True):
        try:
            cells.append(f"{float(cell):.4f}" if title.startswith("p(") else shown(float(cell)))
        except ValueError:
            cells.append(cell)
    return cells


def _cell(model: TableModel, name: str, value: Any) -> Any:
    """A value of the form as a cell: numbers where the column has numbers, None where the field is empty."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    encoder = next((found for found in model.preparation_.encoders_ if found.name == name), None)
    try:
        if isinstance(encoder, Numbers) and encoder.words is None:
            return float(value)
        return pandas().to_datetime(value) if isinstance(encoder, Days) else str(value)
    except (ValueError, OverflowError):
        what = "a date" if isinstance(encoder, Days) else "a number"
        raise ValueError(f"{name!r} is {what} in the training data, and {value!r} isn't one") from None
