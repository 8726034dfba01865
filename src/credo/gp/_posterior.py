"""The posterior of a Gaussian-process regressor: predictions in the units of y.

For a table in parts, hyperparameters and inducing points come from a sample of its rows, the posterior from all of
them: a process with inducing points depends on its rows only by sums over them (`inference.InducingSummary`). So one
pass over the parts, with O(m²) memory besides one part, gives the same posterior as all rows in memory for the same
kernel, noise and points.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from credo.core.estimator import Evidence, training_rows
from credo.core.fields import Axes, Finite, Inner, NonNegative, Positive, Probabilities, each
from credo.core.inference import InducingFeatures, InducingSummary, SummaryPosterior
from credo.core.learning.integration import few_points
from credo.core.linalg import factorize
from credo.core.parts import Chunk, Parts, RowSample
from credo.distributions import Distribution, Mixture, Normal, StudentT
from credo.gp._observations import Group, MeanBasis, Observations, Process, TrainingData
from credo.gp._search import blas_threads
from credo.kernels import Kernel
from credo.kernels.checks import draws

Array = NDArray[np.float64]

# A jitter up to this share of the noise variance is negligible; without noise, of this share of the kernel's variance.
_NEGLIGIBLE_SHARE, _NOISELESS_SHARE = 0.01, 1e-9
# With fewer rows, the tails of predictions are normal.
_MIN_TAIL_ROWS = 20
# Smaller variances, relative to the largest, are rounding errors.
_ROUNDING = 1e-12
# Nats per row by which predictions of a few processes may diverge from those of all: log scores differ by less than a
# thousandth.
MAX_DIVERGENCE = 2e-5
# Degrees of freedom that are tried for the tails.
_TAIL_DEGREES = (2.1, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 25.0, 50.0)


@dataclass(frozen=True)
class Tails:
    """The distribution of standardized residuals: scale·t with df degrees of freedom, normal if df is infinite."""

    df: Annotated[float, each(lambda df: df > 2, "more than 2")] = math.inf
    scale: Annotated[float, Positive] = 1.0

    @property
    def variance_factor(self) -> float:
        """The variance of a standardized residual."""
        return 1.0 if math.isinf(self.df) else self.scale**2 * self.df / (self.df - 2.0)

    def distribution(self, mean: Array, std: Array) -> Distribution:
        """The distribution of targets with these means and standard deviations under normal tails."""
        return Normal(mean, std) if math.isinf(self.df) else StudentT(self.df, mean, self.scale * std)


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedNoise:
    """Normal noise at the training rows and of new observations, in the units of standardized targets.

    Parameters
    ----------
    rows : for each set of hyperparameters, the variance of one observation at each training row, or of the normal site
        that replaces it.
    levels : the average variance for each set of hyperparameters; for Student-t noise the squared scale.
    additional : learned variance on top of a known one.
    """

    rows: Annotated[Array, Axes("k n"), NonNegative]
    levels: Annotated[Array, Axes("k"), NonNegative]
    additional: Annotated[float | None, Finite, NonNegative] = None

    @property
    def mean_variance(self) -> float:
        """The average variance of an observation."""
        return float(self.levels[0])

    def components(self, rows: Array, k: int) -> list[tuple[float, Any]]:
        """Weights and variances of normal components of a new observation's noise, for set k of hyperparameters."""
        return [(1.0, float(self.levels[k]))]

    def left_out_components(self, process: Process, k: int) -> list[tuple[float, Any]]:
        """The same for training targets that are left out."""
        return [(1.0, process.noise)]

    def observations(self, rows: Observations) -> Observations:
        """The observations that the process is conditioned on."""
        return rows

    def entries(self, data: TrainingData) -> list[tuple[str, float]]:
        """The noise in a summary, in the units of y."""
        found = {"noise variance": self.mean_variance, "additional noise variance": self.additional}
        return [
            (name if data.is_single else f"{name} of y{j}", float(variance * scale**2))
            for name, variance in found.items()
            if variance is not None
            for j, scale in enumerate(data.scale)
        ]


