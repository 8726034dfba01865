"""Classes: labels, colors and marks, the confusion matrix, and the probability along one input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.markers import MarkerStyle
from matplotlib.transforms import Affine2D
from numpy.typing import ArrayLike, NDArray

from credo.core.estimator import describe, interval_level, rows_for
from credo.distributions import Bernoulli, Categorical, Distribution
from credo.metrics import Forecast
from credo.metrics import forecast as metrics_forecast
from credo.plots._data import Vector, limits, name_of, only_feature, rows_of, sample_rows
from credo.plots.styling import ACCENT, ALERT, INK, MUTED, RULE, canvas, legend, name_axis, shorten

# Okabe & Ito (2008) without yellow, which is hard to see on white, with gray instead of black, and a brown.
_COLORS = (ACCENT, ALERT, "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d", "#8c510a")
N_COLORS = len(_COLORS)
# With seven shapes and eight colors, no pair is repeated below 56 classes.
_SHAPES = ("o", "^", "s", "D", "v", "P", "X")
_DASHES: tuple[Any, ...] = ("solid", (0, (5, 1.6)), (0, (1.2, 1.2)), (0, (6, 1.6, 1.2, 1.6)), (0, (9, 3)))


def forecast(y: ArrayLike, prediction: Any, classes: Sequence[Any] | None = None) -> Forecast:
    """Labels and probabilities, from a distribution or an array in the order of `classes`.

    A one-dimensional array, like a Bernoulli, has the probability of the second class. Without `classes`, those of an
    array are the labels in y, or 0, 1, … if some don't occur.
    """
    found = labels("y", y)
    if not isinstance(prediction, Distribution):
        table = np.asarray(prediction, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] == 1:
            table = np.column_stack([1.0 - table.ravel(), table.ravel()])
        if len(table) != len(found):
            raise ValueError(f"predictions must have one row for each of the {len(found)} labels; got {len(table)}")
        present = ordered(found)
        signs = table.shape[1] == 2 and set(present) <= {-1, 1} and -1 in present
        usual = [-1, 1] if signs else list(range(table.shape[1]))
        known = classes if classes is not None else present if len(present) == table.shape[1] else usual
        prediction = Categorical(table, classes=list(known))
    return metrics_forecast(found, prediction)


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
    """A class in a figure: text as it is, a number as the value of y or `name`."""
    if isinstance(label, str):
        return shorten(label, width=width)
    value = f" = {word(label)}"
    return shorten(name or "y", width=max(width - len(value), 8)) + value


def word(label: Any) -> str:
    """A label as text: numbers with a minus sign and without unnecessary decimals."""
    text = f"{label:g}" if isinstance(label, float) else str(label)
    return text if isinstance(label, str) else text.replace("-", "−")


def shown(classes: Sequence[Any]) -> str:
    """The classes in an error message; at most the first ten."""
    more = f", … ({len(classes)} in all)" if len(classes) > 10 else ""
    return ", ".join(map(repr, list(classes)[:10])) + more


def labelled(
    model: Any, X: ArrayLike | None, y: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.intp] | None]:
    """Rows and the indices of their labels in `classes_`, as given or as the classifier keeps them."""
    if X is None:
        if y is not None:
            raise ValueError("labels need their rows: give X with y")
        kept = describe(model).data
        if kept is None:
            kind = type(model).__name__
            raise ValueError(f"a {kind} keeps no training rows: give the rows to draw, and their labels")
        return kept[0], kept[1].astype(np.intp)
    rows = rows_of(model, X)
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
    """The color of a class."""
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
    """The mark of a class as the data of an SVG path, about 8 units wide and centered at the origin."""
    style = MarkerStyle(shape(place))
    # The y axis points down in SVG.
    outline = style.get_path().transformed(style.get_transform() + Affine2D().scale(8, -8))
    parts = (" ".join(f"{x:.3g},{y:.3g}" for x, y in np.asarray(part).tolist()) for part in outline.to_polygons())
    return " ".join(f"M{part}Z" for part in parts)


def palette(n_classes: int) -> NDArray[np.float64]:
    """The colors of all classes as rows of red, green and blue."""
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
    """Observations, each with the mark of its class; larger data are subsampled with a fixed seed."""
    shown = sample_rows(np.ones(len(positions), dtype=bool), at_most=max_points)
    size = 5.0 if len(shown) < 80 else 4.2 if len(shown) < 300 else 3.2
    for place, label in enumerate(classes):
        rows = shown[codes[shown] == place]
        ax.plot(
            positions[rows, 0], positions[rows, 1], shape(place), color=color(place), markeredgecolor="#ffffff",
            markeredgewidth=0.5, markersize=size, zorder=3, label=title(label, name=name), linestyle="none",
        )  # fmt: skip


# Points of a letter of a tick with the space beside it.
_TICK_POINTS = 6.5
# With more levels only their number is shown.
_MOST_LEVELS = 12


def draw_bands(ax: Axes, x: Vector, parts: Sequence[Sequence[Vector]], paints: Sequence[str]) -> None:
    """Curves, each given as mean, lower and upper end and, if there is one, the two ends of a wider band."""
    for k, ((mean, lower, upper, *outer), paint) in enumerate(zip(parts, paints, strict=True)):
        if outer:
            ax.fill_between(x, outer[0], outer[1], color=paint, alpha=0.1, linewidth=0)
        ax.fill_between(x, lower, upper, color=paint, alpha=0.18, linewidth=0)
        ax.plot(x, mean, color=paint, linewidth=1.6, linestyle=dash(k))
    ax.margins(x=0.0)


def draw_levels(
    ax: Axes, texts: Sequence[str], parts: Sequence[tuple[Vector, Vector, Vector]], paints: Sequence[str]
) -> None:
    """Dots with intervals at named levels, side by side if there are several at each."""
    n = len(parts)
    for k, ((mean, lower, upper), paint) in enumerate(zip(parts, paints, strict=True)):
        x = np.arange(len(mean)) + (0.0 if n == 1 else 0.5 * (k - (n - 1) / 2) / n)
        ax.vlines(x, lower, upper, color=paint, linewidth=1.3)
        ax.plot(x, mean, shape(k), color=paint, markersize=4.5 if n == 1 else 3.5)
    level_ticks(ax, texts)


def level_ticks(ax: Axes, texts: Sequence[str]) -> None:
    """The names of levels at 0, 1, …, slanted if they would overlap."""
    ax.set_xlim(-0.6, len(texts) - 0.4)
    if len(texts) > _MOST_LEVELS:
        ax.set_xticks([])
        ax.set_xlabel(f"{len(texts)} levels", fontsize=8.0)
        return
    overlap = _TICK_POINTS * sum(map(len, texts)) > 72.0 * ax.get_window_extent().width / ax.figure.dpi
    turn: Any = {"rotation": 30, "ha": "right"} if overlap else {"rotation": 0, "ha": "center"}
    ax.set_xticks(np.arange(len(texts)))
    ax.set_xticklabels(texts, parse_math=False, **turn)


# Opacity of the strongest shade; text on it is readable in light and dark mode.
_MAX_OPACITY = 0.6
# Smaller text, in points, is left out.
_MIN_FONT_SIZE = 4.0


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
        Order of the classes; by default all that occur, in the order of a classifier's `classes_`.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> from credo.plots import confusion
    >>> from matplotlib.figure import Figure
    >>> ax = confusion(["cat", "cat", "dog"], ["cat", "dog", "dog"], ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['cat (2)', 'dog (1)']
    """
    guesses = predicted.mode if isinstance(predicted, Bernoulli | Categorical) else predicted
    actual, guessed = labels("y", y), labels("predicted", guesses)
    if len(actual) != len(guessed):
        raise ValueError(f"y has {len(actual)} labels and predicted has {len(guessed)}; they must match")
    own = predicted.classes.tolist() if isinstance(predicted, Categorical) else []
    known = ordered([*actual, *guessed, *own]) if classes is None else labels("classes", classes)
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
        box = ax.get_window_extent()
        cell = 0.9 * 72.0 / ax.figure.dpi / n * min(box.width, box.height)
        _name_ticks(ax, known, totals.ravel(), cell)
        size = min(9.0, 0.5 * cell, cell / (0.68 * max(len(str(counts.max())), 2)))
        for (i, j), count in np.ndenumerate(counts if size >= _MIN_FONT_SIZE else np.zeros((0, 0), dtype=np.intp)):
            if count:
                share = f"\n{_percent(float(shares[i, j]))}" if cell > 22 else ""
                bold = "bold" if i == j else "normal"
                ax.text(j, i, f"{count}{share}", ha="center", va="center", fontsize=size, fontweight=bold, color=INK)
        return ax


