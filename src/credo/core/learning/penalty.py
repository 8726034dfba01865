"""Ridge penalties: candidates, selection by leave-one-out errors, and the noise that the residuals show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.core.estimator import Result, nonnegative

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


@dataclass(frozen=True)
class Penalty:
    """A penalty α, how it was chosen, and the path of leave-one-out errors if it was chosen by them."""

    alpha: float
    result: Result
    alphas: Array | None = None
    errors: Array | None = None

    @classmethod
    def chosen(
        cls,
        alpha: Any,
        alphas: ArrayLike | None,
        default: Array,
        loo_errors: Callable[[Array], Array],
        *,
        advice: str,
    ) -> Penalty:
        """The given α, or with "loo" the candidate of the smallest error; `advice` is for the largest candidate.

        Examples
        --------
        >>> import numpy as np
        >>> from credo.core.learning import Penalty
        >>> errors = lambda alphas: (np.log10(alphas) - 0.1) ** 2
        >>> Penalty.chosen("loo", [10.0, 1.0, 0.1], np.ones(1), errors, advice="try larger ones").alpha
        1.0
        """
        if not isinstance(alpha, str):
            return cls(nonnegative("alpha", alpha), Result(True, 1, "solved directly"))
        if alpha != "loo":
            raise ValueError(f'alpha must be a number or "loo"; got {alpha!r}')
        candidates = penalties(alphas, default)
        errors = loo_errors(candidates)
        best = int(np.argmin(errors))
        message = "alpha selected by leave-one-out cross-validation"
        if len(candidates) > 1 and best == 0:
            message = f"the largest alpha was selected: try larger values; {advice}"
        elif len(candidates) > 1 and best == len(candidates) - 1:
            message = "the smallest alpha was selected: hardly any penalty is needed"
        return cls(float(candidates[best]), Result(True, len(candidates), message), candidates, errors)


def loo_squares(
    U: Array, q: Array, eigenvalues: Array, alphas: Array, *, residual: Array, gap: Array, weight: Array
) -> Array:
    """The weighted sum of squared leave-one-out errors at each α, over rows with coordinates U in the eigenbasis.

        e/(1 − h),    e = e₀ + U (α/(λ + α) q),    1 − h = 1 − h₀ + U² α/(λ + α)

    with residuals e₀ (`residual`) and 1 − h₀ (`gap`) of least squares: the smoother is linear, and its penalty doesn't
    involve y. A row of weight k stands for k rows, of which one is left out; one of weight below 1 is left out as a
    whole.
    """
    total = eigenvalues[:, None] + alphas
    slack = np.divide(np.broadcast_to(alphas, total.shape), total, out=np.ones_like(total), where=total > 0)
    errors = residual[:, None] + U @ (slack * q[:, None])
    gaps = gap[:, None] + np.minimum(weight, 1.0)[:, None] * ((U * U) @ slack)
    # With a leverage of one, the other rows don't determine the prediction at this row.
    errors = np.divide(errors, gaps, out=np.full_like(gaps, np.inf), where=gaps > 1e-12)
    return weight @ errors**2


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
