"""Published errors and log scores of other methods on the tables whose splits are published, each with its source.

They are read from `reference_numbers.json` and `published_mcdropout_per_split.json` of the data folder.
"""

import json
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

DROPOUT = "github.com/yaringal/DropoutUncertaintyExps (results of 2018, by grid search)"
BENCHMARKS = "github.com/hughsalimbeni/bayesian_benchmarks (results/view_results.ipynb)"
METHODS = {"SVGP": "sparse variational GP", "DGP": "deep GP", "gbm": "gradient boosting"}


def published(folder: Path, name: str, n_splits: int) -> list[dict[str, Any]]:
    """Means with standard errors, of which splits, and where they are from."""
    files = folder / "reference_numbers.json", folder / "published_mcdropout_per_split.json"
    if not all(file.exists() for file in files):
        return []
    numbers, per_split = (json.loads(file.read_text("utf-8")) for file in files)
    found = []
    if name in per_split:
        both = (np.array(per_split[name][key]["per_split"]) for key in ("test_MC_rmse", "test_ll"))
        rmse, log = (_mean(values[:n_splits]) for values in both)
        found.append(_line("Monte Carlo dropout", f"the same {n_splits}", rmse, log, DROPOUT))
    other = numbers.get(name, {}).get("bayesian_benchmarks")
    for key, method in METHODS.items() if other else ():
        rmse, log = (_parsed(other[kind][key]) for kind in ("rmse_mean(std)", "loglik_mean(std)"))
        found.append(_line(method, "10 others", rmse, log, BENCHMARKS))
    return found


def _line(method: str, splits: str, rmse: list[float | None], log: list[float | None], source: str) -> dict[str, Any]:
    return {"method": method, "splits": splits, "RMSE": rmse, "log score": log, "source": source}


def _mean(values: np.ndarray) -> list[float | None]:
    error = float(values.std(ddof=1) / sqrt(len(values))) if len(values) > 1 else None
    return [float(values.mean()), error]


def _parsed(text: str) -> list[float | None]:
    """From mean(standard deviation over 10 splits)."""
    mean, deviation = text.rstrip(")").split("(")
    return [float(mean), float(deviation) / sqrt(10)]
