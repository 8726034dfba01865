"""The loop that the fuzzers share: inputs one after another until the time is up, each made from a seed of its own."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from time import monotonic
from typing import Any

import numpy as np

One = Callable[[np.random.Generator], Counter[str]]
Failures = list[tuple[int, str]]


class Failure(AssertionError):
    """An input that was treated wrongly, and the input itself."""

    def __init__(self, message: str, content: bytes = b"") -> None:
        super().__init__(message)
        self.content = content


def run(
    one: One, *, seconds: float, seed: int, most: int | None = None, first: int = 0, current: Any = None
) -> tuple[Counter[str], Failures]:
    """How many inputs of each kind were tried, and the numbers of those that failed with what went wrong.

    `current.value` is the number of the input that is being tried.
    """
    counts: Counter[str] = Counter()
    failures: Failures = []
    end, number = monotonic() + seconds, first
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while monotonic() < end and (most is None or number < most):
            if current is not None:
                current.value = number
            try:
                counts += one(np.random.default_rng([seed, number]))
            except Exception as error:
                detail = "" if isinstance(error, Failure) else traceback.format_tb(error.__traceback__)[-1].rstrip()
                failures.append((number, f"{type(error).__name__}: {str(error)[:500]}\n{detail}".rstrip()))
            number += 1
    return counts, failures


def bounded(one: One, *, seconds: float, seed: int, limit: float) -> tuple[Counter[str], Failures]:
    """`run` in a process of its own, which is ended where one input takes longer than the limit or crashes it."""
    context = multiprocessing.get_context("fork")
    counts: Counter[str] = Counter()
    failures: Failures = []
    end, first = monotonic() + seconds, 0
    while monotonic() < end:
        current, receiver, sender = context.Value("q", first), *context.Pipe(duplex=False)
        options = {"seconds": end - monotonic(), "seed": seed, "first": first, "current": current}
        process = context.Process(target=_work, args=(sender, one, options))
        process.start()
        sender.close()
        wrong = _watched(process, receiver, current, limit)
        if wrong is None:
            try:
                more, failed = receiver.recv()
                return counts + more, failures + failed
            except EOFError:
                process.join()
                wrong = f"the process ended with {process.exitcode}"
        # What came before it in this process was counted nowhere else.
        counts["before an input that ended the process"] += current.value - first
        failures.append((current.value, wrong))
        first = current.value + 1
    return counts, failures


def _work(sender: Any, one: One, options: dict[str, Any]) -> None:
    sender.send(run(one, **options))


def _watched(process: Any, receiver: Any, current: Any, limit: float) -> str | None:
    """What was wrong with the input at which the process was ended; None when it ended by itself."""
    number, since = current.value, monotonic()
    while not receiver.poll(0.2):
        if current.value != number:
            number, since = current.value, monotonic()
        elif monotonic() - since > limit:
            process.kill()
            process.join()
            return f"longer than {limit:g} s"
    return None


def main(one: One, text: str | None, *, limit: float = 20.0) -> None:
    """The command of a fuzzer; `--only N` repeats input N of a seed, with the whole traceback."""
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=limit, help="seconds for one input")
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    if options.only is not None:
        try:
            print(one(np.random.default_rng([options.seed, options.only])))
        except Failure as error:
            print(f"{error}\n{error.content!r}")
        return
    counts, failures = bounded(one, seconds=options.seconds, seed=options.seed, limit=options.limit)
    print(f"{sum(counts.values()):,} inputs: " + ", ".join(f"{n:,} {kind}" for kind, n in counts.most_common()))
    for number, wrong in failures[:20]:
        print(f"--seed {options.seed} --only {number}: {wrong}")
    if failures:
        print(f"{len(failures):,} failed")
        sys.exit(1)
