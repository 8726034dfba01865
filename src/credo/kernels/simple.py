"""White noise, and a kernel for category codes."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from credo.kernels._jit import MULTIPLY, SET
from credo.kernels._kernel import Kernel
from credo.kernels._triangles import combine
from credo.kernels.markov import MarkovForm
from credo.kernels.spectra import Term, Waves
from credo.kernels.spectra.distributions import codes
from credo.params import Interval, Parameter, ParameterTree

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
            "noise=yerr**2 with learn_additional_noise=True"
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
    # Adding zero makes −0 and 0, which are equal, of equal bits.
    values = X[:, column, None] + 0.0
    scrambled = (values.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
    return np.where(values == np.rint(values), values, scrambled)
