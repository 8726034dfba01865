"""The representation of one column of times by the states of a stochastic process: exact, in linear time.

`kernels.markov` has the kernels, `markov` the recursions. Given targets with Gaussian noise, the filter gives the
whitened targets and basis, and `FlatMean` the coefficients of the mean. One smoothing pass over the residuals Y − Hb̂
and the orthonormal basis HA^(−½) then gives everything else: the gradient, means and variances, and the parts of C⁻¹
that leave-one-out needs.

Gaussian sites are data of the same filter: q = 1 + τ·(the predicted variance of f), so that a precision may be zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.core.estimator import positive_integer
from credo.core.inference.dense import UNDETERMINED, input_gradient
from credo.core.inference.markov import Chain, Data, Filtered, Smoothed, Timeline, Weights, filtered
from credo.core.inference.paths import Paths, prior_paths
from credo.core.inference.protocols import Basis, FlatMean, Gradient, Representation, no_basis
from credo.core.linalg import NotPositiveDefiniteError
from credo.kernels import Kernel
from credo.kernels.markov import MarkovForm

Array = NDArray[np.float64]

# Limit on the components of a state, whose covariance is stored for some rows at a time.
MAX_STATE_SIZE = 400


class StateSpace(Representation):
    """Rows of one column, in any order, as times of a Markov process: O(n) time and memory.

    For kernels that are such a process: `Exponential`, `Matern32`, `Matern52`, `Periodic`, `ZeroMeanPeriodic`,
    `Cosine`, `Harmonic`, `Linear`, `Constant`, and sums and products of them.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.inference import Dense, StateSpace
    >>> from credo.kernels import Matern32
    >>> X, Y = np.array([[0.0], [1.0], [3.0]]), np.array([[1.0], [0.0], [2.0]])
    >>> for rows in (Dense(X), StateSpace(X)):
    ...     print(round(rows.prior(Matern32()).observe(Y, noise=0.1).log_evidence, 6))
    -5.253592
    -5.253592
    """

    pilot_scale = 10

    def __init__(self, X: Array) -> None:
        if X.shape[1] != 1:
            raise ValueError(
                f'method="state_space" is for a single column, such as a time, and X has {X.shape[1]}; use '
                'method="exact"'
            )
        self.X = np.ascontiguousarray(X)
        self._basis: tuple[Basis, Array] = no_basis, np.empty((len(X), 0))

    def __reduce__(self) -> tuple[type, tuple[Array]]:
        return StateSpace, (self.X,)

    @cached_property
    def order(self) -> NDArray[np.intp] | None:
        """The rows in the order of time; None if they already are."""
        times = self.X[:, 0]
        return None if (times[1:] >= times[:-1]).all() else np.argsort(times, kind="stable")

    @cached_property
    def timeline(self) -> Timeline:
        """The times in order."""
        return Timeline.of(self.sorted(self.X)[:, 0].copy())

    def sorted(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of each row in the order of time."""
        return values if self.order is None else values[self.order]

    def unsorted(self, values: Array) -> Array:
        """Values in the order of time in that of the rows."""
        if self.order is None:
            return values
        out = np.empty_like(values)
        out[self.order] = values
        return out

    def basis(self, basis: Basis) -> Array:
        """The basis at the rows in the order of time; the last result is cached."""
        if self._basis[0] is not basis:
            self._basis = basis, self.sorted(basis(self.X))
        return self._basis[1]

    def search_order(self, rng: np.random.Generator) -> NDArray[np.intp]:
        """Alternately neighbors of earlier rows and random rows: short scales need neighbors, long ones a range."""
        n = len(self.X)
        near = self.sorted(np.arange(n))[np.argsort(np.abs(np.arange(n) - rng.integers(n)), kind="stable")]
        both = np.stack([near, rng.permutation(n)], axis=1).ravel()
        first = np.unique(both, return_index=True)[1]
        return both[np.sort(first)]

    def subset(self, rows: NDArray[np.intp]) -> StateSpace:
        """The same for some of the rows."""
        return StateSpace(self.X[rows])

    def extended(self, rows: Array) -> StateSpace:
        """The same with further rows."""
        return StateSpace(np.vstack([self.X, rows]))

    def prior(self, kernel: Kernel) -> StateSpacePrior:
        """f ~ N(0, K) at the rows."""
        return StateSpacePrior(self, kernel)


@dataclass(frozen=True, eq=False)
class StateSpacePrior:
    """f ~ N(0, K) at the rows of a `StateSpace`."""

    representation: StateSpace
    kernel: Kernel

    @property
    def X(self) -> Array:
        return self.representation.X

    @cached_property
    def form(self) -> MarkovForm:
        """The kernel as a stochastic process; raises a ValueError if it isn't one."""
        try:
            form = self.kernel.state_space()
        except NotImplementedError as error:
            raise ValueError(f'method="state_space": {error}') from None
        if form.size > MAX_STATE_SIZE:
            raise NotPositiveDefiniteError(
                f"{self.kernel!r} has a state of {form.size} components, more than {MAX_STATE_SIZE}; use longer length "
                'scales of periodic kernels, fewer products, or method="exact"'
            )
        return form

    @cached_property
    def chain(self) -> Chain:
        return Chain(self.form, self.representation.timeline)

    def observe(self, Y: Array, noise: Array | float, basis: Basis = no_basis) -> StateSpacePosterior:
        """f given Y = Hb + f + ε with ε ~ N(0, noise) and flat b."""
        return StateSpacePosterior(self, Y, np.broadcast_to(noise, len(Y)), basis)

    def sites(self, precision: Array, location: Array) -> StateSpaceSites:
        """f given one Gaussian site for each row."""
        return StateSpaceSites(self, precision, location)

    def multiply(self, v: Array) -> Array:
        """K v."""
        columns = np.ascontiguousarray(self.representation.sorted(v).reshape(len(v), -1))
        return self.representation.unsorted(self.chain.multiply(columns)).reshape(v.shape)

    def color(self, white: Array) -> Array:
        """L z, for K = LLᵀ; z has the order of the rows in time."""
        root, gains = self._root
        columns = np.ascontiguousarray(white.reshape(len(white), -1))
        return self.representation.unsorted(root.color(columns, gains)).reshape(white.shape)

    def whiten(self, f: Array) -> Array:
        """L⁻¹f."""
        root, _ = self._root
        columns = np.ascontiguousarray(self.representation.sorted(f).reshape(len(f), -1))
        found = filtered(self.chain, Data(columns, root.data.a, root.data.b))
        return found.white.reshape(f.shape)

    @cached_property
    def _root(self) -> tuple[Filtered, Array]:
        """The filter of values without noise, and its gains."""
        root, _ = pivoted(self.chain, np.empty((len(self.X), 0)), np.zeros(len(self.X)))
        return root, root.gains()


