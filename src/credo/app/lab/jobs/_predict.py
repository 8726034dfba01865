"""Predictions of a row from the form of a job's model."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from credo.core.notices import collected
from credo.metrics import predictive
from credo.tables import Days, Levels, Numbers, TableModel, Texts, load
from credo.tables.errors import pandas
from credo.tables.table_model import predictions

LEVEL = 0.95
# Points of the curve of a predictive density, and its range in standard deviations.
_N_POINTS, _RANGE_STDS = 121, 4.0
# Choices of a category that the form offers.
_MAX_CHOICES = 500


@lru_cache(maxsize=4)
def model_at(path: Path) -> TableModel:
    """The model of a file, loaded once; every run has its own folder."""
    found: TableModel = load(path)
    return found


def form(model: Path) -> dict[str, Any]:
    """The fields of the form: one for each column that the model uses, with its range or choices."""
    found = model_at(model)
    fields = [field(encoder) for encoder in found.preparation_.encoders_]
    return {"fields": fields, "target": found.target, "classes": is_classifier(found)}


def field(encoder: Any) -> dict[str, Any]:
    """One field of the form; its default is the median or the most frequent level."""
    if isinstance(encoder, Levels):
        shares = dict(zip([*encoder.levels, encoder.reference], encoder.shares, strict=False))
        choices = [*(encoder.order or encoder.levels), *encoder.pooled][:_MAX_CHOICES]
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


def predict(model: Path, row: Mapping[str, Any], level: float = LEVEL) -> dict[str, Any]:
    """The prediction of one row: mean, interval and density, or the probability of each class."""
    found = model_at(model)
    frame = pandas().DataFrame({name: [_cell(found, name, value)] for name, value in row.items()})
    with collected() as notices:
        table = predictions(found, frame, level=level).iloc[0]
    answer = {"outside": table["outside"], "notes": [str(notice) for notice in notices]}
    if is_classifier(found):
        labels = [str(label) for label in np.asarray(found.classes_).tolist()]
        values = table.iloc[1 : 1 + len(labels)].astype(float).tolist()
        return answer | {"predicted": str(table["predicted"]), "classes": labels, "probabilities": values}
    numbers = {key: float(table[key]) for key in ("mean", "std", "lower", "upper")}
    return answer | numbers | {"level": level, "curve": density(found, frame, numbers)}


def density(model: TableModel, frame: Any, numbers: Mapping[str, float]) -> dict[str, list[float]] | None:
    """The predictive density of a row over the relevant range of the target."""
    width = max(numbers["upper"] - numbers["lower"], _RANGE_STDS * numbers["std"])
    if not np.isfinite(width) or width <= 0:
        return None
    centre = (numbers["lower"] + numbers["upper"]) / 2
    x = np.linspace(centre - 0.9 * width, centre + 0.9 * width, _N_POINTS)
    many = frame.iloc[np.zeros(_N_POINTS, dtype=int)].reset_index(drop=True)
    with collected(), np.errstate(all="ignore"):
        y = np.exp(predictive(model, many).log_prob(x))
    return {"x": x.tolist(), "y": np.nan_to_num(y, nan=0.0, posinf=0.0).tolist()}


def _cell(model: TableModel, name: str, value: Any) -> Any:
    """A value of the form as a cell: a number if the column has numbers, None if the field is empty."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    encoder = next((found for found in model.preparation_.encoders_ if found.name == name), None)
    try:
        if isinstance(encoder, Numbers) and encoder.words is None:
            return float(value)
        return pandas().to_datetime(value) if isinstance(encoder, Days) else str(value)
    except (ValueError, OverflowError):
        what = "a date" if isinstance(encoder, Days) else "a number"
        raise ValueError(f"{name!r} is {what} in the training data, but {value!r} isn't one") from None
