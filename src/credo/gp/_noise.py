"""The noise of a process: what `noise=` stands for.

A `Noise` makes the objective that a fit maximises, and finds the noise at the hyperparameters that were found: a
`FittedNoise`, which says how new observations scatter. `Gaussian` is here; `StudentT`, `Poisson` and
`Heteroscedastic`, which have a lower bound in place of the evidence, are in the modules of their equations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from credo.core.estimator import nonnegative
from credo.core.inference import REPRESENTATIONS
from credo.gp._data import center_and_scale, rounding_variance
from credo.gp._objective import EvidenceObjective, GaussianObjective
from credo.gp._observations import TrainingData
from credo.gp._posterior import FittedNoise, Posterior
from credo.kernels import Kernel

Array = NDArray[np.float64]

# Rows of the subset on which the starts of a search are tried. An evaluation of a bound costs several of the evidence.
SUBSET, BOUND_SUBSET = 400, 250


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
    posterior: ClassVar[type[Posterior]] = Posterior
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
    def objective(
        self, data: TrainingData, kernel: Kernel, *, noise_kernel: Kernel, hyperpriors: bool = True, fixed: bool = False
    ) -> EvidenceObjective:
        """What a fit maximises; `noise_kernel` is for noise that varies, and `fixed` says that nothing is learned."""

    @abstractmethod
    def found(self, objective: Any, data: TrainingData, theta: Array, thetas: Array) -> Found:
        """The noise at the hyperparameters: the most probable ones, and all that predictions average over."""

    def evidence_base(self, base: str) -> str:
        """What the evidence conditions on, in words that suit this noise."""
        return base


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

    def objective(
        self, data: TrainingData, kernel: Kernel, *, noise_kernel: Kernel, hyperpriors: bool = True, fixed: bool = False
    ) -> GaussianObjective:
        """The evidence for one noise variance, known ones, or the sum of both."""
        known, variance, n = self.known, float(data.scale[0]) ** 2, len(data.merged.Y)
        constant = known / variance if isinstance(known, float) else 0.0
        if data.row_noise is not None:
            extra = data.row_noise / variance
        elif self.additional:
            extra = np.full(n, constant)
        else:
            # Exact copies of rows would drive the noise to zero; rounding of y sets a lower limit.
            repeated = known is None and not fixed and bool((data.weight > 1).any())
            extra = np.full(n, rounding_variance(data.standardized) if repeated else 0.0)
        return GaussianObjective(
            kernel=kernel,
            observations=data.observations(kernel),
            noise=0.1 if self.is_learned else constant,
            learns_noise=self.is_learned,
            extra=extra,
            hyperpriors=hyperpriors,
        )

    def found(self, objective: Any, data: TrainingData, theta: Array, thetas: Array) -> Found:
        noise = np.stack([objective.noise_at(each) for each in thetas])
        levels = np.array([np.average(each, weights=objective.observations.count) for each in noise])
        additional = objective.learned_noise(theta) if self.additional else None
        return Found(FittedNoise(rows=noise[:, data.merged.index], levels=levels, additional=additional))
