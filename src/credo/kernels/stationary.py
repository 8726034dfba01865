"""Kernels of the scaled distance r, r² = Σ (x_d − x′_d)²/ℓ_d².

A vector length scale is automatic relevance determination (ARD): one length scale for each column, and a column with
a very large length scale has no effect. With `groups`, columns of the same group share a length scale.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.core.fields import Where
from credo.core.linalg import parallel_rows
from credo.core.params import Parameter, ParameterTree
from credo.core.params.tree import number_text
from credo.kernels import _jit
from credo.kernels._jit import SET, TILE, stationary_blocks, stationary_pullback_blocks
from credo.kernels._kernel import Kernel
from credo.kernels.checks import LENGTHSCALE_WIDTH, VARIANCE_WIDTH, Groups, Label, Places
from credo.kernels.markov import MarkovForm, matern_form
from credo.kernels.spectra import SpectralDistribution, Term, Waves, gamma_mixture, normal, student

Array = NDArray[np.float64]


class CompiledKernel(Kernel):
    """variance · c(x, x′), with c(x, x) = 1, in compiled loops over all pairs or over one triangle."""

    @abstractmethod
    def _evaluate(self, X: Array, Z: Array, mode: int, triangle: bool, K: Array) -> None:
        """Set, add to or multiply K by the kernel's values, in all of it or in the triangle i ≤ j."""

    @abstractmethod
    def _sum_derivatives(self, X: Array, Z: Array, W: Array, *, triangle: bool) -> Array:
        """Σ W∘∂k/∂θ, over all pairs or over the triangle i ≤ j."""

    @abstractmethod
    def _arguments(self) -> str:
        """The arguments of the constructor besides the variance, as text."""

    def _fill(self, X: Array, K: Array, mode: int) -> None:
        self._evaluate(X, X, mode, True, K)

    def _cross(self, X: Array, Z: Array) -> Array:
        K = np.empty((len(X), len(Z)))
        self._evaluate(X, Z, SET, False, K)
        return K

    def _diagonal(self, X: Array) -> Array:
        return np.full(len(X), float(self.params["variance"]))

    def _pullback(self, X: Array, W: Array) -> Array:
        return self._sum_derivatives(X, X, W, triangle=True)

    def _pullback_cross(self, X: Array, Z: Array, W: Array) -> Array:
        return self._sum_derivatives(X, Z, W, triangle=False)

    @property
    def _binding(self) -> int:  # type: ignore[override]
        return 3 if self.params["variance"] == 1.0 else 2

    def __repr__(self) -> str:
        variance = self.params["variance"]
        front = "" if variance == 1.0 else f"{variance:.6g} * "
        return f"{front}{type(self).__name__}({self._arguments()})"


