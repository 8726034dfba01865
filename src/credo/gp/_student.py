"""Student-t noise, whose outliers have little influence on the function: a bound on the evidence and its maximum.

    y = f(x) + ε,    ε ~ scale·t_df = N(0, scale²/w) with w ~ Gamma(df/2, df/2),    f ~ GP(m, k)

The posterior is approximated by q(f) Π q(wᵢ) (Tipping & Lawrence, 2005). Given the expected squares e = E(y − f)²,
q(wᵢ) is a Gamma distribution and each row a normal observation of variance r = scale²/E w = (df·scale² + e)/(df + 1).
So q(f) is the exact posterior for these variances, and the bound

    F = ln p(y | noise r) + Σ [h(e) + e/2r + ½ ln 2πr]

with h the log density of the noise at a squared deviation. ln p isn't concave in f, so the sites of EP and of
Gaussian variational inference can have negative precisions, and their iterations diverge. Here every r is positive,
each update increases F, and the flat mean and weights are those of a process with known noise. The price is a slightly
lower bound, by Jensen's inequality for h: E h((y − f)²) ≥ h(E(y − f)²), of second order in var f/scale².

At the maximum over e only h depends on scale and df, and only ln p on the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from credo.core.fields import Finite, each
from credo.core.inference.site_updates import AndersonAcceleration
from credo.core.params import Parameter
from credo.distributions.student_t import t_variance
from credo.gp._noise import Found, Noise
from credo.gp._objective import EvidenceObjective, noise_defaults
from credo.gp._observations import Process, TrainingData, median_and_spread
from credo.gp._posterior import FittedNoise
from credo.kernels import Kernel
from credo.likelihoods import StudentT as StudentTLikelihood

Array = NDArray[np.float64]

# Degrees of freedom are above this, so that the noise has a variance.
MIN_DF = 2.0
# A typical excess of the degrees of freedom over that, and the standard deviation of its logarithm.
_FIRST_EXCESS, _EXCESS_WIDTH = 6.0, 1.5
# The largest relative change of a site's variance at convergence; the bound's error is of second order.
_TOLERANCE = 1e-5
# The largest expected square, in units of df·scale²; for rows that weigh less than one observation it may diverge.
_MAX_SQUARE = 1e16


@dataclass(frozen=True, kw_only=True)
class StudentObjective(EvidenceObjective):
    """The bound on the evidence for a kernel, and for scale² (`level`) and degrees of freedom of the noise."""

    level: float = 0.1
    tolerance = 1e-8

    def _noise_parameters(self) -> tuple[Any, list[Array]]:
        excess = np.array([[math.log(_FIRST_EXCESS), _EXCESS_WIDTH]])
        noise = {"level": Parameter(self.level), "excess_df": Parameter(_FIRST_EXCESS)}
        return noise, [noise_defaults(), excess]

    def noise(self, vector: Array) -> StudentTLikelihood:
        """The distribution of the noise at a vector."""
        values = self.tree.unflatten(vector).natural
        return StudentTLikelihood(math.sqrt(values["noise.level"]), MIN_DF + float(values["noise.excess_df"]))

    def found(self, data: TrainingData, theta: Array, thetas: Array) -> Found:
        """The variance of each row's normal site."""
        likelihood = self.noise(theta)
        found = self._maximum(self.kernel_at(theta), likelihood)
        rows, levels = found.process.noise[None], np.array([likelihood.scale**2])
        return Found(FittedStudentT(rows=rows, levels=levels, df=likelihood.df), found.value)

    def at(self, vector: Array) -> tuple[float, Callable[[], Array]]:
        """The bound on ln p(y)."""
        likelihood = self.noise(vector)
        found = self._maximum(self.kernel_at(vector), likelihood)

        def natural() -> Array:
            parts = likelihood.at_squares_by_parameters(found.squares)
            by_noise = [float(self.observations.weight @ part) for part in parts]
            return np.concatenate([found.process.gradient().by_kernel, by_noise])

        return found.value, natural

    def _maximum(self, kernel: Kernel, likelihood: StudentTLikelihood) -> _Bound:
        """The maximum of the bound over the expected squares, by fixed-point iterations with Anderson mixing."""
        n, mixing = self.n_rows, AndersonAcceleration(1.0)
        here = self._bound(
            kernel, likelihood, np.full(n, likelihood.scale**2) if not self.last else self.last["squares"]
        )
        floor = likelihood.df * likelihood.scale**2
        for _ in range(100):
            target = np.minimum(here.process.expected_squares(), _MAX_SQUARE * floor)
            logs = np.log(here.squares + floor)
            step = np.log(target + floor) - logs
            if np.abs(step).max() <= _TOLERANCE:
                break
            mixed = np.exp(np.clip(mixing.step(logs, step), logs - 3.0, logs + 3.0)) - floor
            ahead = self._bound(kernel, likelihood, np.clip(mixed, 0.0, _MAX_SQUARE * floor))
            if ahead.value < here.value:
                # The plain iteration never decreases the bound.
                mixing.restart()
                ahead = self._bound(kernel, likelihood, target)
            here = ahead
        if self.last is not None:
            self.last["squares"] = here.squares
        return here

    def _bound(self, kernel: Kernel, likelihood: StudentTLikelihood, squares: Array) -> _Bound:
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


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedStudentT(FittedNoise):
    """Student-t noise with this many degrees of freedom, whose normal sites are at the rows."""

    df: Annotated[float, Finite, each(lambda df: df > 2, "more than 2")]

    @property
    def mean_variance(self) -> float:
        return float(self.levels[0]) * float(t_variance(self.df))

    def components(self, rows: Array, k: int) -> list[tuple[float, Any]]:
        weights, variances = StudentTLikelihood(math.sqrt(self.levels[k]), self.df).components()
        return list(zip(weights, variances, strict=True))

    def left_out_components(self, process: Process, k: int) -> list[tuple[float, Any]]:
        """A left-out target has Student-t noise, not that of its site."""
        return self.components(process.observations.X, k)

    def entries(self, data: TrainingData) -> list[tuple[str, float]]:
        scale = float(np.sqrt(self.levels[0]) * data.scale[0])
        return [*super().entries(data), ("noise scale", scale), ("noise degrees of freedom", self.df)]


@dataclass(frozen=True)
class StudentT(Noise):
    """Student-t noise with learned scale and degrees of freedom: outliers have little influence on the function.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.gp import GPRegressor, StudentT
    >>> x = np.linspace(0, 6, 40)[:, None]
    >>> y = np.sin(x[:, 0]) + np.where(np.arange(40) == 20, 30.0, 0.0)
    >>> GPRegressor("rbf", noise=StudentT(), random_state=0).fit(x, y).predict([[1.5]]).round(1)
    array([1.])
    """

    name = "student"
    words = "Student-t noise"

    def center_and_scale(self, Y: Array, weight: Array) -> tuple[Array, Array]:
        """Outliers change neither."""
        return median_and_spread(Y, weight)

    def objective(self, data: TrainingData, kernel: Kernel, noise_kernel: Kernel, fixed: bool) -> StudentObjective:
        """The bound; rows of equal inputs have their own sites."""
        return StudentObjective(kernel=kernel, observations=data.observations(kernel, merged=False))

    def evidence_base(self, base: str) -> str:
        return base.replace("mean of y", "median of y").replace("variance of y", "interquartile range of y")
