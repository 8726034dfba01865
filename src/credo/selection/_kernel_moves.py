"""Sums of products of base kernels, and the changes to them that a search tries.

A kernel is a list of terms, each a list of base kernels ("factors"), each on one column. Within a term only the first
factor has a free variance, because the others would only multiply it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add, mul
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lombscargle

from credo.kernels import (
    RBF,
    Columns,
    Constant,
    Kernel,
    Linear,
    Matern32,
    Periodic,
    Product,
    RationalQuadratic,
    Sum,
    ZeroMeanPeriodic,
)
from credo.kernels.stationary import Stationary
from credo.params import LogNormal

Array = NDArray[np.float64]
Terms = list[list[Kernel]]

# The most factors of a term.
_MOST_FACTORS = 3
# Periods are searched with this many frequencies for each that the data can tell apart, but no more in all.
_OVERSAMPLING, _MOST_FREQUENCIES = 5, 50_000
# Length scales above this share of the range of a column make a trend.
LONG = 0.2
# Fewer rows than this show no period.
_FEW_ROWS = 12


@dataclass(frozen=True)
class Column:
    """A column of the table: where its values are, and what data-driven starting points need.

    `step` is the median distance of neighbours, and `zero` where the amplitude of y, extrapolated linearly, would be
    zero. `only` says that the table has no other column.
    """

    index: int
    low: float
    high: float
    spread: float
    step: float
    zero: float
    only: bool

    @classmethod
    def of(cls, X: Array, y: Array, j: int) -> Column:
        x = X[:, j]
        low, high = float(x.min()), float(x.max())
        step = float(np.median(np.diff(np.unique(x)))) if high > low else 0.0
        return cls(j, low, high, float(x.std()), step, _zero_of_amplitude(x, detrended(x, y)), X.shape[1] == 1)

    @property
    def span(self) -> float:
        return self.high - self.low

    @property
    def middle(self) -> float:
        return 0.5 * (self.low + self.high)

    def place(self, kernel: Kernel) -> Kernel:
        """The kernel on this column."""
        return kernel if self.only else kernel.on(self.index)

    def line(self, center: float) -> Kernel:
        """Of size 1, as `size` defines it."""
        return self.place(Linear(1.0 / self.spread**2, center=center))

    def cycle(self, period: float) -> Kernel:
        """The frequency is known to a fraction of 1/span."""
        width = max(0.3 * period / self.span, 0.003)
        kernel = ZeroMeanPeriodic(1.0, period=period).with_prior("period", LogNormal(period, width))
        return self.place(kernel.with_prior("lengthscale", LogNormal(1.0, 0.7)))

    def smooth(self, kind: type[Stationary], lengthscale: float) -> Kernel:
        kernel = kind(lengthscale)
        if kind is RationalQuadratic:
            # As the shape tends to zero, the kernel tends to a constant.
            kernel = kernel.with_prior("shape", LogNormal(1.0, 0.5))
        return self.place(kernel)


def terms_of(kernel: Kernel) -> Terms:
    """The factors of each term; of a kernel without any, none."""
    if base(kernel).__class__ is Constant:
        return []
    return [list(_parts(term, Product)) for term in _parts(kernel, Sum)]


def _parts(kernel: Kernel, kind: type[Sum] | type[Product]) -> Sequence[Kernel]:
    return kernel.terms if isinstance(kernel, kind) else [kernel]


def base(factor: Kernel) -> Kernel:
    """The kernel without its choice of columns."""
    return factor.kernel if isinstance(factor, Columns) else factor


def column_of(factor: Kernel) -> int:
    """The column that a factor is on."""
    return int(np.ravel(factor.columns)[0]) if isinstance(factor, Columns) else 0  # type: ignore[arg-type]


def joined(terms: Terms, columns: Sequence[Column]) -> Kernel:
    """The sum of products, with one free variance in each term; without terms, a constant that changes nothing."""
    if not terms:
        return Constant(1.0).fix()
    return reduce(add, [_product(term, columns) for term in terms])


def _product(term: Sequence[Kernel], columns: Sequence[Column]) -> Kernel:
    by_index = {column.index: column for column in columns}
    scales = [by_index[column_of(factor)].spread ** 2 if _is(factor, Linear) else 1.0 for factor in term]
    size = float(np.prod([f.params["variance"] * scale for f, scale in zip(term, scales, strict=True)]))
    first = term[0].with_params(variance=size / scales[0]).free("variance")
    others = [
        f.with_params(variance=1.0 / scale).fix("variance") for f, scale in zip(term[1:], scales[1:], strict=True)
    ]
    return reduce(mul, [first, *others])


def _is(factor: Kernel, kind: type[Any]) -> bool:
    return isinstance(base(factor), kind)


def is_line(term: Sequence[Kernel], column: Column) -> bool:
    """Whether a term has a linear factor on the column, and no periodic one."""
    lines = any(_is(factor, Linear) and column_of(factor) == column.index for factor in term)
    return lines and not any(_is(factor, Periodic) for factor in term)


def is_long(term: Sequence[Kernel], column: Column) -> bool:
    """Whether a term is a stationary function of the column alone, with a long length scale."""
    kernel = base(term[0])
    if len(term) > 1 or column_of(term[0]) != column.index or not isinstance(kernel, Stationary):
        return False
    return float(kernel.params["lengthscale"]) > LONG * column.span


def form(terms: Terms) -> tuple[tuple[str, ...], ...]:
    """What two kernels share that differ only in the values of their parameters."""
    return tuple(sorted(tuple(sorted(f"{type(base(f)).__name__} {column_of(f)}" for f in term)) for term in terms))


def changes(
    terms: Terms, columns: Sequence[Column], periods: dict[int, list[float]], *, noise: float
) -> Iterator[Terms]:
    """Every kernel one step away, with starting values: a term more, a factor more, another factor, one less.

    `noise` is the noise variance so far, of standardised targets, and `periods` are the candidates for each column.
    """
    # A new term is smaller than y but, unless it is short-term, larger than the noise.
    large, small = min(0.5 * np.sqrt(noise), 1.0), min(2.0 * noise, 1.0)
    for column in columns:
        for size, new in ((large, _long_terms(column, periods[column.index])), (small, _short_terms(column))):
            yield from ([*terms, [size * term[0], *term[1:]]] for term in new)
    for i, term in enumerate(terms):
        others = terms[:i] + terms[i + 1 :]
        for column in columns:
            yield from ([*others, [*term, more]] for more in _new_factors(term, column, periods[column.index]))
        for k, factor in enumerate(term):
            column = next(column for column in columns if column.index == column_of(factor))
            yield from ([*others, [*term[:k], other, *term[k + 1 :]]] for other in _instead(factor, column))
            rest = term[:k] + term[k + 1 :]
            yield [*others, rest] if rest else others


def _long_terms(column: Column, periods: Sequence[float]) -> Iterator[list[Kernel]]:
    yield [column.line(column.middle)]
    yield [column.smooth(RBF, 0.3 * column.span)]
    yield [column.smooth(Matern32, 0.1 * column.span)]
    for period in periods:
        yield [column.cycle(period)]
        # A cycle that drifts may explain less than smooth variation, as long as its shape is fixed.
        yield [column.cycle(period), column.smooth(RBF, column.span)]


def _short_terms(column: Column) -> Iterator[list[Kernel]]:
    lengthscale = min(10.0 * column.step, 0.1 * column.span)
    yield from ([column.smooth(kind, lengthscale)] for kind in (RBF, Matern32, RationalQuadratic))


def _new_factors(term: list[Kernel], column: Column, periods: Sequence[float]) -> Iterator[Kernel]:
    own = [factor for factor in term if column_of(factor) == column.index]
    if len(term) >= _MOST_FACTORS:
        return
    if not any(_is(factor, Linear) for factor in own):
        yield column.line(column.zero)
    elif len(own) == 1:
        yield column.line(column.middle)
    if not any(_is(factor, Stationary) for factor in own):
        yield column.smooth(RBF, column.span)
    if not any(_is(factor, Periodic) for factor in own):
        yield from (column.cycle(period) for period in periods[:2])


def _instead(factor: Kernel, column: Column) -> Iterator[Kernel]:
    """Other kinds in place of a factor that isn't periodic."""
    if _is(factor, Periodic):
        return
    kernel, variance = base(factor), float(factor.params["variance"])
    if isinstance(kernel, Linear):
        yield (variance * column.spread**2) * column.smooth(RBF, column.span)
        return
    yield (variance / column.spread**2) * column.place(Linear(center=column.middle))
    for kind in (RBF, Matern32, RationalQuadratic):
        if not isinstance(kernel, kind):
            yield variance * column.smooth(kind, float(kernel.params["lengthscale"]))


