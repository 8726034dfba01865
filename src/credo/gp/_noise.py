"""The noise of a process: what `noise=` stands for.

A `Noise` makes the objective that a fit maximises, finds the noise at the hyperparameters that were found, and says how
new observations scatter. `Gaussian` is here; `StudentT`, `Poisson` and `Heteroscedastic`, which have a lower bound in
place of the evidence, are in the modules of their equations.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from credo.core.estimator import check_positive, check_shapes, nonnegative
from credo.core.inference import REPRESENTATIONS
from credo.gp._data import TrainingData, center_and_scale, rounding_variance
from credo.gp._objective import EvidenceObjective, GaussianObjective
from credo.gp._observations import Observations, Process, TrainingRows
from credo.gp._predictor import Predictor
from credo.kernels import Kernel

Array = NDArray[np.float64]

# Rows of the subset on which the starts of a search are tried. An evaluation of a bound costs several of the evidence.
SUBSET, BOUND_SUBSET = 400, 250


@dataclass(frozen=True, eq=False)
class FittedNoise:
    """The noise at the training rows, in the units of standardised targets.

    Parameters
    ----------
    rows : the variance of one observation at each training row, or of the normal site that stands for it.
    levels : the average variance for each set of hyperparameters; of Student-t noise the squared scale.
    df : degrees of freedom, infinite unless the noise is Student-t.
    process : the process of the log variance, for noise that varies.
    targets : normal observations of the log rate, in place of counts.
    additional : learned variance beside a known one.
    """

    rows: Array
    levels: Array
    df: float = math.inf
    process: Any = None
    targets: Array | None = None
    additional: float | None = None

    def _check_state(self) -> None:
        check_shapes(self, rows="n", levels="k", targets="n?")
        check_positive(self, "rows", "levels", zero=True)
        if not self.df > 2.0:
            raise ValueError(f"df must be more than 2; it is {self.df}")


@dataclass(frozen=True)
class Found:
    """The noise that a fit found; a lower bound in place of the evidence, if there is one; and what went wrong."""

    noise: FittedNoise
    bound: float | None = None
    failure: str = ""


class Noise(ABC):
    """How observations scatter about the process."""

    name: ClassVar[str]
    # The class of predictions.
    predictor: ClassVar[type[Predictor]] = Predictor
    # Whether a lower bound takes the place of the evidence, and y is a count, whose log rate is the process.
    is_variational: ClassVar[bool] = True
    counts: ClassVar[bool] = False
    several_targets: ClassVar[bool] = False
    methods: ClassVar[tuple[str, ...]] = ("exact", "state_space", "inducing")
    title: ClassVar[str] = "Gaussian process"

    @property
    def known(self) -> float | Array | None:
        """The variance in the units of y², or one for each row, where it is given."""
        return None

    @property
    def is_learned(self) -> bool:
        """Whether a fit learns anything about the noise."""
        return True

    def require_targets(self, y: Array, *, mean: str) -> None:  # noqa: B027
        """Raise an error for targets that can't have this noise."""

    def center_and_scale(self, Y: Array, weight: Array) -> tuple[Array, Array]:
        """By which y is standardised, for each column."""
        return center_and_scale(Y, weight)

    def n_subset(self, n_rows: int, few: int) -> int:
        """Rows of the subset on which a search starts; all of them are used up to `few`."""
        return BOUND_SUBSET if self.is_variational and n_rows > few else SUBSET

    @abstractmethod
    def objective(self, rows: TrainingRows, kernel: Kernel) -> EvidenceObjective:
        """What a fit maximises."""

    @abstractmethod
    def found(self, objective: Any, data: TrainingData, theta: Array, thetas: Array) -> Found:
        """The noise at the hyperparameters: the most probable ones, and all that predictions average over."""

    def components(self, noise: FittedNoise, rows: Array, k: int) -> list[tuple[float, Any]]:
        """Weights and variances of normal components of a new observation's noise, for set k of hyperparameters."""
        return [(1.0, float(noise.levels[k]))]

    def left_out_components(self, noise: FittedNoise, process: Process, k: int) -> list[tuple[float, Any]]:
        """The same for training targets that are left out."""
        return [(1.0, process.noise)]

    def observations(self, rows: Observations, noise: FittedNoise) -> Observations:
        """What the process is conditioned on."""
        return rows

    def mean_variance(self, noise: FittedNoise) -> float:
        """The average variance of an observation."""
        return float(noise.levels[0])

    def entries(self, noise: FittedNoise, data: TrainingData) -> list[tuple[str, float]]:
        """The noise in a summary, in the units of y."""
        return _by_target("noise variance", self.mean_variance(noise), data)

    def evidence_base(self, base: str) -> str:
        """What the evidence conditions on, in words that suit this noise."""
        return base


