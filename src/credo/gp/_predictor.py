"""Predictions of a fitted Gaussian-process regressor, in the units of y."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from credo.core.learning.integration import few_points
from credo.distributions import Distribution, Mixture
from credo.gp._heteroscedastic import MAX_LOG_VARIANCE, NoiseProcess
from credo.gp._observations import Process
from credo.gp._tails import Tails, fitted_tails
from credo.kernels._contract import draws
from credo.likelihoods import StudentT

Array = NDArray[np.float64]

# Nodes of the quadrature over the log noise.
_NODES = 9
# A jitter up to this share of the noise variance is negligible; without noise, of this share of the kernel's variance.
_NEGLIGIBLE, _DIGITS = 0.01, 1e-9
# With fewer rows, the tails of predictions are normal.
_MIN_RESIDUALS = 20
# A variance of less than this share of the largest is rounding error.
_ROUNDING = 1e-12
# Nats per row by which predictions of a few processes may diverge from those of all: log scores differ by less than
# a thousandth, which is first-order in means that differ by √2 times the root of this many standard deviations.
_DIVERGENCE = 2e-5


@dataclass(frozen=True)
class Predictor:
    """Processes for standardised targets, one for each point of the hyperparameters, and how y was standardised.

    `weights` are the weights of the processes, and `noise` the noise variance of a new observation for each, unless a
    `noise_process` says how it varies; the squared scale of a Student-t distribution, where `noise_df` is finite.
    y = center + scale·(f + ε), for each column of y; `tails` are those of the distribution of ε.
    """

    processes: tuple[Process, ...]
    weights: Array
    noise: Array
    noise_process: NoiseProcess | None
    noise_df: float
    center: Array
    scale: Array
    tails: tuple[Tails, ...]

    @property
    def targets(self) -> range:
        return range(len(self.scale))

    def jitter_report(self) -> tuple[str, str]:
        """What to say of a jitter on the diagonal of the covariance, and advice if it isn't negligible."""
        process, noise = self.processes[0], float(self.noise[0])
        jitter = process.jitter
        if not jitter:
            return "", ""
        share = f"{100 * jitter / noise:.2g} % of the noise variance" if noise > 0 else "the noise variance is 0"
        message = (
            "the covariance matrix is numerically singular, so a jitter of "
            f"{jitter * float(np.mean(self.scale**2)):.2g} ({share}) was added to its diagonal"
        )
        if jitter <= _NEGLIGIBLE * (noise or _DIGITS * float(np.mean(process.prior_variance()))):
            return message, ""
        return message, (
            "which acts as additional noise: use a larger noise variance, remove rows that nearly repeat others, or "
            "use a rougher kernel such as Matern52"
        )

    def mean(self, rows: Array) -> Array:
        """E y: (n_rows, n_targets)."""
        used = [process.mean(rows) for process, weight in zip(self.processes, self.weights, strict=True) if weight]
        return self.center + self.scale * np.tensordot(self.weights[self.weights > 0], np.asarray(used), axes=1)

    def distributions(self, rows: Array, *, latent: bool) -> list[Distribution]:
        """One distribution for each target: normal, or a mixture over noises and hyperparameters."""
        parts: list[list[Distribution]] = [[] for _ in self.targets]
        tails = [Tails()] * len(self.targets) if latent else self.tails
        weights = []
        for k, process in enumerate(self.processes):
            if not self.weights[k]:
                continue
            mean, variance = process.moments(rows)
            for weight, noise in [(1.0, 0.0)] if latent else self._noise(rows, k):
                weights.append(weight * self.weights[k])
                for j in self.targets:
                    parts[j].append(self._in_units_of_y(mean[:, j], variance[:, j] + noise, j, tails[j]))
        return [_mixed(components, np.array(weights)) for components in parts]

    def left_out(self, index: NDArray[np.intp]) -> list[Distribution]:
        """The prediction of each training target from all the others, for the rows that `index` lists."""
        parts: list[list[Distribution]] = [[] for _ in self.targets]
        weights = []
        for k, process in enumerate(self.processes):
            if not self.weights[k]:
                continue
            mean, variance = process.left_out_latent()
            # The noise of a left-out target isn't that of its site.
            student = math.isfinite(self.noise_df)
            for weight, noise in self._noise(process.observations.X, k) if student else [(1.0, process.noise)]:
                weights.append(weight * self.weights[k])
                for j in self.targets:
                    dist = self._in_units_of_y(mean[:, j], variance[:, j] + noise, j, self.tails[j])
                    parts[j].append(dist[index])
        return [_mixed(components, np.array(weights)) for components in parts]

    def learned_tails(self) -> tuple[Tails, ...]:
        """The tails of each target, from its leave-one-out residuals.

        A row that is left out was evidence for some points of the hyperparameters: by Bayes' rule, the weight of each
        point is divided by the density that it predicted for the row.
        """
        Y = self.processes[0].observations.Y
        if len(Y) < _MIN_RESIDUALS:
            return (Tails(),) * Y.shape[1]
        found = self._left_out
        std = np.sqrt(np.stack([variance for _, variance in found]))
        residuals = (Y - np.stack([mean for mean, _ in found])) / std
        tails = []
        for j in self.targets:
            seen = ~np.isnan(Y[:, j])
            z, logs = residuals[:, seen, j], np.log(std[:, seen, j])
            with np.errstate(divide="ignore"):
                weights = np.log(self.weights)[:, None] + 0.5 * z**2 + logs
            tails.append(fitted_tails(z, weights - logsumexp(weights, axis=0) - logs))
        return tuple(tails)

    def few(self, most: int) -> tuple[NDArray[np.intp], Array]:
        """At most so many of the processes, with weights that give nearly the same predictions.

        With m and v the average mean and variance, the divergence between normal predictions is ½(Δm)²/v + ¼(Δv/v)².
        Means and squares are averages over the processes, and new rows are like training rows that are left out.
        """
        means, variances = (np.stack(each).reshape(len(self.weights), -1) for each in zip(*self._left_out, strict=True))
        squares = variances + (means - self.weights @ means) ** 2
        v = self.weights @ squares
        values = np.hstack([means / np.sqrt(v), math.sqrt(0.5) * squares / v]) / math.sqrt(means.shape[1])
        return few_points(values, self.weights, most, _DIVERGENCE)

    @cached_property
    def _left_out(self) -> list[tuple[Array, Array]]:
        """Mean and variance of each training target given all others, by each process."""
        return [process.left_out() for process in self.processes]

    def noise_variance(self, rows: Array) -> Array:
        """The expected noise variance of a new observation at each row: (n_rows, n_targets)."""
        expected = self._average([self._expected_noise(rows, k) for k in range(len(self.processes))])
        return np.broadcast_to(expected, len(rows))[:, None] * self.scale**2

    def covariance(self, rows: Array, target: int, *, latent: bool) -> Array:
        """cov of the observations, or of f, over all points of the hyperparameters."""
        cov = self._average([process.posterior(target).covariance(rows) for process in self.processes])
        if not latent:
            cov[np.diag_indices(len(rows))] += self.noise_variance(rows)[:, target] / self.scale[target] ** 2
            cov *= self.tails[target].variance_factor
        if len(self.processes) > 1:
            means = np.stack([process.mean(rows)[:, target] for process in self.processes])
            gaps = np.sqrt(self.weights)[:, None] * (means - self.weights @ means)
            cov = cov + gaps.T @ gaps
        return self.scale[target] ** 2 * cov

    def sample(self, rows: Array, n: int, rng: np.random.Generator, method: str) -> list[Array]:
        """n draws of f for each target, (n, n_rows) each."""
        chosen = rng.choice(len(self.processes), size=n, p=self.weights)
        counts = np.bincount(chosen, minlength=len(self.processes))
        drawn = []
        for j in self.targets:
            parts = [self._sample(self.processes[k], j, rows, m, rng, method) for k, m in enumerate(counts) if m]
            drawn.append(rng.permutation(np.concatenate(parts)) if len(parts) > 1 else parts[0])
        return drawn

    def suggest(self, rows: Array, n: int) -> NDArray[np.intp]:
        """The n rows of largest joint entropy of f, chosen one after the other."""
        process = self.processes[0]
        noise = np.broadcast_to(self._expected_noise(rows, 0), len(rows))
        return _greedy_batch(
            process.moments(rows)[1].mean(axis=1),
            lambda i: process.posterior().covariance(rows, rows[i : i + 1])[:, 0],
            noise,
            n,
        )

    def _average(self, values: list[Any]) -> Array:
        """The weighted mean over the processes."""
        return np.tensordot(self.weights, np.asarray(values), axes=1)

    def _in_units_of_y(self, mean: Array, variance: Array, j: int, tails: Tails) -> Distribution:
        """The distribution of target j with this mean and variance of standardised targets."""
        return tails.distribution(self.center[j] + self.scale[j] * mean, self.scale[j] * np.sqrt(variance))

    def _noise(self, rows: Array, k: int) -> list[tuple[float, Any]]:
        """Weights and values of a new observation's noise variance, for point k of the hyperparameters."""
        if math.isfinite(self.noise_df):
            weights, variances = StudentT(math.sqrt(self.noise[k]), self.noise_df).components()
            return list(zip(weights, variances, strict=True))
        if self.noise_process is None:
            return [(1.0, float(self.noise[k]))]
        mean, variance = self.noise_process.log_variance(rows)
        nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
        # Far from the data the log variance varies as much as a priori, but within the limits of a fit.
        logs = [np.clip(mean + node * np.sqrt(variance), -MAX_LOG_VARIANCE, MAX_LOG_VARIANCE) for node in nodes]
        return [(w, np.exp(log)) for log, w in zip(logs, weights / weights.sum(), strict=True)]

    def _expected_noise(self, rows: Array, k: int) -> Any:
        return sum(weight * variance for weight, variance in self._noise(rows, k))

    def _sample(self, process: Process, j: int, rows: Array, n: int, rng: np.random.Generator, method: str) -> Array:
        cov = process.posterior(j).covariance(rows)
        # Where everything is known, what is left is the rounding error of the prior's covariance.
        cov[np.diag_indices(len(rows))] += _ROUNDING * float(np.mean(process.prior_variance()))
        deviations = draws(cov, n, random_state=rng, method=method)
        return self.center[j] + self.scale[j] * (process.mean(rows)[:, j] + deviations)


