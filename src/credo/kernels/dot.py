"""White noise, a kernel for category codes, and dot-product kernels for linear and polynomial regression."""

from __future__ import annotations

import math
from functools import partial
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.blas import dsymm
from scipy.special import factorial

from credo.core.params import Interval, Parameter, ParameterTree
from credo.core.params.tree import number_text
from credo.kernels._jit import MULTIPLY, SET
from credo.kernels._kernel import Kernel
from credo.kernels.checks import VARIANCE_WIDTH, Places, combine
from credo.kernels.markov import MarkovForm, MarkovTerm
from credo.kernels.spectra import Finite, Term, Waves, codes

Array = NDArray[np.float64]


class White(Kernel):
    """variance · 1{same observation}: independent noise.

    Noise belongs to an observation, not to a point: two rows with equal inputs have independent noise, and a new row
    shares no noise with the training rows. So `cross` is zero, and only `gram` and `diagonal` have the variance.

    Examples
    --------
    >>> from credo.kernels import White
    >>> White(0.5).gram([[1.0], [1.0]])
    array([[0.5, 0. ],
           [0. , 0.5]])
    >>> White(0.5).cross([[1.0]], [[1.0]])
    array([[0.]])
    """

    def __init__(self, variance: float = 1.0) -> None:
        self.tree = ParameterTree({"variance": Parameter(variance)})

    @property
    def variance(self) -> float:
        return float(self.params["variance"])

    def _fill(self, X: Array, K: Array, mode: int) -> None:
        if mode == SET:
            K[...] = 0.0
        if mode == MULTIPLY:
            kept = self.variance * np.diagonal(K)
            K[...] = 0.0
            np.fill_diagonal(K, kept)
        else:
            np.einsum("ii->i", K)[...] += self.variance

    def _cross(self, X: Array, Z: Array) -> Array:
        return np.zeros((len(X), len(Z)))

    def _diagonal(self, X: Array) -> Array:
        return np.full(len(X), self.variance)

    def _pullback(self, X: Array, W: Array) -> Array:
        return np.array([np.trace(W)])

    def _pullback_cross(self, X: Array, Z: Array, W: Array) -> Array:
        return np.zeros(1)

    def _pullback_diagonal(self, X: Array, w: Array) -> Array:
        return np.array([w.sum()])

    def _pullback_inputs(self, X: Array, W: Array) -> Array:
        return np.zeros_like(X)

    def _spectrum(self, center: Array) -> list[Term]:
        raise ValueError(
            f"functions of a kernel with {self!r} can't be drawn everywhere: noise belongs to observations, not to "
            "points; use the model's noise instead, or draw values at given points with sample(X)"
        )

    def state_space(self) -> MarkovForm:
        raise NotImplementedError(
            f'{self!r} has no state-space form; use the model\'s noise instead: noise="learn", or for known variances '
            "noise=gp.Gaussian(yerr**2, additional=True)"
        )

    def __repr__(self) -> str:
        return f"White({self.variance:.6g})"


