"""Likelihoods with a parameter of dispersion: counts, positive numbers and shares; and counts without zeros.

Beside what `Likelihood` has, each gives the moments and the distribution function of y given f, from which predictive
distributions are made, and derivatives by the logarithms of its parameters, by which these are learned. They are for
Laplace's method; integrals over f by quadrature are tested for the negative binomial distribution only.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincc, digamma, expit, gammainc, gammaincc, gammaln, log_expit, polygamma

from credo.likelihoods._likelihood import ByParameter, Likelihood, Poisson

Array = NDArray[np.float64]
# Above this, a negative binomial distribution is a gamma distribution to rounding error.
_LARGE_COUNT = 1e13
# Larger log means are set to this, so that squares of means don't overflow.
_MAX_LOG_MEAN = 300.0


def bounded_exp(f: Array) -> Array:
    return np.exp(np.clip(f, -_MAX_LOG_MEAN, _MAX_LOG_MEAN))


def _tail(upper: Any, above: np.ufunc, below: np.ufunc, *arguments: Any) -> Array:
    """`above` where `upper`, and `below` elsewhere; only what is needed is evaluated."""
    upper, *given = np.broadcast_arrays(np.asarray(upper, dtype=bool), *arguments)
    if upper.all() or not upper.any():
        return np.asarray((above if upper.all() else below)(*arguments)) + np.zeros(upper.shape)
    # SciPy's incomplete gamma functions write beyond their output if they are called with `where`.
    found = np.empty(upper.shape)
    for function, side in ((above, upper), (below, ~upper)):
        found[side] = function(*(one[side] for one in given))
    return found


@dataclass(frozen=True)
class NegativeBinomial(Likelihood):
    """Counts with mean μ = e^f and variance μ + μ²/shape ("NB2"); a Poisson distribution for an infinite shape.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.likelihoods import NegativeBinomial
    >>> NegativeBinomial(2.0).variance(np.log([3.0]))
    array([7.5])
    """

    shape: float = 1.0

    _breakpoints: ClassVar[Array] = np.array([-40.0, -20.0, -10.0, -5.0, -2.0, 0.0, 1.5, 3.0, 4.5, 6.0, 10.0, 20.0])
    _parameters: ClassVar[tuple[str, ...]] = ("shape",)
    is_discrete: ClassVar[bool] = True
    support: ClassVar[tuple[float, float]] = (0.0, np.inf)

    def log_prob(self, y: Array, f: Array) -> Array:
        """ln Γ(y + a)/(Γ(a) y!) + a ln(1 − q) + y ln q, with q = μ/(a + μ)."""
        a, odds = self.shape, f - np.log(self.shape)
        binomial = gammaln(y + a) - gammaln(a) - gammaln(y + 1.0)
        return binomial + a * log_expit(-odds) + np.where(y > 0, y * log_expit(odds), 0.0)

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """y − (y + a)q, −(y + a)q(1 − q), and that times 1 − 2q."""
        q, rest = self._shares(f)
        total = y + self.shape
        second = -total * q * rest
        return y * rest - self.shape * q, second, second * (rest - q)

    def by_parameters(self, y: Array, f: Array) -> list[ByParameter]:
        """By the log of the shape."""
        a, (q, rest) = self.shape, self._shares(f)
        total, slope = y + a, q * rest
        value = digamma(total) - digamma(a) + log_expit(np.log(a) - f) + 1.0 - total * rest / a
        return [(a * value, -a * q + total * slope, -a * slope + total * (rest - q) * slope)]

    def with_logs(self, logs: Array) -> Self:
        """With parameters from their logarithms."""
        return replace(self, shape=float(np.exp(np.clip(logs[0], -15.0, 15.0))))

    def mean(self, f: Array) -> Array:
        """μ."""
        return bounded_exp(f)

    def variance(self, f: Array) -> Array:
        """μ + μ²/shape."""
        mean = bounded_exp(f)
        return mean + mean**2 / self.shape

    def tail(self, y: Array, f: Array, upper: Any) -> Array:
        """P(Y > y) where `upper`, else P(Y ≤ y)."""
        q, _ = self._shares(f)
        k = np.floor(y) + 1.0
        count = np.clip(k, 0.5, _LARGE_COUNT)
        inside = _tail(upper, betainc, betaincc, count, self.shape, q)
        if (k > _LARGE_COUNT).any():
            x = self.shape * k * bounded_exp(-f)
            inside = np.where(k > _LARGE_COUNT, _tail(upper, gammaincc, gammainc, self.shape, x), inside)
        return np.where(k >= 1, inside, np.where(upper, 1.0, 0.0))

    def draw(self, f: Array, rng: np.random.Generator) -> Array:
        """One draw for each latent value."""
        return rng.poisson(np.minimum(rng.gamma(self.shape, bounded_exp(f) / self.shape), 1e18)).astype(np.float64)

    def _shares(self, f: Array) -> tuple[Array, Array]:
        odds = f - np.log(self.shape)
        return expit(odds), expit(-odds)


@dataclass(frozen=True)
class Gamma(Likelihood):
    """Positive numbers with mean μ = e^f and variance μ²/shape.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.likelihoods import Gamma
    >>> Gamma(4.0).variance(np.log([2.0]))
    array([1.])
    """

    shape: float = 1.0

    _breakpoints: ClassVar[Array] = np.array([-20.0, -10.0, -6.0, -4.0, -2.0, 0.0, 2.0, 4.0, 6.0, 10.0, 20.0])
    _parameters: ClassVar[tuple[str, ...]] = ("shape",)
    is_discrete: ClassVar[bool] = False
    support: ClassVar[tuple[float, float]] = (0.0, np.inf)

    def log_prob(self, y: Array, f: Array) -> Array:
        """a ln a − af + (a − 1) ln y − a·y·e^(−f) − ln Γ(a)."""
        a = self.shape
        return a * np.log(a) - a * f + (a - 1.0) * np.log(y) - a * y * bounded_exp(-f) - gammaln(a)

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """a(r − 1), −ar, ar, with r = y/μ."""
        ratio = self.shape * y * bounded_exp(-f)
        return ratio - self.shape, -ratio, ratio

    def by_parameters(self, y: Array, f: Array) -> list[ByParameter]:
        """By the log of the shape."""
        a, ratio = self.shape, y * bounded_exp(-f)
        return [(a * (np.log(a) + 1.0 - f + np.log(y) - ratio - digamma(a)), a * (ratio - 1.0), -a * ratio)]

    def with_logs(self, logs: Array) -> Self:
        """With parameters from their logarithms."""
        return replace(self, shape=float(np.exp(np.clip(logs[0], -15.0, 25.0))))

    def mean(self, f: Array) -> Array:
        """μ."""
        return bounded_exp(f)

    def variance(self, f: Array) -> Array:
        """μ²/shape."""
        return bounded_exp(f) ** 2 / self.shape

    def tail(self, y: Array, f: Array, upper: Any) -> Array:
        """P(Y > y) where `upper`, else P(Y ≤ y)."""
        x = self.shape * np.maximum(y, 0.0) * bounded_exp(-f)
        return _tail(upper, gammaincc, gammainc, self.shape, x)

    def draw(self, f: Array, rng: np.random.Generator) -> Array:
        """One draw for each latent value."""
        return rng.gamma(self.shape, bounded_exp(f) / self.shape)


def _within_logits(f: Array) -> Array:
    """Without values beyond which products such as ψ′(μ)·μ² are ∞·0."""
    return np.clip(f, -34.0, 34.0)


@dataclass(frozen=True)
class Beta(Likelihood):
    """Shares between 0 and 1 with mean μ = σ(f) and variance μ(1 − μ)/(1 + precision).

    Its logarithm isn't concave in f, so that it has no tilted moments by quadrature around a mode.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.likelihoods import Beta
    >>> Beta(4.0).variance(np.array([0.0]))
    array([0.05])
    """

    precision: float = 1.0

    _breakpoints: ClassVar[Array] = np.array([-40.0, -20.0, -10.0, -6.0, -3.0, 0.0, 3.0, 6.0, 10.0, 20.0, 40.0])
    _parameters: ClassVar[tuple[str, ...]] = ("precision",)
    is_discrete: ClassVar[bool] = False
    support: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def log_prob(self, y: Array, f: Array) -> Array:
        """The log density with a = μ·precision and b = (1 − μ)·precision."""
        f = _within_logits(f)
        a, b = self._counts(f)
        scale = gammaln(self.precision) - gammaln(a) - gammaln(b)
        return scale + (a - 1.0) * np.log(y) + (b - 1.0) * np.log1p(-y)

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """By f, through μ = σ(f)."""
        f = _within_logits(f)
        first, second, third, _ = self._by_mean(y, f)
        up, down = expit(f), expit(-f)
        s = up * down
        # Derivatives of σ: s, change, and s((down − up)² − 2s).
        change = s * (down - up)
        return (
            first * s,
            second * s**2 + first * change,
            third * s**3 + 3.0 * second * s * change + first * s * ((down - up) ** 2 - 2.0 * s),
        )

    def by_parameters(self, y: Array, f: Array) -> list[ByParameter]:
        """By the log of the precision."""
        f = _within_logits(f)
        up, down = expit(f), expit(-f)
        s, (a, b), n = up * down, self._counts(f), self.precision
        _, _, _, gap = self._by_mean(y, f)
        value = digamma(n) + up * (np.log(y) - digamma(a)) + down * (np.log1p(-y) - digamma(b))
        first = gap - n * (up * polygamma(1, a) - down * polygamma(1, b))
        second = -2.0 * n * (polygamma(1, a) + polygamma(1, b))
        second -= n**2 * (up * polygamma(2, a) + down * polygamma(2, b))
        return [(n * value, n * first * s, n * (second * s**2 + first * s * (down - up)))]

    def with_logs(self, logs: Array) -> Self:
        """With parameters from their logarithms."""
        return replace(self, precision=float(np.exp(np.clip(logs[0], -15.0, 25.0))))

    def mean(self, f: Array) -> Array:
        """μ."""
        return expit(f)

    def variance(self, f: Array) -> Array:
        """μ(1 − μ)/(1 + precision)."""
        return expit(f) * expit(-f) / (1.0 + self.precision)

    def tail(self, y: Array, f: Array, upper: Any) -> Array:
        """P(Y > y) where `upper`, else P(Y ≤ y)."""
        a, b = self._counts(f)
        x = np.clip(y, 0.0, 1.0)
        return _tail(upper, betaincc, betainc, a, b, x)

    def draw(self, f: Array, rng: np.random.Generator) -> Array:
        """One draw for each latent value."""
        return rng.beta(*self._counts(f))

    def _counts(self, f: Array) -> tuple[Array, Array]:
        f = np.clip(f, -600.0, 600.0)
        return self.precision * expit(f), self.precision * expit(-f)

    def _by_mean(self, y: Array, f: Array) -> tuple[Array, Array, Array, Array]:
        """Derivatives of ln p by μ, and the first divided by the precision."""
        a, b = self._counts(f)
        n = self.precision
        gap = np.log(y) - np.log1p(-y) - digamma(a) + digamma(b)
        second = -(n**2) * (polygamma(1, a) + polygamma(1, b))
        return n * gap, second, -(n**3) * (polygamma(2, a) - polygamma(2, b)), gap


@dataclass(frozen=True)
class ZeroTruncated(Likelihood):
    """The likelihood of counts that are known not to be zero: p(y | f)/(1 − p(0 | f)) for y = 1, 2, …

    Examples
    --------
    >>> import numpy as np
    >>> from credo.likelihoods import Poisson, ZeroTruncated
    >>> ZeroTruncated(Poisson()).mean(np.array([0.0])).round(3)
    array([1.582])
    """

    likelihood: Poisson | NegativeBinomial = field(default_factory=Poisson)

    is_discrete: ClassVar[bool] = True
    support: ClassVar[tuple[float, float]] = (1.0, np.inf)

    @property
    def _breakpoints(self) -> Array:  # type: ignore[override]
        return self.likelihood._breakpoints

    def log_prob(self, y: Array, f: Array) -> Array:
        """ln p(y | f) − ln(1 − p(0 | f))."""
        zero = np.minimum(self.likelihood.log_prob(np.zeros_like(f), f), -1e-300)
        return self.likelihood.log_prob(y, f) - np.log(-np.expm1(zero))

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """Those of ln p(y | f), and of −ln(1 − e^g) with g = ln p(0 | f)."""
        first, second, third = self.likelihood.derivatives(y, f)
        odds, (g1, g2, g3) = self._odds(f), self.likelihood.derivatives(np.zeros_like(f), f)
        rise = odds * (1.0 + odds)
        by_f = rise * g1
        again = (1.0 + 2.0 * odds) * by_f * g1 + rise * g2
        return first + odds * g1, second + by_f * g1 + odds * g2, third + again * g1 + 2.0 * by_f * g2 + odds * g3

    @property
    def dispersion(self) -> dict[str, float]:
        """That of the likelihood."""
        return self.likelihood.dispersion

    def by_parameters(self, y: Array, f: Array) -> list[ByParameter]:
        """By the logs of the likelihood's parameters."""
        zero = np.zeros_like(f)
        odds, (g1, g2, _) = self._odds(f), self.likelihood.derivatives(zero, f)
        rise, found = odds * (1.0 + odds), []
        pairs = zip(self.likelihood.by_parameters(y, f), self.likelihood.by_parameters(zero, f), strict=True)
        for (value, first, second), (g, by1, by2) in pairs:
            change = rise * g
            found.append((
                value + odds * g,
                first + change * g1 + odds * by1,
                second + (1.0 + 2.0 * odds) * change * g1**2 + 2.0 * rise * g1 * by1 + change * g2 + odds * by2,
            ))  # fmt: skip
        return found

    def with_logs(self, logs: Array) -> Self:
        """With parameters from their logarithms."""
        return replace(self, likelihood=self.likelihood.with_logs(logs))

    def mean(self, f: Array) -> Array:
        """μ/(1 − p(0))."""
        return np.maximum(self._whole.mean(f) / self._above(f), 1.0)

    def variance(self, f: Array) -> Array:
        """E y²/(1 − p(0)) less the squared mean."""
        mean = self._whole.mean(f)
        return np.maximum((self._whole.variance(f) + mean**2) / self._above(f) - self.mean(f) ** 2, 0.0)

    def tail(self, y: Array, f: Array, upper: Any) -> Array:
        """P(Y > y) where `upper`, else P(Y ≤ y)."""
        above = np.minimum(self._whole.tail(np.maximum(y, 0.0), f, True) / self._above(f), 1.0)
        return np.where(upper, above, 1.0 - above)

    def draw(self, f: Array, rng: np.random.Generator) -> Array:
        """One draw for each latent value, by the inverse of the distribution function."""
        found = self._whole.draw(f, rng)
        # A mean below 1/100 almost always gives zero: the value is then one, up to its square.
        for _ in range(2000):
            zero = found == 0
            if not zero.any():
                break
            found[zero] = self._whole.draw(f[zero], rng)
        return np.maximum(found, 1.0)

    @property
    def _whole(self) -> Any:
        return _PoissonMoments() if isinstance(self.likelihood, Poisson) else self.likelihood

    def _odds(self, f: Array) -> Array:
        """p(0)/(1 − p(0))."""
        return 1.0 / np.expm1(np.maximum(-self.likelihood.log_prob(np.zeros_like(f), f), 1e-300))

    def _above(self, f: Array) -> Array:
        return np.maximum(-np.expm1(self.likelihood.log_prob(np.zeros_like(f), f)), 1e-300)


class _PoissonMoments:
    """Moments and distribution function of a Poisson distribution given f."""

    def mean(self, f: Array) -> Array:
        return bounded_exp(f)

    def variance(self, f: Array) -> Array:
        return bounded_exp(f)

    def tail(self, y: Array, f: Array, upper: Any) -> Array:
        k = np.floor(y) + 1.0
        inside = _tail(upper, gammainc, gammaincc, np.maximum(k, 0.5), bounded_exp(f))
        return np.where(k >= 1, inside, np.where(upper, 1.0, 0.0))

    def draw(self, f: Array, rng: np.random.Generator) -> Array:
        return rng.poisson(np.minimum(bounded_exp(f), 1e18)).astype(np.float64)
