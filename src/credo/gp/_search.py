"""The search for hyperparameters: where it starts, which subsets of the rows it uses, and how it ended."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.core.estimator import Result
from credo.core.learning.hyperparameters import Search, search, try_starts
from credo.core.linalg import one_blas_thread
from credo.gp._objective import EvidenceObjective

Array = NDArray[np.float64]

# Rows of the subset on which the starts are tried before the best one is refined on all rows.
SUBSET = 400
# Up to this many rows, all starts use all rows, and a single thread.
FEW = 600
# Each further subset has this many times the rows of the last, as long as all rows are twice as many.
_GROWTH = 3
# Inducing points or neighbours are chosen so many times at most for all rows.
_ROUNDS = 3


def few_threads(n_rows: int, few: int = FEW) -> AbstractContextManager[None]:
    """One thread of BLAS for matrices of up to a few rows: more threads would wait for each other."""
    return one_blas_thread() if n_rows <= few else nullcontext()


@dataclass(frozen=True)
class Candidate:
    """A kernel by name, its objective, and the objective of the same kernel with a linear part, if that is one too."""

    name: str
    objective: EvidenceObjective
    with_linear: EvidenceObjective | None = None


@dataclass(frozen=True)
class Choice:
    """The objective of the highest evidence, the search on it, and how it was chosen if there were several."""

    objective: EvidenceObjective
    found: Search
    message: str


def search_hyperparameters(
    candidates: Sequence[Candidate],
    *,
    from_data: bool,
    given: bool,
    n_restarts: int,
    max_evaluations: int,
    rng: np.random.Generator,
    n_subset: int = SUBSET,
) -> Choice:
    """The highest maximum of the evidence that the starts lead to, over all candidates.

    Parameters
    ----------
    candidates : sequence of Candidate
        Of several, one is chosen where the starts are tried; then a linear part is added to it if the evidence
        increases.
    from_data : bool
        Start from data-driven values; False starts from those of the kernel.
    given : bool
        Whether the kernel's values were given by the user, and are used as another start.
    n_restarts : int
        Additional starts, shared among the candidates.
    max_evaluations : int
        Limit on the evaluations of the evidence on all rows.
    n_subset : int
        Rows of the subset on which the starts are tried, where all rows are at least one and a half times as many;
        a representation that is cheaper than a dense matrix has more.
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
    # Where all starts use all rows, evaluations are cheap, so that all digits can be had.
    small = n_rows <= 1.5 * n_subset
    tolerance = objectives[0].tolerance if small else 1e-7
    order, sizes = (np.arange(n_rows), []) if small else (objectives[0].rows.search_order(rng), [n_subset])
    while sizes and 2 * _GROWTH * sizes[-1] <= n_rows:
        sizes.append(_GROWTH * sizes[-1])

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
        # Laplace's approximation with unit curvature of the parameter more, or BIC where it has no prior.
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
        # Inducing points and neighbours are chosen anew where the last search ended.
        rounds=1 if objective.rows.evidence_method == "exact" else _ROUNDS,
    )
    return Choice(objective, found, _described(behind))


def _described(behind: Mapping[str, float]) -> str:
    """The kernel that was chosen among several, and by how many nats of log evidence the others are behind."""
    if len(behind) < 2:
        return ""
    (chosen, _), *others = sorted(behind.items(), key=lambda each: each[1])
    return f"; kernel chosen: {chosen}, ahead of " + ", ".join(f"{name} by {gap:.1f}" for name, gap in others) + " nats"


def result(found: Search) -> Result:
    """How a search ended, with advice where it didn't converge."""
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
