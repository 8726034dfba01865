"""Class probabilities over the plane of two inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from credo.core.estimator import class_scores, positive_integer, rows_for
from credo.plots._bars import remark
from credo.plots._data import Vector, feature_names, grid_rows, limits, name_of, pair_of
from credo.plots.class_rows import labelled, palette, points
from credo.plots.styling import INK, MUTED, canvas, legend, name_axis, shorten

Array = NDArray[np.float64]

# Probability at the contour inside the region of a class.
_CONTOUR_PROBABILITY = 0.9
# Opacity if a class is certain, and without probabilities.
_MAX_OPACITY, _PLAIN_OPACITY = 0.62, 0.3


def decision_regions(
    model: Any,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    columns: Sequence[int | str] | None = None,
    target: str | None = None,
    n: int = 150,
    max_points: int = 1000,
    ax: Axes | None = None,
) -> Axes:
    """The probabilities of a classifier over two of its columns, its boundaries, and the observations.

    The colors of the classes are mixed by their probabilities, with thick lines at the boundaries and thin ones where
    a class has probability 0.9. A classifier without probabilities, such as a perceptron, has one shade for each class.

    Parameters
    ----------
    model : fitted classifier, with `predict_proba`, `decision_function` or `predict`
    X : array or frame of shape (n_samples, n_features), optional
        The observations; by default those that the model keeps.
    y : array of shape (n_samples,), optional
        Their labels; the name of a series is used in the figure. Without labels, X only sets the range of the plane.
    columns : pair of int or str, optional
        The two columns to draw, if the model has more. The others are held at the medians of X, as the figure says.
    target : str, optional
        Name of what is predicted, for classes that are numbers; by default the name of y.
    n : int, default 150
        Grid points in each direction.
    max_points : int, default 1000
        Larger data are subsampled with a fixed seed.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import numpy as np
    >>> from credo.linear import LinearDiscriminant
    >>> from credo.plots import decision_regions
    >>> from matplotlib.figure import Figure
    >>> X = np.array([[0.0, 0.0], [1.0, 0.2], [0.2, 1.0], [2.0, 1.5], [1.5, 2.0], [2.2, 2.2]])
    >>> y = ["a", "a", "a", "b", "b", "b"]
    >>> ax = decision_regions(LinearDiscriminant().fit(X, y), X, y, n=20, ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a', 'b', 'probability 0.9', 'boundary']
    """
    rows, codes = labelled(model, X, y)
    ground = plane(model, rows, columns, positive_integer("n", n))
    classes, name = model.classes_.tolist(), target or name_of(y)
    probable, scores = class_scores(model, rows_for(model, ground.mesh))
    with canvas(ax, size=(5.2, 4.0)) as ax:
        ground.frame(ax)
        if codes is not None:
            points(ax, rows[:, ground.drawn], codes, classes, max_points=max_points, name=name)
        if not probable:
            ground.shade(ax, scores, _PLAIN_OPACITY)
        else:
            _mixed(ax, ground, scores)
        _boundary(ax, ground, scores)
        legend(ax, columns=None)
        name_axis(ax.xaxis, ground.names[0])
        name_axis(ax.yaxis, ground.names[1])
        if ground.fixed:
            remark(ax, ground.fixed)
        return ax


def _mixed(ax: Axes, ground: Plane, table: Array) -> None:
    """Colors of the classes mixed by their probabilities."""
    ax.imshow(ground.field(mixture(table)), **ground.image())
    for place in range(table.shape[1]):
        ground.line(ax, table[:, place], _CONTOUR_PROBABILITY, colors=MUTED, linewidths=0.7, zorder=1)
    ax.plot([], [], color=MUTED, linewidth=0.7, label=f"probability {_CONTOUR_PROBABILITY:g}")


def mixture(table: Array) -> Array:
    """Color and opacity for each row of probabilities: transparent if all are equal."""
    extra = table - table.min(axis=1, keepdims=True)
    total = extra.sum(axis=1, keepdims=True)
    n_classes = table.shape[1]
    shade = np.where(total > 0, extra, 1.0) / np.where(total > 0, total, n_classes) @ palette(n_classes)
    # 0 if all are equal, 1 if one is certain.
    lead = (n_classes * table.max(axis=1, keepdims=True) - 1.0) / (n_classes - 1.0)
    return np.clip(np.hstack([shade, _MAX_OPACITY * lead]), 0.0, 1.0)


def _boundary(ax: Axes, ground: Plane, scores: Array) -> None:
    """Lines where two classes share the highest score."""
    n_classes, lines = scores.shape[1], 0
    # Two classes have one boundary.
    for place in range(n_classes == 2, n_classes):
        lead = scores[:, place] - np.delete(scores, place, axis=1).max(axis=1)
        lines += ground.line(ax, lead, 0.0, colors=INK, linewidths=1.6, zorder=2)
    if lines:
        ax.plot([], [], color=INK, linewidth=1.6, label="boundary")


@dataclass(frozen=True)
class Plane:
    """A grid over two columns, the rows of the model's input at its points, and the names of the two columns.

    `fixed` says at which values the other columns are held, if there are any.
    """

    across: Vector
    up: Vector
    mesh: Array
    drawn: list[int]
    names: tuple[str, str]
    fixed: str

    def field(self, values: Array) -> Array:
        """Values at the rows of the mesh in the shape of the grid."""
        return values.reshape(len(self.up), len(self.across), *values.shape[1:])

    def image(self) -> dict[str, Any]:
        """Arguments of `imshow` with which the grid points are at the centers of pixels."""
        extent: list[float] = []
        for grid in (self.across, self.up):
            half = 0.5 * (grid[1] - grid[0])
            extent += [float(grid[0] - half), float(grid[-1] + half)]
        return {"extent": extent, "origin": "lower", "aspect": "auto", "interpolation": "bilinear", "zorder": 0}

    def frame(self, ax: Axes) -> None:
        """Set the limits of the axes to those of the grid."""
        ax.set(xlim=(self.across[0], self.across[-1]), ylim=(self.up[0], self.up[-1]))

    def shade(self, ax: Axes, scores: Array, opacity: float) -> None:
        """One shade for the region of each class, that of the highest score."""
        winner = scores.argmax(axis=1)
        shade = np.column_stack([palette(scores.shape[1])[winner], np.full(len(winner), opacity)])
        ax.imshow(self.field(shade), **self.image() | {"interpolation": "nearest"})

    def line(self, ax: Axes, values: Array, level: float, **style: Any) -> bool:
        """Draw the line where values at the rows of the mesh cross a level; whether there is one."""
        field = self.field(values)
        passes = bool(field.min() < level < field.max())
        if passes:
            ax.contour(self.across, self.up, field, levels=[level], **style)
        return passes


def plane(model: Any, rows: Array, columns: Sequence[int | str] | None, n: int) -> Plane:
    """The plane of two columns over the range of the rows, with the others at their medians."""
    if n < 2:
        raise ValueError(f"n must be at least 2, for a plane of n × n points; got {n}")
    own = feature_names(model)
    if columns is None and len(own) != 2:
        say = "sigmoid draws those" if len(own) == 1 else "select two by columns=, the others are held at their medians"
        raise ValueError(f"the figure shows a plane of two columns, but the model has {len(own)}: {say}")
    drawn = [0, 1] if columns is None else pair_of("columns", columns, own, what="column")
    across, up = (np.linspace(*limits(rows[:, place]), n) for place in drawn)
    center = np.median(rows, axis=0)
    mesh = np.tile(center, (n * n, 1))
    mesh[:, drawn] = grid_rows(across, up)
    others = {own[place]: center[place] for place in range(len(own)) if place not in drawn}
    fixed = "at medians: " + ", ".join(f"{shorten(name, width=18)} = {value:.3g}" for name, value in others.items())
    if len(others) > 3:
        fixed = f"the {len(others)} other columns at their medians"
    first, second = (shorten(own[place]) for place in drawn)
    return Plane(across, up, mesh, drawn, (first, second), fixed if others else "")
