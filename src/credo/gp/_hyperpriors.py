"""Data-driven starts for hyperparameters, and weak priors that keep a search out of the known traps.

In natural logs, as the centre and width of a normal distribution around data-driven values: wide enough that the
evidence dominates, narrow enough to exclude zero noise and infinite length scales.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from credo.gp._data import weighted_std
from credo.kernels import Kernel
from credo.params import Parameter, ParameterTree, Positive

Array = NDArray[np.float64]

_FIRST_NOISE, _NOISE_WIDTH = 0.05, 3.0


@dataclass(frozen=True)
class Hyperprior:
    """N(center, width²) for each entry of the flat vector; an infinite width is no prior.

    Entries whose parameter has a prior of its own, in the tree, are left to that one: `own` says which.
    """

    center: Array
    width: Array
    own: NDArray[np.bool_]

    @classmethod
    def of(cls, tree: ParameterTree, *habits: Array) -> Hyperprior:
        """Around what is expected of each entry; entries of which nothing is known begin where the tree has them.

        `habits` are the logarithm and the width of every free entry, one part of the tree after the other.
        """
        center, width = np.concatenate(habits).T
        leaves = [_parameter(tree, name) for name in tree.names]
        own = np.array([leaf.prior is not None for leaf in leaves], dtype=bool)
        center = np.where(np.isnan(center), tree.flatten(), center)
        width = np.where(own, np.inf, width)
        for i, leaf in enumerate(leaves):
            if np.isfinite(width[i]) and not isinstance(leaf.bijector, Positive):
                # Bounds say what a prior would; a start beyond them is none.
                value = math.exp(center[i])
                inside = bool(leaf.bijector.contains(value))
                center[i] = float(leaf.bijector.inverse(value)) if inside else tree.flatten()[i]
                width[i] = np.inf
        return cls(center, width, own)

    @cached_property
    def proper(self) -> Hyperprior:
        """With a width for every entry, as a sampler needs it: a parameter without one stays near its start."""
        filled = np.where(np.isfinite(self.width) | self.own, self.width, _NOISE_WIDTH)
        return Hyperprior(self.center, filled, self.own)

    def log_density(self, vector: Array) -> tuple[float, Array]:
        """Up to a constant, with its gradient."""
        score = (vector - self.center) / self.width
        return -0.5 * float(score @ score), -score / self.width


def _parameter(tree: ParameterTree, name: str) -> Parameter:
    found = tree[name.split("[")[0]]
    assert isinstance(found, Parameter)
    return found


def kernel_habits(kernel: Kernel, X: Array, weight: Array) -> Array:
    """What a kernel's free parameters are expected to be on this table."""
    spread = weighted_std(X, weight)
    return kernel.default_priors(np.where(spread > 0, spread, 1.0))


def noise_habits(n_entries: int = 1) -> Array:
    """What a noise variance is expected to be beside a variance of one."""
    return np.tile([math.log(_FIRST_NOISE), _NOISE_WIDTH], (n_entries, 1))
