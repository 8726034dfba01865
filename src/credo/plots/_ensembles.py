"""Combined models: the experts of a mixture, and the rounds of AdaBoost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from numpy.typing import ArrayLike, NDArray

from credo.core.estimator import positive_integer, rows_for
from credo.ensemble import AdaBoostClassifier, MixtureOfExpertsClassifier, MixtureOfExpertsRegressor
from credo.plots._bars import remark
from credo.plots._data import feature_names, limits, name_of, rows_of, sample_rows
from credo.plots._regions import Plane, mixture, plane
from credo.plots.class_rows import color, labelled, palette, shape, title
from credo.plots.styling import INK, MUTED, canvas, legend, name_axis, panels, shorten

Array = NDArray[np.float64]

# Opacity and line width of the curves at gate probability zero and one.
_ZERO_STYLE, _ONE_STYLE = (0.12, 0.6), (1.0, 2.6)


def expert_regions(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    columns: Sequence[int | str] | None = None,
    n: int = 200,
    max_points: int = 1000,
    ax: Axes | None = None,
) -> Axes:
    """The experts of a mixture: where the gate chooses each, and the observations that each is responsible for.

    A regressor of one column has a curve for each expert, strong where its probability is high, and observations in the
    colors of the experts, mixed by their responsibilities. Other models are drawn over the plane of two columns, in
    the colors of the experts mixed by the gate's probabilities, with a line where the most probable expert changes.

    Parameters
    ----------
    model : fitted MixtureOfExpertsRegressor or MixtureOfExpertsClassifier
    X : array or frame of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    columns : pair of int or str, optional
        The two columns to draw, if the model has more. The others are held at the medians of X, as the figure says.
    n : int, default 200
        Grid points in each direction.
    max_points : int, default 1000
        Larger data are subsampled with a fixed seed.
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
    if not isinstance(model, MixtureOfExpertsRegressor | MixtureOfExpertsClassifier):
        raise TypeError(
            "expert_regions draws a mixture of experts, such as MixtureOfExpertsRegressor; "
            f"got a {type(model).__name__}"
        )
    own, target = feature_names(model), np.asarray(y)
    rows = rows_of(model, X)
    if len(target) != len(rows):
        raise ValueError(f"y must have a value for each of the {len(rows)} rows; got shape {target.shape}")
    shown = sample_rows(np.asarray(np.isfinite(rows).all(axis=1)), at_most=max_points)
    rows, target = rows[shown], target[shown]
    shares = model.responsibilities(rows_for(model, rows), target)
    with canvas(ax, size=(5.6, 3.6)) as ax:
        if len(own) == 1 and isinstance(model, MixtureOfExpertsRegressor):
            _curves(ax, model, rows, positive_integer("n", n))
            _marks(ax, rows[:, 0], target.astype(np.float64), shares)
            labels = (own[0], name_of(y) or "y")
        else:
            ground = plane(model, rows, columns, positive_integer("n", n))
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
            (_ZERO_STYLE[0] + (_ONE_STYLE[0] - _ZERO_STYLE[0]) * middle),
            (_ZERO_STYLE[1] + (_ONE_STYLE[1] - _ZERO_STYLE[1]) * middle),
        )
        shades = np.hstack([np.tile(to_rgba(color(j))[:3], (len(middle), 1)), opacity])
        ax.add_collection(
            LineCollection(
                list(np.stack([points[:-1], points[1:]], axis=1)), colors=shades, linewidths=width[:, 0], zorder=3
            )
        )
        ax.plot([], [], color=color(j), linewidth=_ONE_STYLE[1], label=f"expert {j}")
    ax.set_xlim(x[0], x[-1])


