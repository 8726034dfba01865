"""Strictly increasing transformations of a target: log, Box–Cox and Yeo–Johnson, and their linear continuation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import boxcox, boxcox1p, inv_boxcox, inv_boxcox1p

from credo.distributions.distribution import Array

_LINE, _POSITIVE = (-np.inf, np.inf), (0.0, np.inf)


class Transform(ABC):
    """z = g(y), smooth and strictly increasing from the `domain` of y onto the `image` of g; immutable.

    A subclass is a frozen dataclass of its parameters and defines the three maps and `name`. Values outside the domain
    or the image are mapped like its nearest end.

    Examples
    --------
    >>> from credo.distributions import Log, Transform
    >>> isinstance(Log(), Transform)
    True
    >>> Log().domain, Log().log_derivative([0.5, 2.0]).round(3)
    ((0.0, inf), array([ 0.693, -0.693]))
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """The name in tables, including the parameter."""

    @property
    def domain(self) -> tuple[float, float]:
        """The range of y."""
        return _LINE

    @property
    def image(self) -> tuple[float, float]:
        """The range of g(y)."""
        return _LINE

    @abstractmethod
    def forward(self, y: ArrayLike) -> Array:
        """g(y)."""

    @abstractmethod
    def inverse(self, z: ArrayLike) -> Array:
        """The y with g(y) = z."""

    @abstractmethod
    def log_derivative(self, y: ArrayLike) -> Array:
        """ln g'(y), the log Jacobian from z to y."""

    def _slope(self, z: Array, y: Array) -> Array:
        """dy/dz = 1/g'(y), where z = g(y)."""
        with np.errstate(all="ignore"):
            return np.exp(-self.log_derivative(y))

    def _tail_index(self, index: Array) -> tuple[Array, Array]:
        """The tail indices of y, below and above, given that of z (see `Distribution._tail_index`)."""
        return index, index

    def _panel(self, z: Array) -> Array:
        """The width of a panel that starts at z, on which Gauss–Legendre quadrature with 14 nodes integrates dy/dz."""
        return np.full(z.shape, np.inf)

    def _kinks(self) -> tuple[float, ...]:
        """The points inside the image where g⁻¹ isn't analytic."""
        return ()


@dataclass(frozen=True)
class Identity(Transform):
    """z = y, for targets that need no transformation.

    Examples
    --------
    >>> from credo.distributions import Identity
    >>> Identity().name
    'identity'
    """

    name = "identity"

    def forward(self, y: ArrayLike) -> Array:
        return np.asarray(y, dtype=np.float64)

    def inverse(self, z: ArrayLike) -> Array:
        return np.asarray(z, dtype=np.float64)

    def log_derivative(self, y: ArrayLike) -> Array:
        return np.zeros(np.shape(y))


@dataclass(frozen=True)
class Log(Transform):
    """z = ln y, for positive targets whose spread is proportional to their size.

    Examples
    --------
    >>> from credo.distributions import Log
    >>> Log().inverse(Log().forward([1.0, 10.0])).round(12)
    array([ 1., 10.])
    """

    name = "log"
    domain = _POSITIVE

    def forward(self, y: ArrayLike) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(y, 0.0))

    def inverse(self, z: ArrayLike) -> Array:
        with np.errstate(over="ignore", under="ignore"):
            return np.exp(np.asarray(z, dtype=np.float64))

    def log_derivative(self, y: ArrayLike) -> Array:
        return -self.forward(y)

    def _tail_index(self, index: Array) -> tuple[Array, Array]:
        return np.full(index.shape, np.inf), _power_index(index, 0.0)

    def _slope(self, z: Array, y: Array) -> Array:
        return y

    def _panel(self, z: Array) -> Array:
        return np.full(z.shape, 4.0)


@dataclass(frozen=True)
class _Power(Transform):
    power: float
    unit: float = 1.0

    def __post_init__(self) -> None:
        if not np.isfinite(self.power):
            raise ValueError(f"power must be finite; got {self.power!r}")
        if not (np.isfinite(self.unit) and self.unit > 0):
            raise ValueError(f"unit must be positive and finite; got {self.unit!r}")
        # Plain numbers, for the repr and model files.
        object.__setattr__(self, "power", float(self.power))
        object.__setattr__(self, "unit", float(self.unit))


