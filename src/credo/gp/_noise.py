"""The noise of a process, the argument `noise=`.

A `Noise` builds the objective that a fit maximizes. The result is a `FittedNoise`, the distribution of new observations
about the process. `Gaussian` is here; `StudentT`, `Poisson` and `Heteroscedastic`, which are fitted by an evidence
lower bound, have modules of their own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from credo.core.estimator import nonnegative
from credo.core.inference import REPRESENTATIONS
from credo.core.learning.ascent import curvature_at
from credo.core.params import Parameter
from credo.gp._objective import EvidenceObjective, noise_defaults
from credo.gp._observations import TrainingData, center_and_scale, rounding_variance
from credo.gp._posterior import FittedNoise, Posterior
from credo.kernels import Kernel

Array = NDArray[np.float64]

# Rows of the subset on which the starts of a search are tried if the objective is a bound, which costs several times
# as much as the evidence.
BOUND_SUBSET_ROWS = 250


@dataclass(frozen=True)
class Found:
    """The noise that a fit found, the evidence lower bound if there is one, and what went wrong."""

    noise: FittedNoise
    bound: float | None = None
    failure: str = ""


@dataclass(frozen=True, kw_only=True)
class GaussianObjective(EvidenceObjective):
    """The evidence of targets with one noise variance for all rows, learned if `learns_noise`.

    `extra` are known variances that are added to the noise, one for each row; `is_additional` says that the user asked
    for a learned variance on top of them.
    """

    noise: float
    learns_noise: bool
    extra: Array
    is_additional: bool = False
    tolerance = 1e-11

    def _noise_parameters(self) -> tuple[Any, list[Array]]:
        noise = Parameter(max(self.noise, 1e-12), fixed=not self.learns_noise)
        return noise, [noise_defaults(int(self.learns_noise))]

    def subset(self, rows: NDArray[np.intp]) -> Self:
        return replace(super().subset(rows), extra=self.extra[rows])

    def noise_at(self, vector: Array) -> Array:
        """The noise variance of one observation at each row."""
        return (self.learned_noise(vector) if self.learns_noise else self.noise) + self.extra

    def learned_noise(self, vector: Array) -> float:
        """The noise variance that all rows share."""
        return float(self.tree.unflatten(vector).natural["noise"])

    def at(self, vector: Array) -> tuple[float, Callable[[], Array]]:
        process = self.observations.condition(self.kernel_at(vector), self.noise_at(vector))
        value = process.copies[0]
        for _, posterior in process.parts:
            value += posterior.log_evidence

        def natural() -> Array:
            found = process.gradient()
            return np.append(found.by_kernel, found.by_noise.sum()) if self.learns_noise else found.by_kernel

        return value, natural

    def information(self, vector: Array) -> Array | None:
        natural = self.observations.condition(self.kernel_at(vector), self.noise_at(vector)).information()
        if natural is None:
            return None
        n, units = len(vector), self.tree.derivative(vector)
        return units[:, None] * natural[:n, :n] * units + curvature_at(self._log_prior, vector)

    def found(self, data: TrainingData, theta: Array, thetas: Array) -> Found:
        """One variance for each set of hyperparameters."""
        noise = np.stack([self.noise_at(each) for each in thetas])
        levels = np.array([np.average(each, weights=self.observations.count) for each in noise])
        additional = self.learned_noise(theta) if self.is_additional else None
        return Found(FittedNoise(rows=noise[:, data.merged.index], levels=levels, additional=additional))


class Noise(ABC):
    """The distribution of observations about the process."""

    name: ClassVar[str]
    # The class of predictions.
    posterior: ClassVar[type[Posterior]] = Posterior
    # Whether it is fitted by an evidence lower bound, and whether y is a count whose log rate is the process.
    is_variational: ClassVar[bool] = True
    counts: ClassVar[bool] = False
    several_targets: ClassVar[bool] = False
    methods: ClassVar[tuple[str, ...]] = ("exact", "state_space", "inducing")
    title: ClassVar[str] = "Gaussian process"
    # What a description says about the noise.
    words: ClassVar[str] = ""

    @property
    def known(self) -> float | Array | None:
        """The variance in the units of y², or one for each row, if given."""
        return None

    @property
    def is_learned(self) -> bool:
        """Whether a fit learns anything about the noise."""
        return True

    def require_targets(self, y: Array, *, mean: str) -> None:  # noqa: B027
        """Raise an error for targets that can't have this noise."""

    def center_and_scale(self, Y: Array, weight: Array) -> tuple[Array, Array]:
        """The center and scale by which each column of y is standardized."""
        return center_and_scale(Y, weight)

    @abstractmethod
    def objective(self, data: TrainingData, kernel: Kernel, noise_kernel: Kernel, fixed: bool) -> Any:
        """The objective of a fit; its method `found(data, theta, thetas)` gives the `Found` at hyperparameters.

        Parameters
        ----------
        noise_kernel : the kernel of noise that varies.
        fixed : whether nothing is learned.
        """

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
        """Approximate methods need noise: without it they have no evidence."""
        return tuple(REPRESENTATIONS) if self.is_learned or np.all(self.known) else ("exact", "state_space")

    def objective(self, data: TrainingData, kernel: Kernel, noise_kernel: Kernel, fixed: bool) -> GaussianObjective:
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
            is_additional=self.additional,
        )
