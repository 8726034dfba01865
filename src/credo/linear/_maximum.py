"""The maximum of a (penalised) likelihood of linear logits in the units of X, by whichever route suits the table.

Few parameters: Newton's method with the whole curvature. Many: with its products only. Fewer rows than columns, or
columns that depend on one another: in coordinates of the rows' span.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.linear import _conjugate, _newton
from credo.linear._conjugate import WideTask
from credo.linear._newton import DEPENDENT, Summit, Watch
from credo.linear._rotation import Rotation, rotate
from credo.linear._rows import is_sparse
from credo.linear._softmax import Task, contrasts

Array = NDArray[np.float64]

# Parameters up to which the curvature is written down, and entries of X up to which it may be rotated.
_FEW_PARAMETERS = 600
_ROTATED_ENTRIES = 8_000_000
# Rows that tell where the columns are; any centre among the rows gives the same fit.
_SAMPLE = 256


@dataclass(frozen=True)
class Maximum:
    """A maximum: where, in which coordinates, and how the climb there ended."""

    task: Task
    summit: Summit
    rotation: Rotation | None
    center: Array

    @property
    def coef(self) -> Array:
        """Weights in the units of X: one row for two classes, else one for each class."""
        return self.natural(self.summit.point.theta)[0]

    @property
    def intercept(self) -> Array:
        return self.natural(self.summit.point.theta)[1]

    @property
    def n_parameters(self) -> int:
        """Free parameters that the rows can tell something about."""
        return int(np.prod(self.task.shape))

    def natural(self, theta: Array) -> tuple[Array, Array]:
        """Weights and intercepts in the units of X."""
        coef, level = self.task.natural(theta)
        if self.rotation is None:
            return coef, level
        coef = coef @ self.rotation.V.T
        return coef, level - coef @ self.center

    def std_errors(self) -> tuple[Array, Array]:
        """Standard errors of weights and intercepts by the curvature; infinite for what the rows don't determine."""
        curvature = self.summit.curvature
        if curvature is None:
            raise ValueError("this climb kept no curvature")
        m, width = self.task.shape
        # H⁻¹ = AAᵀ, each row of A a parameter.
        A = curvature.factor.half_solve(np.eye(m * width), transpose=True) / curvature.scale[:, None]
        C = np.eye(1) if self.task.n_classes == 2 else self.task.contrasts
        by_class = np.einsum("ka,aws->kws", C, A.reshape(m, width, -1))
        weights = by_class[:, : self.task.X.shape[1]]
        if self.rotation is not None:
            weights = np.einsum("jr,krs->kjs", self.rotation.V, weights)
        errors = np.sqrt(np.square(weights).sum(axis=2))
        if self.rotation is not None:
            errors[:, ~self.rotation.determined] = np.inf
        if not self.task.intercept:
            return errors, np.zeros(len(C))
        level = by_class[:, -1] - np.einsum("j,kjs->ks", self.center, weights)
        return errors, np.sqrt(np.square(level).sum(axis=1))


def posed(
    X: Any, codes: NDArray[np.intp], weight: Array | None, *, n_classes: int, penalty: float, intercept: bool
) -> Task:
    """The task for clean rows, of the kind that its size asks for."""
    n_samples, n_features = X.shape
    weight = np.ones(n_samples) if weight is None else weight
    size = contrasts(n_classes).shape[1] * (n_features + intercept)
    kind = Task if size <= _FEW_PARAMETERS else WideTask
    return kind(X, codes, weight, n_classes, _center(X) if intercept else np.zeros(n_features), penalty, intercept)


def maximize(
    task: Task,
    *,
    start: Array | None = None,
    tol: float = 1e-8,
    max_iter: int = 100,
    watch: Watch | None = None,
    curved: bool = True,
) -> Maximum:
    """The maximum of a task by Newton's method; `start` is in the task's coordinates.

    Without `curved`, the curvature that comes with it may be that of a point close by.
    """
    n_samples, n_features = task.X.shape
    small = n_samples * n_features <= _ROTATED_ENTRIES
    if start is None and n_samples <= n_features and small and len(task.start()) * n_samples <= _FEW_PARAMETERS:
        return rotated(task, tol=tol, max_iter=max_iter, watch=watch)
    if isinstance(task, WideTask):
        end = _conjugate.climb(task, start=start, tol=tol, max_iter=max_iter, watch=watch)
        return Maximum(task, end, None, task.center)
    end = _newton.climb(
        task, start=start, tol=tol, max_iter=max_iter, watch=watch, independent=start is not None, curved=curved
    )
    if end.obstacle == DEPENDENT:
        return rotated(task, tol=tol, max_iter=max_iter, watch=watch)
    return Maximum(task, end, None, task.center)


def rotated(task: Task, *, tol: float, max_iter: int, watch: Watch | None) -> Maximum:
    """The maximum in coordinates of the rows' span."""
    turned = rotate(task)
    end = _newton.climb(turned.task, tol=tol, max_iter=max_iter, watch=watch, independent=True)
    return Maximum(turned.task, end, turned, task.center)


def _center(X: Any) -> Array:
    if is_sparse(X):
        return np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    sample = X[:: max(1, len(X) // _SAMPLE)]
    # The second mean is that of the first one's rounding, which would make a constant column vary.
    center = sample.mean(axis=0)
    return center + (sample - center).mean(axis=0)
