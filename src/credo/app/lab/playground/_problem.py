"""The points of a page in a rectangle, and the conversion of numbers from and to JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field

Array = NDArray[np.float64]
MAX_COORDINATE = 1e9
Coordinate = Annotated[float, Field(strict=True, ge=-MAX_COORDINATE, le=MAX_COORDINATE)]


def _increasing(ends: tuple[float, float]) -> tuple[float, float]:
    if ends[1] - ends[0] <= 1e-6 * max(*map(abs, ends), 1e-3):
        raise ValueError("the plot must go from a smaller to a larger number")
    return ends


Interval = Annotated[tuple[Coordinate, Coordinate], AfterValidator(_increasing)]


@dataclass(frozen=True)
class Domain:
    """The rectangle that the plot shows."""

    x: Interval = (0.0, 1.0)
    y: Interval = (-1.5, 1.5)

    @property
    def width(self) -> float:
        return self.x[1] - self.x[0]

    @property
    def height(self) -> float:
        return self.y[1] - self.y[0]

    @property
    def offset(self) -> float:
        """The prior mean of a function: 0, or the middle of the plot if 0 is far from it."""
        middle = (self.y[0] + self.y[1]) / 2
        return 0.0 if abs(middle) <= 0.25 * self.height else rounded(middle, 2 + _digits(middle, self.height))

    @property
    def center(self) -> tuple[float, float]:
        """The middle of both axes, rounded to the resolution of their lengths."""
        return _middle(*self.x), _middle(*self.y)

    @property
    def half(self) -> tuple[float, float]:
        """Half the length of both axes."""
        return rounded(self.width / 2, 3), rounded(self.height / 2, 3)


@dataclass(frozen=True)
class Problem:
    """The points of a task: rows (x, y) for regression, (x₁, x₂, class) for classification."""

    task: str
    points: Array
    domain: Domain

    @property
    def n(self) -> int:
        return len(self.points)

    @property
    def X(self) -> Array:
        return self.points[:, :-1]

    @property
    def y(self) -> Array:
        return self.points[:, -1]

    @property
    def target(self) -> NDArray[Any]:
        """The targets of an estimator: numbers, or whole numbers for classes."""
        return self.y if self.task == "regression" else self.y.astype(int)

    @cached_property
    def labels(self) -> list[int]:
        """The classes that occur."""
        return [int(label) for label in np.unique(self.y)] if self.task == "classification" else []

    def grid(self, n: int) -> Array:
        """n inputs over the plot's first axis, as a column."""
        return np.linspace(*self.domain.x, n)[:, None]

    def map(self, columns: int, rows: int) -> Array:
        """Points over the plot row by row, from the bottom left corner."""
        across, up = np.linspace(*self.domain.x, columns), np.linspace(*self.domain.y, rows)
        return np.column_stack([np.tile(across, rows), np.repeat(up, columns)])


def is_number(value: Any) -> bool:
    """Whether a JSON value is a finite number that fits a float.

    >>> is_number(3), is_number(True), is_number("3"), is_number(10**400), is_number(float("nan"))
    (True, False, False, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -1e300 <= value <= 1e300


def as_points(value: Any, task: str) -> Array:
    """Points as an array, even if there are none."""
    return np.array(value, dtype=np.float64).reshape(-1, 2 if task == "regression" else 3)


def rounded(value: float, digits: int = 6) -> float:
    """A number rounded to this many significant digits.

    >>> rounded(1234.5678, 3), rounded(0.00012345, 2)
    (1230.0, 0.00012)
    """
    return float(f"{value:.{digits}g}")


def numbers(values: Any, digits: int = 6) -> Any:
    """Nested lists for JSON, rounded relative to the largest entry; None if an entry isn't finite."""
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        return None
    largest = float(np.abs(array).max(initial=0.0))
    if largest == 0.0:
        return array.tolist()
    # With more decimals, the power of ten isn't finite.
    return np.round(array, min(digits - 1 - math.floor(math.log10(largest)), 300)).tolist()


def _digits(value: float, resolution: float) -> int:
    """How many digits of a value come before those that a resolution has."""
    return max(0, math.floor(math.log10(abs(value) / resolution)) + 1) if value else 0


def _middle(low: float, high: float) -> float:
    middle = (low + high) / 2
    # Six digits, which kernels write.
    return rounded(middle, min(6, 3 + _digits(middle, high - low))) if abs(middle) > 1e-9 * (high - low) else 0.0
