"""The base class of kernels, positive semidefinite functions with named parameters, and what kernels share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import mul
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from credo.core.estimator import numeric
from credo.core.linalg import NotPositiveDefiniteError, factorize, parallel_rows
from credo.core.params import LogInterval, Parameter, ParameterTree, Prior
from credo.core.seeds import generator
from credo.kernels import _jit
from credo.kernels._jit import ADD, SET
from credo.kernels.markov import MarkovForm
from credo.kernels.spectra import Features, Term, random_features

Array = NDArray[np.float64]


def combine(K: Array, values: Any, mode: int) -> None:
    """Set, add to or multiply K by values, for kernels that have no compiled loop."""
    if mode == SET:
        K[...] = values
        return
    # The other triangle may contain anything and is never read.
    with np.errstate(all="ignore"):
        if mode == ADD:
            K += values
        else:
            K *= values


def triangle_total(W: Array) -> float:
    """The sum of all entries of the whole matrix."""
    return float(sum(parallel_rows(_jit.triangle_total, len(W), W)))


def times_others(W: Array, factors: list[Array]) -> Iterator[Array]:
    """For each factor, W times all the others."""
    return (reduce(mul, factors[:i] + factors[i + 1 :], W) for i in range(len(factors)))


Label = int | str


@dataclass(frozen=True)
class Groups:
    """The group of each column, as whole numbers 0, 1, … or as names, numbered by first appearance."""

    labels: tuple[Label, ...]

    @classmethod
    def of(cls, labels: Iterable[object]) -> Groups:
        """Check labels given by a user."""
        given = list(labels.tolist() if isinstance(labels, np.ndarray) else labels)
        if given and all(isinstance(label, str) for label in given):
            return cls(tuple(map(str, given)))
        whole = all(isinstance(label, int | np.integer) and not isinstance(label, bool) for label in given)
        if not given or not whole or sorted(set(map(int, given))) != list(range(len(set(given)))):
            raise ValueError(
                "groups must have one entry for each column: names, or integers that include each of 0, 1, … "
                f"up to the largest; got {given!r}"
            )
        return cls(tuple(map(int, given)))

    @cached_property
    def names(self) -> tuple[Label, ...]:
        """Each label once, in the order of the length scales."""
        return tuple(dict.fromkeys(self.labels) if isinstance(self.labels[0], str) else sorted(set(self.labels)))

    @cached_property
    def places(self) -> NDArray[np.intp]:
        """The number of each column's group."""
        number = {name: i for i, name in enumerate(self.names)}
        return np.array([number[label] for label in self.labels], dtype=np.intp)

    def sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum over each group of a value for each column."""
        return np.bincount(self.places, values, minlength=len(self.names)).astype(np.float64)

    def described(self, columns: Sequence[str]) -> list[str]:
        """A name for each group: its own, or the names of its columns."""
        if isinstance(self.labels[0], str) or len(columns) != len(self.labels):
            return [str(name) for name in self.names]
        members = [
            [column for column, place in zip(columns, self.places, strict=True) if place == k]
            for k in range(len(self.names))
        ]
        return [", ".join(own) if len(own) < 4 else f"{own[0]}, …, {own[-1]}" for own in members]


def draws(K: Array, n: int, *, random_state: Any, method: str) -> Array:
    """n draws from N(0, K), one per row; K is overwritten."""
    noise = generator(random_state).standard_normal((len(K), n))
    if method == "cholesky":
        return (factorize(K, overwrite=True, assume_symmetric=True).L @ noise).T
    if method != "eigh":
        raise ValueError(f'method must be "cholesky" or "eigh"; got {method!r}')
    values, vectors = np.linalg.eigh(K)
    if values[0] < -1e-8 * max(values[-1], 0.0):
        raise NotPositiveDefiniteError(
            f"the Gram matrix has the eigenvalue {values[0]:.3g}: the kernel is not positive semidefinite"
        )
    return (vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * noise)).T


class Parametrized(ABC):
    """An object whose parameters are in `tree`; every change returns a new one."""

    tree: ParameterTree
    # The attributes that make the value.
    _fields: ClassVar[tuple[str, ...]] = ("tree",)
    # The parameters that may have an entry for each column.
    _vectors_allowed: ClassVar[tuple[str, ...]] = ()

    def with_tree(self, tree: ParameterTree) -> Self:
        """The same object with these parameters."""
        twin = copy(self)
        twin.tree = tree
        return twin

    @property
    def params(self) -> Mapping[str, Any]:
        """Every parameter in natural units, by name."""
        return self.tree.natural

    @property
    def names(self) -> list[str]:
        """The free parameters, entry by entry, in the order of `pullback`."""
        return self.tree.names

    def entries(self, columns: Sequence[str]) -> list[tuple[str, float]]:
        """Name and value of every parameter entry; entries for a column or group of columns are named after it."""
        lines = []
        for path, value in self.params.items():
            if not np.ndim(value):
                lines.append((path, float(value)))
                continue
            owners = self.owners(path, columns)
            tails = [f"[{i}]" for i in range(len(value))] if owners is None else [f" of {name}" for name in owners]
            lines += [(path + tail, float(entry)) for tail, entry in zip(tails, value, strict=True)]
        return lines

    def owners(self, path: str, columns: Sequence[str]) -> list[str] | None:
        """The column, or group of columns, of each entry of a vector parameter; None if entries have none."""
        # A scaled kernel may have gained a factor in front: the path is the same from its end.
        known = [own for own in self.tree.paths if own == path or own.endswith(f".{path}")]
        if not known:
            return None
        shared = self.column_groups().get(known[0])
        if shared is not None:
            return shared.described(columns)
        return list(columns) if np.size(self.params[known[0]]) == len(columns) else None

    def column_groups(self) -> dict[str, Groups]:
        """By path, the groups of the columns that share entries of a vector parameter."""
        return {}

    def with_params(self, **values: Any) -> Self:
        """The kernel with other parameter values; "a__b" is the parameter "a.b" of a composed kernel."""
        return self.with_tree(self.tree.with_values({_path(name): value for name, value in values.items()}))

    def fix(self, *names: str) -> Self:
        """The kernel with these parameters (by default all) fixed during fitting."""
        return self.with_tree(self.tree.fix(*map(_path, names or self.tree.paths)))

    def free(self, *names: str) -> Self:
        """The kernel with these parameters (by default all) free to be fitted."""
        return self.with_tree(self.tree.free(*map(_path, names or self.tree.paths)))

    def with_prior(self, name: str, prior: Prior | None) -> Self:
        """The kernel with a hyperprior on one parameter, or without it."""
        return self.with_tree(self.tree.replace(_path(name), prior=prior))

    def with_bounds(self, name: str, lower: float, upper: float) -> Self:
        """The kernel with one positive parameter bounded between two values."""
        return self.with_tree(self.tree.replace(_path(name), bijector=LogInterval(lower, upper)))

    def to_fields(self) -> dict[str, Any]:
        """The attributes named in `_fields`, which model files store."""
        return {name: getattr(self, name) for name in self._fields}

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """The object from the fields of `to_fields`."""
        if set(fields) != set(cls._fields):
            raise ValueError(f"a {cls.__name__} has the fields {', '.join(cls._fields)}; got {', '.join(fields)}")
        value = cls.__new__(cls)
        vars(value).update(fields)
        value._check_fields()
        return value

    def _check_fields(self) -> None:
        """Raise a ValueError if the attributes from a file can't be those of a constructor."""
        fresh = type(self)().tree
        if not isinstance(self.tree, ParameterTree) or self.tree.paths != fresh.paths:
            raise ValueError(f"a {type(self).__name__} has the parameters {fresh.paths}")
        for path, value in self.params.items():
            if np.ndim(value) and path not in self._vectors_allowed:
                raise ValueError(f"{path} of a {type(self).__name__} is one number")

    def _check_tree(self, fresh: Parametrized) -> None:
        """Raise a ValueError if the parameters aren't those that the constructor makes."""
        if self.tree != fresh.tree:
            raise ValueError(f"the parameters of a {type(self).__name__} aren't those of its parts")

    def _free(self) -> NDArray[np.bool_]:
        """Which entries of all parameters, in order, are free."""
        leaves = [self.tree[path] for path in self.tree.paths]
        marks = [np.full(leaf.size, not leaf.fixed) for leaf in leaves if isinstance(leaf, Parameter)]
        return np.concatenate(marks) if marks else np.empty(0, dtype=bool)

    def _label(self) -> str:
        """The name of the object within a composition."""
        return type(self).__name__.lower()


