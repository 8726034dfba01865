"""A chain over logistic models, which are looked at one by one: adding, deleting and swapping columns.

Proposals follow score tests, which tell from one model's mode what every column would add (locally informed: Zanella
2020); Laplace's evidence of the proposed model decides (Metropolis & Hastings).
"""

import math
from collections import OrderedDict
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from credo.linalg import one_blas_thread
from credo.seeds import generator
from credo.sparse._class_models import ClassTask, Mode
from credo.sparse._model_prior import ModelPrior
from credo.sparse._models import Model, ModelPosterior
from credo.sparse.walk._chain import Path, retrace
from credo.sparse.walk._walk import BATCHES, check_length, posterior_of, random_start, side_by_side

Array = NDArray[np.float64]

# This share of proposals is blind, so that a score test that errs can't keep a column out.
_BLIND = 0.05
# Models whose score tests are remembered.
_REMEMBERED = 1000


class ClassChain:
    """A walker at one model."""

    def __init__(self, task: ClassTask, log_prior: Array, *, start: Model = ()) -> None:
        self.task, self.log_prior = task, log_prior
        self.stopped = False
        self._modes: dict[Model, Mode] = {}
        self._tests: OrderedDict[Model, Array] = OrderedDict()
        self.here = self._mode(tuple(sorted(start)), None)

    def run(self, rng: np.random.Generator, *, n_draws: int, n_tune: int, n_batches: int) -> Path:
        """Walk, and remember the steps after the first `n_tune`."""
        for _ in range(n_tune):
            self.step(rng)
        models: list[Model] = []
        included = np.zeros((n_batches, self.task.n_columns))
        for t in range(n_draws):
            if self.stopped:
                break
            models.append(self.here.model)
            included[t * n_batches // n_draws, list(self.here.model)] += 1.0
            self.step(rng)
        visited, steps, _ = retrace(models)
        evidence = np.array([self._modes[model].log_evidence for model in visited])
        # Of models of one size, the likeliest is the best.
        sizes = np.bincount(np.arange(n_draws) * n_batches // n_draws, minlength=n_batches).astype(np.float64)
        return Path(visited, evidence, -evidence, steps, np.ones(len(steps)), included, sizes)

    def step(self, rng: np.random.Generator) -> None:
        """One proposal, taken or not."""
        move = (self._add, self._delete, self._swap)[rng.integers(3)]
        proposal = move(rng)
        if proposal is not None and math.log(rng.random()) < proposal[1]:
            self.here = proposal[0]

    def _add(self, rng: np.random.Generator) -> tuple[Mode, float] | None:
        here = self.here
        if len(here.model) + 1 >= len(self.log_prior):
            return None
        chances = self._entering(here)
        j = int(rng.choice(len(chances), p=chances))
        there = self._mode(tuple(sorted((*here.model, j))), here)
        back = self._leaving(there)[there.model.index(j)]
        return there, self._height(there) - self._height(here) + math.log(back / chances[j])

    def _delete(self, rng: np.random.Generator) -> tuple[Mode, float] | None:
        here = self.here
        if not here.model:
            return None
        chances = self._leaving(here)
        place = int(rng.choice(len(chances), p=chances))
        there = self._mode(here.model[:place] + here.model[place + 1 :], here)
        back = self._entering(there)[here.model[place]]
        return there, self._height(there) - self._height(here) + math.log(back / chances[place])

    def _swap(self, rng: np.random.Generator) -> tuple[Mode, float] | None:
        """A member, any, leaves, and another takes its place as if it had never been there."""
        here = self.here
        if not here.model or len(here.model) == self.task.n_columns:
            return None
        place = int(rng.integers(len(here.model)))
        between = self._mode(here.model[:place] + here.model[place + 1 :], here)
        chances = self._entering(between)
        j = int(rng.choice(len(chances), p=chances))
        if j == here.model[place]:
            return None
        there = self._mode(tuple(sorted((*between.model, j))), between)
        ratio = chances[here.model[place]] / chances[j]
        return there, self._height(there) - self._height(here) + math.log(ratio)

    def _height(self, mode: Mode) -> float:
        return mode.log_evidence + float(self.log_prior[len(mode.model)])

    def _mode(self, model: Model, near: Mode | None) -> Mode:
        found = self._modes.get(model)
        if found is None:
            found = self._modes[model] = self.task.mode(model, near=near)
        return found

    def _entering(self, mode: Mode) -> Array:
        """The chance of each column to be proposed for entry."""
        chances = self._tests.get(mode.model)
        if chances is None:
            logs, outside = self.task.additions(mode), np.ones(self.task.n_columns, dtype=bool)
            outside[list(mode.model)] = False
            chances = np.zeros(len(logs))
            chances[outside] = (1.0 - _BLIND) * softmax(logs[outside]) + _BLIND / outside.sum()
            self._tests[mode.model] = chances
            if len(self._tests) > _REMEMBERED:
                self._tests.popitem(last=False)
        return chances

    def _leaving(self, mode: Mode) -> Array:
        """The chance of each member to be proposed for leaving."""
        return (1.0 - _BLIND) * softmax(self.task.deletions(mode)) + _BLIND / len(mode.model)


def walk_classes(
    task: ClassTask, prior: ModelPrior, *, n_draws: int, n_chains: int, n_models: int, random_state: Any
) -> ModelPosterior:
    """The posterior over subsets of many columns; `diagnostics` as those of `walk`.

    Parameters
    ----------
    n_draws : int
        Steps of each chain; a quarter more come before them and aren't counted.
    """
    check_length(n_draws, n_chains)
    log_prior = prior.log_prob(np.arange(task.n_columns + 1))
    rngs = generator(random_state).spawn(n_chains)
    with one_blas_thread():
        chains = [
            ClassChain(task, log_prior, start=random_start(rng, task.n_columns, task.n_columns, empty=number == 0))
            for number, rng in enumerate(rngs)
        ]
        length = {"n_draws": n_draws, "n_tune": math.ceil(n_draws / 4), "n_batches": BATCHES}
        paths = side_by_side(chains, [partial(c.run, rng, **length) for c, rng in zip(chains, rngs, strict=True)])
    return posterior_of(paths, log_prior, n_models=n_models)
