"""The command line: which tables, which models, where the numbers go."""

import argparse
import sys
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.honesty.contest import Limits, Score, contest
from benchmarks.honesty.models import contestants
from benchmarks.honesty.sets import N_FOLDS, QUICK, SETS, load
from benchmarks.honesty.simulations import print_simulated, simulate
from benchmarks.honesty.tables import print_findings, print_scores, write


def main(arguments: list[str]) -> int:
    given = _parsed(arguments)
    warnings.simplefilter("ignore")
    print(", ".join(f"{name} {_version(name)}" for name in ("credo", "numpy", "scikit-learn", "GPy", "ngboost")))
    limits, scores, simulated = Limits(given.limit, given.folds), [], []
    names = given.sets or [name for name in (QUICK if given.quick else SETS) if SETS[name].task in given.tasks]
    for table in load(names, given.data):
        found: list[Score] = contest(table, contestants(table.task, given.models), limits)
        print_scores(found)
        scores += found
        _save(given, scores, simulated)
    print_findings(scores)
    if "simulation" in given.tasks and not given.sets:
        print("\nTables from the prior: coverage of 95 % and 50 % intervals, and log score, of 40 fresh rows")
        for line in simulate(contestants("regression", given.models), given.tables, limits):
            print_simulated(line)
            simulated += line.lines()
            _save(given, scores, simulated)
    return 0


def _parsed(arguments: list[str]) -> argparse.Namespace:
    tasks = ("regression", "classification", "simulation")
    parser = argparse.ArgumentParser(prog="python -m benchmarks.honesty", description="Calibration of default models")
    parser.add_argument("--data", type=Path, help="folder with further tables, such as concrete.csv")
    parser.add_argument("--tasks", nargs="+", choices=tasks, default=tasks)
    parser.add_argument("--sets", nargs="+", choices=SETS, metavar="NAME", help=f"of {', '.join(SETS)}")
    parser.add_argument("--models", nargs="+", default=[], metavar="NAME", help='names, or "credo" or "peers"')
    parser.add_argument("--limit", type=float, default=120.0, help="CPU seconds for one fit")
    parser.add_argument("--folds", type=int, default=N_FOLDS, help=f"how many of the {N_FOLDS} folds are predicted")
    parser.add_argument("--tables", type=int, default=100, help="simulated tables for each case")
    parser.add_argument("--quick", action="store_true", help="a few small sets and 20 simulated tables")
    parser.add_argument("--out", type=Path, help="a .csv or .json file for all numbers")
    given = parser.parse_args(arguments)
    known = {"credo", "peers", *contestants("regression"), *contestants("classification")}
    unknown = sorted(set(given.models) - known)
    if unknown:
        parser.error(f"no model named {', '.join(unknown)}; there is {', '.join(sorted(known))}")
    if given.quick:
        given.tables = min(given.tables, 20)
    return given


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "(not installed)"


def _save(given: argparse.Namespace, scores: list[Score], simulated: list[dict[str, Any]]) -> None:
    if given.out is not None:
        write(given.out, scores, simulated)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
