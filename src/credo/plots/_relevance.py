"""Which inputs matter to a process with a length scale for each (automatic relevance determination)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from credo.estimator import positive_integer
from credo.plots._bars import FAINT, bars
from credo.plots._data import feature_names
from credo.plots._labels import End, label_ends, name_axis, name_log_axis
from credo.plots._style import ACCENT, INK, MUTED, canvas

_MEANING = "relevance (standard deviation / length scale)"


def relevances(model: Any, *, max_rows: int = 20, ax: Axes | None = None) -> Axes:
    """The standard deviation of each input divided by its length scale, the largest first.

    Bars of a tenth of the longest or less are hollow: along these inputs the function is nearly linear.

    Parameters
    ----------
    model : fitted model with `relevance_`
        Such as `credo.GPRegressor` with a length scale for each column.
    max_rows : int, default 20
        How many are drawn.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import numpy as np
    >>> from credo import GPRegressor
    >>> from credo.plots import relevances
    >>> from matplotlib.figure import Figure
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> ax = relevances(GPRegressor().fit(X, np.sin(2 * X[:, 1])), ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['x1', 'x0']
    """
    names = feature_names(model)
    values = _relevance(model, "relevance_", len(names))
    return bars(names, values, label=_MEANING, max_rows=max_rows, ax=ax)


def relevance_trace(model: Any, *, max_labels: int = 10, ax: Axes | None = None) -> Axes:
    """The relevance of each input after every step of the optimizer, on a log axis.

    Inputs that end at a tenth of the largest relevance or less are grey (after Bishop 2006, figure 6.10).

    Parameters
    ----------
    model : fitted model with `relevance_trace_`, of shape (n_steps, n_features)
    max_labels : int, default 10
        How many lines are labelled, those that end highest.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import numpy as np
    >>> from credo import GPRegressor
    >>> from credo.plots import relevance_trace
    >>> from matplotlib.figure import Figure
    >>> X = np.random.default_rng(0).uniform(size=(40, 2))  # the second column has no effect
    >>> model = GPRegressor("rbf", hyperparameters="optimize", random_state=0).fit(X, np.sin(6.0 * X[:, 0]))
    >>> ax = relevance_trace(model, ax=Figure().subplots())
    >>> len(ax.lines), ax.get_ylabel()
    (2, 'relevance (standard deviation / length scale)')
    """
    names = feature_names(model)
    trace = _relevance(model, "relevance_trace_", len(names))
    if not (trace > 0).all():
        raise ValueError("relevance_trace_ must be positive to be drawn on a log axis")
    steps, last = np.arange(len(trace)), trace[-1]
    order, strong = np.argsort(-last, kind="stable"), last > FAINT * last.max()
    with canvas(ax, size=(5.2, 3.2)) as ax:
        for column in order[::-1]:
            ax.plot(
                steps, trace[:, column], color=ACCENT if strong[column] else MUTED,
                linewidth=1.6 if strong[column] else 1.0, alpha=1.0 if strong[column] else 0.7,
                marker="o" if len(trace) == 1 else None, markersize=3.5,
            )  # fmt: skip
        ax.set_yscale("log")
        low, high = np.log10(trace.min()), np.log10(trace.max())
        margin = 0.06 * (high - low) or 0.5
        ax.set(xlim=(0, max(len(trace) - 1, 1)), ylim=(10 ** (low - margin), 10 ** (high + margin)))
        named = order[: positive_integer("max_labels", max_labels)]
        heights = (np.log10(last) - low + margin) / (high - low + 2 * margin)
        label_ends(ax, [End(float(heights[i]), names[i], INK if strong[i] else MUTED) for i in named])
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        name_axis(ax.xaxis, "step of the search")
        name_log_axis(ax.yaxis, _MEANING)
        return ax


def _relevance(model: Any, attribute: str, n_features: int) -> NDArray[np.float64]:
    """A fitted attribute with a value for each column, or why there is none."""
    try:
        values = np.asarray(getattr(model, attribute), dtype=np.float64)
    except AttributeError as error:
        raise ValueError(
            f"this {type(model).__name__} has no {attribute}: relevances need a kernel with one length scale for each "
            f"column, as in RBF(np.ones({n_features})), and a search for them ({error})"
        ) from None
    if values.shape[-1:] != (n_features,) or not values.size or not np.isfinite(values).all():
        raise ValueError(
            f"{attribute} must hold a finite value for each of the {n_features} columns; got shape {values.shape}"
        )
    return values
