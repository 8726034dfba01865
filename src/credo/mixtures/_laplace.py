"""The Laplace approximation of ln p(X) for a mixture.

Around the mode, μ_k + L_k u and Σ_k = L_k exp(E) L_kᵀ with a symmetric E are the parameters of a component, ln ν_k is a
further one where it is learned, and the logits of π against its last entry. For a row with z = L⁻¹(x − μ) and
w = (ν + d)/(ν + q), the score of component k is

    s = w t − (0, ½ on the diagonal of E),    t = (z, ½zᵢ² for Eᵢᵢ, zᵢzⱼ for Eᵢⱼ)

The curvature of ln Σ_k π_k p_k is that of complete data less the variance of the scores (Louis 1982):

    H = Σᵢ Σ_k r_ik (−∇² ln π_k p_k) − Σᵢ (Σ_k r_ik s sᵀ − s̄ s̄ᵀ) + prior

At the mode the first part and the prior are diagonal, apart from −Σ r (2w/(ν + q)) t tᵀ of Student-t components.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, polygamma

from credo.linalg import NotPositiveDefiniteError, factorize
from credo.mixtures._components import DF_RATE
from credo.mixtures._em import Fit, Problem

Array = NDArray[np.float64]

# The curvature matrix of this many parameters takes 32 MB.
_MOST_PARAMETERS = 2000


def n_parameters(problem: Problem) -> int:
    """The free parameters of a mixture."""
    d = problem.X.shape[1]
    each = d + (d * (d + 1) // 2 if problem.full else d) + problem.learns_df
    return problem.n_components * (each + 1) - 1


def log_evidence(problem: Problem, fit: Fit) -> float | None:
    """ln p(X) by the Laplace approximation; None if the mode isn't one, or if there are too many parameters.

    The components can be numbered in K! ways, each a mode of its own.
    """
    n = n_parameters(problem)
    if n > _MOST_PARAMETERS:
        return None
    try:
        factor = factorize(curvature(problem, fit), jitter=0.0)
    except NotPositiveDefiniteError:
        return None
    k, d = fit.parts.means.shape
    constant = problem.prior.log_constant(k, d, full=problem.full, learns_df=problem.learns_df)
    volume = 0.5 * float(fit.parts.logdets().sum()) + 0.5 * n * math.log(2 * math.pi) - 0.5 * factor.logdet
    return fit.value + constant + volume + float(gammaln(k + 1))


def curvature(problem: Problem, fit: Fit) -> Array:
    """H of the module's equations, component by component, the logits last."""
    parts, prior, weight = fit.parts, problem.prior, problem.weight
    blocks = [_component(problem, fit, k) for k in range(len(parts))]
    width, n_logits = blocks[0][0].shape[1], len(parts) - 1
    scores = np.zeros((len(weight), len(parts) * width + n_logits))
    H = np.zeros((scores.shape[1],) * 2)
    logits = np.eye(len(parts))[:, :n_logits] - parts.weights[:n_logits]
    last = np.s_[len(parts) * width :]
    for k, (score, complete) in enumerate(blocks):
        here, mass = np.s_[k * width : (k + 1) * width], weight * fit.shares[:, k]
        scores[:, here] = fit.shares[:, [k]] * score
        H[here, here] += complete - (mass[:, None] * score).T @ score
        cross = np.outer(mass @ score, logits[k])
        H[here, last] -= cross
        H[last, here] -= cross.T
        H[last, last] -= mass.sum() * np.outer(logits[k], logits[k])
    scores[:, last] = fit.shares @ logits
    pi = parts.weights[:n_logits]
    total = weight.sum() + len(parts) * prior.concentration
    H[last, last] += total * (np.diag(pi) - np.outer(pi, pi))
    return H + (weight[:, None] * scores).T @ scores


def _component(problem: Problem, fit: Fit, k: int) -> tuple[Array, Array]:
    """Scores of the rows (n, width), and the curvature of complete data and prior, of one component."""
    parts, prior, d = fit.parts, problem.prior, problem.X.shape[1]
    z, q, mass = parts.whitened(problem.X, k), fit.q[:, k], problem.weight * fit.shares[:, k]
    w = parts.precision_weights(fit.q)[:, k]
    i, j = np.tril_indices(d, -1) if problem.full else (np.empty(0, dtype=int),) * 2
    t = np.hstack([z, 0.5 * z**2, z[:, i] * z[:, j]])
    total = mass.sum() + prior.extra
    diagonal = [np.full(d, mass @ w + prior.mean_count), np.full(d, 0.5 * total), np.full(len(i), total)]
    H, score = np.diag(np.concatenate(diagonal)), w[:, None] * t
    score[:, d : 2 * d] -= 0.5
    nu = float(parts.df[k])
    if math.isfinite(nu):
        H -= (t * (mass * 2 * w / (nu + q))[:, None]).T @ t
    if not problem.learns_df:
        return score, H
    slope, second = _df_derivatives(nu, q, d)
    cross = -(mass * nu * (q - d) / (nu + q) ** 2) @ t
    corner = -float(mass @ (nu**2 * second + nu * slope)) + DF_RATE * nu
    return np.column_stack([score, nu * slope]), np.block([[H, cross[:, None]], [cross[None], np.array([[corner]])]])


def _df_derivatives(nu: float, q: Array, d: int) -> tuple[Array, Array]:
    """First and second derivative of ln t by ν."""
    first = digamma((nu + d) / 2) - digamma(nu / 2) - d / nu - np.log1p(q / nu) + (nu + d) * q / (nu * (nu + q))
    second = 0.5 * (polygamma(1, (nu + d) / 2) - polygamma(1, nu / 2)) + d / nu**2 + q / (nu * (nu + q))
    second = second + q * (nu * (nu + q) - (nu + d) * (2 * nu + q)) / (nu * (nu + q)) ** 2
    return 0.5 * first, 0.5 * second