def labels(terms: Sequence[Parametrized]) -> list[str]:
    """A name for each term: its class in lower case, numbered from the second of its kind on."""
    seen: Counter[str] = Counter()
    names = []
    for term in terms:
        kind = term._label()
        seen[kind] += 1
        names.append(kind if seen[kind] == 1 else f"{kind}{seen[kind]}")
    return names


def _path(name: str) -> str:
    return name.replace("__", ".")


Places = NDArray[np.intp]

# Prior widths in e-foldings of a length scale and of a variance, around values suggested by the spread of the data.
LENGTHSCALE_WIDTH, VARIANCE_WIDTH = 2.0, 3.0


class Covariance(Parametrized):
    """A positive semidefinite function k(x, x′) with named parameters.

    The public methods validate their arguments. A kernel class defines their counterparts on clean arrays: `_fill`,
    `_cross`, `_diagonal`, `_pullback_cross`, `_pullback_diagonal` and `_pullback_inputs`. It keeps its parameters in
    `tree`. More methods are optional: `_pullback`, if one triangle costs less than the whole matrix;
    `_spectrum`, for prior functions that can be evaluated anywhere; `state_space`, for inference in linear time;
    `_blocks` and `_pullback_blocks`, if a loop over many small sets of rows can be compiled. `Kernel` adds the
    algebra.
    """

    @abstractmethod
    def _fill(self, X: Array, K: Array, mode: int) -> None:
        """Set, add to or multiply the triangle i ≤ j of K by the kernel's values."""

    @abstractmethod
    def _cross(self, X: Array, Z: Array) -> Array:
        """The kernel between the rows of X and of Z."""

    @abstractmethod
    def _diagonal(self, X: Array) -> Array:
        """k(x, x) for each row."""

    @abstractmethod
    def _pullback_cross(self, X: Array, Z: Array, W: Array) -> Array:
        """Σᵢⱼ Wᵢⱼ ∂k(xᵢ, zⱼ)/∂θ for every entry of every parameter, fixed ones as well."""

    @abstractmethod
    def _pullback_diagonal(self, X: Array, w: Array) -> Array:
        """Σᵢ wᵢ ∂k(xᵢ, xᵢ)/∂θ for every entry of every parameter, fixed ones as well."""

    @abstractmethod
    def _pullback_inputs(self, X: Array, W: Array) -> Array:
        """Σᵢⱼ Wᵢⱼ ∂K/∂X, of X's shape; W is symmetric and given whole."""

    def _pullback(self, X: Array, W: Array) -> Array:
        """Σᵢⱼ Wᵢⱼ ∂K/∂θ for every entry of every parameter; W is symmetric and only its triangle i ≤ j is read."""
        return self._pullback_cross(X, X, np.triu(W) + np.triu(W, 1).T)

    def _blocks(self, X: Array, places: Places, K: Array, mode: int) -> None:
        """Set, add to or multiply K by the packed covariances of each block."""
        order = np.tril_indices(places.shape[1])
        own = np.empty((places.shape[1],) * 2)
        for rows, packed in zip(places, K, strict=True):
            self._fill(np.ascontiguousarray(X[rows]), own, SET)
            combine(packed, own.T[order], mode)

    def _pullback_blocks(self, X: Array, places: Places, W: Array) -> Array:
        """Σ W ∂k/∂θ over all packed covariances, for every entry of every parameter, fixed ones as well."""
        order = np.tril_indices(places.shape[1])
        halves = np.where(order[0] == order[1], 1.0, 0.5)
        own = np.zeros((places.shape[1],) * 2)
        total = np.zeros(len(self._free()))
        for rows, packed in zip(places, W, strict=True):
            own.T[order] = halves * packed
            total += self._pullback(np.ascontiguousarray(X[rows]), own)
        return total

    def _default_priors(self, spread: Array) -> Array:
        return np.tile([np.nan, np.inf], (len(self._free()), 1))

    def _spectrum(self, center: Array) -> list[Term]:
        """The kernel as a sum of spectral and finite terms; `center` is a row near which accuracy matters."""
        raise ValueError(
            f"{self!r} has no random features, so its functions can't be drawn everywhere; "
            "use sample(X) to draw their values at given points"
        )

    def features(self, center: Array, n: int, rng: np.random.Generator) -> Features:
        """About n random features φ with E φ(x)ᵀφ(z) = k(x, z), exact if the kernel has no more than n features.

        `center` is a row near which accuracy matters.
        """
        return random_features(self._spectrum(center), n, rng)

    def default_priors(self, spread: Array) -> Array:
        """Typical values of the free parameters, given the spread of each column of X.

        One row for each entry of `names`: the mean and the standard deviation of its logarithm, NaN and ∞ if nothing
        is known.
        """
        return self._default_priors(spread)[self._free()]

    def column_scales(self, n_columns: int) -> Array:
        """The shortest length scale of each column; ∞ if the kernel has none."""
        return np.full(n_columns, np.inf)

    def state_space(self) -> MarkovForm:
        """The kernel as a linear stochastic differential equation in one input, for the kernels that have one."""
        raise NotImplementedError(
            f"{self!r} has no state-space form for one input, which inference in linear time needs; use one that "
            "has, such as Exponential, Matern32, Matern52, Periodic, Harmonic or Linear, or sums and products of them"
        )

    # How tightly the printed form binds: 1 for a sum, 2 for a product, 3 for anything else.
    _binding = 3

    def gram(self, X: ArrayLike) -> Array:
        """The symmetric matrix K with Kᵢⱼ = k(xᵢ, xⱼ)."""
        rows = self.check_rows(X)
        K = np.empty((len(rows), len(rows)))
        self._fill(rows, K, SET)
        parallel_rows(_jit.mirror, len(rows), K)
        return K

    def fill(self, X: ArrayLike, K: Array) -> None:
        """Write the triangle i ≤ j of the Gram matrix into K; entries below the diagonal are then undefined."""
        rows = self.check_rows(X)
        self._fill(rows, self._square(rows, K, "K"), SET)

    def cross(self, X: ArrayLike, Z: ArrayLike) -> Array:
        """The matrix k(xᵢ, zⱼ), one row for each row of X; without white noise, which no two observations share."""
        return self._cross(*self._pair(X, Z))

    def diagonal(self, X: ArrayLike) -> Array:
        """k(x, x) for each row, without the rest of the matrix."""
        return self._diagonal(self.check_rows(X))

    def pullback(self, X: ArrayLike, W: ArrayLike, *, triangle: bool = False) -> Array:
        """Σᵢⱼ Wᵢⱼ ∂Kᵢⱼ/∂θ for each entry of `names`, in natural units.

        Parameters
        ----------
        X : array of shape (n, n_features)
        W : array of shape (n, n)
            Weights, such as ½(ααᵀ − K⁻¹) for the log evidence; only the symmetric part matters.
        triangle : bool, default False
            Whether W is symmetric and given by its triangle i ≤ j; the other entries are then not read, and nothing is
            copied.
        """
        rows = self.check_rows(X)
        weights = self._square(rows, np.asarray(W, dtype=np.float64), "W")
        return self._pullback(rows, weights if triangle else 0.5 * (weights + weights.T))[self._free()]

    def pullback_cross(self, X: ArrayLike, Z: ArrayLike, W: ArrayLike) -> Array:
        """Σᵢⱼ Wᵢⱼ ∂k(xᵢ, zⱼ)/∂θ for each entry of `names`, in natural units; W has a row for each row of X."""
        rows, others = self._pair(X, Z)
        weights = np.ascontiguousarray(W, dtype=np.float64)
        if weights.shape != (len(rows), len(others)):
            raise ValueError(
                f"W must have shape ({len(rows)}, {len(others)}), one weight for each row of X and row of Z; "
                f"got {weights.shape}"
            )
        return self._pullback_cross(rows, others, weights)[self._free()]

    def pullback_diagonal(self, X: ArrayLike, w: ArrayLike) -> Array:
        """Σᵢ wᵢ ∂k(xᵢ, xᵢ)/∂θ for each entry of `names`, in natural units."""
        rows, weights = self.check_rows(X), np.asarray(w, dtype=np.float64)
        if weights.shape != (len(rows),):
            raise ValueError(f"w must have shape ({len(rows)},), one weight for each row; got {weights.shape}")
        return self._pullback_diagonal(rows, weights)[self._free()]

    def pullback_inputs(self, X: ArrayLike, W: ArrayLike) -> Array:
        """Σᵢⱼ Wᵢⱼ ∂Kᵢⱼ/∂X, an array of the shape of X."""
        rows = self.check_rows(X)
        weights = self._square(rows, np.asarray(W, dtype=np.float64), "W")
        return self._pullback_inputs(rows, 0.5 * (weights + weights.T))

    def blocks(self, X: ArrayLike, places: Places) -> Array:
        """The covariances within many small sets of rows.

        Parameters
        ----------
        X : array of shape (n, n_features)
        places : array of shape (n_blocks, size)
            The numbers of the rows in each block.

        Returns
        -------
        array of shape (n_blocks, size·(size + 1)/2)
            k(x_a, x_c) for c ≤ a, one a after the other.
        """
        rows, places = self._placed_rows(X, places)
        K = np.empty((len(places), places.shape[1] * (places.shape[1] + 1) // 2))
        self._blocks(rows, places, K, SET)
        return K

    def pullback_blocks(self, X: ArrayLike, places: Places, W: Array) -> Array:
        """Σ W ∂k/∂θ for each entry of `names`, in natural units, with a weight for each covariance of `blocks`."""
        rows, places = self._placed_rows(X, places)
        weights = np.ascontiguousarray(W, dtype=np.float64)
        n_pairs = places.shape[1] * (places.shape[1] + 1) // 2
        if weights.shape != (len(places), n_pairs):
            raise ValueError(f"W must have shape ({len(places)}, {n_pairs}), as blocks has; got {weights.shape}")
        return self._pullback_blocks(rows, places, weights)[self._free()]

    def _placed_rows(self, X: ArrayLike, places: Places) -> tuple[Array, Places]:
        """Rows, and places that are among them, which compiled loops rely on."""
        rows, where = self.check_rows(X), np.ascontiguousarray(places, dtype=np.intp)
        if where.ndim != 2 or (where.size and not 0 <= where.min() <= where.max() < len(rows)):
            raise ValueError(f"places must hold numbers of rows from 0 to {len(rows) - 1}, one line for each block")
        return rows, where

    def sample(self, X: ArrayLike, n: int = 1, *, random_state: Any = None, method: str = "cholesky") -> Array:
        """n functions from the Gaussian-process prior with this kernel at the rows of X: shape (n, n_rows).

        Parameters
        ----------
        X : array of shape (n_rows, n_features)
        n : int, default 1
        random_state : int, Generator or None
        method : {"cholesky", "eigh"}, default "cholesky"
            "eigh" is slower and works for singular matrices; "cholesky" adds a little jitter to those.
        """
        return draws(self.gram(X), n, random_state=random_state, method=method)

    def __eq__(self, other: object) -> bool:
        return (
            type(self) is type(other) and self._key() == other._key()
            if isinstance(other, Covariance)
            else NotImplemented
        )

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    def _key(self) -> Any:
        return self.tree

    def check_rows(self, X: ArrayLike, name: str = "X") -> Array:
        """A validated table of numbers."""
        if type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and X.size:
            # What models pass most of the time.
            with np.errstate(over="ignore", invalid="ignore"):
                if np.isfinite(X.sum()):
                    return np.ascontiguousarray(X)
        return np.ascontiguousarray(check_array(numeric(X, name=name), dtype=np.float64, input_name=name))

    def _pair(self, X: ArrayLike, Z: ArrayLike) -> tuple[Array, Array]:
        """Two tables of the same columns, which compiled loops rely on."""
        rows, others = self.check_rows(X), self.check_rows(Z, name="Z")
        if rows.shape[1] != others.shape[1]:
            raise ValueError(f"X has {rows.shape[1]} columns and Z has {others.shape[1]}; they must be equal")
        return rows, others

    @staticmethod
    def _square(rows: Array, matrix: Array, name: str) -> Array:
        """A matrix with an entry for each pair of rows, which compiled loops rely on."""
        n = len(rows)
        if matrix.shape != (n, n):
            raise ValueError(f"{name} must have shape ({n}, {n}), one entry for each pair of rows; got {matrix.shape}")
        return matrix

    def _wrapped(self, binding: int) -> str:
        return f"({self!r})" if self._binding < binding else repr(self)
