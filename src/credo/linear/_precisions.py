"""What a Bayesian linear model learns from the spectrum of its data: precisions, posterior and evidence."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.estimator import Result, positive
from credo.learning import (
    EvidenceTerms,
    Gamma,
    PrecisionMixture,
    Precisions,
    gamma_posterior,
    integrate_precisions,
    log_evidence,
    maximize_precisions,
)
from credo.learning.linear_posterior import Posterior
from credo.learning.spectrum import Spectrum

Array = NDArray[np.float64]

_EPS = float(np.finfo(np.float64).eps)

_NOISE_OPTIONS = ("integrate", "evidence", "conjugate")


@dataclass(frozen=True)
class Learned:
    """The outcome of a fit; `noiseless` means that the evidence grows without bound as the noise goes to zero."""

    posterior: Posterior
    prior_precision: float
    noise_precision: float
    effective_dof: float
    log_evidence: float
    result: Result
    noiseless: bool = False


@dataclass(frozen=True)
class Settings:
    """`prior_precision`, `noise_precision` and `noise_prior` of the model, which are checked here."""

    prior: float | str
    noise: float | str
    noise_prior: tuple[float, float] | None

    def __post_init__(self) -> None:
        if isinstance(self.noise, str) and self.noise not in _NOISE_OPTIONS:
            raise ValueError(
                f'noise_precision must be a positive number, "integrate", "evidence" or "conjugate"; got {self.noise!r}'
            )
        words = ("integrate", "evidence")
        if self.prior not in words:
            positive("prior_precision", self.prior, words=words)
        if self.prior == "integrate" and self.noise == "evidence":
            raise ValueError(
                'noise_precision="evidence" maximizes over both precisions: set prior_precision to "evidence" or to a '
                'number as well, or noise_precision to "integrate"'
            )

    @property
    def given_prior(self) -> float | None:
        return None if isinstance(self.prior, str) else positive("prior_precision", self.prior)

    @property
    def integrates(self) -> bool:
        """Whether an integral over the ratio of the precisions is needed."""
        return self.prior == "integrate" or (self.noise == "integrate" and self.given_prior is not None)

    @property
    def is_relative(self) -> bool:
        """Whether a given prior precision is relative to the noise precision."""
        return self.noise == "conjugate"

    def noise_of(self, terms: EvidenceTerms, y_square: float) -> float | Gamma | None:
        """β as a number or a gamma prior; None if the evidence is maximized over it, or α is given and it isn't."""
        if self.noise == "evidence" or (self.noise == "integrate" and self.given_prior is not None):
            return None
        if self.noise == "integrate":
            return Gamma(0.0, 0.0)
        if self.noise != "conjugate":
            return positive("noise_precision", self.noise)
        if self.noise_prior is not None:
            shape, rate = self.noise_prior
            if shape == 0 and rate == 0:
                return Gamma(0.0, 0.0)
            return Gamma(positive("noise_prior shape", shape), positive("noise_prior rate", rate))
        # A single row has no variance; its square is used instead, as in `_provisional`.
        spread = (terms.rss + float(terms.projections.sum())) / terms.dof if terms.dof >= 1 else y_square
        return Gamma(0.5, (spread or 1.0) / 200)


def learn(data: Spectrum, prior_mean: Array, settings: Settings) -> Learned:
    """Precisions, then posterior, then evidence."""
    terms = _evidence_terms(data, prior_mean)
    noise = settings.noise_of(terms, data.y_square)
    alpha = settings.given_prior
    if terms.dof < 1 and (noise is None or (isinstance(noise, Gamma) and noise.is_improper)):
        return _of_point(data, terms, prior_mean, _provisional(data, alpha), None, relative=False)
    if settings.integrates:
        return _of_mixture(data, terms, prior_mean, alpha, noise, relative=settings.is_relative)
    found = maximize_precisions(terms, prior=alpha, noise=noise)
    return _of_point(data, terms, prior_mean, found, noise, relative=settings.is_relative)


