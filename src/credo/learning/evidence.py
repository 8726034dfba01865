"""The evidence of a Gaussian linear model and the precisions that maximize it.

With w ~ N(0, α⁻¹I), noise N(0, β⁻¹) and centred data with eigenvalues λᵢ = sᵢ², projections qᵢ and residual
sum of squares rss (Bishop 3.77–3.86, rotated to the singular basis),

    ln p(y|α,β) = ½ν ln(β/2π) − ½ Σ ln(1 + βλᵢ/α) − ½β [rss + Σ qᵢ²/(1 + βλᵢ/α)] − ½ ln n

with ν = n − 1 where a flat intercept was integrated out and ν = n (and no last term) where there is none. In terms of
the ratio ρ = α/β the bracket is D(ρ) = rss + Σ qᵢ² ρ/(ρ + λᵢ) and the best β is ν/D(ρ), so that maximizing over both
precisions is a one-dimensional search, solved to rounding error by `highest`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from credo.learning.peak import highest

Array = NDArray[np.float64]

# How far the scan extends beyond the eigenvalues, in natural logs. Above e^23 ≈ 1e10 times the largest, all weights are
# zero for practical purposes; targets that are exact linear functions of the inputs have ratios near 1e-31.
_REACH_UP = 23.0
_REACH_DOWN = 72.0
_SCAN = 160
# A scan holds at most this many numbers at a time.
_BLOCK = 1_000_000
# Share of the sum of squares below which a misfit counts as zero.
_NOISELESS = 1e-12

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
    >>> from credo.learning import Gamma
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
    >>> from credo.learning import EvidenceTerms, maximize_precisions
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
    >>> from credo.learning import EvidenceTerms
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

    def complexity(self, ratio: float) -> float:
        """½ Σ ln(1 + λᵢ/ρ), the complexity penalty."""
        # In logs, where λ/ρ can't overflow.
        return 0.5 * float(np.logaddexp(0.0, np.log(self.eigenvalues) - math.log(ratio)).sum())


def log_evidence(terms: EvidenceTerms, *, prior: float, noise: float | Gamma) -> float:
    """ln p(y | X) at a prior precision and a noise precision, or with the latter integrated out.

    For `noise` a `Gamma(a₀, b₀)`, w | β ~ N(0, (prior·β)⁻¹ I) and y is multivariate Student-t:
    the gamma integral gives a₀ ln b₀ − a_N ln b_N + ln Γ(a_N) − ln Γ(a₀), a_N = a₀ + ν/2, b_N = b₀ + D/2; for dβ/β
    it has no term of a₀ and b₀.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.learning import EvidenceTerms, Gamma, log_evidence
    >>> terms = EvidenceTerms(np.array([50.0, 20.0]), np.array([90.0, 0.4]), rss=10.0, dof=11.0, log_weight=np.log(12))
    >>> known = log_evidence(terms, prior=1.0, noise=1.0)
    >>> integrated = log_evidence(terms, prior=1.0, noise=Gamma(0.0, 0.0))
    >>> round(float(known), 3), round(float(integrated), 3)
    (-21.973, -21.878)
    """
    constant = -0.5 * terms.dof * math.log(2 * math.pi) - terms.log_weight
    if isinstance(noise, Gamma):
        shape, rate = gamma_posterior(terms, noise, prior)
        gamma = noise.log_constant - shape * math.log(rate) + math.lgamma(shape)
        return constant + gamma - terms.complexity(prior)
    ratio = prior / noise
    return constant + 0.5 * terms.dof * math.log(noise) - terms.complexity(ratio) - 0.5 * noise * terms.misfit(ratio)


def log_evidence_gradient(terms: EvidenceTerms, *, prior: float, noise: float) -> tuple[float, float]:
    """∂/∂ln α and ∂/∂ln β of the log evidence.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.learning import EvidenceTerms, log_evidence_gradient, maximize_precisions
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
    >>> from credo.learning import EvidenceTerms, log_evidence, maximize_precisions
    >>> terms = EvidenceTerms(np.array([50.0, 20.0]), np.array([90.0, 0.4]), rss=10.0, dof=11.0, log_weight=np.log(12))
    >>> best = maximize_precisions(terms, prior=None, noise=None)
    >>> bool(log_evidence(terms, prior=best.prior, noise=best.noise) > log_evidence(terms, prior=1.0, noise=1.0))
    True
    """
    if prior is not None and noise is None:
        top = highest(partial(_noise_value, terms, prior), partial(_noise_slope, terms, prior), noise_grid(terms))
        return Precisions(prior, math.exp(top.place), top.n_iter, _NOISE_MESSAGES[top.kind])
    if prior is not None:
        ratio = prior if isinstance(noise, Gamma) else math.nan
        n_iter, kind, message = 0, "given", "converged; the precisions were given"
    else:
        top = highest(partial(_ratio_value, terms, noise), partial(_ratio_slope, terms, noise), ratio_grid(terms))
        n_iter, kind = top.n_iter, top.kind
        ratio, message = math.exp(top.place), _PRIOR_MESSAGES[kind]
    unbounded = noise is None or (isinstance(noise, Gamma) and noise.is_improper)
    noiseless = unbounded and (kind == "low" or _is_noiseless(terms, ratio))
    message = _PRIOR_MESSAGES["low"] if noiseless else message
    if isinstance(noise, Gamma):
        shape, rate = gamma_posterior(terms, noise, ratio)
        return Precisions(ratio, shape / rate, n_iter, message, noiseless)
    if noise is None:
        noise = terms.dof / terms.misfit(ratio)
    return Precisions(ratio * noise if prior is None else prior, noise, n_iter, message, noiseless)


def gamma_posterior(terms: EvidenceTerms, prior: Gamma, ratio: float) -> tuple[float, float]:
    """Shape and rate of the noise precision given the data, a_N and b_N.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.learning import EvidenceTerms, Gamma, gamma_posterior
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
    return terms.dof <= len(terms.eigenvalues) and terms.misfit(ratio) < _NOISELESS * total


