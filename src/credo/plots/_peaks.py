"""The peaks of a surface on a grid that stand out from it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Cell = tuple[int, int]


def peaks(values: NDArray[np.float64], *, prominence: float) -> list[tuple[Cell, set[Cell]]]:
    """Every peak with the cells around it, highest first.

    The surface is flooded from above: a cell without higher neighbours starts an island, a cell between islands is a
    pass. There the island whose peak stands less than `prominence` above the pass is swallowed by the highest; the
    others stay peaks of their own. Cells that aren't finite belong to none.

    >>> [cell for cell, _ in peaks(np.array([[0.0, 2.0, 1.0, 3.0]]), prominence=0.5)]
    [(0, 3), (0, 1)]
    """
    island: dict[Cell, int] = {}
    members: dict[int, set[Cell]] = {}
    tops: dict[int, Cell] = {}
    order = np.argsort(-np.where(np.isfinite(values), values, -np.inf), axis=None, kind="stable")
    for flat in order[: int(np.isfinite(values).sum())]:
        cell = (int(flat) // values.shape[1], int(flat) % values.shape[1])
        around = {island[near] for near in _neighbours(cell) if near in island}
        # The highest island first: its number is the lowest.
        home, *others = sorted(around) or [len(tops)]
        members.setdefault(home, set()).add(cell)
        tops.setdefault(home, cell)
        island[cell] = home
        for other in others:
            if values[tops[other]] - values[cell] < prominence and other in members:
                island |= dict.fromkeys(members[other], home)
                members[home] |= members.pop(other)
    return [(tops[number], members[number]) for number in sorted(members)]


def _neighbours(cell: Cell) -> list[Cell]:
    row, column = cell
    return [(row + i, column + j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
