"""Timing on noisy machines: the contestants take turns in one process, and medians are compared.

A case is a list of `Line`s: our number beside a yardstick (another library, or what LAPACK alone needs), the quality
that each of them reached, and the ratio that we aim at.
"""

import gc
import os
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from time import perf_counter
from typing import Any

Job = Callable[[], Any]


def load() -> float:
    """How many processes wanted a core during the last minute; above zero before a run, others are at work."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")


@dataclass(frozen=True)
class Line:
    """One comparison: ours and the yardstick, seconds unless `unit` says otherwise, what we aim at, and `quality`: what
    both reached (evidence, error, log score, duality gap), so that a faster but worse answer shows."""

    case: str
    ours: float
    yardstick: str
    theirs: float
    target: str
    met: bool
    unit: str = "s"
    quality: str = ""

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs if self.theirs else float("nan")


def quick() -> bool:
    """Whether this is `make bench-quick`: the cases that take seconds."""
    return bool(os.environ.get("CREDO_QUICK"))


def times_of(
    contestants: Mapping[str, Job], *, rounds: int, before: Mapping[str, Job] | None = None
) -> dict[str, float]:
    """Median time of each contestant over rounds in which all take turns; one warm-up round doesn't count,
    unless it is all there is (rounds=0). What `before` holds for a contestant runs ahead of it, off the clock."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for lap in range(rounds + 1):
        for name, run in contestants.items():
            gc.collect()
            if before and name in before:
                before[name]()
            start = perf_counter()
            run()
            if lap or not rounds:
                times[name].append(perf_counter() - start)
    return {name: statistics.median(each) for name, each in times.items()}


def at_most(
    case: str, times: dict[str, float], yardstick: str, limit: float, *, ours: str = "credo", quality: str = ""
) -> Line:
    """A line that wants ours ≤ limit × the yardstick."""
    met = times[ours] <= limit * times[yardstick]
    return Line(case, times[ours], yardstick, times[yardstick], f"≤ {limit:g}×", met, quality=quality)


def faster(
    case: str, times: dict[str, float], yardstick: str, factor: float, *, ours: str = "credo", quality: str = ""
) -> Line:
    """A line that wants ours at least `factor` times faster than the yardstick."""
    met = times[ours] * factor <= times[yardstick]
    return Line(case, times[ours], yardstick, times[yardstick], f"{factor:g}× faster", met, quality=quality)


def below(
    case: str, value: float, limit: float, *, unit: str = "s", yardstick: str = "limit", quality: str = ""
) -> Line:
    """A line that wants a number of ours below a limit."""
    return Line(case, value, yardstick, limit, f"≤ {limit:g}", value <= limit, unit=unit, quality=quality)


def installed(module: str, what: str) -> bool:
    """Whether another library is here; if not, the record names what is left out."""
    if find_spec(module) is None:
        skipped(what, f"{module} isn't installed")
        return False
    return True


SKIPPED: list[str] = []


def skipped(what: str, why: str) -> None:
    """Name what a run leaves out; the record lists it."""
    SKIPPED.append(f"{what}: {why}")
    print(f"skipped: {what}, {why}", flush=True)


def show(title: str, lines: list[Line]) -> None:
    print(f"\n{title}")
    print(f"{'case':<62}{'credo':>10}      {'yardstick':<34}{'value':>10}{'ratio':>9}  target")
    for line in lines:
        print(
            f"{line.case:<62}{line.ours:>10.4f} {line.unit:<5}{line.yardstick:<34}{line.theirs:>10.4f}"
            f"{line.ratio:>8.2f}×  {line.target} {'met' if line.met else 'MISSED'}"
            f"{'  ' + line.quality if line.quality else ''}",
            flush=True,
        )
