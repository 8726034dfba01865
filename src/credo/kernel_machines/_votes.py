"""Votes of all training rows for their classes, regularized by a pseudo-count.

    p(c | x) = (V_c + a π_c) / (Σ V + a),    V_c = g_c Σ wᵢ k(x, xᵢ) over the rows of class c

g_c are the classes' factors and π_c ∝ g_c (n_c + 1) their frequencies by Laplace's rule of succession, never zero.
Everything is relative to the largest weight, in logs: where V underflows, a π decides, and without a the nearest rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from credo.estimator import check_places, check_positive, check_shapes
from credo.kernel_machines._neighbours import Index, Neighbours
from credo.kernel_machines._rows import blocks
from credo.kernels import Kernel

Array = NDArray[np.float64]

# Candidates for the pseudo-count, of which the largest is so many times the typical sum of weights.
_CANDIDATES, _LARGEST = 16, 10.0
# Below it a pseudo-count would underflow.
_LEAST_LOG = -690.0


@dataclass(frozen=True)
class Votes:
    """Training rows whose targets are class indices, and the factor of each class."""

    neighbours: Neighbours
    factors: Array

    def _check_state(self) -> None:
        sizes = check_shapes(self, factors="k")
        check_places(self.neighbours, "target", sizes["k"])
        check_positive(self, "factors", zero=True)

    @property
    def counts(self) -> Array:
        """Observations of each class."""
        counts = np.bincount(self._codes, weights=self.neighbours.weight, minlength=len(self.factors))
        return counts.astype(np.float64)

    @property
    def prior(self) -> Array:
        """π, the probabilities far from all rows."""
        prior = self.factors * (self.counts + 1.0)
        return prior / prior.sum()

    @property
    def _codes(self) -> Index:
        return self.neighbours.target.astype(np.intp)

    def probabilities(self, kernel: Kernel, X: Array, smoothing: float) -> Array:
        """p(c | x) for each row of X."""
        parts = []
        for part in blocks(len(X), len(self.neighbours.rows)):
            shares, mass = self._shares(kernel, X[part])
            voted, smoothed = _parts(mass, _log(smoothing))
            parts.append(voted[:, None] * shares + smoothed[:, None] * self.prior)
        return np.concatenate(parts)

    def left_out(self, kernel: Kernel, place: Index) -> LeftOut:
        """Leave-one-out probabilities of these training rows."""
        codes, share, mass = self._codes[place], np.empty(len(place)), np.empty(len(place))
        for part in blocks(len(place), len(self.neighbours.rows)):
            own = place[part]
            shares, mass[part] = self._shares(kernel, self.neighbours.rows[own], own=own)
            share[part] = shares[np.arange(len(own)), codes[part]]
        gone = np.minimum(self.neighbours.weight[place], 1.0)
        mine = self.factors[codes] * (self.counts[codes] + 1.0 - gone)
        every = (self.factors * (self.counts + 1.0)).sum() - self.factors[codes] * gone
        weight = self.neighbours.weight[place] * self.factors[codes]
        return LeftOut(share, mass, mine / every, weight, float(self.neighbours.weight.sum()))

    def _shares(self, kernel: Kernel, X: Array, *, own: Index | None = None) -> tuple[Array, Array]:
        """V_c / Σ V for each row of X, and ln Σ V."""
        of_rows, mass = self.neighbours.shares(kernel, X, own=own)
        shares = of_rows @ (self._codes[:, None] == np.arange(len(self.factors))) * self.factors
        total = shares.sum(axis=1)
        return shares / total[:, None], mass + np.log(total)


@dataclass(frozen=True)
class LeftOut:
    """Of rows that were left out: their own class's share, ln Σ V and π, and their weights; and the observations."""

    share: Array
    log_mass: Array
    prior: Array
    weight: Array
    n_observations: float

    def log_loss(self, log_smoothing: float) -> float:
        """The mean of −ln p of the rows' own classes."""
        voted, smoothed = _parts(self.log_mass, log_smoothing)
        with np.errstate(divide="ignore"):
            return float(np.average(-np.log(voted * self.share + smoothed * self.prior), weights=self.weight))

    def best(self) -> tuple[float, float]:
        """The ln a of the smallest loss, the largest of equals, and that loss."""
        logs = self._candidates()
        losses = np.array([self.log_loss(log) for log in logs])
        best = int(np.flatnonzero(losses <= losses.min() * (1.0 + 1e-10))[0])
        return float(logs[best]), float(losses[best])

    def _candidates(self) -> Array:
        """ln a, largest first, relative to the median row's sum of weights.

        The smallest is that of the rule of succession: N observations that agree leave 1/(N + 1) for the rest.
        """
        finite = np.flatnonzero(np.isfinite(self.log_mass))
        typical = 0.0
        if len(finite):
            order = finite[np.argsort(self.log_mass[finite], kind="stable")]
            reached = np.cumsum(self.weight[order])
            typical = float(self.log_mass[order][np.searchsorted(reached, 0.5 * reached[-1])])
        ratios = np.geomspace(_LARGEST, 1.0 / (1.0 + self.n_observations), _CANDIDATES)
        return np.maximum(typical + np.log(ratios), _LEAST_LOG)


def _log(smoothing: float) -> float:
    return float(np.log(smoothing)) if smoothing > 0 else -np.inf


def _parts(log_mass: Array, log_smoothing: float) -> tuple[Array, Array]:
    """How much of p comes from the votes, and how much from the pseudo-count."""
    if np.isneginf(log_smoothing):
        return np.ones_like(log_mass), np.zeros_like(log_mass)
    return expit(log_mass - log_smoothing), expit(log_smoothing - log_mass)
