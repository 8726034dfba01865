"""A level way between small models and large ones.

Where columns outnumber rows, models of a third as many columns as rows may come so close to the target that a prior to
which all sizes are alike leaves them a share of the posterior: a world of their own. A chain that is in one of the two
hardly comes to the other, nor do its replicas: at lower powers of the fit the price of a column leaves nothing of large
models. So each power has a lift, by size,

    p̃_β(γ) ∝ p_β(γ) e^(lift_β(k)),   k the size of γ,

with which half of the steps go to all sizes alike, and weights take it off again (umbrella sampling, Torrie & Valleau
1977; with replicas Sugita, Kitao & Okamoto 2000). It follows from the mass of the models of a size, which is known at
power zero and grows with the mean fit (thermodynamic integration, Kirkwood 1935):

    d ln Z_β(k) / dβ = E_β[fit | k],   lift_β(k) = max(c_β − ln Z_β(k) − ln r_β(k), 0) − excess(k),

r the rate at which models of a size are left. The excess, the same at all powers, keeps replicas from sizes at either
end that have next to nothing of the posterior. A lift that errs costs time, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from credo.subsets._model_prior import log_subsets
from credo.subsets._models import Model
from credo.subsets.walk._chain import Chain, Target
from credo.subsets.walk._feel import Feel, blended
from credo.subsets.walk._jit import Ladder
from credo.subsets.walk._ladder import ladder_of, tuned
from credo.subsets.walk._path import Path
from credo.subsets.walk._together import side_by_side
from credo.subsets.walk.factors import Columns

Array = NDArray[np.float64]
Stage = Callable[[int], Array]

# Powers, and steps of a round at each of the higher half of them, where models hold together, and of the others.
_LEVELS, _STRIDE, _HOT = 16, 20, 4
STRIDES = np.repeat([_STRIDE, _HOT], _LEVELS // 2)
# About how many steps of single replicas, of each chain, it takes to find the way.
WAY = 76_800
# While the power rises: steps at each, and how far the next is, in standard deviations of the fit; and at the least.
_SLOWLY, _APART, _LEAST = 40, 0.25, 0.01
# Rounds after which the lift is found anew, how often unless there is time, and changes of it, in nats, that end that.
_ROUNDS, STAGES, _NEAR = 80, 5, 1.0
# Models that differ in size by fewer columns are of one world.
_FEW = 10
# Sizes that take a higher lift at the whole power are worth no steps, unless they are between others.
_HIGHEST = 4.0
# No lift at the whole power is higher at all, so that weights are numbers that have squares.
_HEIGHT = 200.0
# How much steeper it is, a column, beyond the last size, and while replicas are driven from sizes that aren't likely.
_SLOPE, _STEEP = 0.5, 3.0


@dataclass(frozen=True)
class Station:
    """A power on the way from none to one: what was felt there, and the models of each chain's replicas."""

    power: float
    feel: Feel
    places: list[list[Model]]


