"""Families of targets: which likelihood they have, where its parameters start, what is predicted from f ~ N(m, s²)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, ndtri, softmax

from credo.distributions import Distribution, Empirical, Log, Mixture, Normal, PoissonLogNormal, Transformed
from credo.likelihoods import (
    Beta,
    Gamma,
    Likelihood,
    LogNormal,
    Marginal,
    NegativeBinomial,
    Ordinal,
    Poisson,
    StudentT,
    Weibull,
    ZeroTruncated,
)

Array = NDArray[np.float64]

LOG_LINKS = ("poisson", "negative_binomial", "gamma")
# Of times until an event, which may be right-censored.
SURVIVAL = ("lognormal", "weibull")
REGRESSION = ("gaussian", "student", *LOG_LINKS, "beta", *SURVIVAL)
WORDS = {
    "gaussian": "normal", "student": "Student-t", "poisson": "Poisson", "negative_binomial": "negative binomial",
    "gamma": "gamma", "beta": "beta", "bernoulli": "Bernoulli", "categorical": "categorical",
    "ordinal": "cumulative logit", "lognormal": "log-normal", "weibull": "Weibull",
}  # fmt: skip


@dataclass(frozen=True)
class RowNoise:
    """A likelihood of one latent value for each row, as Laplace's method needs it."""

    likelihood: Likelihood
    y: Array
    weight: Array
    n_latents: int = 1

    def log_prob(self, F: Array) -> Array:
        """ln p of each row."""
        return self.weight * self.likelihood.log_prob(self.y, F[:, 0])

    def gradient(self, F: Array) -> Array:
        """Its derivative by the latent value."""
        return (self.weight * self.likelihood.derivatives(self.y, F[:, 0])[0])[:, None]

    def curvature(self, F: Array) -> Array:
        """The negative second derivative."""
        return -(self.weight * self.likelihood.derivatives(self.y, F[:, 0])[1])[:, None, None]

    def third(self, F: Array, Q: Array) -> Array:
        """½ Q times the third derivative."""
        return 0.5 * (self.weight * Q[:, 0, 0] * self.likelihood.derivatives(self.y, F[:, 0])[2])[:, None]

    def by_parameters(self, F: Array) -> list[tuple[Array, Array, Array]]:
        """Derivatives by the logs of the likelihood's parameters."""
        w, f = self.weight, F[:, 0]
        found = self.likelihood.by_parameters(self.y, f)
        return [(w * value, (w * first)[:, None], -(w * second)[:, None, None]) for value, first, second in found]


@dataclass(frozen=True)
class SoftmaxNoise:
    """Several classes: softmax(C F), with an orthonormal basis C of the differences between classes."""

    codes: NDArray[np.intp]
    weight: Array
    contrasts: Array

    @property
    def n_latents(self) -> int:
        """One less than there are classes."""
        return self.contrasts.shape[1]

    def _probs(self, F: Array) -> Array:
        return softmax(F @ self.contrasts.T, axis=1)

    def log_prob(self, F: Array) -> Array:
        """ln p of each row."""
        return self.weight * log_softmax(F @ self.contrasts.T, axis=1)[np.arange(len(F)), self.codes]

    def gradient(self, F: Array) -> Array:
        """Cᵀ(1_y − π)."""
        gap = -self._probs(F)
        gap[np.arange(len(F)), self.codes] += 1.0
        return self.weight[:, None] * (gap @ self.contrasts)

    def curvature(self, F: Array) -> Array:
        """Cᵀ(diag π − ππᵀ)C."""
        # As a sum of squares about the mean, which stays positive semidefinite if one class is almost certain.
        probs = self._probs(F)
        gaps = self.contrasts - (probs @ self.contrasts)[:, None, :]
        return np.einsum("n,nk,nka,nkb->nab", self.weight, probs, gaps, gaps, optimize=True)

    def third(self, F: Array, Q: Array) -> Array:
        """−½ ∂ tr(Q W)/∂F."""
        probs = self._probs(F)
        A = np.einsum("ka,nab,lb->nkl", self.contrasts, Q, self.contrasts)
        slope = np.einsum("nkk->nk", A) - 2.0 * np.einsum("nkl,nl->nk", A, probs)
        slope = probs * (slope - (probs * slope).sum(axis=1, keepdims=True))
        return -0.5 * self.weight[:, None] * (slope @ self.contrasts)

    def by_parameters(self, F: Array) -> list[tuple[Array, Array, Array]]:
        """It has no parameters."""
        return []


@dataclass(frozen=True)
class StartingPoint:
    """A likelihood, the logs of its parameters where their search starts, and the first guess of f."""

    likelihood: Likelihood
    logs: Array
    level: float


