"""Tables that don't fit into memory: seconds and peak memory of each model that is fitted to a Parquet file in parts.

    python -m benchmarks.large [--rows 10000000] [--models linear gp …] [--points 300]

Each model is fitted in a process of its own, so that the peak is its own. The file (1.7 GB for 10⁷ rows)
is made in a temporary directory and deleted at the end. CPU seconds are given as well, because those on the clock
depend on what else the machine does. `held-out` is the mean log score on 20,000 new rows.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo import (
    BayesianLinearRegression,
    BayesianLogisticRegression,
    GPRegressor,
    LinearRegression,
    LogisticRegression,
)
from credo.core.parts import read_parquet

Array = NDArray[np.float64]

COLUMNS = 20
CHUNK = 250_000
REGRESSIONS = ("linear", "bayes-linear", "gp")
MODELS = (*REGRESSIONS, "logistic", "bayes-logistic", "bayes-logistic-learned")
# The limits of issue 21.
MINUTES, GIGABYTES = 10.0, 2.0


def table(n: int, seed: int) -> tuple[Array, Array, NDArray[np.int8]]:
    """Rows, a target that is smooth in five columns and linear in the others, and labels whose log odds it is."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, COLUMNS))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * np.tanh(X[:, 2]) + 0.5 * np.square(X[:, 3]) + np.cos(X[:, 4])
    f += X[:, 5:] @ np.linspace(-0.3, 0.3, COLUMNS - 5)
    return X, f + 0.5 * rng.normal(size=n), (f + rng.logistic(size=n) > 1.0).astype(np.int8)


def write(path: Path, n_rows: int) -> None:
    """The table as a Parquet file, a chunk at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [*(f"x{j}" for j in range(COLUMNS)), "y", "label"]
    writer = None
    for seed, start in enumerate(range(0, n_rows, CHUNK), 1):
        X, y, label = table(min(CHUNK, n_rows - start), seed)
        part = pa.table(dict(zip(names, [*X.T, y, label], strict=True)))
        writer = writer or pq.ParquetWriter(path, part.schema, compression="none")
        writer.write_table(part)
    assert writer is not None
    writer.close()


def model(name: str, points: int) -> Any:
    """The model of this name."""
    return {
        "linear": LinearRegression,
        "bayes-linear": BayesianLinearRegression,
        "logistic": LogisticRegression,
        "bayes-logistic": BayesianLogisticRegression,
        "bayes-logistic-learned": lambda: BayesianLogisticRegression("integrate"),
        "gp": lambda: GPRegressor(n_inducing=points, n_restarts=0, random_state=0),
    }[name]()


def fit(name: str, path: Path, points: int) -> str:
    """Fit one model to the file in this process; a line with what it took."""
    before = _peak()
    inputs = [f"x{j}" for j in range(COLUMNS)]
    chunks = read_parquet(path, target="y" if name in REGRESSIONS else "label", columns=inputs)
    clock, cpu = perf_counter(), process_time()
    fitted = model(name, points).fit(chunks)
    clock, cpu, peak = perf_counter() - clock, process_time() - cpu, _peak()
    X, y, label = table(20_000, 0)
    score = fitted.predict_dist(X).log_prob(y if name in REGRESSIONS else label).mean()
    verdict = "" if clock < 60 * MINUTES and peak < GIGABYTES else "   missed"
    return (
        f"{name:24s}{clock:8.1f} s{cpu:10.1f} s CPU{peak:8.2f} GB (of which {before:.2f} at the start)"
        f"   held-out {score:.4f}{verdict}"
    )


def _peak() -> float:
    """Peak memory of this process in GB."""
    return 1024e-9 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--points", type=int, default=300, help="inducing points")
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.file is not None:
        print(fit(given.models[0], given.file, given.points))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.parquet"
        write(path, given.rows)
        print(f"{given.rows:,} rows × {COLUMNS} columns, {1e-9 * path.stat().st_size:.1f} GB", flush=True)
        for name in given.models:
            options = ["--models", name, "--file", str(path), "--points", str(given.points)]
            subprocess.run([sys.executable, "-m", "benchmarks.large", *options], check=True)


if __name__ == "__main__":
    main()
