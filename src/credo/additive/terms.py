"""The terms of an additive model, and the columns of basis functions that stand for them.

    f(x) = b + Σ_k B_k(x) w_k,    w_k ~ N(0, τ_k² I)

A user names terms (`smooth`, `linear`, `factor`, `random`, `pair`). `fit` turns each into one or two blocks of columns,
and every block has a variance τ² of its own, or a flat prior. A block is a row-wise product of bases: a straight line,
a spline, a Fourier series, or indicators of levels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline

from credo.core.fields import Axes, Finite, Increasing, NonNegative, Positive

Array = NDArray[np.float64]
Column = str | int

# Knots of a smooth, and of each side of a pair. With 20 knots the motorcycle data are fitted as by mgcv with 30. With 4
# knots for pairs, held-out errors are those with 6 (concrete 4.61 and 4.59 MPa, yacht .50 and .51, kin8nm .163 and
# .163), in a third of the time.
N_KNOTS, N_PAIR_KNOTS = 20, 4
N_HARMONICS = 8


@dataclass(frozen=True)
class Term:
    """A term as a user names it; made by `smooth`, `linear`, `factor`, `random` and `pair`.

    Examples
    --------
    >>> from credo.additive import smooth
    >>> smooth("age", shape="increasing").label
    'smooth(age)'
    """

    kind: Literal["smooth", "linear", "factor", "random", "pair"]
    columns: tuple[Column, ...]
    by: Column | None = None
    shape: Literal["increasing", "decreasing"] | None = None
    cyclic: float | None = None
    shrink: bool = True

    def __post_init__(self) -> None:
        if self.shape not in (None, "increasing", "decreasing"):
            raise ValueError(f'shape must be None, "increasing" or "decreasing"; got {self.shape!r}')
        if self.cyclic is not None and not (isinstance(self.cyclic, int | float) and 0 < self.cyclic < np.inf):
            raise ValueError(f"cyclic must be the length of the cycle, a positive number; got {self.cyclic!r}")
        if self.shape is not None and (self.cyclic is not None or self.by is not None):
            raise ValueError("shape can't be combined with cyclic or by")

    @property
    def label(self) -> str:
        """The term as text."""
        inside = [str(column) for column in self.columns]
        inside += [] if self.by is None else [f"by={self.by}"]
        inside += [] if self.cyclic is None else [f"cyclic={self.cyclic:g}"]
        return f"{self.kind}({', '.join(inside)})"


def smooth(
    column: Column,
    *,
    shape: Literal["increasing", "decreasing"] | None = None,
    by: Column | None = None,
    cyclic: float | None = None,
) -> Term:
    """A smooth curve: a straight line and the deviation from it by a cubic spline, each with a variance of its own.

    So a curve can shrink to a line, and a line to nothing. Beyond the training rows it continues as a straight line.

    Parameters
    ----------
    column : str or int
        The name or position of a numeric column.
    shape : {"increasing", "decreasing"}, optional
        A monotone curve: the Gaussian posterior of the coefficients is truncated to monotone ones, and replaced by
        the normal distribution with the mean and covariance of that. The variances are learned without the constraint.
    by : str or int, optional
        A curve for each level of a factor, all with the same variances; or, for a numeric column, a coefficient of that
        column that changes smoothly.
    cyclic : float, optional
        The length of a cycle, such as 24 for hours: the curve ends where it starts.

    Examples
    --------
    >>> from credo.additive import smooth
    >>> smooth("hour", cyclic=24).label
    'smooth(hour, cyclic=24)'
    """
    return Term("smooth", (column,), by, shape, cyclic)


def linear(column: Column, *, shrink: bool = False) -> Term:
    """A straight line, with a flat prior on its slope or, if `shrink`, a normal one with a learned variance.

    Examples
    --------
    >>> from credo.additive import linear
    >>> linear("dose").label
    'linear(dose)'
    """
    return Term("linear", (column,), shrink=shrink)


def factor(column: Column, *, shrink: bool = True) -> Term:
    """An effect for each level of a column; their variance is learned, so that they shrink to each other.

    A level that the training rows don't have gets the prior distribution. With `shrink=False` the prior is flat, the
    first level is the reference, and unknown levels raise an error.

    Examples
    --------
    >>> from credo.additive import factor
    >>> factor("site").label
    'factor(site)'
    """
    return Term("factor", (column,), shrink=shrink)


def random(unit: Column, *, by: Column | None = None) -> Term:
    """A random intercept of each unit, or with `by` a random slope of that column: N(0, τ²), as in lme4.

    Examples
    --------
    >>> from credo.additive import random
    >>> random("patient", by="day").label
    'random(patient, by=day)'
    """
    return Term("random", (unit,), by)


def pair(a: Column, b: Column) -> Term:
    """What two columns do together beyond the sum of their own terms: a tensor product of two small bases.

    Examples
    --------
    >>> from credo.additive import pair
    >>> pair("age", "dose").label
    'pair(age, dose)'
    """
    return Term("pair", (a, b))


@dataclass(frozen=True)
class Indicators:
    """Columns of two values, for all levels of a factor but one; in every training row at most one is at its `high`.

    Columns that don't vary in the training rows have `high` one above `low`.
    """

    label: str
    columns: tuple[int, ...]
    low: Annotated[Array, Axes("k"), Finite]
    high: Annotated[Array, Axes("k"), Finite]

    @classmethod
    def of(cls, label: str, columns: Sequence[int], rows: Array) -> Indicators | None:
        """None if the columns aren't those of levels."""
        cells = rows[:, list(columns)]
        low, high = cells.min(axis=0), cells.max(axis=0)
        two = ((cells == low) | (cells == high)).all()
        if not two or ((cells == high) & (low < high)).sum(axis=1).max() > 1 or (low == high).all():
            return None
        return cls(label, tuple(columns), low, np.where(low < high, high, low + 1.0))

    def codes(self, rows: Array) -> Array:
        """0 for the level without a column, j for that of the j-th column, −1 for a row that is none of them."""
        share = (rows[:, list(self.columns)] - self.low) / (self.high - self.low)
        found = np.rint(share)
        known = (np.abs(share - found) < 1e-6) & ((found == 0) | (found == 1))
        return np.where(known.all(axis=1) & (found.sum(axis=1) <= 1), found @ np.arange(1.0, len(self.low) + 1), -1.0)


