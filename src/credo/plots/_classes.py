"""Classes: their labels and probabilities, and the colours and marks that distinguish them.

The confusion matrix.

A classifier of one input: the probability of the second class along the axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.markers import MarkerStyle
from matplotlib.transforms import Affine2D
from numpy.typing import ArrayLike, NDArray

from credo.core.estimator import interval_level
from credo.plots._data import Vector, feature_names, limits, name_of, only_feature, rows_for, sample_rows
from credo.plots._style import ACCENT, ALERT, INK, MUTED, RULE, canvas, legend, name_axis, shorten

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


# Opacity of the strongest shade, on which text is readable in light and dark mode.
_STRONGEST = 0.6
# Text smaller than this, in points, is left out.
_SMALLEST = 4.0


def confusion(y: ArrayLike, predicted: Any, classes: Sequence[Any] | None = None, *, ax: Axes | None = None) -> Axes:
    """A table of the labels that were predicted for the rows of each class: counts, and shares of the class.

    A row of the table is an actual class, with the number of its rows. Shades are shares of that class; off the
    diagonal they grow with the square root, so that rare mistakes are visible.

    Parameters
    ----------
    y : array of shape (n_samples,)
        Labels of held-out rows.
    predicted : array of shape (n_samples,), or distribution with a `mode`
    classes : sequence of labels, optional
        Their order; by default all that occur, in the order of a classifier's `classes_`.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> from credo.plots import confusion
    >>> from matplotlib.figure import Figure
    >>> ax = confusion(["cat", "cat", "dog"], ["cat", "dog", "dog"], ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['cat (2)', 'dog (1)']
    """
    guesses = getattr(predicted, "mode", predicted)
    actual, guessed = labels("y", y), labels("predicted", guesses)
    if len(actual) != len(guessed):
        raise ValueError(f"y has {len(actual)} labels and predicted has {len(guessed)}; they must match")
    known = _order(actual, guessed, predicted) if classes is None else labels("classes", classes)
    if len(set(known)) != len(known):
        raise ValueError(f"classes must differ; got {known!r}")
    counts = np.zeros((len(known), len(known)), dtype=np.intp)
    np.add.at(counts, (places("y", actual, known), places("predicted", guessed, known)), 1)
    totals = counts.sum(axis=1, keepdims=True)
    shares = counts / np.maximum(totals, 1)
    n = len(known)
    side = n * (0.8 if n <= 3 else 0.6 if n <= 6 else 0.46 if n <= 12 else 0.34)
    with canvas(ax, size=(side + 1.6, side + 0.9)) as ax:
        _shades(ax, shares)
        _name_ticks(ax, known, totals.ravel())
        _numbers(ax, counts, shares)
        return ax


def _order(actual: list[Any], guessed: list[Any], predicted: Any) -> list[Any]:
    """All labels, those of the distribution's classes included, in order."""
    own = getattr(predicted, "classes", ())
    return ordered([*actual, *guessed, *np.asarray(own).tolist()])


def _shades(ax: Axes, shares: NDArray[np.float64]) -> None:
    n = len(shares)
    colors: Any = np.array([[to_rgba(ACCENT if i == j else ALERT) for j in range(n)] for i in range(n)])
    colors[..., 3] = _STRONGEST * np.where(np.eye(n, dtype=bool), shares, np.sqrt(shares))
    mesh = ax.pcolormesh(
        np.arange(n + 1) - 0.5, np.arange(n + 1) - 0.5, shares, edgecolors=RULE, linewidth=0.4, clip_on=False
    )
    mesh.set_array(None)
    mesh.set_facecolor(colors.reshape(-1, 4))
    ax.set(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5))
    ax.spines[["left", "bottom"]].set_visible(False)


