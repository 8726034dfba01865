"""The bandwidth of a kernel: one factor on all its free length scales, chosen by exact leave-one-out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.deadlines import check
from credo.estimator import Result, positive
from credo.kernel_machines._log_weights import leaves
from credo.kernel_machines._neighbours import Index, Neighbours
from credo.kernel_machines._rows import cross, distances, sample
from credo.kernels import RBF, Kernel, require_kernel
from credo.params import Parameter

Array = NDArray[np.float64]
# The mean loss of predicting the training rows at these places, each without one of its observations.
Loss = Callable[[Kernel, Index], float]

# A first look over the whole range, and a closer one around its best.
_FIRST, _CLOSER = 30, 10
# From where only the nearest row counts to where all rows count alike.
_NARROW, _WIDE = 0.1, 30.0
_SAMPLE = 200
# Pairs of rows that are weighed for each candidate; of larger tables an even sample of rows is left out.
_MAX_PAIRS = 4_000_000


@dataclass(frozen=True)
class Choice:
    """A kernel with its bandwidth, how it was chosen, and the places of the rows that were left out.

    If it was chosen by leaving rows out: the candidates, largest first, and their mean losses.
    """

    kernel: Kernel
    bandwidth: float
    result: Result
    place: Index
    bandwidths: Array | None = None
    losses: Array | None = None


def checked_kernel(kernel: Kernel | None, rows: Array) -> Kernel:
    """The kernel, by default an RBF; it raises its own errors for rows that don't suit it."""
    kernel = RBF() if kernel is None else require_kernel(kernel)
    cross(kernel, rows[:1], rows[:1])
    return kernel


def choose(kernel: Kernel, bandwidth: float | str, neighbours: Neighbours, loss: Loss) -> Choice:
    """The kernel with the given bandwidth, or with the best for leaving observations out one at a time."""
    every = np.arange(len(neighbours.rows))
    if not isinstance(bandwidth, str):
        factor = positive("bandwidth", bandwidth)
        if factor != 1.0 and not _paths(kernel):
            raise ValueError(
                f"bandwidth={bandwidth!r} multiplies length scales, and {kernel!r} has no free one: leave it at 1"
            )
        return Choice(_scaled(kernel, factor), factor, Result(True, 1, "bandwidth fixed"), every)
    if bandwidth != "loo":
        raise ValueError(f'bandwidth must be a number or "loo"; got {bandwidth!r}')
    if not _paths(kernel):
        message = "the kernel has no free length scale and was used as it is"
        return Choice(kernel, 1.0, Result(True, 0, message), every)
    ends = _range(kernel, np.unique(neighbours.rows, axis=0))
    if ends is None or neighbours.alone:
        return Choice(kernel, 1.0, Result(True, 0, "all rows are equal, so the bandwidth has no effect"), every)
    return _best(kernel, ends, sample(every, max(500, _MAX_PAIRS // len(every))), loss, len(every))


def _best(kernel: Kernel, ends: tuple[float, float], place: Index, loss: Loss, n_rows: int) -> Choice:
    """The best of candidates between the ends, refined around the best of a first look."""
    bandwidths = np.geomspace(*ends, _FIRST)
    losses = _losses(kernel, loss, place, bandwidths)
    best = _winner(losses)
    around = float(bandwidths[max(best - 1, 0)]), float(bandwidths[min(best + 1, _FIRST - 1)])
    closer = np.setdiff1d(np.geomspace(*around, _CLOSER + 1), bandwidths)
    losses = np.concatenate([losses, _losses(kernel, loss, place, closer)])
    bandwidths = np.concatenate([bandwidths, closer])
    order = np.argsort(-bandwidths)
    bandwidths, losses = bandwidths[order], losses[order]
    best = _winner(losses)
    of = "" if len(place) == n_rows else f" of {len(place)} of the {n_rows} rows"
    message = f"bandwidth chosen by exact leave-one-out{of}"
    if best == 0:
        message = "the largest bandwidth tried was best: under this kernel the inputs say little about the target"
    elif best == len(bandwidths) - 1:
        message = "the smallest bandwidth tried was best: predictions are those of the nearest rows"
    factor, result = float(bandwidths[best]), Result(True, len(bandwidths), message)
    return Choice(_scaled(kernel, factor), factor, result, place, bandwidths, losses)


def _scaled(kernel: Kernel, factor: float) -> Kernel:
    """The kernel with its free length scales multiplied."""
    return kernel.with_params(**{path.replace(".", "__"): kernel.params[path] * factor for path in _paths(kernel)})


def _paths(kernel: Kernel) -> list[str]:
    """The length scales that may be changed."""
    found = []
    for path in kernel.tree.paths:
        leaf = kernel.tree[path]
        if path.rpartition(".")[2] == "lengthscale" and isinstance(leaf, Parameter) and not leaf.fixed:
            found.append(path)
    return found


def _range(kernel: Kernel, rows: Array) -> tuple[float, float] | None:
    """The largest and smallest bandwidth worth trying, from distances between rows in units of the length scales."""
    nearest, farthest = [], []
    for leaf, coordinates in leaves(kernel, rows):
        if not _paths(leaf):
            continue
        apart = distances(sample(coordinates, _SAMPLE), coordinates)
        to_next = np.where(apart > 0, apart, np.inf).min(axis=1)
        to_next = to_next[np.isfinite(to_next)]
        if len(to_next):
            nearest.append(float(np.median(to_next)))
            farthest.append(float(apart.max()))
    return (_WIDE * max(farthest), _NARROW * min(nearest)) if nearest else None


def _losses(kernel: Kernel, loss: Loss, place: Index, bandwidths: Array) -> Array:
    losses = []
    for h in bandwidths:
        check()
        losses.append(loss(_scaled(kernel, h), place))
    return np.array(losses)


def _winner(losses: Array) -> int:
    """The first, that is the smoothest, of those that are equal up to rounding."""
    return int(np.flatnonzero(losses <= losses.min() * (1.0 + 1e-10))[0])