def coded(groups: Sequence[Indicators], rows: Array) -> Array:
    """The rows with the codes of each factor in the first of its columns."""
    if groups:
        rows = rows.copy()
        for group in groups:
            rows[:, group.columns[0]] = group.codes(rows)
    return rows


@dataclass(frozen=True)
class Line:
    """(x − center)/scale."""

    column: Annotated[int, NonNegative]
    center: Annotated[float, Finite]
    scale: Annotated[float, Finite, Positive]

    @property
    def width(self) -> int:
        """The number of columns."""
        return 1

    def __call__(self, rows: Array) -> Array:
        """Shape (n, 1)."""
        return (rows[:, [self.column]] - self.center) / self.scale


@dataclass(frozen=True)
class Spline:
    """Cubic splines without their linear part, straight beyond the knots; ∫ f''² is proportional to wᵀw."""

    column: Annotated[int, NonNegative]
    knots: Annotated[Array, Axes("k"), Finite, Increasing]
    coordinates: Annotated[Array, Axes("k+2 m"), Finite]

    @property
    def _all_knots(self) -> Array:
        first, last = self.knots[0], self.knots[-1]
        return np.concatenate([[first] * 3, self.knots, [last] * 3])

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.coordinates.shape[1]

    def __call__(self, rows: Array) -> Array:
        """Shape (n, m)."""
        x = rows[:, self.column]
        first, last = self.knots[0], self.knots[-1]
        curves = BSpline(self._all_knots, self.coordinates, 3)
        found = np.asarray(curves(np.clip(x, first, last)))
        for end, outside in ((first, x < first), (last, x > last)):
            if outside.any():
                found[outside] += (x[outside] - end)[:, None] * curves.derivative()(end)
        return found

    def increments(self) -> Array:
        """Differences of neighboring B-spline coefficients as functions of (slope, w): all positive, it increases."""
        t = self._all_knots
        # The coefficients of the line x are Greville's abscissae.
        greville = (t[1:-3] + t[2:-2] + t[3:-1]) / 3
        return np.diff(np.column_stack([greville, self.coordinates]), axis=0)