class Categorical(Kernel):
    """variance · Π_d (1 if x_d = x′_d else correlation): for columns of category codes.

    Examples
    --------
    >>> from credo.kernels import Categorical
    >>> Categorical(correlation=0.25).gram([[0], [1], [1]])
    array([[1.  , 0.25, 0.25],
           [0.25, 1.  , 1.  ],
           [0.25, 1.  , 1.  ]])
    """

    def __init__(self, correlation: float = 0.5, *, variance: float = 1.0) -> None:
        self.tree = ParameterTree(
            {"correlation": Parameter(correlation, bijector=Interval(0.0, 1.0)), "variance": Parameter(variance)}
        )

    def _different(self, X: Array, Z: Array) -> NDArray[np.int64]:
        """In how many columns two rows differ."""
        different = np.zeros((len(X), len(Z)), dtype=np.int64)
        for x, z in zip(X.T, Z.T, strict=True):
            different += x[:, None] != z[None, :]
        return different

    def _values(self, different: NDArray[np.int64]) -> Array:
        return float(self.params["variance"]) * np.power(float(self.params["correlation"]), different, dtype=np.float64)

    def _fill(self, X: Array, K: Array, mode: int) -> None:
        combine(K, self._values(self._different(X, X)), mode)

    def _cross(self, X: Array, Z: Array) -> Array:
        return self._values(self._different(X, Z))

    def _diagonal(self, X: Array) -> Array:
        return np.full(len(X), float(self.params["variance"]))

    def _pullback_cross(self, X: Array, Z: Array, W: Array) -> Array:
        different = self._different(X, Z)
        weighted = W * self._values(different)
        by_correlation = float(np.sum(weighted * different)) / float(self.params["correlation"])
        return np.array([by_correlation, float(weighted.sum()) / float(self.params["variance"])])

    def _pullback_diagonal(self, X: Array, w: Array) -> Array:
        return np.array([0.0, w.sum()])

    def _pullback_inputs(self, X: Array, W: Array) -> Array:
        return np.zeros_like(X)

    def _spectrum(self, center: Array) -> list[Term]:
        distribution = codes(float(self.params["correlation"]))
        return [
            Term(
                float(self.params["variance"]),
                tuple(Waves(partial(_code, d), distribution) for d in range(len(center))),
            )
        ]

    def __repr__(self) -> str:
        correlation, variance = (float(self.params[name]) for name in ("correlation", "variance"))
        return f"Categorical(correlation={correlation:.6g}, variance={variance:.6g})"


