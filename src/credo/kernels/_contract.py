"""The base class of kernels: positive semidefinite functions with named parameters."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from credo.estimator import numeric
from credo.kernels import _jit
from credo.kernels._draws import draws
from credo.kernels._jit import SET
from credo.kernels._parametrized import Parametrized
from credo.kernels.spectra import Features, Term, random_features
from credo.linalg import parallel_rows

Array = NDArray[np.float64]

# By how many e-foldings a length scale and a variance may differ from what the data's spread suggests.
LENGTHSCALE_WIDTH, VARIANCE_WIDTH = 2.0, 3.0


class Covariance(Parametrized):
    """A positive semidefinite function k(x, x′) with named parameters.

    A kernel class defines five methods on validated arrays: `_fill` (the triangle of the Gram matrix), `_cross`,
    `_diagonal`, `_pull` (the gradient with respect to its parameters) and `_pull_inputs`, and keeps its parameters in
    `tree`; a sixth, `_spectrum`, makes prior functions available that can be evaluated anywhere. This base class checks
    shapes and mirrors triangles; `Kernel` adds the algebra.
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
    def _pull(self, X: Array, W: Array) -> Array:
        """Σᵢⱼ Wᵢⱼ ∂K/∂θ for every entry of every parameter; W is symmetric and only its triangle i ≤ j is read."""

    @abstractmethod
    def _pull_inputs(self, X: Array, W: Array) -> Array:
        """Σᵢⱼ Wᵢⱼ ∂K/∂X, of X's shape; W is symmetric and given whole."""

    def _habits(self, spread: Array) -> Array:
        """Typical values of each parameter for columns with these spreads, one number for each column.

        Two columns, the logarithm and its standard deviation; NaN and ∞ where nothing is known.
        """
        return np.tile([np.nan, np.inf], (len(self._free()), 1))

    def _spectrum(self, center: Array) -> list[Term]:
        """The kernel as a sum of spectral and finite terms; `center` is a row near which accuracy matters."""
        raise ValueError(
            f"{self!r} has no random features, so its functions can't be drawn everywhere; "
            "use sample(X) to draw their values at given points"
        )

    def _features(self, center: Array, n: int, rng: np.random.Generator) -> Features:
        """About n random features φ with E φ(x)ᵀφ(z) = k(x, z), exact if the kernel has no more than n features."""
        return random_features(self._spectrum(center), n, rng)

    # How tightly the printed form binds: 1 for a sum, 2 for a product, 3 for anything else.
    _binding = 3

    def gram(self, X: ArrayLike) -> Array:
        """The symmetric matrix K with Kᵢⱼ = k(xᵢ, xⱼ)."""
        rows = self._rows(X)
        K = np.empty((len(rows), len(rows)))
        self._fill(rows, K, SET)
        parallel_rows(_jit.mirror, len(rows), K)
        return K

    def cross(self, X: ArrayLike, Z: ArrayLike) -> Array:
        """The matrix k(xᵢ, zⱼ), one row for each row of X."""
        rows, others = self._rows(X), self._rows(Z, name="Z")
        if rows.shape[1] != others.shape[1]:
            raise ValueError(f"X has {rows.shape[1]} columns and Z has {others.shape[1]}; they must be equal")
        return self.gram(rows) if np.array_equal(rows, others) else self._cross(rows, others)

    def diagonal(self, X: ArrayLike) -> Array:
        """k(x, x) for each row, without the rest of the matrix."""
        return self._diagonal(self._rows(X))

    def pullback(self, X: ArrayLike, W: ArrayLike) -> Array:
        """Σᵢⱼ Wᵢⱼ ∂Kᵢⱼ/∂θ for each entry of `names`, in natural units.

        Parameters
        ----------
        X : array of shape (n, n_features)
        W : array of shape (n, n)
            Weights, such as ½(ααᵀ − K⁻¹) for the log evidence; only the symmetric part matters.
        """
        rows, weights = self._rows(X), self._weights(W, X)
        return self._pull(rows, weights)[self._free()]

    def pullback_inputs(self, X: ArrayLike, W: ArrayLike) -> Array:
        """Σᵢⱼ Wᵢⱼ ∂Kᵢⱼ/∂X, an array of the shape of X."""
        rows, weights = self._rows(X), self._weights(W, X)
        return self._pull_inputs(rows, weights)

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

    def _rows(self, X: ArrayLike, name: str = "X") -> Array:
        return np.ascontiguousarray(check_array(numeric(X, name=name), dtype=np.float64, input_name=name))

    @staticmethod
    def _same_columns(X: Array, Z: Array) -> None:
        """Compiled loops read as many columns of the one table as the other has."""
        if X.ndim != 2 or Z.ndim != 2 or X.shape[1] != Z.shape[1]:
            raise ValueError(f"both tables must have the same columns; got arrays of shape {X.shape} and {Z.shape}")

    @staticmethod
    def _square(X: Array, K: Array) -> None:
        """Compiled loops read or write an entry of K for each pair of rows."""
        if X.ndim != 2 or K.shape != (len(X), len(X)):
            raise ValueError(f"a matrix of shape {K.shape} has no entry for each pair of rows of a table {X.shape}")

    def _weights(self, W: ArrayLike, X: ArrayLike) -> Array:
        weights, n = np.asarray(W, dtype=np.float64), len(np.asarray(X))
        if weights.shape != (n, n):
            raise ValueError(f"W must have shape ({n}, {n}), one weight for each pair of rows; got {weights.shape}")
        return 0.5 * (weights + weights.T)

    def _wrapped(self, binding: int) -> str:
        return f"({self!r})" if self._binding < binding else repr(self)
