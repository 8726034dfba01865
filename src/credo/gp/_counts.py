"""Counts whose log rate is a Gaussian process: a bound on the evidence, and predictions.

    y ~ Poisson(e^f(x)),    f ~ GP(m, k)

The posterior of f is approximated by the normal distribution that maximizes the variational bound. Its Gaussian sites
are observations z of f with noise r; given these the process is exact, with the flat coefficients of the mean
integrated out. So every representation that handles targets with noise also handles counts, and the gradient of the
bound is that of the evidence of z with fixed sites.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from credo.core.fields import Axes, Inner, Where
from credo.core.inference import Approximation, Gradient, vi
from credo.distributions import Distribution, Log, Normal, PoissonLogNormal, Transformed
from credo.gp._noise import Found, Noise
from credo.gp._objective import EvidenceObjective
from credo.gp._observations import Observations, Process, TrainingData
from credo.gp._posterior import FittedNoise, Posterior
from credo.kernels import Kernel
from credo.likelihoods import Poisson as PoissonLikelihood

Array = NDArray[np.float64]

# The smallest precision of a site; a count with a smaller rate says nothing about f.
_MIN_PRECISION = 1e-8
# For larger counts, rounding errors of ln y! are of the order of nats.
_MAX_COUNT = 1e12
# Tolerance of the bound during a search, in nats.
_SEARCH_TOLERANCE = 1e-8


def _is_count(y: Array) -> NDArray[np.bool_]:
    """Or missing."""
    return np.isnan(y) | ((y >= 0) & (y == np.floor(y)))


@dataclass(frozen=True, kw_only=True)
class CountObjective(EvidenceObjective):
    """The bound on the evidence of counts. `observations` has the mean count of each row and its weight.

    `log_factorials` is Σ ln y! over the counts merged into a row.
    """

    log_factorials: Array

    def subset(self, rows: NDArray[np.intp]) -> Self:
        counts = self.observations.Y[:, 0]
        if not counts[rows].any():
            # Without any event, the flat mean of the log rate has no maximum.
            rows = np.append(rows[1:], np.argmax(counts))
        return replace(super().subset(rows), log_factorials=self.log_factorials[rows])

    def at(self, vector: Array) -> tuple[float, Callable[[], Array]]:
        """The bound on ln p(y)."""
        found = self._approximation(self.kernel_at(vector))
        return self._bound(found), lambda: found.gradient().by_kernel

    def found(self, data: TrainingData, theta: Array, thetas: Array) -> Found:
        """The sites of single counts; those of counts at the same inputs multiply to the site of their mean."""
        found = self._approximation(self.kernel_at(theta))
        index, y, weight = data.merged.index, data.Y[:, 0], data.weight
        mean, log_rate = found.posterior.mean[index], (found.posterior.mean + 0.5 * found.posterior.variance)[index]
        rate = np.maximum(np.exp(log_rate), _MIN_PRECISION)
        variances, sites = 1.0 / (weight * rate), mean + y / rate - 1.0
        levels = np.array([(1.0 / variances).sum() / weight.sum()])
        noise = FittedCounts(rows=variances[None], levels=levels, targets=sites)
        return Found(noise, self._bound(found), "" if found.converged else found.message)

    def _bound(self, found: Approximation) -> float:
        rows = self.observations
        return found.log_evidence + float(rows.weight @ gammaln(rows.Y[:, 0] + 1.0) - self.log_factorials.sum())

    def _approximation(self, kernel: Kernel) -> Approximation:
        y, weight = self.observations.Y[:, 0], self.observations.weight
        precision = weight * (y + 0.5)
        options: dict[str, Any] = {"start": (precision, precision * np.log(y + 0.5))}
        if self.last is not None:
            options = {"start": self.last.get("start", options["start"]), "tolerance": _SEARCH_TOLERANCE}
        prior: Any = _Prior(self.observations, kernel)
        found = vi(prior, y, PoissonLikelihood(), weight=weight, **options)
        if self.last is not None and found.converged:
            self.last["start"] = found.start
        return found


@dataclass(frozen=True)
class _Prior:
    """f ~ GP(m, k) with a flat mean, for `vi`."""

    observations: Observations
    kernel: Kernel

    def sites(self, precision: Array, location: Array) -> _Sites:
        precision = np.maximum(precision, _MIN_PRECISION)
        process = sites_of(self.observations, location / precision).condition(self.kernel, 1.0 / precision)
        return _Sites(process, precision, location)


@dataclass(frozen=True)
class _Sites:
    """The process given Gaussian sites exp(−½τf² + νf), as observations ν/τ of noise 1/τ."""

    process: Process
    precision: Array
    location: Array

    @cached_property
    def mean(self) -> Array:
        return self.process.posterior().mean[:, 0]

    @cached_property
    def variance(self) -> Array:
        return self.process.posterior().variance

    @cached_property
    def divergence(self) -> float:
        """E ln q − E ln p(f) = E ln N(z | f, r) − ln p(z)."""
        squares = np.square(self.process.observations.Y[:, 0] - self.mean) + self.variance
        expected = 0.5 * (np.log(self.precision / (2 * np.pi)) - self.precision * squares)
        return float(expected.sum()) - self.process.log_evidence

    def gradient(self, by_mean: Array | None = None) -> Gradient:
        return self.process.gradient()


def sites_of(observations: Observations, targets: Array) -> Observations:
    """The same rows with observations of f in place of counts, one for each row."""
    n = len(targets)
    return replace(observations, Y=targets[:, None], weight=np.ones(n), scatter=np.zeros(n))


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedCounts(FittedNoise):
    """Normal observations of the log rate in place of counts, with these targets."""

    targets: Annotated[Array, Axes("n")]

    def observations(self, rows: Observations) -> Observations:
        return sites_of(rows, self.targets)

    def entries(self, data: TrainingData) -> list[tuple[str, float]]:
        return []


def _has_counts(data: TrainingData) -> bool:
    return bool(_is_count(data.Y).all() and np.nanmax(data.Y) <= _MAX_COUNT)


@dataclass(frozen=True, eq=False)
class CountPosterior(Posterior):
    """Predictions of counts, by one process for the log rate."""

    data: Annotated[TrainingData, Inner(n="n", d="d", t="t"), Where(_has_counts, "of counts")]
    noise: Annotated[FittedCounts, Inner(n="n", k="k")]

    @property
    def _least_noise(self) -> float:
        return float(self.noise.rows.min())

    def mean(self, rows: Array) -> Array:
        mean, variance = self.processes[0].moments(rows)
        return np.exp(mean + 0.5 * variance)

    def predictive(self, rows: Array, *, latent: bool = False) -> list[Distribution]:
        """The distribution of the counts, or of the rate."""
        mean, variance = (part[:, 0] for part in self.processes[0].moments(rows))
        std = np.sqrt(variance)
        return [Transformed(Normal(mean, std), Log()) if latent else PoissonLogNormal(mean, std)]

    def left_out(self) -> list[Distribution]:
        self._require_determined()
        process, (mean, variance) = self.processes[0], self._left_out[0]
        std = np.sqrt(np.maximum(variance[:, 0] - process.noise, 0.0))
        return [PoissonLogNormal(mean[:, 0], std)[self.data.index]]

    def noise_variance(self, rows: Array) -> Array:
        return self.mean(rows)

    def covariance(self, rows: Array, target: int, *, latent: bool) -> Array:
        """cov(e^f, e^g) = E e^f · E e^g · (e^cov(f, g) − 1), and the variance of a count given its rate, E e^f."""
        mean = self.mean(rows)[:, 0]
        cov = np.outer(mean, mean) * np.expm1(super().covariance(rows, target, latent=True))
        return cov if latent else cov + np.diag(mean)

    def draws(self, rows: Array, n: int, rng: np.random.Generator, method: str) -> list[Array]:
        """n draws of the rate."""
        return [np.exp(drawn) for drawn in super().draws(rows, n, rng, method)]

    def _expected_noise(self, rows: Array, k: int) -> Any:
        """The variance of the site of one count."""
        return 1.0 / np.maximum(self.mean(rows)[:, 0], _MIN_PRECISION)


@dataclass(frozen=True)
class Poisson(Noise):
    """Counts whose log rate is the process; predictions are of counts.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.gp import GPRegressor, Poisson
    >>> x = np.linspace(0, 6, 60)[:, None]
    >>> counts = np.random.default_rng(0).poisson(np.exp(1 + np.sin(x[:, 0])))
    >>> type(GPRegressor("rbf", noise=Poisson(), random_state=0).fit(x, counts).predict_dist(x)).__name__
    'PoissonLogNormal'
    """

    name = "poisson"
    words = "counts"
    posterior = CountPosterior
    counts = True
    title = "Gaussian process of the log rate of counts"

    @property
    def is_learned(self) -> bool:
        return False

    def require_targets(self, y: Array, *, mean: str) -> None:
        """Raise an error unless these are counts, one of them positive if the mean has a flat coefficient."""
        bad = ~_is_count(y)
        if bad.any():
            row = int(np.argmax(bad))
            raise ValueError(
                f'noise="poisson" needs counts (0, 1, 2, …), but y is {y[row]:g} in row {row}: use '
                'noise="learn" for measurements, and counts themselves rather than rates or logarithms'
            )
        if np.nanmax(y, initial=0.0) > _MAX_COUNT:
            raise ValueError(
                f'noise="poisson" is for counts up to {_MAX_COUNT:g}, but y has {np.nanmax(y):g}: use '
                'noise="learn" with their logarithms'
            )
        if mean != "zero" and not np.nansum(y):
            raise ValueError(
                "every count in y is zero, so the mean of the log rate can't be estimated: use "
                'mean="zero", or more rows'
            )

    def objective(self, data: TrainingData, kernel: Kernel, noise_kernel: Kernel, fixed: bool) -> CountObjective:
        logs = data.weight * gammaln(data.Y[:, 0] + 1.0)
        totals = np.bincount(data.merged.index, logs, minlength=len(data.merged.Y)).astype(np.float64)
        return CountObjective(kernel=kernel, observations=data.observations(kernel), log_factorials=totals)

    def evidence_base(self, base: str) -> str:
        return base.replace("intercept", "intercept of the log rate")
