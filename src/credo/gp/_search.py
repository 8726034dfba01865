"""From a problem to its hyperparameters: where to start, what to rehearse, and how it went."""

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from credo.estimator import Result
from credo.gp._problem import Evident, objective
from credo.learning.hyperparameters import Objective, Search, search

Array = NDArray[np.float64]

# Rows on which the starts are tried before the best one climbs on all rows, and how many are few enough for no trial.
_REHEARSAL, FEW = 400, 600


def maximum(
    problem: Evident,
    n_rows: int,
    *,
    from_data: bool,
    given: bool,
    n_restarts: int,
    rng: np.random.Generator,
    rehearsal: int = _REHEARSAL,
) -> Search:
    """The highest maximum of the evidence that the starts lead to.

    Parameters
    ----------
    from_data : bool
        Start from data-driven values; False starts from those of the kernel.
    given : bool
        Whether the kernel's values are a user's, and worth a start of their own.
    rehearsal : int
        Rows of the trial climbs; there is none for fewer than one and a half times as many.
    """
    first = problem.hyperprior.center if from_data else problem.tree.flatten()
    starts = [first, *(first + rng.normal(size=len(first)) for _ in range(n_restarts))]
    if from_data and given:
        starts.append(problem.tree.flatten())
    if n_rows <= 1.5 * rehearsal:
        # Where an evaluation costs nothing, the last digits may be had.
        return search(partial(_climbed, problem), starts, tolerance=problem.tolerance, small=True)
    few = problem.subset(np.sort(rng.permutation(n_rows)[:rehearsal]))
    return search(
        partial(_climbed, problem),
        starts,
        rehearsal=partial(_climbed, few),
        growth=n_rows / rehearsal,
        tolerance=1e-8,
    )


def _climbed(problem: Evident) -> Objective:
    return partial(objective, problem.fresh())


def result(found: Search) -> Result:
    """How a search went, in words."""
    best = found.best
    if not math.isfinite(best.value):
        return Result(False, best.n_evaluations, "no start gave a matrix that could be factored; try another kernel")
    ending = "a maximum of the evidence" if best.converged else (
        "stopped before a maximum was reached: the model may be too free for the data"
    )  # fmt: skip
    if found.gaps:
        ending += f"; other local maxima lie {', '.join(f'{gap:.1f}' for gap in found.gaps[:3])} nats lower"
    return Result(best.converged, best.n_evaluations, ending)
