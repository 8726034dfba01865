"""The section "Measured" of the README from `docs/benchmarks.json`: ``python -m benchmarks.readme``."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.record import read

ROOT = Path(__file__).parents[1]
# What the README calls a case, and the case.
ROWS = {
    "`GPRegressor` by maximum evidence, fit and 1,000 predictions, N=1,000, D=8": "fit + predict 1000, N=1000 D=8",
    '`GPRegressor(method="state_space")`, one log evidence of 1,000,000 irregular times': (
        "log likelihood, Matern32, 1,000,000 irregular times"
    ),
    "`AdaBoostClassifier`, 400 stumps, n=20,000, 10 columns": "AdaBoost, 400 stumps, n=20000 d=10",
}
_HEAD = """## Measured

From [docs/benchmarks.md](docs/benchmarks.md), which `make bench` writes and which has the machine, the versions and the
quality that each library reached: medians over rounds in which they take turns on {cores}. The ratio is to the fastest
of the others. [Accuracy and calibration on real data](docs/honesty.md) have a page of their own.

| | Credo | for comparison | ratio |
|---|---|---|---|
"""


def measured(suites: Mapping[str, Any]) -> str:
    """The section; cases that weren't measured are left out."""
    lines = [line for suite in suites.values() for line in suite["lines"]]
    cores = next(suite["machine"]["cores"] for suite in suites.values() if suite["lines"])
    rows = []
    for label, case in ROWS.items():
        rivals = sorted((line for line in lines if line["case"] == case), key=lambda line: line["theirs"])
        if rivals:
            others = ", ".join(f"{line['yardstick']} {_seconds(line['theirs'])}" for line in rivals)
            ratio = f"{rivals[0]['ours'] / rivals[0]['theirs']:.2g}"
            rows.append(f"| {label} | {_seconds(rivals[0]['ours'])} | {others} | {ratio} |")
    return _HEAD.format(cores="one core" if cores == 1 else f"{cores} cores") + "\n".join(rows) + "\n\n"


def _seconds(value: float) -> str:
    return f"{value:.2g} s" if value < 99.5 else f"{value:.0f} s"


def main() -> int:
    readme = ROOT / "README.md"
    text = readme.read_text("utf-8")
    start, end = text.index("## Measured\n"), text.index("## Limits\n")
    readme.write_text(text[:start] + measured(read(ROOT / "docs" / "benchmarks.json")) + text[end:], "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
