"""Several chains side by side, for as long as it takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from credo.deadlines import carried
from credo.estimator import positive_integer
from credo.linalg import n_threads, one_blas_thread
from credo.subsets._model_prior import size_law
from credo.subsets._models import Model, ModelPosterior
from credo.subsets.walk._path import Path, joined

Array = NDArray[np.float64]
Found = TypeVar("Found")

BATCHES = 10
# Steps of a chain, unless they are given: so many, then as many again while chains don't agree, up to the most, or to
# what takes so many seconds on two cores, by rule of thumb: a clock would make a seed's outcome depend on the machine.
_FIRST, _MOST, PATIENCE = 5000, 40_000, 120.0
# Steps after which where a chain started is forgotten, if it is at all.
_LONG = 10_000
# Columns that chains start with, few or many, so that they come from different places. A step costs their
# product with all columns: of very many columns fewer are taken, which leave sooner if they must.
_FEW, _MANY, _PRODUCT = 10, 100, 400_000
# No chain starts with more columns than the prior exceeds with this probability.
_UNLIKELY = 1e-6


def until_settled(
    chains: Sequence[Any],
    runs: Sequence[Callable[..., Path]],
    judge: Callable[[Sequence[Path]], ModelPosterior],
    n_draws: int | None,
    *,
    seconds: Callable[[float], float],
    tuned: bool = False,
) -> tuple[ModelPosterior, Sequence[Path]]:
    """What a judge says of chains of `n_draws` steps each, or of as many as it takes to settle; not beyond 40 000.

    Each run(n_draws=, n_tune=, n_batches=) walks on with its chain. Errors that chains tell of themselves decide how
    long they go on (Jones, Haran, Caffo & Neath 2006). `seconds` says what a step costs, by the size of its model.
    Chains that are `tuned` count from the first step. With the paths of all counted steps, though the judge may have
    been content with the second half of them.
    """
    length, most = (_FIRST, _MOST) if n_draws is None else (n_draws, n_draws)
    options = {"n_draws": length, "n_tune": 0 if tuned else math.ceil(length / 4), "n_batches": BATCHES}
    with one_blas_thread():
        paths = side_by_side(chains, [partial(run, **options) for run in runs])
        found, each = judge(paths), _wall(paths, seconds)
        while not found.diagnostics["converged"] and 2 * length <= min(most, PATIENCE / each):
            # Replicas that hardly move won't by then.
            if found.diagnostics["round_trips"] * most < length:
                break
            further = side_by_side(
                chains, [partial(run, n_draws=length, n_tune=0, n_batches=BATCHES) for run in runs]
            )  # fmt: skip
            paths = [joined(*pair) for pair in zip(paths, further, strict=True)]
            length *= 2
            found, each = judge(paths), _wall(further, seconds)
            if not found.diagnostics["converged"] and length >= 2 * _LONG:
                # Chains may have come from afar: the second half of the way is long enough to speak for itself.
                late = judge(further)
                found = late if late.diagnostics["converged"] else found
    return found, paths


def _wall(paths: Sequence[Path], seconds: Callable[[float], float]) -> float:
    """About how many seconds a step of all chains takes."""
    return len(paths) * seconds(float(np.mean([path.mean_size for path in paths])))


def check_length(n_draws: int | None, n_chains: int) -> None:
    """Refuse chains that are too short or too few for an error to be told."""
    for name, value, least in (("n_draws", _FIRST if n_draws is None else n_draws, BATCHES), ("n_chains", n_chains, 2)):
        if positive_integer(name, value) < least:
            raise ValueError(f"{name} must be at least {least}, so that there is something to compare; got {value}")


def most_at_first(log_prior: Array, d: int, room: int) -> int:
    """How many of d columns a chain that comes from large models starts with.

    All of them, or half as many as the rows have `room` for, if a step with so many isn't too dear; but of more columns
    than that no more than the prior may expect: models that it calls impossible may come close to the target, and keep
    a chain for nothing.
    """
    most, half = min(_MANY, max(_FEW, _PRODUCT // max(d, 1))), room // 2
    if d <= half:
        return min(most, d)
    likely = int(np.argmax(1.0 - np.cumsum(size_law(log_prior, d)) < _UNLIKELY))
    return min(most, half, max(likely, _FEW))


def random_start(rng: np.random.Generator, d: int, room: int, many: int, *, empty: bool) -> Model:
    """Where a chain over models of d columns starts: none of them, a few at random, or `many`, unless that is 0.

    Columns that matter only together are easier to keep than to find; and where columns outnumber rows, models that
    nearly reproduce the target may be a world of their own, from which chains that start there hardly come back.
    """
    few = 0 if empty else min(_FEW, d // 2, room // 2)
    return tuple(rng.choice(d, size=many or few, replace=False).tolist())


def side_by_side(chains: Sequence[Any], walks: Sequence[Callable[[], Found]]) -> list[Found]:
    """What walks find, each in a thread of its own as far as there are cores; an error stops all chains."""
    workers = min(n_threads(), len(walks))
    if workers == 1:
        return [run() for run in walks]
    with ThreadPoolExecutor(workers, thread_name_prefix="credo-walk") as pool:
        try:
            return [future.result() for future in [pool.submit(carried(walk)) for walk in walks]]
        except BaseException:
            for chain in chains:
                chain.stopped = True
            raise
