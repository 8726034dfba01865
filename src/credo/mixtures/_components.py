"""The components of a mixture in standardized units: their densities, draws and prior.

A normal component is a Student-t one with ν = ∞. With z = L⁻¹(x − μ), Σ = LLᵀ and q = zᵀz,

    ln t(x) = ln Γ((ν + d)/2) − ln Γ(ν/2) − (d/2) ln νπ − ln|L| − ((ν + d)/2) ln(1 + q/ν)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, multigammaln

from credo.estimator import check_positive, check_shapes
from credo.linalg import factorize

Array = NDArray[np.float64]

# The gamma prior of ν where it is learned: shape 2 and rate 0.1 (Juárez & Steel 2010).
DF_SHAPE, DF_RATE = 2.0, 0.1
# Without a prior, what is added to the sum of squares of a component, in units of the columns' squared spread.
_FLOOR = 1e-6
_MEAN_COUNT = 0.01


@dataclass(frozen=True)
class Components:
    """Weights π (k,), means μ (k, d), roots L of Σ, (k, d, d) or (k, d) if diagonal, and degrees of freedom ν (k,).

    Examples
    --------
    >>> import numpy as np
    >>> from credo.mixtures import Components
    >>> two = Components(np.array([0.5, 0.5]), np.array([[0.0], [4.0]]), np.ones((2, 1)), np.full(2, np.inf))
    >>> two.distances(np.array([[1.0]])).round(2).tolist(), two.log_terms(np.array([[1.0]])).round(2).tolist()
    ([[1.0, 9.0]], [[-2.11, -6.11]])
    >>> X, which = two.sample(5, np.random.default_rng(0))
    >>> X.shape
    (5, 1)
    """

    weights: Array
    means: Array
    roots: Array
    df: Array

    def _check_state(self) -> None:
        shape = "k d d" if np.ndim(self.roots) == 3 else "k d"
        sizes = check_shapes(self, weights="k", means="k d", roots=shape)
        if np.shape(self.df) != (sizes["k"],):
            raise ValueError(f"df has shape {np.shape(self.df)} for {sizes['k']} components")
        check_positive(self, "weights", "df")
        diagonal = self.roots if self.roots.ndim == 2 else np.einsum("kii->ki", self.roots)
        if not (diagonal > 0).all() or abs(self.weights.sum() - 1) > 1e-6:
            raise ValueError("roots must have positive diagonals, and weights must sum to one")

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def is_full(self) -> bool:
        return self.roots.ndim == 3

    def logdets(self) -> Array:
        """ln|Σ_k|."""
        diagonal = np.einsum("kii->ki", self.roots) if self.is_full else self.roots
        return 2.0 * np.log(diagonal).sum(axis=1)

    def scatters(self) -> Array:
        """Σ_k, (k, d, d) or (k, d)."""
        return self.roots @ self.roots.swapaxes(1, 2) if self.is_full else self.roots**2

    @cached_property
    def inverse_roots(self) -> Array:
        """L⁻¹ of each component, by which many rows are multiplied."""
        return np.asarray(np.linalg.inv(self.roots) if self.is_full else 1.0 / self.roots)

    def whitened(self, X: Array, k: int) -> Array:
        """z for each row, (n, d)."""
        rest, half = X - self.means[k], self.inverse_roots[k]
        return rest @ half.T if self.is_full else rest * half

    def distances(self, X: Array) -> Array:
        """q of each row and component, (n, k)."""
        q = np.empty((len(X), len(self)))
        for k in range(len(self)):
            z = self.whitened(X, k)
            np.einsum("ij,ij->i", z, z, out=q[:, k])
        return q

    def log_densities(self, q: Array) -> Array:
        """ln p_k for squared distances q (n, k)."""
        d, df = self.means.shape[1], self.df
        normal = np.isinf(df)
        nu = np.where(normal, 1.0, df)
        with np.errstate(over="ignore"):
            tails = np.where(normal, -0.5 * q, -0.5 * (nu + d) * np.log1p(q / nu))
        level = np.where(
            normal, -0.5 * d * np.log(2 * np.pi), gammaln((nu + d) / 2) - gammaln(nu / 2) - 0.5 * d * np.log(np.pi * nu)
        )
        return tails + level - 0.5 * self.logdets()

    def log_terms(self, X: Array) -> Array:
        """ln π_k p_k(x), (n, k)."""
        return np.log(self.weights) + self.log_densities(self.distances(X))

    def precision_weights(self, q: Array) -> Array:
        """E[u | x] = (ν + d)/(ν + q), where x given u is N(μ, Σ/u); one for a normal component."""
        df = np.where(np.isinf(self.df), 1.0, self.df)
        return np.where(np.isinf(self.df), 1.0, (df + self.means.shape[1]) / (df + q))

    def sample(self, n: int, rng: np.random.Generator) -> tuple[Array, NDArray[np.intp]]:
        """n rows and the component of each."""
        labels = rng.choice(len(self), size=n, p=self.weights / self.weights.sum())
        z = rng.standard_normal((n, self.means.shape[1]))
        spread = np.ones(n)
        heavy = np.isfinite(self.df[labels])
        df = self.df[labels][heavy]
        spread[heavy] = np.sqrt(df / rng.chisquare(df))
        z *= spread[:, None]
        roots = self.roots[labels]
        return self.means[labels] + (np.einsum("nij,nj->ni", roots, z) if self.is_full else roots * z), labels


@dataclass(frozen=True)
class Prior:
    """π ~ Dirichlet(1), Σ_k ~ inverse Wishart(ν₀, ψI), μ_k | Σ_k ~ N(0, Σ_k/κ); or, without it, next to nothing.

    The densities are with respect to the logits of π and to |Σ|^−(d+1)/2 dΣ, measures that don't change when columns
    are scaled or rotated, so that a normal approximation at the mode is a good one (MacKay 1998). `extra` is what the
    prior adds to the counts of rows in the mode of Σ, ν₀ + 1.
    """

    concentration: float
    mean_count: float
    scale: float
    extra: float

    @classmethod
    def weak(cls, n_components: int, n_features: int, *, full: bool) -> Prior:
        """The prior of Fraley & Raftery (2007), with the spread of each column in place of their covariance."""
        dof = n_features + 2.0 if full else 3.0
        return cls(1.0, _MEAN_COUNT, n_components ** (-2.0 / n_features), dof + 1.0)

    @classmethod
    def none(cls) -> Prior:
        """Only a penalty ½ε tr Σ⁻¹ that bounds the likelihood."""
        return cls(0.0, 0.0, _FLOOR, 0.0)

    def log_density(self, parts: Components, *, learns_df: bool) -> float:
        """The log prior density up to `log_constant`."""
        origin = np.zeros((1, parts.means.shape[1]))
        total = self.concentration * np.log(parts.weights).sum() - 0.5 * self.extra * parts.logdets().sum()
        if self.mean_count:
            total -= 0.5 * self.mean_count * parts.distances(origin).sum()
        # tr Σ⁻¹ = ‖L⁻¹‖².
        total -= 0.5 * self.scale * np.square(parts.inverse_roots).sum()
        return float(total + (log_df_prior(parts.df).sum() if learns_df else 0.0))

    def log_constant(self, n_components: int, n_features: int, *, full: bool, learns_df: bool) -> float:
        """The normalizing constant of the weak prior."""
        d, dof = n_features, self.extra - 1.0
        each = 0.5 * d * np.log(self.mean_count / (2 * np.pi)) + 0.5 * dof * d * np.log(0.5 * self.scale)
        each -= multigammaln(0.5 * dof, d) if full else d * gammaln(0.5 * dof)
        each += DF_SHAPE * np.log(DF_RATE) - gammaln(DF_SHAPE) if learns_df else 0.0
        return float(gammaln(n_components) + n_components * each)

    def mode(self, X: Array, mass: Array, scaled: Array, df: Array, *, full: bool) -> Components:
        """The components that maximize the expected log posterior, given rows shared out as `mass` (n, k).

        `scaled` is the mass times E[u], the latent precision of a Student-t.
        """
        counts, kappa = mass.sum(axis=0), self.mean_count
        weights = (counts + self.concentration) / (counts.sum() + len(counts) * self.concentration)
        weights = np.maximum(weights, np.finfo(np.float64).tiny)
        heavy = np.maximum(scaled.sum(axis=0), 1e-12)
        means = (scaled.T @ X) / (heavy + kappa)[:, None]
        root = partial(_full_root, X) if full else partial(_diagonal_root, X)
        total = np.maximum(counts + self.extra, 1e-12)
        roots = np.array([root(means[k], scaled[:, k], self, total[k]) for k in range(len(counts))])
        return Components(weights / weights.sum(), means, roots, df)


def _full_root(X: Array, mean: Array, share: Array, prior: Prior, total: float) -> Array:
    rest = X - mean
    rest *= np.sqrt(share)[:, None]
    scatter = rest.T @ rest + prior.mean_count * np.outer(mean, mean)
    np.einsum("ii->i", scatter)[:] += prior.scale
    return factorize(scatter / total, assume_symmetric=True).L


def _diagonal_root(X: Array, mean: Array, share: Array, prior: Prior, total: float) -> Array:
    scatter = share @ np.square(X - mean) + prior.mean_count * mean**2 + prior.scale
    return np.asarray(np.sqrt(scatter / total))


def log_df_prior(df: Array) -> Array:
    """The density of ln ν up to its constant."""
    return np.asarray(DF_SHAPE * np.log(df) - DF_RATE * df)
