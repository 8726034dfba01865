"""The table "Speed" of the README from `docs/benchmarks.json`: ``python -m benchmarks.readme``."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.record import read

ROOT = Path(__file__).parents[1]
# What the README calls a case, and the case.
ROWS = {
    "`BayesianLinearRegression` by maximum evidence, n=100 000, p=100": (
        "Bayesian linear regression, evidence, n=100000 p=100"
    ),
    "`LinearRegression` with standard errors, n=100 000, p=100": "least squares with standard errors, n=100000 p=100",
    "the same, n=10 000, p=300": "least squares with standard errors, n=10000 p=300",
    "the same, n=1 000, p=20": "least squares with standard errors, n=1000 p=20",
    "`BayesianLinearRegression`, n=100, p=20 000, fit + predict with std": (
        "Bayesian, n=100 p=20000, fit and predict with std"
    ),
    "`GPRegressor`, one log evidence with its gradient, N=1000, D=8": "log evidence + gradient, ARD RBF, N=1000 D=8",
    "the same, N=2000": "log evidence + gradient, ARD RBF, N=2000 D=8",
    "the same, N=4000": "log evidence + gradient, ARD RBF, N=4000 D=8",
    "`GPRegressor`, maximum evidence, fit + predict 1000 rows, N=1000, D=8": "fit + predict 1000, N=1000 D=8",
    "the same, N=3000": "fit + predict 1000, N=3000 D=8",
    '`GPRegressor(method="inducing")`, the bound with its gradient, N=50 000, D=8, 500 points': (
        "bound + gradient, ARD RBF, N=50000 D=8 M=500"
    ),
    "the same, fit": "a whole fit with inducing points, N=50000 D=8 M=500",
    '`GPRegressor(method="state_space")`, one log evidence of 1,000,000 irregular times, Matérn 3/2': (
        "log likelihood, Matern32, 1,000,000 irregular times"
    ),
    "the same, fit ": "fit of GPRegressor, Matern32, 1,000,000 rows",
    '`GPRegressor(method="vecchia")`, one log likelihood, N=20 000, D=2, 30 neighbours': (
        "Vecchia's log likelihood, 20,000 rows, D=2, 30 neighbours"
    ),
    "fit of the same, N=200 000": "fit of GPRegressor by Vecchia, 200,000 rows",
    "`GPClassifier`, Laplace, hyperparameters by maximum evidence, N=1000, D=8": "GP classifier, Laplace, N=1000 D=8",
    "the same by expectation propagation": "GP classifier, EP, N=1000 D=8",
    "`LogisticRegression` with standard errors, n=100 000, p=50": (
        "logistic regression with standard errors, n=100000 p=50"
    ),
    "`lasso_path`, 100 penalties, n=500, p=10 000": "dense n=500 p=10000, 100 alphas",
    "the same, n=20 000, p=500": "dense n=20000 p=500, 100 alphas",
    "the same, sparse, n=20 000, p=50 000": "sparse n=20000 p=50000 density 1e-3, 100 alphas",
    "`SpikeSlabRegressor`, all 2^14 subsets": "spike and slab, all 2^14 subsets, n=200",
    "the same, all 2^20": "spike and slab, all 2^20 subsets",
    "the same, all 2^25": "spike and slab, all 2^25 subsets",
    "the same, sampled, n=100, p=20 000": "spike and slab, sampled, n=100 d=20000",
    "`Conformal`, CV+ around a linear model, n=2000": "CV+ intervals around a linear model, n=2000",
    "`AdaBoostClassifier`, 400 stumps, n=20 000": "AdaBoost, 400 stumps, n=20000 d=10",
}
_HEAD = """## Speed

Quoted from [docs/benchmarks.md](docs/benchmarks.md), which `make bench` writes and which has the machine, the versions
and the quality that each library reached: medians over rounds in which the libraries take turns on a machine with
{cores} cores (slow fits of other libraries run once). The ratio is to the fastest of the others.

| | Credo | for comparison | ratio |
|---|---|---|---|
"""


def speed(suites: Mapping[str, Any]) -> str:
    """The section; cases that weren't measured are left out."""
    lines = [line for suite in suites.values() for line in suite["lines"]]
    cores = next(suite["machine"]["cores"] for suite in suites.values() if suite["lines"])
    rows = []
    for label, case in ROWS.items():
        own = [line for line in lines if line["case"] == case]
        rivals = sorted((line for line in own if line["yardstick"] != "limit"), key=lambda line: line["theirs"])
        if not own:
            continue
        cells = [label.strip(), _seconds(own[0]["ours"])]
        cells.append(", ".join(f"{line['yardstick']} {_seconds(line['theirs'])}" for line in rivals))
        cells.append(f"{rivals[0]['ours'] / rivals[0]['theirs']:.2g}" if rivals else "")
        rows.append("| " + " | ".join(cells) + " |")
    return _HEAD.format(cores=cores) + "\n".join(rows) + "\n\n"


def _seconds(value: float) -> str:
    return f"{value:.2g} s" if value < 99.5 else f"{value:.0f} s"


def main() -> int:
    readme = ROOT / "README.md"
    text = readme.read_text("utf-8")
    start, end = text.index("## Speed\n"), text.index("## Limits\n")
    readme.write_text(text[:start] + speed(read(ROOT / "docs" / "benchmarks.json")) + text[end:], "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
