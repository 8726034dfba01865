"""What several chains say together, and how far it can be trusted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from credo.learning._extra import extra
from credo.subsets._models import Model
from credo.subsets.walk._mass import log_mass
from credo.subsets.walk._path import Path

Array = NDArray[np.float64]

# Points in time at which chains are compared.
_MOMENTS = 1000


@dataclass(frozen=True)
class Visits:
    """The models that chains visited, likeliest first.

    `log_joint` is ln p(γ)p(y | γ), `log_mass` the logarithm of its sum over all models, visited or not, with its error,
    and `share` the part of that which was visited; zero where the chains are too short to say.
    """

    models: list[Model]
    log_evidence: Array
    log_joint: Array
    log_mass: float
    log_mass_error: float
    share: float
    best_by_size: tuple[Model, ...]


def inclusion(paths: Sequence[Path]) -> tuple[Array, Array]:
    """Inclusion probabilities and their Monte-Carlo standard errors.

    The estimate is a ratio of sums over batches; its error is that of a ratio by linearisation, from the scatter of
    batches or of whole chains, whichever is larger: chains that stay in different places agree with themselves. Nor is
    it less than the scatter of what chains say each by itself: where large models are left sooner than small ones, a
    chain that stays with them has no weight.
    """
    parts = np.stack([path.included for path in paths]), np.stack([path.batch_weight for path in paths])
    total = float(parts[1].sum())
    mean = parts[0].sum(axis=(0, 1)) / total
    rests = parts[0] - parts[1][..., None] * mean
    batches = rests.reshape(-1, rests.shape[-1])
    errors = [np.sqrt(len(rest) / (len(rest) - 1)) * np.linalg.norm(rest, axis=0) / total
              for rest in (batches, rests.sum(axis=1)) if len(rest) > 1]  # fmt: skip
    alone = parts[0].sum(axis=1) / parts[1].sum(axis=1, keepdims=True)
    if len(alone) > 1:
        errors.append(alone.std(axis=0, ddof=1) / np.sqrt(len(alone)))
    return np.clip(mean, 0.0, 1.0), np.max(errors, axis=0)


def visits(paths: Sequence[Path], log_prior: Array) -> Visits:
    """The union of what the chains visited, and the mass of all models; what was seen is a lower bound.

    Of two ways to that mass the one is taken that says it errs less.
    """
    known = _known(paths)
    models, (logs, rest) = list(known), np.array(list(known.values())).T
    joint = logs + log_prior[[len(model) for model in models]]
    seen = float(logsumexp(joint))
    mass, error = _recaptured(paths, {model: number for number, model in enumerate(models)}, joint)
    heats = [path.heat for path in paths if path.heat]
    if heats:
        bridged = log_mass(heats, paths[0].included.shape[1])
        mass, error = min((mass, error), bridged, key=lambda pair: np.nan_to_num(pair[1], nan=np.inf))
    whole = max(seen, mass) if np.isfinite(mass) else seen
    # An estimate that the visited models contradict errs by as much at least.
    error = max(error, whole - mass)
    # Smaller models first among equals, whatever chain saw them first.
    order = sorted(range(len(models)), key=lambda place: (-joint[place], len(models[place]), models[place]))
    return Visits(
        models=[models[place] for place in order],
        log_evidence=logs[order],
        log_joint=joint[order],
        log_mass=whole,
        log_mass_error=error,
        share=float(np.exp(seen - whole)) if np.isfinite(mass) else 0.0,
        best_by_size=_best_by_size(models, rest),
    )


def missed(paths: Sequence[Path], seen: Visits) -> float:
    """The largest probability of a model that some chain hasn't visited, though another has, or one looked at it.

    Zero where the models are so many that probabilities aren't known.
    """
    if seen.share == 0.0:
        return 0.0
    heights = dict(zip(seen.models, seen.log_joint.tolist(), strict=True))
    heights.update({path.summit: path.peak for path in paths if path.peak > -np.inf and path.summit not in heights})
    visited = [set(path.models) for path in paths]
    gaps = [height for model, height in heights.items() if not all(model in models for models in visited)]
    best = max(gaps, default=-np.inf)
    # What was looked at and never visited isn't in the mass.
    mass = seen.log_mass if best <= seen.log_mass else np.logaddexp(seen.log_mass, best)
    return float(np.exp(best - mass))


def contradiction(seen: Visits, probability: Array, n_models: int) -> Array:
    """How far inclusion probabilities are from what the likeliest models leave room for.

    A column is in with at least the probability of the models that hold it, and out with that of those that don't.
    """
    if seen.share == 0.0:
        return np.zeros_like(probability)
    shares = np.exp(seen.log_joint[:n_models] - seen.log_mass)
    least = np.zeros_like(probability)
    for model, share in zip(seen.models[:n_models], shares.tolist(), strict=False):
        least[list(model)] += share
    most = 1.0 - (shares.sum() - least)
    return np.maximum(np.maximum(least - probability, probability - most), 0.0)


def size_probability(paths: Sequence[Path], d: int) -> Array:
    """The share of time in models of each size, shape (d + 1,)."""
    spent = np.zeros(d + 1)
    for path in paths:
        sizes = np.array([len(model) for model in path.models], dtype=np.intp)
        np.add.at(spent, sizes[path.steps], path.weight)
    return spent / spent.sum()


def drawn(paths: Sequence[Path], n: int) -> tuple[tuple[Model, ...], Array]:
    """About n models at evenly spaced times of all chains, each once, and the shares of the draws that they are."""
    counts: Counter[Model] = Counter()
    for path in paths:
        counts.update(path.models[place] for place in path.steps[_evenly(path, -(-n // len(paths)))])
    shares = np.array(list(counts.values()), dtype=np.float64)
    order = np.argsort(-shares, kind="stable")
    models = list(counts)
    return tuple(models[place] for place in order), shares[order] / shares.sum()


def _evenly(path: Path, n: int) -> NDArray[np.intp]:
    """Steps at which a chain in continuous time, which stays for a step's weight, is at n evenly spaced moments."""
    clock = np.cumsum(path.weight)
    steps = np.searchsorted(clock, clock[-1] * (np.arange(n) + 0.5) / n)
    return np.minimum(steps, len(path.steps) - 1)


