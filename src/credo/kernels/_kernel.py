"""The algebra of kernels: sums, products and exponentials of kernels are kernels.

    (k₁ + k₂)  passes W on,    (k₁ k₂)  passes on W∘K₂ and W∘K₁,    exp(k)  passes on W∘exp(K)

Kernels and their combinations are in one module because each needs the other; the base class is in `_contract.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product
from numbers import Real
from operator import mul
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from credo.kernels import _jit
from credo.kernels._contract import Covariance
from credo.kernels._groups import Groups
from credo.kernels._jit import ADD, MULTIPLY, SET
from credo.kernels._parametrized import labels, replanted
from credo.kernels._triangles import combine, triangle_total
from credo.kernels.spectra import Term
from credo.linalg import parallel_rows
from credo.params import Parameter, ParameterTree

Array = NDArray[np.float64]


class Kernel(Covariance):
    """A covariance function; kernels can be added, multiplied and composed.

    `Covariance` describes the methods that a kernel class defines.
    """

    def exp(self) -> Kernel:
        """exp(k(x, x′)), again a kernel."""
        return Exp(self)

    def on(self, columns: int | Sequence[int] | slice) -> Kernel:
        """The kernel on some of the columns only.

        Parameters
        ----------
        columns : int, sequence of int, or slice
            Column indices from zero; kernels don't know column names.

        Examples
        --------
        >>> from credo.kernels import RBF, Periodic
        >>> RBF(2.0).on(0) + Periodic(period=12.0).on(1)
        RBF(lengthscale=2).on(0) + Periodic(lengthscale=1, period=12).on(1)
        """
        return Columns(self, columns)

    def __add__(self, other: Any) -> Kernel:
        other = Constant(float(other)) if isinstance(other, Real) else other
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __radd__(self, other: Any) -> Kernel:
        return Constant(float(other)) + self if isinstance(other, Real) else NotImplemented

    def __mul__(self, other: Any) -> Kernel:
        if isinstance(other, Real):
            return self._scaled(float(other))
        return Product(self, other) if isinstance(other, Kernel) else NotImplemented

    __rmul__ = __mul__

    def _scaled(self, factor: float) -> Kernel:
        """This kernel times a positive number, which multiplies its variance if it has one."""
        if "variance" in self.tree:
            return self.with_params(variance=self.params["variance"] * factor)
        return Product(Constant(factor), self)


def require_kernel(kernel: Any) -> Kernel:
    """The argument if it is a kernel; otherwise an error that says what to pass."""
    if isinstance(kernel, Kernel):
        return kernel
    if type(kernel).__module__.startswith("sklearn."):
        name = type(kernel).__name__
        raise TypeError(
            f"kernel is scikit-learn's {name}: use a kernel of credo.kernels, such as RBF, Matern52 or Periodic (sums "
            "and products work the same way; the noise is an argument of the model instead of a WhiteKernel)"
        )
    if callable(kernel):
        raise TypeError(f"kernel is a function: wrap it with credo.kernels.from_function; got {kernel!r}")
    raise TypeError(f"kernel must be a kernel such as credo.kernels.RBF(), or None; got {kernel!r}")


class Constant(Kernel):
    """k(x, x′) = c: constant functions.

    >>> Constant(2.0).gram([[0.0], [1.0]])
    array([[2., 2.],
           [2., 2.]])
    """

    def __init__(self, value: float = 1.0) -> None:
        self.tree = ParameterTree({"value": Parameter(value)})

    @property
    def value(self) -> float:
        return float(self.params["value"])

    def _fill(self, X: Array, K: Array, mode: int) -> None:
        combine(K, self.value, mode)

    def _cross(self, X: Array, Z: Array) -> Array:
        return np.full((len(X), len(Z)), self.value)

    def _diagonal(self, X: Array) -> Array:
        return np.full(len(X), self.value)

    def _pull(self, X: Array, W: Array) -> Array:
        return np.array([triangle_total(W)])

    def _pull_inputs(self, X: Array, W: Array) -> Array:
        return np.zeros_like(X)

    def _spectrum(self, center: Array) -> list[Term]:
        return [Term(self.value)]

    def _with_tree(self, tree: ParameterTree) -> Self:
        return replanted(self, tree)

    def _scaled(self, factor: float) -> Kernel:
        return self.with_params(value=self.value * factor)

    def __repr__(self) -> str:
        return f"Constant({self.value:.6g})"


class _Composed(Kernel):
    """Kernels under names, and their parameters in one tree."""

    terms: list[Kernel]
    _fields = ("terms", "tree")

    def __init__(self, *terms: Kernel) -> None:
        flat: list[Kernel] = []
        for term in terms:
            if not isinstance(term, Kernel):
                raise TypeError(f"kernels can be combined with kernels and numbers; got {term!r}")
            flat += term.terms if isinstance(term, type(self)) else [term]
        self.terms = flat
        self.tree = ParameterTree(dict(zip(labels(flat), [term.tree for term in flat], strict=True)))

    def _check_fields(self) -> None:
        if not self.terms or not all(isinstance(term, Kernel) for term in self.terms):
            raise ValueError(f"a {type(self).__name__} is made of kernels")
        _same_tree(self, type(self)(*self.terms))

    def _with_tree(self, tree: ParameterTree) -> Self:
        terms = [term._with_tree(tree[label]) for label, term in zip(labels(self.terms), self.terms, strict=True)]  # type: ignore[arg-type]
        return type(self)(*terms)

    def _habits(self, spread: Array) -> Array:
        return np.concatenate([term._habits(spread) for term in self.terms])

    def _column_groups(self) -> dict[str, Groups]:
        named = zip(labels(self.terms), self.terms, strict=True)
        return {f"{label}.{path}": own for label, term in named for path, own in term._column_groups().items()}

    def _key(self) -> Any:
        return tuple(self.terms)


class Sum(_Composed):
    """k₁ + k₂ + …: functions that are sums of independent functions."""

    _binding = 1

    def _fill(self, X: Array, K: Array, mode: int) -> None:
        if mode == MULTIPLY:
            total = np.empty_like(K)
            self._fill(X, total, SET)
            combine(K, total, mode)
            return
        for i, term in enumerate(self.terms):
            term._fill(X, K, mode if i == 0 else ADD)

    def _cross(self, X: Array, Z: Array) -> Array:
        total = self.terms[0]._cross(X, Z)
        for term in self.terms[1:]:
            total += term._cross(X, Z)
        return total

    def _scaled(self, factor: float) -> Kernel:
        return Sum(*(term._scaled(factor) for term in self.terms))

    def _diagonal(self, X: Array) -> Array:
        return np.sum([term._diagonal(X) for term in self.terms], axis=0)

    def _pull(self, X: Array, W: Array) -> Array:
        return np.concatenate([term._pull(X, W) for term in self.terms])

    def _pull_inputs(self, X: Array, W: Array) -> Array:
        return np.sum([term._pull_inputs(X, W) for term in self.terms], axis=0)

    def _spectrum(self, center: Array) -> list[Term]:
        return [part for term in self.terms for part in term._spectrum(center)]

    def __repr__(self) -> str:
        return " + ".join(term._wrapped(2) for term in self.terms)


class Product(_Composed):
    """k₁ · k₂ · …: large only where all factors are."""

    _binding = 2

    def _fill(self, X: Array, K: Array, mode: int) -> None:
        if mode == ADD:
            product = np.empty_like(K)
            self._fill(X, product, SET)
            combine(K, product, mode)
            return
        for i, term in enumerate(self.terms):
            term._fill(X, K, mode if i == 0 else MULTIPLY)

    def _cross(self, X: Array, Z: Array) -> Array:
        product = self.terms[0]._cross(X, Z)
        for term in self.terms[1:]:
            product *= term._cross(X, Z)
        return product

    def _scaled(self, factor: float) -> Kernel:
        return Product(self.terms[0]._scaled(factor), *self.terms[1:])

    def _diagonal(self, X: Array) -> Array:
        return np.prod([term._diagonal(X) for term in self.terms], axis=0)

    def _pull(self, X: Array, W: Array) -> Array:
        return np.concatenate([term._pull(X, self._others(i, X, W)) for i, term in enumerate(self.terms)])

    def _pull_inputs(self, X: Array, W: Array) -> Array:
        parts = []
        for i, term in enumerate(self.terms):
            weights = self._others(i, X, W)
            parallel_rows(_jit.mirror, len(X), weights)
            parts.append(term._pull_inputs(X, weights))
        return np.sum(parts, axis=0)

    def _spectrum(self, center: Array) -> list[Term]:
        spectra = [term._spectrum(center) for term in self.terms]
        return [reduce(mul, parts) for parts in product(*spectra)]

    def _others(self, i: int, X: Array, W: Array) -> Array:
        """W times the triangles of every factor but one."""
        weights = W.copy()
        for j, term in enumerate(self.terms):
            if j != i:
                term._fill(X, weights, MULTIPLY)
        return weights

    def __repr__(self) -> str:
        return " * ".join(term._wrapped(2) for term in self.terms)


class Exp(Kernel):
    """exp(k): a sum of all powers of a kernel."""

    _fields = ("kernel", "tree")

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.tree = kernel.tree

    def _check_fields(self) -> None:
        _same_tree(self, Exp(require_kernel(self.kernel)))

    def _fill(self, X: Array, K: Array, mode: int) -> None:
        self._square(X, K)
        inner = np.empty_like(K)
        self.kernel._fill(X, inner, SET)
        parallel_rows(_jit.exp_triangle, len(K), inner, mode, K)

    def _cross(self, X: Array, Z: Array) -> Array:
        return np.exp(self.kernel._cross(X, Z))

    def _diagonal(self, X: Array) -> Array:
        return np.exp(self.kernel._diagonal(X))

    def _pull(self, X: Array, W: Array) -> Array:
        return self.kernel._pull(X, self._through(X, W))

    def _pull_inputs(self, X: Array, W: Array) -> Array:
        weights = self._through(X, W)
        parallel_rows(_jit.mirror, len(X), weights)
        return self.kernel._pull_inputs(X, weights)

    def _through(self, X: Array, W: Array) -> Array:
        weights = W.copy()
        self._fill(X, weights, MULTIPLY)
        return weights

    def _habits(self, spread: Array) -> Array:
        return self.kernel._habits(spread)

    def _column_groups(self) -> dict[str, Groups]:
        return self.kernel._column_groups()

    def _scaled(self, factor: float) -> Kernel:
        # The variance in the tree is that of the exponent.
        return Product(Constant(factor), self)

    def _with_tree(self, tree: ParameterTree) -> Self:
        return type(self)(self.kernel._with_tree(tree))

    def _key(self) -> Any:
        return self.kernel

    def __repr__(self) -> str:
        return f"{self.kernel._wrapped(3)}.exp()"


class Columns(Kernel):
    """A kernel that uses some columns only."""

    _fields = ("kernel", "columns", "tree")

    def __init__(self, kernel: Kernel, columns: int | Sequence[int] | slice) -> None:
        if not isinstance(columns, slice):
            given = np.asarray(columns)
            if given.size == 0 or not np.issubdtype(given.dtype, np.integer):
                raise TypeError(
                    f"columns are chosen by index, such as .on(0) or .on([0, 2]); got {columns!r}. "
                    "The index of a frame's column is X.columns.get_loc(name)"
                )
        self.kernel, self.columns = kernel, columns
        self.tree = kernel.tree

    def _check_fields(self) -> None:
        _same_tree(self, Columns(require_kernel(self.kernel), self.columns))
        assert not isinstance(self.columns, slice) or self.columns.indices(1)

    def _pick(self, X: Array) -> Array:
        chosen = np.atleast_1d(np.arange(X.shape[1])[self._index(X.shape[1])])
        if not chosen.size:
            raise ValueError(f"the kernel looks at columns {self.columns}, of which X with {X.shape[1]} has none")
        return np.ascontiguousarray(X[:, chosen])

    def _index(self, n_columns: int) -> Any:
        if isinstance(self.columns, slice):
            return self.columns
        index = np.atleast_1d(self.columns)
        if index.size and (index.max() >= n_columns or index.min() < -n_columns):
            raise ValueError(f"the kernel uses columns {index.tolist()}, but X has only {n_columns}")
        return index

    def _fill(self, X: Array, K: Array, mode: int) -> None:
        self.kernel._fill(self._pick(X), K, mode)

    def _cross(self, X: Array, Z: Array) -> Array:
        return self.kernel._cross(self._pick(X), self._pick(Z))

    def _diagonal(self, X: Array) -> Array:
        return self.kernel._diagonal(self._pick(X))

    def _pull(self, X: Array, W: Array) -> Array:
        return self.kernel._pull(self._pick(X), W)

    def _pull_inputs(self, X: Array, W: Array) -> Array:
        whole = np.zeros_like(X)
        whole[:, self._index(X.shape[1])] = self.kernel._pull_inputs(self._pick(X), W)
        return whole

    def _spectrum(self, center: Array) -> list[Term]:
        return [term.on(self._pick) for term in self.kernel._spectrum(self._pick(center[None, :])[0])]

    def _habits(self, spread: Array) -> Array:
        return self.kernel._habits(self._pick(spread[None, :])[0])

    def _column_groups(self) -> dict[str, Groups]:
        return self.kernel._column_groups()

    def _scaled(self, factor: float) -> Kernel:
        return Columns(self.kernel._scaled(factor), self.columns)

    def _with_tree(self, tree: ParameterTree) -> Self:
        return type(self)(self.kernel._with_tree(tree), self.columns)

    def _label(self) -> str:
        return self.kernel._label()

    def _key(self) -> Any:
        return self.kernel, str(self.columns)

    def __repr__(self) -> str:
        return f"{self.kernel._wrapped(3)}.on({self.columns!r})"


def _same_tree(kernel: Kernel, fresh: Kernel) -> None:
    if kernel.tree != fresh.tree:
        raise ValueError(f"the parameters of a {type(kernel).__name__} aren't those of its parts")
