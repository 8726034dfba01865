"""One named quantity: its value in natural units, its domain, its prior."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.params._bijectors import Bijector, Positive
from credo.params._priors import Prior


@dataclass(frozen=True, eq=False, repr=False)
class Parameter:
    """A value in natural units with its bijector and an optional prior. Immutable.

    Parameters
    ----------
    value : float or array of shape (k,)
        A vector stands for k parameters of one kind, such as a length scale for each column.
    bijector : Bijector, default Positive()
        The map from the real line onto the allowed values.
    prior : Prior, optional
        Applies to each entry of a vector independently. Without one, the prior is flat.
    fixed : bool, default False
        A fixed parameter keeps its value and is not optimized.

    Examples
    --------
    >>> from credo.params import Parameter
    >>> Parameter([0.5, 2.0])
    Parameter([0.5, 2], bijector=Positive())
    >>> Parameter(-1.0)
    Traceback (most recent call last):
    ...
    ValueError: the value must be positive (between 1e-299 and 1e+299); got -1.0
    """

    value: Any
    _: KW_ONLY
    bijector: Bijector = Positive()  # noqa: RUF009 (immutable)
    prior: Prior | None = None
    fixed: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.bijector, Bijector):
            raise ValueError(f"bijector must be a Bijector such as Positive(); got {self.bijector!r}")
        if self.prior is not None and not isinstance(self.prior, Prior):
            raise ValueError(f"prior must be a Prior such as LogNormal(), or None; got {self.prior!r}")
        object.__setattr__(self, "value", _natural(self.value, self.bijector))
        object.__setattr__(self, "fixed", bool(self.fixed))

    @property
    def entries(self) -> NDArray[np.float64]:
        """The value as a vector, also when it is a number."""
        return np.atleast_1d(self.value)

    @property
    def size(self) -> int:
        """The number of entries."""
        return self.entries.size

    @property
    def unconstrained(self) -> NDArray[np.float64]:
        """The entries on the unconstrained scale."""
        return self.bijector.inverse(self.entries)

    def with_unconstrained(self, u: NDArray[np.float64]) -> Parameter:
        """The same parameter with other entries, given on the unconstrained scale."""
        entries = self.bijector.forward(u)
        return self.replace(value=entries if np.ndim(self.value) else entries[0])

    def replace(self, **changes: Any) -> Parameter:
        """The same parameter with some of value, bijector, prior and fixed changed."""
        return replace(self, **changes)

    def log_prior(self, u: NDArray[np.float64], *, jacobian: bool = False) -> tuple[float, NDArray[np.float64]]:
        """The log prior of unconstrained entries and its gradient; see `ParameterTree.log_prior`."""
        if self.prior is None:
            return 0.0, np.zeros_like(u)
        x = self.bijector.forward(u)
        value = float(self.prior.log_prob(x).sum())
        gradient = self.prior.gradient(x) * self.bijector.derivative(u)
        if jacobian:
            value += float(self.bijector.log_derivative(u).sum())
            gradient += self.bijector.log_derivative_slope(u)
        return value, gradient

    def __repr__(self) -> str:
        parts = [number_text(self.value), f"bijector={self.bijector!r}"]
        parts += [f"prior={self.prior!r}"] if self.prior is not None else []
        parts += ["fixed=True"] if self.fixed else []
        return f"Parameter({', '.join(parts)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Parameter):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return np.ndim(self.value), tuple(self.entries.tolist()), self.bijector, self.prior, self.fixed


def number_text(value: Any) -> str:
    """A number or vector as text, to six digits."""
    if np.ndim(value):
        return f"[{', '.join(f'{entry:.6g}' for entry in value)}]"
    return f"{value:.6g}"


def _natural(value: ArrayLike, bijector: Bijector) -> float | NDArray[np.float64]:
    """The value as a float or a read-only vector, checked against its domain."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"the value must be a number or a vector of numbers; got {value!r}") from None
    if array.ndim > 1 or array.size == 0:
        raise ValueError(f"the value must be a number or a vector of numbers; got shape {array.shape}")
    allowed = np.atleast_1d(bijector.contains(array))
    if not allowed.all():
        at = int(np.argmin(allowed))
        where = f" at entry {at}" if array.ndim else ""
        raise ValueError(f"the value must be {bijector.domain}; got {np.atleast_1d(array)[at]}{where}")
    if array.ndim == 0:
        return float(array)
    array.flags.writeable = False
    return array
