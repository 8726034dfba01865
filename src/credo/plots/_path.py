"""The weights of the lasso along its penalty, and a fitted tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from credo.core.estimator import column_names, positive_integer
from credo.plots._bars import remark
from credo.plots._data import Vector, feature_names, limits
from credo.plots.class_rows import N_COLORS, color, dash
from credo.plots.styling import (
    ACCENT,
    INK,
    MUTED,
    RULE,
    End,
    canvas,
    label_ends,
    legend,
    name_axis,
    name_log_axis,
    room_for_labels,
    shorten,
)
from credo.sparse import LassoCV, LassoPath, lasso_path
from credo.trees import DecisionTreeRegressor
from credo.trees.trees import TreeClassifier

Array = NDArray[np.float64]


def coefficient_path(
    path: LassoPath | ArrayLike,
    y: ArrayLike | None = None,
    *,
    model: Any = None,
    names: Sequence[str] | None = None,
    max_labels: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Every weight of the lasso from the strongest penalty, at the left, to the weakest.

    The weights that are largest at the end have names and colors, the others are gray. With a fitted `LassoCV`, lines
    mark the penalty with the smallest held-out error and the largest penalty within one standard error of it, and the
    weights that are largest at the model's penalty are named. Scale the columns first, so that weights can be compared.

    Parameters
    ----------
    path : LassoPath, or the table X of shape (n_samples, n_features)
        From `credo.sparse.lasso_path`; or the rows, with `y`.
    y : array of shape (n_samples,), optional
        The targets of the rows.
    model : fitted LassoCV, optional
        For the penalties to mark, the names of the columns and, with a table, the penalties of the path.
    names : sequence of str, optional
        Names of the columns; by default those of the path, the table or the model, or x0, x1, …
    max_labels : int, default 10
        Maximum number of weights to name.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import numpy as np
    >>> from credo.plots import coefficient_path
    >>> from matplotlib.figure import Figure
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> ax = coefficient_path(X, X @ [1.0, 0.0, -2.0], names=["rain", "wind", "sun"], ax=Figure().subplots())
    >>> [text.get_text() for text in ax.texts]
    ['rain', 'sun']
    """
    if model is not None:
        _check_model(model)
    found, titles = _path_and_names(path, y, model, names)
    alphas, coefs = found.alphas, found.coefs
    with canvas(ax, size=(5.4, 3.6)) as ax:
        most = min(positive_integer("max_labels", max_labels), room_for_labels(ax))
        chosen = -1 if model is None else _nearest(alphas, model.alpha_)
        named = _largest(coefs, chosen)[:most]
        _lines(ax, alphas, coefs, named)
        _axis(ax, alphas)
        ax.set_ylim(*limits(coefs.ravel(), np.zeros(1)))
        low, high = ax.get_ylim()
        ends = (coefs[named, -1] - low) / (high - low)
        label_ends(ax, [End(float(ends[k]), titles[i], color(k)) for k, i in enumerate(named)])
        if model is not None:
            _marks(ax, model, alphas, coefs)
        name_axis(ax.yaxis, "weight")
        others = int((np.abs(coefs).max(axis=1) > 0).sum()) - len(named)
        if others:
            remark(ax, f"in gray: {others:,} more weights that leave zero, of {len(coefs):,} columns")
        return ax


def _path_and_names(
    path: Any, y: ArrayLike | None, model: Any, names: Sequence[str] | None
) -> tuple[LassoPath, list[str]]:  # fmt: skip
    """The path, computed from rows if necessary, and the names of its columns."""
    if not isinstance(path, LassoPath):
        if isinstance(path, BaseEstimator):
            raise TypeError(
                f"a {type(path).__name__} keeps no path; give the rows or the path as well as the model: "
                "coefficient_path(X, y, model=model)"
            )
        if y is None:
            raise ValueError("a path of rows needs their targets: coefficient_path(X, y)")
        options = {} if model is None else {"alphas": model.alphas_, "fit_intercept": model.fit_intercept}
        path = lasso_path(path, y, **options)
    n_features = len(path.coefs)
    if model is not None and model.n_features_in_ != n_features:
        raise ValueError(f"the path has {n_features} columns and the model {model.n_features_in_}")
    plain = [f"x{i}" for i in range(n_features)]
    if names is None:
        names = path.names if path.names != plain or model is None else column_names(model)
    if len(names) != n_features:
        raise ValueError(f"there are {len(names)} names for the {n_features} columns of the path")
    return path, [str(name) for name in names]


def _check_model(model: Any) -> None:
    check_is_fitted(model)
    if not isinstance(model, LassoCV):
        raise TypeError(f"model must be a LassoCV, whose penalties have held-out errors; got {type(model).__name__}")