def _name_ticks(ax: Axes, known: list[Any], totals: NDArray[np.intp]) -> None:
    names = [shorten(word(label), width=18) for label in known]
    width, height = _cell(ax, len(known))
    size = min(8.0, max(_SMALLEST, 0.9 * height))
    ax.set_yticks(np.arange(len(known)))
    ax.set_yticklabels([f"{name} ({n})" for name, n in zip(names, totals, strict=True)], parse_math=False)
    ax.set_xticks(np.arange(len(known)))
    # Slanted if the longest would overlap its neighbour.
    crowded = max(map(len, names)) * 0.6 * size > width
    ax.set_xticklabels(names, parse_math=False, rotation=45 if crowded else 0, ha="left" if crowded else "center")
    if crowded:
        for text in ax.get_xticklabels():
            text.set_rotation_mode("anchor")
    ax.tick_params(length=0, labelsize=size, top=False, labeltop=True, bottom=False, labelbottom=False)
    ax.xaxis.set_label_position("top")
    ax.set_xlabel("predicted")
    ax.set_ylabel("actual (rows)")


def _numbers(ax: Axes, counts: NDArray[np.intp], shares: NDArray[np.float64]) -> None:
    """Counts, with the share below where there is room for two lines."""
    width, height = _cell(ax, len(counts))
    longest = max(len(str(counts.max())), 2)
    size = min(9.0, width / (0.68 * longest), 0.55 * height)
    if size < _SMALLEST:
        return
    two_lines = height > 22 and width > 20
    for (i, j), n in np.ndenumerate(counts):
        if not n:
            continue
        _write(ax, (j, i), str(n), rise=0.55 * size * two_lines, size=size, bold=i == j)
        if two_lines:
            _write(ax, (j, i), _percent(float(shares[i, j])), rise=-0.6 * size, size=0.78 * size)


def _write(ax: Axes, place: tuple[int, int], text: str, *, rise: float, size: float, bold: bool = False) -> None:
    note = ax.annotate(
        text, place, xytext=(0, rise), textcoords="offset points", ha="center", va="center", fontsize=size, color=INK,
        fontweight="bold" if bold else "normal",
    )  # fmt: skip
    # Inside the axes: the layout needn't measure hundreds of them.
    note.set_in_layout(False)


def _percent(share: float) -> str:
    """A share in whole per cent, 0 or 100 only if exact.

    >>> _percent(0.999), _percent(1.0), _percent(0.001)
    ('>99 %', '100 %', '<1 %')
    """
    if 0 < share < 0.01:
        return "<1 %"
    if 0.99 < share < 1:
        return ">99 %"
    return f"{100 * share:.0f} %"


def _cell(ax: Axes, n: int) -> tuple[float, float]:
    """The approximate width and height of a cell in points."""
    box = ax.get_window_extent()
    part = 0.9 * 72.0 / ax.figure.dpi / n
    return part * box.width, part * box.height


_POINTS = 400
# Observations are drawn outside the scale of probabilities, where they don't hide the curve.
_AWAY, _JITTER = 0.08, 0.04
# More crossings than this are marked, but not named.
_NAMED = 3


