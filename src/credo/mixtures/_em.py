"""EM for mixtures of normal or Student-t components, from several starts.

    E: r_ik ∝ π_k p_k(x_i),  u_ik = (ν_k + d)/(ν_k + q_ik)      M: `Prior.mode`, then ν_k by its own likelihood

The log posterior never decreases (Peel & McLachlan 2000; for ν as in the ECME of Liu & Rubin 1995).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, logsumexp
from scipy.stats import rankdata

from credo.learning.em import Ascent, best_ascent, distant_rows, squared_distances
from credo.mixtures._components import DF_RATE, DF_SHAPE, Components, Prior

Array = NDArray[np.float64]

# Iterations of each start, of which the best is continued; passes of k-means in a start.
_SHORT, _KMEANS = 20, 5
_DF_RANGE, _DF_STEPS = (np.log(0.05), np.log(1e4)), 30
_DF_START = 10.0


@dataclass(frozen=True)
class Fit:
    """Components, their responsibilities and squared distances (n, k), and the log posterior up to a constant."""

    parts: Components
    shares: Array
    q: Array
    value: float


@dataclass(frozen=True)
class Problem:
    """Rows in standardized units with their weights, and the family: `df` is a number, infinite if normal, or None."""

    X: Array
    weight: Array
    n_components: int
    prior: Prior
    full: bool
    df: float | None

    @property
    def learns_df(self) -> bool:
        return self.df is None

    def at(self, parts: Components) -> Fit:
        """The E step."""
        q = parts.distances(self.X)
        terms = np.log(parts.weights) + parts.log_densities(q)
        total = logsumexp(terms, axis=1)
        value = float(self.weight @ total) + self.prior.log_density(parts, learns_df=self.learns_df)
        return Fit(parts, np.exp(terms - total[:, None]), q, value)

    def step(self, fit: Fit) -> Fit:
        """One M step and the E step after it."""
        mass, parts = self.weight[:, None] * fit.shares, fit.parts
        new = self.prior.mode(self.X, mass, mass * parts.precision_weights(fit.q), parts.df, full=self.full)
        return self.at(replace(new, df=self._best_df(mass, new.distances(self.X))) if self.learns_df else new)

    def start(self, rng: np.random.Generator, *, ranks: bool = False) -> Components:
        """Components of the cells of a short k-means, started as in k-means++.

        By the ranks of each column if asked to: outliers then don't get a cell of their own.
        """
        X, weight = rankdata(self.X, axis=0) / len(self.X) if ranks else self.X, self.weight
        centers = distant_rows(X, weight, self.n_components, rng)
        for _ in range(_KMEANS):
            shares = np.eye(len(centers))[squared_distances(X, centers).argmin(axis=1)]
            mass = weight @ shares
            sums = (shares * weight[:, None]).T @ X
            centers = np.where(mass[:, None] > 0, sums / np.maximum(mass, 1e-300)[:, None], centers)
        mass = weight[:, None] * shares
        df = np.full(len(centers), _DF_START if self.df is None else self.df)
        return self.prior.mode(self.X, mass, mass, df, full=self.full)

    def _best_df(self, mass: Array, q: Array) -> Array:
        """ν_k at the maximum of Σ r_ik ln t(q_ik | ν_k) plus its log prior, by bisection of the slope in ln ν."""
        d, counts = self.X.shape[1], mass.sum(axis=0)
        low, high = (np.full(len(counts), end) for end in _DF_RANGE)
        for _ in range(_DF_STEPS):
            middle = 0.5 * (low + high)
            nu = np.exp(middle)
            rows = (nu + d) / (nu + q) * q / nu - np.log1p(q / nu)
            slope = 0.5 * (counts * (digamma((nu + d) / 2) - digamma(nu / 2) - d / nu) + (mass * rows).sum(axis=0))
            slope += DF_SHAPE / nu - DF_RATE
            low, high = np.where(slope > 0, middle, low), np.where(slope > 0, high, middle)
        return np.exp(0.5 * (low + high))


def maximize(problem: Problem, *, n_restarts: int, max_iter: int, tol: float, rng: np.random.Generator) -> Ascent[Fit]:
    """The best of several short runs, continued until an iteration adds less than `tol` for each observation."""
    n_starts = 1 if problem.n_components == 1 else 1 + n_restarts
    heavy_tails = problem.df != np.inf
    starts = (problem.at(problem.start(rng, ranks=(i % 2 == 0) == heavy_tails)) for i in range(n_starts))
    goal = tol * float(problem.weight.sum())
    return best_ascent(starts, problem.step, max_iter=max_iter, goal=goal, n_short=_SHORT)
