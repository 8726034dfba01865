"""Ridge penalties: candidates, selection by leave-one-out errors, and the noise that the residuals show."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.core.estimator import Result

Array = NDArray[np.float64]


def penalties(alphas: ArrayLike | None, default: Array) -> Array:
    """The candidates for α, largest first: those given, or the default ones.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.learning import penalties
    >>> penalties([0.1, 10.0], np.ones(1))
    array([10. ,  0.1])
    """
    if alphas is None:
        return default
    values = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(f"alphas must be one or more finite numbers, not negative; got {alphas!r}")
    return np.sort(values)[::-1]


def best_penalty(alphas: Array, loo_errors: Array, *, advice: str) -> tuple[float, Result]:
    """The α of the smallest leave-one-out error, and the outcome; `advice` is for the largest candidate.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.learning import best_penalty
    >>> alpha, result = best_penalty(np.array([10.0, 1.0, 0.1]), np.array([3.0, 2.0, 2.5]), advice="try larger ones")
    >>> alpha, result.converged
    (1.0, True)
    """
    best, n_alphas = int(np.argmin(loo_errors)), len(alphas)
    message = "alpha selected by leave-one-out cross-validation"
    if n_alphas > 1 and best == 0:
        message = f"the largest alpha was selected: try larger values; {advice}"
    elif n_alphas > 1 and best == n_alphas - 1:
        message = "the smallest alpha was selected: hardly any penalty is needed"
    return float(alphas[best]), Result(True, n_alphas, message)


def residual_noise(shrinkage: Array, q: Array, *, free: float, rss: float = 0.0) -> tuple[float, float]:
    """σ² = RSS/(ν − γ) and its degrees of freedom, for residuals `shrinkage`·q along the directions of the data.

    `free` observations beyond the number of directions have residuals of sum of squares `rss`. The estimate is unbiased
    where the prior holds (Bishop 3.95); its degrees of freedom are Satterthwaite's for the weighted sum of squares that
    the residuals are.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.core.learning import residual_noise
    >>> variance, df = residual_noise(np.array([0.0, 0.0]), np.array([9.0, 1.0]), free=10.0, rss=5.0)  # least squares
    >>> variance, df
    (0.5, 10.0)
    """
    left = free + float(shrinkage.sum())
    if not left > 0:
        return np.nan, 0.0
    # In units of the largest, because squares may underflow.
    unit = 1.0 if free > 0 else float(shrinkage.max())
    noise = ((rss if free > 0 else 0.0) + float(((shrinkage * q) ** 2).sum())) / left
    return noise, (left / unit) ** 2 / (free + float(((shrinkage / unit) ** 2).sum()))
