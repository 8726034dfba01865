"""Logistic regression without approximation, for a few weights: Gibbs sampling and brute-force grids.

Given ω, a logistic likelihood is Gaussian in the weights, and given the weights ω is Pólya-Gamma (Polson, Scott &
Windle 2013):

    ωᵢ | θ ~ PG(1, φᵢᵀθ),    θ | ω ~ N(S Φᵀ(y − ½), S),    S = (ΦᵀΩΦ + Λ)⁻¹
"""

import numpy as np
from scipy.special import expit, log_expit, logsumexp


def polya_gamma(z, rng, *, n_terms=100):
    """Draws of PG(1, z): Σ g_k/((k − ½)² + z²/4π²)/2π², the terms beyond n_terms by their mean."""
    place = (np.arange(1, n_terms + 1) - 0.5) ** 2 + np.square(z / (2 * np.pi))[:, None]
    draws = (rng.exponential(size=place.shape) / place).sum(axis=1) / (2 * np.pi**2)
    half = np.maximum(np.abs(z), 1e-6) / 2
    return draws + np.tanh(half) / (4 * half) - (1 / place).sum(axis=1) / (2 * np.pi**2)


def gibbs(Phi, y, precision, *, n_draws, n_warm=200, seed=0):
    """Draws of the weights under N(0, diag(precision)⁻¹), labels 0 and 1."""
    rng = np.random.default_rng(seed)
    theta, draws = np.zeros(Phi.shape[1]), []
    for _ in range(n_warm + n_draws):
        omega = polya_gamma(Phi @ theta, rng)
        L = np.linalg.cholesky((Phi.T * omega) @ Phi + np.diag(precision))
        mean = np.linalg.solve(L.T, np.linalg.solve(L, Phi.T @ (y - 0.5)))
        theta = mean + np.linalg.solve(L.T, rng.standard_normal(len(theta)))
        draws.append(theta)
    return np.array(draws[n_warm:])


class Grid:
    """The posterior of two parameters on a fine grid: evidence, moments and predictions by summation."""

    def __init__(self, Phi, y, precision, *, center, std, reach=8.0, n=121):
        axes = [np.linspace(m - reach * s, m + reach * s, n) for m, s in zip(center, std, strict=True)]
        self.theta = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
        cell = np.prod([axis[1] - axis[0] for axis in axes])
        logs = log_expit((2 * y - 1) * (self.theta @ Phi.T)).sum(axis=1)
        logs += 0.5 * np.log(np.asarray(precision) / (2 * np.pi)).sum() - 0.5 * self.theta**2 @ precision
        self.log_evidence = logsumexp(logs) + np.log(cell)
        self.weight = np.exp(logs - logsumexp(logs))

    def mean(self):
        return self.weight @ self.theta

    def std(self):
        return np.sqrt(self.weight @ (self.theta - self.mean()) ** 2)

    def probability(self, Phi):
        return self.weight @ expit(self.theta @ Phi.T)
