"""Integrating the precisions of a Gaussian linear model out instead of maximizing the evidence over them.

Given the ratio ρ = α/β of prior and noise precision, the noise precision has a gamma posterior, and everything else is
Student-t in closed form. What remains is one integral over u = ln ρ,

    p(y) = ∫ p(y | ρ) p(u) du,    p(f | y) = Σ_k π_k p(f | y, ρ_k)

The prior is about the share of the variance of y that the columns explain, R² = c/(c + ρ) at x of average length, where
c is the mean square of a centred row (summed over columns): R² is uniform between 0 and 1, so that u − ln c has the
standard logistic distribution. It is proper, whatever the table, and doesn't depend on its units.

With α given, the variance of y apart from its mean is σ² + c/α, and has the prior 1/(σ² + c/α): the usual 1/σ² unless
the noise is small beside the coefficients' part, where it is bounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from credo.learning.evidence import EvidenceTerms, Gamma, noise_grid, ratio_grid, scan_terms
from credo.learning.integration import gauss_nodes

Array = NDArray[np.float64]

# The numbers of nodes that are tried, and the relative error of the posterior variances at which fewer suffice.
_NODES = (1, 3, 5, 7, 9)
_TOLERANCE = 1e-3
# Parts of the range where the density is less than e^-_DEPTH of the largest are left out.
_DEPTH = 32.0
# Relative accuracy of the integral, and the most halvings of the grid spacing.
_ACCURACY = 1e-8
_HALVINGS = 20


@dataclass(frozen=True)
class PrecisionMixture:
    """Values of the ratio ρ with their posterior probabilities, and ln p(y).

    `noise_variances` are the noise variances given each ratio; with finite `df` they are squared scales of Student-t
    distributions. `noise_variance` and `prior_variance` are the posterior means of the former and of that of the
    coefficients, both without the factor df/(df − 2).

    Examples
    --------
    >>> import numpy as np
    >>> from credo.learning import EvidenceTerms, Gamma, integrate_precisions
    >>> terms = EvidenceTerms(np.array([50.0, 20.0]), np.array([90.0, 0.4]), rss=10.0, dof=11.0, log_weight=np.log(12))
    >>> found = integrate_precisions(terms, row_square=5.0, prior=None, noise=Gamma(0.0, 0.0))
    >>> float(found.weights.sum().round(6)), found.df, len(found.ratios) == len(found.noise_variances)
    (1.0, 11.0, True)
    """

    ratios: Array
    weights: Array
    noise_variances: Array
    df: float
    noise_variance: float
    prior_variance: float
    log_evidence: float


def integrate_precisions(
    terms: EvidenceTerms,
    *,
    row_square: float,
    prior: float | None,
    noise: float | Gamma | None,
    null_space: bool = False,
) -> PrecisionMixture:
    """The posterior of the ratio of the precisions, at a few nodes.

    Parameters
    ----------
    row_square : float
        c above: the mean over the rows of the squared length of x − x̄.
    prior, noise : float, Gamma or None
        What is known of α and β. (None, Gamma) integrates both out, (None, number) α, (number, None) β.
    null_space : bool
        Whether predictions depend on directions outside the span of the rows, where the prior remains.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.learning import EvidenceTerms, Gamma, integrate_precisions
    >>> terms = EvidenceTerms(np.array([50.0, 20.0]), np.array([90.0, 0.4]), rss=10.0, dof=11.0, log_weight=np.log(12))
    >>> found = integrate_precisions(terms, row_square=5.0, prior=None, noise=Gamma(0.0, 0.0))
    >>> round(found.noise_variance, 2), round(found.log_evidence, 2)
    (1.3, -22.75)
    """
    log_center = math.log(row_square) if row_square > 0 else -math.inf

    def log_density(u: Array) -> Array:
        gap = log_center - u
        log_prior = -np.logaddexp(0.0, gap)
        if prior is None:
            log_prior = log_prior + gap - np.logaddexp(0.0, gap)
        return _log_evidence(terms, prior, noise, u) + log_prior

    if len(terms.eigenvalues) or prior is not None:
        u, mass, log_value = _mass(log_density, _grid(terms, prior), _curvature(terms, noise))
    else:
        # No column varies, and the ratio means nothing.
        u, mass = np.zeros(1), np.ones(1)
        log_value = float(_log_evidence(terms, prior, noise, u)[0])
    variances, df = _noise_variances(terms, prior, noise, u)
    nodes, weights = _few_nodes(terms, prior, noise, u, mass, null_space=null_space)
    return PrecisionMixture(
        ratios=np.exp(nodes),
        weights=weights,
        noise_variances=_noise_variances(terms, prior, noise, nodes)[0],
        df=df,
        noise_variance=float(mass @ variances),
        prior_variance=float(mass @ (variances / np.exp(u))),
        log_evidence=log_value,
    )


def _log_evidence(terms: EvidenceTerms, prior: float | None, noise: float | Gamma | None, u: Array) -> Array:
    """ln p(y | ρ) at each u = ln ρ, as `log_evidence` has it."""
    misfit, complexity = scan_terms(terms, u)
    constant = -0.5 * terms.dof * math.log(2 * math.pi) - terms.log_weight
    if isinstance(noise, Gamma):
        shape = noise.shape + 0.5 * terms.dof
        gamma = noise.log_constant + math.lgamma(shape) - shape * np.log(noise.rate + 0.5 * misfit)
        return constant + gamma - complexity
    log_noise = math.log(noise) if prior is None and noise is not None else math.log(prior or 1.0) - u
    return constant + 0.5 * terms.dof * log_noise - complexity - 0.5 * np.exp(log_noise) * misfit


def _noise_variances(
    terms: EvidenceTerms, prior: float | None, noise: float | Gamma | None, u: Array
) -> tuple[Array, float]:  # fmt: skip
    """The noise variance at each u (or the squared scale of its Student-t), and the degrees of freedom."""
    if isinstance(noise, Gamma):
        shape = noise.shape + 0.5 * terms.dof
        return (noise.rate + 0.5 * scan_terms(terms, u)[0]) / shape, 2 * shape
    return np.full(len(u), 1.0 / noise) if noise is not None else np.exp(u) / (prior or 1.0), math.inf


def _grid(terms: EvidenceTerms, prior: float | None) -> Array:
    grid = ratio_grid(terms)
    if prior is None:
        return grid
    by_noise = math.log(prior) - noise_grid(terms)
    ends = [*(grid[[0, -1]] if len(grid) > 1 else ()), by_noise[0], by_noise[-1]]
    return np.linspace(min(ends), max(ends), 2 * len(by_noise))


def _curvature(terms: EvidenceTerms, noise: float | Gamma | None) -> float:
    """A bound of the second derivative of the log density, where it isn't negligible."""
    total = terms.rss + float(terms.projections.sum())
    given = noise * total if isinstance(noise, float) else 0.0
    return 0.5 + (terms.dof + len(terms.eigenvalues) + given) / 8 * (4.0 if noise is None else 1.0)


