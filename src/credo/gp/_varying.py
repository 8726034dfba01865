"""Noise that varies with the inputs: a second Gaussian process on its logarithm, integrated variationally.

    y = f(x) + ε,    ε ~ N(0, e^g(x)),    f ~ GP(m, k),    g ~ GP(g₀, k_g)

The posterior of g at the rows is approximated by the normal distribution N(μ, Σ) that maximises the bound of
Lázaro-Gredilla & Titsias (2011). At its maximum that law has one free number for each row, the precision λ of a
Gaussian site:

    Σ⁻¹ = K_g⁻¹ + Λ,    μ = g₀ + K_g(λ − w/2),    r = exp(μ − diag Σ/2)
    F = ln p(y | noise r) − ¼ Σ wᵢΣᵢᵢ − KL[N(μ, Σ) ‖ N(g₀, K_g)]

with w the number of observations of each row. The gradient by λ is (K_g + ½Σ∘Σ)(s + w/2 − λ), where s = ∂ ln p/∂ ln r:
λ ← s + w/2 is its natural-gradient step, and its fixed point the maximum. There the derivative of F by K_g is that of
an ordinary evidence, ½[(λ − w/2)(λ − w/2)ᵀ − (K_g + Λ⁻¹)⁻¹], and nothing else depends on k_g.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from credo.gp._hyperpriors import Hyperprior, kernel_habits, noise_habits
from credo.gp._marginal import Marginal
from credo.gp._noise_process import EXTREME, NoiseProcess, noise_law
from credo.gp._problem import Setting
from credo.inference import Evidence, SiteGaussian
from credo.kernels import Kernel
from credo.params import Parameter, ParameterTree

Array = NDArray[np.float64]

_MAX_STEPS = 50
# The sites are found when a step would move them by less than this share of themselves.
_SETTLED = 1e-6


@dataclass(frozen=True)
class _Bound:
    """F and what it was made of, at one vector of site precisions."""

    law: SiteGaussian
    value: float
    noise: Array
    evidence: Evidence

    @property
    def precision(self) -> Array:
        return self.law.precision

    @property
    def target(self) -> Array:
        """s + w/2, without w/2."""
        return self.evidence.by_noise * self.noise


@dataclass(frozen=True)
class VaryingNoise:
    """Standardised data, the function's kernel, and the kernel of the log noise with its level.

    `trail` remembers the sites at which the last evaluation of a climb ended; without one each begins from nothing.
    """

    kernel: Kernel
    marginal: Marginal
    noise_kernel: Kernel
    level: float = 0.1
    hyperpriors: bool = True
    tolerance: float = 1e-8
    trail: dict[str, Array] | None = None

    @cached_property
    def tree(self) -> ParameterTree:
        """Both kernels' parameters and the level of the noise, by name."""
        noise = {"level": Parameter(self.level), "kernel": self.noise_kernel.tree}
        return ParameterTree({"kernel": self.kernel.tree, "noise": noise})

    @cached_property
    def hyperprior(self) -> Hyperprior:
        """Around data-driven values."""
        own, noise_own = (
            kernel_habits(kernel, self.marginal.X, self.marginal.weight) for kernel in (self.kernel, self.noise_kernel)
        )
        return Hyperprior.of(self.tree, own, noise_habits(), noise_own)

    @property
    def n_rows(self) -> int:
        """The size of the matrices that an evaluation factors."""
        return len(self.marginal.X)

    def subset(self, rows: NDArray[np.intp]) -> VaryingNoise:
        """The same problem on some of the rows."""
        return replace(self, marginal=self.marginal.subset(rows))

    def fresh(self) -> VaryingNoise:
        """The same for one climb: an evaluation begins with the sites of the last."""
        return replace(self, trail={})

    def at(self, vector: Array) -> Setting:
        """Kernel, noise, its law and the bound at a vector."""
        kernel, noise_kernel, log_level = self._pieces(vector)
        sites = self._sites(kernel, noise_kernel, log_level)
        pull = sites.precision - 0.5 * self.marginal.count
        law = NoiseProcess(noise_kernel, log_level, self.marginal.X, pull, sites.precision)
        return Setting(kernel, sites.noise, sites.value, law)

    def evidence(self, vector: Array, *, gradient: bool = True) -> tuple[float, Array]:
        """The bound on ln p(y) of the standardised targets, and its gradient with respect to the vector."""
        kernel, noise_kernel, log_level = self._pieces(vector)
        sites = self._sites(kernel, noise_kernel, log_level)
        if not gradient:
            return sites.value, np.empty(0)
        pull = sites.precision - 0.5 * self.marginal.count
        X = self.marginal.X
        by_level = pull.sum() / math.exp(log_level)
        by_noise_kernel = noise_kernel.pullback(X, sites.law.kernel_weights(), triangle=True)
        by_kernel = sites.evidence.by_kernel
        natural = np.concatenate([by_kernel, [by_level], by_noise_kernel])
        return sites.value, natural * self.tree.derivative(vector)

    def _pieces(self, vector: Array) -> tuple[Kernel, Kernel, float]:
        tree = self.tree.unflatten(vector)
        own, noise_own, level = tree["kernel"], tree["noise.kernel"], tree["noise.level"]
        assert isinstance(own, ParameterTree) and isinstance(noise_own, ParameterTree) and isinstance(level, Parameter)
        return self.kernel.with_tree(own), self.noise_kernel.with_tree(noise_own), math.log(float(level.value))

    def _sites(self, kernel: Kernel, noise_kernel: Kernel, log_level: float) -> _Bound:
        """The maximum of the bound over the sites, by steps that are halved until they climb.

        Where noise dominates, s falls by Λ K_g for a step in λ, which would make the fixed-point iteration overshoot;
        (I + ΛK_g)⁻¹(s + w/2 − λ) is Newton's step for it.
        """
        K = noise_kernel.gram(self.marginal.X)
        half_count = 0.5 * self.marginal.count
        here = self._bound(kernel, K, log_level, half_count)
        if self.trail:
            there = self._bound(kernel, K, log_level, self.trail["precision"])
            here = there if there.value > here.value else here
        step = 1.0
        for _ in range(_MAX_STEPS):
            gap = here.target + half_count - here.precision
            if np.abs(gap).max() <= _SETTLED * (1.0 + here.precision.max()):
                break
            root = here.law.root
            move = root * here.law.factor.solve(gap / root)
            ahead = self._bound(kernel, K, log_level, np.maximum(here.precision + step * move, 1e-12))
            if ahead.value >= here.value - 1e-9 * abs(here.value):
                here, step = ahead, min(1.0, 1.5 * step)
            elif step < 1e-6:
                break
            else:
                step *= 0.5
        if self.trail is not None:
            self.trail["precision"] = here.precision
        return here

    def _bound(self, kernel: Kernel, K: Array, log_level: float, precision: Array) -> _Bound:
        count = self.marginal.count
        law = noise_law(K, precision - 0.5 * count, precision)
        noise = np.exp(np.clip(log_level + law.mean - 0.5 * law.variance, -EXTREME, EXTREME))
        found = self.marginal.evidence(kernel, noise)
        return _Bound(law, found.value - 0.25 * float(count @ law.variance) - law.divergence, noise, found)
