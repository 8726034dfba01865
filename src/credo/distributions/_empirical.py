"""The empirical distribution of draws."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.distributions import _steps
from credo.distributions import _validation as valid
from credo.distributions._distribution import Array, Distribution


class Empirical(Distribution):
    """Equally weighted draws for each row, as from Monte Carlo predictions.

    The cdf is the step function of the draws, and `quantile` its inverse: always one of the draws (Hyndman & Fan's type
    1, not interpolated), so that `quantile(cdf(y))` gives a draw y back. The standard deviation is that of this
    distribution (divided by the number of draws, not one less). The CRPS is exact, from the sorted draws. There is no
    density, hence no `log_prob`; use a mixture of the densities that were drawn from.

    Parameters
    ----------
    draws : array of shape (n_draws, n_rows), or (n_draws,) for a single row
        A draw may be joint over the rows: `sample` picks whole draws, so that their dependence is kept.

    Examples
    --------
    >>> from credo.distributions import Empirical
    >>> dist = Empirical([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [4.0, 40.0]])
    >>> dist.quantile([0.5, 1.0])
    array([[ 2.,  4.],
           [20., 40.]])
    >>> dist.crps([2.0, 20.0])
    array([0.375, 3.75 ])
    """

    draws: Array

    def __init__(self, draws: ArrayLike) -> None:
        values = valid.numbers("draws", draws)
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2:
            raise ValueError(f"draws must have the shape (n_draws, n_rows); got {np.shape(draws)}")
        if len(values) == 0:
            raise ValueError("draws must contain at least one draw")
        valid.refuse(np.isinf(values), values, "draws must be finite")
        vars(self).update(draws=valid.frozen(values), _scalar=np.ndim(draws) == 1)

    @property
    def _mean(self) -> Array:
        return self.draws.mean(axis=0)

    @property
    def _std(self) -> Array:
        return self.draws.std(axis=0)

    def __len__(self) -> int:
        return self.draws.shape[1]

    def __repr__(self) -> str:
        return f"Empirical(<{len(self.draws)} draws of {len(self)} rows>)"

    def log_prob(self, y: ArrayLike) -> NoReturn:
        """Raises a TypeError: finitely many draws have no density."""
        raise TypeError(
            "an Empirical distribution has no density, so no log_prob; use crps, or a "
            "Mixture of the densities that were drawn from"
        )

    def _log_prob(self, y: Array) -> Array:
        return self.log_prob(y)

    def _cdf(self, y: Array) -> Array:
        return _steps.cdf(self._points, self._heights(), y)

    def _crps(self, y: Array) -> Array:
        return _steps.crps(self._points, self._heights(), y)

    def _quantile(self, q: Array) -> Array:
        return self._points[np.searchsorted(self._heights()[:, 0], q)].T

    def _sample(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        return self.draws[rng.integers(len(self.draws), size=n)]

    def _take(self, rows: NDArray[np.intp]) -> Self:
        return type(self)(self.draws[:, rows])

    def _atoms(self) -> NDArray[np.bool_]:
        return np.ones(len(self), dtype=bool)

    def _knots(self) -> Array:
        return self._points

    @cached_property
    def _points(self) -> Array:
        """The draws of each row in order."""
        return np.sort(self.draws, axis=0)

    def _heights(self) -> Array:
        n_draws = len(self.draws)
        return np.arange(1, n_draws + 1)[:, None] / n_draws