def _code(column: int, X: Array) -> Array:
    """An integer for each category: its code, or a hash of a code that isn't an integer."""
    # Adding zero gives −0 and 0 the same bits.
    values = X[:, column, None] + 0.0
    scrambled = (values.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
    return np.where(values == np.rint(values), values, scrambled)


class Linear(Kernel):
    """Σ_d variance_d (x_d − c_d)(x′_d − c_d)/s_d²: linear functions that are zero at c.

    Equivalent to `BayesianLinearRegression` with prior precision 1/variance and no intercept, of the columns (x − c)/s.

    Parameters
    ----------
    variance : float or array, default 1.0
        For all columns, or of each.
    center : float or array, default 0.0
        c, which isn't learned. A product ``Linear(center=c) * k`` has functions whose amplitude grows with the distance
        from c.
    scale : float or array, default 1.0
        s, which isn't learned: with the standard deviations of the columns, one variance is for standardized columns.

    Examples
    --------
    >>> from credo.kernels import Linear
    >>> Linear(variance=2.0).gram([[1.0], [3.0]])
    array([[ 2.,  6.],
           [ 6., 18.]])
    """

    _vectors_allowed = ("variance",)
    _fields = ("center", "scale", "tree")

    def __init__(
        self, variance: float | ArrayLike = 1.0, *, center: float | ArrayLike = 0.0, scale: float | ArrayLike = 1.0
    ) -> None:
        self.center, self.scale = _constants("center", center), _constants("scale", scale)
        if np.min(self.scale) <= 0:
            raise ValueError(f"scale must be above zero; got {scale!r}")
        self.tree = ParameterTree({"variance": Parameter(variance)})

    def _check_fields(self) -> None:
        super()._check_fields()
        # Files may contain arrays.
        fresh = Linear(center=self.center, scale=self.scale)
        self.center, self.scale = fresh.center, fresh.scale

    def _centered(self, X: Array) -> Array:
        """(x − c)/s."""
        for name, value in (("variances", self.params["variance"]), ("centers", self.center), ("scales", self.scale)):
            if np.ndim(value) and np.size(value) != X.shape[1]:
                raise ValueError(f"the kernel has {np.size(value)} {name}, but X has {X.shape[1]} columns")
        return (X - np.asarray(self.center)) / np.asarray(self.scale)

    def _root(self, X: Array) -> Array:
        return self._centered(X) * np.sqrt(self.params["variance"])

    def _default_priors(self, spread: Array) -> Array:
        # All columns together have the variance of the standardized targets.
        by_column = (spread / np.asarray(self.scale)) ** 2
        variance = self.params["variance"]
        together = len(spread) * by_column if np.ndim(variance) and len(variance) == len(spread) else by_column.sum()
        priors = super()._default_priors(spread)
        priors[:, 0], priors[:, 1] = -np.log(together), VARIANCE_WIDTH
        return priors

    def _fill(self, X: Array, K: Array, mode: int) -> None:
        root = self._root(X)
        combine(K, root @ root.T, mode)

    def _cross(self, X: Array, Z: Array) -> Array:
        return self._root(X) @ self._root(Z).T

    def _diagonal(self, X: Array) -> Array:
        root = self._root(X)
        return np.einsum("ij,ij->i", root, root)

    def _pullback(self, X: Array, W: Array) -> Array:
        centered = self._centered(X)
        # The triangle i ≤ j of W is the lower one in Fortran's order.
        product = dsymm(1.0, W.T, centered, lower=1) if len(X) else centered
        return self._by_variance(np.einsum("ij,ij->j", centered, product))

    def _pullback_cross(self, X: Array, Z: Array, W: Array) -> Array:
        return self._by_variance(np.einsum("ij,ij->j", self._centered(X), W @ self._centered(Z)))

    def _pullback_diagonal(self, X: Array, w: Array) -> Array:
        return self._by_variance(w @ self._centered(X) ** 2)

    def _blocks(self, X: Array, places: Places, K: Array, mode: int) -> None:
        root = self._root(X)[places]
        a, c = np.tril_indices(places.shape[1])
        combine(K, (root @ root.transpose(0, 2, 1))[:, a, c], mode)

    def _pullback_blocks(self, X: Array, places: Places, W: Array) -> Array:
        a, c = np.tril_indices(places.shape[1])
        weights = np.zeros((len(places), places.shape[1], places.shape[1]))
        weights[:, a, c] = W
        rows = self._centered(X)[places]
        return self._by_variance(np.einsum("ijd,ijd->d", rows, weights @ rows))

    def _by_variance(self, by_column: Array) -> Array:
        return by_column if np.ndim(self.params["variance"]) else by_column.sum(keepdims=True)

    def _pullback_inputs(self, X: Array, W: Array) -> Array:
        return 2.0 * (W @ self._centered(X)) * self.params["variance"] / np.asarray(self.scale)

    def _spectrum(self, center: Array) -> list[Term]:
        return [Term(1.0, maps=(Finite(len(center), self._root),))]

    def state_space(self) -> MarkovForm:
        variance, center, scale = np.ravel(self.params["variance"]), np.ravel(self.center), np.ravel(self.scale)
        if not len(variance) == len(center) == len(scale) == 1:
            return super().state_space()
        factor = float(variance[0] / scale[0] ** 2)
        return MarkovForm((MarkovTerm(factor, np.full(1, 1.0 / scale[0] ** 2), (), (float(center[0]),)),), 1)

    def _key(self) -> Any:
        return self.center, self.scale, self.tree

    def __repr__(self) -> str:
        fixed = [("center", self.center, 0.0), ("scale", self.scale, 1.0)]
        more = [f", {name}={_text(value)}" for name, value, usual in fixed if value != usual]
        return f"Linear(variance={number_text(self.params['variance'])}{''.join(more)})"


def _text(value: float | tuple[float, ...]) -> str:
    return f"<{np.size(value)} columns>" if np.size(value) > 8 else number_text(value)


def _constants(name: str, value: float | ArrayLike) -> float | tuple[float, ...]:
    """A number, or one for each column, as they are kept."""
    given = np.asarray(value, dtype=np.float64)
    if given.ndim > 1 or given.size == 0 or not np.isfinite(given).all():
        raise ValueError(f"{name} must be a finite number, or one for each column; got {value!r}")
    return tuple(map(float, given)) if given.ndim else float(given)


class Polynomial(Kernel):
    """variance · (offset + xᵀx′)^degree: all monomials up to a degree.

    Examples
    --------
    >>> from credo.kernels import Polynomial
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
        if math.comb(len(center) + self.degree, self.degree) > 500:
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
