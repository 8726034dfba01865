"""Mixtures of normal or Student-t components: their densities and prior, EM, and the Laplace approximation.

A normal component is a Student-t one with ν = ∞. With z = L⁻¹(x − μ), Σ = LLᵀ and q = zᵀz,

    ln t(x) = ln Γ((ν + d)/2) − ln Γ(ν/2) − (d/2) ln νπ − ln|L| − ((ν + d)/2) ln(1 + q/ν)

EM, from several starts:

    E: r_ik ∝ π_k p_k(x_i),  u_ik = (ν_k + d)/(ν_k + q_ik)      M: `Prior.mode`, then ν_k by its own likelihood

The log posterior never decreases (Peel & McLachlan 2000; for ν as in the ECME of Liu & Rubin 1995).

The Laplace approximation of ln p(X): around the mode, μ_k + L_k u and Σ_k = L_k exp(E) L_kᵀ with a symmetric E are the
parameters of a component, ln ν_k is a further one if it is learned, and the logits of π against its last entry. For a
row with z = L⁻¹(x − μ) and w = (ν + d)/(ν + q), the score of component k is

    s = w t − (0, ½ on the diagonal of E),    t = (z, ½zᵢ² for Eᵢᵢ, zᵢzⱼ for Eᵢⱼ)

The curvature of ln Σ_k π_k p_k is that of complete data less the variance of the scores (Louis 1982):

    H = Σᵢ Σ_k r_ik (−∇² ln π_k p_k) − Σᵢ (Σ_k r_ik s sᵀ − s̄ s̄ᵀ) + prior

At the mode the first part and the prior are diagonal, apart from −Σ r (2w/(ν + q)) t tᵀ of Student-t components.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, gammaln, logsumexp, multigammaln, polygamma, softmax
from scipy.stats import rankdata
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from credo.core.estimator import (
    ConvergenceWarning,
    Estimator,
    Result,
    center_and_scale,
    check_magnitude,
    choice,
    merge_equal_rows,
    nonnegative_integer,
    numeric,
    positive,
    positive_integer,
)
from credo.core.fields import Axes, Inner, Positive, Probabilities, Where
from credo.core.frames import Table
from credo.core.learning.em import Ascent, best_ascent, distant_rows, smallest_bic, squared_distances
from credo.core.linalg import EPS, NotPositiveDefiniteError, factorize, weighted_quantiles
from credo.core.notices import warn
from credo.core.seeds import generator

Array = NDArray[np.float64]

# The gamma prior of ν if it is learned: shape 2 and rate 0.1 (Juárez & Steel 2010).
DF_SHAPE, DF_RATE = 2.0, 0.1


def _has_positive_diagonals(roots: Array) -> bool:
    return bool(((roots if roots.ndim == 2 else np.einsum("kii->ki", roots)) > 0).all())


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

    weights: Annotated[Array, Axes("k"), Positive, Probabilities]
    means: Annotated[Array, Axes("k d")]
    roots: Annotated[Array, Axes("k d | k d d"), Where(_has_positive_diagonals, "of positive diagonals")]
    df: Annotated[Array, Axes("k", finite=False), Positive]

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
    """π ~ Dirichlet(1), Σ_k ~ inverse Wishart(ν₀, ψI), μ_k | Σ_k ~ N(0, Σ_k/κ); or only a tiny penalty.

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
        return cls(1.0, 0.01, n_components ** (-2.0 / n_features), dof + 1.0)

    @classmethod
    def none(cls) -> Prior:
        """Only a penalty ½ε tr Σ⁻¹ that bounds the likelihood."""
        return cls(0.0, 0.0, 1e-6, 0.0)

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


@dataclass(frozen=True)
class Fit:
    """Components, their responsibilities and squared distances (n, k), and the log posterior up to a constant."""

    parts: Components
    shares: Array
    q: Array
    value: float


