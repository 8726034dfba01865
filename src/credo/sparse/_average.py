"""Coefficients, draws and predictions, averaged over models.

Given a subset, f(x) = level + (x − x̄)ᵀβ has a posterior with a mean and a root of the covariance (`Part`): in
regression β ~ t(s·A⁻¹b, noise·s·A⁻¹) and level ~ t(ȳ, noise/n), for one or several values of s
(`Slab.posteriors`); for classes it is normal about the mode. A prediction is a mixture over the most probable
subsets, with one more component for all others that gives the mixture the exact mean and variance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from credo.core.linalg import column_norms, one_blas_thread
from credo.distributions import Distribution, Mixture, Normal, StudentT, t_variance
from credo.sparse._design import Design, is_dependent
from credo.sparse._models import Model, ModelPosterior, Moments
from credo.sparse._slabs import Slab
from credo.sparse._slabs_jit import FLOOR

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """The coefficients of a model, or a part of their posterior: θ ~ t_df(mean, WWᵀ), W the `root`.

    `columns` are indices into the table, after −1 for the level: the value of f at the means of the columns. `noise` is
    the squared scale of the noise of an observation, `weight` the probability.
    """

    weight: float
    columns: NDArray[np.intp]
    mean: Array
    root: Array
    df: float
    noise: float


def parts_of(design: Design, slab: Slab, models: Sequence[Model], probability: Array) -> list[Part]:
    """The coefficients of subsets of the table's columns; levels are above the mean of y."""
    # For small factors, BLAS threads cost more than they save.
    with one_blas_thread():
        solved = [solve(design, model, ridge=slab.ridge) for model in models]
    posteriors = slab.posteriors([len(model) for model in models], [one_minus_r2 for _, _, one_minus_r2 in solved])
    found = []
    for total, model, (coef, root, _), parts in zip(probability.tolist(), models, solved, posteriors, strict=True):
        columns = np.array([-1, *model], dtype=np.intp)
        for weight, shrink, df, noise in parts:
            W = np.zeros((len(columns), len(columns)))
            W[0, 0], W[1:, 1:] = math.sqrt(noise / design.n), math.sqrt(noise * shrink) * root
            found.append(Part(total * weight, columns, np.append(0.0, shrink * coef), W, df, noise))
    return found


def solve(design: Design, model: Model, *, ridge: float = 0.0) -> tuple[Array, Array, float]:
    """A⁻¹b and a root of A⁻¹ in the units of the table, and 1 − R²."""
    R, c, one_minus_r2 = _triangle(design, model, ridge)
    k, unit = len(model), design.unit[design.places(model)]
    coef = solve_triangular(R, c, check_finite=False) / unit if k else c
    root = solve_triangular(R, np.eye(k), check_finite=False) / unit[:, None] if k else R
    return coef, root, one_minus_r2


def log_evidences(design: Design, slab: Slab, models: Sequence[Model]) -> Array:
    """ln p(y | γ) of subsets; −∞ for columns that aren't in the design, and dependent ones unless there is a ridge."""
    values, known = np.full(len(models), -np.inf), set(design.kept.tolist())
    for i, model in enumerate(models):
        if not known.issuperset(model):
            continue
        places = design.places(model)
        R, _, one_minus_r2 = _triangle(design, model, slab.ridge)
        if slab.ridge == 0 and is_dependent(R / column_norms(design.X[:, places]), design.least[places]):
            continue
        values[i] = float(slab.score(len(model), one_minus_r2, 2.0 * float(np.log(np.abs(np.diag(R))).sum())))
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
    one_minus_r2 = (float(left @ left) + max(design.yy - float(design.y @ design.y), 0.0)) / design.yy if k else 1.0
    return R, c, max(one_minus_r2, FLOOR)


