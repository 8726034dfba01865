"""Run the suites named on the command line, or all of them."""

import sys
from importlib import import_module

from benchmarks.timing import show

SUITES = {
    "linear": "Linear models",
    "gp": "Gaussian processes",
    "classification": "Classifiers",
    "sparse": "Sparse models",
    "boosting": "Boosted stumps",
    "scaling": "Time and memory against rows",
    "honesty": "Calibration of default models",
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in SUITES]
    if unknown:
        print(f"no suite named {', '.join(unknown)}; there is {', '.join(SUITES)}", file=sys.stderr)
        return 2
    missed = 0
    for name in names or SUITES:
        lines = import_module(f"benchmarks.{name}").run()
        show(SUITES[name], lines)
        missed += sum(not line.met for line in lines)
    print(f"\n{missed} target{'' if missed == 1 else 's'} missed" if missed else "\nevery target met")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
