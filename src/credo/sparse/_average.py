"""The coefficients of a subset, and their moments over many subsets.

Coefficients, draws and predictions, averaged over models.

Given a subset, β ~ t(s·A⁻¹b, noise·s·A⁻¹) and f(x) = ȳ + (x − x̄)ᵀβ + ε̄ with ε̄ ~ noise/n, for one or several values of
s (`CoefficientPosterior`). A prediction is a mixture over the most probable subsets, with one more component for all
others that gives the mixture the exact mean and variance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from credo.core.estimator import check_positive, check_shapes
from credo.core.linalg import one_blas_thread
from credo.distributions import Distribution, Mixture, Normal, StudentT, t_variance
from credo.sparse._dependence import is_dependent, lengths
from credo.sparse._design import Design
from credo.sparse._models import Model, ModelPosterior
from credo.sparse._slabs import CoefficientPosterior, Slab
from credo.sparse._slabs_jit import FLOOR

Array = NDArray[np.float64]

# A variance smaller than this, relative to the square of its mean, has lost its digits as a difference of sums.
_CLOSE = 1e-11


@dataclass(frozen=True)
class Fit:
    """A subset's least-squares (or ridge) coefficients in the units of the table, and a root W of A⁻¹ = WWᵀ.

    `parts` are the posterior of its coefficients, a mixture.
    """

    columns: NDArray[np.intp]
    coef: Array
    root: Array
    parts: Sequence[CoefficientPosterior]


@dataclass(frozen=True)
class Moments:
    """Inclusion, mean and covariance of coefficients over all models; and the variance of the noise."""

    inclusion: Array
    mean: Array
    cov: Array
    noise: float

    def _check_state(self) -> None:
        check_shapes(self, inclusion="r", mean="r", cov="r r", noise="")
        check_positive(self, "inclusion", "noise", zero=True)


def fits_of(design: Design, slab: Slab, models: Sequence[Model]) -> list[Fit]:
    """The coefficients of subsets of the table's columns."""
    # For small factors, BLAS threads cost more than they save.
    with one_blas_thread():
        solved = [solve(design, model, ridge=slab.ridge) for model in models]
    posteriors = slab.posteriors([len(model) for model in models], [rest for _, _, rest in solved])
    return [
        Fit(np.asarray(model, dtype=np.intp), coef, root, parts)
        for model, (coef, root, _), parts in zip(models, solved, posteriors, strict=True)
    ]


def solve(design: Design, model: Model, *, ridge: float = 0.0) -> tuple[Array, Array, float]:
    """A⁻¹b and a root of A⁻¹ in the units of the table, and 1 − R²."""
    R, c, rest = _triangle(design, model, ridge)
    k, unit = len(model), design.unit[design.places(model)]
    coef = solve_triangular(R, c, check_finite=False) / unit if k else c
    root = solve_triangular(R, np.eye(k), check_finite=False) / unit[:, None] if k else R
    return coef, root, rest


def log_evidences(design: Design, slab: Slab, models: Sequence[Model]) -> Array:
    """ln p(y | γ) of subsets; −∞ for columns that aren't in the design, and dependent ones unless there is a ridge."""
    values, known = np.full(len(models), -np.inf), set(design.kept.tolist())
    for i, model in enumerate(models):
        if not known.issuperset(model):
            continue
        places = design.places(model)
        R, _, rest = _triangle(design, model, slab.ridge)
        if slab.ridge == 0 and is_dependent(R / lengths(design.X[:, places]), design.least[places]):
            continue
        values[i] = float(slab.score(len(model), rest, 2.0 * float(np.log(np.abs(np.diag(R))).sum())))
    return values


def _triangle(design: Design, model: Model, ridge: float) -> tuple[Array, Array, float]:
    """R with RᵀR = A, R⁻ᵀb, and 1 − R²."""
    k, rows, target = len(model), design.X[:, design.places(model)], design.y
    if ridge > 0:
        rows, target = np.vstack([rows, math.sqrt(ridge) * np.eye(k)]), np.append(target, np.zeros(k))
    Q, R = np.linalg.qr(rows)
    c = Q.T @ target
    # From the residuals: a difference of squares would lose the digits of a close fit.
    left = target - Q @ c
    rest = (float(left @ left) + max(design.yy - float(design.y @ design.y), 0.0)) / design.yy if k else 1.0
    return R, c, max(rest, FLOOR)


