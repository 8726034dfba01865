"""Soft and hard thresholding."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def soft_threshold(a: ArrayLike, delta: ArrayLike) -> NDArray[np.float64]:
    """``S(a, δ) = sign(a) max(|a| − δ, 0)``, the w that minimises ``½(w − a)² + δ|w|``.

    Parameters
    ----------
    a : array
    delta : array that broadcasts with a
        The thresholds, not negative.

    Examples
    --------
    >>> from credo.sparse import soft_threshold
    >>> soft_threshold([-3.0, 0.5, 2.0], 1.0)
    array([-2.,  0.,  1.])
    """
    values, width = _arrays(a, delta)
    return np.sign(values) * np.maximum(np.abs(values) - width, 0.0)


def hard_threshold(a: ArrayLike, delta: ArrayLike) -> NDArray[np.float64]:
    """``H(a, δ) = a`` where ``|a| > δ`` and 0 elsewhere, the w that minimises ½(w − a)² + ½δ²·[w ≠ 0].

    Parameters
    ----------
    a : array
    delta : array that broadcasts with a
        The thresholds, not negative.

    Examples
    --------
    >>> from credo.sparse import hard_threshold
    >>> hard_threshold([-3.0, 0.5, 2.0], 1.0)
    array([-3.,  0.,  2.])
    """
    values, width = _arrays(a, delta)
    # NaN stays what it is, as in `soft_threshold`.
    return np.where(np.abs(values) <= width, 0.0, values)


def _arrays(a: ArrayLike, delta: ArrayLike) -> tuple[Any, Any]:
    values, width = np.asarray(a, dtype=np.float64), np.asarray(delta, dtype=np.float64)
    if not (width >= 0).all():
        raise ValueError(f"a threshold delta must not be negative (nor NaN); got {delta!r}")
    if (np.isinf(values) & np.isinf(width)).any():
        raise ValueError("a and delta are infinite at the same place, so the result is undefined")
    return values, width