def _areas(ax: Axes, model: Any, ground: Any) -> None:
    """The plane in the colors of the experts, and the lines where the most probable one changes."""
    gate = model.gate_proba(rows_for(model, ground.mesh))
    ground.frame(ax)
    if gate.shape[1] > 1:
        ax.imshow(ground.field(mixture(gate)), **ground.image())
    for j in range(gate.shape[1]):
        ax.plot([], [], "s", color=color(j), label=f"expert {j}")
        lead = gate[:, j] - np.delete(gate, j, axis=1).max(axis=1, initial=0.0)
        ground.line(ax, lead, 0.0, colors=INK, linewidths=1.0, zorder=2)


def _marks(ax: Axes, x: Array, y: Array, shares: Array, *, edge: str = "white") -> None:
    """Observations: colors mixed by the responsibilities, and the shape of the most responsible expert."""
    shades = np.clip(shares @ palette(shares.shape[1]), 0.0, 1.0)
    leader = shares.argmax(axis=1)
    for j in np.unique(leader):
        here = leader == j
        ax.scatter(
            x[here], y[here], c=shades[here], s=14, marker=shape(int(j)), linewidths=0.3, edgecolors=edge, zorder=2.5
        )


# Area of a dot of mean weight, and of the largest, in square points.
_MEAN_AREA, _MAX_AREA = 12.0, 260.0


def adaboost_rounds(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    rounds: Sequence[int] | None = None,
    columns: Sequence[int | str] | None = None,
    n: int = 120,
    max_points: int = 400,
    ax: Axes | None = None,
) -> NDArray[np.object_]:
    """Rounds of AdaBoost side by side: weights of the rows, the learner of the round, and the votes up to it.

    The area of a dot is its weight at the start of the round. The dashed line is the boundary of the round's learner,
    the solid line that of all votes so far, whose regions are shaded.

    Parameters
    ----------
    model : fitted `AdaBoostClassifier`
    X : array or frame of shape (n_samples, n_features)
    y : array of shape (n_samples,)
        The training rows: their weights follow from the votes.
    rounds : sequence of int, optional
        Which rounds to draw, from 1; by default six, the first three and others up to the last.
    columns : pair of int or str, optional
        The two columns to draw, if the model has more. The others are held at the medians of X.
    n : int, default 120
        Grid points in each direction.
    max_points : int, default 400
        Larger data are subsampled with a fixed seed.
    ax : matplotlib Axes, optional
        Replaced by the panels.

    Returns
    -------
    array of matplotlib Axes, one for each round

    Examples
    --------
    >>> import numpy as np
    >>> from credo.ensemble import AdaBoostClassifier
    >>> from credo.plots import adaboost_rounds
    >>> from matplotlib.figure import Figure
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = (X**2).sum(axis=1) > 1.4
    >>> model = AdaBoostClassifier(n_rounds=5, calibrate=False).fit(X, y)
    >>> panels = adaboost_rounds(model, X, y, rounds=[1, 5], n=20, ax=Figure().subplots())
    >>> [panel.get_title() for panel in panels]
    ['round 1: error 0.30', 'round 5: error 0.33']
    """
    if not isinstance(model, AdaBoostClassifier):
        raise ValueError(f"a {type(model).__name__} has no rounds of votes: give a fitted AdaBoostClassifier")
    rows, codes = labelled(model, X, y)
    assert codes is not None
    ground = plane(model, rows, columns, positive_integer("n", n))
    drawn = _chosen(rounds, len(model.boosted_))
    on_rows, on_mesh = (list(model.staged_votes(rows_for(model, part))) for part in (rows, ground.mesh))
    across = min(3, len(drawn))
    boxes, (width, height) = _grid(len(drawn), across)
    with canvas(ax, size=(width + 0.7, height + 0.9)) as ax:
        found = panels(ax, boxes, (width, height))
        for panel, m in zip(found, drawn, strict=True):
            weight = _weights(model, on_rows, codes, m - 1)
            before = on_mesh[m - 2] if m > 1 else np.zeros_like(on_mesh[0])
            _round(panel, ground, on_mesh[m - 1], on_mesh[m - 1] - before)
            _dots(panel, rows[:, ground.drawn], codes, weight, max_points)
            error = model.errors_[-1 if model.boosted_.stopped == "perfect" else m - 1]
            panel.set_title(f"round {m}: error {error:.2f}", fontsize=8.5)
        _legend(ax, model.classes_.tolist())
        ax.set_xlabel(ground.names[0], labelpad=14, parse_math=False)
        ax.set_ylabel(ground.names[1], labelpad=20, parse_math=False)
        return np.array(found, dtype=object)