@dataclass(frozen=True, eq=False)
class RowSums:
    """Sums over all rows: those of the inducing points, the weights, and the logarithms of the weights."""

    summary: Annotated[InducingSummary, Inner(m="m", b="b")]
    weight: Annotated[float, Finite, Positive]
    log_weight: Annotated[float, Finite]

    def merge(self, other: RowSums) -> RowSums:
        return RowSums(
            self.summary.merge(other.summary), self.weight + other.weight, self.log_weight + other.log_weight
        )

    def posterior(self, kernel: Kernel, data: TrainingData) -> SummaryPosterior:
        """f given all rows."""
        return SummaryPosterior(_features(kernel, data), self.summary, 1, data.basis)

    def copies(self, noise: float) -> float:
        """The part of ln p(y) due to weights; see `Process.copies`."""
        return -0.5 * ((self.weight - self.summary.n) * math.log(2 * math.pi * noise) + self.log_weight)


@dataclass(frozen=True, eq=False)
class Posterior:
    """Processes given the training data: the result of a fit, which predicts in the units of y.

    y = center + scale·(f + ε), for each column of the data. The process of standardized targets has `kernels` with
    `weights`, one for each set of hyperparameters. `noise` and `tails` say how ε is distributed. `sums` are those over
    all rows of a table in parts, of which the data are a sample.
    """

    data: Annotated[TrainingData, Inner(n="n", d="d", t="t")]
    kernels: Annotated[tuple[Kernel, ...], Axes("k")]
    weights: Annotated[Array, Axes("k"), Probabilities]
    noise: Annotated[FittedNoise, Inner(n="n", k="k", d="d")]
    tails: Annotated[tuple[Tails, ...], Axes("t")]
    evidence: Evidence | None = None
    sums: Annotated[RowSums | None, Inner(m="m", b="b")] = None

    def _sizes(self) -> dict[str, int]:
        """Sizes of the sums: inducing points, and columns for a target and the mean's basis."""
        n_points = 0 if self.data.points is None else len(self.data.points)
        return {"m": n_points, "b": 1 + self.data.n_coefficients}

    def changed(self, processes: tuple[Process, ...], **fields: Any) -> Self:
        """The same with other fields, for which the processes are known."""
        made = replace(self, **fields)
        vars(made)["processes"] = processes
        return made

    @cached_property
    def processes(self) -> tuple[Process, ...]:
        """One for each set of hyperparameters."""
        data, kernel = self.data, self.kernels[0]
        # The same number of threads as in the fit, so that a loaded model predicts exactly the same.
        with blas_threads(len(data.X)):
            observations = data.observations(kernel, merged=False)
            if self.sums is not None:
                posterior = self.sums.posterior(kernel, data)
                every = Group(np.arange(len(data.X)), np.zeros(1, dtype=np.intp))
                return (Process(observations, kernel, self.noise.rows[0], ((every, posterior),)),)
            if data.points is None:
                observations = observations.adapted(kernel)
            observations = self.noise.observations(observations)
            return tuple(map(observations.condition, self.kernels, self.noise.rows))

    def extended(self, data: TrainingData, evidence: Evidence) -> Self:
        """Given further rows at the end of the data, at the same hyperparameters, by extending the factors."""
        n, before = len(self.data.X), self.processes
        rows, Y = data.X[n:], data.standardized[n:]
        after = tuple(each.extended(rows, Y, float(own)) for each, own in zip(before, self.noise.levels, strict=True))
        # Bayes' rule for the hyperparameters: each point predicted the new rows with some density.
        gains = [new.log_evidence - old.log_evidence for new, old in zip(after, before, strict=True)]
        with np.errstate(divide="ignore"):
            logs = np.log(self.weights) + gains
        gain = float(logsumexp(logs))
        value = evidence.value + gain + data.in_units_of_y(0.0) - self.data.in_units_of_y(0.0)
        return self.changed(
            after,
            data=replace(data, points=after[0].observations.representation.points),
            weights=np.exp(logs - gain),
            noise=replace(self.noise, rows=np.stack([each.noise for each in after])),
            evidence=replace(evidence, value=value),
        )

    @property
    def _least_noise(self) -> float:
        """The noise variance that a jitter is compared with."""
        return float(self.noise.levels[0])

    @property
    def targets(self) -> range:
        return range(len(self.data.scale))

    def jitter_report(self) -> tuple[str, str]:
        """A sentence about jitter on the diagonal of the covariance, and advice if it isn't negligible."""
        process, noise = self.processes[0], self._least_noise
        jitter = process.jitter
        if not jitter:
            return "", ""
        share = f"{100 * jitter / noise:.2g} % of the noise variance" if noise > 0 else "the noise variance is 0"
        message = (
            "the covariance matrix is numerically singular, so a jitter of "
            f"{jitter * float(np.mean(self.data.scale**2)):.2g} ({share}) was added to its diagonal"
        )
        if jitter <= _NEGLIGIBLE_SHARE * (noise or _NOISELESS_SHARE * process.mean_prior_variance):
            return message, ""
        return message, (
            "which acts as additional noise: use a larger noise variance, remove rows that nearly repeat others, or "
            "use a rougher kernel such as Matern52"
        )

    def mean(self, rows: Array) -> Array:
        """E y: (n_rows, n_targets)."""
        return self.data.center + self.data.scale * self._average([process.mean(rows) for process in self.processes])

    def predictive(self, rows: Array, *, latent: bool = False) -> list[Distribution]:
        """One distribution for each target: normal, or a mixture over noises and hyperparameters."""
        noiseless, normal = [(1.0, 0.0)], (Tails(),) * len(self.tails)
        parts = (
            (*each.moments(rows), noiseless if latent else self.noise.components(rows, k)) for k, each in self._used()
        )
        return self._mixtures(parts, normal if latent else self.tails)

    def left_out(self) -> list[Distribution]:
        """The prediction of each training target from all the others, for each row that was given."""
        self._require_determined()
        parts = (
            (*each.left_out_latent(*self._left_out[k]), self.noise.left_out_components(each, k))
            for k, each in self._used()
        )
        return [dist[self.data.index] for dist in self._mixtures(parts, self.tails)]

    def _used(self) -> Iterator[tuple[int, Process]]:
        """The processes that have a weight."""
        return ((k, process) for k, process in enumerate(self.processes) if self.weights[k])

    def _mixtures(self, parts: Iterable[tuple[Array, Array, Any]], tails: tuple[Tails, ...]) -> list[Distribution]:
        """The distribution of each target, from means, variances and noise components of each process in use."""
        found: list[list[Distribution]] = [[] for _ in tails]
        weights = []
        for own, (means, variances, components) in zip(self.weights[self.weights > 0], parts, strict=True):
            for weight, noise in components:
                weights.append(weight * own)
                for j, scale in enumerate(self.data.scale):
                    mean, std = self.data.center[j] + scale * means[:, j], scale * np.sqrt(variances[:, j] + noise)
                    found[j].append(tails[j].distribution(mean, std))
        share = np.array(weights) / np.sum(weights)
        return [each[0] if len(each) == 1 else Mixture(each, share) for each in found]

    def learned_tails(self) -> tuple[Tails, ...]:
        """The tails of each target, from its leave-one-out residuals.

        A row that is left out was evidence for some points of the hyperparameters: by Bayes' rule, the weight of each
        point is divided by the density that it predicted for the row.
        """
        Y = self.processes[0].observations.Y
        if len(Y) < _MIN_TAIL_ROWS:
            return (Tails(),) * Y.shape[1]
        means, variances = map(np.stack, zip(*self._left_out, strict=True))
        determined, std = np.isfinite(variances).all(axis=0), np.sqrt(variances)
        tails = []
        for j in self.targets:
            seen = determined[:, j] & ~np.isnan(Y[:, j])
            z, logs = (Y[seen, j] - means[:, seen, j]) / std[:, seen, j], np.log(std[:, seen, j])
            with np.errstate(divide="ignore"):
                weights = np.log(self.weights)[:, None] + 0.5 * z**2 + logs
            tails.append(fitted_tails(z, weights - logsumexp(weights, axis=0) - logs))
        return tuple(tails)

    def thinned(self, most: int) -> tuple[NDArray[np.intp], Self]:
        """The indices of at most `most` processes, and the posterior with these, reweighted to predict nearly the same.

        With m and v the average mean and variance, the divergence between normal predictions is ½(Δm)²/v + ¼(Δv/v)².
        Means and squares are averages over the processes, and new rows are like training rows that are left out.
        """
        if most >= len(self.kernels):
            return np.arange(len(self.kernels)), self
        determined = np.isfinite([variance for _, variance in self._left_out]).all(axis=0)
        means, variances = (np.stack([part[determined] for part in each]) for each in zip(*self._left_out, strict=True))
        squares = variances + (means - self.weights @ means) ** 2
        v = self.weights @ squares
        values = np.hstack([means / np.sqrt(v), math.sqrt(0.5) * squares / v]) / math.sqrt(means.shape[1])
        kept, weights = few_points(values, self.weights, most, MAX_DIVERGENCE)
        noise = replace(self.noise, rows=self.noise.rows[kept], levels=self.noise.levels[kept])
        processes, kernels = (tuple(each[k] for k in kept) for each in (self.processes, self.kernels))
        return kept, self.changed(processes, kernels=kernels, weights=weights, noise=noise)

    @cached_property
    def _left_out(self) -> list[tuple[Array, Array]]:
        """Mean and variance of each training target given all others, by each process."""
        return list(map(Process.left_out, self.processes))

    @cached_property
    def determined(self) -> NDArray[np.bool_]:
        """Which of the rows that were given can be left out: the others determine the mean without them."""
        largest = np.stack([variance for _, variance in self._left_out]).max(axis=(0, 2))
        return np.isfinite(largest[self.data.index])

    def _require_determined(self) -> None:
        if not self.determined.all():
            raise ValueError(
                f"training row {int(np.argmin(self.determined))} can't be left out: without it the others don't "
                'determine the mean; use mean="zero", or more rows'
            )

    def noise_variance(self, rows: Array) -> Array:
        """The expected noise variance of a new observation at each row: (n_rows, n_targets)."""
        expected = self._average([self._expected_noise(rows, k) for k in range(len(self.processes))])
        return np.broadcast_to(expected, len(rows))[:, None] * self.data.scale**2

    def covariance(self, rows: Array, target: int, *, latent: bool) -> Array:
        """cov of the observations, or of f, over all points of the hyperparameters."""
        cov = self._average([process.posterior(target).covariance(rows) for process in self.processes])
        if not latent:
            cov[np.diag_indices(len(rows))] += self.noise_variance(rows)[:, target] / self.data.scale[target] ** 2
            cov *= self.tails[target].variance_factor
        if len(self.processes) > 1:
            means = np.stack([process.mean(rows)[:, target] for process in self.processes])
            gaps = np.sqrt(self.weights)[:, None] * (means - self.weights @ means)
            cov = cov + gaps.T @ gaps
        return self.data.scale[target] ** 2 * cov

    def draws(self, rows: Array, n: int, rng: np.random.Generator, method: str) -> list[Array]:
        """n draws of f for each target, (n, n_rows) each."""
        chosen = rng.choice(len(self.processes), size=n, p=self.weights)
        counts = np.bincount(chosen, minlength=len(self.processes))
        drawn = []
        for j in self.targets:
            parts = [self._sample(self.processes[k], j, rows, m, rng, method) for k, m in enumerate(counts) if m]
            drawn.append(rng.permutation(np.concatenate(parts)) if len(parts) > 1 else parts[0])
        return drawn

    def suggest(self, rows: Array, n: int) -> NDArray[np.intp]:
        """The n rows of largest joint entropy of f, one after the other: each the most uncertain given those before."""
        process = self.processes[0]
        noise = np.broadcast_to(self._expected_noise(rows, 0), len(rows))
        variance = process.moments(rows)[1].mean(axis=1)
        least = _ROUNDING * (float(variance.max(initial=0.0)) + noise)
        columns, chosen = np.zeros((len(rows), n)), np.empty(n, dtype=np.intp)
        for i in range(n):
            free = np.isin(np.arange(len(rows)), chosen[:i], invert=True)
            chosen[i] = best = int(np.argmax(np.where(free, variance, -np.inf)))
            # One more column of the pivoted Cholesky factor of the candidates' covariance.
            left = process.posterior().covariance(rows, rows[best : best + 1])[:, 0] - columns @ columns[best]
            pivot = left[best] + noise[best]
            # A point without uncertainty says nothing about the others.
            if pivot > least[best]:
                columns[:, i] = left / math.sqrt(pivot)
            variance = np.maximum(variance - columns[:, i] ** 2, 0.0)
        return chosen

    def _average(self, values: list[Any]) -> Array:
        """The weighted mean over the processes."""
        return np.tensordot(self.weights, np.asarray(values), axes=1)

    def _expected_noise(self, rows: Array, k: int) -> Any:
        return sum(weight * variance for weight, variance in self.noise.components(rows, k))

    def _sample(self, process: Process, j: int, rows: Array, n: int, rng: np.random.Generator, method: str) -> Array:
        cov = process.posterior(j).covariance(rows)
        # Without uncertainty, only rounding errors of the prior's covariance remain.
        cov[np.diag_indices(len(rows))] += _ROUNDING * process.mean_prior_variance
        deviations = draws(cov, n, random_state=rng, method=method)
        return self.data.center[j] + self.data.scale[j] * (process.mean(rows)[:, j] + deviations)


