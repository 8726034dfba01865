"""Maximizing a log posterior over hyperparameters from several starts, first on a few rows, then on all.

The objective is a function of the flat, unconstrained vector of a `ParameterTree`. Starts are tried on a subset of the
rows, where an evaluation is cheap. The best of them is refined on larger subsets and then on all rows, where only a few
steps are left. The number of evaluations is limited at every stage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from threading import Event

import numpy as np
from numpy.typing import NDArray

from credo.core.learning.ascent import (
    RESTART_GAIN,
    Ascent,
    Maximum,
    Objective,
    curvature_at,
    inverse_root,
    joined,
    refine,
)
from credo.core.linalg import one_blas_thread, parallel_map

Array = NDArray[np.float64]
# Makes the objective of one run of the optimizer from its start. It may keep warm starts between evaluations.
ObjectiveFactory = Callable[[Array], Objective]

# With many starts each is first run for this many evaluations, and only the best share of them continues. It is also
# the limit of every subset but the first.
_TRIAL_EVALUATIONS, _CONTINUED_SHARE = 30, 1 / 3
# Parameters farther than this many e-foldings from their start may be on a plateau, and are moved back.
_PLATEAU_DISTANCE = 2.5


@dataclass(frozen=True)
class Search:
    """The best maximum, and how far below it the other local maxima are.

    `curvature` approximates the second derivatives of −objective there, if the search needed them.
    """

    best: Maximum
    gaps: tuple[float, ...]
    curvature: Array | None = None


def search(
    objective: ObjectiveFactory,
    starts: Sequence[Array],
    *,
    subsets: Sequence[tuple[ObjectiveFactory, float]] = (),
    tolerance: float = 1e-9,
    max_evaluations: int = 200,
    small: bool = False,
    ends: Sequence[Maximum] = (),
    rounds: int = 1,
) -> Search:
    """The highest maximum over several starts, which are tried in parallel.

    Parameters
    ----------
    objective : callable(start) -> (callable(vector) -> value, gradient)
        Makes the objective of one run of L-BFGS from its start. Several run at once, each in its own thread.
    starts : sequence of vectors
    subsets : sequence of (callable, float)
        The same on subsets of the rows, from the smallest to the largest, with the ratio of all rows to theirs.
        All starts are tried on the first. The best result is refined on the others and then on all rows, in the metric
        of the first one's curvature there.
    tolerance : float
        Relative change of the value at which the search on the objective ends.
    max_evaluations : int
        Limit for each start, and for all evaluations of the objective on all rows together.
    small : bool
        Whether the objective's matrices are too small for more than one thread; those of the first subset always
        are.
    ends : sequence of Maximum
        Where the starts ended on the first subset, or on all rows if there is none, as `try_starts` found them.
    rounds : int
        If the objective on all rows depends on the start, for example by inducing points chosen for it, the search is
        repeated from its end, up to this many runs in all, as long as it gains.
    """
    if not subsets:
        if not ends:
            (ends,) = try_starts([(objective, starts)], tolerance, max_evaluations, small=small)
        return Search(_repeated(objective, ends[0], tolerance, max_evaluations, rounds - 1), _gaps(ends))
    first, growth = subsets[0]
    if not ends:
        (ends,) = try_starts([(first, starts)], 1e-7, max_evaluations)
    with one_blas_thread():
        few = first(ends[0].vector)
        begin = _off_plateau(few, ends[0], starts[0])
        curvature = curvature_at(few, begin)
    trace = ends[0].trace
    for subset, left in subsets[1:]:
        metric, part = inverse_root(curvature, growth / left), subset(begin)
        end = refine(
            part, begin, tolerance=1e-6, max_evaluations=min(_TRIAL_EVALUATIONS, max_evaluations), metric=metric
        )
        begin, trace = end.vector, trace + end.trace
    if len(subsets) > 1:
        begin = _retry_at_origin(part, end, starts[0])
    metric = inverse_root(curvature, growth)
    run = partial(refine, objective(begin), tolerance=tolerance, metric=metric)
    best = run(begin, max_evaluations=max_evaluations)
    back = _resumed_from(best, starts[0])
    if back is not None and best.n_evaluations < max_evaluations:
        again = run(back, max_evaluations=max_evaluations - best.n_evaluations)
        best = joined(best, again) if again.value > best.value else best
    best = _repeated(objective, best, tolerance, max_evaluations, rounds - 1, metric)
    return Search(replace(best, trace=trace + best.trace), _gaps(ends), growth * curvature)


def try_starts(
    problems: Sequence[tuple[ObjectiveFactory, Sequence[Array]]],
    tolerance: float,
    max_evaluations: int,
    *,
    small: bool = True,
) -> list[list[Maximum]]:
    """The results of the starts of several objectives, each objective's highest first.

    With many starts, only the best after a short run are continued, and the best of each objective.
    """
    cancelled = Event()
    tasks = [(of, start) for of, (_, starts) in enumerate(problems) for start in starts]
    few = len(tasks) <= 1 / _CONTINUED_SHARE
    how = (tolerance, max_evaluations) if few else (1e3 * tolerance, _TRIAL_EVALUATIONS)
    each = partial(parallel_map, Ascent.run, n_jobs=None if small else 1, cancel=cancelled.set)
    with one_blas_thread() if small else nullcontext():
        ends = each([Ascent(problems[of][0], start, *how, cancelled=cancelled) for of, start in tasks])
        if not few:
            order = sorted(range(len(tasks)), key=lambda i: -ends[i].value)
            best = order[: max(2, round(_CONTINUED_SHARE * len(tasks)))]
            firsts = [next(i for i in order if tasks[i][0] == of) for of in range(len(problems))]
            best += [i for i in firsts if i not in best]
            again = [(problems[tasks[i][0]][0], ends[i].vector, tolerance, max_evaluations) for i in best]
            finals = each([Ascent(*task, cancelled=cancelled) for task in again])
            for i, final in zip(best, finals, strict=True):
                ends[i] = joined(ends[i], final)
    found: list[list[Maximum]] = [[] for _ in problems]
    for (of, _), end in zip(tasks, ends, strict=True):
        found[of].append(end)
    return [sorted(own, key=lambda end: -end.value) for own in found]


def _repeated(
    objective: ObjectiveFactory,
    best: Maximum,
    tolerance: float,
    max_evaluations: int,
    rounds: int,
    metric: Array | None = None,
) -> Maximum:
    """The result of further runs, each with the objective made at the end of the last."""
    for _ in range(rounds):
        left = max_evaluations - best.n_evaluations
        if left <= 0:
            break
        run = partial(refine, objective(best.vector), best.vector, metric=metric, inverse=best.inverse)
        again = run(tolerance=tolerance, max_evaluations=left)
        gain = again.value - best.value
        best = (
            joined(best, again) if gain > 0 else replace(best, n_evaluations=best.n_evaluations + again.n_evaluations)
        )
        if gain < RESTART_GAIN:
            break
    return best


def _off_plateau(objective: Objective, end: Maximum, origin: Array) -> Array:
    """The result of a run, with parameters on a plateau moved back until the gradient exceeds rounding errors.

    On a few rows a length scale of a thousand times the spread of its column costs nothing, and the gradient on all
    rows that would bring it back is lost in the last digits there.
    """
    vector = end.vector
    for i in np.flatnonzero(np.abs(vector - origin) > _PLATEAU_DISTANCE):
        back = vector.copy()
        back[i] = origin[i] + np.clip(vector[i] - origin[i], -_PLATEAU_DISTANCE, _PLATEAU_DISTANCE)
        # If moving back costs less than 0.2 nats.
        if objective(back)[0] > end.value - 0.2:
            vector = back
    return vector


def _retry_at_origin(objective: Objective, end: Maximum, origin: Array) -> Array:
    """The result of a run, with each parameter on a plateau moved back to the origin if that is higher.

    A column that the first subset found irrelevant may be worth hundreds of nats on more rows, but between its plateau
    and that maximum the objective can be lower than on both.
    """
    vector, value = end.vector, end.value
    for i in np.flatnonzero(np.abs(vector - origin) > _PLATEAU_DISTANCE + 1.0)[:20]:
        back = vector.copy()
        back[i] = origin[i]
        found = objective(back)[0]
        if found > value:
            vector, value = back, found
    return vector


def _resumed_from(end: Maximum, origin: Array) -> Array | None:
    """The result with parameters on a plateau moved back, to resume the search from; None if there are none.

    On a plateau the value differs from its limit by a multiple of 1/ℓ². So the gradient, however small, gives the gain
    nearer to the origin: half of it, times e² for each e-folding.
    """
    gap = end.vector - origin
    assert end.slope is not None
    gain = -0.5 * np.sign(gap) * end.slope * np.exp(np.minimum(2.0 * (np.abs(gap) - _PLATEAU_DISTANCE), 60.0))
    # Smaller gains, in nats, aren't worth another search, and larger ones aren't credible.
    stray = (np.abs(gap) > _PLATEAU_DISTANCE + 1.0) & (gain > 0.01) & (gain < 3.0)
    return (
        np.where(stray, origin + np.clip(gap, -_PLATEAU_DISTANCE, _PLATEAU_DISTANCE), end.vector)
        if stray.any()
        else None
    )


def _gaps(ends: Sequence[Maximum]) -> tuple[float, ...]:
    """How far below the first the others are, those that aren't the same maximum again."""
    kept = [ends[0].value]
    for end in ends[1:]:
        # Values within 0.05 nats are the same maximum.
        if end.converged and all(abs(end.value - value) > 0.05 for value in kept):
            kept.append(end.value)
    return tuple(kept[0] - value for value in kept[1:])