@dataclass(frozen=True)
class Cycle:
    """cos and sin of 2πjx/period, divided by j², so that ∫ f''² is proportional to wᵀw."""

    column: Annotated[int, NonNegative]
    period: Annotated[float, Finite, Positive]
    n_harmonics: Annotated[int, Positive]

    @property
    def width(self) -> int:
        """The number of columns."""
        return 2 * self.n_harmonics

    def __call__(self, rows: Array) -> Array:
        """Shape (n, 2·n_harmonics)."""
        j = np.arange(1, self.n_harmonics + 1)
        angle = (2 * np.pi / self.period) * rows[:, [self.column]] * j
        return np.concatenate([np.cos(angle) / j**2, np.sin(angle) / j**2], axis=1)


@dataclass(frozen=True)
class Levels:
    """Indicators of the levels of a column, and one more of any other level; or of all but the first, if `fixed`."""

    column: Annotated[int, NonNegative]
    levels: Annotated[Array, Axes("k"), Finite, Increasing]
    fixed: bool
    label: str

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.levels) + (-1 if self.fixed else 1)

    def __call__(self, rows: Array) -> Array:
        """Shape (n, n_levels + 1), or (n, n_levels − 1) if `fixed`."""
        x = rows[:, self.column]
        place = np.searchsorted(self.levels, x).clip(max=len(self.levels) - 1)
        unknown = self.levels[place] != x
        if self.fixed and unknown.any():
            raise ValueError(
                f"column {self.label} has a level that the training rows don't have, in row {int(np.argmax(unknown))}: "
                "use factor(column) with a learned variance, which allows new levels"
            )
        found = np.zeros((len(x), len(self.levels) + 1))
        found[np.arange(len(x)), np.where(unknown, len(self.levels), place)] = 1.0
        return found[:, 1:-1] if self.fixed else found


@dataclass(frozen=True)
class SideBySide:
    """Bases side by side."""

    bases: tuple[Any, ...]

    @property
    def width(self) -> int:
        """The number of columns."""
        return sum(basis.width for basis in self.bases)

    def __call__(self, rows: Array) -> Array:
        """All columns of all bases."""
        return np.hstack([basis(rows) for basis in self.bases])


@dataclass(frozen=True)
class Block:
    """The row-wise product of bases, whose coefficients share a variance, or have flat priors unless `shrunk`."""

    term: Annotated[int, NonNegative]
    bases: tuple[Any, ...]
    shrunk: bool = True

    def __post_init__(self) -> None:
        if not self.bases:
            raise ValueError("a block needs at least one basis")

    @property
    def width(self) -> int:
        """The number of columns."""
        return math.prod(basis.width for basis in self.bases)

    @property
    def columns(self) -> list[int]:
        """The columns of the bases."""
        parts = (basis.bases if isinstance(basis, SideBySide) else (basis,) for basis in self.bases)
        return [one.column for bases in parts for one in bases]

    @property
    def has_levels(self) -> bool:
        """Whether the coefficients are effects of levels."""
        return any(isinstance(basis, Levels) for basis in self.bases)

    def __call__(self, rows: Array) -> Array:
        """Shape (n, the product of the bases' widths)."""
        return reduce(_row_products, (basis(rows) for basis in self.bases))


def design(blocks: Sequence[Block], rows: Array, out: Array | None = None) -> Array:
    """The columns of all blocks."""
    found = np.empty((len(rows), sum(block.width for block in blocks))) if out is None else out
    start = 0
    for block in blocks:
        found[:, start : start + block.width] = block(rows)
        start += block.width
    return found


def _row_products(A: Array, B: Array) -> Array:
    return (A[:, :, None] * B[:, None, :]).reshape(len(A), -1)


class TrainingColumns:
    """The training rows, with the sorted distinct values of each column, and its kind: "levels" or "number"."""

    def __init__(self, rows: Array, kinds: Sequence[str]) -> None:
        self.rows, self.kinds = rows, kinds
        self._values: dict[int, Array] = {}

    def values(self, j: int) -> Array:
        """The distinct values of a column."""
        if j not in self._values:
            self._values[j] = np.unique(self.rows[:, j])
        return self._values[j]


def blocks_of(terms: Sequence[Term], index: Sequence[tuple[int, ...]], columns: TrainingColumns) -> list[Block]:
    """The blocks of all terms; `index` has the positions of the columns of each term, that of `by` last."""
    makers = {"smooth": _smooth, "linear": _linear, "factor": _factor, "random": _random, "pair": _pair}
    return [block for k, term in enumerate(terms) for block in makers[term.kind](k, term, index[k], columns)]