def fitted_tails(residuals: Array, log_weights: Array | None = None) -> Tails:
    """The tails of standardized residuals: normal of variance one, unless a Student-t is better by BIC.

    Parameters
    ----------
    residuals : array of shape (n,) or (n_points, n)
        Residuals for each component of a mixture.
    log_weights : array of shape (n_points, n), optional
        Logarithms of the components' weights divided by their standard deviations.
    """
    z = np.atleast_2d(residuals)
    # A factor for each residual changes all likelihoods alike, and with it the largest weight can't underflow.
    weights = np.exp(np.zeros_like(z) if log_weights is None else log_weights - log_weights.max(axis=0))
    n, squares = z.shape[1], z**2
    found = Tails()
    # Smaller variances would be rounding errors of the largest residual; without residuals there are no tails.
    smallest = np.finfo(np.float64).eps ** 2 * float(squares.max(initial=0.0))
    if not smallest > 0:
        return found
    best = float(np.log(_floor((weights * np.exp(-0.5 * squares)).sum(axis=0))).sum()) - 0.5 * n * math.log(2 * math.pi)
    variance = max(float(np.average(squares, weights=weights)), smallest)
    for df in reversed(_TAIL_DEGREES):
        constant = float(gammaln(0.5 * (df + 1)) - gammaln(0.5 * df)) - 0.5 * math.log(df * math.pi)
        for _ in range(60):
            # EM for the scale of a mixture of Student-t distributions (Liu & Rubin 1995).
            density = weights * (1.0 + squares / (df * variance)) ** (-0.5 * (df + 1))
            share = density / _floor(density.sum(axis=0))
            step = float((share * (df + 1) * squares / (df + squares / variance)).sum() / share.sum())
            if abs(step - variance) <= 1e-5 * variance:
                break
            variance = max(step, smallest)
        value = n * (constant - 0.5 * math.log(variance)) + float(np.log(_floor(density.sum(axis=0))).sum())
        # Two more parameters than the normal.
        if value - math.log(n) > best:
            best, found = value - math.log(n), Tails(df, math.sqrt(variance))
    return found


