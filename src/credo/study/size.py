"""The size of a prepared table, and which models it excludes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

# The square map turns p columns into p (p + 3) / 2 features, and the fit costs their square times the rows.
MAX_POLYNOMIAL_FEATURES = 1_000
MAX_POLYNOMIAL_CELLS = 20_000_000
# With more length scales, or fewer rows for each, the evidence doesn't determine them.
MAX_LENGTHSCALES = 50
ROWS_PER_LENGTHSCALE = 3
# Up to so many rows, Gaussian processes keep all covariances, as `GPRegressor(method="auto")` does.
EXACT_ROWS = 5000
# Up to so many rows, and numbers, they take seconds for all folds.
_FEW_ROWS, _FEW_CELLS = 400, 5000
# Up to so many columns, a process of up to EXACT_ROWS rows needs few evaluations.
_FEW_COLUMNS = 3
# Models of many parts, such as trees, need at least as many rows.
_FEWEST_ROWS = 30
# A label carries less information than a number.
LABELS_PER_LENGTHSCALE = 30
# Subsets times rows: beyond this, a classifier over subsets samples them.
_VISITED_ROWS = 3e6
# The most numbers in the table of prepared columns, for models that take no sparse rows.
_MAX_CELLS = 10**8
# Models that use all columns at every step take minutes beyond this, however few the rows.
_MAX_COLUMNS = 20_000


@dataclass(frozen=True)
class Times:
    """A time column: its index among the prepared columns, range, step and cycles.

    All in the unit of the column, days for dates. `cycles` are periods that the table covers at least twice.
    """

    column: int
    span: float
    step: float
    cycles: tuple[float, ...] = ()


@dataclass(frozen=True)
class Size:
    """Numbers of rows, prepared columns, table columns behind these, and classes (0 for regression).

    `times` is given if the rows are in time order. `spread_varies` is whether the spread of the target does, with the
    inputs.
    """

    rows: int
    columns: int
    inputs: int = 0
    classes: int = 0
    times: Times | None = None
    spread_varies: bool = False

    @property
    def task(self) -> str:
        """ "regression" or "classification"."""
        return "classification" if self.classes else "regression"

    @property
    def has_lengthscales(self) -> bool:
        """Whether a Gaussian process may have a length scale for each input."""
        each = LABELS_PER_LENGTHSCALE if self.classes else ROWS_PER_LENGTHSCALE
        return (self.inputs or self.columns) <= min(MAX_LENGTHSCALES, self.rows / each)

    @property
    def is_small(self) -> bool:
        """Whether a Gaussian process takes only seconds."""
        return self.rows <= _FEW_ROWS and self.rows * self.columns <= _FEW_CELLS and self.classes <= 2

    @property
    def is_narrow(self) -> bool:
        """Whether columns are so few, and rows not too many, that a Gaussian process is often the best model."""
        return self.columns <= _FEW_COLUMNS and self.rows <= EXACT_ROWS

    @property
    def enumerates(self) -> bool:
        """Whether a classifier over subsets of the columns visits all of them."""
        return 2.0 ** min(self.columns, 60) * self.rows <= _VISITED_ROWS


def in_time_order(size: Size) -> str | None:
    """Why a model of time can't be used, or None."""
    return "the rows are not in time order" if size.times is None else None


def with_a_cycle(size: Size) -> str | None:
    """Why there is no forecast by the last season, or None."""
    return in_time_order(size) or (None if size.times and size.times.cycles else "no cycle of the rows is known")


def enough_rows(size: Size) -> str | None:
    """Why a model of many parts can't be fitted to so few rows, or None."""
    return f"{size.rows:,} rows are fewer than {_FEWEST_ROWS}" if size.rows < _FEWEST_ROWS else None


def not_too_wide(size: Size) -> str | None:
    """Why quadratic features of so many columns can't be made, or None."""
    features = size.columns * (size.columns + 3) // 2
    if features > MAX_POLYNOMIAL_FEATURES or features * size.rows > MAX_POLYNOMIAL_CELLS:
        return f"{size.columns:,} columns would give {features:,} quadratic features, too many for {size.rows:,} rows"
    return None


def not_many_columns(size: Size) -> str | None:
    """Why so many columns would take too long, or None."""
    if size.columns > _MAX_COLUMNS:
        return f"{size.columns:,} columns would take it many minutes; keep at most {_MAX_COLUMNS:,}"
    return None


def few_lengthscales(size: Size) -> str | None:
    """Why a length scale for each input, for the function and for its noise, can't be learned, or None."""
    if not size.has_lengthscales:
        return f"{size.inputs or size.columns:,} length scales of the noise are too many for {size.rows:,} rows"
    return None


def dense(size: Size) -> str | None:
    """Why the prepared columns can't be stored as a dense table, or None."""
    if size.rows * size.columns > _MAX_CELLS:
        return f"{size.rows:,} rows × {size.columns:,} columns are too many for a dense table"
    return None


def two_classes(size: Size) -> str | None:
    """Why a model of two classes can't be used, or None."""
    return f"it needs two classes, and there are {size.classes:,}" if size.classes > 2 else None


def matrices(count: int) -> Callable[[Size], str | None]:
    """A limit for models that store so many n × n matrices."""

    def limit(size: Size) -> str | None:
        needed, there = 8 * count * size.rows**2, memory()
        if there is not None and needed > there:
            return (
                f"{count} matrices of {size.rows:,} × {size.rows:,} numbers need {needed / 1e9:.0f} GB, and this "
                f"machine has {there / 1e9:.0f} GB of memory"
            )
        return None

    return limit


def memory() -> int | None:
    """The memory of this machine in bytes; None if unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
