"""One chain over models: weighted tempered Gibbs sampling (Zanella & Roberts 2019)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.sparse._models import Model
from credo.sparse._slabs import Formula, Slab
from credo.sparse.walk import _jit
from credo.sparse.walk._columns import Columns

Array = NDArray[np.float64]

# Flips are exact to rounding; after this many the factor is made anew.
_REFRESH = 250
# The rate at which columns are tried at random, all together, beside one for each column of the model. Zanella &
# Roberts (2019) take 5; on one table of gene expressions (four walks each) 0.3 to 2 erred less than 0.05 and 5.
TRIES = 1.0


@dataclass(frozen=True)
class Target:
    """The posterior that is walked over: ln p(y | γ) by the slab, and ln p(γ) for each size that a model may have."""

    slab: Slab
    log_prior: Array

    def formula(self, room: int) -> Formula:
        """The slab as compiled code reads it, for models of up to `room` columns: tables for more may take seconds."""
        return self.slab.formula(min(room, len(self.log_prior) - 1), rest=_jit.FLOOR)


@dataclass(frozen=True)
class Path:
    """What a chain saw.

    `models` are those it visited, each with its `log_evidence` and the share `rest` of the target that it leaves;
    `steps` are their numbers, step by step, each with its `weight`. `included` (n_batches, d) and `batch_weight`
    (n_batches,) are sums, over stretches of the chain, of weight × conditional inclusion probability and of weight.
    """

    models: list[Model]
    log_evidence: Array
    rest: Array
    steps: NDArray[np.intp]
    weight: Array
    included: Array
    batch_weight: Array


class Chain:
    """A walker at one model, with what it takes to know all of the model's neighbours."""

    def __init__(self, columns: Columns, target: Target, *, start: Model = ()) -> None:
        self.columns, self.target = columns, target
        self.stopped = False
        self._begin(start, room=32)

    @property
    def model(self) -> Model:
        """The columns that are in."""
        return tuple(np.flatnonzero(self.inside).tolist())

    def run(self, uniforms: Array, *, n_tune: int, n_batches: int) -> Path:
        """Walk as many steps as there are uniform numbers, and remember those after the first `n_tune`."""
        n_draws, d = len(uniforms) - n_tune, self.columns.n_features
        self.advance(uniforms[:n_tune], np.zeros(d))
        start, included = self.model, np.zeros((n_batches, d))
        edges = n_tune + n_draws * np.arange(n_batches + 1) // n_batches
        parts = [self.advance(uniforms[a:b], sums) for a, b, sums in zip(edges[:-1], edges[1:], included, strict=True)]
        flipped, trace = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        models, steps, first = retrace(_models(start, flipped))
        evidence, rest, weight = trace.T
        batch_weight = np.array([part[1][:, 2].sum() for part in parts])
        return Path(models, evidence[first], rest[first], steps, weight, included, batch_weight)

    def advance(self, uniforms: Array, included: Array) -> tuple[NDArray[np.int64], Array]:
        """Walk on: the column that each step flips; and log evidence, rest and weight of the model before."""
        flipped, trace = np.full(len(uniforms), -1, dtype=np.int64), np.ones((len(uniforms), 3))
        done, slab, floor = 0, self.target.slab, TRIES / self.columns.n_features
        while done < len(uniforms) and not self.stopped:
            part = slice(done, min(done + _REFRESH, len(uniforms)))
            f = self._formula
            arguments = (
                *self._arrays(), self.columns.least, slab.yy, self.target.log_prior, f.form, f.base, f.numbers, f.table,
                slab.ridge > 0, floor, uniforms[part], included, flipped[part], trace[part],
            )  # fmt: skip
            steps, self.k = _jit.stroll(*arguments)
            done += steps
            self._begin(self.model, room=len(self.V) if done == part.stop else 2 * len(self.V))
        return flipped, trace

    def _begin(self, model: Model, *, room: int) -> None:
        """Make all anew for a model, against the drift of rounding errors, with room for that many columns."""
        columns, d = self.columns, self.columns.n_features
        room = max(room, len(model) + 1)
        if room != getattr(self, "_room", 0):
            self._room, self._formula = room, self.target.formula(room)
        self.V, self.R, self.u = np.empty((room, d)), np.zeros((room, room)), np.zeros(room)
        self.s, self.r = columns.square.copy(), columns.common.copy()
        self.inside, self.members, self.k = np.zeros(d, dtype=np.bool_), np.zeros(room, dtype=np.int64), 0
        for j in model:
            # Of a start that holds dependent columns, those that add nothing are left out.
            if self.s[j] > columns.least[j]:
                self.k = _jit.flip(*(*self._arrays(), j))

    def _arrays(self) -> tuple[Any, ...]:
        """What compiled code works on."""
        c = self.columns
        return c.X, c.gram, self.V, self.R, self.u, self.s, self.r, self.inside, self.members, self.k


def retrace(models: Iterable[Model]) -> tuple[list[Model], NDArray[np.intp], NDArray[np.intp]]:
    """The different ones of a walk's models, the number of each step's, and the step at which each was first seen."""
    numbers: dict[Model, int] = {}
    steps: list[int] = []
    first: list[int] = []
    for t, model in enumerate(models):
        number = numbers.setdefault(model, len(first))
        if number == len(first):
            first.append(t)
        steps.append(number)
    return list(numbers), np.array(steps, dtype=np.intp), np.array(first, dtype=np.intp)


def _models(start: Model, flipped: NDArray[np.int64]) -> Iterator[Model]:
    """The model before each flip."""
    members = set(start)
    for j in flipped.tolist():
        yield tuple(sorted(members))
        if j >= 0:
            members ^= {j}