def detrended(x: Array, y: Array) -> Array:
    """y minus its cubic trend in x."""
    degree = min(3, len(np.unique(x)) - 1)
    return y - np.polynomial.Chebyshev.fit(x, y, degree)(x) if np.ptp(x) > 0 else y - y.mean()


def _zero_of_amplitude(x: Array, rest: Array) -> float:
    """Where the least-squares line through |rest| is zero, kept outside of the data but near them."""
    low, span = float(x.min()), float(np.ptp(x))
    if not span:
        return low
    slope, height = np.polyfit((x - low) / span, np.abs(rest), 1)
    at = -height / slope if slope else -2.0
    return low + span * float(np.clip(at, -2.0, -0.05) if slope >= 0 else np.clip(at, 1.05, 3.0))


def likely_periods(x: Array, rest: Array) -> list[float]:
    """Periods of the two highest peaks of the Lomb–Scargle periodogram, and of the two of power times frequency.

    The second ranking finds cycles beside slow variation, whose power falls with frequency.
    """
    x, span = x - x.min(), float(np.ptp(x))
    gaps = np.diff(np.unique(x))
    if len(gaps) + 1 < _FEW_ROWS or not rest.any():
        return []
    step = 1.0 / (_OVERSAMPLING * span)
    highest = min(0.5 / float(np.median(gaps)), _MOST_FREQUENCIES * step)
    frequency = np.arange(2.0 / span, highest * (1 + 1e-9), step)
    if not len(frequency):
        return []
    power = lombscargle(x, rest - rest.mean(), 2 * np.pi * frequency)
    found: list[float] = []
    for score in (power, power * frequency):
        left = score.copy()
        for _ in range(2):
            peak = int(np.argmax(left))
            if not any(abs(1 / period - frequency[peak]) < 1.0 / span for period in found):
                found.append(float(1.0 / frequency[peak]))
            left[np.abs(frequency - frequency[peak]) < 1.5 / span] = 0.0
    return found
