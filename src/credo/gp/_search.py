"""Hyperparameters: the maximum of their posterior, and draws from it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.core.estimator import Result, interval_level
from credo.core.frames import Table
from credo.core.learning import Draws, sample, scatter
from credo.core.learning.ascent import metric_at
from credo.core.learning.hyperparameters import Search, search, try_starts
from credo.core.linalg import n_threads, one_blas_thread
from credo.gp._objective import EvidenceObjective
from credo.kernels import Kernel

Array = NDArray[np.float64]

# Rows of the subset on which the starts are tried before the best one is refined on all rows.
SUBSET_ROWS = 400
# Up to this many rows, all starts use all rows, and BLAS uses one thread.
SMALL_ROWS = 600
# Each further subset has this many times the rows of the last, as long as there are twice as many rows in all.
_SUBSET_GROWTH = 3


def blas_threads(n_rows: int, single_thread_rows: int = SMALL_ROWS) -> AbstractContextManager[None]:
    """Limits BLAS to one thread for small matrices, for which threads would wait for each other."""
    return one_blas_thread() if n_rows <= single_thread_rows else nullcontext()


@dataclass(frozen=True)
class Candidate:
    """A kernel by name, its objective, and that of the same kernel with a linear part, if that is a candidate too."""

    name: str
    objective: EvidenceObjective
    with_linear: EvidenceObjective | None = None


def search_hyperparameters(
    candidates: Sequence[Candidate],
    *,
    from_data: bool,
    given: bool,
    n_restarts: int,
    max_evaluations: int,
    rng: np.random.Generator,
    n_subset: int = SUBSET_ROWS,
) -> tuple[EvidenceObjective, Search, str]:
    """The highest maximum of the evidence that the starts lead to, over all candidates.

    Returns its objective, the search on it, and how it was chosen if there were several.

    Parameters
    ----------
    candidates : sequence of Candidate
        The best one after trying the starts is kept; then a linear part is added to it if that increases the evidence.
    from_data : bool
        Start from data-driven values; False starts from those of the kernel.
    given : bool
        Whether the kernel's values were given by the user, and are used as another start.
    n_restarts : int
        Additional starts, shared among the candidates.
    max_evaluations : int
        Limit on the evaluations of the evidence on all rows.
    n_subset : int
        Rows of the subset on which the starts are tried, if there are at least one and a half times as many rows. A
        representation that is cheaper than a dense matrix uses more.
    """
    objectives = [each.objective for each in candidates]
    starts = [
        each.starts(
            each.hyperprior.center if from_data else each.tree.flatten(),
            len(range(i, n_restarts, len(objectives))),
            rng,
        )
        for i, each in enumerate(objectives)
    ]
    if from_data and given:
        starts[0].append(objectives[0].tree.flatten())
    n_rows, n_subset = objectives[0].n_rows, n_subset * objectives[0].rows.pilot_scale
    # If all starts use all rows, evaluations are cheap enough for a tight tolerance.
    small = n_rows <= 1.5 * n_subset
    tolerance = objectives[0].tolerance if small else 1e-7
    order, sizes = (np.arange(n_rows), []) if small else (objectives[0].rows.search_order(rng), [n_subset])
    while sizes and 2 * _SUBSET_GROWTH * sizes[-1] <= n_rows:
        sizes.append(_SUBSET_GROWTH * sizes[-1])

    def few(objective: EvidenceObjective) -> EvidenceObjective:
        return objective if small else objective.subset(np.sort(order[: sizes[0]]))

    problems = [(few(each).started, own) for each, own in zip(objectives, starts, strict=True)]
    every = try_starts(problems, tolerance, max_evaluations)
    values = [own[0].value for own in every]
    best = int(np.argmax(values))
    chosen, objective, ends, origin = candidates[best], objectives[best], every[best], starts[best]
    behind = {each.name: values[best] - value for each, value in zip(candidates, values, strict=True)}
    if chosen.with_linear is not None:
        place = len(chosen.objective.kernel.names)
        center = chosen.with_linear.hyperprior.center
        begin = np.insert(ends[0].vector, place, center[place])
        (extended,) = try_starts([(few(chosen.with_linear).started, [begin])], tolerance, max_evaluations)
        # Laplace's approximation with unit curvature for the additional parameter, or BIC if it has no prior.
        factor = 2 * math.pi if objective.hyperpriors else 1.0 / few(objective).n_rows
        gain = extended[0].value - ends[0].value + 0.5 * math.log(factor)
        behind[f"{chosen.name} + linear"] = -gain
        if gain > 0:
            objective, ends, origin = chosen.with_linear, extended, [center]
            behind = {name: gap + gain for name, gap in behind.items()}
    found = search(
        objective.started,
        origin,
        subsets=[(objective.subset(np.sort(order[:size])).started, n_rows / size) for size in sizes],
        tolerance=tolerance,
        max_evaluations=max_evaluations,
        ends=ends,
        # Inducing points and neighbors are chosen again where the last search ended, up to three times.
        rounds=1 if objective.rows.evidence_method == "exact" else 3,
    )
    return objective, found, _described(behind)


def _described(behind: Mapping[str, float]) -> str:
    """The kernel that was chosen among several, and by how many nats of log evidence the others are behind."""
    if len(behind) < 2:
        return ""
    (chosen, _), *others = sorted(behind.items(), key=lambda each: each[1])
    return f"; kernel chosen: {chosen}, ahead of " + ", ".join(f"{name} by {gap:.1f}" for name, gap in others) + " nats"


def result(found: Search) -> Result:
    """How a search ended, with advice if it didn't converge."""
    best = found.best
    if not math.isfinite(best.value):
        message = "not converged: the covariance matrix couldn't be factored at any starting point; try another kernel"
        return Result(False, best.n_evaluations, message)
    if best.converged:
        message = "converged"
    elif best.limited:
        message = (
            f"not converged after {best.n_evaluations} evaluations of the log evidence; increase max_evaluations, or "
            "use a kernel with fewer parameters"
        )
    else:
        message = (
            "not converged: rounding errors are larger than any further improvement of the log evidence; use a simpler "
            "kernel, or check whether the inputs determine y without noise"
        )
    if found.gaps:
        gaps = ", ".join(f"{gap:.1f}" for gap in found.gaps[:3])
        message += f"; other local maxima are lower by {gaps} nats"
    return Result(best.converged, best.n_evaluations, message)


