"""The evidence of a subset under each slab and the moments of its coefficients, restated in plain NumPy and SciPy.

Bayes factors as in Liang et al. (2008), Zellner & Siow's integral over g by brute force.
"""

import numpy as np
from scipy.special import gammaln, logsumexp
from tests.reference.twins import Twin

from credo.sparse import _slabs_jit


def log_null(n, yy, noise=None):
    """The evidence without columns: a flat intercept, and σ² known or with the prior 1/σ²."""
    if noise is not None:
        return -0.5 * np.log(n) - 0.5 * (n - 1) * np.log(2 * np.pi * noise) - 0.5 * yy / noise
    return gammaln((n - 1) / 2) - 0.5 * np.log(n) - 0.5 * (n - 1) * np.log(np.pi * yy)


def bayes_factor(n, k, one_minus_r2, g):
    return 0.5 * (n - 1 - k) * np.log1p(g) - 0.5 * (n - 1) * np.log1p(g * one_minus_r2)


def zellner_siow(n, k, one_minus_r2):
    """ln BF, and the first two moments of s = g/(1 + g), on a fine grid of ln g."""
    t = np.linspace(-30.0, 100.0, 40_001)
    logs = bayes_factor(n, k, one_minus_r2, np.exp(t)) + 0.5 * np.log(n / (2 * np.pi)) - 0.5 * t - 0.5 * n * np.exp(-t)
    weight = np.exp(logs - logsumexp(logs))
    s = 1 / (1 + np.exp(-t))
    return logsumexp(logs) + np.log(t[1] - t[0]), weight @ s, weight @ s**2


def log_evidence(name, n, yy, k, one_minus_r2, logdet, *, g=None, slab_variance=None, noise_variance=None):
    null = log_null(n, yy, noise_variance)
    if name == "normal":
        ridge = (noise_variance or 1.0) / slab_variance
        fit = (
            -0.5 * (n - 1) * np.log(one_minus_r2)
            if noise_variance is None
            else 0.5 * yy * (1 - one_minus_r2) / noise_variance
        )
        return null + 0.5 * (k * np.log(ridge) - logdet) + fit
    if k == 0:
        return null
    if name == "bic":
        return null - 0.5 * n * np.log(one_minus_r2) - 0.5 * k * np.log(n)
    if name == "zellner-siow":
        return null + zellner_siow(n, k, one_minus_r2)[0]
    return null + bayes_factor(n, k, one_minus_r2, g)


def shrinkage(name, n, k, one_minus_r2, *, g=None, **_):
    """E[s] and E[s²]."""
    if k == 0 or name in ("bic", "normal"):
        return 1.0, 1.0
    if name == "zellner-siow":
        return zellner_siow(n, k, one_minus_r2)[1:]
    return g / (1 + g), (g / (1 + g)) ** 2


def spread(name, n, yy, k, one_minus_r2, **options):
    """E[s], E[s²], the factor of A⁻¹ in the coefficients' covariance, and the predictive variance of the noise."""
    first, second = shrinkage(name, n, k, one_minus_r2, **options)
    if options.get("noise_variance"):
        return first, second, options["noise_variance"], options["noise_variance"]
    df = n - 1 - k if name == "bic" else n - 1
    width = yy / df * max(df, 3) / (max(df, 3) - 2)
    return first, second, width * (first - second + second * one_minus_r2), width * (1 - first + first * one_minus_r2)


def spline(coefs, x):
    """Polynomials in x times the number of cells to a unit, counted from the start of each cell."""
    cell = min(int(_slabs_jit.CELLS * x), len(coefs) - 1)
    return np.polynomial.polynomial.polyval(_slabs_jit.CELLS * x - cell, coefs[cell])


COEFS = np.random.default_rng(0).normal(size=(3 * _slabs_jit.CELLS, 6))
TWINS = [
    Twin(_slabs_jit.spline, spline, [(COEFS, x) for x in (0.0, 0.51, 2.99, 3.1)]),
]