def worlds_apart(paths: Sequence[Path], n: int) -> int:
    """The size up to which chains that don't agree should have a level way; 0 if it wouldn't help them.

    It helps over columns that outnumber the n rows, where chains were at small models and at large ones: the few that
    come from one to the other are what the chains wait for.
    """
    d = paths[0].included.shape[1]
    # The first half may still be on its way from where it started.
    late = [np.array([len(model) for model in path.models])[path.steps[len(path.steps) // 2 :]] for path in paths]
    low, high = min(np.quantile(size, 0.01) for size in late), max(np.quantile(size, 0.99) for size in late)
    last = int(np.ceil(1.1 * high)) + 2
    return last if d > n and high - low > _FEW else 0


def level_way(
    columns: Columns, target: Target, rngs: Sequence[np.random.Generator], last: int, n_stages: int
) -> list[Chain]:
    """Chains that go back and forth between the models of all sizes, up to the last, that have their part.

    The lift is found anew as often as it takes, up to `n_stages` times.
    """
    d, largest = columns.X.shape[1], len(target.log_prior) - 1
    even = partial(ladder_of, _LEVELS, _SLOWLY, _SLOWLY, d, target.reach, largest)
    chains = [Chain(columns, target, even(), [_anywhere(rng, d, last) for _ in range(_LEVELS)]) for rng in rngs]

    def stage(n_steps: int) -> Array:
        """What the replicas of all chains note on the next steps: a row for each round of each chain."""
        walks = [partial(chain.advance, rng, n_steps, np.zeros(d)) for chain, rng in zip(chains, rngs, strict=True)]
        return np.concatenate([notes for _, _, notes in side_by_side(chains, walks)])

    stations = _risen(chains, last, stage)
    powers = _spaced(stations)
    at = np.array([station.power for station in stations])
    nearest = [int(np.abs(at - power).argmin()) for power in powers]
    ladder = chains[0].ladder._replace(powers=powers, strides=STRIDES)
    for number, chain in enumerate(chains):
        chain.restart(ladder, [stations[place].places[number][level] for level, place in enumerate(nearest)])
    _refine(chains, [stations[place].feel for place in nearest], last, stage, n_stages)
    return chains


def _anywhere(rng: np.random.Generator, d: int, last: int) -> Model:
    return tuple(rng.choice(d, size=int(rng.integers(last + 1)), replace=False).tolist())


def _risen(chains: Sequence[Chain], last: int, stage: Stage) -> list[Station]:
    """All replicas at one power, which rises from none to one."""
    power, log_mass, log_rate = 0.0, _ground(chains[0], last), np.log(np.arange(last + 1) + 1.0)
    stations: list[Station] = []
    while True:
        lift = _lifts((log_mass + log_rate)[None], len(chains[0].target.log_prior))
        ladder = chains[0].ladder._replace(powers=np.full(_LEVELS, power), lift=np.tile(lift, (_LEVELS, 1)))
        _climb_to(chains, ladder)
        feel = Feel.of(stage(_SLOWLY), lift[0], last)
        stations.append(Station(power, feel, [chain.places() for chain in chains]))
        if power == 1.0:
            return stations
        step = max(_APART / max(feel.spread, _APART), _LEAST)
        step = step if power + step < 1.0 else 1.0 - power
        power, log_mass, log_rate = min(power + step, 1.0), log_mass + step * feel.fit, feel.log_rate


def _spaced(stations: Sequence[Station]) -> Array:
    """Powers from one down, as far from each other as the fit's standard deviation says."""
    power, spread = np.array([(station.power, station.feel.spread) for station in stations]).T
    length = np.append(0.0, np.cumsum(np.diff(power) * (spread[1:] + spread[:-1]) / 2))
    return np.interp(np.linspace(length[-1], 0.0, _LEVELS), length, power)


def _refine(chains: Sequence[Chain], feels: list[Feel], last: int, stage: Stage, n_stages: int) -> None:
    """Walk at all powers, and find these and the lift anew from what is felt there, until the lift stays."""
    ladder, ground, n_sizes = chains[0].ladder, _ground(chains[0], last), len(chains[0].target.log_prior)
    level, before = np.repeat(np.arange(_LEVELS), ladder.strides), np.full(n_sizes, np.inf)
    for remaining in range(n_stages, -1, -1):
        shares = _climbed(ladder.powers, np.stack([feel.fit for feel in feels]), ground)
        lift = _lifts(shares + np.stack([feel.log_rate for feel in feels]), n_sizes)
        excess = _excess(lift[0], last)
        lift -= excess
        lift[0] = np.minimum(lift[0], _HEIGHT)
        ladder = ladder._replace(lift=lift)
        if remaining == 0 or np.abs(lift[0] - before).max() < _NEAR:
            break
        _climb_to(chains, ladder)
        before, notes = lift[0], stage(_ROUNDS * _STRIDE)
        now = [Feel.of(notes[:, level == place], lift[place], last) for place in range(_LEVELS)]
        feels = [feel.after(earlier) for feel, earlier in zip(now, feels, strict=True)]
        rejected = np.sum([chain.ladder.rejected for chain in chains], axis=0)
        powers, ladder = ladder.powers, tuned(ladder._replace(rejected=rejected))
        feels = blended(feels, np.interp(-ladder.powers, -powers, np.arange(_LEVELS)))
    # Large models that aren't likely may hold together: replicas are driven from there before any step counts. The mass
    # of all models is counted from power zero at sizes that replicas come to at all powers.
    _climb_to(chains, ladder._replace(lift=lift - _STEEP * _beyond(excess)))
    stage(_ROUNDS * _STRIDE)
    _climb_to(chains, ladder)
    likely = np.flatnonzero(excess == 0.0)
    for chain in chains:
        chain.sizes = int(likely[0]), int(likely[-1])


def _climb_to(chains: Sequence[Chain], ladder: Ladder) -> None:
    """Give all chains the powers and lifts of a ladder; replicas stay where they are."""
    for chain in chains:
        chain.ladder = ladder._replace(holder=chain.ladder.holder, rejected=np.zeros_like(ladder.rejected))


def _ground(chain: Chain, last: int) -> Array:
    """ln Z(k) at power zero, as if no columns were dependent."""
    return np.asarray(chain.bottom(last) + log_subsets(chain.columns.X.shape[1], last))


def _climbed(powers: Array, fits: Array, ground: Array) -> Array:
    """ln Z(k) at each power, by the trapezoidal rule from the last, zero."""
    steps = -np.diff(powers)[:, None] * (fits[:-1] + fits[1:]) / 2
    return ground + np.append(np.cumsum(steps[::-1], axis=0)[::-1], np.zeros((1, len(ground))), axis=0)


def _excess(lift: Array, last: int) -> Array:
    """How much of the lift at the whole power is for sizes that nobody would call likely, smaller or larger than all
    others."""
    sides = np.minimum.accumulate(lift[: last + 1]), np.minimum.accumulate(lift[last::-1])[::-1]
    return np.pad(np.maximum(np.maximum(*sides) - _HIGHEST, 0.0), (0, len(lift) - last - 1), mode="edge")


def _beyond(excess: Array) -> Array:
    """How many columns a size is from the next that has no excess."""
    sizes, likely = np.arange(len(excess)), np.flatnonzero(excess == 0.0)
    return np.maximum(np.maximum(likely[0] - sizes, sizes - likely[-1]), 0).astype(np.float64)


def _lifts(shares: Array, n_sizes: int) -> Array:
    """The lift of each size at each power, from the log shares of steps up to the last size."""
    level = logsumexp(shares, axis=1, keepdims=True) - np.log(shares.shape[1])
    lift = np.maximum(level - shares, 0.0)
    beyond = lift[:, -1:] - _SLOPE * np.arange(1.0, n_sizes - shares.shape[1] + 1.0)
    return np.concatenate([lift, np.maximum(beyond, 0.0)], axis=1)
