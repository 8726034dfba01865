"""Held-out predictions of classes: facts, sentences and figures."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo import plots
from credo.core.wording import about, number, percent, plural
from credo.metrics import forecast
from credo.plots import shorten
from credo.plots.probabilities import area
from credo.selection import HeldOut
from credo.study.facts import Facts, class_name, reliability_sentence
from credo.study.report._figure import MAX_POINTS, Figure, figure
from credo.tables import TableModel
from credo.tables.errors import pandas

_SQUARE = (4.7, 3.7)
# The side of a confusion matrix grows with the number of classes up to a limit.
_INCHES_PER_CLASS, _TALLEST = 0.34, 9.0
# The actual class of a row is unlikely below this probability.
_UNLIKELY = 0.05


def class_names(labels: Any, target: str) -> list[str]:
    """The names of all classes."""
    return [class_name(label, target) for label in labels.tolist()]


def auc_sentence(value: float, error: float, *, first: str, second: str) -> str:
    """What the area under the ROC curve means."""
    spread = "" if math.isnan(error) else f" ± {number(error, digits=2)}"
    return (
        f"AUC {number(value)}{spread}: of a random row of {second} and a random row of {first}, the row of {second} "
        f"gets the higher probability of {second} in {percent(value)} of all pairs (50 % by chance)."
    )


def confusion_sentence(facts: Facts) -> str:
    """The most frequent error, and how well the class that is hardest to find is found."""
    assert facts.classes is not None
    found = facts.classes.forecast
    names = class_names(found.classes, facts.target)
    wrong = np.zeros((len(names), len(names)), dtype=np.intp)
    np.add.at(wrong, (found.codes, found.predicted), found.codes != found.predicted)
    if not wrong.any():
        return "Every held-out row was classified correctly."
    actual, named = np.unravel_index(int(wrong.argmax()), wrong.shape)
    n, most = int(wrong.sum()), int(wrong.max())
    return (
        f"{plural(n, 'row')} {'was' if n == 1 else 'were'} misclassified. Most frequent error: {names[actual]} "
        f"predicted as {names[named]} ({plural(most, 'row')}). {facts.detection}"
    )


def unlikely_sentence(held: HeldOut) -> str:
    """How many rows had an unlikely actual class, and how many were expected by the predicted probabilities."""
    found = forecast(held.y, held.dist)
    n, expected = int(np.sum(found.actual <= _UNLIKELY)), float(found.table[found.table <= _UNLIKELY].sum())
    rows = plural(n, "row", spell=True) if n else "no row"
    return (
        f"In {rows} the actual class had a probability of at most {percent(_UNLIKELY)}; if the probabilities were "
        f"right, about {about(expected) if expected >= 0.05 else 'none'} would be expected."
    )


def class_figures(facts: Facts) -> list[Figure]:
    """Reliability, ROC curve of two classes, and confusion matrix of the selected model."""
    assert facts.classes is not None
    held, found, target = facts.classes.held, facts.classes.forecast, facts.target
    names, labels = class_names(found.classes, target), found.classes.tolist()
    n_classes, table = len(names), found.table
    shown = names if len(set(names)) == n_classes else labels
    y = [shown[code] for code in found.codes]
    of = f"of {names[1]}" if n_classes == 2 else "of the predicted class"
    figures = [
        figure(
            "reliability",
            "Are the probabilities calibrated?",
            lambda ax: plots.reliability(y, table, classes=shown, ax=ax),
            reliability_sentence(facts.classes.calibration),
            f"Held-out rows grouped by the predicted probability {of}: observed frequency with its 95 % interval. "
            "Calibrated: on the diagonal.",
            size=_SQUARE,
        )
    ]
    if n_classes == 2:
        figures.append(
            figure(
                "roc",
                f"How well are {names[1]} and {names[0]} separated?",
                lambda ax: plots.roc(y, table, classes=shown, ax=ax),
                auc_sentence(*area(*found.event), first=names[0], second=names[1]),
                "ROC curve: true against false positive rate for every threshold. Guessing: the diagonal. Perfect: "
                "the upper left corner.",
                size=_SQUARE,
            )
        )
    side = min(_TALLEST, max(_SQUARE[1], 1.6 + _INCHES_PER_CLASS * n_classes))
    figures.append(
        figure(
            "confusion",
            "Which classes are confused?",
            lambda ax: plots.confusion(held.y, found.classes[found.predicted], classes=labels, ax=ax),
            confusion_sentence(facts),
            "Confusion matrix of held-out rows: actual class (rows) by predicted class (columns), shaded by the share "
            "of the row. Correct predictions are on the diagonal.",
            size=(max(_SQUARE[0], side), side),
        )
    )
    return figures


def regions_figure(model: Any, frame: Any, y: NDArray[Any], *, target: str) -> list[Figure]:
    """The class probabilities over two numeric inputs, if the model has no others."""
    columns = _measured(model, frame)
    if len(columns) != 2:
        return []
    names = [shorten(name) for name in columns]
    # Classes that are numbers are named after the target.
    made = figure(
        "regions",
        "Where are the decision boundaries?",
        lambda ax: plots.decision_regions(model, frame[columns], y, target=target, max_points=MAX_POINTS, ax=ax),
        f"Class probabilities over {names[0]} and {names[1]}, the only inputs of the model.",
        "Model fitted to all rows. Stronger color: higher probability of that class. Line: two classes equally "
        "probable. Marks: the rows.",
        size=_SQUARE,
    )  # fmt: skip
    return [made]


def _measured(model: Any, frame: Any) -> list[str]:
    """The columns of a table model, if all of them are numbers with several values; otherwise nothing."""
    if not isinstance(model, TableModel):
        return []
    columns = model.preparation_.sources()
    is_number = pandas().api.types.is_numeric_dtype
    enough = all(is_number(frame[name]) and frame[name].notna().all() and frame[name].nunique() > 2 for name in columns)
    # The model takes no other columns, not even those that it doesn't use.
    return columns if enough and len(set(columns)) == len(columns) == len(model.feature_names_in_) else []
