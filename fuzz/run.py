"""The loop that all fuzzers share: inputs one after another until the time is up, each made from a seed of its own."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from time import monotonic

import numpy as np


class Failure(AssertionError):
    """An input that was treated wrongly, and the input itself."""

    def __init__(self, message: str, content: bytes = b"") -> None:
        super().__init__(message)
        self.content = content


def run(
    one: Callable[[np.random.Generator], Counter[str]], *, seconds: float, seed: int, most: int | None = None
) -> tuple[Counter[str], list[tuple[int, Exception]]]:
    """How many inputs of each kind were tried, and the seeds of those that failed with their errors."""
    counts: Counter[str] = Counter()
    failures: list[tuple[int, Exception]] = []
    end = monotonic() + seconds
    number = 0
    while monotonic() < end and (most is None or number < most):
        try:
            counts += one(np.random.default_rng([seed, number]))
        except Exception as error:
            failures.append((number, error))
        number += 1
    return counts, failures


def main(one: Callable[[np.random.Generator], Counter[str]], text: str | None) -> None:
    """The command of a fuzzer; `--only N` repeats input N of a seed, with the whole traceback."""
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    if options.only is not None:
        try:
            print(one(np.random.default_rng([options.seed, options.only])))
        except Failure as error:
            print(f"{error}\n{error.content!r}")
        return
    counts, failures = run(one, seconds=options.seconds, seed=options.seed)
    print(f"{sum(counts.values()):,} inputs: " + ", ".join(f"{n:,} {kind}" for kind, n in counts.most_common()))
    for number, error in failures[:20]:
        detail = "" if isinstance(error, Failure) else traceback.format_tb(error.__traceback__)[-1].rstrip()
        print(f"--seed {options.seed} --only {number}: {type(error).__name__}: {str(error)[:500]}\n{detail}")
    if failures:
        print(f"{len(failures):,} failed")
        sys.exit(1)
