"""One chain over models: weighted tempered Gibbs sampling (Zanella & Roberts 2019) with replicas at lower powers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

from credo.deadlines import check
from credo.subsets._models import Model
from credo.subsets._slabs import FLOOR, Slab
from credo.subsets.walk import _jit
from credo.subsets.walk._columns import own_rows, replicas_of
from credo.subsets.walk._growth import growth
from credo.subsets.walk._jit import Ladder
from credo.subsets.walk._ladder import round_trips, tuned
from credo.subsets.walk._mass import Heat
from credo.subsets.walk._path import Path, retrace
from credo.subsets.walk.factors import Columns
from credo.subsets.walk.neighbours import Heights

Array = NDArray[np.float64]

# Flips are exact to rounding; after this many the factors are made anew.
_REFRESH = 250
# Columns that models have room for at first.
_ROOM = 16
# Up to so many columns replicas at power zero walk over all sizes alike.
_FEW = 64
# Ways up from no columns, of each chain and stretch, on which models of dependent columns are counted.
_WAYS = 8
# Shares of the steps before the counted ones, after each of which the powers are found anew.
_TUNINGS = (0.05, 0.05, 0.1, 0.2, 0.6)


@dataclass(frozen=True)
class Target:
    """The posterior that is walked over: ln p(y | γ) by the slab, and ln p(γ) for each size that a model may have."""

    slab: Slab
    log_prior: Array

    @property
    def reach(self) -> float:
        """The fit, in nats, of a model that reproduces the target."""
        sizes = np.arange(1, min(_ROOM, len(self.log_prior) - 1) + 1)
        perfect, none = (self.slab.score(sizes, np.full(len(sizes), rest)) for rest in (FLOOR, 1.0))
        return float((perfect - none).max(initial=0.0))

    def heights(self, room: int, d: int, square: float) -> Heights:
        """As compiled code reads it, for models of up to `room` of d columns: tables for more may take seconds.

        At power zero few columns have all sizes alike, so that replicas come to large models that few lead to. Of many
        columns that would be models of half the rows: there the price of a column, by prior and slab, stays. `square`
        is the mean of ln(x_iᵀx_i + ridge).
        """
        sizes = np.arange(min(room, len(self.log_prior) - 1) + 1)
        f = self.slab.formula(int(sizes[-1]))
        if d <= _FEW:
            bottom = betaln(sizes + 1.0, d - sizes + 1.0)
        else:
            bottom = self.log_prior[: len(sizes)] + self.slab.score(sizes, np.ones(len(sizes)), square * sizes)
        return Heights(self.log_prior, bottom, f.form, f.base, f.numbers, f.table)


class Chain:
    """Replicas of a walker, one at each power, each with what it takes to know all neighbours of its model."""

    def __init__(self, columns: Columns, target: Target, ladder: Ladder, starts: Sequence[Model]) -> None:
        self.columns, self.target, self.ladder = own_rows(columns), target, ladder
        self.stopped, self.rounds = False, 0
        # From which to which replicas are meant to come, at all powers.
        self.sizes = 0, len(target.log_prior) - 1
        self.peak, self.summit = np.full(1, -np.inf), np.zeros(columns.X.shape[1], dtype=np.bool_)
        # The mean of ln(x_iᵀx_i + ridge).
        lengths = columns.scale + np.log(np.maximum(columns.square, 1e-300))
        self._square = float(np.mean(lengths)) if len(lengths) else 0.0
        self._begin(starts, room=_ROOM)

    def run(self, rng: np.random.Generator, *, n_draws: int, n_tune: int, n_batches: int) -> Path:
        """Walk, and remember the steps after the first `n_tune`, in which the powers are found."""
        d = self.columns.X.shape[1]
        if n_tune:
            for share in _TUNINGS:
                self.advance(rng, round(share * n_tune), np.zeros(d))
                self.ladder = tuned(self.ladder)
        included = np.zeros((n_batches, d))
        lengths = np.diff(n_draws * np.arange(n_batches + 1) // n_batches)
        parts = [self.advance(rng, int(length), sums) for length, sums in zip(lengths, included, strict=True)]
        models, steps, first = retrace(model for _, visited, _ in parts for model in visited)
        evidence, rest, weight = np.concatenate([trace for trace, _, _ in parts]).T
        return Path(
            models, evidence[first], rest[first], steps, weight, included,
            batch_weight=np.array([trace[:, 2].sum() for trace, _, _ in parts]),
            peak=float(self.peak[0]), summit=tuple(np.flatnonzero(self.summit).tolist()),
            heat=self._heat(rng, np.concatenate([heat for _, _, heat in parts])),
        )  # fmt: skip

    @property
    def round_trips(self) -> float:
        """How often replicas came from power zero and went back, since the powers were found."""
        return round_trips(self.ladder)

    def _heat(self, rng: np.random.Generator, records: Array) -> Heat | None:
        """What the replicas say of the mass of all models, where one of them is at power zero."""
        powers, level = self.ladder.powers, np.repeat(np.arange(len(self.ladder.powers)), self.ladder.strides)
        if powers[-1] > 0.0:
            return None
        d, largest = self.columns.X.shape[1], len(self.target.log_prior) - 1
        size, able = records[:, level == len(powers) - 1].reshape(-1, 4)[:, 2:].T
        # Only among dependent columns is anything left to chance.
        n_ways = _WAYS if np.any((size < largest) & (able < d - size)) else 0
        top = int(size.max(initial=0))
        ways = [growth(self.columns, self._heights, rng, top) for _ in range(n_ways)]
        return Heat(powers, level, records, self._heights.bottom, np.reshape(ways, (n_ways, top + 1)), self.sizes)

    def advance(self, rng: np.random.Generator, n_steps: int, included: Array) -> tuple[Array, list[Model], Array]:
        """Walk on: log evidence, rest and weight of the models at the whole power, step by step, the models, and what
        is noted at all powers."""
        models: list[Model] = []
        heats: list[Array] = []
        trace, strides = np.ones((n_steps, 3)), self.ladder.strides
        while len(models) < n_steps and not self.stopped:
            n_rounds = min(max(_REFRESH // int(strides.max()), 1), -(-(n_steps - len(models)) // int(strides[0])))
            uniforms = rng.random((n_rounds, int(strides.sum()) + len(strides)))
            while len(uniforms) and not self.stopped:
                check()
                done, room = len(models), self.every.R.shape[1]
                seen = np.empty((n_steps - done, room), dtype=np.int64)
                heat = np.tile([0.0, -np.inf, 0.0, 0.0], (len(uniforms), int(strides.sum()), 1))
                record = _jit.Record(trace[done:], seen, included, heat, self.peak, self.summit)
                turned, steps = _jit.tour(
                    self.columns, self._heights, self.every, self.ladder, record, uniforms, self.rounds % 2
                )
                models += _models(seen[:steps])
                heats.append(heat[:turned])
                self.rounds += turned
                uniforms = uniforms[turned:]
                if len(uniforms):
                    self._begin(self.places(), room=2 * room)
        return trace, models, np.concatenate(heats) if heats else np.empty((0, int(strides.sum()), 4))

    def _begin(self, starts: Sequence[Model], *, room: int) -> None:
        """Put replicas at models, with room for that many columns."""
        d, levels, largest = self.columns.X.shape[1], len(starts), len(self.target.log_prior) - 1
        room = max(min(room + int(self.ladder.strides.max()), largest), max(map(len, starts)), 1)
        # Neighbours have a column more.
        self._heights = self.target.heights(room + 1, d, self._square)
        self.every = replicas_of(self.columns, levels, room)
        for i, model in enumerate(starts):
            self.every.size[i], self.every.members[i, : len(model)] = len(model), model

    def restart(self, ladder: Ladder, starts: Sequence[Model]) -> None:
        """Go on with another ladder, from other models."""
        self.ladder = ladder._replace(holder=np.arange(len(ladder.powers)), rejected=np.zeros_like(ladder.rejected))
        self._begin(starts, room=_ROOM)

    def bottom(self, largest: int) -> Array:
        """The log density at power zero of a model of each size up to the largest, but for a constant."""
        return self.target.heights(largest, self.columns.X.shape[1], self._square).bottom

    def places(self) -> list[Model]:
        """The models at which the replicas are."""
        return [tuple(row[:k].tolist()) for row, k in zip(self.every.members, self.every.size.tolist(), strict=True)]


def _models(seen: NDArray[np.int64]) -> list[Model]:
    """Models from rows of columns in any order, filled up with −1; each is made once."""
    rows, known = np.sort(seen, axis=1), dict[bytes, Model]()
    for row in rows:
        if (key := row.tobytes()) not in known:
            known[key] = tuple(row[row >= 0].tolist())
    return [known[row.tobytes()] for row in rows]
