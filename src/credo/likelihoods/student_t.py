"""Student-t noise: outliers have little influence on the latent values.

The density is a scale mixture of normals, y | f, w ~ N(f, scale²/w) with w ~ Gamma(df/2, df/2), and its logarithm a
convex function h of the squared deviation (y − f)²: every tangent of h is the logarithm of a normal density and a lower
bound. The methods with `squares` belong to that bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammainc, gammaincinv

from credo.distributions.student_t import gamma_ratio
from credo.likelihoods._likelihood import ByParameter, Likelihood, expectation

Array = NDArray[np.float64]

# Where ln p is most curved, in units of √df·scale from y, for the quadrature of expectations.
_LEVELS = 0.5 * 4.0 ** np.arange(15)
_BREAKPOINTS = np.concatenate([-_LEVELS[::-1], [0.0], _LEVELS])
# Nodes over ln w of tilted moments, and how far below its largest value the integrand is left out.
_N_NODES, _NEGLIGIBLE_NATS = 161, 45.0
# Normal components of the noise: the distance of two nodes, in ln w and in standard deviations of ln w, and the
# probability of what is left to the wide intervals of the tail, which end at these distances.
_NODE_SPACING, _TAIL_PROBABILITY = 0.6, 1e-6
_TAIL_EDGES = np.array([0.0, 1.5, 3.0, 4.5, 6.5, 8.5, 11.0, 14.0, 18.0, 24.0, 40.0])


@dataclass(frozen=True)
class StudentT(Likelihood):
    """The Student-t density of (y − f)/scale, divided by scale. Its logarithm isn't concave in f.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.likelihoods import StudentT
    >>> StudentT(scale=1.0, df=4.0).derivatives(np.array([100.0]), np.array([0.0]))[0].round(3)
    array([0.05])
    """

    scale: float = 1.0
    df: float = 4.0

    _parameters: ClassVar[tuple[str, ...]] = ("scale", "df")

    def log_prob(self, y: Array, f: Array) -> Array:
        """ln Γ((df+1)/2) − ln Γ(df/2) − ½ ln(π·df·scale²) − ½(df+1) ln(1 + (y−f)²/(df·scale²))."""
        return self.at_squares((y - f) ** 2)

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """With g = y − f and c = df·scale²: (df+1) times g/(c+g²), (g²−c)/(c+g²)² and 2g(g²−3c)/(c+g²)³."""
        gap, c = y - f, self.df * self.scale**2
        total, more = c + gap**2, self.df + 1.0
        first = gap / total
        second = (gap**2 - c) / total
        return more * first, more * second / total, more * 2.0 * first * (gap**2 - 3.0 * c) / total / total

    def tilted(self, y: Array, mean: Array, var: Array) -> tuple[Array, Array, Array]:
        """By quadrature over ln w, given which the integral over f is that of two normals."""
        gap, var = np.broadcast_arrays(np.asarray(y - mean, dtype=np.float64), var)
        half = 0.5 * self.df

        def parts(u: Array) -> tuple[Array, Array]:
            total = var + self.scale**2 * np.exp(-u)
            # (df/2)(u + 1 − e^u) has no large terms that cancel.
            return half * (u - np.expm1(u)) - 0.5 * np.log(total) - 0.5 * gap**2 / total, total

        # w is between its mode under the prior and the one given f = mean, or a little beyond.
        margin = 9.0 * max(1.0, 1.0 / self.df) / math.sqrt(half) + 3.0 * (self.df < 20)
        low = np.log((self.df + 1.0) / (self.df + (gap / self.scale) ** 2)) - margin - 60.0 / self.df * (half < 30)
        high = np.full_like(low, min(margin, 5.0))
        for _ in range(3):
            u = low + np.linspace(0.0, 1.0, _N_NODES)[:, None] * (high - low)
            logs, total = parts(u)
            inside = logs > logs.max(axis=0) - _NEGLIGIBLE_NATS
            step = (high - low) / (_N_NODES - 1)
            first, last = np.argmax(inside, axis=0), _N_NODES - 1 - np.argmax(inside[::-1], axis=0)
            low, high = low + step * np.maximum(first - 1, 0), low + step * np.minimum(last + 1, _N_NODES - 1)
        largest = logs.max(axis=0)
        share = np.exp(logs - largest)
        mass = share.sum(axis=0)
        # The constant of the Gamma density of ln w, relative to its mode.
        constant = half * math.log(half) - half - math.lgamma(half) - 0.5 * math.log(2 * math.pi)
        log_z = largest + np.log(mass * step) + constant
        share = share / mass
        slope = (share * gap / total).sum(axis=0)
        curvature = (share * ((gap / total - slope) ** 2 - 1.0 / total)).sum(axis=0)
        return log_z, slope, curvature

    def expected(self, y: Array, mean: Array, var: Array) -> tuple[Array, Array, Array]:
        """By quadrature; the derivative by the variance is positive where f is most probably far from y."""
        breakpoints = y + _BREAKPOINTS[:, None] * math.sqrt(self.df) * self.scale
        return expectation(self.log_prob, self.derivatives, y, mean, var, breakpoints=breakpoints)

    def at_squares(self, squares: Array) -> Array:
        """h: the log density at a squared deviation, or a lower bound on its expectation at the expected square."""
        c = self.df * self.scale**2
        peak = float(gamma_ratio(np.array(self.df / 2))) - 0.5 * math.log(math.pi * c)
        return peak - 0.5 * (self.df + 1.0) * np.log1p(squares / c)

    def by_parameters(self, y: Array, f: Array) -> list[ByParameter]:
        """By the logs of scale and df; ln p is a function of (y − f)/scale, less ln scale."""
        gap, df, variance = y - f, self.df, self.scale**2
        first, second, third = self.derivatives(y, f)
        by_scale = (gap * first - 1.0, gap * second - first, gap * third - 2.0 * second)
        _, by_df = self.at_squares_by_parameters(gap**2)
        c, total, more = df * variance, df * variance + gap**2, df + 1.0
        slope = gap / total - more * gap * variance / total**2
        curvature = (gap**2 - c - more * variance) / total**2 - 2.0 * more * variance * (gap**2 - c) / total**3
        return [by_scale, (df * by_df, df * slope, df * curvature)]

    def with_logs(self, logs: Array) -> Self:
        """With scale and df from their logarithms."""
        scale, df = np.exp(np.clip(logs, [-30.0, -1.0], [30.0, 7.0])).tolist()
        return replace(self, scale=scale, df=df)

    def at_squares_by_parameters(self, squares: Array) -> tuple[Array, Array]:
        """∂h by scale² and by df."""
        variance, df = self.scale**2, self.df
        ratio = squares / (df * variance)
        by_variance = 0.5 * (squares / variance - 1.0) / (variance * (1.0 + ratio))
        constant = 0.5 * (digamma(0.5 * (df + 1.0)) - digamma(0.5 * df) - 1.0 / df)
        return by_variance, constant - 0.5 * np.log1p(ratio) + 0.5 * (df + 1.0) * ratio / (df * (1.0 + ratio))

    def site_variance(self, squares: Array) -> Array:
        """The variance −1/2h' of the normal density whose logarithm touches h: scale²/E w, always positive."""
        return (self.df * self.scale**2 + squares) / (self.df + 1.0)

    def components(self) -> tuple[Array, Array]:
        """Weights and variances of zero-mean normals whose mixture is the noise.

        The trapezoidal rule over ln w, whose errors fall exponentially with the distance of its nodes, and for its
        lowest values a few intervals with their exact probability and expected variance. So the variance, which needs
        df > 2, is exact, and the tail falls like a power over forty e-foldings.
        """
        half = 0.5 * self.df
        step = min(_NODE_SPACING, 1.5 / math.sqrt(self.df))
        low = math.log(gammaincinv(half, _TAIL_PROBABILITY) / half)
        high = math.log(gammaincinv(half, 1.0 - 1e-15) / half)
        u = low + step * (0.5 + np.arange(math.ceil((high - low) / step)))
        logs = half * (u - np.expm1(u))
        core = np.exp(logs - logs.max())
        edges = low - _TAIL_EDGES
        below = np.append(gammainc(half, half * np.exp(edges)), 0.0)
        mass = below[:-1] - below[1:]
        core *= (1.0 - below[0]) / core.sum()
        variances = np.exp(-u)
        if self.df > 2.0:
            beyond = np.append(gammainc(half - 1.0, half * np.exp(edges)), 0.0)
            tail = half / (half - 1.0) * (beyond[:-1] - beyond[1:]) / np.where(mass > 0, mass, 1.0)
            # Corrects the variance for rounding and for the error of the rule.
            variances *= (half / (half - 1.0) - mass @ tail) / (core @ variances)
        else:
            tail = np.exp(-edges)
        kept = mass > 0
        weights = np.concatenate([mass[kept], core])
        return weights / weights.sum(), self.scale**2 * np.concatenate([tail[kept], variances])
