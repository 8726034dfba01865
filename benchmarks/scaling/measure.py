"""Seconds of one core and peak memory, each number of rows in a process of its own."""

from __future__ import annotations

import ctypes
import gc
import math
import multiprocessing
import os
import pickle
import resource
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks.scaling.cases import CASES, Case
from credo.core.linalg import one_blas_thread, one_openmp_thread

_PROCESSES: Any = multiprocessing.get_context("fork" if hasattr(os, "fork") else "spawn")

# Each number of rows is so many times the one before.
_STEP = 4
# The exponent is fitted to at most so many of the largest numbers of rows.
_UPPER = 3
# Jobs shorter than this are repeated, and the shortest counts.
_SHORT, _REPEATS = 2.0, 3
_TIMEOUT = 600


@dataclass(frozen=True)
class Point:
    """A number of rows, seconds of one core and megabytes beside the table."""

    n: int
    seconds: float
    megabytes: float


@dataclass(frozen=True)
class Curve:
    name: str
    group: str
    n_columns: int
    points: Sequence[Point]

    @property
    def exponent(self) -> float:
        """The slope of ln seconds against ln n, by least squares on the upper part."""
        return _slope([(point.n, point.seconds) for point in self.points])

    @property
    def memory_exponent(self) -> float:
        """The same for memory."""
        return _slope([(point.n, point.megabytes) for point in self.points])


def _slope(pairs: Sequence[tuple[float, float]]) -> float:
    upper = np.log(np.array([pair for pair in pairs if pair[1] > 0][-_UPPER:]))
    return float(np.polyfit(upper[:, 0], upper[:, 1], 1)[0]) if len(upper) > 1 else math.nan


def measure_all(names: Sequence[str] = ()) -> tuple[list[Curve], dict[str, float]]:
    """The curves of all cases, and the sizes of summaries in bytes."""
    return [measure(case) for case in CASES if not names or case.name in names], summary_sizes()


def measure(case: Case) -> Curve:
    """One case for more and more rows."""
    points: list[Point] = []
    n, spent = case.first, 0.0
    while n <= case.largest:
        point = _in_a_process(case, n)
        if point is None:
            break
        points.append(point)
        spent += point.seconds
        print(
            f"{case.name:<28}{n:>9} rows {point.seconds:9.3f} s {point.megabytes:8.0f} MB", file=sys.stderr, flush=True
        )
        exponent = _slope([(p.n, p.seconds) for p in points[-2:]]) if len(points) > 1 else 1.0
        if spent + point.seconds * _STEP ** max(exponent, 0.7) > case.budget:
            break
        n *= _STEP
    return Curve(case.name, case.group, case.n_columns, points)


def _in_a_process(case: Case, n: int) -> Point | None:
    """Measured in a process of its own, which is a copy of this one where the system can fork, in one thread."""
    receiver, sender = _PROCESSES.Pipe(duplex=False)
    process = _PROCESSES.Process(target=_send, args=(case.name, n, sender))
    process.start()
    sender.close()
    try:
        return receiver.recv() if receiver.poll(_TIMEOUT) else None
    except EOFError:
        print(f"{case.name} failed at {n} rows", file=sys.stderr)
        return None
    finally:
        process.terminate()
        process.join()


def _send(name: str, n: int, sender: Connection) -> None:
    # With one thread, CPU time is what one core takes, whatever else runs.
    os.environ["OMP_NUM_THREADS"] = "1"
    with one_blas_thread(), one_openmp_thread():
        sender.send(_here(next(case for case in CASES if case.name == name), n))


def _here(case: Case, n: int) -> Point:
    """In this process: a first run on few rows compiles or loads what is needed."""
    case.job(min(case.first, n))()
    gc.collect()
    job = case.job(n)
    gc.collect()
    before = _resident(reset=True)
    seconds = []
    while not seconds or (seconds[0] < _SHORT and len(seconds) < _REPEATS):
        start = process_time()
        job()
        seconds.append(process_time() - start)
        if len(seconds) == 1:
            peak = _resident(peak=True)
    return Point(n, min(seconds), max(peak - before, 0.0))


def _resident(*, peak: bool = False, reset: bool = False) -> float:
    """Megabytes of memory now, or at most since the last reset (since the start, where the system can't reset)."""
    if reset:
        # Memory that was freed goes back to the system first.
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)
            Path("/proc/self/clear_refs").write_text("5")
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    name = "VmHWM:" if peak else "VmRSS:"
    return next(float(line.split()[1]) for line in lines if line.startswith(name)) / 2**10


def summary_sizes() -> dict[str, float]:
    """Bytes of a summary as it is sent, by the name of its case."""
    return {case.name: float(len(pickle.dumps(case.job(20_000)()))) for case in CASES if case.group == "mergeable"}
