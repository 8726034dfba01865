"""Data-driven starting points for hyperparameters, and weak priors around them.

A prior is a normal distribution of the natural logarithm: wide enough that the evidence dominates, narrow enough to
exclude zero noise and infinite length scales.
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

    `own` marks the entries whose parameter has a prior in the tree, which replaces this one.
    """

    center: Array
    width: Array
    own: NDArray[np.bool_]

    @classmethod
    def of(cls, tree: ParameterTree, *defaults: Array) -> Hyperprior:
        """Around the default of each entry; entries without one start at the tree's value.

        `defaults` are the mean and standard deviation of the logarithm of every free entry, one array for each part of
        the tree.
        """
        center, width = np.concatenate(defaults).T
        leaves = [_parameter(tree, name) for name in tree.names]
        own = np.array([leaf.prior is not None for leaf in leaves], dtype=bool)
        center = np.where(np.isnan(center), tree.flatten(), center)
        width = np.where(own, np.inf, width)
        for i, leaf in enumerate(leaves):
            if np.isfinite(width[i]) and not isinstance(leaf.bijector, Positive):
                # Bounds replace the prior, and a default outside of them the start.
                value = math.exp(center[i])
                inside = bool(leaf.bijector.contains(value))
                center[i] = float(leaf.bijector.inverse(value)) if inside else tree.flatten()[i]
                width[i] = np.inf
        return cls(center, width, own)

    @cached_property
    def proper(self) -> Hyperprior:
        """With a finite width for every entry, as a sampler needs it."""
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


def kernel_defaults(kernel: Kernel, X: Array, weight: Array) -> Array:
    """Typical values of a kernel's free parameters on this table."""
    spread = weighted_std(X, weight)
    return kernel.default_priors(np.where(spread > 0, spread, 1.0))


def noise_defaults(n_entries: int = 1) -> Array:
    """A typical noise variance of standardised targets."""
    return np.tile([math.log(_FIRST_NOISE), _NOISE_WIDTH], (n_entries, 1))