def _mass(log_density: Callable[[Array], Array], grid: Array, curvature: float) -> tuple[Array, Array, float]:
    """Points, their probabilities and ln ∫ exp(log density), by the trapezoidal rule on ever finer grids.

    The rule converges exponentially for analytic densities. Between two points the density can be larger than at
    both by a factor of exp(curvature · spacing²/8) at most: nothing that could matter is left out.
    """
    u, f, spacing = grid, log_density(grid), float(grid[1] - grid[0])
    coarse = math.nan
    for _ in range(_HALVINGS):
        used = np.flatnonzero(f > f.max() - _DEPTH - curvature * spacing**2 / 8)
        ends = slice(max(used[0] - 1, 0), used[-1] + 2)
        u, f = u[ends], f[ends]
        fine = float(logsumexp(f)) + math.log(spacing)
        if abs(fine - coarse) < _ACCURACY:
            break
        coarse, spacing = fine, spacing / 2
        between = 0.5 * (u[1:] + u[:-1])
        u, f = _interleaved(u, between), _interleaved(f, log_density(between))
    mass = np.exp(f - f.max())
    return u, mass / mass.sum(), fine


def _interleaved(outer: Array, inner: Array) -> Array:
    found = np.empty(len(outer) + len(inner))
    found[::2], found[1::2] = outer, inner
    return found


def _few_nodes(
    terms: EvidenceTerms,
    prior: float | None,
    noise: float | Gamma | None,
    u: Array,
    mass: Array,
    *,
    null_space: bool,
) -> tuple[Array, Array]:
    """The least number of Gauss nodes for which the posterior moments of every direction are accurate."""
    if len(u) == 1:
        return u, mass
    moments = _moments(terms, prior, noise, u, mass, null_space=null_space)
    # All that depends on u levels off at both ends, so that polynomials of tanh approximate it better than those of u.
    center = float(mass @ u)
    width = 2 * max(1.0, math.sqrt(float(mass @ (u - center) ** 2)))
    for n in _NODES:
        places, weights = gauss_nodes(np.tanh((u - center) / width), mass, n)
        nodes = center + width * np.arctanh(places)
        found = _moments(terms, prior, noise, nodes, weights, null_space=null_space)
        (mean, variance), (few_mean, few_variance) = moments, found
        close = np.abs(few_variance - variance) <= _TOLERANCE * variance
        if close.all() and ((few_mean - mean) ** 2 <= _TOLERANCE**2 * variance[: len(mean)]).all():
            break
    return nodes, weights


def _moments(
    terms: EvidenceTerms,
    prior: float | None,
    noise: float | Gamma | None,
    u: Array,
    mass: Array,
    *,
    null_space: bool,
) -> tuple[Array, Array]:
    """Posterior means of the weights along each direction, and their variances, followed by those of the noise."""
    unit, _ = _noise_variances(terms, prior, noise, u)
    ratios = np.exp(u)[:, None]
    shrunk = 1.0 / (ratios + terms.eigenvalues)
    places = shrunk * np.sqrt(terms.eigenvalues * terms.projections)
    mean = mass @ places
    variance = (mass * unit) @ shrunk + mass @ (places - mean) ** 2
    rest = [mass @ unit, mass @ (unit / ratios[:, 0])] if null_space else [mass @ unit]
    return mean, np.append(variance, rest)