def _smooth(k: int, term: Term, at: tuple[int, ...], columns: TrainingColumns) -> list[Block]:
    j = at[0]
    _require_numbers(term, j, columns)
    if term.cyclic is not None:
        parts: list[Any] = [Cycle(j, float(term.cyclic), N_HARMONICS)]
    else:
        values = columns.values(j)
        parts = [basis for basis in (line(j, values), spline(j, values, N_KNOTS)) if basis is not None]
    if term.by is None:
        return [Block(k, (part,)) for part in parts]
    other = at[1]
    if columns.kinds[other] == "levels":
        return [Block(k, (levels(other, columns, str(term.by)), part)) for part in parts]
    return [Block(k, (Line(other, 0.0, 1.0),)), *(Block(k, (Line(other, 0.0, 1.0), part)) for part in parts)]


def _linear(k: int, term: Term, at: tuple[int, ...], columns: TrainingColumns) -> list[Block]:
    _require_numbers(term, at[0], columns)
    found = line(at[0], columns.values(at[0]))
    return [] if found is None else [Block(k, (found if term.shrink else Line(at[0], 0.0, 1.0),), term.shrink)]


def _require_numbers(term: Term, j: int, columns: TrainingColumns) -> None:
    if columns.kinds[j] == "levels":
        raise ValueError(f"{term.label} needs a numeric column, and {term.columns[0]!r} has text: use factor")


def _factor(k: int, term: Term, at: tuple[int, ...], columns: TrainingColumns) -> list[Block]:
    return [Block(k, (levels(at[0], columns, str(term.columns[0]), fixed=not term.shrink),), term.shrink)]


def _random(k: int, term: Term, at: tuple[int, ...], columns: TrainingColumns) -> list[Block]:
    unit = levels(at[0], columns, str(term.columns[0]))
    return [Block(k, (unit,) if term.by is None else (unit, Line(at[1], 0.0, 1.0)))]


def _pair(k: int, term: Term, at: tuple[int, ...], columns: TrainingColumns) -> list[Block]:
    sides: list[Any] = []
    for j, name in zip(at, term.columns, strict=True):
        if columns.kinds[j] == "levels":
            sides.append(levels(j, columns, str(name)))
            continue
        values = columns.values(j)
        parts = tuple(basis for basis in (line(j, values), spline(j, values, N_PAIR_KNOTS)) if basis is not None)
        if not parts:
            return []
        sides.append(SideBySide(parts))
    return [Block(k, tuple(sides))]


def line(j: int, values: Array) -> Line | None:
    """The standardized column; None if it is constant."""
    if len(values) < 2:
        return None
    # By the distinct values, as the knots of a spline: repeated rows don't change it.
    return Line(j, float(values.mean()), float(values.std()) or 1.0)


def levels(j: int, columns: TrainingColumns, label: str, *, fixed: bool = False) -> Levels:
    """Indicators of the distinct values of a column."""
    return Levels(j, columns.values(j), fixed, label)


def spline(j: int, values: Array, n_knots: int) -> Spline | None:
    """Cubic splines with knots at quantiles of the distinct values; None if there are fewer than three."""
    if len(values) < 3:
        return None
    knots = np.unique(np.quantile(values, np.linspace(0.0, 1.0, min(n_knots, len(values) - 1))))
    if len(knots) < 2 or not (np.diff(knots) > 1e-9 * (knots[-1] - knots[0])).all():
        knots = values[[0, -1]]
    every = np.concatenate([[knots[0]] * 3, knots, [knots[-1]] * 3])
    # Second derivatives are straight lines between knots, so that two Gauss points in each interval are exact.
    half, middle = 0.5 * np.diff(knots), 0.5 * (knots[1:] + knots[:-1])
    places = np.concatenate([middle - half / np.sqrt(3), middle + half / np.sqrt(3)])
    second = BSpline(every, np.eye(len(every) - 4), 3).derivative(2)(places)
    span = knots[-1] - knots[0]
    penalty = span**3 * (second.T * np.tile(half, 2)) @ second
    curvature, axes = np.linalg.eigh(penalty)
    # Constants and straight lines have no curvature.
    coordinates = axes[:, 2:] / np.sqrt(np.maximum(curvature[2:], 1e-12 * curvature[-1]))
    # Of the size of a standardized line, beside which they share a variance in a pair.
    curves = BSpline(every, coordinates, 3)(values[:: len(values) // 1000 + 1])
    return Spline(j, knots, coordinates / np.sqrt(curves.var(axis=0).sum()))
