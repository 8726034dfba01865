"""The Gaussian (or Student-t) posterior of weights and intercept, in the singular basis of the data.

    S = V diag(v) Vᵀ + v₀ (I − VVᵀ)

Only `coef_cov` forms a p×p matrix; variances, predictions and draws use V.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.distributions import Distribution, Normal, StudentT, t_variance
from credo.estimator import check_shapes, is_sparse
from credo.linear._rows import EPS
from credo.linear._spectrum import Spectrum

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Posterior:
    """Weights given the data.

    `variances` are those along the columns of V, `null_variance` that of every direction outside the span of the rows,
    `level_variance` that of f at the mean of the inputs, `noise_variance` that of an observation. With finite `df` all
    of them are squared scales of Student-t distributions.
    """

    spectrum: Spectrum
    coef: Array
    variances: Array
    null_variance: float
    level_variance: float
    noise_variance: float
    df: float = np.inf

    def _check_state(self) -> None:
        check_shapes(self, dict(zip("dr", self.spectrum.V.shape, strict=True)), coef="d", variances="r")

    @property
    def intercept(self) -> float:
        """The value of f at x = 0."""
        return self.spectrum.y_mean - float(self.spectrum.x_mean @ self.coef)

    def mean(self, X: Any) -> Array:
        """E f(x) at each row."""
        if is_sparse(X):
            return np.asarray(X @ self.coef) + self.intercept
        # About the mean of the inputs, because b + wᵀx would lose digits to a large offset.
        return (X - self.spectrum.x_mean) @ self.coef + self.spectrum.y_mean

    def coef_scale(self) -> Array:
        """Scale of each weight, the square root of the diagonal of S."""
        V, extra = self.spectrum.V, self.variances
        inside = np.einsum("ij,j,ij->i", V, extra, V)
        if self.spectrum.spans_all:
            return np.sqrt(inside)
        outside = 1.0 - np.einsum("ij,ij->i", V, V)
        # Multiplied by a wide prior, the rounding error of a column inside the span would exceed its variance.
        outside[outside <= 8 * EPS * V.shape[1]] = 0.0
        return np.sqrt(inside + self.null_variance * outside)

    def intercept_scale(self) -> float:
        """Scale of f at x = 0; zero where there is no intercept."""
        if not self.spectrum.centered:
            return 0.0
        return float(np.sqrt(self.latent_square(np.zeros((1, len(self.coef))))[0]))

    def coef_cov(self) -> Array:
        """Covariance of the weights as a p×p matrix."""
        V = self.spectrum.V
        # A sum of squares, not a difference from the prior's variance, which can be larger by many orders of magnitude.
        half = V * np.sqrt(self.variances)
        S = half @ half.T
        if not self.spectrum.spans_all and self.null_variance:
            off = np.eye(len(V)) - V @ V.T
            S += self.null_variance * (off.T @ off)
        return S * t_variance(self.df)

    def latent_square(self, X: Any) -> Array:
        """Squared scale of f(x) at each row."""
        inside, outside = self.spectrum.components(X)
        return self.level_variance + (inside * inside) @ self.variances + self.null_variance * outside

    def latent_covariance(self, X: Any) -> Array:
        """Covariance of f between rows."""
        inside = self.spectrum.coordinates(X)
        cov = (inside * self.variances) @ inside.T
        if not self.spectrum.spans_all and self.null_variance:
            rows = X.toarray() if is_sparse(X) else X
            off = rows - self.spectrum.x_mean - inside @ self.spectrum.V.T
            cov += self.null_variance * (off @ off.T)
        return (cov + self.level_variance) * t_variance(self.df)

    def covariance(self, X: Any) -> Array:
        """Covariance of new observations between rows."""
        cov = self.latent_covariance(X)
        cov.flat[:: len(cov) + 1] += self.noise_variance * t_variance(self.df)
        return cov

    def predictive(self, X: Any, *, latent: bool) -> Distribution:
        """The distribution of a new observation at each row, or of f itself."""
        square = self.latent_square(X) + (0.0 if latent else self.noise_variance)
        if self.df == np.inf:
            return Normal(self.mean(X), np.sqrt(square))
        return StudentT(self.df, self.mean(X), np.sqrt(square))

    def equivalent_kernel(self, X: Any, train: Any, weight: Array | None) -> Array:
        """βxᵀSxₙ between rows and training rows, plus the term of the intercept (Bishop 3.62)."""
        inside, trained = self.spectrum.coordinates(X), self.spectrum.coordinates(train)
        share = (inside * (self.variances / self.noise_variance)) @ trained.T
        share += self.level_variance / self.noise_variance
        return share if weight is None else share * weight

    def draws(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """n weight vectors and intercepts from the posterior."""
        V = self.spectrum.V
        noise = rng.standard_normal((n, len(self.coef)))
        shift = ((noise @ V) * np.sqrt(self.variances)) @ V.T
        if not self.spectrum.spans_all:
            shift += np.sqrt(self.null_variance) * (noise - (noise @ V) @ V.T)
        level = np.sqrt(self.level_variance) * rng.standard_normal(n)
        if self.df != np.inf:
            stretch = np.sqrt(self.df / rng.chisquare(self.df, size=n))
            shift, level = shift * stretch[:, None], level * stretch
        weights = self.coef + shift
        intercepts = self.intercept + level - shift @ self.spectrum.x_mean
        return weights, intercepts
