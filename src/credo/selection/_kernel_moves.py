"""Sums of products of base kernels, the changes to them that a search tries, and their descriptions.

A kernel is a list of terms, each a list of base kernels ("factors"), each on one column. Within a term only the first
factor has a free variance, because the others would only multiply it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add, mul
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lombscargle

from credo.core.params import LogNormal
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

Array = NDArray[np.float64]
Terms = list[list[Kernel]]

# Length scales above this share of the range of a column count as a trend.
TREND_SHARE = 0.2


@dataclass(frozen=True)
class Column:
    """A column of the table: its values, and statistics for data-driven starting points.

    `step` is the median distance of neighbors, and `zero` the point at which the amplitude of y, extrapolated
    linearly, is zero. `only` says that the table has no other column.
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
    """The factors of each term; empty for a constant kernel."""
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
    return float(kernel.params["lengthscale"]) > TREND_SHARE * column.span


def form(terms: Terms) -> tuple[tuple[str, ...], ...]:
    """The structure of a kernel, without the values of its parameters."""
    return tuple(sorted(tuple(sorted(f"{type(base(f)).__name__} {column_of(f)}" for f in term)) for term in terms))


def changes(
    terms: Terms, columns: Sequence[Column], periods: dict[int, list[float]], *, noise: float
) -> Iterator[Terms]:
    """Every kernel one step away, with starting values: a term more, a factor more, another factor, one less.

    `noise` is the noise variance so far, of standardized targets, and `periods` are the candidates for each column.
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
            residuals = term[:k] + term[k + 1 :]
            yield [*others, residuals] if residuals else others


def _long_terms(column: Column, periods: Sequence[float]) -> Iterator[list[Kernel]]:
    yield [column.line(column.middle)]
    yield [column.smooth(RBF, 0.3 * column.span)]
    yield [column.smooth(Matern32, 0.1 * column.span)]
    for period in periods:
        yield [column.cycle(period)]
        # A drifting cycle may explain less than smooth variation while its shape is fixed.
        yield [column.cycle(period), column.smooth(RBF, column.span)]


def _short_terms(column: Column) -> Iterator[list[Kernel]]:
    lengthscale = min(10.0 * column.step, 0.1 * column.span)
    yield from ([column.smooth(kind, lengthscale)] for kind in (RBF, Matern32, RationalQuadratic))


def _new_factors(term: list[Kernel], column: Column, periods: Sequence[float]) -> Iterator[Kernel]:
    own = [factor for factor in term if column_of(factor) == column.index]
    if len(term) >= 3:
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


def _zero_of_amplitude(x: Array, residuals: Array) -> float:
    """Where the least-squares line through |residuals| is zero, kept outside of the data but near them."""
    low, span = float(x.min()), float(np.ptp(x))
    if not span:
        return low
    slope, height = np.polyfit((x - low) / span, np.abs(residuals), 1)
    at = -height / slope if slope else -2.0
    return low + span * float(np.clip(at, -2.0, -0.05) if slope >= 0 else np.clip(at, 1.05, 3.0))


def likely_periods(x: Array, residuals: Array) -> list[float]:
    """Periods of the two highest peaks of the Lomb–Scargle periodogram, and of the two of power times frequency.

    The second ranking finds cycles in the presence of slow variation, whose power falls with frequency.
    """
    x, span = x - x.min(), float(np.ptp(x))
    gaps = np.diff(np.unique(x))
    if len(gaps) + 1 < 12 or not residuals.any():
        return []
    # Five frequencies for each that the data can resolve, at most 50,000.
    step = 1.0 / (5 * span)
    highest = min(0.5 / float(np.median(gaps)), 50_000 * step)
    frequency = np.arange(2.0 / span, highest * (1 + 1e-9), step)
    if not len(frequency):
        return []
    power = lombscargle(x, residuals - residuals.mean(), 2 * np.pi * frequency)
    found: list[float] = []
    for score in (power, power * frequency):
        left = score.copy()
        for _ in range(2):
            peak = int(np.argmax(left))
            if not any(abs(1 / period - frequency[peak]) < 1.0 / span for period in found):
                found.append(float(1.0 / frequency[peak]))
            left[np.abs(frequency - frequency[peak]) < 1.5 / span] = 0.0
    return found


# Units of time in days.
_DAYS = {
    "second": 1 / 86400, "minute": 1 / 1440, "hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 365.25 / 12,
    "quarter": 365.25 / 4, "year": 365.25,
}  # fmt: skip
_CYCLES = {"hourly": 1 / 24, "daily": 1.0, "weekly": 7.0, "monthly": 365.25 / 12, "yearly": 365.25}
# Numbers in this range without another unit are years.
_YEAR_RANGE = 1500.0, 2200.0
# A smooth function with a larger correlation with x is called rising or falling.
_MIN_TREND_CORRELATION = 0.85


@dataclass(frozen=True)
class Axis:
    """A column's name, range and unit of time, if it has one."""

    name: str
    low: float
    high: float
    unit: str

    @classmethod
    def of(cls, name: str, x: Array) -> Axis:
        low, high = float(x.min()), float(x.max())
        tokens = re.split(r"[^a-z]+", name.lower())
        unit = next((unit for unit in _DAYS for token in tokens if token in (unit, f"{unit}s")), "")
        if not unit and _YEAR_RANGE[0] <= low and high <= _YEAR_RANGE[1] and high - low > 2:
            unit = "year"
        return cls(name, low, high, unit)

    def length(self, value: float) -> str:
        """A length along the column, such as "11.1 years"; beyond ten times its range, only that."""
        span = self.high - self.low
        if value > 10 * span:
            return f"much more than the range of {self.name}"
        number = f"{value:.3g}" if value < 1000 else f"{value:.0f}"
        return f"{number} {self.unit}{'s' if number != '1' else ''}" if self.unit else f"{number}"

    def cycle(self, period: float) -> str:
        """A periodic function, by the name of its period if it has one."""
        days = period * _DAYS.get(self.unit, np.nan)
        for name, length in _CYCLES.items():
            if abs(days / length - 1) < 0.015:
                return f"a {name} cycle"
        return f"a cycle with a period of {self.length(period)}"