def _mixed(parts: list[Distribution], weights: Array) -> Distribution:
    return parts[0] if len(parts) == 1 else Mixture(parts, weights / weights.sum())


def _greedy_batch(variance: Array, column: Callable[[int], Array], noise: Array, n: int) -> NDArray[np.intp]:
    """Rows of largest joint entropy, one after the other: each the most uncertain given those before it.

    Parameters
    ----------
    variance : array of shape (n_rows,)
        var f at each candidate.
    column : callable(i) -> array of shape (n_rows,)
        cov(f, fᵢ).
    noise : array of shape (n_rows,)
        Variance of an observation at each candidate.
    """
    variance, largest = variance.copy(), float(variance.max(initial=0.0))
    columns: list[Array] = []
    chosen: list[int] = []
    for _ in range(n):
        best = int(np.argmax(np.where(np.isin(np.arange(len(variance)), chosen), -np.inf, variance)))
        chosen.append(best)
        # One more column of the pivoted Cholesky factor of the candidates' covariance.
        left = column(best)
        for earlier in columns:
            left = left - earlier * earlier[best]
        pivot = left[best] + noise[best]
        # A point of which everything is known says nothing about the others.
        left = left / math.sqrt(pivot) if pivot > _ROUNDING * (largest + noise[best]) else np.zeros_like(left)
        columns.append(left)
        variance = np.maximum(variance - left**2, 0.0)
    return np.array(chosen, dtype=np.intp)