# Predictions average over at most this many draws; fewer, but at least the second number, if their factors would take
# more memory.
_MAX_DRAWS, _MIN_DRAWS, _MAX_FACTOR_BYTES = 64, 16, 4e8


def sample_hyperparameters(
    objective: Any, mode: Array, *, variance_factor: float, n_draws: int, rng: np.random.Generator
) -> tuple[Draws, Array, Array]:
    """Draws by NUTS from around the mode: in natural units, thinned for predictions, and their mean.

    Parameters
    ----------
    variance_factor : float
        The ratio of a variance in the units of y to one of standardized targets.
    """
    density = objective.log_posterior
    metric = metric_at(density, mode)
    starts = scatter(density, mode, metric=metric, random_state=rng)
    draws = sample(
        density,
        starts,
        names=objective.tree.names,
        n_draws=n_draws,
        metric=metric,
        n_jobs=n_threads(),
        random_state=rng,
    )
    kept = int(np.clip(_MAX_FACTOR_BYTES / (8 * len(objective.observations.Y) ** 2), _MIN_DRAWS, _MAX_DRAWS))
    flat = draws.values.reshape(-1, draws.values.shape[2])
    natural = np.array([_natural(objective, vector, variance_factor) for vector in flat]).reshape(draws.values.shape)
    # R-hat and effective sample sizes depend only on ranks, so a change of units keeps them.
    return replace(draws, values=natural), draws.thinned(kept), flat.mean(axis=0)


def _natural(objective: Any, vector: Array, variance_factor: float) -> list[float]:
    """The entries of the vector in natural units, variances in those of y."""
    kernel, noise = objective.kernel_at(vector), objective.learned_noise(vector)
    values = objective.tree.unflatten(vector).natural
    values |= {f"kernel.{path}": value for path, value in (variance_factor * kernel).params.items()}
    values["noise"] = variance_factor * noise
    entries = []
    for name in objective.tree.names:
        path, _, entry = name.partition("[")
        entries.append(float(values[path][int(entry[:-1])] if entry else values[path]))
    return entries


def drawn_summary(draws: Draws, kernel: Kernel, columns: list[str], *, level: float) -> Table:
    """Mean, standard deviation and interval of each parameter, over all draws."""
    flat = draws.values.reshape(-1, draws.values.shape[2])
    tail = 0.5 * (1.0 - interval_level(level))
    lower, upper = np.quantile(flat, [tail, 1.0 - tail], axis=0)
    return Table(
        f"Gaussian process with sampled hyperparameters, around {kernel!r}",
        {
            "parameter": [_named(name, kernel, columns) for name in draws.names],
            "estimate": flat.mean(axis=0).tolist(),
            "sd": flat.std(axis=0, ddof=1).tolist(),
            "lower": lower.tolist(),
            "upper": upper.tolist(),
            "R-hat": draws.r_hat.tolist(),
            "ESS": np.fmin(draws.ess_bulk, draws.ess_tail).round().tolist(),
        },
        notes=(draws.message,),
    )


def _named(name: str, kernel: Kernel, columns: list[str]) -> str:
    """A parameter as the summary calls it, with the name of the column or group that an entry is for."""
    path, _, entry = name.partition("[")
    plain = "noise variance" if path == "noise" else path.removeprefix("kernel.")
    if not entry:
        return plain
    owners = kernel.owners(plain, columns)
    return f"{plain}[{entry}" if owners is None else f"{plain} of {owners[int(entry[:-1])]}"
