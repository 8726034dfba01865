"""The posterior of linear logits as it is stored: a mixture of Gaussians in the singular basis of the rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.estimator import check_positive, check_shapes
from credo.learning.spectrum import Spectrum, components
from credo.linear._precision import PosteriorFit
from credo.scale import BLOCK_ENTRIES

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LogitPosterior:
    """A mixture of Gaussians, one for each prior precision, in the singular basis V of the rows.

    `weights` (c,) are those of the mixture, `mean` (c, m, d) the means of the m contrasts' parameters, `root` (c, md,
    md) has R with RᵀR their covariance, `contrasts` C the logits (K, m) that they make. Directions outside the span of
    the rows keep their prior variance (c,). `mode` (m, d) is where the posterior is highest at one prior precision.
    """

    V: Array
    x_mean: Array
    weights: Array
    mean: Array
    root: Array
    mode: Array
    contrasts: Array
    prior_variance: Array
    centered: bool

    def _check_state(self) -> None:
        sizes = check_shapes(self, V="d r", x_mean="d", weights="c", mean="c m p", mode="m p", contrasts="k m")
        sizes["a"] = sizes["m"] * sizes["p"]
        check_shapes(self, sizes, root="c a a", prior_variance="c")
        check_positive(self, "weights", zero=True)
        check_positive(self, "prior_variance")

    @classmethod
    def of(cls, found: PosteriorFit, data: Spectrum) -> LogitPosterior:
        """From the Gaussians that were fitted."""
        posterior = found.parts[0].posterior
        return cls(
            # Contiguous, so that sums are the same to the last digit when they come back from a file.
            V=np.ascontiguousarray(data.V),
            x_mean=data.x_mean,
            weights=found.weights,
            mean=np.ascontiguousarray(np.stack([part.mean for part in found.parts])),
            root=np.ascontiguousarray(np.stack([part.curvature.root() for part in found.parts])),
            mode=np.ascontiguousarray(found.mode.point.theta),
            contrasts=posterior.contrasts,
            prior_variance=np.array([1.0 / part.posterior.penalty for part in found.parts]),
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
        """Mean weights of each output, shape (K or 1, p)."""
        return np.tensordot(self.weights, self._coefs(), axes=1)

    def intercept(self) -> Array:
        """Mean logits at x = 0."""
        level = self.outputs @ np.tensordot(self.weights, self.mean[..., self.rank :].sum(axis=2), axes=1)
        return level - self.coef() @ self.x_mean

    def coef_std(self) -> Array:
        """Posterior standard deviation of each weight."""
        outside = np.maximum(1.0 - np.einsum("ij,ij->i", self.V, self.V), 0.0)
        variance = np.tensordot(self.weights, np.square(self._coefs() - self.coef()), axes=1)
        for k, share in enumerate(self.weights):
            blocks = self._root_blocks(k)[..., : self.rank]
            for row, load in zip(variance, self.outputs, strict=True):
                half = np.tensordot(load, blocks, axes=(0, 1)) @ self.V.T
                own = np.einsum("xi,xi->i", half, half) + self.prior_variance[k] * (load @ load) * outside
                row += share * own
        return np.sqrt(variance)

    def intercept_std(self) -> Array:
        """Posterior standard deviation of each logit at x = 0; zero where there is no intercept."""
        if not self.centered:
            return np.zeros(len(self.outputs))
        mean, half = next(self.moments(np.zeros((1, len(self.V)))))
        logits = mean[:, 0] @ self.outputs.T
        own = np.square(self.outputs @ half[:, 0]).sum(axis=2)
        return np.sqrt(self.weights @ (own + np.square(logits - self.weights @ logits)))

    def coef_cov(self) -> Array:
        """Covariance of the weights, output by output: shape (Kp, Kp), (p, p) for two classes."""
        V, outputs = self.V, self.outputs
        between = (np.sqrt(self.weights)[:, None, None] * (self._coefs() - self.coef())).reshape(len(self.weights), -1)
        null = np.eye(len(V)) - V @ V.T
        cov = between.T @ between + self.weights @ self.prior_variance * np.kron(outputs @ outputs.T, null)
        for k, share in enumerate(self.weights):
            half = np.einsum("kj,xjr,ir->xki", outputs, self._root_blocks(k)[..., : self.rank], V, optimize=True)
            half = half.reshape(len(half), -1)
            cov += share * (half.T @ half)
        return cov

    def plugin(self, X: Any) -> Iterator[Array]:
        """Latent values (n, m) at the mode, block by block of rows."""
        return (phi @ self.mode.T for phi, _ in self._rows(X))

    def moments(self, X: Any) -> Iterator[tuple[Array, Array]]:
        """Means (c, n, m) and roots (c, n, m, k), covariance = root rootᵀ, of the latent values, by blocks of rows."""
        c, m, d = self.mean.shape
        for phi, outside in self._rows(X):
            half = np.empty((c, len(phi), m, m * d + m))
            for k in range(c):
                np.einsum("xjd,nd->njx", self._root_blocks(k), phi, optimize=True, out=half[k, ..., : m * d])
            spread = np.sqrt(self.prior_variance[:, None] * outside)
            half[..., m * d :] = spread[:, :, None, None] * np.eye(m)
            yield phi @ self.mean.swapaxes(1, 2), half

    def draws(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """n draws of weights (n, K or 1, p) and intercepts (n, K or 1)."""
        _, m, d = self.mean.shape
        chosen = rng.choice(len(self.weights), size=n, p=self.weights / self.weights.sum())
        theta, z = self.mean[chosen], rng.standard_normal((n, m * d))
        for k, root in enumerate(self.root):
            theta[chosen == k] += (z[chosen == k] @ root).reshape(-1, m, d)
        noise = np.sqrt(self.prior_variance[chosen])[:, None, None] * rng.standard_normal((n, m, len(self.V)))
        weights = theta[..., : self.rank] @ self.V.T + noise - (noise @ self.V) @ self.V.T
        weights, level = self.outputs @ weights, theta[..., self.rank :].sum(axis=2) @ self.outputs.T
        return weights, level - weights @ self.x_mean

    def _rows(self, X: Any) -> Iterator[tuple[Array, Array]]:
        """Rows in the singular basis, and the squares of what is outside of it."""
        c, m, d = self.mean.shape
        step = max(64, BLOCK_ENTRIES // max(c * m * (m * d + m), self.V.shape[0], 1))
        for start in range(0, X.shape[0], step):
            inside, outside = components(X[start : start + step], self.V, self.x_mean, rest=True)
            yield (np.column_stack([inside, np.ones(len(inside))]) if self.centered else inside), outside

    def _coefs(self) -> Array:
        """Mean weights of each Gaussian, (c, K or 1, p)."""
        return (self.outputs @ self.mean[..., : self.rank]) @ self.V.T

    def _root_blocks(self, k: int) -> Array:
        """R of a Gaussian with its columns by latent value: shape (md, m, d)."""
        return self.root[k].reshape(-1, *self.mode.shape)


def triangular_roots(half: Array) -> Array:
    """Lower triangular L with L Lᵀ = half halfᵀ for each row, unique by its diagonal: shape (n, m, m)."""
    R = np.asarray(np.linalg.qr(half.swapaxes(-1, -2), mode="r"))
    sign = np.where(np.einsum("...ii->...i", R) < 0, -1.0, 1.0)
    return (R * sign[..., :, None]).swapaxes(-1, -2)
