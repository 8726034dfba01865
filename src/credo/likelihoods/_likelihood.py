"""Likelihoods of one latent value for each row, and their Gaussian integrals for all rows at once.

    ∫ g(f) N(f | mean, var) df  by Gauss–Legendre between edges

The edges are those of the normal distribution (every few standard deviations) and the points where the likelihood has
its curvature, so that both wide and narrow distributions are resolved. They are relative to the center of each row, so
that they stay apart even if the mean is large.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Array = NDArray[np.float64]
LogProb = Callable[[Array, Array], Array]
Derivatives = Callable[[Array, Array], tuple[Array, Array, Array]]
# For one parameter, its derivatives of ln p, and of the first and second derivative of ln p by f.
ByParameter = tuple[Array, Array, Array]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(11)
# Beyond nine standard deviations there is 10⁻¹⁹ of a normal distribution; a likelihood that falls by e^a a unit of f
# moves the mass by a·var, which the edges around the integrand's mode follow.
_EDGES = np.array([-9.0, -6.0, -3.5, -1.5, 0.0, 1.5, 3.5, 6.0, 9.0])
# Steps to the mode of a log-concave integrand, of Newton's method or of bisection.
_MAX_STEPS = 100


def tilted_moments(
    log_prob: LogProb, derivatives: Derivatives, y: Array, mean: Array, var: Array, *, breakpoints: Array
) -> tuple[Array, Array, Array]:
    """ln Z and its first two derivatives by the mean."""
    mode, scale = _mode(derivatives, y, mean, var)
    std = np.sqrt(var)
    spans = _EDGES[:, None]
    offset, log_weights = _panels(np.concatenate([spans * scale, spans * std, _edges(breakpoints, mode, std)]))
    f = mode + offset
    logs = log_prob(y, f) - 0.5 * ((mode - mean + offset) / std) ** 2 + log_weights
    largest = logs.max(axis=0)
    share = np.exp(logs - largest)
    total = share.sum(axis=0)
    log_z = largest + np.log(total) - 0.5 * np.log(2 * np.pi * var)
    share /= total
    first, second, _ = derivatives(y, f)
    # Derivatives of ln Z as moments of those of ln p, or as moments of f: one of them subtracts nearly equal numbers,
    # the first if the likelihood dominates, the second if it hardly matters.
    slope = (share * first).sum(axis=0)
    curvature = (share * (second + (first - slope) ** 2)).sum(axis=0)
    center = (share * offset).sum(axis=0)
    ratio = (share * ((offset - center) / std) ** 2).sum(axis=0)
    narrow = ratio < 0.5
    slope = np.where(narrow, (mode - mean + center) / var, slope)
    curvature = np.where(narrow, (ratio - 1.0) / var, curvature)
    return log_z, slope, np.minimum(curvature, 0.0)


def expectation(
    log_prob: LogProb, derivatives: Derivatives, y: Array, mean: Array, var: Array, *, breakpoints: Array
) -> tuple[Array, Array, Array]:
    """E ln p(y | f), and its derivatives by mean (E of the first derivative) and by variance (half E of the second)."""
    std = np.sqrt(var)
    offset, log_weights = _panels(np.concatenate([_EDGES[:, None] * std, _edges(breakpoints, mean, std)]))
    f = mean + offset
    weights = np.exp(log_weights - 0.5 * offset**2 / var) / np.sqrt(2 * np.pi * var)
    first, second, _ = derivatives(y, f)
    return (
        (weights * log_prob(y, f)).sum(axis=0),
        (weights * first).sum(axis=0),
        0.5 * (weights * second).sum(axis=0),
    )


def _edges(breakpoints: Array, center: Array, std: Array) -> Array:
    """The breakpoints relative to each row's center, clipped to its range, where they make empty panels.

    `breakpoints` has shape (k,), or (k, n_rows) if rows have their own.
    """
    reach = 9.0 * std
    return np.clip((breakpoints if breakpoints.ndim == 2 else breakpoints[:, None]) - center, -reach, reach)


def _panels(edges: Array) -> tuple[Array, Array]:
    """Nodes of shape (n_nodes, n_rows) between the sorted edges of each row, and the logs of their weights."""
    edges = np.sort(edges, axis=0)
    middle, half = 0.5 * (edges[1:] + edges[:-1]), 0.5 * np.diff(edges, axis=0)
    nodes = middle[:, None] + half[:, None] * _NODES[None, :, None]
    with np.errstate(divide="ignore"):
        log_weights = np.log(half[:, None] * _WEIGHTS[None, :, None])
    return nodes.reshape(-1, edges.shape[1]), log_weights.reshape(-1, edges.shape[1])


def _mode(derivatives: Derivatives, y: Array, mean: Array, var: Array) -> tuple[Array, Array]:
    """The mode of p(y | f) N(f | mean, var), and the width of the normal distribution with its curvature there.

    The slope of ln p falls as f rises, so that the mode, where f = mean + var·slope(f), is between the mean and mean +
    var·slope(mean). If Newton's step would leave this bracket, or isn't half as long as the one before, it is
    replaced by bisection.
    """
    f = np.broadcast_to(mean, np.broadcast_shapes(y.shape, mean.shape, var.shape)).astype(np.float64).copy()
    first, second, _ = derivatives(y, f)
    lower, upper = np.minimum(f, mean + var * first), np.maximum(f, mean + var * first)
    length = np.full_like(f, np.inf)
    for _ in range(_MAX_STEPS):
        slope = first - (f - mean) / var
        lower, upper = np.where(slope > 0, f, lower), np.where(slope < 0, f, upper)
        precision = 1.0 / var - second
        newton = slope / precision
        arrived = np.abs(newton) <= 1e-3 / np.sqrt(precision)
        inside = (f + newton > lower) & (f + newton < upper) & (np.abs(newton) <= 0.5 * length)
        step = np.where(inside | arrived, newton, 0.5 * (lower + upper) - f)
        f, length = f + step, np.abs(step)
        first, second, _ = derivatives(y, f)
        if arrived.all():
            break
    return f, 1.0 / np.sqrt(1.0 / var - second)


class Likelihood(ABC):
    """p(y | f) of one observation given one latent value; immutable, vectorized over rows.

    A subclass defines `log_prob` and `derivatives`. The integrals are computed by quadrature unless it overrides them;
    that of `tilted` needs an ln p that is concave in f.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.likelihoods import Likelihood, Poisson
    >>> isinstance(Poisson(), Likelihood)
    True
    >>> slope, curvature, third = Poisson().derivatives(np.array([3.0]), np.array([0.0]))
    >>> slope, curvature
    (array([2.]), array([-1.]))
    """

    # Values of f where ln p is most curved, for the quadrature.
    _breakpoints: ClassVar[Array] = np.empty(0)
    # The names of its own positive parameters, which are learned by their logarithms.
    _parameters: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def log_prob(self, y: Array, f: Array) -> Array:
        """ln p(y | f)."""

    @abstractmethod
    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """The first, second and third derivative of ln p(y | f) by f."""

    @property
    def dispersion(self) -> dict[str, float]:
        """Its own parameters by name."""
        return {name: float(getattr(self, name)) for name in self._parameters}

    def by_parameters(self, y: Array, f: Array) -> list[ByParameter]:
        """For each parameter that `with_logs` sets, derivatives by its logarithm: of ln p, and of ∂ ln p and ∂² ln p.

        Empty if there are none to learn.
        """
        return []

    def with_logs(self, logs: Array) -> Self:
        """With parameters from their logarithms."""
        return self

    def tilted(self, y: Array, mean: Array, var: Array) -> tuple[Array, Array, Array]:
        """ln ∫ p(y | f) N(f | mean, var) df, and its first and second derivative by the mean."""
        return tilted_moments(self.log_prob, self.derivatives, y, mean, var, breakpoints=self._breakpoints)

    def expected(self, y: Array, mean: Array, var: Array) -> tuple[Array, Array, Array]:
        """∫ ln p(y | f) N(f | mean, var) df, and its derivatives by mean and by variance."""
        return expectation(self.log_prob, self.derivatives, y, mean, var, breakpoints=self._breakpoints)


@dataclass(frozen=True)
class Gaussian(Likelihood):
    """N(y | f, variance).

    Examples
    --------
    >>> import numpy as np
    >>> from credo.likelihoods import Gaussian
    >>> Gaussian(0.5).derivatives(np.array([1.0]), np.array([0.0]))[0]
    array([2.])
    """

    variance: float = 1.0

    def log_prob(self, y: Array, f: Array) -> Array:
        """ln N(y | f, variance)."""
        return -0.5 * (y - f) ** 2 / self.variance - 0.5 * math.log(2 * math.pi * self.variance)

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """(y − f)/variance, −1/variance, 0."""
        gap = y - f
        return gap / self.variance, np.full_like(gap, -1.0 / self.variance), np.zeros_like(gap)

    def tilted(self, y: Array, mean: Array, var: Array) -> tuple[Array, Array, Array]:
        """ln N(y | mean, var + variance) and its derivatives by the mean."""
        total, gap = var + self.variance, y - mean
        return -0.5 * gap**2 / total - 0.5 * np.log(2 * np.pi * total), gap / total, -1.0 / total

    def expected(self, y: Array, mean: Array, var: Array) -> tuple[Array, Array, Array]:
        """ln N(y | mean, variance) − var/(2·variance), and its derivatives."""
        first, second, _ = self.derivatives(y, mean + 0.0 * var)
        return self.log_prob(y, mean) - 0.5 * var / self.variance, first, 0.5 * second


# Larger log rates are set to this, so that squares of rates don't overflow.
_MAX_LOG_RATE = 300.0


@dataclass(frozen=True)
class Poisson(Likelihood):
    """p(y | f) = e^(yf − e^f)/y! for counts y = 0, 1, 2, …

    Examples
    --------
    >>> import numpy as np
    >>> from credo.likelihoods import Poisson
    >>> Poisson().expected(np.array([2.0]), np.array([0.0]), np.array([0.0]))[0].round(6)
    array([-1.693147])
    """

    _breakpoints: ClassVar[Array] = np.array([-40.0, -20.0, -10.0, -5.0, -2.0, 0.0, 1.5, 3.0, 4.5, 6.0])

    def log_prob(self, y: Array, f: Array) -> Array:
        """yf − e^f − ln y!."""
        return y * f - _exp(f) - gammaln(y + 1.0)

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """y − e^f, −e^f, −e^f."""
        rate = _exp(f)
        return y - rate, -rate, -rate

    def expected(self, y: Array, mean: Array, var: Array) -> tuple[Array, Array, Array]:
        """With E e^f = e^(mean + var/2)."""
        rate = _exp(mean + 0.5 * var)
        return y * mean - rate - gammaln(y + 1.0), y - rate, -0.5 * rate


def _exp(f: Array) -> Array:
    return np.exp(np.minimum(f, _MAX_LOG_RATE))


@dataclass(frozen=True, eq=False)
class Tempered(Likelihood):
    """p(y | f)^power, one power for each row.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.likelihoods import Gaussian, Tempered
    >>> Tempered(Gaussian(1.0), np.array([0.5])).derivatives(np.array([1.0]), np.array([0.0]))[0]
    array([0.5])
    """

    likelihood: Likelihood
    power: Array

    @property
    def _breakpoints(self) -> Array:  # type: ignore[override]
        return self.likelihood._breakpoints

    def log_prob(self, y: Array, f: Array) -> Array:
        """power·ln p(y | f)."""
        return self.power * self.likelihood.log_prob(y, f)

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """power times those of ln p."""
        first, second, third = self.likelihood.derivatives(y, f)
        return self.power * first, self.power * second, self.power * third

    def tilted(self, y: Array, mean: Array, var: Array) -> tuple[Array, Array, Array]:
        """As for any likelihood; in closed form for rows of power 1, if the likelihood has one."""
        rest = self.power != 1.0
        if rest.all():
            return super().tilted(y, mean, var)
        log_z, slope, curvature = (part.copy() for part in self.likelihood.tilted(y, mean, var))
        if rest.any():
            part = Tempered(self.likelihood, self.power[rest])
            log_z[rest], slope[rest], curvature[rest] = part.tilted(y[rest], mean[rest], var[rest])
        return log_z, slope, curvature
