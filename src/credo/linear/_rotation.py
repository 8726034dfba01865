"""Rows in coordinates of their own span, for columns that depend on one another and for more columns than rows.

    X − c = Z Vᵀ,    w = V u,    ‖w‖ = ‖u‖

V has orthonormal columns that span the rows. Weights outside of the span change no score, so that the penalised maximum
has none, and among equal maxima the one without any is the one of smallest norm.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg as sla

from credo.linear._graded import graded_axes
from credo.linear._rows import EPS, column_norms, is_sparse
from credo.linear._softmax import Task

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Rotation:
    """A task on Z, the basis V, and which single weights the rows determine."""

    task: Task
    V: Array
    determined: NDArray[np.bool_]

    @property
    def rank(self) -> int:
        return self.V.shape[1]


def rotate(task: Task) -> Rotation:
    """The task in coordinates of the rows' span."""
    X = task.X.toarray() if is_sparse(task.X) else task.X
    R, _, V = graded_axes(X, None, center=task.center, size=task.center)
    Z = (X - task.center) @ V
    center = np.zeros(V.shape[1])
    rotated = Task(Z, task.codes, task.weight, task.n_classes, center, task.penalty, task.intercept)
    return Rotation(rotated, V, _determined(R, len(X)))


def _determined(R: Array, n_samples: int) -> NDArray[np.bool_]:
    """Weights whose axis lies in the span of the rows, with columns of unit length."""
    norms = column_norms(R)
    _, s, Vt = sla.svd(R / np.where(norms > 0, norms, 1.0), full_matrices=False, check_finite=False)
    span = Vt[s > EPS * max(n_samples, len(norms)) * s.max(initial=0.0)]
    return 1.0 - np.einsum("ij,ij->j", span, span) <= 1e-8