def _nearest(alphas: Vector, alpha: float) -> int:
    return int(np.argmin(np.abs(np.log(alphas / alpha))))


def _largest(coefs: Array, chosen: int) -> NDArray[np.intp]:
    """The weights that are ever non-zero, by their size at one of the penalties, then at the last."""
    order = np.lexsort((-np.abs(coefs[:, -1]), -np.abs(coefs[:, chosen])))
    return order[np.abs(coefs[order]).max(axis=1) > 0]


def _lines(ax: Axes, across: Vector, coefs: Array, named: NDArray[np.intp]) -> None:
    ax.axhline(0.0, color=MUTED, linewidth=0.6, zorder=1)
    marker = "o" if len(across) == 1 else None
    plain = np.setdiff1d(np.flatnonzero(np.abs(coefs).max(axis=1) > 0), named)
    ax.plot(across, coefs[plain].T, color=RULE, linewidth=0.8, zorder=2)
    for place, column in list(enumerate(named))[::-1]:
        # Lines would overlap where weights are zero.
        zero = np.pad(coefs[column] == 0, 1, constant_values=True)
        height = np.where(zero[:-2] & zero[1:-1] & zero[2:], np.nan, coefs[column])
        ax.plot(
            across, height, color=color(place), linestyle=dash(place // N_COLORS), linewidth=1.4, zorder=3,
            marker=marker, markersize=3.5,
        )  # fmt: skip


def _axis(ax: Axes, alphas: Vector) -> None:
    ax.set_xscale("log")
    low, high = float(alphas.min()), float(alphas.max())
    ax.set_xlim((high, low) if low < high else (2 * high, low / 2))
    name_log_axis(ax.xaxis, "penalty α")


def _marks(ax: Axes, model: Any, alphas: Vector, coefs: Array) -> None:
    """Lines at the penalties of the two rules, each with the number of non-zero weights."""
    best = int(np.argmin(model.mse_))
    simple = int(np.flatnonzero(model.mse_ <= model.mse_[best] + model.mse_std_error_[best])[0])
    for place, text, dashes in (
        (simple, "within one standard error", (1, 1.5)),
        (best, "least held-out error", (4, 2)),
    ):
        alpha = float(model.alphas_[place])
        left = int((coefs[:, _nearest(alphas, alpha)] != 0).sum())
        words = f"{text} ({left} weight{'' if left == 1 else 's'})"
        ax.axvline(alpha, color=INK, linewidth=1.0, dashes=dashes, zorder=2, label=words)
    legend(ax, columns=None)


# Width of a leaf and height of a level, and the largest font size in points.
_LEAF_INCHES, _LEVEL_INCHES, _MAX_FONT_SIZE = 1.15, 0.85, 8.0
# Opacity of the least and of the most certain leaf.
_MIN_OPACITY, _MAX_OPACITY = 0.08, 0.5


@dataclass(frozen=True)
class _Spot:
    """The position of a node, and whether its children are left out."""

    x: float
    level: int
    is_end: bool


def tree(model: Any, *, max_depth: int = 4, ax: Axes | None = None) -> Axes:
    """The splits of a fitted tree and the predictions of its leaves.

    Rows for which a condition is true go to the left. A leaf of a classifier has the color of its most probable class,
    stronger the more certain it is, with its probability; a leaf of a regressor has the mean and standard deviation of
    its predictive distribution, stronger the higher the mean. Below `max_depth` the number of leaves is given instead.

    Parameters
    ----------
    model : fitted `DecisionTreeClassifier`, `DecisionTreeRegressor` or `DecisionStump`
    max_depth : int, default 4
        Maximum number of levels below the root.
    ax : matplotlib Axes, optional
        By default a new figure with room for all leaves.

    Examples
    --------
    >>> from credo.plots import tree
    >>> from credo.trees import DecisionStump
    >>> from matplotlib.figure import Figure
    >>> stump = DecisionStump().fit([[1.0], [2.0], [3.0], [4.0]], ["a", "a", "b", "b"])
    >>> ax = tree(stump, ax=Figure().subplots())
    >>> ax.texts[0].get_text()
    'x ≤ 2.5'
    """
    check_is_fitted(model)
    if not isinstance(model, DecisionTreeRegressor | TreeClassifier):
        raise ValueError(f"there is no tree to draw in a {type(model).__name__}: give a decision tree or a stump")
    spots = _layout(model.tree_, positive_integer("max_depth", max_depth))
    n_ends, depth = sum(spot.is_end for spot in spots.values()), max(spot.level for spot in spots.values())
    with canvas(ax, size=(max(3.0, 0.3 + _LEAF_INCHES * n_ends), 0.4 + _LEVEL_INCHES * (depth + 1))) as ax:
        ax.set(xlim=(-0.55, n_ends - 0.45), ylim=(-depth - 0.5, 0.5))
        ax.axis("off")
        room = ax.get_window_extent().width / ax.figure.dpi * 72.0 / n_ends
        size = float(np.clip(_MAX_FONT_SIZE * room / (72.0 * _LEAF_INCHES), 3.5, _MAX_FONT_SIZE))
        for node, spot in spots.items():
            if not spot.is_end:
                for child in (model.tree_.left[node], model.tree_.right[node]):
                    below = spots[child]
                    ax.plot([spot.x, below.x], [-spot.level, -below.level], color=MUTED, linewidth=0.8, zorder=1)
        for node, spot in spots.items():
            _draw(ax, model, node, spot, size)
        if not spots[0].is_end:
            for child, word in ((model.tree_.left[0], "yes"), (model.tree_.right[0], "no")):
                ax.text(
                    0.5 * (spots[0].x + spots[child].x), -0.5, word, color=MUTED, fontsize=size, ha="center",
                    va="center", bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0}, zorder=2,
                )  # fmt: skip
        return ax


