"""Lasso paths beside scikit-learn, celer and skglm, all held to the same duality gap; subsets by the clock."""

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse as sp
from sklearn.linear_model import lasso_path as scikit_learn_path

from benchmarks.timing import Line, at_most, below, best_times, skipped
from credo.sparse import SpikeSlabRegressor, lasso_path

Path = tuple[np.ndarray, np.ndarray]
N_ALPHAS, EPS, TOL = 100, 1e-3, 1e-4
CASES = {
    "dense n=500 p=10000": ("wide", 3),
    "dense n=20000 p=500": ("tall", 7),
    "sparse n=20000 p=50000 density 1e-3": ("sparse", 3),
}


def run() -> list[Line]:
    warnings.simplefilter("ignore")
    lines: list[Line] = []
    for case, (kind, rounds) in CASES.items():
        X, y = table(kind)
        contestants = {"credo": ours, **peers()}
        found: dict[str, Path] = {}

        def runner(
            name: str, path: Callable[..., Path], X: Any = X, y: Any = y, found: Any = found
        ) -> Callable[[], None]:
            return lambda: found.update({name: path(X, y)})

        times = best_times({name: runner(name, path) for name, path in contestants.items()}, rounds=rounds)
        worst = {name: largest_gap(X, y, *path) for name, path in found.items()}
        lines.append(below(f"{case}: largest relative gap", worst["credo"], TOL, unit="gap", yardstick="tol"))
        # Whoever stops at larger gaps isn't solving the same problem.
        for name in contestants:
            if name != "credo":
                note = "" if worst[name] <= 2 * TOL else f", gap {worst[name]:.1g}"
                lines.append(at_most(f"{case}, 100 alphas", {**times, name + note: times[name]}, name + note, 1.2))
    return [*lines, *subsets()]


def subsets() -> list[Line]:
    """The posterior over all subsets, by looking at each, and over 2^20000 of them by a walk."""
    rng = np.random.default_rng(0)
    lines = []
    for d, limit in [(20, 2.0), (25, 90.0)]:
        X = rng.normal(size=(200, d))
        y = X[:, :4] @ [1.0, -1.0, 0.5, 0.2] + rng.normal(size=200)
        SpikeSlabRegressor(search="enumerate").fit(X[:, :10], y)
        times = best_times({"credo": lambda X=X, y=y: SpikeSlabRegressor(search="enumerate").fit(X, y)}, rounds=0)
        lines.append(below(f"spike and slab, all 2^{d} subsets", times["credo"], limit))
    X = rng.normal(size=(100, 20_000))
    y = X[:, :4] @ [1.0, -1.0, 0.7, 0.5] + 0.5 * rng.normal(size=100)
    walker = SpikeSlabRegressor(prior_inclusion="beta-binomial", slab="g", search="gibbs", random_state=0)
    times = best_times({"credo": lambda: walker.fit(X, y)}, rounds=0)
    return [*lines, below("spike and slab, a walk, n=100 d=20000", times["credo"], 60.0)]


def table(kind: str) -> tuple[Any, np.ndarray]:
    """Columns (centred where dense) of which 100 matter, and noise; y is centred: nobody needs an intercept."""
    rng = np.random.default_rng(0)
    X: Any
    if kind == "sparse":
        n_entries = 1_000_000
        places = rng.integers(0, 20_000, n_entries), rng.integers(0, 50_000, n_entries)
        X = sp.csc_matrix((rng.normal(size=n_entries), places), shape=(20_000, 50_000))
        X.sum_duplicates()
    else:
        X = rng.normal(size=(500, 10_000) if kind == "wide" else (20_000, 500))
        X = np.asfortranarray(X - X.mean(axis=0))
    w = np.zeros(X.shape[1])
    w[rng.choice(len(w), 100, replace=False)] = rng.normal(size=100)
    signal = X @ w
    y = signal + 0.3 * signal.std() * rng.normal(size=len(signal))
    return X, y - y.mean()


def ours(X: Any, y: np.ndarray) -> Path:
    return lasso_path(X, y, n_alphas=N_ALPHAS, eps=EPS, fit_intercept=False, tol=TOL)[:2]


def peers() -> dict[str, Callable[..., Path]]:
    """Those that are installed, each at the setting that is fastest for it."""
    found: dict[str, Callable[..., Path]] = {"scikit-learn": _scikit_learn}
    for name, path in {"celer": _celer, "skglm": _skglm}.items():
        if find_spec(name) is None:
            skipped(name, "it isn't installed")
        else:
            found[name] = path
    return found


def _scikit_learn(X: Any, y: np.ndarray) -> Path:
    gram = not sp.issparse(X) and X.shape[0] > X.shape[1]
    return scikit_learn_path(X, y, eps=EPS, alphas=N_ALPHAS, tol=TOL, precompute=gram)[:2]


def _celer(X: Any, y: np.ndarray) -> Path:
    from celer import celer_path

    return celer_path(X, y, "lasso", eps=EPS, n_alphas=N_ALPHAS, tol=TOL)[:2]


def _skglm(X: Any, y: np.ndarray) -> Path:
    from skglm.datafits import Quadratic
    from skglm.penalties import L1
    from skglm.solvers import AndersonCD

    largest = np.abs(X.T @ y).max() / len(y)
    alphas = largest * np.geomspace(1.0, EPS, N_ALPHAS)
    solver = AndersonCD(fit_intercept=False, tol=TOL * largest)
    return solver.path(X, y, Quadratic(), L1(1.0), alphas)[:2]


def largest_gap(X: Any, y: np.ndarray, alphas: np.ndarray, coefs: np.ndarray) -> float:
    """The largest duality gap along a path relative to ‖y‖², by the definition: primal minus dual of the shrunken
    residual, for ½‖y − Xw‖² + nα‖w‖₁."""
    worst = 0.0
    for alpha, w in zip(alphas, coefs.T, strict=True):
        rest, l1 = y - X @ w, alpha * len(y)
        theta = rest * min(1.0, l1 / np.abs(X.T @ rest).max())
        primal = 0.5 * rest @ rest + l1 * np.abs(w).sum()
        worst = max(worst, float(primal - 0.5 * y @ y + 0.5 * np.sum((y - theta) ** 2)))
    return worst / float(y @ y)
