"""The evidence of a Gaussian linear model: its precisions at the maximum, or integrated out.

With w ~ N(0, α⁻¹I), noise N(0, β⁻¹) and centered data with eigenvalues λᵢ = sᵢ², projections qᵢ and residual
sum of squares rss (Bishop 3.77–3.86, rotated to the singular basis),

    ln p(y|α,β) = ½ν ln(β/2π) − ½ Σ ln(1 + βλᵢ/α) − ½β [rss + Σ qᵢ²/(1 + βλᵢ/α)] − ½ ln n

with ν = n − 1 if a flat intercept is integrated out, and ν = n and no last term without an intercept. In terms of the
ratio ρ = α/β the bracket is D(ρ) = rss + Σ qᵢ² ρ/(ρ + λᵢ) and the best β is ν/D(ρ), so that maximizing over both
precisions is a one-dimensional search, solved to rounding error by `maximize_scalar`.

Instead, the precisions can be integrated out. Given the ratio ρ = α/β of prior and noise precision, the noise precision
has a gamma posterior, and everything else is Student-t in closed form. What remains is one integral over u = ln ρ,

    p(y) = ∫ p(y | ρ) p(u) du,    p(f | y) = Σ_k π_k p(f | y, ρ_k)

The prior is about the share of the variance of y that the columns explain, R² = c/(c + ρ) at x of average length, where
c is the mean square of a centered row (summed over columns): R² is uniform between 0 and 1, so that u − ln c has the
standard logistic distribution. It is proper, whatever the table, and doesn't depend on its units.

With α given, the variance of y apart from its mean is σ² + c/α, and has the prior 1/(σ² + c/α): the usual 1/σ² unless
the noise is small compared to the coefficients' part, where it is bounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from credo.core.learning.ascent import maximize_scalar
from credo.core.learning.integration import gauss_nodes

Array = NDArray[np.float64]

# How far the grid extends beyond the eigenvalues, in natural logs. Above e^23 ≈ 1e10 times the largest, all weights are
# zero for practical purposes; targets that are exact linear functions of the inputs have ratios near 1e-31.
_LOG_MARGIN_ABOVE = 23.0
_LOG_MARGIN_BELOW = 72.0
_GRID_POINTS = 160
# The exponential of a larger number overflows.
_MAX_LOG_RATIO = 700.0

_PRIOR_MESSAGES = {
    "inner": "converged; the precisions maximize the evidence",
    "several": "converged; the evidence has several local maxima in the precisions, and this is the highest",
    "flat": "converged; all columns are constant, so the prior precision can't be estimated",
    "low": "the evidence increases without bound as the noise goes to zero: the model fits every target exactly",
    "high": "converged; the evidence is highest without any linear effect; a nonlinear model may still do better",
}
_NOISE_MESSAGES = {
    "inner": "converged; the noise precision maximizes the evidence",
    "several": "converged; the evidence has several local maxima in the noise precision, and this is the highest",
    "low": "the noise precision is the lowest value tried: check the scale of the target",
    "high": "the noise precision is the highest value tried: the model fits the targets exactly",
}


@dataclass(frozen=True)
class Gamma:
    """The prior of the noise precision when it is integrated out: β ~ Gamma(shape, rate).

    Gamma(0, 0) is the improper prior dβ/β = dσ²/σ².

    Examples
    --------
    >>> from credo.core.learning import Gamma
    >>> Gamma(0.0, 0.0).is_improper, round(Gamma(2.0, 3.0).log_constant, 4)
    (True, 2.1972)
    """

    shape: float
    rate: float

    @property
    def is_improper(self) -> bool:
        return self.shape == 0 and self.rate == 0

    @property
    def log_constant(self) -> float:
        """The log normalizing constant of the density β^(shape−1) e^(−rate·β)."""
        return 0.0 if self.is_improper else self.shape * math.log(self.rate) - math.lgamma(self.shape)


@dataclass(frozen=True)
class Precisions:
    """Prior and noise precision, and how the search for them ended.

    With β integrated out, `prior` is the ratio ρ, because the coefficients' prior is then N(m₀, (ρβ)⁻¹ I), and `noise`
    is the posterior mean of β. `noiseless` means that the evidence grows without bound as the noise goes to zero.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.learning import EvidenceTerms, maximize_precisions
    >>> terms = EvidenceTerms(np.array([50.0, 20.0]), np.array([90.0, 0.4]), rss=10.0, dof=11.0, log_weight=np.log(12))
    >>> found = maximize_precisions(terms, prior=None, noise=None)
    >>> round(found.prior, 3), round(found.noise, 3), found.message
    (1.107, 0.903, 'converged; the precisions maximize the evidence')
    """

    prior: float
    noise: float
    n_iter: int
    message: str
    noiseless: bool = False


@dataclass(frozen=True)
class EvidenceTerms:
    """What the evidence depends on: λᵢ, qᵢ², rss and ν of the equation above.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.learning import EvidenceTerms
    >>> terms = EvidenceTerms(np.array([50.0, 20.0]), np.array([90.0, 0.4]), rss=10.0, dof=11.0, log_weight=np.log(12))
    >>> round(terms.misfit(0.0), 3), round(terms.misfit(10.0), 3)  # D(ρ) grows with the shrinkage
    (10.0, 25.133)
    """

    eigenvalues: Array
    projections: Array
    rss: float
    dof: float
    log_weight: float  # ½ ln n if an intercept was integrated out, else 0

    def misfit(self, ratio: float) -> float:
        """D(ρ) of the module's equation."""
        return self.rss + float(self.projections @ (ratio / (ratio + self.eigenvalues)))

    def misfit_slope(self, ratio: float) -> float:
        """dD/d ln ρ."""
        # Not 1 − λ/(ρ + λ), which loses its digits where ρ is small.
        shrinkage = ratio / (ratio + self.eigenvalues)
        return float(self.projections @ (shrinkage * (self.eigenvalues / (ratio + self.eigenvalues))))

    def at(self, u: Array) -> tuple[Array, Array]:
        """D(ρ) and the complexity penalty ½ Σ ln(1 + λᵢ/ρ) at each u = ln ρ."""
        misfit, complexity = np.empty(len(u)), np.empty(len(u))
        log_eigenvalues = np.log(self.eigenvalues)
        # At most a million numbers at a time.
        step = max(1, 1_000_000 // max(1, len(self.eigenvalues)))
        for start in range(0, len(u), step):
            part = u[start : start + step, None]
            ratios = np.exp(np.minimum(part, _MAX_LOG_RATIO))
            misfit[start : start + step] = self.rss + (ratios / (ratios + self.eigenvalues)) @ self.projections
            # In logs, where λ/ρ can't overflow.
            complexity[start : start + step] = 0.5 * np.logaddexp(0.0, log_eigenvalues - part).sum(axis=1)
        return misfit, complexity


def log_evidence(terms: EvidenceTerms, *, prior: float, noise: float | Gamma) -> float:
    """ln p(y | X) at a prior precision and a noise precision, or with the latter integrated out.

    For `noise` a `Gamma(a₀, b₀)`, w | β ~ N(0, (prior·β)⁻¹ I) and y is multivariate Student-t:
    the gamma integral gives a₀ ln b₀ − a_N ln b_N + ln Γ(a_N) − ln Γ(a₀), a_N = a₀ + ν/2, b_N = b₀ + D/2; for dβ/β
    it has no term of a₀ and b₀.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.learning import EvidenceTerms, Gamma, log_evidence
    >>> terms = EvidenceTerms(np.array([50.0, 20.0]), np.array([90.0, 0.4]), rss=10.0, dof=11.0, log_weight=np.log(12))
    >>> known = log_evidence(terms, prior=1.0, noise=1.0)
    >>> integrated = log_evidence(terms, prior=1.0, noise=Gamma(0.0, 0.0))
    >>> round(float(known), 3), round(float(integrated), 3)
    (-21.973, -21.878)
    """
    ratio = prior if isinstance(noise, Gamma) else prior / noise
    return float(_log_evidences(terms, noise, np.array([math.log(ratio)]))[0])


def _log_evidences(
    terms: EvidenceTerms, noise: float | Gamma | None, u: Array, *, prior: float | None = None
) -> Array:  # fmt: skip
    """ln p(y | ρ) at each u = ln ρ; with `prior` and without `noise`, β is α/ρ."""
    misfit, complexity = terms.at(u)
    constant = -0.5 * terms.dof * math.log(2 * math.pi) - terms.log_weight
    if isinstance(noise, Gamma):
        shape = noise.shape + 0.5 * terms.dof
        gamma = noise.log_constant + math.lgamma(shape) - shape * np.log(noise.rate + 0.5 * misfit)
        return constant + gamma - complexity
    log_noise = math.log(prior or 1.0) - u if noise is None else math.log(noise)
    # With noise far below the misfit, the evidence is zero.
    with np.errstate(over="ignore"):
        squares = np.exp(log_noise) * misfit
    return constant + 0.5 * terms.dof * log_noise - complexity - 0.5 * squares


def log_evidence_gradient(terms: EvidenceTerms, *, prior: float, noise: float) -> tuple[float, float]:
    """∂/∂ln α and ∂/∂ln β of the log evidence.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.learning import EvidenceTerms, log_evidence_gradient, maximize_precisions
    >>> terms = EvidenceTerms(np.array([50.0, 20.0]), np.array([90.0, 0.4]), rss=10.0, dof=11.0, log_weight=np.log(12))
    >>> best = maximize_precisions(terms, prior=None, noise=None)
    >>> slopes = log_evidence_gradient(terms, prior=best.prior, noise=best.noise)
    >>> max(abs(float(slope)) for slope in slopes) < 1e-6
    True
    """
    ratio = prior / noise
    share = terms.eigenvalues / (ratio + terms.eigenvalues)
    effective = float(share.sum())  # γ of Bishop 3.91, the number of weights that the data determine
    slope = 0.5 * noise * terms.misfit_slope(ratio)
    by_prior = 0.5 * effective - slope
    by_noise = 0.5 * terms.dof - 0.5 * effective - 0.5 * noise * terms.misfit(ratio) + slope
    return by_prior, by_noise


def maximize_precisions(terms: EvidenceTerms, *, prior: float | None, noise: float | Gamma | None) -> Precisions:
    """The precisions that maximize the evidence; a given number is kept, None is maximized over.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.learning import EvidenceTerms, log_evidence, maximize_precisions
    >>> terms = EvidenceTerms(np.array([50.0, 20.0]), np.array([90.0, 0.4]), rss=10.0, dof=11.0, log_weight=np.log(12))
    >>> best = maximize_precisions(terms, prior=None, noise=None)
    >>> bool(log_evidence(terms, prior=best.prior, noise=best.noise) > log_evidence(terms, prior=1.0, noise=1.0))
    True
    """
    if prior is not None and noise is None:
        given = prior
        top = maximize_scalar(
            lambda v: _log_evidences(terms, None, math.log(given) - v, prior=given),
            lambda v: log_evidence_gradient(terms, prior=given, noise=math.exp(v))[1],
            _noise_grid(terms),
        )
        return Precisions(prior, math.exp(top.place), top.n_iter, _NOISE_MESSAGES[top.kind])
    # The best β at a ratio is the mean of its posterior under dβ/β.
    unknown = Gamma(0.0, 0.0) if noise is None else noise

    def slope(u: float) -> float:
        """The derivative of the log evidence by ln ρ: ½ (γ − β dD/d ln ρ)."""
        beta = _mean_noise(terms, unknown, math.exp(u)) if isinstance(unknown, Gamma) else unknown
        return log_evidence_gradient(terms, prior=math.exp(u) * beta, noise=beta)[0]

    if prior is not None:
        ratio = prior if isinstance(noise, Gamma) else math.nan
        n_iter, kind, message = 0, "given", "converged; the precisions were given"
    else:
        top = maximize_scalar(lambda u: _log_evidences(terms, unknown, u), slope, _ratio_grid(terms))
        n_iter, kind = top.n_iter, top.kind
        ratio, message = math.exp(top.place), _PRIOR_MESSAGES[kind]
    unbounded = noise is None or (isinstance(noise, Gamma) and noise.is_improper)
    noiseless = unbounded and (kind == "low" or _is_noiseless(terms, ratio))
    message = _PRIOR_MESSAGES["low"] if noiseless else message
    if isinstance(noise, Gamma):
        return Precisions(ratio, _mean_noise(terms, noise, ratio), n_iter, message, noiseless)
    if noise is None:
        noise = terms.dof / terms.misfit(ratio)
    return Precisions(ratio * noise if prior is None else prior, noise, n_iter, message, noiseless)


def gamma_posterior(terms: EvidenceTerms, prior: Gamma, ratio: float) -> tuple[float, float]:
    """Shape and rate of the noise precision given the data, a_N and b_N.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.learning import EvidenceTerms, Gamma, gamma_posterior
    >>> terms = EvidenceTerms(np.array([50.0, 20.0]), np.array([90.0, 0.4]), rss=10.0, dof=11.0, log_weight=np.log(12))
    >>> shape, rate = gamma_posterior(terms, Gamma(0.0, 0.0), ratio=1.0)
    >>> shape, round(rate, 3), round(shape / rate, 3)  # the last is the mean of the noise precision
    (5.5, 5.892, 0.933)
    """
    return prior.shape + 0.5 * terms.dof, prior.rate + 0.5 * terms.misfit(ratio)


def _is_noiseless(terms: EvidenceTerms, ratio: float) -> bool:
    """Whether the model fits all targets exactly, so that the residuals are rounding errors.

    Without residuals the evidence rises to a plateau, where rounding errors of the targets decide on the maximum.
    """
    total = terms.rss + float(terms.projections.sum())
    return terms.dof <= len(terms.eigenvalues) and terms.misfit(ratio) < 1e-12 * total


def _mean_noise(terms: EvidenceTerms, prior: Gamma, ratio: float) -> float:
    shape, rate = gamma_posterior(terms, prior, ratio)
    return shape / rate


def _ratio_grid(terms: EvidenceTerms) -> Array:
    """Values of ln ρ from far below the eigenvalues to far above."""
    if not len(terms.eigenvalues):
        return np.zeros(1)
    low, high = math.log(float(terms.eigenvalues.min())), math.log(float(terms.eigenvalues.max()))
    return np.linspace(low - _LOG_MARGIN_BELOW, high + _LOG_MARGIN_ABOVE, _GRID_POINTS)


def _noise_grid(terms: EvidenceTerms) -> Array:
    """From the smallest noise variance that the data allow to the whole variance of the target."""
    total = terms.rss + float(terms.projections.sum())
    smallest = max(terms.rss, total * 1e-20, np.finfo(float).tiny)
    low, high = math.log(terms.dof / max(total, smallest)), math.log(terms.dof / smallest)
    return np.linspace(low - _LOG_MARGIN_ABOVE, high + _LOG_MARGIN_ABOVE, _GRID_POINTS)


@dataclass(frozen=True)
class PrecisionMixture:
    """Values of the ratio ρ with their posterior probabilities, and ln p(y).

    `noise_variances` are the noise variances given each ratio; with finite `df` they are squared scales of Student-t
    distributions. `noise_variance` and `prior_variance` are the posterior means of the former and of that of the
    coefficients, both without the factor df/(df − 2).

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.learning import EvidenceTerms, Gamma, integrate_precisions
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
        What is known about α and β. (None, Gamma) integrates both out, (None, number) α, (number, None) β.
    null_space : bool
        Whether predictions depend on directions outside the span of the rows, where the prior remains.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.learning import EvidenceTerms, Gamma, integrate_precisions
    >>> terms = EvidenceTerms(np.array([50.0, 20.0]), np.array([90.0, 0.4]), rss=10.0, dof=11.0, log_weight=np.log(12))
    >>> found = integrate_precisions(terms, row_square=5.0, prior=None, noise=Gamma(0.0, 0.0))
    >>> round(found.noise_variance, 2), round(found.log_evidence, 2)
    (1.3, -22.75)
    """
    given = _Given(terms, prior, noise, null_space)
    log_center = math.log(row_square) if row_square > 0 else -math.inf

    def log_density(u: Array) -> Array:
        gap = log_center - u
        log_prior = -np.logaddexp(0.0, gap)
        if prior is None:
            log_prior = log_prior + gap - np.logaddexp(0.0, gap)
        return _log_evidences(terms, noise, u, prior=prior) + log_prior

    if len(terms.eigenvalues) or prior is not None:
        u, mass, log_value = _mass(log_density, given.grid(), given.curvature())
    else:
        # No column varies, so the ratio has no effect.
        u, mass = np.zeros(1), np.ones(1)
        log_value = float(_log_evidences(terms, noise, u, prior=prior)[0])
    variances, df = given.noise_variances(u)
    nodes, weights = given.few_nodes(u, mass)
    return PrecisionMixture(
        ratios=np.exp(nodes),
        weights=weights,
        noise_variances=given.noise_variances(nodes)[0],
        df=df,
        noise_variance=float(mass @ variances),
        prior_variance=float(mass @ (variances / np.exp(u))),
        log_evidence=log_value,
    )


@dataclass(frozen=True)
class _Given:
    """What is known about α and β, as in `integrate_precisions`."""

    terms: EvidenceTerms
    prior: float | None
    noise: float | Gamma | None
    null_space: bool

    def noise_variances(self, u: Array) -> tuple[Array, float]:
        """The noise variance at each u (or the squared scale of its Student-t), and the degrees of freedom."""
        if isinstance(self.noise, Gamma):
            shape = self.noise.shape + 0.5 * self.terms.dof
            return (self.noise.rate + 0.5 * self.terms.at(u)[0]) / shape, 2 * shape
        if self.noise is None:
            return np.exp(u) / (self.prior or 1.0), math.inf
        return np.full(len(u), 1.0 / self.noise), math.inf

    def grid(self) -> Array:
        """Values of ln ρ beyond which the density is negligible."""
        grid = _ratio_grid(self.terms)
        if self.prior is None:
            return grid
        by_noise = math.log(self.prior) - _noise_grid(self.terms)
        ends = [*(grid[[0, -1]] if len(grid) > 1 else ()), by_noise[0], by_noise[-1]]
        if np.abs(ends).max() > _MAX_LOG_RATIO:
            raise ValueError(
                f"the ratio of the prior precision {self.prior:.3g} to that of the noise overflows or underflows: "
                "change the units of X or y"
            )
        return np.linspace(min(ends), max(ends), 2 * len(by_noise))

    def curvature(self) -> float:
        """A bound on the second derivative of the log density, where the density isn't negligible."""
        terms = self.terms
        total = terms.rss + float(terms.projections.sum())
        given = self.noise * total if isinstance(self.noise, float) else 0.0
        return 0.5 + (terms.dof + len(terms.eigenvalues) + given) / 8 * (4.0 if self.noise is None else 1.0)

    def few_nodes(self, u: Array, mass: Array) -> tuple[Array, Array]:
        """The least number of Gauss nodes for which the posterior moments of every direction are accurate."""
        if len(u) == 1:
            return u, mass
        mean, variance = self._moments(u, mass)
        # All that depends on u levels off at both ends, so that polynomials of tanh approximate it better than of u.
        center = float(mass @ u)
        width = 2 * max(1.0, math.sqrt(float(mass @ (u - center) ** 2)))
        for n in (1, 3, 5, 7, 9):
            places, weights = gauss_nodes(np.tanh((u - center) / width), mass, n)
            nodes = center + width * np.arctanh(places)
            few_mean, few_variance = self._moments(nodes, weights)
            # To 0.1 % of the variances, and of a standard deviation.
            close = np.abs(few_variance - variance) <= 1e-3 * variance
            if close.all() and ((few_mean - mean) ** 2 <= 1e-6 * variance[: len(mean)]).all():
                break
        return nodes, weights

    def _moments(self, u: Array, mass: Array) -> tuple[Array, Array]:
        """Posterior means of the weights along each direction, and their variances, followed by those of the noise."""
        unit, _ = self.noise_variances(u)
        ratios = np.exp(u)[:, None]
        shrunk = 1.0 / (ratios + self.terms.eigenvalues)
        places = shrunk * np.sqrt(self.terms.eigenvalues * self.terms.projections)
        mean = mass @ places
        variance = (mass * unit) @ shrunk + mass @ (places - mean) ** 2
        rest = [mass @ unit, mass @ (unit / ratios[:, 0])] if self.null_space else [mass @ unit]
        return mean, np.append(variance, rest)


def _mass(log_density: Callable[[Array], Array], grid: Array, curvature: float) -> tuple[Array, Array, float]:
    """Points, their probabilities and ln ∫ exp(log density), by the trapezoidal rule on ever finer grids.

    The rule converges exponentially for analytic densities. Between two points the density can be larger than at
    both by a factor of exp(curvature · spacing²/8) at most, so nothing that could matter is left out.
    """
    u, f, spacing = grid, log_density(grid), float(grid[1] - grid[0])
    coarse = math.nan
    for _ in range(20):
        # A density below e⁻³² of the largest is left out.
        used = np.flatnonzero(f > f.max() - 32.0 - curvature * spacing**2 / 8)
        ends = slice(max(used[0] - 1, 0), used[-1] + 2)
        u, f = u[ends], f[ends]
        fine = float(logsumexp(f)) + math.log(spacing)
        if abs(fine - coarse) < 1e-8:
            break
        coarse, spacing = fine, spacing / 2
        between = 0.5 * (u[1:] + u[:-1])
        places = np.arange(1, len(u))
        u, f = np.insert(u, places, between), np.insert(f, places, log_density(between))
    mass = np.exp(f - f.max())
    return u, mass / mass.sum(), fine
