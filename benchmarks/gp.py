"""Gaussian processes beside what LAPACK alone needs, and beside scikit-learn (and GPy, where it is installed)."""

import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.linalg import lapack

from benchmarks.timing import Line, at_most, best_times, faster
from credo.gp import GPRegressor
from credo.inference import log_evidence
from credo.kernels import RBF, Exponential, Kernel, Matern32, Matern52, RationalQuadratic
from credo.linalg import Workspace


def run() -> list[Line]:
    warnings.simplefilter("ignore")
    return [*evaluations(), *families(), *fits()]


def evaluation(kernel: Kernel, n: int, d: int) -> Any:
    """One log evidence with its gradient, ready to be timed."""
    rng = np.random.default_rng(0)
    X, Y, work, basis = rng.normal(size=(n, d)), rng.normal(size=(n, 1)), Workspace(n), np.empty((n, 0))
    return lambda: log_evidence(kernel, X, Y, noise=0.1, basis=basis, workspace=work)


def floor(n: int) -> Any:
    """dpotrf + dpotri alone, on a matrix that is filled outside the clock of neither."""
    A = np.asfortranarray(2.0 * np.eye(n) + 0.1)
    work = np.empty_like(A)

    def once() -> None:
        np.copyto(work, A)
        lapack.dpotrf(work, lower=1, overwrite_a=1, clean=0)
        lapack.dpotri(work, lower=1, overwrite_c=1)

    return once


def evaluations() -> list[Line]:
    lines = []
    for n, d, limit in [(1000, 8, 2.0), (2000, 8, 1.35), (4000, 8, 1.15), (2000, 21, 1.6)]:
        times = best_times(
            {"credo": evaluation(RBF(np.full(d, 1.5)), n, d), "dpotrf + dpotri": floor(n)}, rounds=5 if n > 2000 else 9
        )
        lines.append(at_most(f"log evidence + gradient, ARD RBF, N={n} D={d}", times, "dpotrf + dpotri", limit))
    return lines


def families() -> list[Line]:
    scales = np.full(8, 1.5)
    kernels = {
        "Exponential": Exponential(scales),
        "Matern32": Matern32(scales),
        "Matern52": Matern52(scales),
        "RationalQuadratic": RationalQuadratic(scales),
        "RBF + Matern32": RBF(scales) + Matern32(scales),
    }
    rivals = {"RBF": RBF(scales), **kernels}
    times = best_times({name: evaluation(kernel, 2000, 8) for name, kernel in rivals.items()}, rounds=7)
    return [at_most(f"log evidence + gradient, {name}, N=2000 D=8", times, "RBF", 1.6, ours=name) for name in kernels]


def fits() -> list[Line]:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process import kernels as sk

    lines = []
    for n, factor in [(1000, 8.0), (3000, 12.0)]:
        rng = np.random.default_rng(1)
        X, new = rng.uniform(-2, 2, size=(n, 8)), rng.uniform(-2, 2, size=(1000, 8))
        y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)
        reached: dict[str, float] = {}

        def ours(X: Any = X, y: Any = y, new: Any = new, reached: Any = reached) -> None:
            model = GPRegressor(RBF(np.ones(8)), mean="zero", hyperpriors=False, n_restarts=0).fit(X, y)
            model.predict(new, return_std=True)
            reached["credo"] = model.log_evidence_

        def theirs(X: Any = X, y: Any = y, new: Any = new, reached: Any = reached) -> None:
            kernel = sk.ConstantKernel(1.0) * sk.RBF(np.ones(8)) + sk.WhiteKernel(0.1)
            model = GaussianProcessRegressor(kernel, normalize_y=True).fit(X, y)
            model.predict(new, return_std=True)
            # Its evidence is that of standardised targets.
            reached["scikit-learn"] = model.log_marginal_likelihood_value_ - len(y) * np.log(y.std())

        times = best_times({"credo": ours, "scikit-learn": theirs}, rounds=0 if n > 1000 else 1)
        gap = reached["credo"] - reached["scikit-learn"]
        lines.append(faster(f"fit + predict 1000, N={n} D=8 (evidence {gap:+.2f} nats)", times, "scikit-learn", factor))
    if find_spec("GPy") is None:
        print("GPy isn't installed: skipped")
    return lines