def words(term: Kernel, axes: Sequence[Axis], X: Array, mean: Array) -> str:
    """A product of base kernels as a phrase; `mean` is its posterior mean at the rows of X."""
    # A polynomial is named by its highest power.
    factors = max(terms_of(term), key=len)
    used = sorted({column_of(factor) for factor in factors}, key=lambda j: [column_of(f) for f in factors].index(j))
    phrases = []
    for j in used:
        own = [base(factor) for factor in factors if column_of(factor) == j]
        phrases.append(_phrase(own, axes[j], X[:, j], mean, alone=len(used) == 1))
    first = phrases[0] + (f" in {axes[used[0]].name}" if len(axes) > 1 else "")
    changing = [f"{axes[j].name} ({phrase})" for j, phrase in zip(used[1:], phrases[1:], strict=True)]
    return first + (f", which changes with {' and '.join(changing)}" if changing else "")


def _phrase(own: Sequence[Kernel], axis: Axis, x: Array, mean: Array, *, alone: bool) -> str:
    """The factors of one column."""
    lines = [kernel for kernel in own if isinstance(kernel, Linear)]
    cycle = next((kernel for kernel in own if isinstance(kernel, Periodic)), None)
    smooth = next((kernel for kernel in own if isinstance(kernel, Stationary)), None)
    sense = direction(x, mean) if alone else ""
    if cycle is not None:
        text = axis.cycle(float(cycle.params["period"]))
        changes = []
        if smooth is not None:
            changes.append(f"shape drifts over {_about(axis, smooth)}")
        if lines:
            changes.append(f"amplitude {_growth(lines[0], axis)}")
        return f"{text} whose {' and whose '.join(changes)}" if changes else text
    if smooth is None:
        kind = "linear" if len(lines) == 1 else "quadratic"
        return " ".join(filter(None, ["a", sense, kind, "trend"]))
    return _smooth_words(smooth, axis, sense, f", whose amplitude {_growth(lines[0], axis)}" if lines else "")


def _smooth_words(kernel: Stationary, axis: Axis, sense: str, growth: str) -> str:
    share = float(kernel.params["lengthscale"]) / (axis.high - axis.low)
    over = _about(axis, kernel)
    kind = {Matern32: "irregular", RationalQuadratic: "multi-scale"}.get(type(kernel), "smooth")
    if share > TREND_SHARE and sense:
        text = f"{'an' if kind == 'irregular' else 'a'} {kind} {sense} trend"
        return text if share > 1 else f"{text} that bends over {over}"
    if share > TREND_SHARE:
        return f"slow {kind} variation over {over}{growth}"
    if share < 0.03:
        return f"{kind} short-term deviations that last {over}{growth}"
    return f"{kind} variation over {over}{growth}"


def _about(axis: Axis, kernel: Kernel) -> str:
    return f"about {axis.length(float(kernel.params['lengthscale']))}".replace("about much", "much")


def direction(x: Array, mean: Array) -> str:
    """Whether a function is "rising" or "falling", by its correlation with x, or neither."""
    if not np.ptp(mean) or not np.ptp(x):
        return ""
    correlation = float(np.corrcoef(x, mean)[0, 1])
    return (
        "rising" if correlation > _MIN_TREND_CORRELATION else "falling" if correlation < -_MIN_TREND_CORRELATION else ""
    )


def _growth(line: Linear, axis: Axis) -> str:
    """How |x − center| changes along the column."""
    center = float(np.mean(line.center))
    if axis.low < center < axis.high:
        return f"grows with the distance from {center:.4g}"
    return "grows" if center <= axis.low else "shrinks"