def _of_point(
    data: Spectrum,
    terms: EvidenceTerms,
    prior_mean: Array,
    found: Precisions,
    noise: float | Gamma | None,
    *,
    relative: bool,
) -> Learned:
    """With the ratio of the precisions given, or at the maximum of the evidence."""
    df, unit, ratio = math.inf, 1.0 / found.noise if found.noise else math.inf, found.prior / (found.noise or math.nan)
    beta: float | Gamma = found.noise
    if isinstance(noise, Gamma):
        shape, rate = gamma_posterior(terms, noise, found.prior)
        ratio, unit, df, beta = found.prior, rate / shape, 2 * shape, noise
    prior = found.prior if relative or not isinstance(noise, Gamma) else found.prior * found.noise
    _require_finite(prior, found.noise, ratio)
    return Learned(
        Posterior.of_ratios(data, np.array([ratio]), np.ones(1), np.array([unit]), df=df, prior_mean=prior_mean),
        prior,
        found.noise,
        _effective(terms, ratio),
        log_evidence(terms, prior=found.prior, noise=beta),
        Result(found.n_iter >= 0, max(found.n_iter, 0), found.message),
        found.noiseless,
    )


def _of_mixture(
    data: Spectrum,
    terms: EvidenceTerms,
    prior_mean: Array,
    alpha: float | None,
    noise: float | Gamma | None,
    *,
    relative: bool,
) -> Learned:
    """With the ratio of the precisions integrated out."""
    found = integrate_precisions(
        terms,
        row_square=float(terms.eigenvalues.sum()) / data.weight,
        prior=alpha,
        noise=noise,
        null_space=not data.spans_all,
    )
    with np.errstate(all="ignore"):
        prior = np.float64(found.noise_variance if relative else 1.0) / found.prior_variance
        beta = 1.0 / np.float64(found.noise_variance)
    _require_finite(float(prior), float(beta), *found.ratios)
    return Learned(
        Posterior.of_ratios(
            data, found.ratios, found.weights, found.noise_variances, df=found.df, prior_mean=prior_mean
        ),
        float(prior),
        float(beta),
        float(found.weights @ [_effective(terms, ratio) for ratio in found.ratios]),
        found.log_evidence,
        Result(True, len(found.ratios), _message(terms, found, alpha, noise)),
    )


def _message(terms: EvidenceTerms, found: PrecisionMixture, alpha: float | None, noise: float | Gamma | None) -> str:
    if not len(terms.eigenvalues):
        return "converged; all columns are constant, so the prior precision can't be estimated"
    if alpha is None and noise is not None:
        # The limit of an infinite prior precision.
        empty = EvidenceTerms(np.empty(0), np.empty(0), terms.rss + float(terms.projections.sum()), terms.dof, 0.0)
        if log_evidence(empty, prior=1.0, noise=noise) - terms.log_weight > found.log_evidence:
            return "converged; the evidence is higher without any linear effect; a nonlinear model may still do better"
    return "converged; the precisions are integrated out"


def _effective(terms: EvidenceTerms, ratio: float) -> float:
    """γ of Bishop 3.91."""
    return float((terms.eigenvalues / (terms.eigenvalues + ratio)).sum())


def _require_finite(prior: float, noise: float, *ratios: float) -> None:
    if not 0 < prior < math.inf or not 0 < noise < math.inf or not all(0 < ratio < math.inf for ratio in ratios):
        raise ValueError(
            f"the prior precision of the coefficients would be {prior:.3g}, and the noise precision "
            f"{noise:.3g}, which overflow or underflow: change the units of X or y"
        )


def _evidence_terms(data: Spectrum, prior_mean: Array) -> EvidenceTerms:
    """What the evidence depends on, with residuals no smaller than the rounding error of the targets."""
    projections = (data.q - data.s * (data.V.T @ prior_mean)) ** 2
    floor = data.weight * (256 * _EPS) ** 2 * data.y_square
    return EvidenceTerms(
        eigenvalues=data.s**2,
        projections=projections,
        rss=max(data.rss, floor, 1e-200),
        dof=data.dof,
        log_weight=0.5 * math.log(data.weight) if data.centered else 0.0,
    )


def _provisional(data: Spectrum, alpha: float | None) -> Precisions:
    """Provisional precisions as long as there are too few rows to estimate them."""
    noise = 1.0 / data.y_square if data.y_square > 0 else 1.0
    return Precisions(
        noise if alpha is None else alpha,
        noise,
        n_iter=-1,
        message="too few rows to estimate the precisions: provisional values are used until more rows are added",
    )
