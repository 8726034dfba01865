"""A fitted tree, drawn from its root at the top."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from sklearn.utils.validation import check_is_fitted

from credo.estimator import positive_integer
from credo.plots._classes import color
from credo.plots._data import feature_names
from credo.plots._labels import shorten
from credo.plots._style import ACCENT, INK, MUTED, canvas

# Inches of a leaf and of a level, and the size of the letters where there is room.
_LEAF, _LEVEL, _LETTERS = 1.15, 0.85, 8.0
# Opacity of a leaf that is as unsure as can be, and of a certain one.
_FAINT, _STRONG = 0.08, 0.5


@dataclass(frozen=True)
class _Spot:
    """Where a node is drawn, and whether what is below it is left out."""

    x: float
    level: int
    is_end: bool


def tree(model: Any, *, max_depth: int = 4, ax: Axes | None = None) -> Axes:
    """The splits of a fitted tree and what its leaves predict.

    Rows for which a condition is true go to the left. A leaf of classes has the colour of its most probable one, the
    stronger the surer, with its probability; a leaf of numbers has the mean and standard deviation of its predictive
    distribution, the stronger the higher the mean. Below `max_depth` the number of leaves is given instead.

    Parameters
    ----------
    model : fitted `DecisionTreeClassifier`, `DecisionTreeRegressor` or `DecisionStump`
    max_depth : int, default 4
        The most levels below the root.
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
    if not hasattr(model, "tree_") or not hasattr(model, "prior_"):
        raise ValueError(f"there is no tree to draw in a {type(model).__name__}: give a decision tree or a stump")
    spots = _layout(model.tree_, positive_integer("max_depth", max_depth))
    n_ends, depth = sum(spot.is_end for spot in spots.values()), max(spot.level for spot in spots.values())
    with canvas(ax, size=(max(3.0, 0.3 + _LEAF * n_ends), 0.4 + _LEVEL * (depth + 1))) as ax:
        ax.set(xlim=(-0.55, n_ends - 0.45), ylim=(-depth - 0.5, 0.5))
        ax.axis("off")
        room = ax.get_window_extent().width / ax.figure.dpi * 72.0 / n_ends
        size = float(np.clip(_LETTERS * room / (72.0 * _LEAF), 3.5, _LETTERS))
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
    """What is predicted in a leaf, and its colour; opaque, because lines end behind it."""
    nodes, n_rows = model.tree_, f"{model.tree_.weight[node]:.6g} rows"
    if hasattr(model, "classes_"):
        (chance,) = model.prior_.predictive(nodes.value[node : node + 1])
        best = int(np.argmax(chance))
        sure = (len(chance) * chance[best] - 1.0) / (len(chance) - 1.0)
        text = f"{shorten(model.classes_[best], width=letters)}\np = {chance[best]:.2f}\n{n_rows}"
        return text, _mixed(color(best), _FAINT + (_STRONG - _FAINT) * sure)
    statistics = np.column_stack([nodes.weight, nodes.value])
    found = model.prior_.predictive(statistics)
    low, high = found.mean[nodes.left < 0].min(), found.mean[nodes.left < 0].max()
    place = (found.mean[node] - low) / (high - low) if high > low else 0.5
    text = f"{found.mean[node]:.4g} ± {found.std[node]:.2g}\n{n_rows}"
    return text, _mixed(ACCENT, _FAINT + (_STRONG - _FAINT) * place)


def _mixed(paint: str, share: float) -> tuple[float, ...]:
    """A colour mixed with white."""
    rgb = np.array(to_rgba(paint)[:3])
    return tuple(1.0 - share * (1.0 - rgb))


def _leaves_below(nodes: Any, node: int) -> int:
    if nodes.left[node] < 0:
        return 1
    return _leaves_below(nodes, nodes.left[node]) + _leaves_below(nodes, nodes.right[node])