@dataclass(frozen=True)
class BoxCox(_Power):
    """z = ((y/unit)^λ − 1)/λ, and ln(y/unit) for λ = 0, for positive targets (Box & Cox 1964).

    The image is bounded for λ ≠ 0: z > −1/λ for positive λ, z < −1/λ for negative λ.

    Parameters
    ----------
    power : float
        λ; 1 only shifts y, ½ is a square root, 0 the log.
    unit : float, default 1.0
        Only shifts and scales z; with a typical value of y, z is of the order of one.

    Examples
    --------
    >>> from credo.distributions import BoxCox
    >>> BoxCox(0.5).forward([1.0, 4.0, 9.0])
    array([0., 2., 4.])
    >>> BoxCox(0.5).name
    'Box–Cox λ=0.5'
    """

    domain = _POSITIVE

    @property
    def name(self) -> str:
        return f"Box–Cox λ={self.power:.3g}"

    @property
    def image(self) -> tuple[float, float]:
        bound = _bound(self.power)
        return (-bound, np.inf) if self.power > 0 else (-np.inf, bound)

    def forward(self, y: ArrayLike) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(boxcox(np.maximum(y, 0.0) / self.unit, self.power), dtype=np.float64)

    def inverse(self, z: ArrayLike) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(self.unit * inv_boxcox(np.clip(z, *self.image), self.power), dtype=np.float64)

    def log_derivative(self, y: ArrayLike) -> Array:
        if self.power == 1:
            return np.full(np.shape(y), -np.log(self.unit))
        with np.errstate(divide="ignore"):
            return (self.power - 1) * np.log(np.maximum(y, 0.0) / self.unit) - np.log(self.unit)

    def _tail_index(self, index: Array) -> tuple[Array, Array]:
        return np.full(index.shape, np.inf), _power_index(index, self.power)

    def _slope(self, z: Array, y: Array) -> Array:
        # (y/unit)^λ = 1 + λz; at the end of the image both y and dz/dy may be zero.
        with np.errstate(all="ignore"):
            return np.where(y > 0, y / (1 + self.power * z), np.inf if self.power > 1 else 0.0)

    def _panel(self, z: Array) -> Array:
        return _power_panel(z, self.power)


@dataclass(frozen=True)
class YeoJohnson(_Power):
    """z = ((1 + y/unit)^λ − 1)/λ for y ≥ 0, and its mirror image with 2 − λ below, for targets of any sign.

    Yeo & Johnson (2000). The image is the whole line for 0 ≤ λ ≤ 2.

    Parameters
    ----------
    power : float
        λ; 1 leaves y as it is, 0 is ln(1 + y/unit) for positive y.
    unit : float, default 1.0
        For y far below it the transformation is linear; far above, it is Box–Cox.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.distributions import YeoJohnson
    >>> YeoJohnson(0.0).forward([0.0, np.e - 1.0])
    array([0., 1.])
    """

    @property
    def name(self) -> str:
        return f"Yeo–Johnson λ={self.power:.3g}"

    @property
    def image(self) -> tuple[float, float]:
        lower = -_bound(2 - self.power) if self.power > 2 else -np.inf
        return lower, _bound(self.power) if self.power < 0 else np.inf

    def forward(self, y: ArrayLike) -> Array:
        return self._signed(boxcox1p, np.asarray(y, dtype=np.float64) / self.unit)

    def inverse(self, z: ArrayLike) -> Array:
        return self.unit * self._signed(inv_boxcox1p, np.clip(z, *self.image))

    def log_derivative(self, y: ArrayLike) -> Array:
        if self.power == 1:
            return np.full(np.shape(y), -np.log(self.unit))
        values = np.asarray(y, dtype=np.float64) / self.unit
        return (self.power - 1) * np.sign(values) * np.log1p(np.abs(values)) - np.log(self.unit)

    def _signed(self, power_map: np.ufunc, values: Array) -> Array:
        power = np.where(values >= 0, self.power, 2 - self.power)
        with np.errstate(all="ignore"):
            return np.copysign(power_map(np.abs(values), power), values)

    def _tail_index(self, index: Array) -> tuple[Array, Array]:
        return _power_index(index, 2 - self.power), _power_index(index, self.power)

    def _slope(self, z: Array, y: Array) -> Array:
        power = np.where(z >= 0, self.power, 2 - self.power)
        with np.errstate(all="ignore"):
            return (self.unit + np.abs(y)) / (1 + power * np.abs(z))

    def _panel(self, z: Array) -> Array:
        up = _power_panel(np.maximum(z, 0.0), self.power)
        return np.where(z >= 0, up, _power_panel(np.maximum(-z, 0.0), 2 - self.power, down=True))

    def _kinks(self) -> tuple[float, ...]:
        return (0.0,)


