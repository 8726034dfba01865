"""A committee beside inducing points: held-out log score against seconds of one core."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd

from credo import GPRegressor

SETS = ("kin8nm", "protein")
METHODS: dict[str, dict[str, Any]] = {
    "committee": {"method": "committee"},
    "inducing, 500 points": {"method": "inducing", "n_inducing": 500},
    "inducing, default": {"method": "inducing"},
}


def compare(directory: Path) -> Iterator[dict[str, str]]:
    """One line for each table in NAME.csv.gz, whose last column is the target, and each method."""
    for name in SETS:
        table = pd.read_csv(directory / f"{name}.csv.gz").to_numpy(dtype=float)
        table = table[np.random.default_rng(0).permutation(len(table))]
        n = int(0.9 * len(table))
        X, y = table[:, :-1], table[:, -1]
        for label, how in METHODS.items():
            model = GPRegressor(
                "matern52", hyperparameters="optimize", n_restarts=1, max_evaluations=40, random_state=0, **how
            )
            start = process_time()
            model.fit(X[:n], y[:n])
            seconds = process_time() - start
            dist = model.predict_dist(X[n:])
            score, error = dist.log_prob(y[n:]).mean(), np.sqrt(np.mean((dist.mean - y[n:]) ** 2))
            yield {
                "table": f"{name}, {n:,} × {X.shape[1]}",
                "method": label,
                "log score": f"{score:.3f}",
                "RMSE": f"{error:.4g}",
                "seconds to fit": f"{seconds:.0f}",
            }
