"""Labels of any kind beside the probabilities that a model gave them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.plots._labels import shorten

# Probabilities come from sums of many terms: this much outside [0, 1], or away from a sum of one, is rounding.
_SLACK = 1e-6


@dataclass(frozen=True)
class Forecast:
    """What happened, as places in `classes`, and the probability of each class (n_rows, n_classes)."""

    codes: NDArray[np.intp]
    table: NDArray[np.float64]
    classes: list[Any]


def forecast(y: ArrayLike, prediction: Any, classes: Sequence[Any] | None = None) -> Forecast:
    """Labels and probabilities, of a distribution or of an array, brought into one order.

    An array of one dimension, as a Bernoulli, holds the probability of the second class. Unless they are said, the
    classes of an array are those found in y, or the numbers that stand for as many classes. A distribution that knows
    its classes is brought into the order of those that are said.
    """
    found = labels("y", y)
    own = getattr(prediction, "classes", None)
    table = _table(getattr(prediction, "probs", prediction), len(found))
    own = _guessed(found, table.shape[1], classes) if own is None else np.asarray(own).tolist()
    wanted = own if classes is None else labels("classes", classes)
    if len(own) != table.shape[1] or len(set(wanted)) != len(wanted) or set(wanted) != set(own):
        raise ValueError(
            f"the predictions are of {table.shape[1]} classes, {shown(own)}; classes names {shown(wanted)}"
        )
    table = table[:, places("classes", wanted, own)]
    return Forecast(places("y", found, wanted), table, wanted)


def labels(name: str, values: Any) -> list[Any]:
    """Labels as Python values, one for each row; a missing one is refused."""
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} must hold one label for each row; got an array of shape {array.shape}")
    if not len(array):
        raise ValueError(f"there is nothing to draw: {name} is empty")
    result = array.tolist()
    for row, label in enumerate(result):
        # NaN is the one value that differs from itself; pandas' NA compares as neither.
        if label is None or not isinstance(label == label, bool) or label != label:
            raise ValueError(f"{name} has no label in row {row}: {label!r}; leave such rows out")
    return result


def ordered(values: list[Any]) -> list[Any]:
    """The distinct labels in the order of a classifier's `classes_`."""
    try:
        return sorted(set(values))
    except TypeError:
        return sorted(set(values), key=lambda label: (type(label).__name__, str(label)))


def places(name: str, values: list[Any], classes: Sequence[Any]) -> NDArray[np.intp]:
    """Where each label stands among the classes."""
    index = {label: place for place, label in enumerate(classes)}
    unknown = next((label for label in values if label not in index), None)
    if unknown is not None:
        row = values.index(unknown)
        raise ValueError(f"{name} holds {unknown!r} in row {row}, which is none of the classes {shown(classes)}")
    return np.array([index[label] for label in values], dtype=np.intp)


def title(label: Any, *, name: str | None = None, width: int = 24) -> str:
    """A class as a figure names it: a word as it is, a number as the value of y, or of what `name` says.

    >>> title("spam"), title(-1.0), title(True), title(2, name="grade")
    ('spam', 'y = −1', 'y = True', 'grade = 2')
    """
    if isinstance(label, str):
        return shorten(label, width=width)
    value = f" = {word(label)}"
    return shorten(name or "y", width=max(width - len(value), 8)) + value


def word(label: Any) -> str:
    """A label alone: a number with a minus sign for a hyphen, and no decimals where it has none."""
    text = f"{label:g}" if isinstance(label, float) else str(label)
    return text if isinstance(label, str) else text.replace("-", "−")


def shown(classes: Sequence[Any]) -> str:
    """The classes in an error message; some of them where there are many."""
    more = f", … ({len(classes)} in all)" if len(classes) > 10 else ""
    return ", ".join(map(repr, list(classes)[:10])) + more


def _table(probs: Any, n_rows: int) -> NDArray[np.float64]:
    """A column of probabilities for each class."""
    try:
        table = np.asarray(probs, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            "predictions must be probabilities, as model.predict_dist(X) or model.predict_proba(X) gives them; "
            f"got a {type(probs).__name__}"
        ) from None
    if table.ndim == 2 and table.shape[1] == 1:
        table = table[:, 0]
    if table.ndim not in (1, 2) or len(table) != n_rows:
        raise ValueError(
            f"predictions must have one row for each of the {n_rows} labels: a probability of the second class, or one "
            f"column for each class; got shape {table.shape}"
        )
    bad = ~((table >= -_SLACK) & (table <= 1 + _SLACK))
    if bad.any():
        raise ValueError(
            f"probabilities lie between 0 and 1; got {table[bad][0]:g} in row {np.argwhere(bad)[0][0]}. Scores of a "
            "classifier without probabilities can't be drawn here"
        )
    if table.ndim == 1:
        table = np.clip(table, 0.0, 1.0)
        return np.column_stack([1.0 - table, table])
    off = np.abs(table.sum(axis=1) - 1.0)
    if off.max() > 1e-3:
        row = int(off.argmax())
        raise ValueError(f"each row of probabilities sums to one; row {row} sums to {table[row].sum():g}")
    return np.clip(table, 0.0, 1.0)


def _guessed(found: list[Any], n_classes: int, said: Sequence[Any] | None) -> list[Any]:
    if said is not None:
        classes = labels("classes", said)
        if len(classes) != n_classes:
            raise ValueError(f"the predictions are of {n_classes} classes, and classes names {shown(classes)}")
        return classes
    present = ordered(found)
    if len(present) == n_classes:
        return present
    usual: list[list[Any]] = [list(range(n_classes))]
    if n_classes == 2:
        usual.append([-1, 1])
    for classes in usual:
        if set(present) <= set(classes):
            return classes
    raise ValueError(
        f"the predictions are of {n_classes} classes, and y holds {shown(present)}: say which classes the columns "
        "stand for by classes=, as in classes=model.classes_"
    )
