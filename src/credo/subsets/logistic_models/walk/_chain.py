"""A chain over logistic models, and several side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.deadlines import check
from credo.seeds import generator
from credo.subsets._model_prior import ModelPrior
from credo.subsets._models import Model, ModelPosterior
from credo.subsets.logistic_models._modes import LEVEL_PRECISION, ClassTask
from credo.subsets.logistic_models.walk import _jit
from credo.subsets.walk._path import Path, retrace
from credo.subsets.walk._together import check_length, most_at_first, random_start, until_settled
from credo.subsets.walk._walk import posterior_of

Array = NDArray[np.float64]

# This share of proposals is blind, so that a score test that errs can't keep a column out.
_BLIND = 0.05
# The share of steps that propose to exchange a column: of columns that say the same one must leave before, or after,
# the other enters, through models that may be far worse.
_SWAPS = 0.25
# What a chain remembers of models, in numbers (32 MB): the odds of all flips from each.
_REMEMBERED = 4_000_000
# Steps between which a chain can be stopped.
_STRETCH = 250


class ClassChain:
    """A walker at one model, with what it remembers of those that it looked at."""

    def __init__(self, task: ClassTask, log_prior: Array, rng: np.random.Generator, *, start: Model = ()) -> None:
        d = task.n_columns
        self.task, self.log_prior, self.rng = task, log_prior, rng
        self.stopped, self._count = False, 0
        self.inside, self._near = np.zeros(d, dtype=np.bool_), np.zeros(d + 1)
        self.inside[list(start)] = True
        self._keys = rng.integers(0, 2**64, size=d, dtype=np.uint64)

    def run(self, *, n_draws: int, n_tune: int, n_batches: int) -> Path:
        """Walk, and remember the steps after the first `n_tune`."""
        self._remember(_jit.MOST * (n_draws + n_tune))
        self.advance(n_tune, np.zeros(self.task.n_columns))
        start, included = self.inside.copy(), np.zeros((n_batches, self.task.n_columns))
        lengths = np.diff(n_draws * np.arange(n_batches + 1) // n_batches)
        parts = [self.advance(int(length), sums) for length, sums in zip(lengths, included, strict=True)]
        moved, evidence = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        models, steps, first = retrace(_models(start, moved))
        del self._book
        # Of models of one size, the likeliest is the best.
        return Path(
            models, evidence[first], -evidence[first], steps, np.ones(len(steps)), included, lengths.astype(np.float64)
        )

    def advance(self, n_steps: int, included: Array) -> tuple[NDArray[np.int64], Array]:
        """Walk on: the columns that each step flips, and the log evidence of the model before it.

        To `included` are added the estimates of p(γ_j = 1 | the others, y), a step each.
        """
        moved, trace, task = np.full((n_steps, 2), -1, dtype=np.int64), np.zeros(n_steps), self.task
        table, slots, heights, chances = self._book
        stretch = min(_STRETCH, len(heights) // _jit.MOST)
        for done in range(0, n_steps, stretch):
            check()
            if self.stopped:
                break
            part = slice(done, min(done + stretch, n_steps))
            if self._count + _jit.MOST * stretch > len(heights):
                # No room is left: all is forgotten.
                slots[:], self._count = _jit.NOBODY, 0
            uniforms = self.rng.random((part.stop - done, 4))
            self._count = _jit.stroll(
                task.ZT, task.y, task.weight, LEVEL_PRECISION, 1.0 / task.variance, self.log_prior, self._keys,
                self.inside, self._near, table, slots, heights, chances, self._count, _BLIND, _SWAPS, uniforms,
                included, moved[part], trace[part],
            )  # fmt: skip
        return moved, trace

    def _remember(self, n_models: int) -> None:
        """Make room for what is known of so many models, if that isn't too much."""
        d = self.task.n_columns
        room = max(min(n_models, _REMEMBERED // d), 16)
        # At most half full, so that numbers that fall on one place find another nearby.
        size = 1 << (2 * room - 1).bit_length()
        self._count = 0
        table, slots = np.zeros(size, dtype=np.uint64), np.full(size, _jit.NOBODY, dtype=np.int64)
        self._book: _jit.Book = (table, slots, np.empty(room), np.empty((room, d)))


def walk_classes(
    task: ClassTask, prior: ModelPrior, *, n_draws: int | None, n_chains: int, n_models: int, random_state: Any
) -> ModelPosterior:
    """The posterior over subsets of many columns; `diagnostics` as those of `credo.subsets.walk.walk`.

    Parameters
    ----------
    n_draws : int or None
        Steps of each chain; a quarter more come before them and aren't counted. None: as many as it takes, up to
        40 000 or some two minutes.
    """
    check_length(n_draws, n_chains)
    d = task.n_columns
    log_prior = prior.log_prob(np.arange(d + 1))
    # A weight of k is k copies of a row here, too.
    rngs, room = generator(random_state).spawn(n_chains), int(task.weight.sum())
    many = most_at_first(log_prior, d, room)
    starts = [random_start(rng, d, room, many * (i % 2), empty=i == 0) for i, rng in enumerate(rngs)]
    chains = [ClassChain(task, log_prior, rng, start=start) for rng, start in zip(rngs, starts, strict=True)]

    def judge(paths: Sequence[Path]) -> ModelPosterior:
        return posterior_of(blended(paths), log_prior, n_models=n_models)

    runs, each = [chain.run for chain in chains], 5e-10 * d * (len(task.y) + 100)
    found, _ = until_settled(chains, runs, judge, n_draws, seconds=lambda k: each * (1.0 + k / 5.0))
    return found


def blended(paths: Sequence[Path]) -> list[Path]:
    """The same paths, with the better mixture of two estimates of inclusion in each batch: visits, and conditionals.

    Both have the same mean, so that visits + c·(conditionals − visits) has it for every c; for each column c is what
    makes the scatter of the batches smallest. Where score tests err by much, the conditionals' correction scatters.
    """
    time = np.concatenate([path.batch_weight for path in paths])[:, None]
    visits = np.concatenate([_visited(path) for path in paths])
    apart = np.concatenate([path.included for path in paths]) - visits
    rest, spread = visits - time * visits.sum(axis=0) / time.sum(), apart - time * apart.sum(axis=0) / time.sum()
    square = np.square(spread).sum(axis=0)
    share = np.clip(-(rest * spread).sum(axis=0) / np.where(square > 0, square, 1.0), 0.0, 1.0)
    parts = np.split(visits + share * apart, len(paths))
    return [replace(path, included=part) for path, part in zip(paths, parts, strict=True)]


def _visited(path: Path) -> Array:
    """How often each column was in, batch by batch."""
    counts = np.zeros_like(path.included)
    edges = np.append(0, np.cumsum(path.batch_weight)).astype(np.intp)
    for sums, start, stop in zip(counts, edges[:-1], edges[1:], strict=True):
        numbers, times = np.unique(path.steps[start:stop], return_counts=True)
        for number, time in zip(numbers.tolist(), times.tolist(), strict=True):
            sums[list(path.models[number])] += time
    return counts


def _models(start: NDArray[np.bool_], moved: NDArray[np.int64]) -> list[Model]:
    """The model before each step."""
    members, models = set(np.flatnonzero(start).tolist()), []
    here = tuple(sorted(members))
    for columns in moved.tolist():
        models.append(here)
        if columns[0] >= 0:
            members ^= {j for j in columns if j >= 0}
            here = tuple(sorted(members))
    return models
