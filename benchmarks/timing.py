"""Timing on noisy machines: the contestants take turns, and the best of each counts."""

import gc
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any


@dataclass(frozen=True)
class Line:
    """One comparison: seconds of ours and of the yardstick, and the ratio that we aim at."""

    case: str
    ours: float
    yardstick: str
    theirs: float
    target: str
    met: bool

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs


def best_times(contestants: dict[str, Callable[[], Any]], *, rounds: int) -> dict[str, float]:
    """Shortest time of each contestant over rounds in which all take turns; one warm-up round doesn't count,
    unless it is all there is (rounds=0)."""
    times: dict[str, float] = dict.fromkeys(contestants, float("inf"))
    for lap in range(rounds + 1):
        for name, run in contestants.items():
            gc.collect()
            start = perf_counter()
            run()
            if lap or not rounds:
                times[name] = min(times[name], perf_counter() - start)
    return times


def at_most(case: str, times: dict[str, float], yardstick: str, limit: float, *, ours: str = "credo") -> Line:
    """A line that wants ours ≤ limit × the yardstick."""
    ratio = times[ours] / times[yardstick]
    return Line(case, times[ours], yardstick, times[yardstick], f"≤ {limit:g}×", ratio <= limit)


def faster(case: str, times: dict[str, float], yardstick: str, factor: float, *, ours: str = "credo") -> Line:
    """A line that wants ours at least `factor` times faster than the yardstick."""
    ratio = times[ours] / times[yardstick]
    return Line(case, times[ours], yardstick, times[yardstick], f"{factor:g}× faster", ratio * factor <= 1)


def below(case: str, seconds: float, limit: float) -> Line:
    """A line that wants ours below a number of seconds."""
    return Line(case, seconds, "a clock", limit, f"< {limit:g} s", seconds < limit)


def show(title: str, lines: list[Line]) -> None:
    print(f"\n{title}")
    print(f"{'case':<58}{'credo':>10}  {'yardstick':<34}{'seconds':>10}{'ratio':>9}  target")
    for line in lines:
        print(
            f"{line.case:<58}{line.ours:>10.4f}  {line.yardstick:<34}{line.theirs:>10.4f}{line.ratio:>8.2f}×"
            f"  {line.target} {'met' if line.met else 'MISSED'}"
        )