class Stationary(CompiledKernel):
    """variance · k(r), the base class of the kernels below.

    Parameters
    ----------
    lengthscale : float or array, default 1.0
        One number for all columns, one for each column, or one for each group.
    variance : float, default 1.0
    groups : sequence of int or str, optional
        The group of each column. Columns of one group share a length scale. Names are numbered by first appearance.
    """

    _family: ClassVar[int]
    _fields = ("groups", "tree")
    _vectors_allowed = ("lengthscale",)
    groups: Annotated[tuple[Label, ...] | None, Where(Groups.of, "groups of columns")]

    def __init__(
        self,
        lengthscale: float | ArrayLike = 1.0,
        *,
        variance: float = 1.0,
        groups: Sequence[int] | Sequence[str] | None = None,
    ) -> None:
        self.groups = None if groups is None else Groups.of(groups).labels
        if self.groups is not None:
            count = len(Groups(self.groups).names)
            if np.ndim(lengthscale) and len(np.asarray(lengthscale)) != count:
                raise ValueError(f"{count} groups need {count} length scales; got {np.size(lengthscale)}")
            lengthscale = np.full(count, lengthscale, dtype=np.float64)
        self.tree = ParameterTree({"lengthscale": Parameter(lengthscale), "variance": Parameter(variance)})

    @property
    def _shape(self) -> float:
        return 1.0

    def _scaled_columns(self, *tables: Array) -> list[Array]:
        """The columns as rows, centered (for accuracy) and divided by the length scale.

        The last table defines the center: training rows come last, so that no new row affects the accuracy of another.
        """
        scales = self.column_lengthscales(tables[0].shape[1])
        center = tables[-1].mean(axis=0)
        return [np.ascontiguousarray(((table - center) / scales).T) for table in tables]

    def column_lengthscales(self, n_columns: int) -> Array:
        """The length scale of each column."""
        lengthscale = self.params["lengthscale"]
        if self.groups is not None and np.ndim(lengthscale):
            if len(self.groups) != n_columns:
                raise ValueError(f"the kernel has groups for {len(self.groups)} columns, but X has {n_columns} columns")
            grouping = Groups(self.groups)
            if len(lengthscale) != len(grouping.names):
                raise ValueError(f"the kernel has {len(lengthscale)} length scales for {len(grouping.names)} groups")
            return np.asarray(lengthscale)[grouping.places]
        if np.ndim(lengthscale) and len(lengthscale) != n_columns:
            raise ValueError(f"the kernel has {len(lengthscale)} length scales, but X has {n_columns} columns")
        return np.full(n_columns, lengthscale, dtype=np.float64)

    def column_scales(self, n_columns: int) -> Array:
        return self.column_lengthscales(n_columns)

    def column_groups(self) -> dict[str, Groups]:
        shared = self.groups is not None and np.ndim(self.params["lengthscale"])
        return {"lengthscale": Groups(self.groups)} if shared and self.groups else {}

    def _tiles(self, *tables: Array) -> list[Array]:
        return [tiles(columns) for columns in self._scaled_columns(*tables)]

    def _evaluate(self, X: Array, Z: Array, mode: int, triangle: bool, K: Array) -> None:
        settings = self._family, self._shape, float(self.params["variance"]), mode, triangle
        parallel_rows(_jit.stationary_fill, len(X), *self._tiles(X, Z), *settings, K)

    def _pullback_diagonal(self, X: Array, w: Array) -> Array:
        zeros = np.zeros(np.size(self.params["lengthscale"]))
        return np.concatenate([zeros, [w.sum()], self._by_shape(0.0)])

    def _blocks(self, X: Array, places: Places, K: Array, mode: int) -> None:
        settings = self._family, self._shape, float(self.params["variance"]), mode
        parallel_rows(stationary_blocks, len(places), self._scaled_rows(X), places, *settings, K)

    def _pullback_blocks(self, X: Array, places: Places, W: Array) -> Array:
        arguments = self._scaled_rows(X), places, self._family, self._shape, W
        parts = parallel_rows(stationary_pullback_blocks, len(places), *arguments)
        return self._by_parameters(np.sum(parts, axis=0), X.shape[1])

    def _scaled_rows(self, X: Array) -> Array:
        return np.ascontiguousarray(self._scaled_columns(X)[0].T)

    def _sum_derivatives(self, X: Array, Z: Array, W: Array, *, triangle: bool) -> Array:
        settings = self._family, self._shape, triangle
        sums = np.sum(parallel_rows(_jit.stationary_pullback, len(X), *self._tiles(X, Z), *settings, W), axis=0)
        return self._by_parameters(sums, X.shape[1])

    def _by_parameters(self, sums: Array, n_columns: int) -> Array:
        """The derivatives by all parameters, from what the compiled loops sum up."""
        variance = float(self.params["variance"])
        # ∂r²/∂ℓ_d = −2 (z_d − z′_d)²/ℓ_d, with z = x/ℓ; columns that share ℓ add up.
        by_scale = -2.0 * variance * sums[2:] / self.column_lengthscales(n_columns)
        if not np.ndim(self.params["lengthscale"]):
            by_scale = by_scale.sum(keepdims=True)
        elif self.groups is not None:
            by_scale = Groups(self.groups).sums(by_scale)
        return np.concatenate([by_scale, [sums[0]], self._by_shape(variance * sums[1])])

    def _by_shape(self, derivative: float) -> Array:
        return np.empty(0)

    def _default_priors(self, spread: Array) -> Array:
        lengthscale = self.params["lengthscale"]
        if self.groups is not None and np.ndim(lengthscale):
            # The columns of a group are the coordinates of one input, whose variances add up.
            spread = np.sqrt(Groups(self.groups).sums(spread**2))
        # The distance between two rows grows with the square root of the number of inputs.
        reach = math.sqrt(len(spread)) * spread
        priors = super()._default_priors(spread)
        n_scales = np.size(lengthscale)
        priors[:n_scales, 0] = np.log(reach if np.ndim(lengthscale) and n_scales == len(spread) else reach.mean())
        priors[:n_scales, 1] = LENGTHSCALE_WIDTH
        priors[n_scales] = 0.0, VARIANCE_WIDTH
        return priors

    def _pullback_inputs(self, X: Array, W: Array) -> Array:
        (Z,) = self._tiles(X)
        out = np.zeros_like(X)
        parallel_rows(_jit.stationary_pullback_inputs, len(X), Z, self._family, self._shape, W, out)
        return float(self.params["variance"]) * out / self.column_lengthscales(X.shape[1])

    def _spectrum(self, center: Array) -> list[Term]:
        waves = Waves(partial(self._placed, center), self._spectral_distribution(len(center)))
        return [Term(float(self.params["variance"]), (waves,))]

    def _placed(self, center: Array, X: Array) -> Array:
        """Rows relative to the center, divided by the length scale."""
        return self._scaled_columns(X, center[None, :])[0].T

    @abstractmethod
    def _spectral_distribution(self, n_columns: int) -> SpectralDistribution:
        """The distribution of the frequencies whose characteristic function is k(r)."""

    def _markov(self, order: int) -> MarkovForm:
        """The state-space form of a kernel of the Matérn family."""
        lengthscale, variance = np.ravel(self.params["lengthscale"]), float(self.params["variance"])
        return super().state_space() if len(lengthscale) != 1 else matern_form(order, float(lengthscale[0]), variance)

    def _key(self) -> Any:
        return self.groups, self.tree

    def _arguments(self) -> str:
        text = f"lengthscale={number_text(self.params['lengthscale'])}"
        if self.groups is None:
            return text
        few = len(self.groups) <= 8
        return f"{text}, groups={list(self.groups) if few else f'<{len(self.groups)} columns>'}"


