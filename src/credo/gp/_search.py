"""From a problem to its hyperparameters: where to start, which subsets of the rows to use, and how it ended."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from credo.estimator import Result
from credo.gp._problem import Evident, objective
from credo.learning.hyperparameters import Objective, Search, search

Array = NDArray[np.float64]

# Rows on which the starts are tried before the best one is refined on all rows, and how many are few enough for all
# starts to use all rows.
_REHEARSAL, FEW = 400, 600
# Each further subset has this many times the rows of the last, as long as all rows are twice as many.
_STAGE = 3


def maximum(
    problem: Evident,
    *,
    from_data: bool,
    given: bool,
    n_restarts: int,
    max_evaluations: int,
    rng: np.random.Generator,
    rehearsal: int = _REHEARSAL,
) -> Search:
    """The highest maximum of the evidence that the starts lead to.

    Parameters
    ----------
    from_data : bool
        Start from data-driven values; False starts from those of the kernel.
    given : bool
        Whether the kernel's values were given by the user, and are used as another start.
    max_evaluations : int
        Limit on the evaluations of the evidence on all rows.
    rehearsal : int
        Rows of the subset on which the starts are tried, where all rows are at least one and a half times as many.
    """
    n_rows = problem.n_rows
    first = problem.hyperprior.center if from_data else problem.tree.flatten()
    starts = [first, *(first + rng.normal(size=len(first)) for _ in range(n_restarts))]
    if from_data and given:
        starts.append(problem.tree.flatten())
    if n_rows <= 1.5 * rehearsal:
        # Evaluations are cheap here, so that all digits can be had.
        return search(
            partial(_climbed, problem),
            starts,
            tolerance=problem.tolerance,
            max_evaluations=max_evaluations,
            small=True,
        )
    order, sizes = rng.permutation(n_rows), [rehearsal]
    while 2 * _STAGE * sizes[-1] <= n_rows:
        sizes.append(_STAGE * sizes[-1])
    stages = [(problem.subset(np.sort(order[:size])), n_rows / size) for size in sizes]
    return search(
        partial(_climbed, problem),
        starts,
        rehearsals=[(partial(_climbed, part), growth) for part, growth in stages],
        tolerance=1e-7,
        max_evaluations=max_evaluations,
    )


def _climbed(problem: Evident) -> Objective:
    return partial(objective, problem.fresh())


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
