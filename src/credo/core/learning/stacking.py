"""Weights of a mixture that maximize the mean log density of given outcomes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

Array = NDArray[np.float64]


def stacking_weights(log_scores: Array, sample_weight: Array | None = None) -> Array:
    """The weights p ≥ 0, Σ_k p_k = 1, that maximize the weighted mean of ln Σ_k p_k exp(log_scores[i, k]) over i.

    The objective is concave. With A_ik the densities and r_i the shares of the rows, x ≥ 0 at the maximum of
    Σ_i r_i ln (Ax)_i − (Σ_k x_k)²/2 sums to one and has the same solution. A Newton step there is a non-negative
    least-squares problem; a step that gains nothing is replaced by one of EM. It ends when the gradient proves that the
    maximum is near: no p exceeds the current value by more than max_k Σ_i r_i A_ik/(Ap)_i − 1.

    Parameters
    ----------
    log_scores : array of shape (n_rows, n_models)
        −∞ is allowed; a row where all are −∞ is ignored. +∞, a point mass at the outcome, outweighs all densities.
    sample_weight : array of shape (n_rows,), optional

    Examples
    --------
    The second model is never better:

    >>> import numpy as np
    >>> from credo.core.learning import stacking_weights
    >>> stacking_weights(np.log([[0.5, 0.4], [0.2, 0.2], [0.3, 0.1]]))
    array([1., 0.])
    """
    n_models = log_scores.shape[1]
    best = log_scores.max(axis=1)
    used = best > -np.inf
    with np.errstate(invalid="ignore"):
        A = np.exp(np.where(log_scores == best[:, None], 0.0, log_scores - best[:, None])[used])
    share = np.ones(len(best))[used] if sample_weight is None else sample_weight[used]
    p = np.full(n_models, 1.0 / n_models)
    if not len(A):
        return p
    share = share / share.sum()
    for _ in range(500):
        density = A @ p
        gradient = A.T @ (share / density)
        # No weights could raise the mean log score by more than this.
        if gradient.max() - 1.0 <= 1e-10:
            break
        p = _uphill(A, share, p)
    return p


def _uphill(A: Array, share: Array, p: Array) -> Array:
    """One step uphill along the simplex."""
    density, root = A @ p, np.sqrt(share)
    value = share @ np.log(density)
    B = A * (root / density)[:, None]
    try:
        target = nnls(np.vstack([B, np.ones(len(p))]), np.append(2.0 * root, 0.0))[0]
    except RuntimeError:
        target = p
    length = 1.0
    while target.sum() > 0 and length > 1e-4:
        trial = p + length * (target / target.sum() - p)
        with np.errstate(divide="ignore"):
            if share @ np.log(A @ trial) > value:
                return trial
        length /= 2.0
    # EM (Dempster, Laird & Rubin 1977) never lowers the objective.
    return p * (A.T @ (share / density))
