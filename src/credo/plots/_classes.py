"""Classes: their labels and probabilities, and the colours and marks that distinguish them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.markers import MarkerStyle
from matplotlib.transforms import Affine2D
from numpy.typing import ArrayLike, NDArray

from credo.plots._data import feature_names, sample_rows
from credo.plots._labels import shorten
from credo.plots._style import ACCENT, ALERT

# Rounding errors of probabilities are smaller than this; those of their sum smaller than the second number.
_SLACK, _SUM_SLACK = 1e-6, 1e-3
# Okabe & Ito (2008) without yellow, which is hard to see on white, and a brown; grey stands for their black.
_COLORS = (ACCENT, ALERT, "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d", "#8c510a")
N_COLORS = len(_COLORS)
# With seven shapes and eight colours, no pair is repeated below 56 classes.
_SHAPES = ("o", "^", "s", "D", "v", "P", "X")
_DASHES: tuple[Any, ...] = ("solid", (0, (5, 1.6)), (0, (1.2, 1.2)), (0, (6, 1.6, 1.2, 1.6)), (0, (9, 3)))


@dataclass(frozen=True)
class Forecast:
    """Labels as indices into `classes`, and the probability of each class (n_rows, n_classes)."""

    codes: NDArray[np.intp]
    table: NDArray[np.float64]
    classes: list[Any]


def forecast(y: ArrayLike, prediction: Any, classes: Sequence[Any] | None = None) -> Forecast:
    """Labels and probabilities, from a distribution or an array, in the order of `classes`.

    A one-dimensional array, like a Bernoulli, has the probability of the second class. Without `classes`, those of an
    array are the labels in y, or 0, 1, … (−1 and 1) if some don't occur.
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
    return Forecast(places("y", found, wanted), table[:, places("classes", wanted, own)], wanted)


def labels(name: str, values: Any) -> list[Any]:
    """Labels as Python values, one for each row; a missing one raises an error."""
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} must hold one label for each row; got an array of shape {array.shape}")
    if not len(array):
        raise ValueError(f"there is nothing to draw: {name} is empty")
    result = array.tolist()
    for row, label in enumerate(result):
        # NaN differs from itself; comparing pandas' NA gives no bool.
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
    """The index of each label among the classes."""
    index = {label: place for place, label in enumerate(classes)}
    for row, label in enumerate(values):
        if label not in index:
            raise ValueError(f"{name} holds {label!r} in row {row}, which is none of the classes {shown(classes)}")
    return np.array([index[label] for label in values], dtype=np.intp)


def title(label: Any, *, name: str | None = None, width: int = 24) -> str:
    """A class in a figure: a word as it is, a number as the value of y, or of `name`.

    >>> title("spam"), title(-1.0), title(True), title(2, name="grade")
    ('spam', 'y = −1', 'y = True', 'grade = 2')
    """
    if isinstance(label, str):
        return shorten(label, width=width)
    value = f" = {word(label)}"
    return shorten(name or "y", width=max(width - len(value), 8)) + value


def word(label: Any) -> str:
    """A label as text: numbers with a minus sign and without unnecessary decimals."""
    text = f"{label:g}" if isinstance(label, float) else str(label)
    return text if isinstance(label, str) else text.replace("-", "−")


def shown(classes: Sequence[Any]) -> str:
    """The classes in an error message; the first ten of many."""
    more = f", … ({len(classes)} in all)" if len(classes) > 10 else ""
    return ", ".join(map(repr, list(classes)[:10])) + more


def _table(probs: Any, n_rows: int) -> NDArray[np.float64]:
    """Probabilities with a column for each class."""
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
    table = np.clip(table, 0.0, 1.0)
    if table.ndim == 1:
        return np.column_stack([1.0 - table, table])
    total = table.sum(axis=1)
    row = int(np.abs(total - 1.0).argmax())
    if abs(total[row] - 1.0) > _SUM_SLACK:
        raise ValueError(f"each row of probabilities sums to one; row {row} sums to {total[row]:g}")
    return table


