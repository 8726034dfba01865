"""The posterior over all 2ᵈ subsets, by visiting every one of them."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from credo.linalg import n_threads
from credo.subsets import _jit
from credo.subsets._dependence import DEPENDENT, lengths
from credo.subsets._model_prior import ModelPrior
from credo.subsets._models import Model, ModelPosterior
from credo.subsets._slabs import Formula, Slab

Array = NDArray[np.float64]

LARGEST = 30
# All scores are kept for a picture up to this many columns.
_PICTURED = 20
# From so many columns on the first decisions are shared out: threads take their outcomes one by one. Their number is
# fixed, so that sums have the same digits on every machine.
_FEW, _DEPTH = 12, 6


@dataclass(frozen=True)
class Visit:
    """What one part of the subsets has given; sums are in units of exp(unit)."""

    unit: float
    counts: Array
    masses: Array
    means: Array
    squares: Array
    top: Array
    top_place: NDArray[np.int64]
    best: Array
    best_place: NDArray[np.int64]


@dataclass(frozen=True)
class Task:
    """All that the compiled loop reads."""

    R: Array
    least: Array
    log_scale: Array
    formula: Formula
    log_prior: Array
    seed: float
    n_models: int
    scores: Array

    def visit(self, prefix: int, depth: int) -> Visit:
        """The subsets whose first `depth` decisions are the bits of `prefix`."""
        d = len(self.R) - 1
        T = np.zeros((d + 1, d + 1, d + 1))
        T[0] = self.R
        counts, masses = np.zeros((2, d + 1)), np.zeros((2, d + 1, 5))
        means, squares = np.zeros((2, d + 1, 2, d)), np.zeros((2, d + 1, d, d))
        top, top_place = np.full(self.n_models, -np.inf), np.full(self.n_models, -1, dtype=np.int64)
        best, best_place = np.full(d + 1, np.inf), np.full(d + 1, -1, dtype=np.int64)
        f = self.formula
        unit = _jit.explore(
            prefix, depth, T, self.least, self.log_scale, f.form, f.base, f.width, f.numbers, f.table, self.log_prior,
            self.seed, counts, masses, means, squares, top, top_place, best, best_place, self.scores,
        )  # fmt: skip
        return Visit(unit, counts, masses[0, 0], means[0, 0, 0], squares[0, 0], top, top_place, best, best_place)


def enumerate_models(
    X: Array, y: Array, slab: Slab, prior: ModelPrior, *, least: Array | float = DEPENDENT, n_models: int = 1000,
    pictured: bool = False,
) -> ModelPosterior:  # fmt: skip
    """The posterior over all subsets of the columns, exactly.

    Parameters
    ----------
    X, y : arrays of shape (m, d) and (m,)
        Centred, with the square roots of weights folded in.
    slab, prior : the evidence of a model, and its probability beforehand; the prior may know of more columns, which
        are then out of all models
    least : array of shape (d,) or float
        The share of a column's length that must be left beside others, unless the slab has a ridge.
    n_models : int, default 1000
        How many of the likeliest models to list.
    pictured : bool, default False
        Keep ln p(γ)p(y | γ) of every subset in ``diagnostics["scores"]``, by its number; up to 20 columns.

    Returns
    -------
    ModelPosterior

    Examples
    --------
    >>> import numpy as np
    >>> from credo.subsets._slabs import slab_of
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 10))
    >>> y = X[:, 2] - X[:, 7] + rng.normal(size=50)
    >>> X, y = X - X.mean(axis=0), y - y.mean()
    >>> enumerate_models(X, y, slab_of("g", 50, y @ y, 10), ModelPrior.of(0.5, 10)).map_model
    (2, 7)
    """
    d = X.shape[1]
    if d > LARGEST:
        raise ValueError(
            f'search="enumerate" would visit 2^{d} models; it goes up to {LARGEST} columns. Use search="gibbs", or '
            "credo.sparse.forward_selection to thin the columns first"
        )
    scale = lengths(X)
    scale = np.where(scale > 0, scale, 1.0)
    floor = np.zeros(d) if slab.ridge > 0 else np.ones(d) * least
    task = _task(
        X / scale, y, slab, prior, scale, floor, n_models=min(n_models, 2**d), pictured=pictured and d <= _PICTURED
    )
    depth = 0 if d < _FEW else _DEPTH
    with ThreadPoolExecutor(min(n_threads(), 2**depth), thread_name_prefix="credo-subsets") as pool:
        visits = list(pool.map(task.visit, range(2**depth), repeat(depth)))
    return _gather(visits, task, scale, math.sqrt(slab.yy))


def _task(
    U: Array, y: Array, slab: Slab, prior: ModelPrior, scale: Array, least: Array, *, n_models: int, pictured: bool
) -> Task:  # fmt: skip
    """From columns of unit length and what their lengths were."""
    d = U.shape[1]
    rows = np.column_stack([U, y / math.sqrt(slab.yy)])
    if slab.ridge > 0:
        rows = np.vstack([rows, np.eye(d, d + 1) * (math.sqrt(slab.ridge) / scale)[:, None]])
    R = np.zeros((d + 1, d + 1))
    triangle = np.linalg.qr(rows, mode="r")
    R[: len(triangle)] = triangle
    # A target that is constant to rounding is left whole by every subset.
    R[d, d] = math.sqrt(R[d, d] ** 2 + max(slab.yy - float(y @ y), 0.0) / slab.yy)
    log_prior = prior.log_prob(np.arange(d + 1))
    formula = slab.formula(d, rest=float(R[d, d] ** 2))
    # Coefficients and noise come in units of the target's length.
    formula = replace(formula, width=formula.width / slab.yy)
    seed = float(log_prior[0] + slab.score(0, 1.0))
    scores = np.full(2**d if pictured else 0, -np.inf)
    return Task(R, least, 2.0 * np.log(scale), formula, log_prior, seed, n_models, scores)


def _gather(visits: list[Visit], task: Task, scale: Array, y_scale: float) -> ModelPosterior:
    """One posterior of the parts."""
    d = len(scale)
    units = np.array([visit.unit for visit in visits])
    shares = np.exp(units - units.max())
    counts, masses, means, squares = (
        sum(share * getattr(visit, name) for share, visit in zip(shares, visits, strict=True))
        for name in ("counts", "masses", "means", "squares")
    )
    mass = masses[0]
    log_mass = units.max() + math.log(mass)
    tops, places = np.concatenate([v.top for v in visits]), np.concatenate([v.top_place for v in visits])
    listed = np.argsort(-tops, kind="stable")[: task.n_models]
    listed = listed[tops[listed] > -np.inf]
    models = [members(place, d) for place in places[listed].tolist()]
    # Smaller models first among equals.
    ranks = sorted(range(len(models)), key=lambda i: (-tops[listed[i]], len(models[i]), models[i]))
    order, chosen = listed[ranks], tuple(models[i] for i in ranks)
    unit = y_scale / scale
    mean = means / mass * unit
    square = (squares + np.tril(squares, -1).T) / mass * np.outer(unit, unit)
    return ModelPosterior(
        inclusion=np.minimum(counts[0, :d] / mass, 1.0),
        models=chosen,
        probability=np.exp(tops[order] - log_mass),
        log_evidence=tops[order] - task.log_prior[[len(model) for model in chosen]],
        log_mass=float(log_mass),
        size_probability=counts[1] / mass,
        best_by_size=_best(visits, d),
        coef_mean=mean,
        coef_cov=square - np.outer(mean, mean),
        noise_variance=float(masses[4] / mass) * y_scale**2,
        diagnostics={"converged": True, "n_visited": 2**d, "scores": task.scores},
    )


def _best(visits: list[Visit], d: int) -> tuple[Model, ...]:
    """The subset of each size that leaves least of the target."""
    best = np.stack([visit.best for visit in visits])
    winner = np.argmin(best, axis=0)
    places = [int(visits[winner[k]].best_place[k]) for k in range(d + 1)]
    return tuple(members(place, d) for place in places if place >= 0)


def members(place: int, d: int) -> Model:
    """The columns of a subset by its number."""
    return tuple(j for j in range(d) if place >> (d - 1 - j) & 1)