def _floor(density: Array) -> Array:
    return np.maximum(density, 1e-300)


def row_sample(caller: str, parts: Parts) -> RowSample:
    """A sample of the rows with targets and weights, in one pass; messages name the caller."""
    found: RowSample = parts.map_reduce(partial(_sampled, caller), RowSample.merge)
    return found


def _sampled(caller: str, chunk: Chunk) -> RowSample:
    rows, y, weight, names = training_rows(caller, chunk.X, chunk.y, chunk.weight)
    return RowSample.of(rows, y, np.ones(len(y)) if weight is None else weight, number=chunk.number, names=names)


def row_sums(caller: str, parts: Parts, kernel: Kernel, data: TrainingData, *, noise: float) -> RowSums:
    """The sums over all rows, in one pass; `data` says how targets are standardized, and the noise is theirs."""
    basis, center, scale = data.basis, float(data.center[0]), float(data.scale[0])
    one = partial(_summed, caller, _features(kernel, data), basis, center, scale, noise)
    found: RowSums = parts.map_reduce(one, RowSums.merge)
    return found


def _summed(
    caller: str, features: InducingFeatures, basis: MeanBasis, center: float, scale: float, noise: float, chunk: Chunk
) -> RowSums:
    rows, y, weight, _ = training_rows(caller, chunk.X, chunk.y, chunk.weight)
    weight = np.ones(len(y)) if weight is None else weight
    targets = np.column_stack([(y - center) / scale, basis(rows)])
    summary = features.summarize(rows, targets, noise / weight)
    return RowSums(summary, float(weight.sum()), float(np.log(weight).sum()))


def _features(kernel: Kernel, data: TrainingData) -> InducingFeatures:
    """The features of the inducing points that don't depend on others, in the order of the sums."""
    assert data.points is not None
    return InducingFeatures(
        kernel, data.points, factorize(kernel.gram(data.points), overwrite=True, assume_symmetric=True)
    )