# Width and height of a panel, the space between two, and of the titles above the first row.
_WIDTH, _HEIGHT, _GAPS, _TITLE = 1.9, 1.35, (0.3, 0.6), 0.2


def _grid(n: int, across: int) -> tuple[list[tuple[float, float, float, float]], tuple[float, float]]:
    """Boxes of panels in rows from the top left, and the size of all."""
    steps = _WIDTH + _GAPS[0], _HEIGHT + _GAPS[1]
    boxes = [(k % across * steps[0], _TITLE + k // across * steps[1], _WIDTH, _HEIGHT) for k in range(n)]
    return boxes, (across * steps[0] - _GAPS[0], _TITLE - (-n // across) * steps[1] - _GAPS[1])


def _chosen(rounds: Sequence[int] | None, last: int) -> list[int]:
    if rounds is None:
        grown = np.unique(np.round(np.geomspace(3, max(last, 3), 4)).astype(int))
        return [m for m in sorted({1, 2, *grown.tolist()}) if m <= last]
    wrong = [m for m in rounds if not 1 <= m <= last]
    if wrong or not len(rounds):
        raise ValueError(f"rounds must be whole numbers from 1 to {last}, the model's rounds; got {list(rounds)}")
    return [int(m) for m in rounds]


def _weights(model: Any, votes: list[Array], codes: NDArray[np.intp], done: int) -> Array:
    """The weights after some rounds: w ∝ exp(Σ α 1[wrong])."""
    if not done:
        return np.full(len(codes), 1.0 / len(codes))
    wrong = model.boosted_.alpha[:done].sum() - votes[done - 1][np.arange(len(codes)), codes]
    weight = np.exp(wrong - wrong.max())
    return weight / weight.sum()


def _round(ax: Axes, ground: Plane, votes: Array, own: Array) -> None:
    n_classes = votes.shape[1]
    ground.shade(ax, votes, 0.22)
    for table, paint, line, width in ((own, MUTED, "dashed", 1.3), (votes, INK, "solid", 1.5)):
        for k in range(n_classes == 2, n_classes):
            inside = (table.argmax(axis=1) == k).astype(np.float64)
            ground.line(ax, inside, 0.5, colors=paint, linewidths=width, linestyles=line, zorder=2)
    ground.frame(ax)
    if len(np.unique(own.argmax(axis=1))) == 1:
        ax.text(0.5, 0.02, "learner: one class here", color=MUTED, fontsize=6.5, ha="center", transform=ax.transAxes)


def _dots(ax: Axes, places: Array, codes: NDArray[np.intp], weight: Array, max_points: int) -> None:
    kept = sample_rows(np.ones(len(places), dtype=bool), at_most=max_points)
    area = np.minimum(_MEAN_AREA * weight * len(weight), _MAX_AREA)
    for k in np.unique(codes):
        rows = kept[codes[kept] == k]
        ax.scatter(
            places[rows, 0], places[rows, 1], s=area[rows], marker=shape(k), color=color(k), alpha=0.75,
            edgecolors="#ffffff", linewidths=0.4, zorder=3,
        )  # fmt: skip
    ax.tick_params(length=2.0, labelsize=6.5)


def _legend(ax: Axes, classes: list[Any]) -> None:
    for k, label in enumerate(classes):
        ax.plot([], [], shape(k), color=color(k), markersize=4.5, linestyle="none", label=title(label))
    ax.plot([], [], color=MUTED, linestyle="dashed", linewidth=1.3, label="learner of the round")
    ax.plot([], [], color=INK, linewidth=1.5, label="all votes so far")
    legend(ax, columns=None)
