"""Boosting: the rounds of AdaBoost, and the losses of classification as functions of the margin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from credo.estimator import positive_integer
from credo.plots._classes import color, labelled, shape, title
from credo.plots._data import rows_for, sample_rows
from credo.plots._inclusion import panel_grid
from credo.plots._labels import name_axis
from credo.plots._regions import Plane, plane
from credo.plots._style import ALERT, INK, MUTED, canvas, legend

Array = NDArray[np.float64]

# Area of a dot of mean weight, and of the largest, in square points.
_MEAN_AREA, _MOST_AREA = 12.0, 260.0
_FLAT = 0.22
_ROUNDS = 6


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
        The two columns to draw, of a model with more. The others are held at the medians of X.
    n : int, default 120
        Grid points in each direction.
    max_points : int, default 400
        Of more observations a random sample is drawn, always the same one.
    ax : matplotlib Axes, optional
        Replaced by the panels.

    Returns
    -------
    array of matplotlib Axes, one a round

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
    if not hasattr(model, "staged_votes"):
        raise ValueError(f"a {type(model).__name__} has no rounds of votes: give a fitted AdaBoostClassifier")
    rows, codes = labelled(model, X, y)
    assert codes is not None
    ground = plane(model, rows, columns, None, positive_integer("n", n))
    drawn = _chosen(rounds, len(model.boosted_))
    on_rows, on_mesh = (list(model.staged_votes(rows_for(model, part))) for part in (rows, ground.mesh))
    across = min(3, len(drawn))
    down = -(-len(drawn) // across)
    with canvas(ax, size=(0.4 + 2.3 * across, 0.5 + 2.2 * down)) as ax:
        found = panel_grid(ax, len(drawn), across, down)
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
        return found


def _chosen(rounds: Sequence[int] | None, last: int) -> list[int]:
    if rounds is None:
        grown = np.unique(np.round(np.geomspace(3, max(last, 3), _ROUNDS - 2)).astype(int))
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
    ground.shade(ax, votes, _FLAT)
    for table, paint, dash, width in ((own, MUTED, "dashed", 1.3), (votes, INK, "solid", 1.5)):
        for k in range(n_classes == 2, n_classes):
            inside = (table.argmax(axis=1) == k).astype(np.float64)
            ground.line(ax, inside, 0.5, colors=paint, linewidths=width, linestyles=dash, zorder=2)
    ground.frame(ax)
    if len(np.unique(own.argmax(axis=1))) == 1:
        ax.text(0.5, 0.02, "learner: one class here", color=MUTED, fontsize=6.5, ha="center", transform=ax.transAxes)


def _dots(ax: Axes, places: Array, codes: NDArray[np.intp], weight: Array, max_points: int) -> None:
    kept = sample_rows(np.ones(len(places), dtype=bool), at_most=max_points)
    area = np.minimum(_MEAN_AREA * weight * len(weight), _MOST_AREA)
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


def losses(*, limit: float = 2.0, ax: Axes | None = None) -> Axes:
    """Losses of a classifier as functions of the margin y f(x): exponential, cross-entropy, hinge and 0–1.

    All are scaled to 1 at margin 0, as in ESL figure 10.4. The exponential loss, which AdaBoost minimizes, grows
    fastest for rows that are badly wrong, and so is the most sensitive to wrong labels.

    Parameters
    ----------
    limit : float, default 2.0
        The margins from −limit to limit are drawn.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> from credo.plots import losses
    >>> from matplotlib.figure import Figure
    >>> ax = losses(ax=Figure().subplots())
    >>> [line.get_label() for line in ax.lines[:4]]
    ['exponential', 'cross-entropy', 'hinge', '0–1']
    """
    if not 0 < limit < 50:
        raise ValueError(f"limit must be a positive number below 50; got {limit!r}")
    margin = np.linspace(-limit, limit, 401)
    curves = {
        "exponential": (np.exp(-margin), ALERT, "solid"),
        "cross-entropy": (np.logaddexp(0.0, -margin) / np.log(2.0), color(0), "dashed"),
        "hinge": (np.maximum(0.0, 1.0 - margin), color(2), "dashdot"),
        "0–1": (np.where(margin < 0, 1.0, 0.0), INK, "solid"),
    }
    with canvas(ax, size=(5.2, 3.4)) as ax:
        for name, (values, paint, dash) in curves.items():
            style: Any = {"drawstyle": "steps-post"} if name == "0–1" else {}
            ax.plot(margin, values, color=paint, linestyle=dash, linewidth=1.6, label=name, **style)
        top = 1.05 * (1.0 + limit)
        ax.set(xlim=(-limit, limit), ylim=(0.0, top))
        ax.axvline(0.0, color=MUTED, linewidth=0.6, zorder=0)
        ax.legend(loc="upper right", frameon=False, handlelength=2.4)
        name_axis(ax.xaxis, "margin y f(x)")
        name_axis(ax.yaxis, "loss")
        return ax
