"""Data-driven starts for hyperparameters, and weak priors that keep a search out of the known traps.

In natural logs, as the centre and width of a normal law around data-driven values: wide enough to leave the evidence
its say, narrow enough to close the ways to noise zero and to infinite length scales.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from credo.gp._data import weighted_std
from credo.params import Parameter, ParameterTree

Array = NDArray[np.float64]

_WIDTHS = {"lengthscale": 2.0, "noise": 3.0, "variance": 3.0}
_FIRST_NOISE = 0.05


@dataclass(frozen=True)
class Hyperprior:
    """N(center, width²) for each entry of the flat vector; an infinite width is no prior.

    Entries whose parameter has a prior of its own, in the tree, are left to that one: `own` says which.
    """

    center: Array
    width: Array
    own: NDArray[np.bool_]

    @classmethod
    def of(cls, tree: ParameterTree, X: Array, weight: Array) -> "Hyperprior":
        """Length scales ∝ spread·√D, unit variances, a little noise; other parameters as the tree has them."""
        spread = weighted_std(X, weight)
        spread = np.where(spread > 0, spread, 1.0) * math.sqrt(X.shape[1])
        center, width = tree.flatten(), np.full(len(tree.names), np.inf)
        own = np.array([_parameter(tree, name).prior is not None for name in tree.names], dtype=bool)
        for i, (name, kind) in enumerate(zip(tree.names, _kinds(tree), strict=True)):
            if kind not in _WIDTHS:
                continue
            width[i] = np.inf if own[i] else _WIDTHS[kind]
            if kind == "lengthscale":
                entry = int(name.split("[")[1][:-1]) if "[" in name else None
                scale = spread[entry] if entry is not None and entry < len(spread) else spread.mean()
                center[i] = math.log(scale)
            else:
                center[i] = math.log(_FIRST_NOISE) if kind == "noise" else 0.0
        return cls(center, width, own)

    @cached_property
    def proper(self) -> "Hyperprior":
        """With a width for every entry, as a sampler needs it: a parameter without one stays near its start."""
        filled = np.where(np.isfinite(self.width) | self.own, self.width, max(_WIDTHS.values()))
        return Hyperprior(self.center, filled, self.own)

    def log_density(self, vector: Array) -> tuple[float, Array]:
        """Up to a constant, with its gradient."""
        score = (vector - self.center) / self.width
        return -0.5 * float(score @ score), -score / self.width


def _parameter(tree: ParameterTree, name: str) -> Parameter:
    found = tree[name.split("[")[0]]
    assert isinstance(found, Parameter)
    return found


def _kinds(tree: ParameterTree) -> list[str]:
    """What each entry of the vector is: the last part of its name, for stationary kernels and the noise."""
    kinds = []
    for name in tree.names:
        path = name.split("[")[0]
        owner, _, kind = path.rpartition(".")
        periodic = any(other.startswith(f"{owner}.period") for other in tree.paths)
        linear = f"{owner}.lengthscale" not in tree.paths and kind == "variance"
        kind = "noise" if path == "noise.level" else kind
        kinds.append("other" if (periodic and kind == "lengthscale") or linear else kind)
    return kinds
