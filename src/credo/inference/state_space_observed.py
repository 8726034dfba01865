"""Exact conditioning of a process in state-space form on targets with Gaussian noise.

The filter gives the whitened targets and basis, and `flat_mean` the coefficients of the mean. One smoothing pass over
the residuals Y − Hb̂ and the orthonormal basis HA^(−½) then gives everything else: the gradient, means and variances,
and C⁻¹ as far as leave-one-out needs it.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from credo.estimator import positive_integer
from credo.inference.dense_observed import UNDETERMINED, input_gradient
from credo.inference.flat_mean import FlatMean
from credo.inference.markov import Chain, Data, Weights
from credo.inference.markov_passes import Filtered, Smoothed, filtered
from credo.inference.paths import Paths, prior_paths
from credo.inference.protocols import Basis, Gradient
from credo.linalg import NotPositiveDefiniteError

if TYPE_CHECKING:
    from credo.inference.state_space import StateSpacePrior

Array = NDArray[np.float64]

# Shares of the prior variance that are added to the noise where a pivot isn't positive.
_JITTERS = (0.0, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)
# A pivot below this share of the prior variance is a rounding error, where a state has several blocks.
_ROUNDING = 1e-14


def pivoted(chain: Chain, Z: Array, noise: Array) -> tuple[Filtered, float]:
    """The filter of targets with this noise, and the jitter that had to be added to it."""
    prior = float(np.mean(np.sum(_prior_variances(chain), axis=1)))
    least = 0.0 if len(chain.form.terms) == 1 else _ROUNDING * prior
    for share in _JITTERS:
        found = filtered(chain, Data(Z, chain.timeline.ones, noise + share * prior if share else noise))
        if found.q.min() > least:
            return found, share * prior
    raise NotPositiveDefiniteError(
        "the covariance of the rows is not positive definite: the kernel's variance is zero or not finite, or rows "
        "that nearly repeat others have no noise. Use a larger noise variance, or remove such rows"
    )


def _prior_variances(chain: Chain) -> Array:
    """Of each term, at the times between which all others are."""
    ends = chain.timeline.times[[0, -1]]
    return chain.form.observation(ends) ** 2 * [term.variance for term in chain.form.terms]


class StateSpacePosterior:
    """f given targets with Gaussian noise; see `ObservedPosterior` for what the methods give."""

    def __init__(self, prior: StateSpacePrior, Y: Array, noise: Array, basis: Basis) -> None:
        self.prior, self.Y, self.noise, self.basis = prior, Y, noise, basis

    @property
    def mean(self) -> Array:
        return self._unsorted(self._at_rows[0])

    @property
    def variance(self) -> Array:
        return self._unsorted(self._at_rows[1])

    @property
    def jitter(self) -> float:
        return self._factored[1]

    @cached_property
    def log_evidence(self) -> float:
        return self._mean.log_evidence(self._filtered.logdet)

    def gradient(self) -> Gradient:
        found, n_targets = self._smoothed, self.Y.shape[1]
        alpha, inverse = found.at_rows.alpha, found.at_rows.inverse
        by_noise = np.einsum("ij,ij,j->i", alpha, alpha, self._signs) - n_targets * inverse
        free = self.prior.kernel._free()
        return Gradient(found.slopes.by_parameters(self.prior.form)[free], self._unsorted(0.5 * by_noise))

    def by_noise(self) -> Array:
        return self.gradient().by_noise

    def expected(self, rows: Array) -> Array:
        return self.latent(rows)[0]

    def latent(self, rows: Array) -> tuple[Array, Array]:
        return self._moments(*self._smoothed.at(rows[:, 0]), self.basis(rows))

    def covariance(self, rows: Array, others: Array | None = None) -> Array:
        cov = self._smoothed.covariance(rows[:, 0], None if others is None else others[:, 0])
        root = self._uncertainty(rows)
        cov += root @ (root if others is None else self._uncertainty(others)).T
        return cov

    def difference(self, rows: Array, origin: Array) -> tuple[Array, Array]:
        mean, variance = self.latent(np.vstack([rows, origin]))
        shared = self.covariance(rows, origin[None])[:, 0]
        return mean[:-1, 0] - mean[-1, 0], np.maximum(variance[:-1] + variance[-1] - 2 * shared, 0.0)

    def difference_gradient(self, row: Array, origin: Array, *, by_mean: float, by_variance: float) -> Array:
        """As in `DensePosterior`, with C⁻¹k from a pass over all rows."""
        here, other = row[None], origin[None]
        sorted_X = self.prior.representation.timeline.times[:, None]
        kernel = self.prior.kernel
        cross = (kernel.cross(sorted_X, here) - kernel.cross(sorted_X, other))[:, 0]
        solved = self._solve(cross)
        step = self.basis(here)[0] - self.basis(other)[0]
        by_cross = by_mean * self._smoothed.at_rows.alpha[:, 0] - 2 * by_variance * solved
        by_basis = by_mean * self._mean.coefficients[:, 0]
        if self._mean.factor is not None:
            uncertain = self._mean.factor.solve(step - self.prior.representation.basis(self.basis).T @ solved)
            by_cross -= 2 * by_variance * self._solve(self.prior.representation.basis(self.basis) @ uncertain)
            by_basis = by_basis + 2 * by_variance * uncertain
        # The means on offer are affine in x, so that a difference over one unit is their derivative.
        corners = self.basis(np.vstack([row, row + np.eye(len(row))]))
        rows = np.vstack([sorted_X, other])
        slope = input_gradient(kernel, row, rows, np.append(by_cross, -2 * by_variance), by_variance)
        return (corners[1:] - corners[0]) @ by_basis + slope

    def left_out(self) -> tuple[Array, Array]:
        """Rasmussen & Williams 5.10–5.12."""
        found, n_targets = self._smoothed.at_rows, self.Y.shape[1]
        alpha, root = found.alpha[:, :n_targets], found.alpha[:, n_targets:]
        precision = found.inverse - np.einsum("ij,ij->i", root, root)
        determined = precision > UNDETERMINED * found.inverse
        variance = np.where(determined, 1.0 / np.where(determined, precision, 1.0), np.inf)
        with np.errstate(invalid="ignore"):
            return self.Y - self._unsorted(alpha * variance[:, None]), self._unsorted(variance)

    def extended(self, rows: Array, Y: Array, noise: Array) -> StateSpacePosterior:
        prior = self.prior.representation.extended(rows).prior(self.prior.kernel)
        return StateSpacePosterior(prior, np.vstack([self.Y, Y]), np.append(self.noise, noise), self.basis)

    def paths(self, n: int, rng: np.random.Generator, *, n_features: int = 2048) -> Paths:
        """By Matheron's rule; for the first target."""
        positive_integer("n", n)
        positive_integer("n_features", n_features)
        prior = prior_paths(self.prior.kernel, self.prior.X, self.basis, n, n_features, rng)
        errors = np.sqrt(self.noise + self.jitter)[:, None] * rng.standard_normal((len(self.Y), n))
        misfit = StateSpacePosterior(self.prior, self.Y[:, :1] - prior(self.prior.X).T - errors, self.noise, self.basis)
        return prior.corrected(
            self._unsorted(misfit._smoothed.at_rows.alpha[:, :n].copy()), misfit._mean.coefficients.copy()
        )

    @cached_property
    def _factored(self) -> tuple[Filtered, float]:
        rows = self.prior.representation
        Y, H = rows.sorted(self.Y), rows.basis(self.basis)
        return pivoted(self.prior.chain, np.hstack([Y, H]) if H.shape[1] else Y, rows.sorted(self.noise))

    @property
    def _filtered(self) -> Filtered:
        return self._factored[0]

    @cached_property
    def _mean(self) -> FlatMean:
        white, n_targets = self._filtered.white, self.Y.shape[1]
        return FlatMean.of(white[:, :n_targets], white[:, n_targets:])

    @property
    def _signs(self) -> Array:
        """The weight of each column's square in the log evidence: targets have one, the basis one for each target."""
        n_targets = self.Y.shape[1]
        return np.append(np.ones(n_targets), np.full(self._mean.basis.shape[1], float(n_targets)))

    @cached_property
    def _smoothed(self) -> Smoothed:
        """Of the residuals Y − Hb̂ and of HA^(−½)."""
        n_targets, n_coefficients = self.Y.shape[1], self._mean.basis.shape[1]
        transform = np.eye(n_targets + n_coefficients)
        if self._mean.factor is not None:
            transform[n_targets:, :n_targets] = -self._mean.coefficients
            transform[n_targets:, n_targets:] = self._root
        return self._filtered.smooth(transform, Weights(self._signs, float(n_targets)))

    @cached_property
    def _root(self) -> Array:
        """A^(−½), upper triangular."""
        assert self._mean.factor is not None
        return self._mean.factor.half_solve(np.eye(self._mean.basis.shape[1])).T

    @cached_property
    def _at_rows(self) -> tuple[Array, Array]:
        found = self._smoothed.at_rows
        return self._moments(found.mean, found.variance, self.prior.representation.basis(self.basis))

    def _moments(self, mean: Array, variance: Array, H: Array) -> tuple[Array, Array]:
        """E f and var f, from those given b̂ and the basis; the unknown b adds to the variance."""
        n_targets = self.Y.shape[1]
        whole, variance = mean[:, :n_targets] + H @ self._mean.coefficients, np.maximum(variance, 0.0)
        if self._mean.factor is not None:
            root = H @ self._root - mean[:, n_targets:]
            variance = variance + np.einsum("ij,ij->i", root, root)
        return whole, variance

    def _uncertainty(self, rows: Array) -> Array:
        """A root of what the unknown b adds to the covariance: (n_rows, q)."""
        if self._mean.factor is None:
            return np.zeros((len(rows), 0))
        return self.basis(rows) @ self._root - self._smoothed.at(rows[:, 0])[0][:, self.Y.shape[1] :]

    def _solve(self, z: Array) -> Array:
        """C⁻¹z, in the order of time."""
        found = filtered(self.prior.chain, Data(z[:, None], self._filtered.data.a, self._filtered.data.b))
        return found.smooth(np.eye(1), Weights(np.ones(1), 0.0)).at_rows.alpha[:, 0]

    def _unsorted(self, values: Array) -> Array:
        return self.prior.representation.unsorted(values)
