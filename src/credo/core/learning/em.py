"""EM from several starts, the starts of k-means++, and the number of components by BIC."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from credo.core.deadlines import check

Array = NDArray[np.float64]


class Iterate(Protocol):
    """The state of EM: what the next iteration needs, and the objective."""

    @property
    def value(self) -> float: ...


State = TypeVar("State", bound=Iterate)
Candidate = TypeVar("Candidate")


@dataclass(frozen=True)
class Ascent(Generic[State]):
    """Where EM ended, and the objective after every iteration, which never decreases."""

    end: State
    values: tuple[float, ...]
    converged: bool = False

    def continued(self, step: Callable[[State], State], *, max_iter: int, goal: float) -> Ascent[State]:
        """Iterate until a step adds at most `goal` to the objective; a step that lowers it isn't taken."""
        path = self
        for _ in range(max_iter):
            check()
            new, last = step(path.end), path.values[-1]
            if new.value < last - 1e-9 * abs(last):
                return Ascent(path.end, path.values, True)
            path = Ascent(new, (*path.values, max(new.value, last)), new.value - last <= goal)
            if path.converged:
                break
        return path


def best_ascent(
    starts: Iterable[State],
    step: Callable[[State], State],
    *,
    max_iter: int,
    goal: float,
    n_short: int,
    n_continued: int = 1,
) -> Ascent[State]:
    """The best of several starts: each gets `n_short` iterations, and the best few are continued."""
    short = min(n_short, max_iter)
    paths = [Ascent(start, (start.value,)).continued(step, max_iter=short, goal=goal) for start in starts]
    paths.sort(key=lambda path: -path.values[-1])
    ends = [
        path if path.converged else path.continued(step, max_iter=max_iter - short, goal=goal)
        for path in paths[:n_continued]
    ]
    return max(ends, key=lambda path: path.values[-1])


def distant_rows(X: Array, weight: Array, n: int, rng: np.random.Generator) -> Array:
    """n rows, each drawn in proportion to its squared distance from those before it (Arthur & Vassilvitskii 2007)."""
    chosen = [int(rng.choice(len(X), p=weight / weight.sum()))]
    gap = squared_distances(X, X[chosen])[:, 0]
    while len(chosen) < n:
        share = weight * gap if (weight * gap).sum() > 0 else weight
        chosen.append(int(rng.choice(len(X), p=share / share.sum())))
        gap = np.minimum(gap, squared_distances(X, X[chosen[-1:]])[:, 0])
    return X[chosen]


def squared_distances(X: Array, centers: Array) -> Array:
    """Squared distances of rows and centers, (n, k)."""
    return np.stack([np.square(X - center).sum(axis=1) for center in centers], axis=1)


def smallest_bic(candidates: Iterable[tuple[Candidate, float]]) -> tuple[Candidate, list[float]]:
    """The candidate with the smallest BIC among growing models, and the BIC of all that were tried."""
    best, bics, worse = None, [], 0
    for candidate, bic in candidates:
        bics.append(bic)
        best, worse = (candidate, 0) if bic <= min(bics) else (best, worse + 1)
        if worse == 2:
            break
    assert best is not None
    return best, bics