def _layout(nodes: Any, max_depth: int) -> dict[int, _Spot]:
    """Leaves, and nodes at the lowest level, side by side; each split above the middle of its children."""
    spots: dict[int, _Spot] = {}
    n_ends = 0

    def place(node: int, level: int) -> float:
        nonlocal n_ends
        end = nodes.left[node] < 0 or level == max_depth
        # The root comes first.
        spots[node] = _Spot(0.0, level, end)
        if end:
            x = float(n_ends)
            n_ends += 1
        else:
            x = 0.5 * (place(int(nodes.left[node]), level + 1) + place(int(nodes.right[node]), level + 1))
        spots[node] = _Spot(x, level, end)
        return x

    place(0, 0)
    return spots


def _draw(ax: Axes, model: Any, node: int, spot: _Spot, size: float) -> None:
    nodes, letters = model.tree_, 15
    if spot.is_end:
        text, face = _leaf(model, node, letters)
        if nodes.left[node] >= 0:
            text += f"\n… {_leaves_below(nodes, node)} leaves"
    else:
        name = shorten(feature_names(model)[nodes.feature[node]], width=letters)
        gaps = nodes.missing_left[node] and model.had_missing_[nodes.feature[node]]
        missing = "\nor missing" if gaps else ""
        text, face = f"{name} ≤ {nodes.threshold[node]:.4g}{missing}", "white"
    ax.text(
        spot.x, -spot.level, text, fontsize=size, ha="center", va="center", color=INK, parse_math=False, zorder=3,
        linespacing=1.25, bbox={"facecolor": face, "edgecolor": MUTED, "linewidth": 0.6, "boxstyle": "round,pad=0.35"},
    )  # fmt: skip


def _leaf(model: Any, node: int, letters: int) -> tuple[str, Any]:
    """The prediction of a leaf, and its color; opaque, because lines end behind it."""
    nodes, n_rows = model.tree_, f"{model.tree_.weight[node]:.6g} rows"
    if isinstance(model, TreeClassifier):
        (chance,) = model.prior_.predictive(nodes.value[node : node + 1])
        best = int(np.argmax(chance))
        sure = (len(chance) * chance[best] - 1.0) / (len(chance) - 1.0)
        text = f"{shorten(model.classes_[best], width=letters)}\np = {chance[best]:.2f}\n{n_rows}"
        return text, _mixed(color(best), _MIN_OPACITY + (_MAX_OPACITY - _MIN_OPACITY) * sure)
    statistics = np.column_stack([nodes.weight, nodes.value])
    found = model.prior_.predictive(statistics)
    low, high = found.mean[nodes.left < 0].min(), found.mean[nodes.left < 0].max()
    place = (found.mean[node] - low) / (high - low) if high > low else 0.5
    text = f"{found.mean[node]:.4g} ± {found.std[node]:.2g}\n{n_rows}"
    return text, _mixed(ACCENT, _MIN_OPACITY + (_MAX_OPACITY - _MIN_OPACITY) * place)


def _mixed(paint: str, share: float) -> tuple[float, ...]:
    """A color mixed with white."""
    rgb = np.array(to_rgba(paint)[:3])
    return tuple(1.0 - share * (1.0 - rgb))


def _leaves_below(nodes: Any, node: int) -> int:
    if nodes.left[node] < 0:
        return 1
    return _leaves_below(nodes, nodes.left[node]) + _leaves_below(nodes, nodes.right[node])
