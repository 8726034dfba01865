"""Dot-product kernels: Bayesian linear and polynomial regression as Gaussian processes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from itertools import combinations_with_replacement
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import factorial

from credo.kernels._kernel import Kernel
from credo.kernels._triangles import combine
from credo.kernels.markov import MarkovForm, MarkovTerm
from credo.kernels.spectra import Finite, Term
from credo.params import Parameter, ParameterTree
from credo.params._parameter import number_text

Array = NDArray[np.float64]

# A polynomial of more monomials than this is drawn as a product of random linear functions.
_MANY_MONOMIALS = 500


class Linear(Kernel):
    """Σ_d variance_d (x_d − c)(x′_d − c): linear functions that are zero at c; `variance` may have an entry a column.

    Equivalent to `BayesianLinearRegression` with prior precision 1/variance and no intercept, of the columns minus c.

    Parameters
    ----------
    variance : float or array, default 1.0
    center : float, default 0.0
        c, which isn't learned. A product ``Linear(center=c) * k`` has functions whose amplitude grows with the distance
        from c.

    Examples
    --------
    >>> Linear(variance=2.0).gram([[1.0], [3.0]])
    array([[ 2.,  6.],
           [ 6., 18.]])
    """

    _vectors_allowed = ("variance",)
    _fields = ("center", "tree")

    def __init__(self, variance: float | ArrayLike = 1.0, *, center: float = 0.0) -> None:
        self.center = float(center)
        if not math.isfinite(self.center):
            raise ValueError(f"center must be a finite number; got {center!r}")
        self.tree = ParameterTree({"variance": Parameter(variance)})

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """The kernel that `to_fields` described; files of earlier versions have no center."""
        return super().from_fields({"center": 0.0, **fields})

    def _check_fields(self) -> None:
        super()._check_fields()
        Linear(center=self.center)

    def _root(self, X: Array) -> Array:
        variance = self.params["variance"]
        if np.ndim(variance) and len(variance) != X.shape[1]:
            raise ValueError(f"the kernel has {len(variance)} variances, but X has {X.shape[1]} columns")
        return (X - self.center) * np.sqrt(variance)

    def _fill(self, X: Array, K: Array, mode: int) -> None:
        root = self._root(X)
        combine(K, root @ root.T, mode)

    def _cross(self, X: Array, Z: Array) -> Array:
        return self._root(X) @ self._root(Z).T

    def _diagonal(self, X: Array) -> Array:
        root = self._root(X)
        return np.einsum("ij,ij->i", root, root)

    def _pullback_cross(self, X: Array, Z: Array, W: Array) -> Array:
        return self._by_variance(np.einsum("ij,ij->j", X - self.center, W @ (Z - self.center)))

    def _pullback_diagonal(self, X: Array, w: Array) -> Array:
        return self._by_variance(w @ (X - self.center) ** 2)

    def _by_variance(self, by_column: Array) -> Array:
        return by_column if np.ndim(self.params["variance"]) else by_column.sum(keepdims=True)

    def _pullback_inputs(self, X: Array, W: Array) -> Array:
        return 2.0 * (W @ (X - self.center)) * self.params["variance"]

    def _spectrum(self, center: Array) -> list[Term]:
        return [Term(1.0, maps=(Finite(len(center), self._root),))]

    def state_space(self) -> MarkovForm:
        variance = np.ravel(self.params["variance"])
        if len(variance) != 1:
            return super().state_space()
        return MarkovForm((MarkovTerm(float(variance[0]), np.ones(1), (), (self.center,)),), 1)

    def _key(self) -> tuple[float, ParameterTree]:
        return self.center, self.tree

    def __repr__(self) -> str:
        center = f", center={self.center:.6g}" if self.center else ""
        return f"Linear(variance={number_text(self.params['variance'])}{center})"


class Polynomial(Kernel):
    """variance · (offset + xᵀx′)^degree: all monomials up to a degree.

    >>> Polynomial(degree=2).gram([[1.0], [2.0]])
    array([[ 4.,  9.],
           [ 9., 25.]])
    """

    _fields = ("degree", "tree")

    def __init__(self, degree: int = 2, *, offset: float = 1.0, variance: float = 1.0) -> None:
        if int(degree) != degree or degree < 1:
            raise ValueError(f"degree must be an integer of at least 1; got {degree!r}")
        self.degree = int(degree)
        self.tree = ParameterTree({"offset": Parameter(offset), "variance": Parameter(variance)})

    def _check_fields(self) -> None:
        super()._check_fields()
        Polynomial(self.degree)

    def _power(self, inner: Array, degree: int) -> Array:
        return float(self.params["variance"]) * (float(self.params["offset"]) + inner) ** degree

    def _fill(self, X: Array, K: Array, mode: int) -> None:
        combine(K, self._power(X @ X.T, self.degree), mode)

    def _cross(self, X: Array, Z: Array) -> Array:
        return self._power(X @ Z.T, self.degree)

    def _diagonal(self, X: Array) -> Array:
        return self._power(np.einsum("ij,ij->i", X, X), self.degree)

    def _pullback_cross(self, X: Array, Z: Array, W: Array) -> Array:
        return self._by_parameters(X @ Z.T, W)

    def _pullback_diagonal(self, X: Array, w: Array) -> Array:
        return self._by_parameters(np.einsum("ij,ij->i", X, X), w)

    def _by_parameters(self, inner: Array, weights: Array) -> Array:
        by_offset = float(np.sum(weights * self._power(inner, self.degree - 1))) * self.degree
        by_variance = float(np.sum(weights * self._power(inner, self.degree))) / float(self.params["variance"])
        return np.array([by_offset, by_variance])

    def _pullback_inputs(self, X: Array, W: Array) -> Array:
        return 2.0 * self.degree * (W * self._power(X @ X.T, self.degree - 1)) @ X

    def _spectrum(self, center: Array) -> list[Term]:
        factor = Finite(len(center) + 1, self._with_offset)
        if math.comb(len(center) + self.degree, self.degree) > _MANY_MONOMIALS:
            return [Term(float(self.params["variance"]), maps=(factor,) * self.degree)]
        exponents = np.array(
            [np.bincount(pick, minlength=factor.size)
             for pick in combinations_with_replacement(range(factor.size), self.degree)]
        )  # fmt: skip
        return [
            Term(float(self.params["variance"]), maps=(Finite(len(exponents), partial(self._monomials, exponents)),))
        ]

    def _with_offset(self, X: Array) -> Array:
        """The columns, and a constant one, whose inner product is offset + xᵀx′."""
        return np.column_stack([np.full(len(X), math.sqrt(float(self.params["offset"]))), X])

    def _monomials(self, exponents: NDArray[np.intp], X: Array) -> Array:
        """The multinomial theorem's map, whose inner product is (offset + xᵀx′)^degree."""
        counts = math.factorial(self.degree) / factorial(exponents).prod(axis=1)
        columns = self._with_offset(X)
        return np.sqrt(counts) * np.prod(
            [column[:, None] ** power for column, power in zip(columns.T, exponents.T, strict=True)], axis=0
        )

    def _key(self) -> tuple[int, ParameterTree]:
        return self.degree, self.tree

    def __repr__(self) -> str:
        offset, variance = (float(self.params[name]) for name in ("offset", "variance"))
        return f"Polynomial(degree={self.degree}, offset={offset:.6g}, variance={variance:.6g})"