@dataclass(frozen=True)
class Problem:
    """Rows in standardized units with their weights, and the family: `df` is a number, infinite if normal, or None."""

    X: Array
    weight: Array
    n_components: int
    prior: Prior
    full: bool
    df: float | None

    @property
    def learns_df(self) -> bool:
        return self.df is None

    def at(self, parts: Components) -> Fit:
        """The E step."""
        q = parts.distances(self.X)
        terms = np.log(parts.weights) + parts.log_densities(q)
        total = logsumexp(terms, axis=1)
        value = float(self.weight @ total) + self.prior.log_density(parts, learns_df=self.learns_df)
        return Fit(parts, np.exp(terms - total[:, None]), q, value)

    def step(self, fit: Fit) -> Fit:
        """One M step and the E step after it."""
        mass, parts = self.weight[:, None] * fit.shares, fit.parts
        new = self.prior.mode(self.X, mass, mass * parts.precision_weights(fit.q), parts.df, full=self.full)
        return self.at(replace(new, df=self._best_df(mass, new.distances(self.X))) if self.learns_df else new)

    def start(self, rng: np.random.Generator, *, ranks: bool = False) -> Components:
        """Components of the cells of a short k-means, started as in k-means++.

        With `ranks`, the columns are replaced by their ranks, so that outliers don't get their own cells.
        """
        X, weight = rankdata(self.X, axis=0) / len(self.X) if ranks else self.X, self.weight
        centers = distant_rows(X, weight, self.n_components, rng)
        for _ in range(5):
            shares = np.eye(len(centers))[squared_distances(X, centers).argmin(axis=1)]
            mass = weight @ shares
            sums = (shares * weight[:, None]).T @ X
            centers = np.where(mass[:, None] > 0, sums / np.maximum(mass, 1e-300)[:, None], centers)
        mass = weight[:, None] * shares
        df = np.full(len(centers), 10.0 if self.df is None else self.df)
        return self.prior.mode(self.X, mass, mass, df, full=self.full)

    def _best_df(self, mass: Array, q: Array) -> Array:
        """ν_k at the maximum of Σ r_ik ln t(q_ik | ν_k) plus its log prior, by bisection of the slope in ln ν."""
        d, counts = self.X.shape[1], mass.sum(axis=0)
        low, high = (np.full(len(counts), end) for end in (np.log(0.05), np.log(1e4)))
        for _ in range(30):
            middle = 0.5 * (low + high)
            nu = np.exp(middle)
            rows = (nu + d) / (nu + q) * q / nu - np.log1p(q / nu)
            slope = 0.5 * (counts * (digamma((nu + d) / 2) - digamma(nu / 2) - d / nu) + (mass * rows).sum(axis=0))
            slope += DF_SHAPE / nu - DF_RATE
            low, high = np.where(slope > 0, middle, low), np.where(slope > 0, high, middle)
        return np.exp(0.5 * (low + high))


def maximize(problem: Problem, *, n_restarts: int, max_iter: int, tol: float, rng: np.random.Generator) -> Ascent[Fit]:
    """The best of several short runs, continued until an iteration adds less than `tol` for each observation."""
    n_starts = 1 if problem.n_components == 1 else 1 + n_restarts
    heavy_tails = problem.df != np.inf
    starts = (problem.at(problem.start(rng, ranks=(i % 2 == 0) == heavy_tails)) for i in range(n_starts))
    goal = tol * float(problem.weight.sum())
    return best_ascent(starts, problem.step, max_iter=max_iter, goal=goal, n_short=20)


