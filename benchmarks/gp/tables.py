"""Held-out error and log density of the default `GPRegressor` over the given splits of real tables."""

import os
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.harness import Line, below, skipped
from credo.gp import GPRegressor

# Target column, and the RMSE and negative log predictive density to reach, means over 20 splits.
TABLES = {"yacht": ("resistance", 0.42, 0.21), "energy": ("Y1_heating", 0.48, 0.69)}


def run() -> list[Line]:
    folder = Path(os.environ.get("CREDO_DATA", ""))
    lines: list[Line] = []
    for name, (target, rmse, nlpd) in TABLES.items():
        files = folder / f"{name}.csv", folder / f"{name}_splits.csv"
        if not os.environ.get("CREDO_DATA") or not all(file.exists() for file in files):
            skipped(name, f"CREDO_DATA names no folder with {files[0].name} and {files[1].name}")
            continue
        start = perf_counter()
        scores = np.array(splits(*files, target))
        each = (perf_counter() - start) / len(scores)
        case = f"{name}, {len(scores)} splits ({each:.1f} s each)"
        lines.append(below(f"{case}, RMSE", scores[:, 0].mean(), rmse, unit="", yardstick="the limit"))
        lines.append(below(f"{case}, NLPD", scores[:, 1].mean(), nlpd, unit="nats", yardstick="the limit"))
    return lines


def splits(table: Path, marks: Path, target: str) -> list[tuple[float, float]]:
    """RMSE and NLPD on the test rows of each split."""
    header = table.read_text().splitlines()[0].split(",")
    values = np.loadtxt(table, delimiter=",", skiprows=1)
    column = header.index(target)
    X, y = np.delete(values, column, axis=1), values[:, column]
    return [scores(X, y, mark == 1) for mark in np.loadtxt(marks, delimiter=",", skiprows=1).T]


def scores(X: np.ndarray, y: np.ndarray, test: np.ndarray) -> tuple[float, float]:
    law = GPRegressor().fit(X[~test], y[~test]).predict_dist(X[test])
    rmse = float(np.sqrt(np.mean((law.mean - y[test]) ** 2)))
    return rmse, -float(np.mean(law.log_prob(y[test])))