def _by_target(name: str, variance: float, data: TrainingData) -> list[tuple[str, float]]:
    every = variance * data.scale**2
    return [(name if data.is_single else f"{name} of y{j}", float(each)) for j, each in enumerate(every)]


@dataclass(frozen=True, eq=False)
class Gaussian(Noise):
    """Normal noise of one variance.

    Parameters
    ----------
    variance : "learn", float or array of shape (n_samples,), default "learn"
        The variance of an observation in the units of y²: learned, known, or known for each row.
    additional : bool, default False
        Add a learned variance to a known one: for error bars, ``Gaussian(yerr**2, additional=True)``, that may be too
        small (a "jitter").

    Examples
    --------
    >>> from credo.gp import Gaussian, GPRegressor
    >>> model = GPRegressor("rbf", noise=Gaussian(0.01)).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 0.8, 0.9, 0.1])
    >>> round(model.noise_variance_, 4)
    0.01
    """

    variance: Any = "learn"
    additional: bool = False

    name = "learn"
    is_variational = False
    several_targets = True

    def __post_init__(self) -> None:
        if isinstance(self.variance, str):
            if self.variance != "learn":
                raise ValueError(f'noise must be "learn", a variance, or one for each row; got {self.variance!r}')
            if self.additional:
                raise ValueError("additional=True adds a learned variance to a known noise variance, which is missing")
        elif np.ndim(self.variance) == 0:
            nonnegative("noise", self.variance)
        else:
            values = np.asarray(self.variance, dtype=np.float64)
            if values.ndim != 1 or not np.isfinite(values).all() or (values < 0).any():
                raise ValueError("noise must hold a finite variance that isn't negative for each row")

    @property
    def known(self) -> float | Array | None:
        if isinstance(self.variance, str):
            return None
        return np.asarray(self.variance, dtype=np.float64) if np.ndim(self.variance) else float(self.variance)

    @property
    def is_learned(self) -> bool:
        return self.known is None or self.additional

    @property
    def methods(self) -> tuple[str, ...]:  # type: ignore[override]
        """Without noise, an approximate method has no evidence."""
        return tuple(REPRESENTATIONS) if self.is_learned or np.all(self.known) else ("exact", "state_space")

    def objective(self, rows: TrainingRows, kernel: Kernel) -> GaussianObjective:
        """The evidence for one noise variance, known ones, or the sum of both."""
        data, known = rows.data, self.known
        variance, n = float(data.scale[0]) ** 2, len(data.merged.Y)
        constant = known / variance if isinstance(known, float) else 0.0
        if data.row_noise is not None:
            extra = data.row_noise / variance
        elif self.additional:
            extra = np.full(n, constant)
        else:
            # Exact copies of rows would drive the noise to zero; rounding of y sets a lower limit.
            repeated = known is None and not rows.is_fixed and bool((data.weight > 1).any())
            extra = np.full(n, rounding_variance(data.standardized) if repeated else 0.0)
        return GaussianObjective(
            kernel=kernel,
            observations=rows.observations(kernel),
            noise=0.1 if self.is_learned else constant,
            learns_noise=self.is_learned,
            extra=extra,
            hyperpriors=rows.hyperpriors,
        )

    def found(self, objective: Any, data: TrainingData, theta: Array, thetas: Array) -> Found:
        count = objective.observations.count
        levels = [float(np.average(objective.noise_at(each), weights=count)) for each in thetas]
        sites, additional = objective.noise_at(theta), objective.learned_noise(theta) if self.additional else None
        return Found(FittedNoise(sites[data.merged.index], np.array(levels), additional=additional))

    def entries(self, noise: FittedNoise, data: TrainingData) -> list[tuple[str, float]]:
        lines = super().entries(noise, data)
        if noise.additional is None:
            return lines
        return lines + _by_target("additional noise variance", noise.additional, data)
