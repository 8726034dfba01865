"""The posterior of one coefficient: a spike at zero, and a slab."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.distributions import Mixture
from credo.estimator import interval_level

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Coefficient:
    """P(β = 0) = spike, and else β has the law `slab`.

    Attributes
    ----------
    name : str
        The column's name.
    spike : float
        The probability that the column isn't in the model.
    slab : Mixture or None
        The law of the coefficient given that it is in, a distribution of one row; None where no kept model has it.
    """

    name: str
    spike: float
    slab: Mixture | None

    def density(self, values: ArrayLike) -> Array:
        """The density of the slab at the values, times its share 1 − spike: it integrates to that."""
        grid = np.asarray(values, dtype=np.float64)
        if self.slab is None:
            return np.zeros_like(grid)
        return (1.0 - self.spike) * np.exp(self.slab.log_prob(grid.ravel())).reshape(grid.shape)

    def quantile(self, q: ArrayLike) -> Array:
        """Quantiles of spike and slab together."""
        levels = np.asarray(q, dtype=np.float64)
        if self.slab is None:
            return np.zeros_like(levels)
        return quantiles(np.array([self.spike]), self.slab, levels.ravel())[0].reshape(levels.shape)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The central interval of spike and slab together."""
        tail = (1.0 - interval_level(level)) / 2
        lower, upper = self.quantile([tail, 1.0 - tail])
        return float(lower), float(upper)


def quantiles(spike: Array, slabs: Mixture, q: Array) -> Array:
    """Quantiles of spike and slab together, a row for each coefficient and a column for each level."""
    share = np.maximum(1.0 - spike, 1e-300)[:, None]
    below = share * slabs.cdf(np.zeros(len(spike)))[:, None]
    inside = np.clip(np.where(q < below, q, q - spike[:, None]) / share, 0.0, 1.0)
    # A mixture answers the same levels for all rows: each row is asked all, and its own are picked.
    rows, columns = np.indices(inside.shape)
    values = slabs.quantile(inside.ravel())[rows, columns + len(q) * rows]
    return np.where((q >= below) & (q <= below + spike[:, None]), 0.0, values)


def place_of(column: Any, names: Sequence[str]) -> int:
    """Where a column stands that is given by its name or number; numbers below zero count from the end."""
    if isinstance(column, str):
        if column not in names:
            raise ValueError(f"there is no column {column!r}; the columns are {', '.join(names[:20])}")
        return names.index(column)
    if not isinstance(column, Integral) or isinstance(column, bool):
        raise ValueError(f"a column must be given by its name or number; got {column!r}")
    place = int(column)
    if not -len(names) <= place < len(names):
        raise ValueError(f"there is no column {place}: the table has {len(names)}")
    return place % len(names)


def places_of(columns: Any, names: Sequence[str]) -> list[int]:
    """Where columns stand, each once and in order; one may be given by itself."""
    given = [columns] if isinstance(columns, str | Integral) else columns
    return sorted({place_of(column, names) for column in given})
