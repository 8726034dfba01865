"""The base class of predictive distributions, and validation of arguments.

Every error names the argument, the index and the value.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from inspect import signature
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.core.frames import frame
from credo.core.seeds import generator

# Probabilities from a softmax in single precision sum to one within this.
SUM_TOLERANCE = 1e-6


def numbers(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """The values as float64 without NaN; infinities pass."""
    try:
        array = np.asarray(values)
        if array.dtype.kind == "c":
            raise TypeError("complex")
        array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be real numbers; got {_short(values)}") from None
    reject(np.isnan(array), array, f"{name} must not contain NaN")
    return array


def rows(**columns: ArrayLike) -> list[NDArray[np.float64]]:
    """Finite read-only columns of one common length; scalars and length-one columns are repeated."""
    arrays = []
    for name, values in columns.items():
        array = np.atleast_1d(numbers(name, values))
        if array.ndim != 1:
            raise ValueError(f"{name} must be a number or one-dimensional; got shape {array.shape}")
        reject(np.isinf(array), array, f"{name} must be finite")
        arrays.append(array)
    lengths = {array.size for array in arrays} - {1}
    if len(lengths) > 1:
        sizes = ", ".join(f"{name} has {array.size}" for name, array in zip(columns, arrays, strict=True))
        raise ValueError(f"the parameters must have equal lengths (or length 1): {sizes}")
    length = lengths.pop() if lengths else 1
    return [frozen(np.broadcast_to(array, length)) for array in arrays]


def are_scalars(*values: ArrayLike) -> bool:
    """Whether all values are single numbers."""
    return all(np.ndim(value) == 0 for value in values)


def probabilities(name: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Non-negative numbers whose last axis sums to one, normalized to do so exactly (up to rounding)."""
    reject((values < 0) | (values > 1 + SUM_TOLERANCE), values, f"{name} must be between 0 and 1")
    total = values.sum(axis=-1, keepdims=True)
    off = np.abs(total - 1) > SUM_TOLERANCE
    if off.any():
        where = tuple(int(i) for i in np.argwhere(off)[0][:-1])
        row = f" of row {where[0]}" if where else ""
        raise ValueError(f"{name}{row} must sum to 1; they sum to {float(total[off][0]):.6g}")
    return frozen(values / total)


def fraction(name: str, value: Any) -> float:
    """A number strictly between 0 and 1."""
    array = numbers(name, value)
    if array.ndim or not 0 < array < 1:
        raise ValueError(f"{name} must be one number strictly between 0 and 1, as in 0.95; got {value!r}")
    return float(array)


def count(name: str, value: Any) -> int:
    """A whole number that is not negative."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < 0:
        raise ValueError(f"{name} must be a whole number that is not negative; got {value!r}")
    return int(value)


def reject(bad: NDArray[np.bool_], values: NDArray[Any], message: str) -> None:
    """Raise if any value is bad, with the index and value of the first."""
    if not bad.any():
        return
    where = tuple(int(i) for i in np.argwhere(bad)[0])
    place = f" at index {where[0] if len(where) == 1 else where}" if where else ""
    raise ValueError(f"{message}; got {values[where]}{place}")


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only copy."""
    copy = np.array(array)
    copy.setflags(write=False)
    return copy


def text(values: NDArray[Any]) -> str:
    """An array in few characters, for a repr."""
    lines = np.array2string(values, precision=4, threshold=6, edgeitems=2, separator=", ").splitlines()
    return " ".join(line.strip() for line in lines)


def _short(values: Any) -> str:
    text = repr(values)
    return text if len(text) <= 80 else text[:77] + "..."


Array = NDArray[np.float64]
# A smaller probability is found from the density, by Gauss–Legendre quadrature.
_LEAST_MASS = 1e-290
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(14)


