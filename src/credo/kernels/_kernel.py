"""The algebra of kernels: sums, products and exponentials of kernels are kernels.

    (k₁ + k₂)  passes W on,    (k₁ k₂)  passes on W∘K₂ and W∘K₁,    exp(k)  passes on W∘exp(K)

Kernels and their combinations are in one module because they depend on each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product
from numbers import Real
from operator import iadd, imul, mul
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from credo.core.linalg import parallel_rows
from credo.core.params import Parameter, ParameterTree
from credo.kernels import _jit
from credo.kernels._jit import ADD, MULTIPLY, SET
from credo.kernels.checks import Covariance, Groups, Places, combine, labels, times_others, triangle_total
from credo.kernels.markov import MarkovForm, MarkovTerm, product_of, sum_of
from credo.kernels.spectra import Term

Array = NDArray[np.float64]


class Kernel(Covariance):
    """A covariance function; kernels can be added, multiplied and composed (to write one, see `Covariance`).

    Examples
    --------
    >>> from credo.kernels import RBF, Linear, Periodic
    >>> RBF(2.0).on(0) * Periodic(period=12.0).on(0) + 0.5 * Linear().on(1)
    RBF(lengthscale=2).on(0) * Periodic(lengthscale=1, period=12).on(0) + Linear(variance=0.5).on(1)
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


