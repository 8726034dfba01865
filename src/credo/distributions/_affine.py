"""A distribution that is shifted and stretched, by other numbers in each row."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.distributions import distribution as valid
from credo.distributions.distribution import Array, Distribution


class Affine(Distribution):
    """shift + factor·x in each row, where x has the distribution `base`.

    Parameters
    ----------
    base : Distribution
    shift : float or array of shape (n_rows,)
    factor : float or array of shape (n_rows,)
        Positive.

    Examples
    --------
    >>> from credo.distributions import Affine, Normal
    >>> Affine(Normal([0.0, 0.0], 1.0), [5.0, 5.0], [1.0, 2.0]).std
    array([1., 2.])
    """

    base: Distribution
    _shift: Array
    _factor: Array

    def __init__(self, base: Distribution, shift: ArrayLike, factor: ArrayLike) -> None:
        shift, factor = (np.broadcast_to(one, len(base)) for one in valid.rows(shift=shift, factor=factor))
        valid.reject(~(factor > 0), factor, "factor must be positive")
        vars(self).update(
            base=base[:] if base._scalar else base, _shift=valid.frozen(shift), _factor=valid.frozen(factor),
            _scalar=base._scalar, _discrete=base._discrete,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.base)

    def __repr__(self) -> str:
        return f"Affine({self.base!r}, shift={valid.text(self._shift)}, factor={valid.text(self._factor)})"

    def _x(self, y: Array) -> Array:
        return (y - self._shift) / self._factor

    def _moved(self, quantiles: Array) -> Array:
        return self._shift[:, None] + self._factor[:, None] * quantiles

    @property
    def _mean(self) -> Array:
        return self._shift + self._factor * self.base._mean

    @property
    def _std(self) -> Array:
        return self._factor * self.base._std

    def _cdf(self, y: Array) -> Array:
        return self.base._cdf(self._x(y))

    def _tail(self, y: Array, upper: NDArray[np.bool_]) -> Array:
        return self.base._tail(self._x(y), upper)

    def _log_prob(self, y: Array) -> Array:
        # The density of x falls as y is stretched; probabilities stay.
        return self.base._log_prob(self._x(y)) - np.where(self.base._atoms(), 0.0, np.log(self._factor))

    def _log_mass(self, low: Array, high: Array) -> Array:
        return self.base._log_mass(self._x(low), self._x(high))

    def _crps(self, y: Array) -> Array:
        return self._factor * self.base._crps(self._x(y))

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Those of the base, which aren't always between quantiles (`Conformal`)."""
        ends = self._moved(np.column_stack(self.base.interval(level)))
        return self._unless_scalar(ends[:, 0]), self._unless_scalar(ends[:, 1])

    def _quantile(self, q: Array) -> Array:
        return self._moved(self.base._quantile(q))

    def _isf(self, p: Array) -> Array:
        return self._moved(self.base._isf(p))

    def _sample(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        return self._shift + self._factor * self.base._sample(n, rng)

    def _take(self, rows: NDArray[np.intp]) -> Self:
        return type(self)(self.base[rows], self._shift[rows], self._factor[rows])

    def to_fields(self) -> dict[str, Any]:
        """The arguments of the constructor."""
        return {"base": self.base, "shift": self._shift, "factor": self._factor}

    def _atoms(self) -> NDArray[np.bool_]:
        return self.base._atoms()

    def _tail_index(self) -> Array:
        return self.base._tail_index()

    def _knots(self) -> Array:
        return self._shift + self._factor * self.base._knots()

    def _widths(self) -> tuple[Array, Array]:
        width, reach = self.base._widths()
        return self._factor * width, self._factor * reach
