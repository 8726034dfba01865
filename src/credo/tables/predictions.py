"""Predictions as a data frame, as `credo predict`, `Study.predict` and the model server give them."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.metrics import point, predictive
from credo.tables.errors import pandas


def predictions(model: Any, rows: Any, *, level: float = 0.95) -> Any:
    """The predictions of a fitted model for the rows of a table, as a data frame.

    For numbers: mean, std, lower, upper. For classes: predicted, and a probability for each class, such as p(spam). A
    model that knows its training range also gives `outside`, which names values outside of it and is empty otherwise.
    """
    frame = distribution_frame(predictive(model, rows), level=level, classes=getattr(model, "classes_", None))
    if hasattr(model, "outside"):
        frame["outside"] = model.outside(rows).reasons
    index = getattr(rows, "index", None)
    return frame if index is None else frame.set_axis(index, axis=0)


def table_predictions(model: Any, table: Any, *, level: float = 0.95, start: int = 0) -> Any:
    """The predictions for a table that was read, with the numbers of its rows and the columns that identify them.

    The target isn't used if the table has it; `start` rows were read before this part of the table.
    """
    target, preparation = getattr(model, "target", None), getattr(model, "preparation_", None)
    frame = table.drop(columns=[target]) if target in table.columns else table
    found = predictions(model, frame, level=level)
    for column in reversed([] if preparation is None else preparation.columns_):
        if column.kind == "identifier" and column.name in frame.columns and column.name not in found.columns:
            found.insert(0, column.name, frame[column.name])
    found.insert(0, "row", [start + int(label) + 1 for label in frame.index])
    return found


def distribution_frame(dist: Any, *, level: float, classes: Any = None) -> Any:
    """A predictive distribution as columns of a data frame."""
    pd = pandas()
    if hasattr(dist, "probs"):
        table = dist.probs if dist.probs.ndim == 2 else np.column_stack([1 - dist.probs, dist.probs])
        labels = np.asarray(dist.classes if classes is None and hasattr(dist, "classes") else classes)
        labels = np.array([0, 1]) if labels.ndim == 0 else labels
        columns: dict[str, Any] = {"predicted": labels[table.argmax(axis=1)]}
        columns |= {f"p({label})": table[:, k] for k, label in enumerate(labels.tolist())}
        return pd.DataFrame(columns)
    lower, upper = dist.interval(level)
    return pd.DataFrame({"mean": point(dist), "std": dist.std, "lower": lower, "upper": upper})
