"""Student-t noise, whose outliers have little influence on the function: a bound on the evidence and its maximum.

    y = f(x) + ε,    ε ~ scale·t_df = N(0, scale²/w) with w ~ Gamma(df/2, df/2),    f ~ GP(m, k)

The posterior is approximated by q(f) Π q(wᵢ) (Tipping & Lawrence, 2005). Given the expected squares e = E(y − f)²,
q(wᵢ) is a Gamma distribution and each row a normal observation of variance r = scale²/E w = (df·scale² + e)/(df + 1).
So q(f) is the exact posterior for these variances, and the bound

    F = ln p(y | noise r) + Σ [h(e) + e/2r + ½ ln 2πr]

with h the log density of the noise at a squared deviation. ln p isn't concave in f, so that the sites of EP and of
Gaussian variational inference can have negative precisions and their iterations diverge. Here every r is positive, each
update increases F, and the flat mean and weights are those of a process with known noise. The price is a slightly lower
bound, by Jensen's inequality for h: E h((y − f)²) ≥ h(E(y − f)²), of second order in var f/scale².

At the maximum over e only h depends on scale and df, and only ln p on the kernel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from credo.core.inference import Representation
from credo.core.inference.site_updates import Mixing
from credo.core.params import Parameter, ParameterTree
from credo.gp._objective import EvidenceObjective, Hyperprior, kernel_defaults, noise_defaults
from credo.gp._observations import Observations, Process
from credo.kernels import Kernel
from credo.likelihoods import StudentT

Array = NDArray[np.float64]

# Degrees of freedom above this, so that the noise has a variance.
MIN_DF = 2.0
# A typical excess of the degrees of freedom over that, and the standard deviation of its logarithm.
_FIRST_EXCESS, _EXCESS_WIDTH = 6.0, 1.5
_MAX_STEPS = 100
# Largest relative change of a site's variance, at convergence; the bound's error is of second order.
_TOLERANCE = 1e-5
# The largest expected square, in units of df·scale²: rows that weigh less than one observation don't limit it.
_LARGEST = 1e16


@dataclass(frozen=True)
class StudentObjective(EvidenceObjective):
    """The bound on the evidence for a function's kernel, and for scale² (`level`) and degrees of freedom of the noise.

    `last` holds the expected squares at which the last evaluation ended, for warm starts; without it each starts from
    scratch.
    """

    kernel: Kernel
    observations: Observations
    level: float = 0.1
    hyperpriors: bool = True
    tolerance: float = 1e-8
    last: dict[str, Array] | None = None

    @cached_property
    def tree(self) -> ParameterTree:
        noise = {"level": Parameter(self.level), "excess_df": Parameter(_FIRST_EXCESS)}
        return ParameterTree({"kernel": self.kernel.tree, "noise": noise})

    @cached_property
    def hyperprior(self) -> Hyperprior:
        own = kernel_defaults(self.kernel, self.observations.X, self.observations.weight)
        excess = np.array([[math.log(_FIRST_EXCESS), _EXCESS_WIDTH]])
        return Hyperprior.of(self.tree, own, noise_defaults(), excess)

    @property
    def n_rows(self) -> int:
        return len(self.observations.Y)

    def subset(self, rows: NDArray[np.intp]) -> StudentObjective:
        return replace(self, observations=self.observations.subset(rows))

    @property
    def rows(self) -> Representation:
        return self.observations.representation

    def adapted(self, vector: Array) -> StudentObjective:
        return replace(self, observations=self.observations.adapted(self.kernel_at(vector)))

    def started(self, vector: Array) -> StudentObjective:
        return replace(self.adapted(vector), last={})

    def noise(self, vector: Array) -> StudentT:
        """The distribution of the noise at a vector."""
        tree = self.tree.unflatten(vector)
        level, excess = tree["noise.level"], tree["noise.excess_df"]
        assert isinstance(level, Parameter) and isinstance(excess, Parameter)
        return StudentT(math.sqrt(float(level.value)), MIN_DF + float(excess.value))

    def noise_at(self, vector: Array) -> tuple[Array, float]:
        """The variance of each row's normal site, and the bound."""
        found = self._maximum(self.kernel_at(vector), self.noise(vector))
        return found.process.noise, found.value

    def evidence(self, vector: Array, *, gradient: bool = True) -> tuple[float, Array]:
        """The bound on ln p(y) of the standardised targets, and its gradient with respect to the vector."""
        likelihood = self.noise(vector)
        found = self._maximum(self.kernel_at(vector), likelihood)
        if not gradient:
            return found.value, np.empty(0)
        weight = self.observations.weight
        by_noise = [float(weight @ part) for part in likelihood.by_parameters(found.squares)]
        natural = np.concatenate([found.process.gradient().by_kernel, by_noise])
        return found.value, natural * self.tree.derivative(vector)

    def _maximum(self, kernel: Kernel, likelihood: StudentT) -> _Bound:
        """The maximum of the bound over the expected squares, by fixed-point iterations with Anderson mixing."""
        n, mixing = self.n_rows, Mixing(1.0)
        here = self._bound(
            kernel, likelihood, np.full(n, likelihood.scale**2) if not self.last else self.last["squares"]
        )
        floor = likelihood.df * likelihood.scale**2
        for _ in range(_MAX_STEPS):
            target = np.minimum(here.process.expected_squares(), _LARGEST * floor)
            logs = np.log(here.squares + floor)
            step = np.log(target + floor) - logs
            if np.abs(step).max() <= _TOLERANCE:
                break
            mixed = np.exp(np.clip(mixing.step(logs, step), logs - 3.0, logs + 3.0)) - floor
            ahead = self._bound(kernel, likelihood, np.clip(mixed, 0.0, _LARGEST * floor))
            if ahead.value < here.value:
                # The plain iteration never decreases the bound.
                mixing.forget()
                ahead = self._bound(kernel, likelihood, target)
            here = ahead
        if self.last is not None:
            self.last["squares"] = here.squares
        return here

    def _bound(self, kernel: Kernel, likelihood: StudentT, squares: Array) -> _Bound:
        noise = likelihood.site_variance(squares)
        process = self.observations.condition(kernel, noise)
        each = likelihood.at_squares(squares) + 0.5 * squares / noise + 0.5 * np.log(2 * math.pi * noise)
        return _Bound(process, process.log_evidence + float(self.observations.weight @ each), squares)


@dataclass(frozen=True)
class _Bound:
    """The process given normal sites, the bound F, and the expected squares that the sites are made from."""

    process: Process
    value: float
    squares: Array