def n_parameters(problem: Problem) -> int:
    """The free parameters of a mixture."""
    d = problem.X.shape[1]
    each = d + (d * (d + 1) // 2 if problem.full else d) + problem.learns_df
    return problem.n_components * (each + 1) - 1


def log_evidence(problem: Problem, fit: Fit) -> float | None:
    """ln p(X) by the Laplace approximation; None if it isn't at a maximum or has too many parameters.

    The components can be numbered in K! ways, each a mode of its own.
    """
    n = n_parameters(problem)
    if n > 2000:
        return None
    try:
        factor = factorize(curvature(problem, fit), jitter=0.0)
    except NotPositiveDefiniteError:
        return None
    k, d = fit.parts.means.shape
    constant = problem.prior.log_constant(k, d, full=problem.full, learns_df=problem.learns_df)
    volume = 0.5 * float(fit.parts.logdets().sum()) + 0.5 * n * math.log(2 * math.pi) - 0.5 * factor.logdet
    return fit.value + constant + volume + float(gammaln(k + 1))


def curvature(problem: Problem, fit: Fit) -> Array:
    """H of the module's equations, component by component, the logits last."""
    parts, prior, weight = fit.parts, problem.prior, problem.weight
    blocks = [_component(problem, fit, k) for k in range(len(parts))]
    width, n_logits = blocks[0][0].shape[1], len(parts) - 1
    scores = np.zeros((len(weight), len(parts) * width + n_logits))
    H = np.zeros((scores.shape[1],) * 2)
    logits = np.eye(len(parts))[:, :n_logits] - parts.weights[:n_logits]
    last = np.s_[len(parts) * width :]
    for k, (score, complete) in enumerate(blocks):
        here, mass = np.s_[k * width : (k + 1) * width], weight * fit.shares[:, k]
        scores[:, here] = fit.shares[:, [k]] * score
        H[here, here] += complete - (mass[:, None] * score).T @ score
        cross = np.outer(mass @ score, logits[k])
        H[here, last] -= cross
        H[last, here] -= cross.T
        H[last, last] -= mass.sum() * np.outer(logits[k], logits[k])
    scores[:, last] = fit.shares @ logits
    pi = parts.weights[:n_logits]
    total = weight.sum() + len(parts) * prior.concentration
    H[last, last] += total * (np.diag(pi) - np.outer(pi, pi))
    return H + (weight[:, None] * scores).T @ scores


def _component(problem: Problem, fit: Fit, k: int) -> tuple[Array, Array]:
    """Scores of the rows (n, width), and the curvature of complete data and prior, of one component."""
    parts, prior, d = fit.parts, problem.prior, problem.X.shape[1]
    z, q, mass = parts.whitened(problem.X, k), fit.q[:, k], problem.weight * fit.shares[:, k]
    w = parts.precision_weights(fit.q)[:, k]
    i, j = np.tril_indices(d, -1) if problem.full else (np.empty(0, dtype=int),) * 2
    t = np.hstack([z, 0.5 * z**2, z[:, i] * z[:, j]])
    total = mass.sum() + prior.extra
    diagonal = [np.full(d, mass @ w + prior.mean_count), np.full(d, 0.5 * total), np.full(len(i), total)]
    H, score = np.diag(np.concatenate(diagonal)), w[:, None] * t
    score[:, d : 2 * d] -= 0.5
    nu = float(parts.df[k])
    if math.isfinite(nu):
        H -= (t * (mass * 2 * w / (nu + q))[:, None]).T @ t
    if not problem.learns_df:
        return score, H
    slope, second = _df_derivatives(nu, q, d)
    cross = -(mass * nu * (q - d) / (nu + q) ** 2) @ t
    corner = -float(mass @ (nu**2 * second + nu * slope)) + DF_RATE * nu
    return np.column_stack([score, nu * slope]), np.block([[H, cross[:, None]], [cross[None], np.array([[corner]])]])


def _df_derivatives(nu: float, q: Array, d: int) -> tuple[Array, Array]:
    """First and second derivative of ln t by ν."""
    first = digamma((nu + d) / 2) - digamma(nu / 2) - d / nu - np.log1p(q / nu) + (nu + d) * q / (nu * (nu + q))
    second = 0.5 * (polygamma(1, (nu + d) / 2) - polygamma(1, nu / 2)) + d / nu**2 + q / (nu * (nu + q))
    second = second + q * (nu * (nu + q) - (nu + d) * (2 * nu + q)) / (nu * (nu + q)) ** 2
    return 0.5 * first, 0.5 * second


class DensityMixture(DensityMixin, Estimator):
    """What both mixtures share; a subclass says which `_df` its components have."""

    log_evidence_: float
    evidence_method_: str
    evidence_base_: str

    _title: str
    _equation = "p(x) = Σ πₖ pₖ(x)"

    components_: Annotated[Components, Inner(d="d")]
    center_: Annotated[Array, Axes("d")]
    scale_: Annotated[Array, Axes("d"), Positive]
    bound_: Annotated[Array, Axes("n")]
    log_likelihood_: float
    n_parameters_: int
    n_observations_: float

    def __init__(
        self,
        n_components: int | Literal["bic"] = 1,
        *,
        covariance: Literal["full", "diag"] = "full",
        prior: Literal["weak"] | None = "weak",
        max_components: int = 10,
        n_restarts: int = 4,
        max_iter: int = 1000,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.covariance = covariance
        self.prior = prior
        self.max_components = max_components
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the mixture.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
        y : ignored
        sample_weight : array of shape (n_samples,), optional
            A weight of k is the same as k copies of the row.
        """
        rows, weight = self._standardized(X, sample_weight)
        if self.n_components == "bic":
            most = min(positive_integer("max_components", self.max_components), len(rows))
            fits = (self._fitted(rows, weight, k) for k in range(1, most + 1))
            (problem, path), _ = smallest_bic((fit, _bic(*fit)) for fit in fits)
        else:
            k = positive_integer("n_components", self.n_components, words=["bic"])
            if k > len(rows):
                raise ValueError(f"n_components={k} is more than the {len(rows)} distinct rows of X: use fewer")
            problem, path = self._fitted(rows, weight, k)
        self._keep(problem, path)
        return self

    def score_samples(self, X: ArrayLike) -> Array:
        """The log density of each row."""
        return np.asarray(logsumexp(self._log_terms(X), axis=1)) - float(np.log(self.scale_).sum())

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """The mean log density of the rows."""
        return float(self.score_samples(X).mean())

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """The most probable component of each row."""
        return np.asarray(self._log_terms(X).argmax(axis=1))

    def predict_proba(self, X: ArrayLike) -> Array:
        """The probability that each component made the row (its responsibility): shape (n_samples, n_components)."""
        return np.asarray(softmax(self._log_terms(X), axis=1))

    def sample(self, n_samples: int = 1, *, random_state: Any = None) -> tuple[Array, NDArray[np.intp]]:
        """Draw rows from the density; returns them and the component of each."""
        check_is_fitted(self)
        n = positive_integer("n_samples", n_samples)
        rows, labels = self.components_.sample(n, generator(random_state))
        return rows * self.scale_ + self.center_, labels

    def bic(self, X: ArrayLike) -> float:
        """−2 ln p(X | θ̂) + k ln n for these rows; smaller is better."""
        total = self.score_samples(X)
        return -2.0 * float(total.sum()) + self.n_parameters_ * float(np.log(len(total)))

    def aic(self, X: ArrayLike) -> float:
        """−2 ln p(X | θ̂) + 2k for these rows; smaller is better."""
        return -2.0 * float(self.score_samples(X).sum()) + 2.0 * self.n_parameters_

    def summary(self, *, level: float = 0.95) -> Table:
        """The weight of each component, and its center and spread in each column."""
        check_is_fitted(self)
        names, lines = self._feature_names(), []
        spread = np.sqrt(self._diagonals())
        for k, weight in enumerate(self.weights_):
            lines.append((f"weight {k}", float(weight)))
            lines += [(f"df {k}", float(self.components_.df[k]))] if np.isfinite(self.components_.df[k]) else []
            for j, name in enumerate(names):
                lines.append((f"center {k}: {name}", float(self.means_[k, j])))
                lines.append((f"scale {k}: {name}", float(spread[k, j])))
        notes = (
            f"log evidence {self.log_evidence_:.2f} ({self.evidence_method_}); log likelihood "
            f"{self.log_likelihood_:.2f} with {self.n_parameters_} parameters",
            self.result_.message,
        )
        return Table.of_estimates(f"{self._title}, {len(self.components_)} components", lines, notes=notes)

    @property
    def weights_(self) -> Array:
        check_is_fitted(self)
        return self.components_.weights

    @property
    def means_(self) -> Array:
        check_is_fitted(self)
        return self.components_.means * self.scale_ + self.center_

    @property
    def n_iter_(self) -> int:
        check_is_fitted(self)
        return self.result_.n_iter

    def _scatters(self) -> Array:
        check_is_fitted(self)
        table = self.components_.scatters()
        return table * (np.outer(self.scale_, self.scale_) if table.ndim == 3 else self.scale_**2)

    def _diagonals(self) -> Array:
        table = self._scatters()
        return np.einsum("kii->ki", table) if table.ndim == 3 else table

    def _df(self) -> float | None:
        raise NotImplementedError

    def _log_terms(self, X: ArrayLike) -> Array:
        rows = self._predict_rows(X)
        # Farther out, squares would overflow, and no component would be more probable than another.
        with np.errstate(over="ignore"):
            standardized = np.clip((rows - self.center_) / self.scale_, -1e140, 1e140)
        return self.components_.log_terms(standardized)

    def _standardized(self, X: ArrayLike, sample_weight: ArrayLike | None) -> tuple[Array, Array]:
        """The distinct rows, each column with median zero and a spread of one, and their weights."""
        choice("covariance", self.covariance, ("full", "diag"))
        choice("prior", self.prior, ("weak", None))
        rows = self._validated(numeric(X))
        weight = np.ones(len(rows)) if sample_weight is None else self._weights(sample_weight, rows)
        rows, weight = rows[weight > 0], weight[weight > 0]
        check_magnitude(rows, columns=getattr(self, "feature_names_in_", None))
        first, _, weight = merge_equal_rows(rows, weight)
        rows = rows[first]
        center, scale, constant = _center_and_scale(rows, weight)
        if constant.any():
            name = self._feature_names()[int(np.argmax(constant))]
            if len(rows) == 1:
                raise ValueError(f"{type(self).__name__} needs at least two distinct rows; got n_samples = 1")
            raise ValueError(f"column {name} of X is constant, so that it has no density: leave it out")
        self.center_, self.scale_ = center, scale
        return (rows - center) / scale, weight

    def _fitted(self, rows: Array, weight: Array, n_components: int) -> tuple[Problem, Ascent[Fit]]:
        full = self.covariance == "full"
        prior = Prior.weak(n_components, rows.shape[1], full=full) if self.prior == "weak" else Prior.none()
        problem = Problem(rows, weight, n_components, prior, full, self._df())
        path = maximize(
            problem,
            n_restarts=nonnegative_integer("n_restarts", self.n_restarts),
            max_iter=positive_integer("max_iter", self.max_iter),
            tol=positive("tol", self.tol),
            rng=generator(self.random_state),
        )
        return problem, path

    def _keep(self, problem: Problem, path: Ascent[Fit]) -> None:
        parts = path.end.parts
        order = np.argsort(-parts.weights, kind="stable")
        self.components_ = Components(parts.weights[order], parts.means[order], parts.roots[order], parts.df[order])
        self.n_observations_ = float(problem.weight.sum())
        jacobian = -self.n_observations_ * float(np.log(self.scale_).sum())
        self.bound_ = np.array(path.values) + jacobian
        self.log_likelihood_ = _log_likelihood(problem, path) + jacobian
        self.n_parameters_ = n_parameters(problem)
        evidence = log_evidence(problem, path.end) if self.prior == "weak" else None
        if evidence is None:
            self.log_evidence_ = self.log_likelihood_ - 0.5 * self.n_parameters_ * float(np.log(self.n_observations_))
            self.evidence_method_, self.evidence_base_ = "bic", "Schwarz's approximation, without priors"
        else:
            self.log_evidence_, self.evidence_method_ = evidence + jacobian, "laplace"
            self.evidence_base_ = "priors: scaled by the interquartile ranges of X"
        self.evidence_base_ += "; n_components: maximized" * (self.n_components == "bic")
        n_iter = len(path.values) - 1
        if path.converged:
            self.result_ = Result(True, n_iter, f"converged after {n_iter} iterations of EM")
        else:
            message = f"EM did not converge in {n_iter} iterations: increase max_iter, or use fewer components"
            self.result_ = Result(False, n_iter, message)
            warn(message, ConvergenceWarning, stacklevel=3)


def _center_and_scale(rows: Array, weight: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Medians, spreads and whether a column is constant.

    The spread is the interquartile range over that of a standard normal, so that the tails of a Cauchy distribution
    don't scale the prior; at least a thousandth of the standard deviation.
    """
    lower, center, upper = np.transpose([weighted_quantiles(column, weight, [0.25, 0.5, 0.75]) for column in rows.T])
    std = center_and_scale(rows, weight)[1]
    constant = np.ptp(rows, axis=0) <= 8 * EPS * np.abs(center)
    return center, np.maximum((upper - lower) / 1.349, 1e-3 * std), constant


def _log_likelihood(problem: Problem, path: Ascent[Fit]) -> float:
    return path.values[-1] - problem.prior.log_density(path.end.parts, learns_df=problem.learns_df)


def _bic(problem: Problem, path: Ascent[Fit]) -> float:
    return -2.0 * _log_likelihood(problem, path) + n_parameters(problem) * float(np.log(problem.weight.sum()))
