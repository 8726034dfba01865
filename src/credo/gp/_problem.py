"""The evidence of a Gaussian process as a function of one flat vector, with data-driven starts and hyperpriors."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from credo.inference import log_evidence
from credo.kernels import Kernel
from credo.linalg import NotPositiveDefiniteError, Workspace
from credo.params import Parameter, ParameterTree

Array = NDArray[np.float64]

# Hyperpriors in natural logs, as (centre, width) of a normal law around data-driven values: wide enough to leave the
# evidence its say, narrow enough to close the ways to noise zero and to infinite length scales.
_WIDTHS = {"lengthscale": 2.0, "noise": 3.0, "variance": 3.0}
_FIRST_NOISE = 0.05


@dataclass(frozen=True)
class Problem:
    """Standardised data, kernel and noise: what the evidence depends on.

    `noise` is the variance of an observation, learned where `learns_noise`; `extra` are known variances that are added
    to it, one for each row; `weight` counts each row.
    """

    kernel: Kernel
    X: Array
    Y: Array
    basis: Array
    noise: float
    learns_noise: bool
    extra: Array
    weight: Array
    hyperpriors: bool = True

    @cached_property
    def tree(self) -> ParameterTree:
        """The kernel's parameters and the noise, by name."""
        noise = Parameter(max(self.noise, 1e-12), fixed=not self.learns_noise)
        return ParameterTree({"kernel": self.kernel.tree, "noise": noise})

    def subset(self, rows: NDArray[np.intp]) -> "Problem":
        """The same problem on some of the rows."""
        picked = {name: getattr(self, name)[rows] for name in ("X", "Y", "basis", "extra", "weight")}
        return replace(self, **picked)

    @cached_property
    def workspace(self) -> Workspace:
        """Memory for the one matrix that every evaluation needs."""
        return Workspace(len(self.X))

    def at(self, vector: Array) -> tuple[Kernel, float]:
        """Kernel and noise variance at a flat vector."""
        tree = self.tree.unflatten(vector)
        kernel_tree, noise = tree["kernel"], tree["noise"]
        assert isinstance(kernel_tree, ParameterTree) and isinstance(noise, Parameter)
        return self.kernel._with_tree(kernel_tree), float(noise.value) if self.learns_noise else self.noise

    def evidence(self, vector: Array, *, gradient: bool = True) -> tuple[float, Array]:
        """ln p(y) of the standardised targets, and its gradient with respect to the vector."""
        kernel, noise = self.at(vector)
        found = log_evidence(
            kernel,
            self.X,
            self.Y,
            noise=noise / self.weight + self.extra,
            basis=self.basis,
            workspace=self.workspace,
            gradient=gradient,
        )
        copies, by_copies = _copies(self.weight, noise + self.extra * self.weight)
        if not gradient:
            return found.value + copies, np.empty(0)
        natural = found.by_kernel[self.kernel._free()]
        if self.learns_noise:
            natural = np.append(natural, float((found.by_noise / self.weight).sum()) + by_copies)
        return found.value + copies, natural * self.tree.derivative(vector)

    def objective(self, vector: Array) -> tuple[float, Array]:
        """Log evidence plus log hyperprior; −∞ where the matrix can't be factored."""
        try:
            value, gradient = self.evidence(vector)
        except NotPositiveDefiniteError:
            return -math.inf, np.zeros_like(vector)
        own, own_slope = self.tree.log_prior(vector)
        if self.hyperpriors:
            center, width = self._hyperprior
            score = (vector - center) / width
            own, own_slope = own - 0.5 * float(score @ score), own_slope - score / width
        return value + own, gradient + own_slope

    def first_start(self) -> Array:
        """Length scales ∝ spread·√D, unit variances, a little noise; other parameters as the kernel has them."""
        start, _ = self._hyperprior
        given = self.tree.flatten()
        kinds = self._kinds()
        moved = np.array([kind in _WIDTHS for kind in kinds], dtype=bool)
        return np.where(moved, start, given)

    @cached_property
    def _hyperprior(self) -> tuple[Array, Array]:
        """Centre and width of each entry's prior on the flat scale; entries of other kinds have none."""
        spread = weighted_std(self.X, self.weight)
        spread = np.where(spread > 0, spread, 1.0) * math.sqrt(self.X.shape[1])
        center, width = self.tree.flatten(), np.full(len(self.tree.names), np.inf)
        for i, (name, kind) in enumerate(zip(self.tree.names, self._kinds(), strict=True)):
            if kind not in _WIDTHS:
                continue
            width[i] = _WIDTHS[kind]
            if kind == "lengthscale":
                entry = int(name.split("[")[1][:-1]) if "[" in name else None
                scale = spread[entry] if entry is not None and entry < len(spread) else spread.mean()
                center[i] = math.log(scale)
            else:
                center[i] = math.log(_FIRST_NOISE) if kind == "noise" else 0.0
        return center, width

    def _kinds(self) -> list[str]:
        """What each entry of the vector is: the last part of its name, for stationary kernels and the noise."""
        kinds = []
        for name in self.tree.names:
            path = name.split("[")[0]
            owner, _, kind = path.rpartition(".")
            periodic = any(other.startswith(f"{owner}.period") for other in self.tree.paths)
            linear = f"{owner}.lengthscale" not in self.tree.paths and kind == "variance"
            kinds.append("other" if (periodic and kind == "lengthscale") or linear else kind)
        return kinds


def weighted_std(X: Array, weight: Array) -> Array:
    """Standard deviation of each column, a weight of k standing for k rows."""
    mean = np.average(X, axis=0, weights=weight)
    return np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))


def _copies(weight: Array, noise: Array) -> tuple[float, float]:
    """What k equal observations at one row add beside one of variance σ²/k: −½(k−1) ln 2πσ² − ½ ln k, and its slope."""
    if (weight == 1.0).all():
        return 0.0, 0.0
    value = -0.5 * float(((weight - 1.0) * np.log(2 * math.pi * noise) + np.log(weight)).sum())
    return value, -0.5 * float(((weight - 1.0) / noise).sum())
