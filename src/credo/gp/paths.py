"""Draws from the posterior of a Gaussian process as functions, which can be evaluated anywhere.

Matheron's rule (Wilson et al. 2020, "Efficiently sampling functions from Gaussian process posteriors"): a draw from the
prior becomes a draw from the posterior when its misfit is predicted and added,

    f(x) + k(x, X) C⁻¹(R − Hb) + h(x)ᵀb,    R = y − f(X) − ε,    C = K + Σ,

with f a function of the prior, ε noise of the data's kind and b the coefficients of the mean that belong to R. The
prior's function is a sum of waves with the kernel's own frequencies; what is added is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.estimator import positive_integer
from credo.inference import Conditioned
from credo.kernels import Kernel
from credo.kernels.spectra import Features
from credo.linalg import one_blas_thread
from credo.seeds import generator

Array = NDArray[np.float64]

# Numbers in the largest array that an evaluation makes: 8 MB.
_BLOCK = 1 << 20


@dataclass(frozen=True, eq=False, repr=False)
class Paths:
    """Functions drawn from a Gaussian process given data; `draw_paths` makes them.

    Called with the rows of X, they give an array (n, n_rows): one row for each function. `len` counts them, and
    `paths[i]` selects some of them, again as `Paths`. The functions are fixed: the value at a point doesn't depend on
    the order or the batches in which points are evaluated.
    """

    kernel: Kernel
    X: Array
    features: Features
    # The weights of the features, of the kernel at each training row and of the mean's columns, one column for a path.
    weights: Array
    alpha: Array
    basis: Callable[[Array], Array]
    coefficients: Array
    center: float

    def __call__(self, X: ArrayLike) -> Array:
        """The values of every path at the rows of X: shape (n, n_rows)."""
        rows = self.kernel.check_rows(X)
        if rows.shape[1] != self.X.shape[1]:
            raise ValueError(f"X has {rows.shape[1]} columns, but the paths were drawn for {self.X.shape[1]}")
        values = np.empty((len(self), len(rows)))
        step = max(1, _BLOCK // max(self.features.size, len(self.X)))
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
        learned = self.kernel.cross(rows, self.X) @ self.alpha
        return prior + learned + self.basis(rows) @ self.coefficients + self.center


def draw_paths(
    process: Conditioned,
    *,
    kernel: Kernel,
    X: Array,
    y: Array,
    noise: Array,
    basis: Callable[[Array], Array],
    center: float,
    n: int,
    n_features: int = 2048,
    random_state: Any = None,
) -> Paths:
    """n functions from a process given data, to be evaluated anywhere.

    Parameters
    ----------
    process : Conditioned
        Given the rows X and y − center, with the factor of K + Σ.
    kernel : Kernel
    X : array of shape (n_rows, n_features)
    y : array of shape (n_rows,)
    noise : array of shape (n_rows,)
        The variance of each observation's noise, the diagonal of Σ.
    basis : callable
        From rows to the columns H of the mean, whose coefficients have flat priors.
    center : float
        What was taken off y.
    n : int
        How many paths.
    n_features : int, default 2048
        Features that stand for the prior where it takes infinitely many; all paths share them. Close to data, errors
        of the prior are made good by what is added; far away, a covariance is off by about variance/√n_features or
        less.
    random_state : int, Generator or None

    Examples
    --------
    >>> import numpy as np
    >>> from credo.inference import condition
    >>> from credo.kernels import RBF
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 0.0])
    >>> noise = np.full(3, 1e-8)
    >>> process = condition(RBF().gram(X), y[:, None], noise=noise, basis=np.empty((3, 0)))
    >>> paths = draw_paths(
    ...     process, kernel=RBF(), X=X, y=y, noise=noise, basis=lambda rows: np.empty((len(rows), 0)), center=0.0, n=5,
    ...     random_state=0,
    ... )
    >>> paths(X).shape, bool(np.allclose(paths(X), y, atol=1e-3))
    ((5, 3), True)
    """
    positive_integer("n", n)
    positive_integer("n_features", n_features)
    rng = generator(random_state)
    rows = _frozen(kernel.check_rows(X).copy())
    features = kernel.features(rows.mean(axis=0), n_features, rng)
    weights = _frozen(rng.standard_normal((features.size, n)))
    # The factor's jitter is noise like any other.
    errors = np.sqrt(noise + process.factor.jitter)[:, None] * rng.standard_normal((len(rows), n))
    H = basis(rows)
    prior = Paths(kernel, rows, features, weights, np.zeros((len(rows), n)), basis, np.zeros((H.shape[1], n)), center)
    misfit = Conditioned.of(process.factor, y[:, None] - prior(rows).T - errors, H)
    return replace(prior, alpha=_frozen(misfit.alpha), coefficients=_frozen(misfit.coefficients))


def _frozen(array: Array) -> Array:
    array.flags.writeable = False
    return array
