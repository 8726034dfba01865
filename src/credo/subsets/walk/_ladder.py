"""Powers of the fit at which replicas of a chain walk, and how they are found."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from credo.subsets.walk._jit import Ladder

Array = NDArray[np.float64]

# The rate at which columns are tried at random, all together, beside one for each column of the model. Zanella &
# Roberts (2019) take 5; on one table of gene expressions (four walks each) 0.3 to 2 erred less than 0.05 and 5.
TRIES = 1.0


def first_ladder(d: int, reach: float, largest: int) -> Ladder:
    """Powers in equal ratios down to 1/reach, where a fit of `reach` nats is one, and none.

    Few columns have the steepest summits beside each other and the cheapest steps: many powers, that exchange often.
    Of many columns a step at the whole power is what takes time, and those at lower powers come to as much together.
    """
    n_levels, stride, hot = (12, 2, 2) if d <= 100 else (12, 10, 2) if d <= 1000 else (6, 16, 1)
    return ladder_of(n_levels, stride, hot, d, reach, largest)


def ladder_of(n_levels: int, stride: int, hot: int, d: int, reach: float, largest: int) -> Ladder:
    """So many powers, with `stride` steps in a round at the whole one and `hot` at others; models have `largest`
    columns at most."""
    strides = np.full(n_levels, hot)
    strides[0] = stride
    powers = np.append(max(reach, 2.0) ** -np.linspace(0.0, 1.0, n_levels - 1), 0.0)
    rejected, lift = np.zeros((n_levels - 1, 2)), np.zeros((n_levels, largest + 1))
    return Ladder(powers, strides, np.arange(n_levels), TRIES / max(d, 1), rejected, lift)


def tuned(ladder: Ladder) -> Ladder:
    """Powers at which all exchanges are refused as often (Syed et al. 2022, algorithm 4).

    The chance that one is refused between two powers is about the integral of a density between them. An exchange that
    was accepted and one that was refused are added to those that were tried, so that a few can't decide.
    """
    refused, tried = ladder.rejected.T
    barrier = np.append(0.0, np.cumsum((refused + 1.0) / (tried + 2.0)))
    powers = np.interp(np.linspace(0.0, barrier[-1], len(barrier)), barrier, ladder.powers)
    lift = np.column_stack([np.interp(-powers, -ladder.powers, column) for column in ladder.lift.T])
    return ladder._replace(powers=powers, rejected=np.zeros_like(ladder.rejected), lift=np.ascontiguousarray(lift))


def round_trips(ladder: Ladder) -> float:
    """About how often replicas went from the whole power to the lowest and back, in the rounds since the last tuning.

    With r the share of exchanges that a pair refuses, a round has 1/(2 + 2Σ r/(1 − r)) of them (Syed et al. 2022,
    theorem 1): each brings a model that is independent of those before it.
    """
    refused, tried = ladder.rejected.T
    if not tried.any():
        return 0.0
    share = np.minimum(refused / np.maximum(tried, 1.0), 1.0 - 1e-12)
    # A pair has its turn in every other round.
    return float(2.0 * tried.max() / (2.0 + 2.0 * np.sum(share / (1.0 - share))))
