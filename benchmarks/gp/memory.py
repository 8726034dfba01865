"""Peak memory of what NumPy allocates, in units of the n×n matrix."""

import gc
import tracemalloc

import numpy as np

from benchmarks.gp.evidence import evaluation
from benchmarks.harness import Job, Line, below, quick
from credo.gp import GPRegressor
from credo.kernels import RBF

N, D = 2000, 21


def run() -> list[Line]:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(N, D)), rng.normal(size=N)

    def evaluate() -> None:
        evaluation(RBF(np.full(D, 1.5)), N, D)()

    def fit() -> None:
        GPRegressor(n_restarts=0).fit(X, y).predict(X[:100], return_std=True)

    jobs = {"one log evidence + gradient": evaluate} | ({} if quick() else {"a whole fit": fit})
    return [
        below(f"peak memory of {name}, N={N} D={D}", peak(job), 3.0, unit="n×n", yardstick="n×n arrays")
        for name, job in jobs.items()
    ]


def peak(job: Job) -> float:
    """n×n arrays' worth of memory at the worst moment, compiled code being there already."""
    job()
    gc.collect()
    tracemalloc.start()
    job()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / (8 * N * N)