def _shades(ax: Axes, shares: NDArray[np.float64]) -> None:
    n = len(shares)
    colors: Any = np.array([[to_rgba(ACCENT if i == j else ALERT) for j in range(n)] for i in range(n)])
    colors[..., 3] = _MAX_OPACITY * np.where(np.eye(n, dtype=bool), shares, np.sqrt(shares))
    mesh = ax.pcolormesh(
        np.arange(n + 1) - 0.5, np.arange(n + 1) - 0.5, shares, edgecolors=RULE, linewidth=0.4, clip_on=False
    )
    mesh.set_array(None)
    mesh.set_facecolor(colors.reshape(-1, 4))
    ax.set(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5))
    ax.spines[["left", "bottom"]].set_visible(False)


def _name_ticks(ax: Axes, known: list[Any], totals: NDArray[np.intp], cell: float) -> None:
    names = [shorten(word(label), width=18) for label in known]
    size = min(8.0, max(_MIN_FONT_SIZE, 0.9 * cell))
    ax.set_yticks(np.arange(len(known)))
    ax.set_yticklabels([f"{name} ({n})" for name, n in zip(names, totals, strict=True)], parse_math=False)
    ax.set_xticks(np.arange(len(known)))
    # Slanted if the longest would overlap its neighbor.
    overlap = max(map(len, names)) * 0.6 * size > cell
    turn: Any = {"rotation": 45, "ha": "left", "rotation_mode": "anchor"} if overlap else {}
    ax.set_xticklabels(names, parse_math=False, **turn)
    ax.tick_params(length=0, labelsize=size, top=False, labeltop=True, bottom=False, labelbottom=False)
    ax.xaxis.set_label_position("top")
    ax.set_xlabel("predicted")
    ax.set_ylabel("actual (rows)")


