"""Parameters (value, domain, prior), trees of named parameters, and their flat vector for optimizers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.core.params.bijectors import Bijector, Positive
from credo.core.params.priors import Prior


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
    >>> from credo.core.params import Parameter
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
        """The value as a vector, even if it is a number."""
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


class UnknownParameterError(KeyError, ValueError):
    """Raised for an unknown parameter name; the message suggests the nearest.

    Examples
    --------
    >>> from credo.kernels import RBF
    >>> from credo.core.params import UnknownParameterError
    >>> try:
    ...     RBF(1.0).fix("lenghtscale")
    ... except UnknownParameterError as error:
    ...     print("lengthscale" in str(error))
    True
    """

    # KeyError would print the message in quotes.
    def __str__(self) -> str:
        return str(self.args[0])


class ParameterTree(Mapping[str, "Parameter | ParameterTree"]):
    """Named parameters, nested; immutable.

    A path names a parameter ("left.lengthscale") or a branch ("left"). The flat vector contains the entries of every
    parameter that is not fixed, on the unconstrained scale, in the order of `names`.

    Parameters
    ----------
    children : mapping of name to Parameter, ParameterTree or another such mapping

    Examples
    --------
    >>> from credo.core.params import LogNormal, Parameter, ParameterTree
    >>> tree = ParameterTree({
    ...     "kernel": {
    ...         "lengthscale": Parameter([0.5, 2.0], prior=LogNormal(1.0, 1.0)),
    ...         "variance": Parameter(1.0),
    ...     },
    ...     "noise": Parameter(0.1),
    ... })
    >>> tree = tree.fix("kernel.variance")
    >>> tree
    kernel.lengthscale  [0.5, 2]  Positive(), LogNormal(median=1.0, sigma=1.0)
    kernel.variance     1         fixed
    noise               0.1       Positive()
    >>> tree.names
    ['kernel.lengthscale[0]', 'kernel.lengthscale[1]', 'noise']
    >>> tree.flatten().round(3)
    array([-0.693,  0.693, -2.303])
    >>> tree.unflatten([0.0, 0.0, 0.0]).natural
    {'kernel.lengthscale': array([1., 1.]), 'kernel.variance': 1.0, 'noise': 1.0}
    """

    def __init__(self, children: Mapping[str, Any]) -> None:
        self._children: dict[str, Parameter | ParameterTree] = {}
        for name, child in children.items():
            if isinstance(child, Mapping) and not isinstance(child, ParameterTree):
                child = ParameterTree(child)
            if not isinstance(child, Parameter | ParameterTree):
                raise ValueError(f"{name!r} must be a Parameter or a mapping of them; got {child!r}")
            self._children[_check_name(name)] = child

    def __getitem__(self, path: str) -> Parameter | ParameterTree:
        here: Parameter | ParameterTree = self
        for name in str(path).split("."):
            if not isinstance(here, ParameterTree) or name not in here._children:
                raise _unknown(str(path), self._places())
            here = here._children[name]
        return here

    def __iter__(self) -> Iterator[str]:
        return iter(self._children)

    def __len__(self) -> int:
        return len(self._children)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ParameterTree):
            return NotImplemented
        return list(self._children.items()) == list(other._children.items())

    def __hash__(self) -> int:
        return hash(tuple(self._children.items()))

    def __repr__(self) -> str:
        rows = [(path, number_text(leaf.value), _remarks(leaf)) for path, leaf in self._leaves()]
        widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
        return "\n".join(f"{path:{widths[0]}}  {text:{widths[1]}}  {note}" for path, text, note in rows)

    def to_fields(self) -> dict[str, Any]:
        """The fields that model files store."""
        return {"children": dict(self._children)}

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> ParameterTree:
        """The tree from the fields of `to_fields`."""
        return cls(fields["children"])

    @property
    def paths(self) -> list[str]:
        """The path of every parameter, fixed ones too."""
        return [path for path, _ in self._leaves()]

    @cached_property
    def names(self) -> list[str]:
        """The name of each entry of the flat vector."""
        return [
            f"{path}[{i}]" if np.ndim(leaf.value) else path
            for path, leaf in self._leaves()
            if not leaf.fixed
            for i in range(leaf.size)
        ]

    @property
    def natural(self) -> dict[str, Any]:
        """Every value in natural units, by path."""
        return {path: leaf.value for path, leaf in self._leaves()}

    def flatten(self) -> NDArray[np.float64]:
        """The free entries on the unconstrained scale, as one vector."""
        return np.concatenate([leaf.unconstrained for leaf in self._free.values()] or [np.empty(0)])

    def unflatten(self, vector: ArrayLike) -> ParameterTree:
        """The tree with this flat vector; fixed parameters keep their values."""
        pieces = self._split(vector)
        return self._with_leaves({path: self._free[path].with_unconstrained(u) for path, u in pieces.items()})

    def derivative(self, vector: ArrayLike) -> NDArray[np.float64]:
        """dx/du of each free entry: a gradient in natural units times this is one in the flat vector."""
        pieces = self._split(vector)
        slopes = [self._free[path].bijector.derivative(u) for path, u in pieces.items()]
        return np.concatenate(slopes or [np.empty(0)])

    def log_prior(self, vector: ArrayLike, *, jacobian: bool = False) -> tuple[float, NDArray[np.float64]]:
        """The log prior of the free parameters, and its gradient with respect to the flat vector.

        Parameters
        ----------
        vector : array of shape (len(names),)
        jacobian : bool, default False
            Add Σ log dx/du. Without it the value is the density of the natural values, whose maximum is the
            MAP estimate in natural units; with it the density of the vector itself, which samplers need. A
            parameter without a prior adds nothing to either.

        Returns
        -------
        value : float
        gradient : array of shape (len(names),)
        """
        terms = [self._free[path].log_prior(u, jacobian=jacobian) for path, u in self._split(vector).items()]
        gradient = np.concatenate([slope for _, slope in terms] or [np.empty(0)])
        return float(sum(value for value, _ in terms)), gradient

    def with_values(self, values: Mapping[str, ArrayLike]) -> ParameterTree:
        """The tree with other natural values at these paths.

        >>> from credo.core.params import Parameter
        >>> ParameterTree({"noise": Parameter(0.1)}).with_values({"noise": 0.5}).natural
        {'noise': 0.5}
        """
        tree = self
        for path, value in values.items():
            tree = tree.replace(path, value=value)
        return tree

    def replace(self, path: str, **changes: Any) -> ParameterTree:
        """The tree with the value, bijector, prior or fixed of one parameter changed."""
        leaf = self._leaf(path)
        try:
            return self._with_leaves({path: leaf.replace(**changes)})
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    def fix(self, *paths: str) -> ParameterTree:
        """The tree with these parameters, or all parameters of these branches, fixed at their values."""
        return self._mark(paths, fixed=True)

    def free(self, *paths: str) -> ParameterTree:
        """The tree with these parameters, or all parameters of these branches, free again."""
        return self._mark(paths, fixed=False)

    def _mark(self, paths: tuple[str, ...], *, fixed: bool) -> ParameterTree:
        marked: dict[str, Parameter] = {}
        for path in paths:
            place = self[path]
            leaves = [(path, place)] if isinstance(place, Parameter) else place._leaves(path)
            marked |= {name: leaf.replace(fixed=fixed) for name, leaf in leaves}
        return self._with_leaves(marked)

    def _leaves(self, parent: str = "") -> Iterator[tuple[str, Parameter]]:
        for name, child in self._children.items():
            path = _join(parent, name)
            if isinstance(child, Parameter):
                yield path, child
            else:
                yield from child._leaves(path)

    def _places(self, parent: str = "") -> Iterator[str]:
        """Every path, of parameters and of branches."""
        for name, child in self._children.items():
            path = _join(parent, name)
            yield path
            if isinstance(child, ParameterTree):
                yield from child._places(path)

    def _leaf(self, path: str) -> Parameter:
        place = self[path]
        if isinstance(place, ParameterTree):
            below = ", ".join(name for name, _ in place._leaves(path)) or "it has none"
            raise ValueError(f"{path!r} is a branch; choose one of its parameters: {below}")
        return place

    @cached_property
    def _free(self) -> dict[str, Parameter]:
        return {path: leaf for path, leaf in self._leaves() if not leaf.fixed}

    @cached_property
    def _places_in_vector(self) -> dict[str, slice]:
        """Where each free parameter's entries are in the flat vector."""
        stops = np.cumsum([0, *(leaf.size for leaf in self._free.values())]).tolist()
        return {path: slice(stops[i], stops[i + 1]) for i, path in enumerate(self._free)}

    def _with_leaves(self, leaves: Mapping[str, Parameter], parent: str = "") -> ParameterTree:
        children: dict[str, Parameter | ParameterTree] = {}
        for name, child in self._children.items():
            path = _join(parent, name)
            if isinstance(child, Parameter):
                children[name] = leaves.get(path, child)
            else:
                children[name] = child._with_leaves(leaves, path)
        return ParameterTree(children)

    def _split(self, vector: ArrayLike) -> dict[str, NDArray[np.float64]]:
        """The pieces of a flat vector, by path."""
        flat = np.asarray(vector, dtype=np.float64)
        places = self._places_in_vector
        size = max((place.stop for place in places.values()), default=0)
        if flat.shape != (size,):
            raise ValueError(
                f"the vector must have shape ({size},), one entry for each of the free parameters "
                f"({', '.join(self.names) or 'none'}); got {flat.shape}"
            )
        if not np.isfinite(flat).all():
            at = int(np.argmin(np.isfinite(flat)))
            raise ValueError(f"the vector must be finite; its entry {at}, {self.names[at]}, is {flat[at]}")
        return {path: flat[place] for path, place in places.items()}