class Constant(Kernel):
    """k(x, x′) = c: constant functions.

    Examples
    --------
    >>> from credo.kernels import Constant
    >>> Constant(2.0).cross([[0.0]], [[1.0], [5.0]])
    array([[2., 2.]])
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

    def _pullback(self, X: Array, W: Array) -> Array:
        return np.array([triangle_total(W)])

    def _pullback_cross(self, X: Array, Z: Array, W: Array) -> Array:
        return np.array([W.sum()])

    def _pullback_diagonal(self, X: Array, w: Array) -> Array:
        return np.array([w.sum()])

    def _pullback_inputs(self, X: Array, W: Array) -> Array:
        return np.zeros_like(X)

    def _blocks(self, X: Array, places: Places, K: Array, mode: int) -> None:
        combine(K, self.value, mode)

    def _pullback_blocks(self, X: Array, places: Places, W: Array) -> Array:
        return np.array([W.sum()])

    def _spectrum(self, center: Array) -> list[Term]:
        return [Term(self.value)]

    def state_space(self) -> MarkovForm:
        return MarkovForm((MarkovTerm(self.value, np.ones(1)),), 1)

    def _scaled(self, factor: float) -> Kernel:
        return self.with_params(value=self.value * factor)

    def __repr__(self) -> str:
        return f"Constant({self.value:.6g})"


class _Composed(Kernel):
    """Kernels under names, and their parameters in one tree."""

    terms: list[Kernel]
    _fields = "terms", "tree"
    _mode: ClassVar[int]  # ADD or MULTIPLY

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
        self._check_tree(type(self)(*self.terms))

    def with_tree(self, tree: ParameterTree) -> Self:
        terms = [term.with_tree(tree[label]) for label, term in zip(labels(self.terms), self.terms, strict=True)]  # type: ignore[arg-type]
        return type(self)(*terms)

    def _fill(self, X: Array, K: Array, mode: int) -> None:
        if mode not in (SET, self._mode):
            own = np.empty_like(K)
            self._fill(X, own, SET)
            combine(K, own, mode)
            return
        for i, term in enumerate(self.terms):
            term._fill(X, K, mode if i == 0 else self._mode)

    def _blocks(self, X: Array, places: Places, K: Array, mode: int) -> None:
        if mode not in (SET, self._mode):
            combine(K, self.blocks(X, places), mode)
            return
        for i, term in enumerate(self.terms):
            term._blocks(X, places, K, mode if i == 0 else self._mode)

    def column_groups(self) -> dict[str, Groups]:
        named = zip(labels(self.terms), self.terms, strict=True)
        return {f"{label}.{path}": own for label, term in named for path, own in term.column_groups().items()}

    def _default_priors(self, spread: Array) -> Array:
        return np.concatenate([term._default_priors(spread) for term in self.terms])

    def column_scales(self, n_columns: int) -> Array:
        return np.min([term.column_scales(n_columns) for term in self.terms], axis=0)

    def _key(self) -> Any:
        return tuple(self.terms)


class Sum(_Composed):
    """k₁ + k₂ + …: functions that are sums of independent functions.

    Examples
    --------
    >>> from credo.kernels import RBF
    >>> (RBF(1.0) + 2.0).gram([[0.0], [9.0]]).round(3)  # a function plus a constant
    array([[3., 2.],
           [2., 3.]])
    """

    _binding, _mode = 1, ADD

    def state_space(self) -> MarkovForm:
        return sum_of([term.state_space() for term in self.terms])

    def _cross(self, X: Array, Z: Array) -> Array:
        return reduce(iadd, (term._cross(X, Z) for term in self.terms))

    def _diagonal(self, X: Array) -> Array:
        return np.sum([term._diagonal(X) for term in self.terms], axis=0)

    def _pullback(self, X: Array, W: Array) -> Array:
        return np.concatenate([term._pullback(X, W) for term in self.terms])

    def _pullback_cross(self, X: Array, Z: Array, W: Array) -> Array:
        return np.concatenate([term._pullback_cross(X, Z, W) for term in self.terms])

    def _pullback_diagonal(self, X: Array, w: Array) -> Array:
        return np.concatenate([term._pullback_diagonal(X, w) for term in self.terms])

    def _pullback_inputs(self, X: Array, W: Array) -> Array:
        return np.sum([term._pullback_inputs(X, W) for term in self.terms], axis=0)

    def _pullback_blocks(self, X: Array, places: Places, W: Array) -> Array:
        return np.concatenate([term._pullback_blocks(X, places, W) for term in self.terms])

    def _spectrum(self, center: Array) -> list[Term]:
        return [part for term in self.terms for part in term._spectrum(center)]

    def _scaled(self, factor: float) -> Kernel:
        return Sum(*(term._scaled(factor) for term in self.terms))

    def __repr__(self) -> str:
        return " + ".join(term._wrapped(2) for term in self.terms)


class Product(_Composed):
    """k₁ · k₂ · …: large only where all factors are.

    Examples
    --------
    >>> from credo.kernels import RBF, Periodic
    >>> (RBF(10.0) * Periodic(period=1.0)).cross([[0.0]], [[0.5], [1.0], [10.0]]).round(2)  # cycles that change slowly
    array([[0.14, 1.  , 0.61]])
    """

    _binding, _mode = 2, MULTIPLY

    def state_space(self) -> MarkovForm:
        return product_of([term.state_space() for term in self.terms])

    def _cross(self, X: Array, Z: Array) -> Array:
        return reduce(imul, (term._cross(X, Z) for term in self.terms))

    def _diagonal(self, X: Array) -> Array:
        return np.prod([term._diagonal(X) for term in self.terms], axis=0)

    def _pullback(self, X: Array, W: Array) -> Array:
        return np.concatenate([term._pullback(X, self._others(i, X, W)) for i, term in enumerate(self.terms)])

    def _pullback_cross(self, X: Array, Z: Array, W: Array) -> Array:
        weights = times_others(W, [term._cross(X, Z) for term in self.terms])
        return np.concatenate([term._pullback_cross(X, Z, own) for term, own in zip(self.terms, weights, strict=True)])

    def _pullback_diagonal(self, X: Array, w: Array) -> Array:
        weights = times_others(w, [term._diagonal(X) for term in self.terms])
        return np.concatenate([term._pullback_diagonal(X, own) for term, own in zip(self.terms, weights, strict=True)])

    def _pullback_inputs(self, X: Array, W: Array) -> Array:
        parts = []
        for i, term in enumerate(self.terms):
            weights = self._others(i, X, W)
            parallel_rows(_jit.mirror, len(X), weights)
            parts.append(term._pullback_inputs(X, weights))
        return np.sum(parts, axis=0)

    def _pullback_blocks(self, X: Array, places: Places, W: Array) -> Array:
        weights = times_others(W, [term.blocks(X, places) for term in self.terms])
        return np.concatenate(
            [term._pullback_blocks(X, places, own) for term, own in zip(self.terms, weights, strict=True)]
        )

    def _spectrum(self, center: Array) -> list[Term]:
        spectra = [term._spectrum(center) for term in self.terms]
        return [reduce(mul, parts) for parts in product(*spectra)]

    def _others(self, i: int, X: Array, W: Array) -> Array:
        """W times the triangles of every factor but one."""
        weights = W.copy()
        for other in self.terms[:i] + self.terms[i + 1 :]:
            other._fill(X, weights, MULTIPLY)
        return weights

    def _scaled(self, factor: float) -> Kernel:
        return Product(self.terms[0]._scaled(factor), *self.terms[1:])

    def __repr__(self) -> str:
        return " * ".join(term._wrapped(2) for term in self.terms)


class _Wrapper(Kernel):
    """A kernel of another one, with its parameters."""

    _fields: ClassVar[tuple[str, ...]] = ("kernel", "tree")

    def __init__(self, kernel: Kernel) -> None:
        if not isinstance(kernel, Kernel):
            raise TypeError(f"{type(self).__name__} takes a kernel; got {kernel!r}")
        self.kernel = kernel
        self.tree = kernel.tree

    def _default_priors(self, spread: Array) -> Array:
        return self.kernel._default_priors(spread)

    def column_scales(self, n_columns: int) -> Array:
        return self.kernel.column_scales(n_columns)

    def column_groups(self) -> dict[str, Groups]:
        return self.kernel.column_groups()

    def _key(self) -> Any:
        return self.kernel


class Exp(_Wrapper):
    """exp(k): a sum of all powers of a kernel.

    Examples
    --------
    >>> from credo.kernels import Linear
    >>> Linear().exp().cross([[1.0]], [[0.0], [1.0], [2.0]]).round(3)
    array([[1.   , 2.718, 7.389]])
    """

    def _check_fields(self) -> None:
        self._check_tree(Exp(self.kernel))

    def _fill(self, X: Array, K: Array, mode: int) -> None:
        inner = np.empty_like(K)
        self.kernel._fill(X, inner, SET)
        parallel_rows(_jit.exp_triangle, len(K), inner, mode, K)

    def _cross(self, X: Array, Z: Array) -> Array:
        return np.exp(self.kernel._cross(X, Z))

    def _diagonal(self, X: Array) -> Array:
        return np.exp(self.kernel._diagonal(X))

    def _pullback(self, X: Array, W: Array) -> Array:
        return self.kernel._pullback(X, self._through(X, W))

    def _pullback_cross(self, X: Array, Z: Array, W: Array) -> Array:
        return self.kernel._pullback_cross(X, Z, W * self._cross(X, Z))

    def _pullback_diagonal(self, X: Array, w: Array) -> Array:
        return self.kernel._pullback_diagonal(X, w * self._diagonal(X))

    def _pullback_inputs(self, X: Array, W: Array) -> Array:
        weights = self._through(X, W)
        parallel_rows(_jit.mirror, len(X), weights)
        return self.kernel._pullback_inputs(X, weights)

    def _blocks(self, X: Array, places: Places, K: Array, mode: int) -> None:
        combine(K, np.exp(self.kernel.blocks(X, places)), mode)

    def _pullback_blocks(self, X: Array, places: Places, W: Array) -> Array:
        return self.kernel._pullback_blocks(X, places, W * self.blocks(X, places))

    def _through(self, X: Array, W: Array) -> Array:
        weights = W.copy()
        self._fill(X, weights, MULTIPLY)
        return weights

    def _scaled(self, factor: float) -> Kernel:
        # The variance in the tree is that of the exponent.
        return Product(Constant(factor), self)

    def with_tree(self, tree: ParameterTree) -> Self:
        return type(self)(self.kernel.with_tree(tree))

    def __repr__(self) -> str:
        return f"{self.kernel._wrapped(3)}.exp()"


class Columns(_Wrapper):
    """A kernel that uses some columns only.

    Examples
    --------
    >>> from credo.kernels import RBF
    >>> RBF(1.0).on([0, 2]).cross([[0.0, 5.0, 1.0]], [[0.0, -3.0, 1.0]])  # column 1 is ignored
    array([[1.]])
    """

    _fields = ("kernel", "columns", "tree")

    def __init__(self, kernel: Kernel, columns: int | Sequence[int] | slice) -> None:
        if not isinstance(columns, slice):
            given = np.asarray(columns)
            if given.size == 0 or not np.issubdtype(given.dtype, np.integer):
                raise TypeError(
                    f"columns are chosen by index, such as .on(0) or .on([0, 2]); got {columns!r}. "
                    "The index of a frame's column is X.columns.get_loc(name)"
                )
        super().__init__(kernel)
        self.columns = columns

    def _check_fields(self) -> None:
        self._check_tree(Columns(self.kernel, self.columns))
        assert not isinstance(self.columns, slice) or self.columns.indices(1)

    def _pick(self, X: Array) -> Array:
        return np.ascontiguousarray(X[:, self._index(X.shape[1])])

    def _index(self, n_columns: int) -> NDArray[np.intp]:
        index = np.atleast_1d(np.arange(n_columns)[self.columns] if isinstance(self.columns, slice) else self.columns)
        if not index.size or index.max() >= n_columns or index.min() < -n_columns:
            uses = self.columns if isinstance(self.columns, slice) else index.tolist()
            raise ValueError(f"the kernel uses columns {uses}, but X has only {n_columns}")
        return index

    def _fill(self, X: Array, K: Array, mode: int) -> None:
        self.kernel._fill(self._pick(X), K, mode)

    def _cross(self, X: Array, Z: Array) -> Array:
        return self.kernel._cross(self._pick(X), self._pick(Z))

    def _diagonal(self, X: Array) -> Array:
        return self.kernel._diagonal(self._pick(X))

    def _pullback(self, X: Array, W: Array) -> Array:
        return self.kernel._pullback(self._pick(X), W)

    def _pullback_cross(self, X: Array, Z: Array, W: Array) -> Array:
        return self.kernel._pullback_cross(self._pick(X), self._pick(Z), W)

    def _pullback_diagonal(self, X: Array, w: Array) -> Array:
        return self.kernel._pullback_diagonal(self._pick(X), w)

    def _pullback_inputs(self, X: Array, W: Array) -> Array:
        whole = np.zeros_like(X)
        whole[:, self._index(X.shape[1])] = self.kernel._pullback_inputs(self._pick(X), W)
        return whole

    def _blocks(self, X: Array, places: Places, K: Array, mode: int) -> None:
        self.kernel._blocks(self._pick(X), places, K, mode)

    def _pullback_blocks(self, X: Array, places: Places, W: Array) -> Array:
        return self.kernel._pullback_blocks(self._pick(X), places, W)

    def _spectrum(self, center: Array) -> list[Term]:
        return [term.on(self._pick) for term in self.kernel._spectrum(self._pick(center[None, :])[0])]

    def column_scales(self, n_columns: int) -> Array:
        scales, index = np.full(n_columns, np.inf), self._index(n_columns)
        scales[index] = self.kernel.column_scales(len(index))
        return scales

    def state_space(self) -> MarkovForm:
        self._index(1)
        return self.kernel.state_space()

    def _default_priors(self, spread: Array) -> Array:
        return self.kernel._default_priors(self._pick(spread[None, :])[0])

    def _scaled(self, factor: float) -> Kernel:
        return Columns(self.kernel._scaled(factor), self.columns)

    def with_tree(self, tree: ParameterTree) -> Self:
        return type(self)(self.kernel.with_tree(tree), self.columns)

    def _label(self) -> str:
        return self.kernel._label()

    def _key(self) -> Any:
        return self.kernel, str(self.columns)

    def __repr__(self) -> str:
        return f"{self.kernel._wrapped(3)}.on({self.columns!r})"
