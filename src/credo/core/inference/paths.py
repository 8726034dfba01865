"""Draws from the posterior of a Gaussian process as functions, which can be evaluated anywhere.

Matheron's rule (Wilson et al. 2020, "Efficiently sampling functions from Gaussian process posteriors"): a draw from the
prior becomes a draw from the posterior when its misfit is predicted and added,

    f(x) + k(x, X) C⁻¹(R − Hb) + h(x)ᵀb,    R = y − f(X) − ε,    C = K + Σ,

with f a function of the prior, ε a draw of the noise and b the coefficients of the mean fitted to R. The prior's
function is a sum of random Fourier features of the kernel; what is added is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.core.linalg import one_blas_thread
from credo.kernels import Kernel
from credo.kernels.spectra import Features

Array = NDArray[np.float64]

# Numbers in the largest array that an evaluation makes: 8 MB.
_BLOCK_ENTRIES = 1 << 20


@dataclass(frozen=True, eq=False, repr=False)
class Paths:
    """Functions drawn from a Gaussian process given data; a posterior's `paths` makes them.

    Called with the rows of X, they give an array (n, n_rows): one row for each function. `len` counts them, and
    `paths[i]` selects some of them, again as `Paths`. The functions are fixed: the value at a point doesn't depend on
    the order or the batches in which points are evaluated.

    Examples
    --------
    >>> import numpy as np
    >>> from credo import RBF, GPRegressor
    >>> x = np.linspace(0.0, 3.0, 8)[:, None]
    >>> model = GPRegressor(RBF(1.0), noise=1e-4, hyperparameters="fixed").fit(x, np.sin(2.0 * x[:, 0]))
    >>> paths = model.paths(50, random_state=0)
    >>> paths([[1.0], [9.0]]).std(axis=0).round(1)  # the functions agree where there are data
    array([0. , 0.9])
    >>> len(paths[:2])
    2
    """

    kernel: Kernel
    X: Array
    features: Features
    # The weights of the features, of the kernel at each training row and of the mean's columns: one column per path.
    weights: Array
    alpha: Array
    basis: Callable[[Array], Array]
    coefficients: Array
    center: float = 0.0
    scale: float = 1.0

    def __call__(self, X: ArrayLike) -> Array:
        """The values of every path at the rows of X: shape (n, n_rows)."""
        rows = self.kernel.check_rows(X)
        if rows.shape[1] != self.X.shape[1]:
            raise ValueError(f"X has {rows.shape[1]} columns, but the paths were drawn for {self.X.shape[1]}")
        values = np.empty((len(self), len(rows)))
        step = max(1, _BLOCK_ENTRIES // self._n_terms)
        with one_blas_thread():
            for start in range(0, len(rows), step):
                values[:, start : start + step] = self._values(rows[start : start + step]).T
        return values

    def __len__(self) -> int:
        return self.weights.shape[1]

    def __getitem__(self, index: Any) -> Paths:
        chosen = np.atleast_1d(np.arange(len(self))[index])
        return replace(
            self,
            weights=_frozen(self.weights[:, chosen]),
            alpha=_frozen(self.alpha[:, chosen]),
            coefficients=_frozen(self.coefficients[:, chosen]),
        )

    def __repr__(self) -> str:
        return f"Paths(n={len(self)}, kernel={self.kernel!r})"

    def _values(self, rows: Array) -> Array:
        prior = self.features(rows) @ self.weights
        return self.center + self.scale * (prior + self._learned(rows) + self.basis(rows) @ self.coefficients)

    @property
    def _n_terms(self) -> int:
        """Terms of the sums that give a value."""
        return max(self.features.size, len(self.X))

    def _learned(self, rows: Array) -> Array:
        """The correction of the prior's functions by data, apart from the mean."""
        return self.kernel.cross(rows, self.X) @ self.alpha

    def corrected(self, alpha: Array, coefficients: Array) -> Paths:
        """The same draws of the prior, with another correction by data."""
        return replace(self, alpha=_frozen(alpha), coefficients=_frozen(coefficients))


def prior_paths(kernel: Kernel, X: Array, basis: Callable[[Array], Array], n: int, n_features: int, rng: Any) -> Paths:
    """n functions of the prior as `Paths` that data don't correct yet.

    `n_features` random features, shared by all paths, represent a kernel that has infinitely many. Close to data,
    the correction makes up for their error; far away, a covariance is off by about variance/√n_features or less.
    """
    rows = _frozen(X.copy())
    features = kernel.features(rows.mean(axis=0), n_features, rng)
    weights = _frozen(rng.standard_normal((features.size, n)))
    n_coefficients = basis(rows[:1]).shape[1]
    return Paths(kernel, rows, features, weights, np.zeros((len(rows), n)), basis, np.zeros((n_coefficients, n)))


def _frozen(array: Array) -> Array:
    array.flags.writeable = False
    return array
