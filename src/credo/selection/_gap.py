"""Paired differences between the scores of two models, and whether chance explains them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# A mean difference of more standard errors than this is called clear; chance exceeds it about once in 20 times.
CLEAR = 2.0


@dataclass(frozen=True)
class Gap:
    """Mean difference of held-out scores, first − second, with its standard error over the rows.

    Examples
    --------
    >>> from credo.selection import Gap
    >>> Gap(mean=0.12, error=0.02).clear, Gap(mean=0.01, error=0.02).clear
    (True, False)
    """

    mean: float
    error: float

    @property
    def clear(self) -> bool:
        """Whether the difference is larger than two standard errors.

        An infinite difference is clear too: one of the models gave an outcome probability zero.

        >>> Gap(0.30, 0.16).clear, Gap(0.35, 0.16).clear, Gap(float("inf"), float("nan")).clear
        (False, True, True)
        """
        return bool(np.isinf(self.mean) or abs(self.mean) > CLEAR * self.error)


def gap(first: NDArray[np.float64], second: NDArray[np.float64]) -> Gap:
    """The paired difference of two models' scores, row by row.

    Equal scores have difference zero, also if they are infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.selection import gap
    >>> found = gap(np.array([1.0, 3.0, 2.0]), np.array([0.0, 1.0, 2.0]))
    >>> found.mean, round(found.error, 4)
    (1.0, 0.5774)
    """
    difference = np.zeros(len(first))
    np.subtract(first, second, out=difference, where=first != second)
    with np.errstate(invalid="ignore"):
        mean = float(difference.mean())
        error = float(difference.std(ddof=1) / np.sqrt(len(difference))) if len(difference) > 1 else float("nan")
    return Gap(mean, error)