def moments_of(fits: Sequence[Fit], probability: Array, columns: NDArray[np.intp]) -> Moments:
    """The moments over these models alone, whose probabilities are normalized.

    Squares are taken about the coefficients of the first, most probable model: for a close fit a difference of squares
    would keep no digits.
    """
    share = probability / probability.sum()
    first = np.searchsorted(columns, fits[0].columns)
    middle = np.zeros(len(columns))
    middle[first] = sum(part.weight * part.shrink for part in fits[0].parts) * fits[0].coef
    inclusion, shift, noise = np.zeros(len(columns)), np.zeros(len(columns)), 0.0
    square = np.zeros((len(columns), len(columns)))
    for weight, fit in zip(share.tolist(), fits, strict=True):
        at = np.searchsorted(columns, fit.columns)
        inverse, either = fit.root @ fit.root.T, np.union1d(at, first)
        coef = np.zeros(len(either))
        coef[np.searchsorted(either, at)] = fit.coef
        inclusion[at] += weight
        for part in fit.parts:
            mass, spread = weight * part.weight, part.noise * float(t_variance(part.df))
            gap = part.shrink * coef - middle[either]
            shift[either] += mass * gap
            square[np.ix_(either, either)] += mass * np.outer(gap, gap)
            square[np.ix_(at, at)] += mass * spread * part.shrink * inverse
            noise += mass * spread
    return Moments(inclusion, middle + shift, square - np.outer(shift, shift), noise)


def summed_moments(design: Design, slab: Slab, found: ModelPosterior) -> Moments:
    """The moments over all subsets of an enumeration; for close fits, those of the stored models."""
    assert found.coef_mean is not None and found.coef_cov is not None and found.noise_variance is not None
    mean, cov = found.coef_mean / design.unit, found.coef_cov / np.outer(design.unit, design.unit)
    if (np.diag(cov) > _CLOSE * mean**2).all():
        return Moments(found.inclusion, mean, cov, found.noise_variance)
    stored = moments_of(fits_of(design, slab, found.models), found.probability, design.kept)
    return replace(stored, inclusion=found.inclusion)


# Components of a mixture beside the one for the rest, for predictions and for a single coefficient.
_MOST_COMPONENTS, _MOST_SLABS = 32, 20
# Models with less than this total probability aren't worth a component.
_NEGLIGIBLE = 1e-9


@dataclass
class Blend:
    """A mixture in the making, row by row: components (df, loc, scale) about a `center`, with their weights."""

    center: Array
    weights: list[Array]
    components: list[tuple[Array, Array, Array]]

    def add(self, weight: Array, df: Array, loc: Array, scale: Array) -> None:
        """One component; a weight of zero leaves a row out."""
        self.weights.append(weight)
        self.components.append((df, loc, scale))

    def finish(self, mean: Array, variance: Array, *, mass: Array) -> Mixture:
        """The mixture of that mean and variance; `mass` is the total weight with all components included."""
        weights = np.array(self.weights).reshape(len(self.weights), len(mean))
        left = mass - weights.sum(axis=0)
        rest = left > _NEGLIGIBLE * mass
        share = np.where(rest, left, 1.0)
        first, second = np.zeros_like(mean), np.zeros_like(mean)
        for weight, (df, loc, scale) in zip(weights, self.components, strict=True):
            gap = np.where(weight > 0, loc - mean, 0.0)
            first += weight * gap
            second += weight * (t_variance(df) * scale**2 + gap**2)
        if rest.any():
            gap = -first / share
            spread = np.maximum((mass * variance - second) / share - gap**2, 1e-9 * variance)
            df = (
                np.min([df for df, _, _ in self.components], axis=0)
                if self.components
                else np.full_like(mean, math.inf)
            )
            self.add(np.where(rest, left, 0.0), df, mean + gap, np.sqrt(spread / t_variance(df)))
            weights = np.array(self.weights)
        parts = [_distribution(df, self.center + loc, scale) for df, loc, scale in self.components]
        return Mixture(parts, (weights / weights.sum(axis=0)).T)


