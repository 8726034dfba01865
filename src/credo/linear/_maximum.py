"""The maximum of a (penalized) likelihood of linear logits in the units of X, by the method that suits the table.

Few parameters: Newton's method with the whole curvature. Many: with its products only. Fewer rows than columns, or
collinear columns: Newton's method in coordinates of the rows' span,

    X − c = Z Vᵀ,    w = V u,    ‖w‖ = ‖u‖

where V has orthonormal columns. Weights outside of the span change no score, so the penalized maximum has none, and
among equal maxima the one without any has the smallest norm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg as sla

from credo.estimator import is_sparse
from credo.linear._ascent import COLLINEAR, Monitor, Optimum, newton, newton_cg
from credo.linear._graded import graded_axes
from credo.linear._rows import EPS, column_norms
from credo.linear._softmax import MatrixFreeObjective, Objective, contrasts

Array = NDArray[np.float64]

# Parameters up to which the curvature is stored, and entries of X up to which it may be rotated.
_FEW_PARAMETERS = 600
_ROTATED_ENTRIES = 8_000_000
# Rows from which the centre is computed; any centre near the rows gives the same fit.
_SAMPLE = 256


@dataclass(frozen=True)
class Maximum:
    """A maximum, and the coordinates in which it was found."""

    objective: Objective
    optimum: Optimum
    center: Array
    # V, and which single weights the rows determine; None where the coordinates are those of X − c.
    V: Array | None = None
    determined: NDArray[np.bool_] | None = None

    @property
    def coef(self) -> Array:
        """Weights in the units of X: one row for two classes, else one for each class."""
        return self.coefficients(self.optimum.point.theta)[0]

    @property
    def intercept(self) -> Array:
        return self.coefficients(self.optimum.point.theta)[1]

    @property
    def n_parameters(self) -> int:
        """Free parameters that the rows determine."""
        return int(np.prod(self.objective.shape))

    def coefficients(self, theta: Array) -> tuple[Array, Array]:
        """Weights and intercepts in the units of X."""
        coef, level = self.objective.coefficients(theta)
        if self.V is None:
            return coef, level
        coef = coef @ self.V.T
        return coef, level - coef @ self.center

    def std_errors(self) -> tuple[Array, Array]:
        """Standard errors of weights and intercepts from the curvature; infinite if the rows don't determine them."""
        objective = self.objective
        m, width = objective.shape
        # H⁻¹ = AAᵀ, with a row of A for each parameter.
        A = self.optimum.curvature.root().T
        C = np.eye(1) if objective.n_classes == 2 else objective.contrasts
        by_class = np.einsum("ka,aws->kws", C, A.reshape(m, width, -1))
        weights = by_class[:, : objective.X.shape[1]]
        if self.V is not None:
            weights = np.einsum("jr,krs->kjs", self.V, weights)
        errors = np.sqrt(np.square(weights).sum(axis=2))
        if self.determined is not None:
            errors[:, ~self.determined] = np.inf
        if not objective.intercept:
            return errors, np.zeros(len(C))
        level = by_class[:, -1] - np.einsum("j,kjs->ks", self.center, weights)
        return errors, np.sqrt(np.square(level).sum(axis=1))


def objective_for(
    X: Any, codes: NDArray[np.intp], weight: Array | None, *, n_classes: int, penalty: float, intercept: bool
) -> Objective:
    """The objective for validated rows, matrix-free if there are many parameters."""
    n_samples, n_features = X.shape
    weight = np.ones(n_samples) if weight is None else weight
    size = contrasts(n_classes).shape[1] * (n_features + intercept)
    kind = Objective if size <= _FEW_PARAMETERS else MatrixFreeObjective
    return kind(X, codes, weight, n_classes, _center(X) if intercept else np.zeros(n_features), penalty, intercept)


def maximize(
    objective: Objective, *, tol: float, max_iter: int, monitor: Monitor | None, exact_curvature: bool
) -> Maximum:  # fmt: skip
    """The maximum of an objective by Newton's method; see `newton` for the arguments."""
    n_samples, n_features = objective.X.shape
    small = n_samples * n_features <= _ROTATED_ENTRIES
    if n_samples <= n_features and small and objective.shape[0] * n_samples <= _FEW_PARAMETERS:
        return _rotated(objective, tol=tol, max_iter=max_iter, monitor=monitor)
    if isinstance(objective, MatrixFreeObjective):
        end = newton_cg(objective, tol=tol, max_iter=max_iter, monitor=monitor)
        return Maximum(objective, end, objective.center)
    end = newton(objective, tol=tol, max_iter=max_iter, monitor=monitor, exact_curvature=exact_curvature)
    if end.failure == COLLINEAR:
        return _rotated(objective, tol=tol, max_iter=max_iter, monitor=monitor)
    return Maximum(objective, end, objective.center)


def _rotated(objective: Objective, *, tol: float, max_iter: int, monitor: Monitor | None) -> Maximum:
    """The maximum in coordinates of the rows' span."""
    center = objective.center
    X = objective.X.toarray() if is_sparse(objective.X) else objective.X
    R, _, V = graded_axes(X, None, center=center, size=center)
    rotated = Objective(
        (X - center) @ V,
        objective.codes,
        objective.weight,
        objective.n_classes,
        np.zeros(V.shape[1]),
        objective.penalty,
        objective.intercept,
    )
    end = newton(rotated, tol=tol, max_iter=max_iter, monitor=monitor, independent=True)
    # A single weight is determined if its axis lies in the span of the rows, with columns of unit length.
    norms = column_norms(R)
    _, s, Vt = sla.svd(R / np.where(norms > 0, norms, 1.0), full_matrices=False, check_finite=False)
    span = Vt[s > EPS * max(X.shape) * s.max(initial=0.0)]
    return Maximum(rotated, end, center, V, 1.0 - np.einsum("ij,ij->j", span, span) <= 1e-8)


def _center(X: Any) -> Array:
    if is_sparse(X):
        return np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    sample = X[:: max(1, len(X) // _SAMPLE)]
    # The second mean corrects the rounding error of the first, which would make a constant column vary.
    center = sample.mean(axis=0)
    return center + (sample - center).mean(axis=0)
