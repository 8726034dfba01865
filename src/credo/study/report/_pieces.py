"""A curve in words: the fewest rises and falls that lie inside its band, and where they may be level.

The band doesn't show more structure than that. Each rise and fall is divided into the fewest straight pieces; one that
may be horizontal is called level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.core.wording import plural

Vector = NDArray[np.float64]

# More pieces than this are counted instead of told.
_MOST_PARTS = 4


class Piece(NamedTuple):
    """A part of a curve from one point of the grid to another; `way` is 1 if it rises, −1 if it falls, else 0."""

    start: int
    stop: int
    way: int


def pieces(x: Vector, mean: Vector, lower: Vector, upper: Vector) -> list[Piece]:
    """The fewest rises and falls inside a band, in the fewest straight pieces, and of these those nearest to the mean.

    A line of slope b lies between lower and upper at the points i to j if for all p < q among them
    (lower_q − upper_p)/(x_q − x_p) ≤ b ≤ (upper_q − lower_p)/(x_q − x_p); a curve that never falls does if the right
    sides aren't negative, and one that never rises if the left sides aren't positive.

    >>> x = np.linspace(0.0, 1.0, 21)
    >>> hinge = np.maximum(x - 0.5, 0.0)
    >>> [(piece.way, float(x[piece.stop])) for piece in pieces(x, hinge, hinge - 0.01, hinge + 0.01)]
    [(0, 0.5), (1, 1.0)]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = x[None, :] - x[:, None]
        least, most = (lower[None, :] - upper[:, None]) / gap, (upper[None, :] - lower[:, None]) / gap
    least[gap <= 0], most[gap <= 0] = -np.inf, np.inf
    # Over all pairs between i and j.
    least = np.maximum.accumulate(np.maximum.accumulate(least, axis=1)[::-1], axis=0)[::-1]
    most = np.minimum.accumulate(np.minimum.accumulate(most, axis=1)[::-1], axis=0)[::-1]
    error, found = _line_errors(x, mean), list[Piece]()
    for turn in _turns(mean, least, most):
        # Slopes of the other sign don't count.
        low, high = (np.maximum(least, 0.0), most) if turn.way > 0 else (least, np.minimum(most, 0.0))
        found += _lines(turn, low, high, error)
    return _joined(found, mean, lower, upper)


def _turns(mean: Vector, least: Vector, most: Vector) -> list[Piece]:
    """Rises and falls in turn, as few as possible, and against the mean's movements as little as possible."""
    n, steps = len(mean), np.diff(mean)
    against = {way: np.concatenate([[0.0], np.cumsum(np.maximum(-way * steps, 0.0))]) for way in (1, -1)}
    fits = {1: most >= 0, -1: least <= 0}
    best: dict[int, list[tuple[int, float, int]]] = {way: [(0, 0.0, 0)] for way in (1, -1)}
    for j in range(1, n):
        for way in (1, -1):
            ways = (
                (best[-way][i][0] + 1, best[-way][i][1] + float(against[way][j] - against[way][i]), i)
                for i in range(j)
                if fits[way][i, j]
            )
            best[way].append(min(ways, default=(n, np.inf, 0)))
    way, found, stop = min((1, -1), key=lambda way: best[way][-1]), list[Piece](), n - 1
    while stop > 0:
        start = best[way][stop][2]
        found.insert(0, Piece(start, stop, way))
        stop, way = start, -way
    return found


def _lines(turn: Piece, low: Vector, high: Vector, error: Vector) -> list[Piece]:
    """The fewest lines with slopes between low and high for a rise or a fall."""
    best: dict[int, tuple[int, float, int]] = {turn.start: (0, 0.0, turn.start)}
    for j in range(turn.start + 1, turn.stop + 1):
        ways = ((best[i][0] + 1, best[i][1] + error[i, j], i) for i in best if low[i, j] <= high[i, j])
        best[j] = min(ways)
    found, stop = list[Piece](), turn.stop
    while stop > turn.start:
        start = best[stop][2]
        found.insert(0, Piece(start, stop, 0 if low[start, stop] <= 0 <= high[start, stop] else turn.way))
        stop = start
    return found


def _line_errors(x: Vector, y: Vector) -> Vector:
    """The squared error of the best line through the points i to j."""
    z, w = (part - part.mean() for part in (x, y))
    sums = np.cumsum(np.pad([np.ones_like(z), z, w, z * z, z * w, w * w], ((0, 0), (1, 0))), axis=1)
    n, sx, sy, sxx, sxy, syy = sums[:, None, 1:] - sums[:, :-1, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        vx, vy, c = sxx - sx**2 / n, syy - sy**2 / n, sxy - sx * sy / n
        return np.asarray(np.maximum(vy - np.where(vx > 0, c**2 / vx, 0.0), 0.0))


def _joined(found: Sequence[Piece], mean: Vector, lower: Vector, upper: Vector) -> list[Piece]:
    """Neighbors of one direction together; level ones only if one level fits into the band of both."""
    done: list[Piece] = []
    for piece in found:
        if done and done[-1].way == piece.way:
            start = done.pop().start
            way, part = piece.way, slice(start, piece.stop + 1)
            if way == 0 and lower[part].max() > upper[part].min():
                way = int(np.sign(mean[piece.stop] - mean[start]))
            piece = Piece(start, piece.stop, way)
        done.append(piece)
    # A level part between a rise and a fall is their extreme.
    turned: list[Piece] = []
    for i, piece in enumerate(done):
        around = [done[k].way for k in (i - 1, i + 1) if 0 <= k < len(done)]
        if piece.way == 0 and len(around) == 2 and around[0] == -around[1]:
            height = mean[piece.start : piece.stop + 1] * around[0]
            turned[-1] = turned[-1]._replace(stop=piece.start + int(height.argmax()))
        else:
            turned.append(piece._replace(start=turned[-1].stop) if turned else piece)
    return turned if len(turned) == len(done) else _joined(turned, mean, lower, upper)


def told(found: Sequence[Piece], mean: Vector, point: Callable[[int], str], write: Callable[[float], str]) -> str:
    """The pieces in words; `point` writes the place of a point of the grid, and `write` a value of the mean."""
    if len(found) == 1 and not found[0].way:
        return "no clear effect"
    if len(found) > _MOST_PARTS:
        ways = [piece.way for piece in found if piece.way]
        turns = sum(a != b for a, b in pairwise(ways))
        low, high = int(mean.argmin()), int(mean.argmax())
        return (
            f"changes direction {plural(turns, 'time')}: lowest at {point(low)} ({write(float(mean[low]))}), "
            f"highest at {point(high)} ({write(float(mean[high]))})"
        )
    said = []
    for i, piece in enumerate(found):
        if piece.way == 0:
            said.append(f"no clear change up to {point(piece.stop)}" if i == 0 else "no clear change")
            continue
        # Its largest change in this direction.
        part = piece.way * mean[piece.start : piece.stop + 1]
        stop = piece.start + int((part - np.minimum.accumulate(part)).argmax())
        begin = float(piece.way * part[: stop - piece.start + 1].min())
        start = f" from {write(begin)}" if i == 0 else ""
        verb = "rises" if piece.way > 0 else "falls"
        place = "" if len(found) == 1 and stop == piece.stop else f" at {point(stop)}"
        said.append(f"{verb}{start} to {write(float(mean[stop]))}{place}")
    return ", then ".join(said)