def moments_of(parts: Sequence[Part], columns: NDArray[np.intp]) -> Moments:
    """The moments over these models alone, with probabilities normalized: the level first, then the columns.

    Squares are taken about the coefficients of the first, most probable model: for a close fit, a difference of squares
    would lose all digits.
    """
    total, columns = sum(part.weight for part in parts), np.append(-1, columns)
    first, middle = np.searchsorted(columns, parts[0].columns), np.zeros(len(columns))
    middle[first] = parts[0].mean
    inclusion, shift, noise = np.zeros(len(columns)), np.zeros(len(columns)), 0.0
    square = np.zeros((len(columns), len(columns)))
    for part in parts:
        at, mass, spread = np.searchsorted(columns, part.columns), part.weight / total, float(t_variance(part.df))
        either = np.union1d(at, first)
        gap = -middle[either]
        gap[np.searchsorted(either, at)] += part.mean
        inclusion[at] += mass
        shift[either] += mass * gap
        square[np.ix_(either, either)] += mass * np.outer(gap, gap)
        square[np.ix_(at, at)] += mass * spread * (part.root @ part.root.T)
        noise += mass * spread * part.noise
    return Moments(inclusion, middle + shift, square - np.outer(shift, shift), noise)


def summed_moments(design: Design, slab: Slab, moments: Moments, posterior: ModelPosterior) -> Moments:
    """The moments over all enumerated subsets, in the units of the table; for close fits, over the stored models."""
    unit = np.append(1.0, design.unit)
    mean, cov = moments.mean / unit, moments.cov / np.outer(unit, unit)
    cov[0, 0] = moments.noise / design.n
    # Smaller variances have lost their digits as differences of sums.
    if (np.diag(cov) > 1e-11 * mean**2).all():
        return replace(moments, mean=mean, cov=cov)
    stored = moments_of(parts_of(design, slab, posterior.models, posterior.probability), design.kept)
    return replace(stored, inclusion=moments.inclusion)


# Components of a mixture besides the one for all other models, for predictions and for a single coefficient.
_MAX_COMPONENTS, _MAX_SLABS = 32, 20
# Models with less than this total probability aren't worth a component.
_NEGLIGIBLE_PROBABILITY = 1e-9


@dataclass
class MixtureBuilder:
    """Collects the components (df, loc, scale) of a mixture for each row, about a `center`, with their weights."""

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
        remains = left > _NEGLIGIBLE_PROBABILITY * mass
        share = np.where(remains, left, 1.0)
        first, second = np.zeros_like(mean), np.zeros_like(mean)
        for weight, (df, loc, scale) in zip(weights, self.components, strict=True):
            gap = np.where(weight > 0, loc - mean, 0.0)
            first += weight * gap
            second += weight * (t_variance(df) * scale**2 + gap**2)
        if remains.any():
            gap = -first / share
            spread = np.maximum((mass * variance - second) / share - gap**2, 1e-9 * variance)
            df = (
                np.min([df for df, _, _ in self.components], axis=0)
                if self.components
                else np.full_like(mean, math.inf)
            )
            self.add(np.where(remains, left, 0.0), df, mean + gap, np.sqrt(spread / t_variance(df)))
            weights = np.array(self.weights)
        parts = [_distribution(df, self.center + loc, scale) for df, loc, scale in self.components]
        return Mixture(parts, (weights / weights.sum(axis=0)).T)


