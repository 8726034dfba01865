"""How long the study's models take: measures fits to simulated tables and prints the table of `credo.study.portfolio`.

`python -m benchmarks.seconds [MODEL …]` fits each model to tables of several sizes on one core, and then the law

    seconds of a fit = f + a (n/1000)ᵇ (p/10)ᶜ

to the logarithms of the times. Sizes beyond one that takes more than a minute are left out.
"""

import sys
import warnings
from dataclasses import replace
from time import monotonic, process_time

import numpy as np
from scipy.optimize import least_squares
from threadpoolctl import threadpool_limits

from credo.core.deadlines import TimeUp, until
from credo.study.catalogue import EXACT_ROWS, MODELS, OF_TIMES, ModelSpec, Size, Times

SIZES = ((100, 5), (300, 5), (300, 20), (1000, 5), (1000, 20), (3000, 10), (6000, 10), (20_000, 10))
LIMIT = 90.0


def simulated(n: int, p: int, task: str, name: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows with a smooth function, a step and an interaction; the first column is in order, as a time is.

    The models of counts, of times and of ordered classes have targets of their own.
    """
    X = rng.normal(size=(n, p))
    X[:, 0].sort()
    f = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + 0.5 * X[:, :4].sum(axis=1)
    if name in ("counts", "hurdle"):
        return X, rng.poisson(np.exp(f / 3)).astype(float)
    if name in OF_TIMES:
        return X, np.exp(f + 0.5 * rng.normal(size=n))
    if name == "ordinal":
        return X, np.digitize(f + 0.7 * rng.logistic(size=n), [-1.0, 1.0])
    if task == "regression":
        return X, f + 0.5 * rng.normal(size=n)
    return X, (f + 0.7 * rng.logistic(size=n) > 0).astype(int)


def measured(spec: ModelSpec, task: str) -> dict[tuple[int, int], float]:
    """CPU seconds of a fit by rows and columns."""
    rng, found = np.random.default_rng(0), {}
    for n, p in SIZES:
        classes = 0 if task == "regression" else 3 if spec.name == "ordinal" else 2
        size = Size(n, p, p, classes, Times(0, 4.0, 4.0 / n, (0.4,)), counts=True, zeros=n // 3, order=(0, 1, 2))
        size = replace(size, is_time=spec.name in OF_TIMES)
        slow = any(m <= n and t > LIMIT * 2 / 3 for (m, _), t in found.items() if (m > EXACT_ROWS) == (n > EXACT_ROWS))
        if slow or spec.limit(size) is not None:
            continue
        X, y = simulated(n, p, task, spec.name, rng)
        try:
            with threadpool_limits(1), until(monotonic() + LIMIT):
                # What is compiled, or read from numba's cache, isn't counted.
                spec.make(replace(size, rows=60)).fit(X[:60], y[:60])
                start = process_time()
                spec.make(size).fit(X, y)
                # The law is for one function; with three classes, the study takes it three times.
                found[n, p] = (process_time() - start) / (classes if classes > 2 else 1)
        except TimeUp:
            found[n, p] = LIMIT
    return found


def law(times: dict[tuple[int, int], float]) -> tuple[float, float, float, float]:
    """f, a, b and c by least squares of logarithms."""
    n, p, t = np.array([(n / 1000, p / 10, max(t, 1e-3)) for (n, p), t in times.items()]).T

    def residuals(theta: np.ndarray) -> np.ndarray:
        return np.log(np.exp(theta[0]) + np.exp(theta[1]) * n ** theta[2] * p ** theta[3]) - np.log(t)

    low, starts = float(np.log(t.min())), [(b, c) for b in (0.5, 1.0, 2.0) for c in (0.1, 1.0)]
    bounds = [-9.0, -12.0, 0.0, 0.0], [low + 0.4, 6.0, 3.0, 3.0]
    fits = [least_squares(residuals, [low, float(np.log(np.median(t))), b, c], bounds=bounds) for b, c in starts]
    best = min(fits, key=lambda fit: fit.cost).x
    return float(np.exp(best[0])), float(np.exp(best[1])), float(best[2]), float(best[3])


def main(names: list[str]) -> None:
    warnings.simplefilter("ignore")
    for task, specs in MODELS.items():
        print(f'    "{task}": {{')
        for spec in specs:
            if names and spec.name not in names:
                continue
            found = measured(spec, task)
            small = {size: t for size, t in found.items() if size[0] <= EXACT_ROWS}
            # Beyond that many rows, Gaussian processes have inducing points.
            parts = {spec.name: small, f"{spec.name} inducing": {k: t for k, t in found.items() if k not in small}}
            for name, times in parts.items() if spec.name.startswith("gp") else ((spec.name, found),):
                if len(times) > 1:
                    print(f'        "{name}": ({", ".join(f"{value:.3g}" for value in law(times))}),', flush=True)
        print("    },")


if __name__ == "__main__":
    main(sys.argv[1:])