def _best_by_size(models: list[Model], rest: Array) -> tuple[Model, ...]:
    """Of the models of each size, the one that leaves least of the target."""
    best: dict[int, int] = {}
    for place, model in enumerate(models):
        if rest[place] < rest[best.setdefault(len(model), place)]:
            best[len(model)] = place
    return tuple(models[best[size]] for size in sorted(best))


def _spent(paths: Sequence[Path], numbers: dict[Model, int]) -> Array:
    """Time that some of the chains spent in each model, each chain's adding up to one."""
    spent = np.zeros(len(numbers))
    for path in paths:
        places = np.array([numbers[model] for model in path.models], dtype=np.intp)
        np.add.at(spent, places[path.steps], path.weight / path.weight.sum())
    return spent


def _recaptured(paths: Sequence[Path], numbers: dict[Model, int], joint: Array) -> tuple[float, float]:
    """The log mass of all models and its error, from that of the visited ones; NaN where the chains are too short.

    One half of the chains says what share of the posterior lies in the models that the other half saw, and their mass
    is known: all is that over the share (George & McCulloch 1997). Chains that stay in different places know nothing of
    each other's. The error is no smaller than the share that nobody saw.
    """
    halves = [_spent(paths[::2], numbers), _spent(paths[1::2], numbers)]
    estimates = np.array([_mass(joint, *pair) for pair in (halves, halves[::-1])])
    estimates = estimates[np.isfinite(estimates)]
    if not len(estimates):
        return np.nan, np.nan
    mass = float(logsumexp(estimates)) - float(np.log(len(estimates)))
    unseen = -np.expm1(min(float(logsumexp(joint)) - mass, 0.0))
    return mass, max(float(np.ptp(estimates)) / 2, float(unseen))


def _mass(joint: Array, seen_by: Array, judged_by: Array) -> float:
    """ln of the mass of the models that one half saw, over the share of them in the other's time."""
    share = judged_by[seen_by > 0].sum() / judged_by.sum()
    return float(logsumexp(joint[seen_by > 0]) - np.log(share)) if share > 0 else np.nan


def agreement(paths: Sequence[Path], seen: Visits) -> tuple[float, float]:
    """The larger R-hat and the smaller effective size of two traces: the models' size and their log posterior.

    The weight of a step is the time that a chain in continuous time would stay, so that moments at equal distances are
    draws. NaN where arviz-stats isn't installed.
    """
    # One number for each model, whichever chain it is from: ranks tell the rounding errors of two apart.
    heights = dict(zip(seen.models, seen.log_joint.tolist(), strict=True))
    traces = np.stack([_moments(path, heights) for path in paths])
    try:
        stats = extra("arviz_stats.base", "comparing chains").array_stats
    except ImportError:
        return np.nan, np.nan
    axes = {"chain_axis": 0, "draw_axis": 1}
    # A chain that stays where it is has no variance to divide by; that speaks against it unless all stay in one place.
    with np.errstate(divide="ignore", invalid="ignore"):
        r_hat, ess = np.asarray(stats.rhat(traces, **axes)), np.asarray(stats.ess(traces, **axes))
    together = np.ptp(traces, axis=(0, 1)) == 0.0
    r_hat = np.where(together, 1.0, np.where(np.isnan(r_hat), np.inf, r_hat))
    return float(r_hat.max()), float(np.min(ess))


def _moments(path: Path, heights: dict[Model, float]) -> Array:
    """Size and log posterior at evenly spaced times, shape (n_moments, 2)."""
    places = path.steps[_evenly(path, min(_MOMENTS, len(path.steps)))]
    return np.array([[len(model), heights[model]] for model in path.models])[places]


def _known(paths: Sequence[Path]) -> dict[Model, tuple[float, float]]:
    """Log evidence and rest of every model that was visited."""
    known: dict[Model, tuple[float, float]] = {}
    for path in paths:
        known.update(zip(path.models, zip(path.log_evidence.tolist(), path.rest.tolist(), strict=True), strict=True))
    return known
