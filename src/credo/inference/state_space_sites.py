"""A process in state-space form times one Gaussian site for each row.

The sites are data of the same filter: q = 1 + τ·(the predicted variance of f), so that a precision may be zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from credo.inference.markov import Data, Weights
from credo.inference.markov_passes import Filtered, Smoothed, filtered
from credo.inference.protocols import Gradient

if TYPE_CHECKING:
    from credo.inference.state_space import StateSpacePrior

Array = NDArray[np.float64]


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
