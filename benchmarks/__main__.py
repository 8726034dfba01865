"""Run the suites named on the command line, or all of them, and record what they measured."""

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path

from benchmarks.harness import Line, show
from benchmarks.record import record, write

SUITES = {
    "linear": "Linear models",
    "gp": "Gaussian processes",
    "classification": "Classifiers",
    "sparse": "Sparse models",
    "boosting": "Boosted stumps",
    "serve": "Model server",
    "scaling": "Time and memory against rows",
    "honesty": "Calibration of default models",
}
# What takes minutes at any size.
LONG = {"honesty", "scaling"}


def main(arguments: list[str]) -> int:
    given = _parsed(arguments)
    if given.quick:
        os.environ["CREDO_QUICK"] = "1"
    done: dict[str, list[Line]] = {}
    for name in given.suites or [name for name in SUITES if not (given.quick and name in LONG)]:
        lines = import_module(f"benchmarks.{name}").run()
        show(SUITES[name], lines)
        done[SUITES[name]] = lines
        # After every suite, so that a run that is stopped keeps what it has.
        write(record(done), given.json, given.page)
    missed = sum(not line.met for lines in done.values() for line in lines)
    print(f"\n{missed} target{'' if missed == 1 else 's'} missed" if missed else "\nevery target met")
    return 0


def _parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {', '.join(SUITES)}; all by default")
    parser.add_argument("--quick", action="store_true", help="only cases of seconds, and smaller ones")
    parser.add_argument("--json", type=Path, default=Path("benchmarks.json"), help="file for the numbers")
    parser.add_argument("--page", type=Path, help="file for a page with tables, such as docs/benchmarks.md")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.suites if name not in SUITES]
    if unknown:
        parser.error(f"no suite named {', '.join(unknown)}; there is {', '.join(SUITES)}")
    return given


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