class Average:
    """The posterior over models for predictions: the stored models, most probable first, and the moments over all."""

    def __init__(
        self, design: Design, slab: Slab, models: Sequence[Model], probability: Array, moments: Moments
    ) -> None:  # fmt: skip
        self.design, self.slab, self.moments = design, slab, moments
        self._models, self._probability = models, probability
        self._known: list[Fit] = []

    def fits(self, n_models: int) -> list[Fit]:
        """The coefficients of the first models, in two fixed parts so that they always have the same digits."""
        for part in (slice(0, _MOST_COMPONENTS), slice(_MOST_COMPONENTS, None)):
            if len(self._known) < min(n_models, len(self._models)) and len(self._known) == part.start:
                self._known += fits_of(self.design, self.slab, self._models[part])
        return self._known[:n_models]

    def mean(self, X: Array) -> Array:
        """The posterior mean of f at rows of the table."""
        return self._centred(X) @ self.moments.mean + self.design.y_mean

    def predictive(self, X: Array, *, latent: bool) -> Mixture:
        """The mixture over models, at rows of the table."""
        rows, level = self._centred(X), 1.0 / self.design.n + (0.0 if latent else 1.0)
        blend, ones = Blend(np.full(len(X), self.design.y_mean), [], []), np.ones(len(X))
        for weight, fit in self._likely(_MOST_COMPONENTS):
            columns = rows[:, self.design.places(fit.columns)]
            fitted, quadratic = columns @ fit.coef, np.square(columns @ fit.root).sum(axis=1)
            for part in fit.parts:
                square = part.noise * (part.shrink * quadratic + level)
                blend.add(weight * part.weight * ones, part.df * ones, part.shrink * fitted, np.sqrt(square))
        variance = np.einsum("ij,ij->i", rows @ self.moments.cov, rows) + level * self.moments.noise
        return blend.finish(rows @ self.moments.mean, variance, mass=ones)

    def covariance(self, X: Array) -> Array:
        """The covariance of new observations at rows of the table."""
        rows = self._centred(X)
        shared = rows @ self.moments.cov @ rows.T + self.moments.noise / self.design.n
        return shared + self.moments.noise * np.eye(len(X))

    def slabs(self, columns: NDArray[np.intp]) -> Mixture:
        """The distribution of each coefficient given that its column is in, a row for each; all are in some model."""
        at = self.design.places(columns)
        share = self.moments.inclusion[at]
        per_row: list[list[tuple[float, float, float, float]]] = [[] for _ in columns]
        fits = self.fits(len(self._models))
        for weight, fit in zip(self._probability.tolist(), fits, strict=True):
            scale = np.linalg.norm(fit.root, axis=1)
            for i, column in enumerate(columns.tolist()):
                j = np.searchsorted(fit.columns, column)
                if j == len(fit.columns) or fit.columns[j] != column or len(per_row[i]) >= _MOST_SLABS:
                    continue
                per_row[i] += [(weight * part.weight, part.df, part.shrink * fit.coef[j],
                                math.sqrt(part.noise * part.shrink) * scale[j]) for part in fit.parts]  # fmt: skip
        table = np.zeros((max(map(len, per_row)), 4, len(columns)))
        table[:, 1], table[:, 3] = fits[0].parts[0].df, 1.0
        for i, entries in enumerate(per_row):
            if entries:
                table[: len(entries), :, i] = entries
        mean = self.moments.mean[at] / share
        square = (np.diag(self.moments.cov)[at] + self.moments.mean[at] ** 2) / share
        blend = Blend(np.zeros(len(columns)), [], [])
        for row in table:
            blend.add(*row)
        return blend.finish(mean, square - mean**2, mass=share)

    def draws(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Coefficients (n, n_features) and intercepts (n,), from the stored models."""
        design = self.design
        coefs, intercepts = np.zeros((n, design.n_features)), np.full(n, design.y_mean)
        parts = [(weight * part.weight, fit, part) for weight, fit in self._likely(None) for part in fit.parts]
        share = np.array([weight for weight, _, _ in parts])
        chosen = rng.choice(len(parts), size=n, p=share / share.sum())
        for i in np.unique(chosen).tolist():
            _, fit, part = parts[i]
            at = np.flatnonzero(chosen == i)
            normal = rng.normal(size=(len(at), len(fit.columns) + 1))
            noise = np.full(len(at), math.sqrt(part.noise))
            if part.df < math.inf:
                noise *= np.sqrt(part.df / rng.chisquare(part.df, size=len(at)))
            beta = part.shrink * fit.coef + math.sqrt(part.shrink) * noise[:, None] * (normal[:, 1:] @ fit.root.T)
            coefs[np.ix_(at, fit.columns)] = beta
            x_mean = design.x_mean[design.places(fit.columns)]
            intercepts[at] += noise * normal[:, 0] / math.sqrt(design.n) - beta @ x_mean
        return coefs, intercepts

    def _likely(self, most: int | None) -> Iterator[tuple[float, Fit]]:
        """The models with nearly all of the probability, up to a number of components."""
        n_models = int(np.searchsorted(np.cumsum(self._probability), 1.0 - _NEGLIGIBLE)) + 1
        if most is not None:
            n_models = min(n_models, max(1, most // max(len(fit.parts) for fit in self.fits(2))))
        yield from zip(self._probability.tolist(), self.fits(n_models), strict=False)

    def _centred(self, X: Array) -> Array:
        return X[:, self.design.kept] - self.design.x_mean


def _distribution(df: Array, loc: Array, scale: Array) -> Distribution:
    """Student-t, or normal at infinite degrees of freedom; a slab's are all finite or all infinite."""
    return Normal(loc, scale) if np.isinf(df).any() else StudentT(df, loc, scale)