def _percent(share: float) -> str:
    """A share in whole per cent, 0 or 100 only if exact."""
    if 0 < share < 0.01:
        return "<1 %"
    if 0.99 < share < 1:
        return ">99 %"
    return f"{100 * share:.0f} %"


_N_POINTS = 400
# Observations are drawn this far outside the scale of probabilities, so that they don't hide the curve.
_OFFSET, _JITTER = 0.08, 0.04


def sigmoid(
    model: Any,
    x: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    level: float = 0.95,
    target: str | None = None,
    max_points: int = 500,
    ax: Axes | None = None,
) -> Axes:
    """The probability of the second class along the one column of a classifier, with the observations.

    If the model gives an interval for the probability, as `credo.BayesianLogisticRegression` does, it is shown.
    Observations lie below 0 and above 1, with random jitter so that equal ones are visible. Points where the
    probability is 1/2 are marked.

    Parameters
    ----------
    model : fitted classifier of one column and two classes, with `predict_proba`
    x : array of shape (n_samples,) or (n_samples, 1), optional
        The observations; by default those that the model keeps.
    y : array of shape (n_samples,), optional
        Their labels. Without them, x only sets the range of the curve.
    level : float, default 0.95
        Level of the interval, if ``model.proba_interval(X, level)`` exists.
    target : str, optional
        Name of what is predicted, for classes that are numbers; by default the name of y.
    max_points : int, default 500
        Larger data are subsampled with a fixed seed.
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
    advice = ". Two columns are drawn by decision_regions"
    column, level = only_feature(model, "sigmoid draws a classifier along its one", advice), interval_level(level)
    found, kind = describe(model), type(model).__name__
    if found.curve is None:
        raise TypeError(f"sigmoid draws probabilities, and a {kind} has none (no predict_proba)")
    if len(found.classes) != 2:
        raise ValueError(f"sigmoid draws two classes; this {kind} has {len(found.classes)}")
    given = name_of(y) if target is None else target
    if x is not None and np.ndim(x) == 1:
        column, x = name_of(x) or column, np.asarray(x)[:, None]
    rows, codes = labelled(model, x, y)
    grid = np.linspace(*limits(rows[:, 0]), _N_POINTS)
    curve, lower, upper = (part[:, 1] for part in found.curve.band(rows_for(model, grid[:, None]), level))
    with canvas(ax, size=(5.6, 3.4)) as ax:
        for height in (0.0, 1.0):
            ax.axhline(height, color=MUTED, linewidth=0.6, zorder=1)
        if (upper > lower).any():
            text = f"{level * 100:g} % interval"
            ax.fill_between(grid, lower, upper, color=ACCENT, alpha=0.16, linewidth=0, label=text)
        ax.plot(grid, curve, color=ACCENT, linewidth=1.8, zorder=2, label="probability")
        ax.set(xlim=(grid[0], grid[-1]), ylim=(-_OFFSET - 1.5 * _JITTER, 1 + _OFFSET + 1.5 * _JITTER))
        _mark_crossings(ax, crossings(grid, curve))
        if codes is not None:
            away = np.where(codes == 1, 1 + _OFFSET, -_OFFSET)
            away = away + np.random.default_rng(0).uniform(-_JITTER, _JITTER, size=len(codes))
            points(ax, np.column_stack([rows[:, 0], away]), codes, found.classes, max_points=max_points, name=given)
        legend(ax, columns=None)
        ax.set_yticks([0.0, 0.25, 0.5, 0.75, 1.0])
        ax.spines["left"].set_bounds(0.0, 1.0)
        name_axis(ax.xaxis, shorten(column))
        name_axis(ax.yaxis, f"probability of {title(found.classes[1], name=given)}")
        return ax


def crossings(x: Vector, probability: Vector) -> Vector:
    """Where the probability crosses 1/2, by linear interpolation."""
    above = probability > 0.5
    left = np.flatnonzero(above[1:] != above[:-1])
    part = (0.5 - probability[left]) / (probability[left + 1] - probability[left])
    return x[left] + part * (x[left + 1] - x[left])


def _mark_crossings(ax: Axes, places: Vector) -> None:
    if not len(places):
        return
    ax.vlines(places, 0.0, 0.5, color=INK, linewidth=0.8, linestyles=(0, (4, 2.5)), zorder=2)
    ax.plot(places, np.full(len(places), 0.5), "o", color=INK, markersize=4.5, zorder=4)
