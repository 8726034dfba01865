"""The weights of the lasso along its penalty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from credo.estimator import choice, positive_integer
from credo.penalized import LassoPath, lasso_path
from credo.plots._bars import remark
from credo.plots._classes import N_COLORS, color, dash
from credo.plots._data import Vector, limits
from credo.plots._labels import End, label_ends, name_axis, name_log_axis, room_for_labels
from credo.plots._style import INK, MUTED, RULE, canvas, legend

Array = NDArray[np.float64]


def coefficient_path(
    path: LassoPath | ArrayLike,
    y: ArrayLike | None = None,
    *,
    model: Any = None,
    names: Sequence[str] | None = None,
    against: str = "alpha",
    max_labels: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Every weight of the lasso from the strongest penalty, at the left, to the weakest.

    The weights that are largest at the end have names and colours, the others are grey. With a fitted `LassoCV`, lines
    mark the penalty of the least held-out error and the largest penalty within one standard error of it, and the
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
        Of the columns; by default those of the path, the table or the model, or x0, x1, …
    against : {"alpha", "norm"}, default "alpha"
        The penalty α, on a log axis, or the sum of the weights' magnitudes ‖w‖₁.
    max_labels : int, default 10
        How many weights are named at most.
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
    choice("against", against, ("alpha", "norm"))
    if model is not None:
        _check_model(model)
    found, titles = _path_and_names(path, y, model, names)
    alphas, coefs = found.alphas, found.coefs
    across = alphas if against == "alpha" else np.abs(coefs).sum(axis=0)
    with canvas(ax, size=(5.4, 3.6)) as ax:
        most = min(positive_integer("max_labels", max_labels), room_for_labels(ax))
        chosen = -1 if model is None else _nearest(alphas, model.alpha_)
        named = _largest(coefs, chosen)[:most]
        slots = _slots(named, _largest(coefs, -1)[:most])
        _lines(ax, across, coefs, named, slots)
        _axis(ax, across, against)
        ax.set_ylim(*limits(coefs.ravel(), np.zeros(1)))
        low, high = ax.get_ylim()
        ends = (coefs[named, -1] - low) / (high - low)
        label_ends(ax, [End(float(ends[k]), titles[i], color(slots[k])) for k, i in enumerate(named)])
        if model is not None:
            _marks(ax, model, alphas, across, coefs)
        name_axis(ax.yaxis, "weight")
        others = int((np.abs(coefs).max(axis=1) > 0).sum()) - len(named)
        if others:
            remark(ax, f"in grey: {others:,} more weights that leave zero, of {len(coefs):,} columns")
        return ax


def _path_and_names(
    path: Any, y: ArrayLike | None, model: Any, names: Sequence[str] | None
) -> tuple[LassoPath, list[str]]:  # fmt: skip
    """The path, computed from rows if necessary, and the names of its columns."""
    if not isinstance(path, LassoPath):
        if hasattr(path, "coef_"):
            raise TypeError(
                f"a {type(path).__name__} keeps no path; give the rows or the path, and the model beside it: "
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
        names = path.names if path.names != plain else getattr(model, "feature_names_in_", plain)
    if len(names) != n_features:
        raise ValueError(f"there are {len(names)} names for the {n_features} columns of the path")
    return path, [str(name) for name in names]


def _check_model(model: Any) -> None:
    check_is_fitted(model)
    if not hasattr(model, "mse_std_error_"):
        raise TypeError(f"model must be a LassoCV, whose penalties have held-out errors; got {type(model).__name__}")


def _nearest(alphas: Vector, alpha: float) -> int:
    return int(np.argmin(np.abs(np.log(alphas / alpha))))


def _largest(coefs: Array, chosen: int) -> NDArray[np.intp]:
    """The weights that are ever non-zero, by their size at one of the penalties, then at the last."""
    order = np.lexsort((-np.abs(coefs[:, -1]), -np.abs(coefs[:, chosen])))
    return order[np.abs(coefs[order]).max(axis=1) > 0]


def _slots(named: NDArray[np.intp], last: NDArray[np.intp]) -> list[int]:
    """The colour index of each named column: its rank among the weights that are largest at the end, or a free one.

    So a column has the same colour whichever penalty its name was chosen by.

    >>> _slots(np.array([7, 5, 3]), np.array([3, 5, 9]))
    [2, 1, 0]
    """
    rank = {int(column): place for place, column in enumerate(last)}
    taken = {rank[column] for column in named.tolist() if column in rank}
    free = (place for place in range(len(last) + len(named)) if place not in taken)
    return [rank[column] if column in rank else next(free) for column in named.tolist()]


def _lines(ax: Axes, across: Vector, coefs: Array, named: NDArray[np.intp], slots: Sequence[int]) -> None:
    ax.axhline(0.0, color=MUTED, linewidth=0.6, zorder=1)
    marker = "o" if len(across) == 1 else None
    plain = np.setdiff1d(np.flatnonzero(np.abs(coefs).max(axis=1) > 0), named)
    ax.plot(across, coefs[plain].T, color=RULE, linewidth=0.8, zorder=2)
    for place, column in list(zip(slots, named, strict=True))[::-1]:
        # Where weights are zero, lines would overlap.
        zero = np.pad(coefs[column] == 0, 1, constant_values=True)
        height = np.where(zero[:-2] & zero[1:-1] & zero[2:], np.nan, coefs[column])
        ax.plot(
            across, height, color=color(place), linestyle=dash(place // N_COLORS), linewidth=1.4, zorder=3,
            marker=marker, markersize=3.5,
        )  # fmt: skip


def _axis(ax: Axes, across: Vector, against: str) -> None:
    if against == "norm":
        ax.set_xlim(0.0, float(across.max()) or 1.0)
        name_axis(ax.xaxis, "‖w‖₁, the sum of the weights' magnitudes")
        return
    ax.set_xscale("log")
    low, high = float(across.min()), float(across.max())
    ax.set_xlim((high, low) if low < high else (2 * high, low / 2))
    name_log_axis(ax.xaxis, "penalty α")


def _marks(ax: Axes, model: Any, alphas: Vector, across: Vector, coefs: Array) -> None:
    """Lines at the penalties of the two rules, each with the number of non-zero weights."""
    best = int(np.argmin(model.mse_))
    simple = int(np.flatnonzero(model.mse_ <= model.mse_[best] + model.mse_std_error_[best])[0])
    # The path may have other penalties than the model: interpolate by ln α.
    logs = np.log(alphas[::-1])
    for place, text, dashes in (
        (simple, "within one standard error", (1, 1.5)),
        (best, "least held-out error", (4, 2)),
    ):
        alpha = float(model.alphas_[place])
        left = int((coefs[:, _nearest(alphas, alpha)] != 0).sum())
        x = alpha if across is alphas else np.interp(np.log(alpha), logs, across[::-1])
        words = f"{text} ({left} weight{'' if left == 1 else 's'})"
        ax.axvline(x, color=INK, linewidth=1.0, dashes=dashes, zorder=2, label=words)
    legend(ax, columns=None)
