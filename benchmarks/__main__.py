"""Run the suites named on the command line, or all but the long ones, and record what they measured."""

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path

from benchmarks.harness import SKIPPED, load, show
from benchmarks.record import merged, read, record, write

SUITES = {
    "linear": "Linear models",
    "gp": "Gaussian processes",
    "gpflow": "Gaussian processes beside GPflow",
    "classification": "Classifiers",
    "sparse": "Sparse models",
    "additive": "Additive models",
    "boosting": "Boosted stumps",
    "conformal": "Conformal intervals",
    "serve": "Model server",
    "scaling": "Time and memory against rows",
}
# What takes very long; it has a page of its own.
LONG = {"scaling"}


def main(arguments: list[str]) -> int:
    given = _parsed(arguments)
    if given.quick:
        os.environ["CREDO_QUICK"] = "1"
    missed = 0
    for name in given.suites or [name for name in SUITES if name not in LONG]:
        busy = load()
        SKIPPED.clear()
        lines = import_module(f"benchmarks.{name}").run()
        show(SUITES[name], lines)
        missed += sum(not line.met for line in lines)
        # After every suite, so that a run that is stopped keeps what it has.
        suites = merged(read(given.json), SUITES[name], record(lines, SKIPPED, busy), list(SUITES.values()))
        write(suites, given.json, given.page)
    print(f"\n{missed} target{'' if missed == 1 else 's'} missed" if missed else "\nevery target met")
    return 0


def _parsed(arguments: list[str]) -> argparse.Namespace:
    usual = [name for name in SUITES if name not in LONG]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "suites", nargs="*", metavar="SUITE", help=f"of {', '.join(SUITES)}; by default {', '.join(usual)}"
    )
    parser.add_argument("--quick", action="store_true", help="only cases of seconds, and smaller ones")
    parser.add_argument(
        "--json", type=Path, default=Path("benchmarks.json"), help="file for the numbers; its other suites are kept"
    )
    parser.add_argument("--page", type=Path, help="file for a page with tables, such as docs/benchmarks.md")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.suites if name not in SUITES]
    if unknown:
        parser.error(f"no suite named {', '.join(unknown)}; there is {', '.join(SUITES)}")
    return given


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
