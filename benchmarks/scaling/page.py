"""The figure and the page "Which method when", from measured numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.scaling.cases import MIDDLE, WIDE
from benchmarks.scaling.measure import Curve

_TEMPLATE = Path(__file__).with_name("template.md")
_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#000000", "#8c6d31", "#6b4c9a")
_TITLES = {
    "one evaluation": "Gaussian process: one log evidence with gradient",
    "Gaussian processes": "GPRegressor: a whole fit with defaults",
    "other models": "Other models: a whole fit with defaults",
}
# What the arithmetic for a cluster assumes.
_ROWS, _PARTITION, _CORES = 10**9, 10**6, 100


def draw(curves: Sequence[Curve], path: Path) -> None:
    """Seconds above, memory below, one column of panels for each group."""
    figure = Figure(figsize=(14, 9.6), layout="constrained")
    axes = figure.subplots(2, 3, sharex="col")
    for (above, below), (group, title) in zip(axes.T, _TITLES.items(), strict=True):
        own = [curve for curve in curves if curve.group == group and curve.points]
        for curve, color in zip(own, _COLORS, strict=False):
            n, name = [point.n for point in curve.points], curve.name.removeprefix("GPRegressor, ")
            seconds, megabytes = [p.seconds for p in curve.points], [max(p.megabytes, 0.1) for p in curve.points]
            above.loglog(n, seconds, "o-", color=color, ms=4, label=f"{name}: n^{curve.exponent:.2f}")
            below.loglog(n, megabytes, "o-", color=color, ms=4, label=f"{name}: n^{curve.memory_exponent:.2f}")
        above.set_title(title, fontsize=10)
        below.set_xlabel("rows")
        for axis in (above, below):
            axis.legend(fontsize=7, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2)
            axis.grid(alpha=0.2)
            axis.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("seconds of one core")
    axes[1, 0].set_ylabel("peak memory beside the table, MB")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def page(curves: Sequence[Curve], sizes: Mapping[str, float]) -> str:
    """The page as Markdown."""
    by_name = {curve.name: curve for curve in curves}
    return _TEMPLATE.read_text(encoding="utf-8").format(
        minute={name: _rows(_in_a_minute(curve)) for name, curve in by_name.items()},
        table={group: _table([curve for curve in curves if curve.group == group]) for group in _TITLES},
        cluster="\n".join(
            _pass(by_name[name], n_columns, sizes[name])
            for name, n_columns in (("summarize", WIDE), ("summary of inducing points", MIDDLE))
        ),
    )


def _table(curves: Sequence[Curve]) -> str:
    return _lines(
        ["method", "columns", "rows", "seconds", "MB", "time ∝", "memory ∝", "rows in a minute"],
        [
            [
                curve.name,
                curve.n_columns,
                f"{curve.points[-1].n:,}",
                f"{curve.points[-1].seconds:.3g}",
                f"{curve.points[-1].megabytes:.0f}",
                f"n^{curve.exponent:.2f}",
                f"n^{curve.memory_exponent:.2f}",
                _rows(_in_a_minute(curve)),
            ]
            for curve in curves
        ],
    )


def _lines(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in (head, ["---"] * len(head), *rows))


def _pass(curve: Curve, n_columns: int, size: float) -> str:
    """The line of a summary in the table of what a cluster needs."""
    last, n_partitions = curve.points[-1], _ROWS // _PARTITION
    speed, partition = last.n / last.seconds, 8.0 * _PARTITION * (n_columns + 1)
    worker = partition + last.megabytes * 2**20 * min(1.0, _PARTITION / last.n) + 2 * size
    cells = (
        f"{curve.name}, {n_columns} columns",
        f"{speed:,.0f}",
        f"{_ROWS / speed:,.0f}",
        f"{_ROWS / speed / _CORES:,.0f} s",
        _bytes(size),
        f"{n_partitions:,} × {_bytes(size)} = {_bytes(size * n_partitions)}",
        _bytes(partition),
        _bytes(worker),
    )
    return "| " + " | ".join(cells) + " |"


def _in_a_minute(curve: Curve) -> float:
    """Where starting costs hide it, time is taken to grow as it does in the end: with n³ or n."""
    last, least = curve.points[-1], 3.0 if "exact" in curve.name else 1.0
    return last.n * (60.0 / last.seconds) ** (1.0 / max(curve.exponent, least))


def _rows(n: float) -> str:
    """Two digits."""
    if not math.isfinite(n):
        return "not measured"
    digits = 10 ** (math.floor(math.log10(n)) - 1)
    return f"{round(n / digits) * digits:,}"


def _bytes(size: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"
