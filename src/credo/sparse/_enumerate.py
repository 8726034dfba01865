"""The posterior over all 2ᵈ subsets, by enumeration."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from credo.core.linalg import parallel_map
from credo.sparse import _enumerate_jit
from credo.sparse._dependence import DEPENDENT, lengths
from credo.sparse._enumerate_jit import Problem, Sums
from credo.sparse._models import Model, ModelPosterior, ModelPrior
from credo.sparse._slabs import Slab

Array = NDArray[np.float64]

LARGEST = 30
# The scores of all subsets are stored for up to this many columns.
_ALL_SCORES = 20
# From so many columns on, the outcomes of the first decisions are distributed to threads. Their number is fixed, so
# that sums have the same digits on every machine.
_FEW, _DEPTH = 12, 6


def enumerate_models(
    X: Array, y: Array, slab: Slab, prior: ModelPrior, *, least: Array | float = DEPENDENT, n_models: int = 1000,
    all_scores: bool = False,
) -> ModelPosterior:  # fmt: skip
    """The exact posterior over all subsets of the columns.

    Parameters
    ----------
    X, y : arrays of shape (m, d) and (m,)
        Centred, multiplied by the square roots of weights.
    slab, prior : the evidence of a model, and its prior probability; the prior may be that of more columns, which
        are then in no model
    least : array of shape (d,) or float
        The share of a column's length that must be left given others, unless the slab has a ridge.
    n_models : int, default 1000
        How many of the most probable models to store.
    all_scores : bool, default False
        Store ln p(γ)p(y | γ) of every subset in ``diagnostics["scores"]``, by its number; up to 20 columns.
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
    problem = _problem(X / scale, y, slab, prior, scale, floor)
    scores = np.full(2**d if all_scores and d <= _ALL_SCORES else 0, -np.inf)
    null, n_models = float(problem.log_prior[0] + slab.log_null), min(n_models, 2**d)
    depth = 0 if d < _FEW else _DEPTH

    def explore(prefix: int) -> tuple[float, Sums]:
        T = np.zeros((d + 1, d + 1, d + 1))
        T[0] = problem.R
        sums = Sums(
            counts=np.zeros((2, d + 1)), masses=np.zeros((2, d + 1, 5)), means=np.zeros((2, d + 1, 2, d)),
            squares=np.zeros((2, d + 1, d, d)), top=np.full(n_models, -np.inf),
            top_place=np.full(n_models, -1, dtype=np.int64), best=np.full(d + 1, np.inf),
            best_place=np.full(d + 1, -1, dtype=np.int64), scores=scores,
        )  # fmt: skip
        return _enumerate_jit.explore(prefix, depth, T, problem, null, sums), sums

    parts = parallel_map(explore, range(2**depth))
    return _combined(parts, problem.log_prior, n_models, scale, math.sqrt(slab.yy))


def _problem(U: Array, y: Array, slab: Slab, prior: ModelPrior, scale: Array, least: Array) -> Problem:
    """From columns of unit length and their original lengths."""
    d = U.shape[1]
    rows = np.column_stack([U, y / math.sqrt(slab.yy)])
    if slab.ridge > 0:
        rows = np.vstack([rows, np.eye(d, d + 1) * (math.sqrt(slab.ridge) / scale)[:, None]])
    R = np.zeros((d + 1, d + 1))
    triangle = np.linalg.qr(rows, mode="r")
    R[: len(triangle)] = triangle
    # A target that is constant up to rounding isn't explained by any subset.
    R[d, d] = math.sqrt(R[d, d] ** 2 + max(slab.yy - float(y @ y), 0.0) / slab.yy)
    formula = slab.formula(d, rest=float(R[d, d] ** 2))
    # Coefficients and noise come in units of the target's length.
    formula = formula._replace(width=formula.width / slab.yy)
    return Problem(R, least, 2.0 * np.log(scale), formula, prior.log_prob(np.arange(d + 1)))


def _combined(
    parts: list[tuple[float, Sums]], log_prior: Array, n_models: int, scale: Array, y_scale: float
) -> ModelPosterior:  # fmt: skip
    d, units, sums = len(scale), np.array([unit for unit, _ in parts]), [part for _, part in parts]
    shares = np.exp(units - units.max())

    def total(arrays: list[Array]) -> Array:
        return np.asarray(sum(share * array for share, array in zip(shares, arrays, strict=True)))

    counts, masses = total([part.counts for part in sums]), total([part.masses[0, 0] for part in sums])
    means, squares = total([part.means[0, 0, 0] for part in sums]), total([part.squares[0, 0] for part in sums])
    mass, unit = masses[0], y_scale / scale
    log_mass = units.max() + math.log(mass)
    tops, places = np.concatenate([part.top for part in sums]), np.concatenate([part.top_place for part in sums])
    stored = np.argsort(-tops, kind="stable")[:n_models]
    stored = stored[tops[stored] > -np.inf]
    models = [members(place, d) for place in places[stored].tolist()]
    # Smaller models first among equals.
    ranks = sorted(range(len(models)), key=lambda i: (-tops[stored[i]], len(models[i]), models[i]))
    order, chosen = stored[ranks], tuple(models[i] for i in ranks)
    winner = np.argmin([part.best for part in sums], axis=0)
    best = [int(sums[winner[k]].best_place[k]) for k in range(d + 1)]
    mean = means / mass * unit
    square = (squares + np.tril(squares, -1).T) / mass * np.outer(unit, unit)
    return ModelPosterior(
        inclusion=np.minimum(counts[0, :d] / mass, 1.0),
        models=chosen,
        probability=np.exp(tops[order] - log_mass),
        log_evidence=tops[order] - log_prior[[len(model) for model in chosen]],
        log_mass=float(log_mass),
        size_probability=counts[1] / mass,
        best_by_size=tuple(members(place, d) for place in best if place >= 0),
        coef_mean=mean,
        coef_cov=square - np.outer(mean, mean),
        noise_variance=float(masses[4] / mass) * y_scale**2,
        diagnostics={"converged": True, "n_visited": 2**d, "scores": sums[0].scores},
    )


def members(place: int, d: int) -> Model:
    """The columns of a subset by its number."""
    return tuple(j for j in range(d) if place >> (d - 1 - j) & 1)
