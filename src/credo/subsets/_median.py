"""The columns that are rather in than out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from credo.subsets._dependence import Dependence, is_dependent, unit_columns
from credo.subsets._model_posterior import Model, ModelPosterior

Array = NDArray[np.float64]

# Probabilities that differ by rounding alone are alike, and what is one half but for rounding is one half.
_DIGITS = 9


def median_model(
    found: ModelPosterior, dependence: Dependence, X: Array, *, least: Array | float, proper: bool
) -> Model:  # fmt: skip
    """The columns that are in with a probability of at least one half (Barbieri & Berger 2004).

    Of copies, the likeliest stands for its group, with the probability that any of them is in. Unless every subset has
    an evidence (a `proper` prior), columns come in from the likeliest on, and one that depends on those before stays
    out.

    Parameters
    ----------
    X : array of shape (m, d)
        Centred columns.
    least : array of shape (d,) or float
        The share of a column's length that must be left beside others.
    """
    chance = found.inclusion.copy()
    for group in map(list, dependence.copies):
        first = group[int(np.argmax(found.inclusion[group].round(_DIGITS)))]
        chance[group], chance[first] = 0.0, found.any_of(group)
    chance = chance.round(_DIGITS)
    likely = np.flatnonzero(chance >= 0.5)
    order = likely[np.argsort(-chance[likely], kind="stable")].tolist()
    if proper:
        return tuple(sorted(order))
    return tuple(sorted(_independent(order, X, np.broadcast_to(least, chance.shape))))


def _independent(order: Sequence[int], X: Array, least: Array) -> list[int]:
    """Columns, one after the other, but for those that depend on others before."""

    def depends(columns: Sequence[int]) -> bool:
        triangle = np.linalg.qr(unit_columns(X[:, columns]), mode="r")
        return is_dependent(np.asarray(triangle), least[columns])

    if not depends(order):
        return list(order)
    inside: list[int] = []
    for column in order:
        inside += [] if depends([*inside, column]) else [column]
    return inside
