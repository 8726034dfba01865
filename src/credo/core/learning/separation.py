"""Linear separability of classes, decided by linear programming.

    d separates:    aᵢᵀd ≥ 0 for all i,    Σ aᵢᵀd > 0,    aᵢ = yᵢ(xᵢ, 1)

for two classes coded ±1; with more classes, a row gives one a for each class other than its own. Moving along such a d
never lowers the likelihood, so its maximum exists if and only if no d separates (Albert & Anderson 1984). The linear
program maximizes Σ aᵢᵀd over |d| ≤ 1 (Konis 2007) subject to a few of the constraints, and adds those that its solution
violates. If the maximum is zero with a few constraints, it is zero with all of them; a solution that violates none
separates.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Array = NDArray[np.float64]

# Values of aᵢᵀd below this, with aᵢ of unit length, are zero to the precision of the solver.
_ZERO_MARGIN = 1e-7
_CONSTRAINTS_PER_ROUND, _MAX_ROUNDS = 200, 60


def separation(
    margins: Callable[[Array], Array], constraints: Callable[[NDArray[np.intp]], Array], total: Array
) -> Array | None:
    """A separating direction; None if there is none, or if the solver fails.

    Parameters
    ----------
    margins : callable(d) -> array of shape (n_constraints,)
        aᵢᵀd for all constraints, each aᵢ of unit length.
    constraints : callable(indices) -> array of shape (n_indices, n)
        The aᵢ at these indices.
    total : array of shape (n,)
        Σ aᵢ, or any sum of them with positive weights.
    """
    unit = total / max(float(np.abs(total).max(initial=0.0)), 1e-300)
    direction = unit
    held = np.empty(0, dtype=np.intp)
    for _ in range(_MAX_ROUNDS):
        values = margins(direction)
        if values.min(initial=0.0) >= -_ZERO_MARGIN:
            # If all are zero, the direction has no effect on any row.
            return direction if values.max(initial=0.0) > _ZERO_MARGIN else None
        worst = np.argpartition(values, min(_CONSTRAINTS_PER_ROUND, len(values) - 1))[:_CONSTRAINTS_PER_ROUND]
        new = np.setdiff1d(worst[values[worst] < -_ZERO_MARGIN], held)
        if not len(new):
            return None
        held = np.union1d(held, new)
        A = constraints(held)
        found = linprog(-unit, A_ub=-A, b_ub=np.zeros(len(A)), bounds=(-1.0, 1.0), method="highs")
        if found.status != 0 or found.x is None:
            return None
        if float(unit @ found.x) <= _ZERO_MARGIN * np.abs(unit).sum():
            return None
        direction = found.x
    return None


def margin(
    margins: Callable[[Array], Array], constraints: Callable[[NDArray[np.intp]], Array], direction: Array
) -> float:
    """The largest margin of any direction with |d| ≤ 1: positive if all rows can be separated without ties.

    Also zero if the solver fails.

    Parameters
    ----------
    direction : array of shape (n,)
        Starting point: a separating direction, as `separation` returns it.
    """
    values, held = margins(direction), np.empty(0, dtype=np.intp)
    for _ in range(_MAX_ROUNDS):
        worst = np.argpartition(values, min(_CONSTRAINTS_PER_ROUND, len(values) - 1))[:_CONSTRAINTS_PER_ROUND]
        held = np.union1d(held, worst)
        A = constraints(held)
        goal = np.append(np.zeros(A.shape[1]), -1.0)
        table = np.column_stack([-A, np.ones(len(A))])
        found = linprog(goal, A_ub=table, b_ub=np.zeros(len(A)), bounds=[(-1.0, 1.0)] * A.shape[1] + [(0.0, 1.0)])
        if found.status != 0 or found.x is None or found.x[-1] <= _ZERO_MARGIN:
            return 0.0
        values = margins(found.x[:-1])
        if values.min() >= found.x[-1] - _ZERO_MARGIN:
            return float(found.x[-1])
    return 0.0