def _guessed(found: list[Any], n_classes: int, said: Sequence[Any] | None) -> list[Any]:
    if said is not None:
        classes = labels("classes", said)
        if len(classes) != n_classes:
            raise ValueError(f"the predictions are of {n_classes} classes, and classes names {shown(classes)}")
        return classes
    present = ordered(found)
    if len(present) == n_classes:
        return present
    usual: list[list[Any]] = [list(range(n_classes)), *([[-1, 1]] if n_classes == 2 else [])]
    for classes in usual:
        if set(present) <= set(classes):
            return classes
    raise ValueError(
        f"the predictions are of {n_classes} classes, and y holds {shown(present)}: say which classes the columns "
        "stand for by classes=, as in classes=model.classes_"
    )


def labelled(
    model: Any, X: ArrayLike | None, y: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.intp] | None]:
    """Rows and the indices of their labels in `classes_`, as given or as the classifier keeps them."""
    names = feature_names(model)
    if X is None:
        if y is not None:
            raise ValueError("labels need their rows: give X with y")
        if not (hasattr(model, "X_train_") and hasattr(model, "codes_")):
            kind = type(model).__name__
            raise ValueError(f"a {kind} keeps no training rows: give the rows to draw, and their labels")
        return np.asarray(model.X_train_), np.asarray(model.codes_)
    try:
        rows = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the rows must be numbers: {error}") from None
    if rows.ndim != 2 or rows.shape[1] != len(names) or not len(rows):
        raise ValueError(f"X must have a row for each point and the model's {len(names)} columns; got {rows.shape}")
    finite = np.isfinite(rows).all(axis=1)
    if not finite.any():
        raise ValueError("there is nothing to draw: no row of X is finite")
    if y is None:
        return rows[finite], None
    found = labels("y", y)
    if len(found) != len(rows):
        raise ValueError(f"y must have one label for each of the {len(rows)} rows; got {len(found)}")
    return rows[finite], places("y", found, model.classes_.tolist())[finite]


def color(place: int) -> str:
    """The colour of a class."""
    return _COLORS[place % len(_COLORS)]


def shape(place: int) -> str:
    """The marker of a class."""
    return _SHAPES[place % len(_SHAPES)]


def dash(place: int) -> Any:
    """The line style of a class."""
    return _DASHES[place % len(_DASHES)]


def dashes(place: int) -> str:
    """The line style of a class as SVG's stroke-dasharray, in units of the line width."""
    style = dash(place)
    return "none" if style == "solid" else " ".join(f"{1.6 * length:g}" for length in style[1])


def mark(place: int) -> str:
    """The mark of a class as the data of an SVG path, about 8 units wide and centred at the origin."""
    style = MarkerStyle(shape(place))
    # Downwards, as in SVG.
    outline = style.get_path().transformed(style.get_transform() + Affine2D().scale(8, -8))
    parts = (" ".join(f"{x:.3g},{y:.3g}" for x, y in np.asarray(part).tolist()) for part in outline.to_polygons())
    return " ".join(f"M{part}Z" for part in parts)


def palette(n_classes: int) -> NDArray[np.float64]:
    """The colours of all classes as rows of red, green and blue."""
    return np.array([to_rgb(color(place)) for place in range(n_classes)])


def points(
    ax: Axes,
    positions: NDArray[np.float64],
    codes: NDArray[np.intp],
    classes: Sequence[Any],
    *,
    max_points: int,
    name: str | None = None,
) -> None:
    """Observations, each with the mark of its class; of many, a random sample, which is always the same."""
    shown = sample_rows(np.ones(len(positions), dtype=bool), at_most=max_points)
    size = 5.0 if len(shown) < 80 else 4.2 if len(shown) < 300 else 3.2
    for place, label in enumerate(classes):
        rows = shown[codes[shown] == place]
        ax.plot(
            positions[rows, 0], positions[rows, 1], shape(place), color=color(place), markeredgecolor="#ffffff",
            markeredgewidth=0.5, markersize=size, zorder=3, label=title(label, name=name), linestyle="none",
        )  # fmt: skip