def sigmoid(
    model: Any,
    x: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    level: float = 0.95,
    name: str | None = None,
    max_points: int = 500,
    random_state: Any = 0,
    ax: Axes | None = None,
) -> Axes:
    """The probability of the second class along the one column of a classifier, with the observations.

    A model that knows how sure it is of the probability, as `credo.BayesianLogisticRegression` does, shows the
    interval. Observations lie below 0 and above 1, moved a little at random so that equal ones are seen. Where the
    probability is 1/2, and the prediction changes, the place is marked.

    Parameters
    ----------
    model : fitted classifier of one column and two classes, with `predict_proba`
    x : array of shape (n_samples,) or (n_samples, 1), optional
        The observations; by default those that the model keeps.
    y : array of shape (n_samples,), optional
        Their labels. Without them, x only sets the range of the curve.
    level : float, default 0.95
        Of the interval, where ``model.proba_interval(X, level)`` exists.
    name : str, optional
        Of the input, for the axis' label.
    max_points : int, default 500
        Of more observations a random sample is drawn, always the same one.
    random_state : int, Generator or None, default 0
        For the jitter. With the default, the same call draws the same picture.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import numpy as np
    >>> from credo.linear import LogisticRegression
    >>> from credo.plots import sigmoid
    >>> from matplotlib.figure import Figure
    >>> x = np.array([-2.0, -1.0, 0.5, 1.0, 2.0, 3.0])
    >>> y = ["no", "no", "yes", "no", "yes", "yes"]
    >>> ax = sigmoid(LogisticRegression().fit(x[:, None], y), x, y, ax=Figure().subplots())
    >>> ax.get_ylabel()
    'probability of yes'
    """
    column, level = _only_column(model), interval_level(level)
    if x is not None and np.ndim(x) == 1:
        x = np.asarray(x)[:, None]
    rows, codes = labelled(model, x, y)
    grid = np.linspace(*limits(rows[:, 0]), _POINTS)
    places = rows_for(model, grid[:, None])
    curve = np.asarray(model.predict_proba(places))[:, 1]
    ends = model.proba_interval(places, level) if hasattr(model, "proba_interval") else None
    with canvas(ax, size=(5.6, 3.4)) as ax:
        for height in (0.0, 1.0):
            ax.axhline(height, color=MUTED, linewidth=0.6, zorder=1)
        if ends is not None:
            text = f"{level * 100:g} % interval"
            ax.fill_between(grid, ends[0][:, 1], ends[1][:, 1], color=ACCENT, alpha=0.16, linewidth=0, label=text)
        ax.plot(grid, curve, color=ACCENT, linewidth=1.8, zorder=2, label="probability")
        ax.set(xlim=(grid[0], grid[-1]), ylim=(-_AWAY - 1.5 * _JITTER, 1 + _AWAY + 1.5 * _JITTER))
        _mark_crossings(ax, crossings(grid, curve))
        if codes is not None:
            away = np.where(codes == 1, 1 + _AWAY, -_AWAY)
            away = away + np.random.default_rng(random_state).uniform(-_JITTER, _JITTER, size=len(codes))
            points(
                ax, np.column_stack([rows[:, 0], away]), codes, model.classes_, max_points=max_points, name=name_of(y)
            )
        legend(ax, columns=None)
        ax.set_yticks([0.0, 0.25, 0.5, 0.75, 1.0])
        ax.spines["left"].set_bounds(0.0, 1.0)
        name_axis(ax.xaxis, shorten(column if name is None else name))
        name_axis(ax.yaxis, f"probability of {title(model.classes_.tolist()[1], name=name_of(y))}")
        return ax


def crossings(x: Vector, probability: Vector) -> Vector:
    """Where the probability crosses 1/2, by linear interpolation.

    >>> crossings(np.array([0.0, 1.0, 2.0]), np.array([0.2, 0.6, 0.4]))
    array([0.75, 1.5 ])
    """
    above = probability > 0.5
    left = np.flatnonzero(above[1:] != above[:-1])
    part = (0.5 - probability[left]) / (probability[left + 1] - probability[left])
    return x[left] + part * (x[left + 1] - x[left])


def _only_column(model: Any) -> str:
    column = only_feature(
        model, "sigmoid draws a classifier along its one", ". Two columns are drawn by decision_regions"
    )
    kind = type(model).__name__
    if not hasattr(model, "predict_proba"):
        raise TypeError(f"sigmoid draws probabilities, and a {kind} has none (no predict_proba)")
    if len(model.classes_) != 2:
        raise ValueError(f"sigmoid draws two classes; this {kind} has {len(model.classes_)}")
    return column


def _mark_crossings(ax: Axes, places: Vector) -> None:
    if not len(places):
        return
    ax.vlines(places, 0.0, 0.5, color=INK, linewidth=0.8, linestyles=(0, (4, 2.5)), zorder=2)
    ax.plot(places, np.full(len(places), 0.5), "o", color=INK, markersize=4.5, zorder=4)
    if len(places) > _NAMED:
        return
    low, high = ax.get_xlim()
    for place in places:
        right = place < 0.5 * (low + high)
        # As many digits as the width of the axis can show.
        digits = max(0, 2 - int(np.floor(np.log10(high - low))))
        ax.annotate(
            f"{place:.{digits}f}", (place, 0.03), xytext=(4 if right else -4, 0), textcoords="offset points",
            ha="left" if right else "right", va="bottom", color=INK, fontsize=8,
        )  # fmt: skip