@dataclass(frozen=True)
class LinearTails(Transform):
    """Another transformation from `lower` to `upper`, which its tangents continue beyond these ends.

    The inverse of a log multiplies an error far above all targets; that of its tangent adds to it. With the log of a
    normal or a Student-t distribution (of more than one degree of freedom), y has a mean.

    Parameters
    ----------
    transform : Transform
    lower, upper : float, default −inf and inf
        Values of y inside the domain of `transform`.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.distributions import LinearTails, Log
    >>> g = LinearTails(Log(), upper=10.0)
    >>> g.inverse(np.log([1.0, 10.0, 1000.0])).round(2)
    array([ 1.  , 10.  , 56.05])
    """

    transform: Transform
    lower: float = -np.inf
    upper: float = np.inf

    def __post_init__(self) -> None:
        low, high = self.transform.domain
        if not (self.lower < self.upper and (np.isinf(self.lower) or low < self.lower) and self.lower < high):
            raise ValueError(f"lower must be inside the domain, and below upper; got {self.lower:g} and {self.upper:g}")
        if not (np.isinf(self.upper) or low < self.upper < high):
            raise ValueError(f"upper must be between {low:g} and {high:g}; got {self.upper:g}")

    @classmethod
    def beyond(cls, y: ArrayLike, transform: Transform) -> Transform:
        """The transformation with tangents beyond the range of y, at the ends where its inverse gets steeper outwards.

        Examples
        --------
        >>> from credo.distributions import LinearTails, Log
        >>> LinearTails.beyond([1.0, 10.0], Log())
        LinearTails(transform=Log(), lower=-inf, upper=10.0)
        """
        low, middle, high = np.min(y), (np.min(y) + np.max(y)) / 2, np.max(y)
        first, inside, last = transform.log_derivative([low, middle, high])
        lower, upper = float(low) if first < inside else -np.inf, float(high) if last < inside else np.inf
        return transform if np.isinf([lower, upper]).all() else cls(transform, lower, upper)

    @property
    def name(self) -> str:
        return self.transform.name

    @property
    def domain(self) -> tuple[float, float]:
        return self._opened(*self.transform.domain)

    @property
    def image(self) -> tuple[float, float]:
        return self._opened(*self.transform.image)

    def forward(self, y: ArrayLike) -> Array:
        values = np.asarray(y, dtype=np.float64)
        near = np.clip(values, self.lower, self.upper)
        with np.errstate(over="ignore", invalid="ignore"):
            beyond = np.where(near == values, 0.0, (values - near) * np.exp(self.transform.log_derivative(near)))
        return self.transform.forward(near) + beyond

    def inverse(self, z: ArrayLike) -> Array:
        values = np.asarray(z, dtype=np.float64)
        near = np.clip(values, *self._ends)
        y = self.transform.inverse(near)
        with np.errstate(over="ignore", invalid="ignore"):
            return y + np.where(near == values, 0.0, (values - near) * self._slope(near, y))

    def log_derivative(self, y: ArrayLike) -> Array:
        return self.transform.log_derivative(np.clip(y, self.lower, self.upper))

    @property
    def _ends(self) -> tuple[float, float]:
        """z at the ends."""
        return (
            float(self.transform.forward(self.lower)) if np.isfinite(self.lower) else -np.inf,
            float(self.transform.forward(self.upper)) if np.isfinite(self.upper) else np.inf,
        )

    def _opened(self, low: float, high: float) -> tuple[float, float]:
        return -np.inf if np.isfinite(self.lower) else low, np.inf if np.isfinite(self.upper) else high

    def _slope(self, z: Array, y: Array) -> Array:
        return self.transform._slope(np.clip(z, *self._ends), np.clip(y, self.lower, self.upper))

    def _tail_index(self, index: Array) -> tuple[Array, Array]:
        lower, upper = self.transform._tail_index(index)
        return index if np.isfinite(self.lower) else lower, index if np.isfinite(self.upper) else upper

    def _panel(self, z: Array) -> Array:
        low, high = self._ends
        return np.where((z >= low) & (z < high), self.transform._panel(np.clip(z, low, high)), np.inf)

    def _kinks(self) -> tuple[float, ...]:
        return (*self.transform._kinks(), *(end for end in self._ends if np.isfinite(end)))


def _bound(power: float) -> float:
    """The size of the end of (x^λ − 1)/λ, which is 1/|λ|; infinite for λ = 0."""
    return 1 / abs(power) if power else np.inf


def _power_index(index: Array, power: float) -> Array:
    """The tail index of (1 + λz)^(1/λ), given that of z."""
    if power > 0:
        return index * power
    # For λ < 0 the image ends at −1/λ, and a positive density there makes P(y > t) fall like t^λ.
    return np.where(np.isinf(index), np.inf, 0.0) if power == 0 else np.full(index.shape, -power)


def _power_panel(z: Array, power: float, *, down: bool = False) -> Array:
    """The width of a panel from z up (or down) on which (1 + λz)^(1/λ − 1) is smooth.

    Panels are short near the branch point −1/λ, and the log of the function changes by at most 4 on each.
    """
    leaves_branch_point = power <= 0 if down else power >= 0
    near, growth = (3.0, 4.0) if leaves_branch_point else (0.75, 2.0)
    with np.errstate(all="ignore"):
        apart = np.abs(1 + power * z)
        branch = near * apart / abs(power) if power else np.inf
        return np.fmin(branch, growth * apart / abs(1 - power))
