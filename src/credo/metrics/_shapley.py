"""Shapley values: how a prediction differs from the average prediction, divided among the inputs.

    v(S) = (1/m) Σ_b f(x in the inputs S, b in the others)          the mean over m background rows b
    φᵢ   = Σ_S |S|! (d − |S| − 1)! / d!  (v(S ∪ i) − v(S))          over subsets S of the d inputs without i

The φᵢ add up to f(x) − mean of f(b) (Štrumbelj and Kononenko 2014; "interventional" in Janzing et al. 2020). φᵢ is also
the mean, over all orders of the inputs, of the change of v when i takes the value of x after those before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Evaluate = Callable[[NDArray[np.intp], NDArray[np.bool_]], Array]

# The most numbers in one table that is predicted.
_BATCH = 2**21
# Values and errors below this part of the predictions are rounding; an error is the root of a sum of squares.
_ROUNDING, _ERROR_ROUNDING = 1e-13, 1e-9


@dataclass(frozen=True)
class ShapleyValues:
    """The contribution of each input to each prediction.

    Parameters
    ----------
    names : the inputs
    values : array of shape (n_samples, n_inputs), or (n_samples, n_inputs, n_outputs)
        ``base + values.sum(axis=1)`` is the prediction.
    errors : array of the same shape
        The standard errors of the values for this background; zero if they are exact.
    base : the mean prediction over the background, a number or an array of shape (n_outputs,)
    predictions : array of shape (n_samples,) or (n_samples, n_outputs)

    Examples
    --------
    >>> from credo.metrics import shapley
    >>> found = shapley(lambda rows: rows[:, 0] * rows[:, 1], [[2.0, 3.0]], [[0.0, 0.0]], ["dose", "time"])
    >>> dict(zip(found.names, found.values[0].tolist()))
    {'dose': 3.0, 'time': 3.0}
    """

    names: tuple[str, ...]
    values: Array
    errors: Array
    base: Any
    predictions: Array


def shapley(
    predict: Callable[[Any], Any],
    X: ArrayLike,
    background: ArrayLike,
    columns: Sequence[Any] | None = None,
    *,
    n_pairs: int = 4,
    random_state: int = 0,
) -> ShapleyValues:
    """How much each input contributes to each prediction, compared with the rows of a background.

    All subsets are evaluated if there are few inputs. Otherwise random orders of the inputs are drawn for each
    background row, each together with its reverse. The mean over such a pair is exact for functions without
    interactions of three or more inputs, so for all linear and additive models.

    Parameters
    ----------
    predict : callable(rows)
        Returns a number for each row, or a row of several, such as class probabilities.
    X : array of shape (n_samples, n_features)
        The rows to explain.
    background : array of shape (n_background, n_features)
        Rows to compare with, such as 100 training rows.
    columns : sequence of n_features labels, optional
        The input that each feature belongs to; by default each is one.
    n_pairs : int, default 4
        The pairs of orders for each background row, at least 2; standard errors decrease with its root.
    random_state : int, default 0

    Returns
    -------
    ShapleyValues

    Examples
    --------
    >>> import numpy as np
    >>> from credo.metrics import shapley
    >>> background = np.random.default_rng(0).normal(size=(100, 10))
    >>> found = shapley(lambda rows: np.exp(rows[:, :3].sum(axis=1)), np.ones((1, 10)), background)
    >>> found.values[0, :4].round(1), found.errors[0, :4].round(1)
    (array([6.3, 5.9, 5.4, 0. ]), array([0.1, 0.1, 0.1, 0. ]))
    >>> bool(np.isclose(found.base + found.values.sum(), np.exp(3)))
    True
    """
    rows, others = np.asarray(X), np.asarray(background)
    if rows.ndim != 2 or others.ndim != 2 or rows.shape[1] != others.shape[1] or not (rows.size and others.size):
        raise ValueError(
            f"X and background must be tables with the same columns and at least one row; got the shapes {rows.shape} "
            f"and {others.shape}"
        )
    labels = [f"x{j}" for j in range(rows.shape[1])] if columns is None else [str(label) for label in columns]
    if len(labels) != rows.shape[1]:
        raise ValueError(f"columns has {len(labels)} labels for {rows.shape[1]} features")
    if n_pairs < 2:
        raise ValueError(f"n_pairs must be at least 2, because standard errors need two; got {n_pairs}")
    names = tuple(dict.fromkeys(labels))
    owner = np.array([names.index(label) for label in labels])
    rng = np.random.default_rng(random_state)
    ends, starts = _outputs(predict, rows), _outputs(predict, others)
    d, flat, results = len(names), starts.reshape(len(others), -1), []
    for row, end in zip(rows, ends.reshape(len(rows), -1), strict=True):

        def evaluate(places: NDArray[np.intp], chosen: NDArray[np.bool_], row: Any = row) -> Array:
            """The outputs with the chosen inputs of the row and the other inputs of the background rows."""
            step = max(1, _BATCH // rows.shape[1])
            parts = [slice(i, i + step) for i in range(0, len(places), step)]
            found = [_outputs(predict, np.where(chosen[part][:, owner], row, others[places[part]])) for part in parts]
            return np.concatenate([starts[:0], *found]).reshape(len(places), flat.shape[1])

        # All subsets, if the orders would ask for as many.
        few = 2**d <= 2 * n_pairs * (d - 1) + 2
        results.append(_all_subsets(evaluate, end, flat, d) if few else _sampled(evaluate, end, flat, d, n_pairs, rng))
    shape = len(rows), d, *ends.shape[1:]
    values, errors = (np.stack(part).reshape(shape) for part in zip(*results, strict=True))
    scale = max(np.abs(ends).max(), np.abs(starts).max())
    values[np.abs(values) < _ROUNDING * scale] = 0.0
    errors[errors < _ERROR_ROUNDING * scale] = 0.0
    return ShapleyValues(names, values, errors, starts.mean(axis=0), ends)


def _outputs(predict: Callable[[Any], Any], rows: Any) -> Array:
    found = np.asarray(predict(rows), dtype=np.float64)
    if not np.isfinite(found).all():
        raise ValueError("some predictions are not finite, so that they have no Shapley values")
    return found


def _all_subsets(evaluate: Evaluate, end: Array, starts: Array, d: int) -> tuple[Array, Array]:
    """Exact values; bit i of a subset's number says whether it has input i."""
    subsets, m = np.arange(2**d), len(starts)
    chosen = (subsets[:, None] >> np.arange(d) & 1).astype(bool)
    inner = np.repeat(chosen[1:-1], m, axis=0)
    means = evaluate(np.tile(np.arange(m), len(inner) // m), inner).reshape(-1, m, len(end)).mean(axis=1)
    v = np.concatenate([starts.mean(axis=0)[None], means, end[None]])
    weight = np.array([1 / (d * comb(d - 1, size)) for size in range(d)])
    values = []
    for i in range(d):
        without = subsets[~chosen[:, i]]
        values.append(weight[chosen[without].sum(axis=1)] @ (v[without | 1 << i] - v[without]))
    return np.stack(values), np.zeros((d, len(end)))


def _sampled(
    evaluate: Evaluate, end: Array, starts: Array, d: int, n_pairs: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Means over pairs of an order and its reverse, with standard errors from the pairs of each background row."""
    m, k = starts.shape
    rank = rng.permuted(np.broadcast_to(np.arange(d), (m * n_pairs, d)), axis=1)
    rank = np.stack([rank, d - 1 - rank], axis=1).reshape(-1, d)
    chosen = rank[:, None, :] < np.arange(1, d)[:, None]
    place = np.repeat(np.arange(m), 2 * n_pairs)
    inner = evaluate(np.repeat(place, d - 1), chosen.reshape(-1, d)).reshape(len(rank), d - 1, k)
    path = np.concatenate([starts[place][:, None], inner, np.broadcast_to(end, (len(rank), 1, k))], axis=1)
    change = np.take_along_axis(np.diff(path, axis=1), rank[:, :, None], axis=1)
    pairs = change.reshape(m, n_pairs, 2, d, k).mean(axis=2)
    # Background rows are strata: the standard error has only what the orders add.
    return pairs.mean(axis=(0, 1)), np.sqrt(pairs.var(axis=1, ddof=1).mean(axis=0) / (m * n_pairs))