class Average:
    """The posterior over models for predictions: the most probable models first, and the moments over all.

    The moments are those of the level, above `y_mean`, and of `columns` of the table, whose means are `x_mean`.
    """

    def __init__(
        self, parts: Sequence[Part], moments: Moments, columns: NDArray[np.intp], x_mean: Array, y_mean: float = 0.0
    ) -> None:  # fmt: skip
        self.moments, self.columns, self.x_mean, self.y_mean = moments, columns, x_mean, y_mean
        self._parts, self._weight = parts, np.array([part.weight for part in parts])

    def mean(self, X: Array) -> Array:
        """The posterior mean of f at rows of the table."""
        return self._rows(X) @ self.moments.mean + self.y_mean

    def latent(self, X: Array, *, most: int | None = None) -> Iterator[tuple[Part, Array, Array]]:
        """The likely parts, up to a number, each with the mean and the squared scale of f − y_mean at rows."""
        rows = self._rows(X)
        for part in self._likely(most):
            at = np.append(0, 1 + np.searchsorted(self.columns, part.columns[1:]))
            yield part, rows[:, at] @ part.mean, np.square(rows[:, at] @ part.root).sum(axis=1)

    def predictive(self, X: Array, *, latent: bool) -> Mixture:
        """The mixture over linear models, at rows of the table."""
        rows, mixture, ones = self._rows(X), MixtureBuilder(np.full(len(X), self.y_mean), [], []), np.ones(len(X))
        for part, mean, square in self.latent(X, most=_MAX_COMPONENTS):
            square = square + (0.0 if latent else part.noise)
            mixture.add(part.weight * ones, part.df * ones, mean, np.sqrt(square))
        variance = np.einsum("ij,ij->i", rows @ self.moments.cov, rows) + (0.0 if latent else self.moments.noise)
        return mixture.finish(rows @ self.moments.mean, variance, mass=ones)

    def covariance(self, X: Array) -> Array:
        """The covariance of new observations at rows of the table."""
        rows = self._rows(X)
        return rows @ self.moments.cov @ rows.T + self.moments.noise * np.eye(len(X))

    def coefficients(self, n_features: int) -> tuple[Array, Array, float, float]:
        """Means and standard deviations of the coefficients of the table's columns, and of the intercept."""
        coef, std = np.zeros((2, n_features))
        coef[self.columns] = self.moments.mean[1:]
        std[self.columns] = np.sqrt(np.maximum(np.diag(self.moments.cov)[1:], 0.0))
        # The intercept is the level minus the coefficients times the means.
        lean = np.append(1.0, -self.x_mean)
        variance = max(float(lean @ self.moments.cov @ lean), 0.0)
        return coef, std, self.y_mean + float(lean @ self.moments.mean), math.sqrt(variance)

    def coefficient(self, column: int) -> Mixture | None:
        """The distribution of a coefficient given that its column is in, as one row; None if it is in no model."""
        at = 1 + np.flatnonzero(self.columns == column)
        if not len(at) or not self.moments.inclusion[at] > 0:
            return None
        mixture = MixtureBuilder(np.zeros(1), [], [])
        for part in self._parts:
            j = np.flatnonzero(part.columns == column)
            if len(j) and len(mixture.weights) < _MAX_SLABS:
                scale = np.linalg.norm(part.root[j], axis=1)
                mixture.add(np.array([part.weight]), np.array([part.df]), part.mean[j], scale)
        share = self.moments.inclusion[at]
        mean = self.moments.mean[at] / share
        square = (np.diag(self.moments.cov)[at] + self.moments.mean[at] ** 2) / share
        return mixture.finish(mean, square - mean**2, mass=share)

    def draws(self, n: int, rng: np.random.Generator, n_features: int) -> tuple[Array, Array]:
        """Coefficients (n, n_features) and intercepts (n,), from the likely parts."""
        coefs, levels, parts = np.zeros((n, n_features)), np.full(n, self.y_mean), list(self._likely(None))
        share = self._weight[: len(parts)]
        chosen = rng.choice(len(parts), size=n, p=share / share.sum())
        for i in np.unique(chosen).tolist():
            part, at = parts[i], np.flatnonzero(chosen == i)
            normal = rng.normal(size=(len(at), len(part.mean)))
            if part.df < math.inf:
                normal *= np.sqrt(part.df / rng.chisquare(part.df, size=len(at)))[:, None]
            theta = part.mean + normal @ part.root.T
            levels[at] += theta[:, 0]
            coefs[np.ix_(at, part.columns[1:])] = theta[:, 1:]
        return coefs, levels - coefs[:, self.columns] @ self.x_mean

    def _likely(self, most: int | None) -> Sequence[Part]:
        """The parts with nearly all of the probability, up to a number."""
        n_parts = int(np.searchsorted(np.cumsum(self._weight), 1.0 - _NEGLIGIBLE_PROBABILITY)) + 1
        return self._parts[: n_parts if most is None else min(n_parts, most)]

    def _rows(self, X: Array) -> Array:
        """Ones and the centered columns."""
        return np.column_stack([np.ones(len(X)), X[:, self.columns] - self.x_mean])


def _distribution(df: Array, loc: Array, scale: Array) -> Distribution:
    """Student-t, or normal if the degrees of freedom are infinite; for one slab all are finite or all infinite."""
    return Normal(loc, scale) if np.isinf(df).any() else StudentT(df, loc, scale)
