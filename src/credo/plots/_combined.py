"""Combined models: which expert of a mixture is responsible where, and the weights of averaged models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from numpy.typing import ArrayLike, NDArray

from credo.estimator import positive_integer
from credo.plots._bars import remark
from credo.plots._classes import color, dash, palette, shape
from credo.plots._data import feature_names, limits, name_of, rows_for, sample_rows, vector
from credo.plots._labels import name_axis, shorten
from credo.plots._regions import mixture, plane
from credo.plots._style import INK, canvas, legend

Array = NDArray[np.float64]

# Of the curves: opacity and width where the gate's probability is zero and one.
_FAINT, _STRONG = (0.12, 0.6), (1.0, 2.6)


def expert_regions(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    columns: Sequence[int | str] | None = None,
    names: Sequence[str] | None = None,
    n: int = 200,
    max_points: int = 1000,
    ax: Axes | None = None,
) -> Axes:
    """The experts of a mixture: where the gate chooses each, and the observations that each is responsible for.

    A regressor of one column: a curve for each expert, strong where its probability is high, and observations in the
    colours of the experts, mixed by their responsibilities. Otherwise the plane of two columns in the colours of the
    experts, mixed by the gate's probabilities, with a line where the most probable expert changes.

    Parameters
    ----------
    model : fitted MixtureOfExpertsRegressor or MixtureOfExpertsClassifier
    X : array or frame of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    columns : pair of int or str, optional
        The two columns to draw, of a model with more. The others are held at the medians of X, as the figure says.
    names : sequence of str, optional
        Of the two columns drawn, or of all columns.
    n : int, default 200
        Grid points in each direction.
    max_points : int, default 1000
        Of more observations a random sample is drawn, always the same one.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import numpy as np
    >>> from credo import MixtureOfExpertsRegressor
    >>> from credo.plots import expert_regions
    >>> from matplotlib.figure import Figure
    >>> x = np.linspace(-1.0, 1.0, 60)
    >>> model = MixtureOfExpertsRegressor(2, random_state=0).fit(x[:, None], np.abs(x))
    >>> ax = expert_regions(model, x[:, None], np.abs(x), ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['expert 0', 'expert 1']
    """
    if not hasattr(model, "gate_proba"):
        raise TypeError(
            "expert_regions draws a mixture of experts, such as MixtureOfExpertsRegressor; "
            f"got a {type(model).__name__}"
        )
    own, target = feature_names(model), np.asarray(y)
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != len(own) or len(target) != len(rows):
        raise ValueError(
            f"X must have the model's {len(own)} columns and y a value for each row; got shapes {rows.shape} and "
            f"{target.shape}"
        )
    shown = sample_rows(np.asarray(np.isfinite(rows).all(axis=1)), at_most=max_points)
    rows, target = rows[shown], target[shown]
    shares = model.responsibilities(rows_for(model, rows), target)
    with canvas(ax, size=(5.6, 3.6)) as ax:
        if len(own) == 1 and not hasattr(model, "classes_"):
            _curves(ax, model, rows, positive_integer("n", n))
            _marks(ax, rows[:, 0], target.astype(np.float64), shares)
            labels = (names[0] if names else own[0], name_of(y) or "y")
        else:
            ground = plane(model, rows, columns, names, positive_integer("n", n))
            _areas(ax, model, ground)
            _marks(ax, rows[:, ground.drawn[0]], rows[:, ground.drawn[1]], shares, edge=INK)
            labels = ground.names
        for axis, label in zip((ax.xaxis, ax.yaxis), labels, strict=True):
            name_axis(axis, shorten(label))
        legend(ax, columns=None)
        if len(own) > 2:
            remark(ax, ground.fixed)
        return ax


def _curves(ax: Axes, model: Any, rows: Array, n: int) -> None:
    """Each expert's mean, with width and opacity by the gate's probability."""
    x = np.linspace(*limits(rows[:, 0]), max(n, 2))
    gate = model.gate_proba(rows_for(model, x[:, None]))
    means = model.expert_predictions(rows_for(model, x[:, None]))
    for j in range(gate.shape[1]):
        points = np.column_stack([x, means[:, j]])
        middle = 0.5 * (gate[1:, j] + gate[:-1, j])[:, None]
        opacity, width = (
            (_FAINT[0] + (_STRONG[0] - _FAINT[0]) * middle),
            (_FAINT[1] + (_STRONG[1] - _FAINT[1]) * middle),
        )
        shades = np.hstack([np.tile(to_rgba(color(j))[:3], (len(middle), 1)), opacity])
        ax.add_collection(
            LineCollection(
                list(np.stack([points[:-1], points[1:]], axis=1)), colors=shades, linewidths=width[:, 0], zorder=3
            )
        )
        ax.plot([], [], color=color(j), linewidth=_STRONG[1], label=f"expert {j}")
    ax.set_xlim(x[0], x[-1])


def _areas(ax: Axes, model: Any, ground: Any) -> None:
    """The plane in the colours of the experts, and the lines where the most probable one changes."""
    gate = model.gate_proba(rows_for(model, ground.mesh))
    ground.frame(ax)
    if gate.shape[1] > 1:
        ax.imshow(ground.field(mixture(gate)), **ground.image())
    for j in range(gate.shape[1]):
        ax.plot([], [], "s", color=color(j), label=f"expert {j}")
        lead = gate[:, j] - np.delete(gate, j, axis=1).max(axis=1, initial=0.0)
        ground.line(ax, lead, 0.0, colors=INK, linewidths=1.0, zorder=2)


def _marks(ax: Axes, x: Array, y: Array, shares: Array, *, edge: str = "white") -> None:
    """Observations: colours mixed by the responsibilities, and the shape of the most responsible expert."""
    shades = np.clip(shares @ palette(shares.shape[1]), 0.0, 1.0)
    leader = shares.argmax(axis=1)
    for j in np.unique(leader):
        here = leader == j
        ax.scatter(
            x[here], y[here], c=shades[here], s=14, marker=shape(int(j)), linewidths=0.3, edgecolors=edge, zorder=2.5
        )


def weights_by_rows(
    sizes: ArrayLike, weights: ArrayLike, names: Sequence[str], *, ax: Axes | None = None
) -> Axes:  # fmt: skip
    """The weights of averaged models as the number of rows grows.

    With Bayesian averaging they concentrate on one model, because one model is assumed to have made all rows; with
    stacking they tend to the best combination.

    Parameters
    ----------
    sizes : array of shape (n_sizes,)
        Numbers of rows.
    weights : array of shape (n_sizes, n_models)
        The weights at each size.
    names : sequence of str
        Of the models.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> from credo.plots import weights_by_rows
    >>> from matplotlib.figure import Figure
    >>> ax = weights_by_rows([10, 100], [[0.5, 0.5], [0.1, 0.9]], ["normal", "Cauchy"], ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['normal', 'Cauchy']
    """
    rows, table = vector("sizes", sizes), np.asarray(weights, dtype=np.float64)
    if table.shape != (len(rows), len(names)):
        raise ValueError(
            f"weights must have a row for each of the {len(rows)} sizes and a column for each of the {len(names)} "
            f"names; got shape {table.shape}"
        )
    with canvas(ax) as ax:
        for j, name in enumerate(names):
            ax.plot(
                rows, table[:, j], color=color(j), linestyle=dash(j), marker=shape(j), markersize=4, label=shorten(name)
            )
        ax.set(xscale="log", ylim=(-0.03, 1.03))
        ax.set_xticks(rows, [f"{size:g}" for size in rows])
        ax.minorticks_off()
        legend(ax, columns=None)
        name_axis(ax.xaxis, "rows")
        name_axis(ax.yaxis, "weight")
        return ax
