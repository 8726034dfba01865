"""Predictions averaged over logistic models and over the weights of each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.core.estimator import check_positive, check_shapes
from credo.core.linalg import Factor
from credo.distributions import Distribution, Mixture, Normal
from credo.likelihoods.bernoulli import expected_sigmoid_fast
from credo.sparse.logistic._laplace import Mode

Array = NDArray[np.float64]

# Components of a mixture.
_MOST_COMPONENTS = 100


@dataclass(frozen=True)
class ClassAverage:
    """Models with the Gaussian approximation of the posterior of their weights.

    Parameters
    ----------
    probability : array of shape (m,)
        Of the models; they sum to one.
    columns, theta : arrays of shape (m, k) and (m, k + 1)
        The columns of each, filled up with −1; levels and weights of standardized columns, filled up with zeros.
    root : array of shape (m, k + 1, k + 1)
        W with WᵀW the covariance of θ.
    """

    probability: Array
    columns: NDArray[np.int64]
    theta: Array
    root: Array

    def _check_state(self) -> None:
        sizes = {"r": self.theta.shape[-1] - 1}
        sizes = check_shapes(self, sizes, probability="m", columns="m r", theta="m r+1", root="m r+1 r+1")
        check_positive(self, "probability", zero=True)

    @classmethod
    def of(cls, modes: Sequence[Mode], probability: Array) -> ClassAverage:
        """From the modes of models, and their probabilities up to a factor."""
        widest = max(len(mode.model) for mode in modes)
        columns = np.full((len(modes), widest), -1, dtype=np.int64)
        theta, root = np.zeros((len(modes), widest + 1)), np.zeros((len(modes), widest + 1, widest + 1))
        for place, mode in enumerate(modes):
            k = len(mode.model)
            columns[place, :k], theta[place, : k + 1] = mode.model, mode.theta
            root[place, : k + 1, : k + 1] = Factor(mode.L).half_solve(np.eye(k + 1))
        return cls(probability / probability.sum(), columns, theta, root)

    def moments(self, x_mean: Array, scale: Array) -> tuple[Array, Array, float, float]:
        """Means and standard deviations of weights and intercept, for columns of these means and scales."""
        d = len(scale)
        first, second, level = np.zeros(d), np.zeros(d), np.zeros(2)
        for share, used, theta, root in self._models():
            # The intercept is the level minus the weights times the means.
            lean = np.append(1.0, -x_mean[used] / scale[used])
            mean, var = theta[1:], np.square(root[:, 1:]).sum(axis=0)
            first[used] += share * mean
            second[used] += share * (var + mean**2)
            intercept = float(lean @ theta)
            level += share * np.array([intercept, np.square(root @ lean).sum() + intercept**2])
        std, wide = np.sqrt(np.maximum(second - first**2, 0.0)), math.sqrt(max(level[1] - level[0] ** 2, 0.0))
        return first / scale, std / scale, float(level[0]), wide

    def slab(self, column: int, *, unit: float) -> Mixture | None:
        """The distribution of a weight, divided by `unit`, given that its column is in."""
        parts: list[Distribution] = []
        shares: list[float] = []
        for share, used, theta, root in self._models():
            at = np.flatnonzero(used == column)
            if len(at) and len(parts) < _MOST_COMPONENTS:
                parts.append(Normal(theta[1 + at] / unit, np.linalg.norm(root[:, 1 + at], axis=0) / unit))
                shares.append(share)
        return Mixture(parts, np.array(shares) / sum(shares)) if shares and sum(shares) > 0 else None

    def draws(self, n: int, rng: np.random.Generator, d: int) -> tuple[Array, Array]:
        """Weights (n, d) of standardized columns, zero outside the drawn model, and levels (n,)."""
        weights, levels = np.zeros((n, d)), np.zeros(n)
        chosen = rng.choice(len(self.probability), size=n, p=self.probability)
        for place, (_, used, theta, root) in enumerate(self._models()):
            at = np.flatnonzero(chosen == place)
            drawn = theta + rng.normal(size=(len(at), len(theta))) @ root
            weights[np.ix_(at, used)], levels[at] = drawn[:, 1:], drawn[:, 0]
        return weights, levels

    def probabilities(self, Z: Array) -> Array:
        """p(y = 1) of standardized rows."""
        total = np.zeros(len(Z))
        for share, used, theta, root in self._models():
            phi = np.column_stack([np.ones(len(Z)), Z[:, used]])
            half = phi @ root.T
            total += share * expected_sigmoid_fast(phi @ theta, np.einsum("ij,ij->i", half, half))
        return np.clip(total, 0.0, 1.0)

    def _models(self) -> Iterator[tuple[float, NDArray[np.int64], Array, Array]]:
        """Probability, columns, θ and root of each model."""
        for share, places, theta, root in zip(self.probability, self.columns, self.theta, self.root, strict=True):
            used = places[places >= 0]
            k = len(used) + 1
            yield float(share), used, theta[:k], root[:k, :k]