# Shares of the prior variance that are added to the noise if a pivot isn't positive.
_JITTERS = (0.0, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)
# With several blocks in a state, a pivot below this share of the prior variance is a rounding error.
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
    """The prior variance of each term, at the first and the last time."""
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
        # The mean functions are affine in x, so a difference over one unit is their derivative.
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
        """The smoother of the residuals Y − Hb̂ and of HA^(−½)."""
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
        """A root of the covariance due to the unknown b: (n_rows, q)."""
        if self._mean.factor is None:
            return np.zeros((len(rows), 0))
        return self.basis(rows) @ self._root - self._smoothed.at(rows[:, 0])[0][:, self.Y.shape[1] :]

    def _solve(self, z: Array) -> Array:
        """C⁻¹z, in the order of time."""
        found = filtered(self.prior.chain, Data(z[:, None], self._filtered.data.a, self._filtered.data.b))
        return found.smooth(np.eye(1), Weights(np.ones(1), 0.0)).at_rows.alpha[:, 0]

    def _unsorted(self, values: Array) -> Array:
        return self.prior.representation.unsorted(values)


@dataclass(frozen=True, eq=False)
class StateSpaceSites:
    """N(f | 0, K) times one Gaussian site for each row; see `SitePosterior` for what the methods give."""

    prior: StateSpacePrior
    precision: Array
    location: Array

    @cached_property
    def alpha(self) -> Array:
        return self._unsorted(self._smoothed.at_rows.alpha[:, 0])

    @cached_property
    def mean(self) -> Array:
        return self._unsorted(self._smoothed.at_rows.mean[:, 0])

    @cached_property
    def variance(self) -> Array:
        prior = self.prior.kernel.diagonal(self.prior.X)
        return np.clip(self._unsorted(self._smoothed.at_rows.variance), 1e-12 * prior, prior)

    @cached_property
    def logdet(self) -> float:
        return self._filtered.logdet

    @property
    def log_evidence(self) -> float:
        return 0.5 * (float(self.location @ self.mean) - self.logdet)

    @property
    def divergence(self) -> float:
        return 0.5 * (float(self.alpha @ self.mean) - float(self.precision @ self.variance) + self.logdet)

    def weights(self, location: Array) -> Array:
        return location - self.precision * self._at_location(location)

    def gradient(self, by_mean: Array | None = None) -> Gradient:
        """With the term sᵀ∂μ, W = ½(aaᵀ + uaᵀ + auᵀ − R) = ½((a + u)(a + u)ᵀ − uuᵀ − R), where u has the location s."""
        smoothed = self._smoothed
        if by_mean is not None:
            Z = np.column_stack([self.location + by_mean, by_mean])
            smoothed = self._filter(Z).smooth(np.eye(2), Weights(np.array([1.0, -1.0]), 1.0))
        return Gradient(smoothed.slopes.by_parameters(self.prior.form)[self.prior.kernel._free()])

    def latent(self, rows: Array) -> tuple[Array, Array]:
        mean, variance = self._smoothed.at(rows[:, 0])
        return mean[:, 0], variance

    def covariance(self, rows: Array, others: Array | None = None) -> Array:
        return self._smoothed.covariance(rows[:, 0], None if others is None else others[:, 0])

    def draw(self, rng: np.random.Generator) -> Array:
        """A draw of the prior minus its mean given that draw with noise (Durbin & Koopman 2002)."""
        f = self.prior.color(rng.standard_normal(len(self.location)))
        noise = np.sqrt(self.precision) * rng.standard_normal(len(f))
        return f - self._at_location(self.precision * f + noise)

    @cached_property
    def _filtered(self) -> Filtered:
        return self._filter(self.location[:, None])

    @cached_property
    def _smoothed(self) -> Smoothed:
        return self._filtered.smooth(np.eye(1), Weights(np.ones(1), 1.0))

    def _filter(self, Z: Array) -> Filtered:
        rows = self.prior.representation
        return filtered(
            self.prior.chain, Data(rows.sorted(Z), rows.sorted(self.precision), self.prior.chain.timeline.ones)
        )

    def _at_location(self, location: Array) -> Array:
        """The mean with another location of the sites."""
        return self._unsorted(
            self._filter(location[:, None]).smooth(np.eye(1), Weights(np.ones(1), 0.0)).at_rows.mean[:, 0]
        )

    def _unsorted(self, values: Array) -> Array:
        return self.prior.representation.unsorted(values)
