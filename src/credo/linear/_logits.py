"""The normal distribution of a classifier's logits under a normal distribution of its weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.estimator import check_shapes
from credo.linear._ascent import Optimum
from credo.linear._laplace import LogPosterior
from credo.linear._rows import BLOCK_ENTRIES
from credo.linear._spectrum import Spectrum, components

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LogitPosterior:
    """The Gaussian posterior of linear logits, in the singular basis V of the rows.

    `mode` (m, d) holds the parameters of the m contrasts, `root` R their covariance RᵀR, `contrasts` C the logits
    (K, m) that they make. Directions outside the span of the rows keep their prior variance.
    """

    V: Array
    x_mean: Array
    mode: Array
    root: Array
    contrasts: Array
    prior_variance: float
    centered: bool

    def _check_state(self) -> None:
        check_shapes(self, V="d r", x_mean="d", mode="m p", root="a b", contrasts="k m", prior_variance="")

    @classmethod
    def of(cls, posterior: LogPosterior, mode: Optimum, data: Spectrum) -> LogitPosterior:
        """The posterior at a mode."""
        return cls(
            V=data.V,
            x_mean=data.x_mean,
            mode=mode.point.theta,
            root=mode.curvature.root(),
            contrasts=posterior.contrasts,
            prior_variance=1.0 / posterior.penalty,
            centered=posterior.intercept,
        )

    @property
    def outputs(self) -> Array:
        """Rows of C for the reported logits: all of them, or the log odds of two classes."""
        return self.contrasts[1:] if len(self.contrasts) == 2 else self.contrasts

    @property
    def rank(self) -> int:
        return self.V.shape[1]

    def coef(self) -> Array:
        """Weights of each output, shape (K or 1, p)."""
        return (self.outputs @ self.mode[:, : self.rank]) @ self.V.T

    def intercept(self) -> Array:
        """Logits at x = 0."""
        level = self.outputs @ self.mode[:, self.rank :].sum(axis=1)
        return level - self.coef() @ self.x_mean

    def coef_std(self) -> Array:
        """Posterior standard deviation of each weight."""
        blocks = self._root_blocks()[..., : self.rank]
        outside = np.maximum(1.0 - np.einsum("ij,ij->i", self.V, self.V), 0.0)
        variance = np.empty((len(self.outputs), len(self.V)))
        for row, load in zip(variance, self.outputs, strict=True):
            half = np.tensordot(load, blocks, axes=(0, 1)) @ self.V.T
            row[:] = np.einsum("xi,xi->i", half, half) + self.prior_variance * (load @ load) * outside
        return np.sqrt(variance)

    def intercept_std(self) -> Array:
        """Posterior standard deviation of each logit at x = 0; zero where there is no intercept."""
        if not self.centered:
            return np.zeros(len(self.outputs))
        _, half = next(self.moments(np.zeros((1, len(self.V)))))
        return np.sqrt(np.square(self.outputs @ half[0]).sum(axis=1))

    def coef_cov(self) -> Array:
        """Covariance of the weights, output by output: shape (Kp, Kp), (p, p) for two classes."""
        V, outputs = self.V, self.outputs
        half = np.einsum("kj,xjr,ir->xki", outputs, self._root_blocks()[..., : self.rank], V, optimize=True)
        half = half.reshape(len(half), -1)
        null = np.eye(len(V)) - V @ V.T
        return half.T @ half + self.prior_variance * np.kron(outputs @ outputs.T, null)

    def moments(self, X: Any) -> Iterator[tuple[Array, Array]]:
        """Means (n, m) and roots (n, m, k), covariance = root rootᵀ, of the latent values, block by block of rows."""
        m, d = self.mode.shape
        step = max(64, BLOCK_ENTRIES // max(m * (m * d + m), self.V.shape[0], 1))
        blocks = self._root_blocks()
        for start in range(0, X.shape[0], step):
            inside, outside = components(X[start : start + step], self.V, self.x_mean, rest=True)
            phi = np.column_stack([inside, np.ones(len(inside))]) if self.centered else inside
            half = np.empty((len(phi), m, m * d + m))
            np.einsum("xjd,nd->njx", blocks, phi, optimize=True, out=half[..., : m * d])
            half[..., m * d :] = np.sqrt(self.prior_variance * outside)[:, None, None] * np.eye(m)
            yield phi @ self.mode.T, half

    def draws(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """n draws of weights (n, K or 1, p) and intercepts (n, K or 1)."""
        m, d = self.mode.shape
        theta = self.mode + (rng.standard_normal((n, m * d)) @ self.root).reshape(n, m, d)
        noise = np.sqrt(self.prior_variance) * rng.standard_normal((n, m, len(self.V)))
        weights = theta[..., : self.rank] @ self.V.T + noise - (noise @ self.V) @ self.V.T
        weights, level = self.outputs @ weights, theta[..., self.rank :].sum(axis=2) @ self.outputs.T
        return weights, level - weights @ self.x_mean

    def _root_blocks(self) -> Array:
        """R with its columns by latent value: shape (md, m, d)."""
        return self.root.reshape(len(self.root), *self.mode.shape)


def triangular_roots(half: Array) -> Array:
    """Lower triangular L with L Lᵀ = half halfᵀ for each row, unique by its diagonal: shape (n, m, m)."""
    R = np.asarray(np.linalg.qr(half.swapaxes(1, 2), mode="r"))
    sign = np.where(np.einsum("nii->ni", R) < 0, -1.0, 1.0)
    return (R * sign[:, :, None]).swapaxes(1, 2)