def starting_point(
    family: str, y: Array, weight: Array, *, positive: bool = False, observed: NDArray[np.bool_] | None = None
) -> StartingPoint:
    """For a family of numbers; `positive` if the zeros of counts have a part of their own.

    `observed` says which times ended with the event.
    """
    if family in SURVIVAL:
        logs = np.log(y)
        scale = max(math.sqrt(float(np.cov(logs, aweights=weight, ddof=0))), 1e-3)
        likelihood = (LogNormal if family == "lognormal" else Weibull)(scale, observed)
        return StartingPoint(likelihood, np.log([scale]), float(np.average(logs, weights=weight)))
    mean = float(np.average(y, weights=weight))
    spread = float(np.average((y - mean) ** 2, weights=weight))
    if family in ("poisson", "negative_binomial"):
        shape = mean**2 / max(spread - mean, 0.01 * mean + 1e-12)
        counts = Poisson() if family == "poisson" else NegativeBinomial(shape)
        logs = np.log([np.clip(shape, 1e-3, 1e3)]) if family == "negative_binomial" else np.empty(0)
        return StartingPoint(ZeroTruncated(counts) if positive else counts, logs, math.log(max(mean, 1e-8)))
    if family == "gamma":
        shape = max(mean**2 / max(spread, 1e-12 * mean**2), 1e-3)
        return StartingPoint(Gamma(shape), np.log([shape]), math.log(mean))
    if family == "beta":
        precision = max(mean * (1 - mean) / max(spread, 1e-9) - 1, 0.5)
        return StartingPoint(Beta(precision), np.log([precision]), math.log(mean / (1 - mean)))
    assert family == "student"
    return StartingPoint(StudentT(), np.log([0.7 * math.sqrt(spread) or 1.0, 5.0]), mean)


def ordinal_starting_point(codes: NDArray[np.intp], weight: Array, n_classes: int) -> StartingPoint:
    """Cuts at the logits of the cumulative frequencies."""
    share = np.cumsum(np.bincount(codes, weight, minlength=n_classes))[:-1] / weight.sum()
    cuts = np.log(share / (1.0 - share))
    gaps = np.maximum(np.diff(cuts), 1e-6)
    return StartingPoint(Ordinal(cuts), np.concatenate([cuts[:1], np.log(gaps)]), 0.0)


# Of f with a log link, the largest mean and standard deviation for which the variance of y, up to e^(2·mean + 2·std²),
# doesn't overflow. Beyond the range of the rows both may be larger, and are divided by the same number.
_MAX_LOG_MEAN, _MAX_LOG_STD = 200.0, 10.0


def _bounded(likelihood: Any, mean: Array, std: Array) -> tuple[Array, Array]:
    if isinstance(likelihood, Beta):
        return mean, std
    excess = np.maximum(np.maximum(np.abs(mean) / _MAX_LOG_MEAN, std / _MAX_LOG_STD), 1.0)
    return mean / excess, std / excess


def predictive(likelihood: Any, mean: Array, std: Array, zero: Array | None) -> Distribution:
    """The distribution of y for f ~ N(mean, std²)."""
    if isinstance(likelihood, StudentT):
        shares, variances = likelihood.components()
        return Mixture([Normal(mean, np.sqrt(std**2 + variance)) for variance in variances], shares)
    mean, std = _bounded(likelihood, mean, std)
    if isinstance(likelihood, LogNormal):
        return Transformed(Normal(mean, np.hypot(std, likelihood.scale)), Log())
    if isinstance(likelihood, Poisson):
        return PoissonLogNormal(mean, std)
    return Marginal(likelihood, mean, std, 0.0 if zero is None else zero)


# The middles of intervals of equal probability of a standard normal distribution.
_EVEN = ndtri((np.arange(401) + 0.5) / 401)


def latent(likelihood: Any, mean: Array, std: Array, zero: Array | None) -> Distribution:
    """The distribution of the mean of y given f, for f ~ N(mean, std²)."""
    if isinstance(likelihood, StudentT):
        return Normal(mean, std)
    mean, std = _bounded(likelihood, mean, std)
    if zero is None and not isinstance(likelihood, Beta):
        # The mean of a time is e^f times a number.
        shift = np.log(likelihood.mean(np.zeros(1))) if isinstance(likelihood, LogNormal | Weibull) else 0.0
        return Transformed(Normal(mean + shift, std), Log())
    share = 1.0 if zero is None else 1.0 - zero
    return Empirical(share * likelihood.mean(mean + std * _EVEN[:, None]))


def allowed(y: Array) -> tuple[str, ...]:
    """The families that the support of the target allows, for `family="auto"`."""
    if (y == y[0]).all():
        return ("gaussian",)
    if (y >= 0).all() and (y == np.floor(y)).all():
        return ("poisson", "negative_binomial")
    if (y > 0).all():
        return ("gaussian", "beta") if (y < 1).all() else ("gaussian", "gamma")
    return ("gaussian",)


def check_support(family: str, y: Array, *, zeros: bool) -> None:
    """Raise an error for a target outside the support of its family."""
    counts = (y >= 0) & (y == np.floor(y))
    rules = {
        "poisson": (counts, "counts 0, 1, 2, …"),
        "negative_binomial": (counts, "counts 0, 1, 2, …"),
        "gamma": ((y > 0) | (zeros & (y == 0)), "numbers above 0 (zeros=True allows zeros)"),
        "beta": ((y > 0) & (y < 1), "shares strictly between 0 and 1"),
        "lognormal": (y > 0, "times above 0"),
        "weibull": (y > 0, "times above 0"),
    }
    if family in rules and not rules[family][0].all():
        fits, words = rules[family]
        row = int(np.argmin(fits))
        raise ValueError(f'family="{family}" needs {words}; y is {y[row]:g} in row {row}')
    if family in ("poisson", "negative_binomial") and not y.any():
        raise ValueError("every count in y is zero, so that their rate can't be estimated: use rows with other counts")
