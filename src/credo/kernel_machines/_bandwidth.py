"""The bandwidth of a kernel: one factor on all its free length scales, chosen by exact leave-one-out."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.kernel_machines._log_weights import leaves
from credo.kernel_machines._neighbours import Index, Neighbours
from credo.kernel_machines._rows import distances, distinct, sample
from credo.kernels import Kernel
from credo.params import Parameter

Array = NDArray[np.float64]

# A first look over the whole range, and a closer one around its best.
_FIRST, _CLOSER = 30, 10
# From where only the nearest row counts to where all rows count alike.
_NARROW, _WIDE = 0.1, 30.0
_SAMPLE = 200
# Pairs of rows that are weighed for each candidate; of larger tables an even sample of rows is left out.
_MAX_PAIRS = 4_000_000


@dataclass(frozen=True)
class Choice:
    """Candidates, largest first, their mean squared leave-one-out errors, and which of them won."""

    bandwidths: Array
    errors: Array
    best: int
    n_left_out: int


def has_bandwidth(kernel: Kernel) -> bool:
    """Whether there is a length scale to multiply."""
    return bool(_paths(kernel))


def scaled(kernel: Kernel, factor: float) -> Kernel:
    """The kernel with its free length scales multiplied."""
    return kernel.with_params(**{path.replace(".", "__"): kernel.params[path] * factor for path in _paths(kernel)})


def choose(kernel: Kernel, neighbours: Neighbours) -> Choice | None:
    """The best bandwidth for leaving observations out one at a time; None where rows don't differ."""
    ends = _range(kernel, distinct(neighbours.rows))
    if ends is None or neighbours.alone:
        return None
    n_rows = len(neighbours.rows)
    place = sample(np.arange(n_rows), max(500, _MAX_PAIRS // n_rows))
    bandwidths = np.geomspace(*ends, _FIRST)
    errors = _errors(kernel, neighbours, place, bandwidths)
    best = _winner(errors)
    around = float(bandwidths[max(best - 1, 0)]), float(bandwidths[min(best + 1, _FIRST - 1)])
    closer = np.setdiff1d(np.geomspace(*around, _CLOSER + 1), bandwidths)
    errors = np.concatenate([errors, _errors(kernel, neighbours, place, closer)])
    bandwidths = np.concatenate([bandwidths, closer])
    order = np.argsort(-bandwidths)
    return Choice(bandwidths[order], errors[order], _winner(errors[order]), len(place))


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


def _errors(kernel: Kernel, neighbours: Neighbours, place: Index, bandwidths: Array) -> Array:
    weight = neighbours.weight[place]
    errors = [neighbours.left_out(scaled(kernel, h), place)[0] for h in bandwidths]
    return np.array([np.average(error**2, weights=weight) for error in errors])


def _winner(errors: Array) -> int:
    """The first, that is the smoothest, of those that are equal up to rounding."""
    return int(np.flatnonzero(errors <= errors.min() * (1.0 + 1e-10))[0])
