"""A Gaussian process given data, by inverses of whole matrices."""

from __future__ import annotations

import numpy as np
from scipy import stats


class ObservedOracle:
    """f given y = Hb + f + ε, with the coefficients of prior variance V → ∞ integrated out by their limit formulas."""

    def __init__(self, kernel, X, Y, noise, basis):
        self.kernel, self.X, self.Y, self.basis = kernel, X, Y, basis
        self.noise = np.broadcast_to(noise, len(X))
        self.H = basis(X)
        self.inverse = np.linalg.inv(kernel.gram(X) + np.diag(self.noise))
        self.A_inverse = np.linalg.inv(self.H.T @ self.inverse @ self.H) if self.H.shape[1] else np.zeros((0, 0))
        self.b = self.A_inverse @ self.H.T @ self.inverse @ Y
        self.alpha = self.inverse @ (Y - self.H @ self.b)

    @property
    def log_evidence(self):
        n, q = self.H.shape
        C_logdet = -np.linalg.slogdet(self.inverse)[1]
        A_logdet = -np.linalg.slogdet(self.A_inverse)[1] if q else 0.0
        fit = np.einsum("ij,ij->j", self.Y, self.alpha)
        return float(-0.5 * (fit + C_logdet + A_logdet + (n - q) * np.log(2 * np.pi)).sum())

    def mean(self, rows):
        return self.kernel.cross(rows, self.X) @ self.alpha + self.basis(rows) @ self.b

    def covariance(self, rows, others):
        k, l = self.kernel.cross(rows, self.X), self.kernel.cross(others, self.X)
        u, v = (self.basis(part) - cross @ self.inverse @ self.H for part, cross in ((rows, k), (others, l)))
        return self.kernel.cross(rows, others) - k @ self.inverse @ l.T + u @ self.A_inverse @ v.T


class SitesOracle:
    """N(f | 0, K) times Gaussian sites, for a regular K."""

    def __init__(self, kernel, X, precision, location):
        self.kernel, self.X = kernel, X
        self.K = kernel.gram(X)
        self.cov = np.linalg.inv(np.linalg.inv(self.K) + np.diag(precision))
        self.mean = self.cov @ location
        self.precision, self.location = precision, location

    @property
    def log_evidence(self):
        logdet = np.linalg.slogdet(np.eye(len(self.K)) + self.K * self.precision)[1]
        return float(0.5 * self.location @ self.mean - 0.5 * logdet)

    @property
    def divergence(self):
        n, inverse = len(self.K), np.linalg.inv(self.K)
        logdets = np.linalg.slogdet(self.K)[1] - np.linalg.slogdet(self.cov)[1]
        return float(0.5 * (np.trace(inverse @ self.cov) + self.mean @ inverse @ self.mean - n + logdets))

    def latent(self, rows):
        """By the law of total variance over f at the training rows."""
        gain = self.kernel.cross(rows, self.X) @ np.linalg.inv(self.K)
        prior = self.kernel.gram(rows) - gain @ self.K @ gain.T
        return gain @ self.mean, prior + gain @ self.cov @ gain.T

    def density(self, y, noise):
        """ln p(y) with Gaussian noise."""
        return stats.multivariate_normal(cov=self.K + np.diag(noise)).logpdf(y)
