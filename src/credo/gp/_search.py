"""The search for hyperparameters: where it starts, which subsets of the rows it uses, and how it ended."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from credo.estimator import Result
from credo.gp._objective import EvidenceObjective
from credo.learning.hyperparameters import Search, search

Array = NDArray[np.float64]

# Rows of the subset on which the starts are tried before the best one is refined on all rows.
_SUBSET = 400
# Up to this many rows, all starts use all rows.
FEW = 600
# Each further subset has this many times the rows of the last, as long as all rows are twice as many.
_GROWTH = 3


def search_hyperparameters(
    objective: EvidenceObjective,
    *,
    from_data: bool,
    given: bool,
    n_restarts: int,
    max_evaluations: int,
    rng: np.random.Generator,
    n_subset: int = _SUBSET,
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
    n_subset : int
        Rows of the subset on which the starts are tried, where all rows are at least one and a half times as many;
        a representation that is cheaper than a dense matrix has more.
    """
    n_rows, n_subset = objective.n_rows, n_subset * objective.rows.pilot_scale
    first = objective.hyperprior.center if from_data else objective.tree.flatten()
    starts = [first, *(first + rng.normal(size=len(first)) for _ in range(n_restarts))]
    if from_data and given:
        starts.append(objective.tree.flatten())
    if n_rows <= 1.5 * n_subset:
        # Evaluations are cheap here, so that all digits can be had.
        return search(
            objective.with_warm_starts,
            starts,
            tolerance=objective.tolerance,
            max_evaluations=max_evaluations,
            small=True,
        )
    order, sizes = objective.rows.search_order(rng), [n_subset]
    while 2 * _GROWTH * sizes[-1] <= n_rows:
        sizes.append(_GROWTH * sizes[-1])
    return search(
        objective.with_warm_starts,
        starts,
        subsets=[(objective.subset(np.sort(order[:size])).with_warm_starts, n_rows / size) for size in sizes],
        tolerance=1e-7,
        max_evaluations=max_evaluations,
    )


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
