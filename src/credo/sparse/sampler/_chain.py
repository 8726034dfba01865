"""One chain over models: weighted tempered Gibbs sampling with replicas at higher temperatures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

from credo.core.deadlines import check
from credo.sparse._dependence import lengths
from credo.sparse._models import Model
from credo.sparse._slabs import Slab
from credo.sparse._slabs_jit import FLOOR
from credo.sparse.sampler import _gibbs_jit
from credo.sparse.sampler._bridge import TemperingRecord
from credo.sparse.sampler._factors_jit import Columns, Replicas
from credo.sparse.sampler._gibbs_jit import Ladder
from credo.sparse.sampler._neighbours_jit import Target
from credo.sparse.sampler._trace import Trace, visited

Array = NDArray[np.float64]

# All inner products are stored up to this many (128 MB); beyond that, each chain stores the rows of the columns that
# entered last.
_ALL_KEPT, _ROWS_KEPT = 16_000_000, 4_000_000
# Steps after which factors are computed from scratch.
_REFRESH = 250
# Columns for which models have room at first.
_ROOM = 16
# Up to this many columns, all sizes are equally likely at β = 0.
_FEW = 64
# Parts of the burn-in, after each of which the temperatures are adapted.
_BURN_IN = (0.05, 0.05, 0.1, 0.2, 0.6)
# The total rate at which columns are tried at random. Zanella & Roberts (2019) use 5; on gene expressions 0.3 to 2 had
# smaller errors than 0.05 and 5.
_EXPLORATION = 1.0


class Chain:
    """Replicas at the temperatures of a ladder, each with the posteriors of all neighbours of its model.

    `log_prior` is ln p(γ) for each size that a model may have, `starts` the first model at each temperature.
    """

    def __init__(
        self, columns: Columns, slab: Slab, log_prior: Array, ladder: Ladder, starts: Sequence[Model],
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        self.columns, self.ladder, self.stopped = _own_rows(columns), ladder, False
        self._slab, self._log_prior, self._rng, self._rounds = slab, log_prior, rng, 0
        self._entering = np.zeros((len(log_prior), 2))
        self._start(starts, room=_ROOM)

    def run(self, *, n_draws: int, n_burn_in: int, n_batches: int) -> Trace:
        """Take steps, and record those after the burn-in, in which the temperatures are adapted."""
        d, largest = self.columns.X.shape[1], len(self._log_prior) - 1
        for share in _BURN_IN if n_burn_in else ():
            self.advance(round(share * n_burn_in), np.zeros(d))
            self.ladder = adapted(self.ladder)
        included, self._entering = np.zeros((n_batches, d)), np.zeros((largest + 1, 2))
        batches = np.diff(n_draws * np.arange(n_batches + 1) // n_batches)
        parts = [self.advance(int(length), sums) for length, sums in zip(batches, included, strict=True)]
        models, steps, first = visited(model for _, part, _ in parts for model in part)
        evidence, rest, weight = np.concatenate([record for record, _, _ in parts]).T
        time = np.array([record[:, 2].sum() for record, _, _ in parts])
        level = np.repeat(np.arange(len(self.ladder.betas)), self.ladder.strides)
        tempering = TemperingRecord(
            self.ladder.betas, level, np.concatenate([part for _, _, part in parts]), self.target.log_reference,
            self._entering,
        )  # fmt: skip
        return Trace(models, evidence[first], rest[first], steps, weight, included, time, tempering)

    def advance(self, n_steps: int, included: Array) -> tuple[Array, list[Model], Array]:
        """Log evidence, 1 − R² and weight of each step at β = 1, its model, and a record of all temperatures.

        Adds to `included`.
        """
        models: list[Model] = []
        tempering: list[Array] = []
        trace, strides = np.ones((n_steps, 3)), self.ladder.strides
        while len(models) < n_steps and not self.stopped:
            n_rounds = min(max(_REFRESH // int(strides.max()), 1), -(-(n_steps - len(models)) // int(strides[0])))
            uniforms = self._rng.random((n_rounds, int(strides.sum()) + len(strides)))
            while len(uniforms) and not self.stopped:
                check()
                done, room = len(models), self.replicas.R.shape[1]
                seen = np.empty((n_steps - done, room), dtype=np.int64)
                all_levels = np.tile([0.0, -np.inf], (len(uniforms), int(strides.sum()), 1))
                record = _gibbs_jit.Record(trace[done:], seen, included, all_levels, self._entering)
                rounds, steps = _gibbs_jit.run_rounds(
                    self.columns, self.target, self.replicas, self.ladder, record, uniforms, self._rounds % 2
                )
                models += _models(seen[:steps])
                tempering.append(all_levels[:rounds])
                self._rounds += rounds
                uniforms = uniforms[rounds:]
                if len(uniforms):
                    self._start(self._members(), room=2 * room)
        return trace, models, np.concatenate(tempering) if tempering else np.empty((0, int(strides.sum()), 2))

    @property
    def round_trips(self) -> float:
        """Estimated number of round trips of replicas between β = 1 and β = 0 since the temperatures were adapted.

        With r the rejection rate of a pair, 1/(2 + 2Σ r/(1 − r)) a round (Syed et al. 2022, theorem 1). Each brings a
        model that is independent of those before it.
        """
        tried, rate = self.ladder.rejected[:, 1], np.minimum(self.rejection_rate, 1.0 - 1e-12)
        # A pair has its turn in every other round.
        return float(2.0 * tried.max(initial=0.0) / (2.0 + 2.0 * np.sum(rate / (1.0 - rate))))

    @property
    def rejection_rate(self) -> Array:
        """Of swaps, for each pair of temperatures."""
        return np.asarray(self.ladder.rejected[:, 0] / np.maximum(self.ladder.rejected[:, 1], 1.0))

    def _start(self, starts: Sequence[Model], *, room: int) -> None:
        """Put replicas at models, with room for that many columns."""
        largest = len(self._log_prior) - 1
        room = max(min(room + int(self.ladder.strides.max()), largest), max(map(len, starts)), 1)
        # Neighbours have one column more.
        self.target = _target(self._slab, self._log_prior, self.columns, room + 1)
        self.replicas = _replicas(self.columns, len(starts), room)
        for i, model in enumerate(starts):
            self.replicas.size[i], self.replicas.members[i, : len(model)] = len(model), model

    def _members(self) -> list[Model]:
        pairs = zip(self.replicas.members, self.replicas.size.tolist(), strict=True)
        return [tuple(row[:k].tolist()) for row, k in pairs]


def shared_columns(X: Array, y: Array, *, ridge: float, yy: float, least: Array | float) -> Columns:
    """Columns of unit length, with what all chains share; `ridge` is what the slab adds to squared lengths."""
    d = X.shape[1]
    scale = lengths(X)
    scale = np.where(scale > 0, scale, 1.0)
    # By rows, qᵀX is twice as fast as by columns.
    U = np.ascontiguousarray(X / scale)
    kept = d * d <= _ALL_KEPT
    return Columns(
        X=U,
        y=np.ascontiguousarray(y / np.sqrt(yy)),
        scale=2.0 * np.log(scale),
        square=np.einsum("ij,ij->j", U, U) + ridge / scale**2,
        ridge=ridge / scale**2,
        least=np.zeros(d) if ridge else np.broadcast_to(np.asarray(least, dtype=np.float64), (d,)).copy(),
        slack=max(yy - float(y @ y), 0.0) / yy,
        gram=U.T @ U if kept else np.empty((0, d)),
        row=np.arange(d) if kept else np.full(d, -1),
        owner=np.empty(0, dtype=np.int64),
        turn=np.zeros(1, dtype=np.int64),
    )


def first_ladder(d: int, slab: Slab, largest: int) -> Ladder:
    """Inverse temperatures in equal ratios down to where the best fit counts one nat, and zero.

    Few columns have the steepest modes beside each other and the cheapest steps: many temperatures that swap often. Of
    many columns, steps at β = 1 take most of the time.
    """
    n_levels, stride, hot = (12, 2, 2) if d <= 100 else (12, 10, 2) if d <= 1000 else (6, 16, 1)
    sizes = np.arange(1, min(_ROOM, largest) + 1)
    perfect, none = (slab.score(sizes, np.full(len(sizes), rest)) for rest in (FLOOR, 1.0))
    reach = float((perfect - none).max(initial=2.0))
    betas = np.append(reach ** -np.linspace(0.0, 1.0, n_levels - 1), 0.0)
    strides = np.full(n_levels, hot)
    strides[0] = stride
    return Ladder(betas, strides, np.arange(n_levels), _EXPLORATION / max(d, 1), np.zeros((n_levels - 1, 2)))


def adapted(ladder: Ladder) -> Ladder:
    """Temperatures with equal rejection rates of swaps (Syed et al. 2022, algorithm 4).

    One accepted and one rejected swap are added to those that were tried, so that a few can't decide.
    """
    rejected, tried = ladder.rejected.T
    barrier = np.append(0.0, np.cumsum((rejected + 1.0) / (tried + 2.0)))
    betas = np.interp(np.linspace(0.0, barrier[-1], len(barrier)), barrier, ladder.betas)
    return ladder._replace(betas=betas, rejected=np.zeros_like(ladder.rejected))


def _target(slab: Slab, log_prior: Array, columns: Columns, room: int) -> Target:
    """The posterior as compiled code reads it, for models of up to `room` columns: tables for more may take seconds.

    At β = 0 all sizes of few columns are equally likely, so that replicas come to large models that few lead to. Of
    many columns those would be models of half the rows: there prior and slab still count, with R² = 0.
    """
    d, sizes = columns.X.shape[1], np.arange(min(room, len(log_prior) - 1) + 1)
    if d <= _FEW:
        reference = betaln(sizes + 1.0, d - sizes + 1.0)
    else:
        logdet = columns.scale + np.log(np.maximum(columns.square, 1e-300))
        reference = log_prior[: len(sizes)] + slab.score(sizes, np.ones(len(sizes)), float(logdet.mean()) * sizes)
    return Target(log_prior, reference, slab.formula(int(sizes[-1])))


def _own_rows(columns: Columns) -> Columns:
    """The same for one chain, with its own rows of inner products where not all are stored."""
    if len(columns.gram):
        return columns
    d, turn = columns.X.shape[1], np.zeros(1, dtype=np.int64)
    n_rows = max(_ROWS_KEPT // max(d, 1), 1)
    return columns._replace(gram=np.empty((n_rows, d)), row=np.full(d, -1), owner=np.full(n_rows, -1), turn=turn)


def _replicas(columns: Columns, levels: int, room: int) -> Replicas:
    """Empty models, one for each level, with room for so many columns."""
    n, d = columns.X.shape
    return Replicas(
        Q=np.zeros((levels, room, n + room)), R=np.zeros((levels, room, room)),
        T=np.zeros((levels, room, room)), u=np.zeros((levels, room)), e=np.zeros((levels, n + room)),
        s=np.empty((levels, d)), r=np.empty((levels, d)), inside=np.zeros((levels, d), dtype=np.bool_),
        members=np.zeros((levels, room), dtype=np.int64), size=np.zeros(levels, dtype=np.int64),
        log_joint=np.zeros((levels, d)), here=np.zeros((levels, 3)),
    )  # fmt: skip


def _models(seen: NDArray[np.int64]) -> list[Model]:
    """Models from rows of columns in any order, filled up with −1; equal ones are one object."""
    rows, known = np.sort(seen, axis=1), dict[bytes, Model]()
    for row in rows:
        if (key := row.tobytes()) not in known:
            known[key] = tuple(row[row >= 0].tolist())
    return [known[row.tobytes()] for row in rows]
