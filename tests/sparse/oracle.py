"""All subsets by brute force: evidences from densities and one-dimensional integrals, never from closed forms."""

from itertools import chain, combinations

import numpy as np
from scipy import linalg, stats
from scipy.integrate import quad
from scipy.special import logsumexp


def subsets(d):
    return list(chain.from_iterable(combinations(range(d), k) for k in range(d + 1)))


def contrasts(n):
    """Orthonormal rows, all orthogonal to the constant."""
    return linalg.helmert(n)


def log_integral(f, center):
    """ln ∫ exp(f(t)) dt over the line, for f that peaks near the center."""
    grid = center + np.linspace(-40, 40, 8001)
    values = f(grid)
    peak = grid[np.argmax(values)]
    top = values.max()
    return top + np.log(quad(lambda t: np.exp(f(t) - top), peak - 30, peak + 30, points=[peak], limit=500, epsabs=0)[0])


def scale_free(z, shape):
    """ln ∫ N(z; 0, σ² shape) dσ²/σ², by quadrature over ln σ²."""
    m = len(z)
    factor = linalg.cho_factor(shape)
    square, logdet = z @ linalg.cho_solve(factor, z), 2 * np.log(np.diag(factor[0])).sum()
    return log_integral(
        lambda t: -0.5 * (m * (np.log(2 * np.pi) + t) + logdet + square * np.exp(-t)), np.log(square / m)
    )


def bic(X, y):
    """−2 ln p(y | best fit) + (k + 2) ln n: an intercept and the noise's variance beside the columns."""
    n, k = X.shape
    design = np.column_stack([np.ones(n), X])
    rest = y - design @ np.linalg.lstsq(design, y)[0]
    return (k + 2) * np.log(n) - 2 * stats.norm.logpdf(rest, scale=np.sqrt(rest @ rest / n)).sum()


def evidence(X, y, slab, *, g=None, slab_variance=None, noise_variance=None):
    """ln p(y | all columns of X), with a flat intercept and, where the noise is unknown, 1/σ²."""
    n, k = X.shape
    H = contrasts(n)
    Z, z = H @ X, H @ y
    flat = -0.5 * np.log(n)
    if slab == "bic":
        return scale_free(z, np.eye(n - 1)) + flat + (bic(np.empty((n, 0)), y) - bic(X, y)) / 2
    if slab == "normal":
        if noise_variance is not None:
            cov = noise_variance * np.eye(n - 1) + slab_variance * Z @ Z.T
            return stats.multivariate_normal(cov=cov).logpdf(z) + flat
        return scale_free(z, np.eye(n - 1) + slab_variance * Z @ Z.T) + flat
    hat = Z @ np.linalg.pinv(Z) if k else np.zeros((n - 1, n - 1))
    if slab == "g":
        return scale_free(z, np.eye(n - 1) + g * hat) + flat
    # Zellner and Siow: the same, integrated over g in ln g.
    null = scale_free(z, np.eye(n - 1)) + flat
    if k == 0:
        return null
    left = 1 - (z @ hat @ z) / (z @ z)

    def integrand(t):
        g = np.exp(t)
        factor = 0.5 * (n - 1 - k) * np.log1p(g) - 0.5 * (n - 1) * np.log1p(g * left)
        # The density of InvGamma(½, n/2) at g, and the Jacobian g of t = ln g.
        return factor + 0.5 * np.log(n / (2 * np.pi)) - 1.5 * t - 0.5 * n / g + t

    return null + log_integral(integrand, np.log(n))


def posterior(X, y, log_prior, slab, **options):
    """Models, their probabilities and evidences, and ln Σ p(γ)p(y | γ)."""
    models = subsets(X.shape[1])
    logs = np.array([evidence(X[:, list(model)], y, slab, **options) for model in models])
    joint = logs + np.array([log_prior(len(model)) for model in models])
    mass = logsumexp(joint)
    return models, np.exp(joint - mass), logs, mass
