"""Kernels in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.kernels import Kernel, Linear, Matern32, Periodic, RationalQuadratic
from credo.kernels.stationary import Stationary
from credo.selection._kernel_moves import LONG, base, column_of, terms_of

Array = NDArray[np.float64]

# Units of time in days.
_DAYS = {
    "second": 1 / 86400, "minute": 1 / 1440, "hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 365.25 / 12,
    "quarter": 365.25 / 4, "year": 365.25,
}  # fmt: skip
_CYCLES = {"hourly": 1 / 24, "daily": 1.0, "weekly": 7.0, "monthly": 365.25 / 12, "yearly": 365.25}
# A period within this share of a named one has its name.
_SAME = 0.015
# Numbers in this range that have no other unit are years.
_YEARS = 1500.0, 2200.0
# Length scales below this share of the range of the column are short-term.
_SHORT = 0.03
# Correlation with x from which a smooth function rises or falls.
_MONOTONE = 0.85


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
        if not unit and _YEARS[0] <= low and high <= _YEARS[1] and high - low > 2:
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
        """A periodic function, by the name of its period where it has one."""
        days = period * _DAYS.get(self.unit, np.nan)
        for name, length in _CYCLES.items():
            if abs(days / length - 1) < _SAME:
                return f"a {name} cycle"
        return f"a cycle with a period of {self.length(period)}"


def words(term: Kernel, axes: Sequence[Axis], X: Array, mean: Array) -> str:
    """A product of base kernels as a phrase; `mean` is its posterior mean at the rows of X."""
    # Of a polynomial, its highest power.
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
    if share > LONG and sense:
        text = f"{'an' if kind == 'irregular' else 'a'} {kind} {sense} trend"
        return text if share > 1 else f"{text} that bends over {over}"
    if share > LONG:
        return f"slow {kind} variation over {over}{growth}"
    if share < _SHORT:
        return f"{kind} short-term deviations that last {over}{growth}"
    return f"{kind} variation over {over}{growth}"


def _about(axis: Axis, kernel: Kernel) -> str:
    return f"about {axis.length(float(kernel.params['lengthscale']))}".replace("about much", "much")


def direction(x: Array, mean: Array) -> str:
    """Whether a function is "rising" or "falling", by its correlation with x, or neither."""
    if not np.ptp(mean) or not np.ptp(x):
        return ""
    correlation = float(np.corrcoef(x, mean)[0, 1])
    return "rising" if correlation > _MONOTONE else "falling" if correlation < -_MONOTONE else ""


def _growth(line: Linear, axis: Axis) -> str:
    """How |x − center| changes along the column."""
    center = float(np.mean(line.center))
    if axis.low < center < axis.high:
        return f"grows with the distance from {center:.4g}"
    return "grows" if center <= axis.low else "shrinks"
