"""The coefficients of a subset, and their moments over many subsets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from credo.distributions import t_variance
from credo.estimator import check_positive, check_shapes
from credo.linalg import one_blas_thread
from credo.subsets._dependence import is_dependent, lengths
from credo.subsets._design import Design
from credo.subsets._models import Model, ModelPosterior
from credo.subsets._slabs import CoefficientPosterior, Slab
from credo.subsets._slabs_jit import FLOOR

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