class RBF(Stationary):
    """variance · exp(−r²/2): very smooth functions.

    The textbook's a·exp(−‖x − x′‖²/b) has a = variance and b = 2·lengthscale².

    Examples
    --------
    >>> from credo.kernels import RBF
    >>> RBF(lengthscale=2.0).gram([[0.0], [2.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    >>> 1.3 * RBF(lengthscale=[0.2, 14])
    1.3 * RBF(lengthscale=[0.2, 14])
    >>> RBF(lengthscale=[0.5, 2.0], groups=["dose", "soil", "soil"]).names
    ['lengthscale[0]', 'lengthscale[1]', 'variance']
    """

    _family = _jit.RBF

    def _spectral_distribution(self, n_columns: int) -> SpectralDistribution:
        return normal(n_columns)


class Exponential(Stationary):
    """variance · exp(−r): continuous, rough functions; in one dimension the Ornstein–Uhlenbeck process.

    Examples
    --------
    >>> from credo.kernels import Exponential
    >>> Exponential(lengthscale=2.0).cross([[0.0]], [[0.0], [2.0], [4.0]]).round(3)
    array([[1.   , 0.368, 0.135]])
    """

    _family = _jit.EXPONENTIAL

    def _spectral_distribution(self, n_columns: int) -> SpectralDistribution:
        return student(n_columns, 1.0)

    def state_space(self) -> MarkovForm:
        return self._markov(1)


class Matern32(Stationary):
    """variance · (1 + √3 r) exp(−√3 r): functions that can be differentiated once (Rasmussen & Williams 4.17).

    Examples
    --------
    >>> from credo.kernels import Matern32
    >>> Matern32(lengthscale=2.0).cross([[0.0]], [[0.0], [2.0], [4.0]]).round(3)
    array([[1.   , 0.483, 0.14 ]])
    """

    _family = _jit.MATERN32

    def _spectral_distribution(self, n_columns: int) -> SpectralDistribution:
        return student(n_columns, 3.0)

    def state_space(self) -> MarkovForm:
        return self._markov(2)


class Matern52(Stationary):
    """variance · (1 + √5 r + 5r²/3) exp(−√5 r): functions that can be differentiated twice.

    Examples
    --------
    >>> from credo.kernels import Matern52
    >>> Matern52(lengthscale=2.0).cross([[0.0]], [[0.0], [2.0], [4.0]]).round(3)
    array([[1.   , 0.524, 0.139]])
    >>> Matern52(lengthscale=[1.0, 5.0], variance=2.0)
    2 * Matern52(lengthscale=[1, 5])
    """

    _family = _jit.MATERN52

    def _spectral_distribution(self, n_columns: int) -> SpectralDistribution:
        return student(n_columns, 5.0)

    def state_space(self) -> MarkovForm:
        return self._markov(3)


class RationalQuadratic(Stationary):
    """variance · (1 + r²/2a)^(−a): a mixture of RBFs of many length scales (Rasmussen & Williams 4.19).

    `shape` is a; the kernel tends to the RBF as it grows.

    Examples
    --------
    >>> from credo.kernels import RBF, RationalQuadratic
    >>> RationalQuadratic(1.0, shape=0.5).cross([[0.0]], [[1.0], [5.0]]).round(3)  # decays slowly
    array([[0.707, 0.196]])
    >>> RBF(1.0).cross([[0.0]], [[1.0], [5.0]]).round(3)
    array([[0.607, 0.   ]])
    """

    _family = _jit.RATIONAL_QUADRATIC

    def __init__(
        self,
        lengthscale: float | ArrayLike = 1.0,
        *,
        variance: float = 1.0,
        shape: float = 1.0,
        groups: Sequence[int] | Sequence[str] | None = None,
    ) -> None:
        super().__init__(lengthscale, variance=variance, groups=groups)
        self.tree = ParameterTree({**self.tree, "shape": Parameter(shape)})

    @property
    def _shape(self) -> float:
        return float(self.params["shape"])

    def _spectral_distribution(self, n_columns: int) -> SpectralDistribution:
        return gamma_mixture(n_columns, self._shape)

    def _by_shape(self, derivative: float) -> Array:
        return np.array([derivative])

    def _arguments(self) -> str:
        return f"{super()._arguments()}, shape={self._shape:.6g}"


def tiles(columns: Array) -> Array:
    """Columns (n_columns, n) as an array (n_tiles, n_columns, TILE) padded with zeros, for compiled loops."""
    n_columns, n = columns.shape
    n_tiles = -(-n // TILE)
    padded = np.zeros((n_columns, n_tiles * TILE))
    padded[:, :n] = columns
    return np.ascontiguousarray(padded.reshape(n_columns, n_tiles, TILE).transpose(1, 0, 2))
