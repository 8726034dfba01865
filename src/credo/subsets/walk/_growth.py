"""Models that grow from nothing, column by column, to count those that aren't dependent."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from credo.subsets.walk._columns import replicas_of
from credo.subsets.walk.factors import Columns
from credo.subsets.walk.factors._jit import build, insert, replica
from credo.subsets.walk.neighbours import Heights
from credo.subsets.walk.neighbours._jit import neighbours

Array = NDArray[np.float64]


def growth(columns: Columns, heights: Heights, rng: np.random.Generator, size: int) -> Array:
    """How many columns could enter a model of each size up to `size`, on one way up; zero where none could.

    Each column that can enter is as likely. With a_0, a_1, … these numbers, the mean of a_0 a_1 ⋯ a_{k−1} is that of
    the ways to k columns in turn (Knuth 1975, "Estimating the efficiency of backtrack programs").
    """
    able = np.zeros(size + 1)
    m = replica(replicas_of(columns, 1, size + 1), 0)
    build(columns, m)
    for k in range(size + 1):
        neighbours(columns, heights, m)
        enter = np.flatnonzero(~m.inside & (m.still > -np.inf))
        able[k] = len(enter)
        if k == size or not len(enter):
            break
        insert(columns, m, int(rng.choice(enter)))
    return able
