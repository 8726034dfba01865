"""Residuals in groups of neighbouring predictions: what a residual plot shows, and what is said about it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

Vector = NDArray[np.float64]

# Fewer rows than this show no trend. Groups have at least so many rows, and there are at most so many groups.
TREND_ROWS = 60
_GROUP_ROWS, _MAX_GROUPS = 20, 12


class ResidualTrend(NamedTuple):
    """Groups of rows, from the lowest predictions to the highest.

    For each group: its median prediction, and of its residuals the mean with its standard error, and the 10 % and 90 %
    quantiles.
    """

    prediction: Vector
    mean: Vector
    error: Vector
    low: Vector
    high: Vector

    @property
    def p(self) -> Vector:
        """For each group the p-value of the t-test that its mean residual is zero."""
        return np.array([_p_value(mean, error) for mean, error in zip(self.mean, self.error, strict=True)])

    @property
    def slope(self) -> tuple[float, float]:
        """The slope of the means along the predictions, and its p-value."""
        x = self.prediction - self.prediction.mean()
        slope, error = x @ self.mean / (x @ x), np.sqrt((x * self.error) @ (x * self.error)) / (x @ x)
        return float(slope), _p_value(slope, error)


def _p_value(value: float, error: float) -> float:
    # A group has at least 20 rows, so the standard error has at least 19 degrees of freedom.
    return 0.0 if value and not error else float(2 * student.sf(abs(value) / (error or 1.0), _GROUP_ROWS - 1))


def residual_trend(prediction: Vector, residual: Vector) -> ResidualTrend | None:
    """The trend of the residuals; None with too few rows or too few distinct predictions."""
    n = len(prediction)
    if n < TREND_ROWS:
        return None
    groups = np.array_split(np.argsort(prediction, kind="stable"), min(_MAX_GROUPS, n // _GROUP_ROWS))
    middle = np.array([np.median(prediction[group]) for group in groups])
    if len(np.unique(middle)) < len(middle):
        return None
    parts = [residual[group] for group in groups]
    error = np.array([part.std(ddof=1) / np.sqrt(len(part)) for part in parts])
    low, high = np.array([np.quantile(part, (0.1, 0.9)) for part in parts]).T
    return ResidualTrend(middle, np.array([part.mean() for part in parts]), error, low, high)
