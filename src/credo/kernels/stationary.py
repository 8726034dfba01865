"""Kernels of the scaled distance r, r² = Σ (x_d − x′_d)²/ℓ_d².

A vector length scale is automatic relevance determination: one length scale for each column, and a column whose
length scale grows without end has no say.
"""

import math
from abc import abstractmethod
from functools import partial
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.kernels import _jit
from credo.kernels._contract import LENGTHSCALE_WIDTH, VARIANCE_WIDTH
from credo.kernels._kernel import Kernel
from credo.kernels._parametrized import replanted
from credo.kernels._rows import share, tiles
from credo.kernels.spectra import Term, Waves
from credo.kernels.spectra.laws import Law, gamma_mixture, normal, student
from credo.params import Parameter, ParameterTree
from credo.params._parameter import number_text

Array = NDArray[np.float64]


class Stationary(Kernel):
    """variance · k(r), the base of the kernels below; a member names its family and its k."""

    _family: ClassVar[int]

    def __init__(self, lengthscale: float | ArrayLike = 1.0, *, variance: float = 1.0) -> None:
        self.tree = ParameterTree({"lengthscale": Parameter(lengthscale), "variance": Parameter(variance)})

    @property
    def _shape(self) -> float:
        return 1.0

    def _scaled_columns(self, *tables: Array) -> list[Array]:
        """The columns as rows, centred (so that offsets cost no digits) and in units of the length scale.

        The last table says the centre: training rows come last, and no new row may spoil the digits of another.
        """
        lengthscale = self.params["lengthscale"]
        n_columns = tables[0].shape[1]
        if np.ndim(lengthscale) and len(lengthscale) != n_columns:
            raise ValueError(f"the kernel has {len(lengthscale)} length scales, but X has {n_columns} columns")
        center = tables[-1].mean(axis=0)
        return [np.ascontiguousarray(((table - center) / lengthscale).T) for table in tables]

    def _tiles(self, *tables: Array) -> list[Array]:
        return [tiles(columns) for columns in self._scaled_columns(*tables)]

    def _fill(self, X: Array, K: Array, mode: int) -> None:
        (Z,) = self._tiles(X)
        variance = float(self.params["variance"])
        share(_jit.stationary_triangle, len(X), Z, self._family, self._shape, variance, mode, K)

    def _cross(self, X: Array, Z: Array) -> Array:
        rows, others = self._tiles(X, Z)
        K = np.empty((len(X), len(Z)))
        variance = float(self.params["variance"])
        share(_jit.stationary_rectangle, len(X), rows, others, self._family, self._shape, variance, K)
        return K

    def _diagonal(self, X: Array) -> Array:
        return np.full(len(X), float(self.params["variance"]))

    def _pull(self, X: Array, W: Array) -> Array:
        (Z,) = self._tiles(X)
        sums = np.sum(share(_jit.stationary_pull, len(X), Z, self._family, self._shape, W), axis=0)
        lengthscale, variance = self.params["lengthscale"], float(self.params["variance"])
        # ∂r²/∂ℓ_d = −2 (z_d − z′_d)²/ℓ_d, with z = x/ℓ.
        by_scale = -2.0 * variance * sums[2:] / lengthscale
        if not np.ndim(lengthscale):
            by_scale = by_scale.sum(keepdims=True)
        return np.concatenate([by_scale, [sums[0]], self._pull_shape(variance * sums[1])])

    def _pull_shape(self, bend: float) -> Array:
        return np.empty(0)

    def _habits(self, spread: Array) -> Array:
        # The distance between two rows grows with the square root of the number of columns.
        reach = math.sqrt(len(spread)) * spread
        lengthscale = self.params["lengthscale"]
        habits = super()._habits(spread)
        n_scales = np.size(lengthscale)
        habits[:n_scales, 0] = np.log(reach if np.ndim(lengthscale) and n_scales == len(spread) else reach.mean())
        habits[:n_scales, 1] = LENGTHSCALE_WIDTH
        habits[n_scales] = 0.0, VARIANCE_WIDTH
        return habits

    def _pull_inputs(self, X: Array, W: Array) -> Array:
        (Z,) = self._tiles(X)
        out = np.zeros_like(X)
        share(_jit.stationary_input_pull, len(X), Z, self._family, self._shape, W, out)
        return float(self.params["variance"]) * out / self.params["lengthscale"]

    def _spectrum(self, center: Array) -> list[Term]:
        waves = Waves(partial(self._placed, center), self._law(len(center)))
        return [Term(float(self.params["variance"]), (waves,))]

    def _placed(self, center: Array, X: Array) -> Array:
        """Rows seen from the centre, in units of the length scale."""
        return self._scaled_columns(X, center[None, :])[0].T

    @abstractmethod
    def _law(self, n_columns: int) -> Law:
        """The law of the frequencies whose characteristic function is k(r)."""

    def _with_tree(self, tree: ParameterTree) -> Self:
        return replanted(self, tree)

    @property
    def _binding(self) -> int:  # type: ignore[override]
        return 3 if self.params["variance"] == 1.0 else 2

    def __repr__(self) -> str:
        variance = self.params["variance"]
        front = "" if variance == 1.0 else f"{variance:.6g} * "
        return f"{front}{type(self).__name__}({self._arguments()})"

    def _arguments(self) -> str:
        return f"lengthscale={number_text(self.params['lengthscale'])}"


class RBF(Stationary):
    """variance · exp(−r²/2): very smooth functions.

    The textbook's a·exp(−‖x − x′‖²/b) has a = variance and b = 2·lengthscale².

    Examples
    --------
    >>> RBF(lengthscale=2.0).gram([[0.0], [2.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    >>> 1.3 * RBF(lengthscale=[0.2, 14])
    1.3 * RBF(lengthscale=[0.2, 14])
    """

    _family = _jit.RBF

    def _law(self, n_columns: int) -> Law:
        return normal(n_columns)


class Exponential(Stationary):
    """variance · exp(−r): continuous, rough functions; in one dimension the Ornstein–Uhlenbeck process."""

    _family = _jit.EXPONENTIAL

    def _law(self, n_columns: int) -> Law:
        return student(n_columns, 1.0)


class Matern32(Stationary):
    """variance · (1 + √3 r) exp(−√3 r): functions that can be differentiated once (Rasmussen & Williams 4.17)."""

    _family = _jit.MATERN32

    def _law(self, n_columns: int) -> Law:
        return student(n_columns, 3.0)


class Matern52(Stationary):
    """variance · (1 + √5 r + 5r²/3) exp(−√5 r): functions that can be differentiated twice."""

    _family = _jit.MATERN52

    def _law(self, n_columns: int) -> Law:
        return student(n_columns, 5.0)


class RationalQuadratic(Stationary):
    """variance · (1 + r²/2a)^(−a): a mixture of RBFs of many length scales (Rasmussen & Williams 4.19).

    `shape` is a; the kernel tends to the RBF as it grows.
    """

    _family = _jit.RATIONAL_QUADRATIC

    def __init__(
        self, lengthscale: float | ArrayLike = 1.0, *, variance: float = 1.0, shape: float = 1.0
    ) -> None:  # fmt: skip
        super().__init__(lengthscale, variance=variance)
        self.tree = ParameterTree({**self.tree, "shape": Parameter(shape)})

    @property
    def _shape(self) -> float:
        return float(self.params["shape"])

    def _law(self, n_columns: int) -> Law:
        return gamma_mixture(n_columns, self._shape)

    def _pull_shape(self, bend: float) -> Array:
        return np.array([bend])

    def _arguments(self) -> str:
        return f"{super()._arguments()}, shape={self._shape:.6g}"