class Immutable:
    """Setting or deleting attributes raises an error; a constructor writes `vars(self)`."""

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable; create a new one with another {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable; {name} can't be deleted")


class Distribution(Immutable, ABC):
    """One distribution of a number for each row; immutable.

    A subclass defines the moments and the private methods `_cdf`, `_log_prob`, `_crps`, `_quantile` and `_sample`; the
    public methods validate their arguments. Outcomes `y` broadcast against the rows along the last axis: a number, one
    value for each row, or an array of shape (m, n_rows). A distribution of a single row accepts a whole grid.
    Parameters are read-only attributes.

    A distribution is scalar if its parameters are, or if it is a single row such as `dist[0]`: results then have the
    shape of y, without an axis for the rows.

    Examples
    --------
    >>> from credo.distributions import Normal
    >>> dist = Normal([0.0, 10.0], [1.0, 2.0])
    >>> dist.interval(0.95)[0].round(2)
    array([-1.96,  6.08])
    >>> float(dist[1].quantile(0.5)), float(Normal(0.0, 1.0).std)
    (10.0, 1.0)
    """

    # The constructor's arguments, which the repr shows; a subclass with others overrides `_take` and the repr.
    _shown: tuple[str, ...] = ()
    # Whether `log_prob` is the log of a probability, not of a density.
    _discrete = False
    # Whether results have no axis for the rows, of which there is one; private attributes and methods always have it.
    _scalar = False

    @property
    def mean(self) -> Array:
        """The mean of each row."""
        return self._unless_scalar(self._mean)

    @property
    def std(self) -> Array:
        """The standard deviation of each row."""
        return self._unless_scalar(self._std)

    @property
    def var(self) -> Array:
        """The variance of each row."""
        with np.errstate(over="ignore", under="ignore"):
            return np.square(self.std)

    @property
    @abstractmethod
    def _mean(self) -> Array: ...

    @property
    @abstractmethod
    def _std(self) -> Array: ...

    @abstractmethod
    def __len__(self) -> int: ...

    def quantile(self, q: ArrayLike) -> Array:
        """The smallest value that is not exceeded with probability q; 0 and 1 give the ends of the support.

        Parameters
        ----------
        q : float or array of shape (k,)
            Probabilities from 0 to 1.

        Returns
        -------
        array of shape (n_rows,), or (n_rows, k) when q is an array; without the axis of rows for a scalar distribution
        """
        levels = numbers("q", q)
        if levels.ndim > 1:
            raise ValueError(f"q must be a number or one-dimensional; got shape {levels.shape}")
        reject((levels < 0) | (levels > 1), levels, "q must be between 0 and 1")
        values = self._quantile(np.atleast_1d(levels))
        return self._unless_scalar(values if levels.ndim else values[:, 0])

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """The central interval that contains the outcome with probability `level`: lower and upper ends."""
        tail = np.array([(1 - fraction("level", level)) / 2])
        lower, upper = self._quantile(tail)[:, 0], self._isf(tail)[:, 0]
        return self._unless_scalar(np.minimum(lower, upper)), self._unless_scalar(np.maximum(lower, upper))

    def cdf(self, y: ArrayLike) -> Array:
        """The probability of an outcome of at most y."""
        return self._shaped_as(y, self._cdf(self._outcomes(y)))

    def log_prob(self, y: ArrayLike) -> Array:
        """The natural log of the density at y (of the probability, if outcomes are discrete)."""
        return self._shaped_as(y, self._log_prob(self._outcomes(y)))

    def crps(self, y: ArrayLike) -> Array:
        """The continuous ranked probability score ∫ (F(x) − 1{y ≤ x})² dx, in the units of y; lower is better.

        For a point forecast it is the absolute error. Gneiting & Raftery (2007), section 4.2.
        """
        return self._shaped_as(y, self._crps(self._outcomes(y)))

    def sample(self, n: int = 1, *, random_state: Any = None) -> NDArray[Any]:
        """Random draws, of shape (n, n_rows), or (n,) from a scalar distribution.

        Parameters
        ----------
        n : int, default 1
        random_state : None, int, numpy Generator or RandomState
            A Generator is used as it is, so that two calls give different draws.
        """
        draws = self._sample(count("n", n), generator(random_state))
        return draws[:, 0] if self._scalar else draws

    def to_frame(self, level: float = 0.95, *, backend: str | None = None) -> Any:
        """A data frame with the columns mean, std, lower and upper, the ends of the central interval."""
        lower, upper = map(np.atleast_1d, self.interval(level))
        return frame({"mean": self._mean, "std": self._std, "lower": lower, "upper": upper}, backend=backend)

    def __getitem__(self, index: Any) -> Self:
        """The chosen rows, as a distribution of the same kind: an int, a slice, a mask or indices."""
        rows = np.arange(len(self))[index]
        taken = self._take(np.atleast_1d(rows))
        vars(taken)["_scalar"] = rows.ndim == 0
        return taken

    def __repr__(self) -> str:
        parts = [f"{name}={text(getattr(self, name))}" for name in self._shown]
        return f"{type(self).__name__}({', '.join(parts)})"

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise TypeError(f"{type(self).__name__} is not an array; use .mean, .quantile(q) or .sample(n)")

    def to_fields(self) -> dict[str, Any]:
        """The arguments of the constructor, for files."""
        return {name: getattr(self, name) for name in signature(type(self)).parameters}

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> Self:
        """The distribution with these arguments, which the constructor checks."""
        return cls(**fields)

    def _unless_scalar(self, values: Array) -> Array:
        """The values, whose first axis is that of the rows, without this axis if the distribution is scalar."""
        return values[0] if self._scalar else values

    def _shaped_as(self, y: ArrayLike, values: Array) -> Array:
        """The values at the outcomes y; of a scalar distribution they have the shape of y."""
        return values.reshape(np.shape(y))[()] if self._scalar else values

    def _outcomes(self, y: ArrayLike) -> Array:
        """The outcomes as floats, broadcast to the shape of the result."""
        values = numbers("y", y)
        return np.broadcast_to(values, self._shape(values.shape))

    def _shape(self, outcomes: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the result for outcomes of this shape."""
        try:
            return np.broadcast_shapes(outcomes, (len(self),))
        except ValueError:
            raise ValueError(
                f"y of shape {outcomes} doesn't match {len(self)} rows; pass one value, or one for each row"
            ) from None

    def _atoms(self) -> NDArray[np.bool_]:
        """Which rows have a value of positive probability (then the cdf jumps)."""
        return np.full(len(self), self._discrete)

    def _tail_index(self) -> Array:
        """The order below which absolute moments exist; infinite for tails like a normal's or lighter.

        For P(|Y| > t) ~ t^(−a) it is a. The CRPS, an integral of squared tails, is finite if it exceeds 1/2.
        """
        return np.full(len(self), np.inf)

    def _knots(self) -> Array:
        """Points of shape (m, n_rows) around which the cdf rises, or at which it jumps.

        Integrals over the outcomes are computed piece by piece, between and around them.
        """
        raise NotImplementedError

    def _widths(self) -> tuple[Array, Array]:
        """Two lengths for each knot: over which the cdf is smooth (zero for a jump), and where the tail ends."""
        knots = self._knots()
        return np.zeros(knots.shape), np.zeros(knots.shape)

    @abstractmethod
    def _cdf(self, y: Array) -> Array: ...

    def _tail(self, y: Array, upper: NDArray[np.bool_]) -> Array:
        """1 − cdf where `upper`, accurate in the tail if the subclass supports it; the cdf elsewhere."""
        below = self._cdf(y)
        return np.where(upper, 1 - below, below)

    def _log_mass(self, low: Array, high: Array) -> Array:
        """ln P(low < Y ≤ high) of each row, also where the probability underflows; one of the ends may be infinite."""
        below, beyond = np.isneginf(low), np.isposinf(high)
        low, high = np.where(below, high, low), np.where(beyond, low, high)
        upper = beyond | (~below & (self._cdf(low) > 0.5))
        first, last = self._tail(low, upper), self._tail(high, upper)
        mass = np.where(below | beyond, last, np.abs(last - first))
        with np.errstate(divide="ignore"):
            found = np.log(mass)
        lost = np.flatnonzero(mass < _LEAST_MASS)
        if len(lost):
            low, high = np.where(below, -np.inf, low)[lost], np.where(beyond, np.inf, high)[lost]
            found[lost] = np.maximum(found[lost], self._take(lost)._log_far_mass(low, high))
        return found

    def _log_far_mass(self, low: Array, high: Array) -> Array:
        """The same far from the mean, by an integral of the density next to the nearer end."""
        mean = self._mean
        near, inward = np.where(mean >= high, high, low), np.where(mean >= high, -1.0, 1.0)
        with np.errstate(all="ignore"):
            if self._discrete:
                k = np.where(inward < 0, np.floor(near), np.floor(near) + 1.0)
                return np.where((low < k) & (k <= high), self._log_prob(k), -np.inf)
            # The tail of a normal falls by a factor of e over var / |near − mean|.
            width = np.minimum(high - low, 4.0 * np.square(self._std) / np.abs(near - mean))
            x = near + 0.5 * inward * width * (1.0 + _NODES[:, None])
            logs = self._log_prob(x) + np.log(0.5 * width * _WEIGHTS[:, None])
            found = np.logaddexp.reduce(logs, axis=0)
        return np.where((low < mean) & (mean < high) | np.isnan(found), -np.inf, found)

    @abstractmethod
    def _log_prob(self, y: Array) -> Array: ...

    @abstractmethod
    def _crps(self, y: Array) -> Array: ...

    @abstractmethod
    def _quantile(self, q: Array) -> Array: ...

    def _isf(self, p: Array) -> Array:
        """The value that is exceeded with probability p, accurate for small p if the subclass supports it."""
        return self._quantile(1 - p)

    @abstractmethod
    def _sample(self, n: int, rng: np.random.Generator) -> NDArray[Any]: ...

    def _take(self, rows: NDArray[np.intp]) -> Self:
        return type(self)(*(np.atleast_1d(getattr(self, name))[rows] for name in self._shown))


class Derived(Distribution):
    """A distribution made of another, its `base`, whose mean and standard deviation are computed together."""

    base: Distribution

    @property
    @abstractmethod
    def _moments(self) -> tuple[Array, Array]:
        """Mean and standard deviation."""

    @property
    def _mean(self) -> Array:
        return self._moments[0]

    @property
    def _std(self) -> Array:
        return self._moments[1]

    def __len__(self) -> int:
        return len(self.base)


class LocationScale(Distribution):
    """loc + scale·z for each row; a scale of exactly zero is a point mass.

    If z is not symmetric about zero, a subclass overrides `_tail` and `_isf`.
    """

    _loc: Array
    _scale: Array

    @abstractmethod
    def _standard_cdf(self, z: Array) -> Array:
        """The cdf of z."""

    @abstractmethod
    def _standard_quantile(self, q: Array) -> Array:
        """The quantiles of z, of shape (n_rows, k) or (1, k)."""

    @abstractmethod
    def _log_density(self, y: Array) -> Array:
        """The log density of y where the scale is positive; any value elsewhere."""

    @property
    def loc(self) -> Array:
        """The location, one for each row."""
        return self._unless_scalar(self._loc)

    @property
    def scale(self) -> Array:
        """The scale, one for each row."""
        return self._unless_scalar(self._scale)

    def __len__(self) -> int:
        return self._loc.size

    def _cdf(self, y: Array) -> Array:
        return self._standard_cdf(standardize(y, self._loc, self._scale))

    def _tail(self, y: Array, upper: NDArray[np.bool_]) -> Array:
        z = standardize(y, self._loc, self._scale)
        return self._standard_cdf(np.where(upper, -z, z))

    def _log_prob(self, y: Array) -> Array:
        with np.errstate(all="ignore"):
            density = self._log_density(y)
        return np.where(self._scale > 0, density, np.where(y == self._loc, np.inf, -np.inf))

    def _quantile(self, q: Array) -> Array:
        return self._located(self._standard_quantile(q))

    def _isf(self, p: Array) -> Array:
        return self._located(-self._standard_quantile(p))

    def _located(self, z: Array) -> Array:
        loc, scale = self._loc[:, None], self._scale[:, None]
        with np.errstate(all="ignore"):
            return np.where(scale > 0, loc + scale * z, loc)

    def _atoms(self) -> NDArray[np.bool_]:
        return self._scale == 0

    def _knots(self) -> Array:
        return self._loc[None]


def standardize(y: Array, loc: Array, scale: Array) -> Array:
    """(y − loc) / scale; a scale of zero gives ±∞, and +∞ at y = loc, so that the cdf is the step there."""
    with np.errstate(all="ignore"):
        z = (y - loc) / scale
    return np.where((scale == 0) & (y == loc), np.inf, z)
