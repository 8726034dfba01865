"""The command line: which tables, which models, where the numbers go."""

import argparse
import json
import sys
import warnings
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.honesty.contest import contest, file_of
from benchmarks.honesty.models import contestants
from benchmarks.honesty.page import page, ranked
from benchmarks.honesty.published import published
from benchmarks.honesty.scores import scores_of
from benchmarks.honesty.sets import SETS, Table, load
from benchmarks.honesty.simulations import simulate
from benchmarks.pictures import draw_calibration
from benchmarks.record import circumstances

DOCS = Path(__file__).parents[2] / "docs"


def main(arguments: list[str]) -> int:
    given = _parsed(arguments)
    warnings.simplefilter("ignore")
    numbers: Path = given.docs / "honesty.json"
    old = json.loads(numbers.read_text("utf-8")) if numbers.exists() else {"sets": {}, "simulations": []}
    for table in load(given.sets, given.data):
        models = contestants(table.task, given.models)
        if given.again:
            for name in models:
                file_of(given.work, table.name, name).unlink(missing_ok=True)
        if not given.page:
            contest(table, models, given.limit, given.work)
        if (found := _summary(table, given)) is not None:
            old["sets"][table.name] = found
        _write(old, given.docs)
    if given.tables:
        models = contestants("regression", given.models)
        old["simulations"] = [asdict(line) for line in simulate(models, given.tables, given.limit)]
        _write(old, given.docs)
    return 0


def _summary(table: Table, given: argparse.Namespace) -> dict[str, Any] | None:
    found = scores_of(given.work, table.name, table.task)
    if found is None:
        return None
    known = table.tests is not None
    found |= {"rows": len(table.y), "columns": table.X.shape[1], "given": known}
    return found | {"published": published(given.data, table.name, found["splits"]) if known else []}


def _write(run: Mapping[str, Any], docs: Path) -> None:
    """Both files, the sets in their order."""
    sets = {name: run["sets"][name] for name in SETS if name in run["sets"]}
    asked = {score["model"] for found in sets.values() for score in found["scores"]}
    missing = [name for name in SETS if name not in sets]
    missing += [name for task in ("regression", "classification") for name in contestants(task) if name not in asked]
    whole = circumstances() | {"missing": missing, "sets": sets, "simulations": run["simulations"]}
    (docs / "honesty.json").write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", "utf-8")
    (docs / "honesty.md").write_text(page(whole), "utf-8")
    draw_calibration(ranked(whole), docs / "images" / "honesty.png")


def _parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.honesty", description="Calibration of default models")
    names = list(SETS)
    parser.add_argument("--data", type=Path, help="folder with further tables, such as concrete.csv")
    parser.add_argument("--work", type=Path, default=Path(".honesty"), help="folder for the forecasts of each model")
    parser.add_argument("--docs", type=Path, default=DOCS, help="folder for honesty.json and honesty.md")
    parser.add_argument(
        "--sets", nargs="+", choices=names, default=names, metavar="NAME", help=f"of {', '.join(names)}"
    )
    parser.add_argument("--models", nargs="+", default=[], metavar="NAME", help='names, or "credo" or "peers"')
    parser.add_argument("--again", action="store_true", help="fit the named models again")
    parser.add_argument("--page", action="store_true", help="fit nothing; write the page from what is there")
    parser.add_argument("--limit", type=float, default=300.0, help="CPU seconds for one fit")
    parser.add_argument("--tables", type=int, default=0, help="tables drawn from the prior for each case")
    given = parser.parse_args(arguments)
    known = {"credo", "peers", *contestants("regression"), *contestants("classification")}
    unknown = sorted(set(given.models) - known)
    if unknown:
        parser.error(f"no model named {', '.join(unknown)}; there is {', '.join(sorted(known))}")
    return given


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
