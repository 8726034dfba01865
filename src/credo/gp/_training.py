"""The training table of a regressor: distinct rows, weights, standardised targets, known noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from credo.core.estimator import nonnegative
from credo.core.inference import Representation, representation
from credo.gp._counts import CountObjective
from credo.gp._data import (
    Index,
    MeanBasis,
    Merged,
    center_and_scale,
    distinct,
    median_and_spread,
    merged,
    refuse_contradictions,
    rounding_variance,
    targets,
)
from credo.gp._heteroscedastic import HeteroscedasticObjective
from credo.gp._objective import GaussianObjective
from credo.gp._observations import Observations
from credo.gp._student import StudentObjective
from credo.kernels import Kernel

Array = NDArray[np.float64]

# What `noise` may be beside "learn" and variances: models of the observations with a bound in place of the evidence.
BOUNDS = ("heteroscedastic", "student", "poisson")


def known_noise(noise: Any) -> float | Array | None:
    """The argument `noise` where it is a variance in the units of y², or one for each row; None where it is learned."""
    if isinstance(noise, str):
        if noise not in ("learn", *BOUNDS):
            names = ", ".join(f'"{name}"' for name in ("learn", *BOUNDS))
            raise ValueError(f"noise must be {names}, a variance, or one for each row; got {noise!r}")
        return None
    if np.ndim(noise) == 0:
        return nonnegative("noise", noise)
    values = np.asarray(noise, dtype=np.float64)
    if values.ndim != 1 or not np.isfinite(values).all() or (values < 0).any():
        raise ValueError("noise must hold a finite variance that isn't negative for each row")
    return values


@dataclass(frozen=True)
class TrainingTable:
    """Rows X, targets y as given (NaN where one is missing), weights, and how y is standardised.

    y = center + scale·(standardised targets), for each column. `row_noise` are known noise variances of each row, in
    the units of y². `method` names the representation of the rows, with inducing `points` if they are chosen already.
    """

    X: Array
    y: Array
    weight: Array
    center: Array
    scale: Array
    row_noise: Array | None
    mean: str
    method: str = "exact"
    points: Array | None = None
    n_inducing: int | None = None

    @classmethod
    def of(
        cls, X: Array, y: Array, weight: Array, noise: Any, *, standardize: bool, mean: str
    ) -> tuple[TrainingTable, Index]:
        """The rows that carry weight and a target, each distinct one once; and where each of these rows went."""
        used = (weight > 0) & ~np.isnan(y.reshape(len(X), -1)).all(axis=1)
        Y = targets(y[used], X[used], name="y").reshape(int(used.sum()), -1)
        known = known_noise(noise)
        row_noise = _of_rows(known, used) if isinstance(known, np.ndarray) else None
        rows, Y, weight, index = distinct(X[used], Y, weight[used], merge=row_noise is None)
        if isinstance(known, float) and known == 0.0:
            refuse_contradictions(rows)
        n_targets = Y.shape[1]
        center, scale = np.zeros(n_targets), np.ones(n_targets)
        if standardize and not _is_poisson(noise):
            robust = isinstance(noise, str) and noise == "student"
            center, scale = (median_and_spread if robust else center_and_scale)(Y, weight)
        if known is not None:
            # One variance in the units of y² must be one for standardised targets as well.
            scale = np.full(n_targets, np.sqrt(np.mean(scale**2)))
        table = cls(rows, Y[:, 0] if y.ndim == 1 else Y, weight, center, scale, row_noise, mean)
        return table, index

    @cached_property
    def basis(self) -> MeanBasis:
        """Of the mean function."""
        return MeanBasis.of(self.mean, self.X, self.weight)

    @property
    def variance_factor(self) -> float:
        """The ratio of a variance in the units of `kernel_` to one of standardised targets; 1 for several columns."""
        return float(self.scale[0]) ** 2 if self.y.ndim == 1 else 1.0

    @cached_property
    def standardized(self) -> Array:
        """(n, n_targets)."""
        return (self.y.reshape(len(self.X), -1) - self.center) / self.scale

    @cached_property
    def merged(self) -> Merged:
        """Rows of equal inputs merged, on which the search for hyperparameters runs."""
        Y = self.standardized
        if self.row_noise is None:
            return merged(self.X, Y, self.weight)
        return Merged(self.X, Y, self.weight, np.zeros(len(Y)), np.arange(len(Y)))

    def observations(self, kernel: Kernel) -> Observations:
        """As predictions and leave-one-out need them: rows of equal inputs aren't merged."""
        rows = self._representation(self.X, kernel)
        return Observations(rows, self.standardized, self.basis, self.weight, np.zeros(len(self.X)))

    def in_units_of_y(self, log_evidence: float) -> float:
        """The log density of y, from that of standardised targets: each dimension is scaled."""
        seen = ~np.isnan(self.standardized)
        dimensions = (self.weight[:, None] * seen).sum(axis=0) - self.basis(self.X[:1]).shape[1]
        return log_evidence - float(dimensions @ np.log(self.scale))

    def objective(
        self, kernel: Kernel, noise: Any, *, additional: bool, fixed: bool, hyperpriors: bool
    ) -> GaussianObjective:
        """The evidence for one noise variance, known ones, or (`additional`) the sum of both.

        `fixed` if hyperparameters aren't searched for.
        """
        known, variance = known_noise(noise), float(self.scale[0]) ** 2
        if additional:
            assert known is not None
            extra = np.broadcast_to(
                known / variance if self.row_noise is None else self.row_noise / variance, len(self.merged.Y)
            )
            return GaussianObjective(
                kernel,
                self._merged_observations(kernel),
                noise=0.1,
                learns_noise=True,
                extra=extra,
                hyperpriors=hyperpriors,
            )
        # Exact copies of rows would drive the noise to zero; rounding of y sets a lower limit.
        repeated = known is None and not fixed and bool((self.weight > 1).any())
        lost = rounding_variance(self.standardized) if repeated else 0.0
        return GaussianObjective(
            kernel,
            self._merged_observations(kernel),
            noise=0.1 if known is None else known / variance if isinstance(known, float) else 0.0,
            learns_noise=known is None,
            extra=np.full(len(self.merged.Y), lost) if self.row_noise is None else self.row_noise / variance,
            hyperpriors=hyperpriors,
        )

    def heteroscedastic_objective(
        self, kernel: Kernel, noise_kernel: Kernel, *, hyperpriors: bool
    ) -> HeteroscedasticObjective:
        """The bound on the evidence for noise that varies with the inputs."""
        rows = self._merged_observations(kernel + noise_kernel)
        return HeteroscedasticObjective(kernel, rows, noise_kernel, hyperpriors=hyperpriors)

    def student_objective(self, kernel: Kernel, *, hyperpriors: bool) -> StudentObjective:
        """The bound on the evidence for Student-t noise; rows of equal inputs have sites of their own."""
        return StudentObjective(kernel, self.observations(kernel), hyperpriors=hyperpriors)

    def count_objective(self, kernel: Kernel, *, hyperpriors: bool) -> CountObjective:
        """The bound on the evidence of counts."""
        rows, logs = self.merged, self.weight * gammaln(self.y + 1.0)
        totals = np.bincount(rows.index, logs, minlength=len(rows.Y)).astype(np.float64)
        return CountObjective(kernel, self._merged_observations(kernel), totals, hyperpriors=hyperpriors)

    def _merged_observations(self, kernel: Kernel) -> Observations:
        rows = self.merged
        return Observations(self._representation(rows.X, kernel), rows.Y, self.basis, rows.weight, rows.scatter)

    def _representation(self, rows: Array, kernel: Kernel) -> Representation:
        return representation(self.method, rows, kernel, self.points, n_points=self.n_inducing)


def _is_poisson(noise: Any) -> bool:
    return isinstance(noise, str) and noise == "poisson"


def _of_rows(noise: Array, used: NDArray[np.bool_]) -> Array:
    """The given variances of the rows that are used."""
    if len(noise) not in (len(used), int(used.sum())):
        raise ValueError(f"noise holds {len(noise)} variances for {len(used)} rows")
    return noise[used] if len(noise) == len(used) else noise
