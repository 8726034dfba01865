"""What a classifier says over the plane of two inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from numpy.typing import ArrayLike, NDArray

from credo.estimator import positive_integer
from credo.plots._arrays import name_of
from credo.plots._classes import title
from credo.plots._fitted import labelled, rows_for
from credo.plots._labels import name_axis
from credo.plots._marks import color, palette, points
from credo.plots._plane import Plane, plane
from credo.plots._style import INK, MUTED, canvas, key

Array = NDArray[np.float64]

# Two classes: the probabilities at which lines are drawn, beside the boundary at 1/2.
_LEVELS = (0.1, 0.25, 0.75, 0.9)
# More classes: where one of them is this probable.
_SURE = 0.9
# Of a class's colour, where it is certain; and everywhere in its region, where there are no probabilities.
_STRONGEST, _FLAT = 0.62, 0.3


def decision_regions(
    model: Any,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    columns: Sequence[int | str] | None = None,
    names: Sequence[str] | None = None,
    n: int = 150,
    max_points: int = 1000,
    ax: Axes | None = None,
) -> Axes:
    """The probabilities of a classifier over two of its columns, its boundaries, and the observations.

    Two classes: shades of one colour and the other away from 1/2, lines at 0.1, 0.25, 0.75 and 0.9, and the boundary
    at 1/2 strong. More classes: their colours mixed by their probabilities, paler where all are alike, the boundaries
    between the most probable strong and a thin line where a class has the probability 0.9. A classifier without
    probabilities, as a perceptron, shows its regions in one shade each. Marks of the classes differ in shape too.

    Parameters
    ----------
    model : fitted classifier, with `predict_proba`, `decision_function` or `predict`
    X : array or frame of shape (n_samples, n_features), optional
        The observations; by default those that the model keeps.
    y : array of shape (n_samples,), optional
        Their labels; numbers are called by the name of a series, or y. Without labels, X only says how far the plane
        goes.
    columns : pair of int or str, optional
        Which two columns are drawn, of a model with more. The others are held at the medians of X, and the figure says
        so; their observations then lie off the plane that is shaded.
    names : sequence of str, optional
        Of the two columns drawn, or of all columns.
    n : int, default 150
        Grid points in each direction.
    max_points : int, default 1000
        With more observations than this a random choice of them is drawn, always the same one.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from credo.linear import LinearDiscriminant
    >>> X = np.array([[0.0, 0.0], [1.0, 0.2], [0.2, 1.0], [2.0, 1.5], [1.5, 2.0], [2.2, 2.2]])
    >>> y = ["a", "a", "a", "b", "b", "b"]
    >>> ax = decision_regions(LinearDiscriminant().fit(X, y), X, y, n=20, ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a', 'b', 'boundary']
    """
    rows, codes = labelled(model, X, y)
    ground = plane(model, rows, columns, names, positive_integer("n", n))
    classes, name = model.classes_.tolist(), name_of(y)
    table, scores = answers(model, rows_for(model, ground.mesh))
    with canvas(ax, size=(5.2, 4.0)) as ax:
        ax.set(xlim=(ground.across[0], ground.across[-1]), ylim=(ground.up[0], ground.up[-1]))
        if codes is not None:
            points(ax, rows[:, ground.drawn], codes, classes, max_points=max_points, name=name)
        if table is None:
            _flat(ax, ground, scores)
        elif len(classes) == 2:
            _diverging(ax, ground, table[:, 1], title(classes[1], name=name))
        else:
            _mixed(ax, ground, table)
        _boundary(ax, ground, scores)
        key(ax, columns=None)
        name_axis(ax.xaxis, ground.names[0])
        name_axis(ax.yaxis, ground.names[1])
        if ground.held:
            ax.set_xlabel(f"{ax.get_xlabel()}\n{ground.held}", parse_math=False, linespacing=1.5)
        return ax


def answers(model: Any, mesh: Array) -> tuple[Array | None, Array]:
    """Probabilities (n, n_classes), or None, and scores of the same shape of which the highest wins."""
    n_classes = len(model.classes_)
    if hasattr(model, "predict_proba"):
        table = np.asarray(model.predict_proba(mesh), dtype=np.float64)
        return table, table
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(mesh), dtype=np.float64)
        if scores.ndim == 1:
            return None, np.column_stack([-scores, scores])
        if scores.shape[1] == n_classes:
            return None, scores
    said = np.asarray(model.predict(mesh))
    return None, (said[:, None] == np.asarray(model.classes_)[None, :]).astype(np.float64)


def _diverging(ax: Axes, ground: Plane, probability: Array, name: str) -> None:
    """Two colours that leave the paper white where neither class is likelier."""
    ends = [(0.0, to_rgba(color(0), _STRONGEST)), (0.5, to_rgba(color(0), 0.0))]
    ends += [(0.5, to_rgba(color(1), 0.0)), (1.0, to_rgba(color(1), _STRONGEST))]
    shades = LinearSegmentedColormap.from_list("credo.diverging", ends, N=511)
    field = ground.field(probability)
    image = ax.imshow(field, cmap=shades, vmin=0.0, vmax=1.0, **ground.image())
    if field.min() < max(_LEVELS) and field.max() > min(_LEVELS):
        ax.contour(
            ground.across, ground.up, field, levels=_LEVELS, colors=MUTED, linewidths=0.7, linestyles="solid", zorder=1
        )
    bar = ax.figure.colorbar(image, ax=ax, pad=0.03, ticks=[0.0, *_LEVELS[:2], 0.5, *_LEVELS[2:], 1.0])
    bar.set_label(f"probability of {name}")
    bar.outline.set(visible=False)
    bar.ax.hlines(_LEVELS, 0.0, 1.0, color=MUTED, linewidth=0.7)
    bar.ax.hlines(0.5, 0.0, 1.0, color=INK, linewidth=1.6)
    bar.ax.set_yticklabels([f"{tick:g}" for tick in bar.get_ticks()])
    bar.ax.tick_params(length=2.5, width=0.6, color=MUTED)


def _mixed(ax: Axes, ground: Plane, table: Array) -> None:
    """Colours of the classes mixed by what each has above the least probable one."""
    ax.imshow(ground.field(mixture(table)), **ground.image())
    for place in range(table.shape[1]):
        field = ground.field(table[:, place])
        if field.min() < _SURE < field.max():
            ax.contour(ground.across, ground.up, field, levels=[_SURE], colors=MUTED, linewidths=0.7, zorder=1)
    ax.plot([], [], color=MUTED, linewidth=0.7, label=f"probability {_SURE:g}")


def mixture(table: Array) -> Array:
    """A colour with its opacity for each row of probabilities: none where all are equal, a class's own where sure."""
    extra = table - table.min(axis=1, keepdims=True)
    total = extra.sum(axis=1, keepdims=True)
    n_classes = table.shape[1]
    shade = np.where(total > 0, extra, 1.0) / np.where(total > 0, total, n_classes) @ palette(n_classes)
    # From 0, where all are equal, to 1, where one is certain.
    lead = (n_classes * table.max(axis=1, keepdims=True) - 1.0) / (n_classes - 1.0)
    return np.clip(np.hstack([shade, _STRONGEST * lead]), 0.0, 1.0)


def _flat(ax: Axes, ground: Plane, scores: Array) -> None:
    winner = scores.argmax(axis=1)
    shade = np.column_stack([palette(scores.shape[1])[winner], np.full(len(winner), _FLAT)])
    ax.imshow(ground.field(shade), **ground.image() | {"interpolation": "nearest"})


def _boundary(ax: Axes, ground: Plane, scores: Array) -> None:
    """Where two classes share the highest score."""
    label = "boundary"
    # Of two classes either's lead is the other's lag: one line is enough.
    for place in range(1, scores.shape[1]) if scores.shape[1] == 2 else range(scores.shape[1]):
        lead = ground.field(scores[:, place] - np.delete(scores, place, axis=1).max(axis=1))
        if lead.min() < 0 < lead.max():
            ax.contour(ground.across, ground.up, lead, levels=[0.0], colors=INK, linewidths=1.6, zorder=2)
            ax.plot([], [], color=INK, linewidth=1.6, label=label)
            label = "_nolegend_"