def _ratio_value(terms: EvidenceTerms, noise: float | Gamma | None, u: Array) -> Array:
    """The log evidence along u = ln ρ, up to a constant, for many u at once."""
    misfit, complexity = scan_terms(terms, u)
    if isinstance(noise, Gamma):
        return -(noise.shape + 0.5 * terms.dof) * np.log(2 * noise.rate + misfit) - complexity
    if noise is not None:
        return -0.5 * noise * misfit - complexity
    return -0.5 * terms.dof * np.log(misfit) - complexity


def _ratio_slope(terms: EvidenceTerms, noise: float | Gamma | None, u: float) -> float:
    """The derivative of `_ratio_value`: ½ (γ − β dD/d ln ρ)."""
    ratio = math.exp(u)
    share = terms.eigenvalues / (ratio + terms.eigenvalues)
    if isinstance(noise, Gamma):
        shape, rate = gamma_posterior(terms, noise, ratio)
        beta = shape / rate
    else:
        beta = noise if noise is not None else terms.dof / terms.misfit(ratio)
    return 0.5 * float(share.sum()) - 0.5 * beta * terms.misfit_slope(ratio)


def ratio_grid(terms: EvidenceTerms) -> Array:
    """Values of ln ρ from far below the eigenvalues to far above."""
    if not len(terms.eigenvalues):
        return np.zeros(1)
    low, high = math.log(float(terms.eigenvalues.min())), math.log(float(terms.eigenvalues.max()))
    return np.linspace(low - _REACH_DOWN, high + _REACH_UP, _SCAN)


def _noise_value(terms: EvidenceTerms, prior: float, v: Array) -> Array:
    """The log evidence along v = ln β with α given, up to a constant."""
    misfit, complexity = scan_terms(terms, math.log(prior) - v)
    return 0.5 * terms.dof * v - complexity - 0.5 * np.exp(v) * misfit


def _noise_slope(terms: EvidenceTerms, prior: float, v: float) -> float:
    return log_evidence_gradient(terms, prior=prior, noise=math.exp(v))[1]


def noise_grid(terms: EvidenceTerms) -> Array:
    """From the smallest noise variance that the data allow to the whole variance of the target."""
    total = terms.rss + float(terms.projections.sum())
    smallest = max(terms.rss, total * 1e-20, np.finfo(float).tiny)
    low, high = math.log(terms.dof / max(total, smallest)), math.log(terms.dof / smallest)
    return np.linspace(low - _REACH_UP, high + _REACH_UP, _SCAN)


def scan_terms(terms: EvidenceTerms, u: Array) -> tuple[Array, Array]:
    """D(ρ) and ½Σ ln(1+λ/ρ) at each u = ln ρ."""
    misfit, complexity = np.empty(len(u)), np.empty(len(u))
    log_eigenvalues = np.log(terms.eigenvalues)
    step = max(1, _BLOCK // max(1, len(terms.eigenvalues)))
    for start in range(0, len(u), step):
        part = u[start : start + step, None]
        ratios = np.exp(part)
        misfit[start : start + step] = terms.rss + (ratios / (ratios + terms.eigenvalues)) @ terms.projections
        complexity[start : start + step] = 0.5 * np.logaddexp(0.0, log_eigenvalues - part).sum(axis=1)
    return misfit, complexity
