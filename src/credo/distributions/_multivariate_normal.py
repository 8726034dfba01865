"""The multivariate normal distribution."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh, qr

from credo.core.linalg import EPS, Factor, NotPositiveDefiniteError, factorize
from credo.core.seeds import generator
from credo.distributions import distribution as valid
from credo.distributions.distribution import Array, Immutable


class MultivariateNormal(Immutable):
    """x ~ N(mean, cov), joint over its coordinates.

    The covariance may be singular: then x is in a subspace, and `log_prob` is the log density with respect to volume on
    it, −∞ elsewhere. Whether the covariance is positive semidefinite is checked when it is first factored. Variances
    from a conditional or an affine map that are of the size of rounding errors are set to zero.

    Parameters
    ----------
    mean : array of shape (n,), or a number for all coordinates
    cov : array of shape (n, n), symmetric positive semidefinite

    Examples
    --------
    >>> from credo.distributions import MultivariateNormal
    >>> x = MultivariateNormal([0.0, 0.0], [[1.0, 0.8], [0.8, 1.0]])
    >>> x.condition(1, 2.0)
    MultivariateNormal(mean=[1.6], std=[0.6])
    >>> x.affine([[1.0, 1.0]]).var
    array([3.6])
    >>> (x + x).cov
    array([[2. , 1.6],
           [1.6, 2. ]])
    """

    mean: Array
    cov: Array

    def __init__(self, mean: ArrayLike, cov: ArrayLike) -> None:
        matrix = np.atleast_2d(valid.numbers("cov", cov))
        n = matrix.shape[0]
        if matrix.shape != (n, n) or n == 0:
            raise ValueError(f"cov must be a square matrix of at least one row; got shape {np.shape(cov)}")
        center = np.atleast_1d(valid.numbers("mean", mean))
        if center.shape not in {(n,), (1,)}:
            raise ValueError(f"mean has the shape {center.shape}, but cov is {n}×{n}")
        valid.reject(np.isinf(center), center, "mean must be finite")
        valid.reject(np.isinf(matrix), matrix, "cov must be finite")
        variances = np.diagonal(matrix)
        valid.reject(variances < 0, variances, "the diagonal of cov must not be negative")
        bound = 1e-8 * np.sqrt(variances)[:, None] * np.sqrt(variances)
        valid.reject(np.abs(matrix - matrix.T) > bound, matrix, "cov must be symmetric")
        vars(self).update(mean=valid.frozen(np.broadcast_to(center, n)), cov=valid.frozen(matrix / 2 + matrix.T / 2))

    @property
    def var(self) -> Array:
        """The variance of each coordinate."""
        return np.diagonal(self.cov)

    @property
    def std(self) -> Array:
        """The standard deviation of each coordinate."""
        return np.sqrt(self.var)

    def __len__(self) -> int:
        return self.mean.size

    def __repr__(self) -> str:
        return f"MultivariateNormal(mean={valid.text(self.mean)}, std={valid.text(self.std)})"

    def __add__(self, other: object) -> Self:
        """The distribution of the sum of two independent vectors (a + a adds two copies of a)."""
        if not isinstance(other, MultivariateNormal):
            return NotImplemented
        if len(other) != len(self):
            raise ValueError(f"can't add vectors of {len(self)} and {len(other)} coordinates")
        return type(self)(self.mean + other.mean, self.cov + other.cov)

    def marginal(self, indices: Any) -> Self:
        """The distribution of some coordinates, in the given order: an int, a slice, a mask or indices."""
        chosen = self._chosen(indices)
        return type(self)(self.mean[chosen], self.cov[np.ix_(chosen, chosen)])

    def condition(self, indices: Any, values: ArrayLike) -> Self:
        """The distribution of the other coordinates, given that those at `indices` have the values.

        Parameters
        ----------
        indices : int, slice, mask or indices
            Which coordinates are known; at least one must remain.
        values : number or array
            Their values, in the order of the indices. If the covariance is singular, the values must be possible under
            it.
        """
        known = self._chosen(indices)
        if np.unique(known).size < known.size:
            raise ValueError(f"indices must not repeat; got {known.tolist()}")
        rest = np.setdiff1d(np.arange(len(self)), known)
        if rest.size == 0:
            raise ValueError("all coordinates are given; at least one must remain")
        given = np.atleast_1d(valid.numbers("values", values))
        if given.shape not in {known.shape, (1,)}:
            raise ValueError(f"values must have the shape {known.shape}, as indices have; got {given.shape}")
        if known.size == 0:
            return self.marginal(rest)
        valid.reject(np.isinf(given), given, "values must be finite")
        # Bishop 2.81 and 2.82.
        deviation = np.broadcast_to(given, known.shape) - self.mean[known]
        cross, prior = self.cov[np.ix_(known, rest)], self.cov[np.ix_(rest, rest)]
        gain, explained = self.marginal(known)._regress(cross, deviation)
        return self._rounded(self.mean[rest] + gain, prior - explained, np.diagonal(prior))

    def affine(self, A: ArrayLike, b: ArrayLike = 0.0) -> Self:
        """The distribution of A x + b.

        Parameters
        ----------
        A : array of shape (k, n), or (n,) for a single combination
        b : number or array of shape (k,), default 0.0
        """
        matrix = np.atleast_2d(valid.numbers("A", A))
        if matrix.ndim != 2 or matrix.shape[1] != len(self):
            raise ValueError(f"A must have the shape (k, {len(self)}); got {np.shape(A)}")
        shift = np.atleast_1d(valid.numbers("b", b))
        if shift.shape not in {(len(matrix),), (1,)}:
            raise ValueError(f"b must have the shape ({len(matrix)},), as A has rows; got {shift.shape}")
        mean, cov = matrix @ self.mean + shift, matrix @ self.cov @ matrix.T
        return self._rounded(mean, cov, np.square(np.abs(matrix) @ self.std))

    def sample(
        self, n: int = 1, *, random_state: Any = None, method: Literal["cholesky", "eigh"] = "cholesky"
    ) -> Array:
        """Random draws, of shape (n, number of coordinates).

        Parameters
        ----------
        n : int, default 1
        random_state : None, int, numpy Generator or RandomState
        method : {"cholesky", "eigh"}, default "cholesky"
            The root of the covariance. Cholesky is faster; a singular matrix has no Cholesky factor, and its
            eigenvectors are used in either case.
        """
        if method not in ("cholesky", "eigh"):
            raise ValueError(f'method must be "cholesky" or "eigh"; got {method!r}')
        factor = self._factor if method == "cholesky" else None
        root = self._support.root if factor is None else factor.L
        noise = generator(random_state).standard_normal((valid.count("n", n), root.shape[1]))
        return self.mean + noise @ root.T

    def log_prob(self, x: ArrayLike) -> Any:
        """The log density at a vector of shape (n,), or at each row of an (m, n) array."""
        points = valid.numbers("x", x)
        if points.ndim not in (1, 2) or points.shape[-1] != len(self):
            raise ValueError(f"x must have the shape ({len(self)},) or (m, {len(self)}); got {points.shape}")
        valid.reject(np.isinf(points), points, "x must be finite")
        deviation, factor = np.atleast_2d(points) - self.mean, self._factor
        if factor is None:
            density = self._support.log_density(deviation)
        else:
            z = factor.half_solve(deviation.T)
            density = -0.5 * ((z * z).sum(axis=0) + factor.logdet + len(self) * np.log(2 * np.pi))
        return density if points.ndim == 2 else density[0]

    def _regress(self, cross: Array, deviation: Array) -> tuple[Array, Array]:
        """crossᵀ C⁻¹ deviation and crossᵀ C⁻¹ cross, where `cross` is the covariance with the others."""
        factor = self._factor
        if factor is not None:
            half = factor.half_solve(cross)
            return half.T @ factor.half_solve(deviation), half.T @ half
        base = self._support
        if not base.holds(deviation[None])[0]:
            raise ValueError(
                "these values are impossible: cov is singular, and they violate its linear constraints; "
                "pass values that satisfy them, or add a noise variance to cov"
            )
        return cross.T @ base.solve(deviation), cross.T @ base.solve(cross)

    def _rounded(self, mean: Array, cov: Array, origin: Array) -> Self:
        """A distribution from a computed covariance, whose entries have the rounding errors of `origin`."""
        cov = cov / 2 + cov.T / 2
        lost = np.diagonal(cov) <= 10 * (len(self) + 1) * EPS * origin
        cov[lost] = cov[:, lost] = 0.0
        return type(self)(mean, cov)

    @cached_property
    def _factor(self) -> Factor | None:
        """The Cholesky factor, or None if the covariance is singular."""
        return _regular_factor(self.cov)

    @cached_property
    def _support(self) -> _Support:
        return _support(self.cov)

    def _chosen(self, indices: Any) -> NDArray[np.intp]:
        try:
            return np.atleast_1d(np.arange(len(self))[indices])
        except IndexError as error:
            raise IndexError(f"indices don't match {len(self)} coordinates: {error}") from None


def _regular_factor(cov: Array) -> Factor | None:
    """The Cholesky factor of a covariance, None if it is singular up to rounding."""
    try:
        factor = factorize(cov, jitter=0.0, assume_symmetric=True)
    except NotPositiveDefiniteError:
        return None
    # Some singular matrices pass because of rounding. Two steps of inverse iteration find such a small eigenvalue.
    std, size = np.sqrt(np.diagonal(cov)), 1.0
    vector = np.random.default_rng(0).standard_normal(len(cov))
    for _ in range(2):
        vector = std * factor.solve(std * vector / np.linalg.norm(vector))
        size = float(np.linalg.norm(vector))
    largest = np.abs(cov / std / std[:, None]).sum(axis=0).max(initial=0.0)
    return factor if 1 / size > 100 * len(cov) * EPS * largest else None


@dataclass(frozen=True, eq=False)
class _Support:
    """The subspace that supports a normal distribution with covariance C, from the eigenvectors of the correlations.

    Correlations, not covariances, so that the units don't decide what is singular. C = S V W Vᵀ S, where S contains the
    standard deviations (one if they are zero), and V the r eigenvectors whose eigenvalues W exceed rounding errors.
    """

    scale: Array
    eigenvectors: Array
    eigenvalues: Array

    @property
    def root(self) -> Array:
        """R of shape (n, r) with R Rᵀ = C."""
        return self.scale[:, None] * self.eigenvectors * np.sqrt(self.eigenvalues)

    def solve(self, b: Array) -> Array:
        """C⁻b with a generalized inverse C⁻ of C, for a vector or the columns of a matrix on the support."""
        scaled = self.eigenvectors.T @ (b.T / self.scale).T
        return ((self.eigenvectors @ (scaled.T / self.eigenvalues).T).T / self.scale).T

    def holds(self, d: Array) -> NDArray[np.bool_]:
        """Which rows of d, deviations from the mean, are on the support."""
        u = d / self.scale
        off = np.abs(u - (u @ self.eigenvectors) @ self.eigenvectors.T).max(axis=-1, initial=0.0)
        # In standard deviations of a coordinate.
        return off <= 1e-6 * np.maximum(1.0, np.abs(u).max(axis=-1, initial=0.0))

    def log_density(self, d: Array) -> Array:
        """The log density of the rows of d with respect to volume on the support; −∞ off it."""
        z = (d / self.scale) @ self.eigenvectors / np.sqrt(self.eigenvalues)
        # The squared volume of the root, det(RᵀR), is the product of C's positive eigenvalues.
        log_volume = np.log(np.abs(np.diagonal(qr(self.root, mode="economic")[1]))).sum()
        density = -0.5 * (z * z).sum(axis=-1) - log_volume - 0.5 * z.shape[-1] * np.log(2 * np.pi)
        return np.where(self.holds(d), density, -np.inf)


def _support(cov: Array) -> _Support:
    """The support of a covariance; raises an error if the matrix has a negative eigenvalue."""
    std = np.sqrt(np.diagonal(cov))
    scale = np.where(std > 0, std, 1.0)
    eigenvalues, eigenvectors = eigh(cov / scale[:, None] / scale)
    if eigenvalues[0] < -1e-6:
        raise ValueError(
            "cov is not positive semidefinite: its correlations have the eigenvalue "
            f"{eigenvalues[0]:.3g}; no distribution has this covariance"
        )
    kept = eigenvalues > 10 * len(cov) * EPS * max(1.0, eigenvalues[-1])
    return _Support(scale, eigenvectors[:, kept], eigenvalues[kept])