def _remarks(leaf: Parameter) -> str:
    if leaf.fixed:
        return "fixed"
    return repr(leaf.bijector) + (f", {leaf.prior!r}" if leaf.prior is not None else "")


def _check_name(name: object) -> str:
    """The name, checked to be usable as a keyword argument and as a part of a path."""
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"a parameter's name must be one word of letters, digits and underscores; got {name!r}")
    return name


def _join(parent: str, name: str) -> str:
    """The path of a child."""
    return f"{parent}.{name}" if parent else name


def _unknown(path: str, known: Iterable[str]) -> UnknownParameterError:
    """The error for a path that isn't among the known ones."""
    names = list(known)
    if path.endswith("]") and path.partition("[")[0] in names:
        whole = path.partition("[")[0]
        return UnknownParameterError(f"{path!r} is one entry of {whole!r}; use the whole parameter, {whole!r}")
    nearest = get_close_matches(path, names, n=1, cutoff=0.5)
    # The most common mistake in a nested tree is a name without its path.
    nearest = nearest or [name for name in names if name.rpartition(".")[2] == path][:1]
    hint = f"; did you mean {nearest[0]!r}?" if nearest else "."
    there = ", ".join(names) if names else "none"
    return UnknownParameterError(f"there is no parameter {path!r}{hint} The parameters are: {there}")
