"""Lasso paths and sparse logistic regression beside scikit-learn, celer and skglm, all held to the same duality gap;
cross-validation beside scikit-learn; subsets beside R's BMS and by the clock; and samples of subsets of genes beside
their own errors."""

import csv
import gzip
import os
import warnings
from collections.abc import Callable
from pathlib import Path as File
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse as sp
from scipy.special import entr, expit
from sklearn.linear_model import LassoCV as ScikitLearnLassoCV
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import lasso_path as scikit_learn_path

from benchmarks import bms
from benchmarks.harness import Line, at_most, below, installed, quick, skipped, times_of
from credo.sparse import LassoCV, SparseLogisticRegression, SpikeSlabClassifier, SpikeSlabRegressor, lasso_path

Path = tuple[np.ndarray, np.ndarray]
N_ALPHAS, EPS, TOL = 100, 1e-3, 1e-4
LOGISTIC_TOL = 1e-5
CASES = {
    "dense n=500 p=10000": ("wide", 3),
    "dense n=20000 p=500": ("tall", 3),
    "sparse n=20000 p=50000 density 1e-3": ("sparse", 3),
}


def run() -> list[Line]:
    warnings.simplefilter("ignore")
    lines: list[Line] = []
    for case, (kind, rounds) in list(CASES.items())[: 1 if quick() else None]:
        X, y = table(kind)
        contestants = {"credo": ours, **peers()}
        found: dict[str, Path] = {}

        def runner(
            name: str, path: Callable[..., Path], X: Any = X, y: Any = y, found: Any = found
        ) -> Callable[[], None]:
            return lambda: found.update({name: path(X, y)})

        times = times_of(
            {name: runner(name, path) for name, path in contestants.items()}, rounds=1 if quick() else rounds
        )
        worst = {name: largest_gap(X, y, *path) for name, path in found.items()}
        lines.append(below(f"{case}: largest relative gap", worst["credo"], TOL, unit="gap", yardstick="tol"))
        # Whoever stops at larger gaps isn't solving the same problem.
        for name in contestants:
            if name != "credo":
                lines.append(at_most(f"{case}, 100 alphas", times, name, 1.2, quality=gaps(worst, name)))
    lines += [*cross_validation(), *logistic()]
    return [*lines, *bms.run()] if quick() else [*lines, *bms.run(), *subsets(), *genes()]


def gaps(worst: dict[str, float], name: str) -> str:
    return f"relative duality gap {worst['credo']:.0e}, {name} {worst[name]:.0e}"


def cross_validation() -> list[Line]:
    """5 folds and 100 penalties; scikit-learn at its own tolerance, which is the looser one."""
    rng = np.random.default_rng(0)
    lines = []
    for n, p in [(300, 2000), (5000, 200)]:
        X, new = np.asfortranarray(rng.normal(size=(n, p))), rng.normal(size=(1000, p))
        w = rng.normal(size=20)
        y, truth = X[:, :20] @ w + rng.normal(size=n), new[:, :20] @ w
        models = {"credo": LassoCV(), "scikit-learn": ScikitLearnLassoCV(cv=5)}
        times = times_of(
            {name: lambda m=m, X=X, y=y: m.fit(X, y) for name, m in models.items()}, rounds=1 if quick() else 3
        )
        errors = (np.sqrt(np.mean((model.predict(new) - truth) ** 2)) for model in models.values())
        quality = "error of new rows " + ", ".join(f"{m} {error:.3f}" for m, error in zip(models, errors, strict=True))
        lines.append(at_most(f"LassoCV, n={n} p={p}", times, "scikit-learn", 1.0, quality=quality))
    return lines


def logistic() -> list[Line]:
    """One penalty, a twentieth of the largest of use, without an intercept, which liblinear would penalise."""
    lines = []
    cases = {"dense n=2000 p=1000": "square", "sparse n=20000 p=50000": "sparse"}
    for case, kind in list(cases.items())[: 1 if quick() else None]:
        X, signal = table(kind)
        noise = np.random.default_rng(1).logistic(size=len(signal))
        y = (2.0 * signal / signal.std() + noise > 0).astype(np.float64)
        alpha = 0.05 * np.abs(X.T @ (y - 0.5)).max() / len(y)
        found: dict[str, np.ndarray] = {}

        def runner(name: str, fit: Any, X: Any = X, y: Any = y, a: float = alpha, found: Any = found) -> Any:
            return lambda: found.update({name: fit(X, y, a)})

        contestants = {name: runner(name, fit) for name, fit in classifiers().items()}
        times = times_of(contestants, rounds=3)
        worst = {name: logistic_gap(X, y, w, alpha) for name, w in found.items()}
        lines.append(below(f"{case}: relative gap", worst["credo"], LOGISTIC_TOL, unit="gap", yardstick="tol"))
        for name in contestants:
            if name != "credo":
                lines.append(at_most(f"sparse logistic, {case}", times, name, 1.2, quality=gaps(worst, name)))
    return lines


def subsets() -> list[Line]:
    """The posterior over all subsets by enumeration, and over 2^20000 of them by sampling."""
    rng = np.random.default_rng(0)
    lines = []
    for d, limit in [(20, 2.0), (25, 90.0)]:
        X = rng.normal(size=(200, d))
        y = X[:, :4] @ [1.0, -1.0, 0.5, 0.2] + rng.normal(size=200)
        model = SpikeSlabRegressor(search="enumerate").fit(X[:, :10], y)
        times = times_of({"credo": lambda m=model, X=X, y=y: m.fit(X, y)}, rounds=0)
        lines.append(below(f"spike and slab, all 2^{d} subsets", times["credo"], limit, quality=inclusions(model)))
    X = rng.normal(size=(100, 20_000))
    y = X[:, :4] @ [1.0, -1.0, 0.7, 0.5] + 0.5 * rng.normal(size=100)
    sampler = SpikeSlabRegressor((1.0, 20_000.0), slab="g", search="gibbs", random_state=0)
    times = times_of({"credo": lambda: sampler.fit(X, y)}, rounds=0)
    case = "spike and slab, sampled, n=100 d=20000"
    return [*lines, below(case, times["credo"], 60.0, quality=inclusions(sampler))]


def inclusions(model: SpikeSlabRegressor) -> str:
    """Of the first four columns, which matter, and the largest of the others."""
    found = model.inclusion_probabilities_
    first = ", ".join(f"{value:.2f}" for value in found[:4])
    return f"inclusion probabilities {first} of the columns that matter, at most {found[4:].max():.2f} of others"


def genes() -> list[Line]:
    """Subsets of thousands of genes, sampled: for their class, and for the first gene by all others.

    Each fit is to know all inclusion probabilities to ±0.05, and two with different seeds may differ by their errors.
    """
    lines: list[Line] = []
    for name in ("gene_colon_alon", "gene_breast_gravier"):
        file = File(os.environ.get("CREDO_DATA", "")) / f"{name}.csv.gz"
        if not os.environ.get("CREDO_DATA") or not file.exists():
            skipped(name, f"CREDO_DATA names no folder with {file.name}")
            continue
        with gzip.open(file, "rt") as text:
            *rows, labels = zip(*list(csv.reader(text))[1:], strict=True)
        X = np.array(rows, dtype=np.float64).T
        prior = (1.0, float(X.shape[1]))
        for what, model, inputs, target in (
            ("its class", SpikeSlabClassifier, X, np.array(labels)),
            ("one gene", SpikeSlabRegressor, X[:, 1:], X[:, 0]),
        ):
            options = {"slab": "g"} if model is SpikeSlabRegressor else {}
            start = perf_counter()
            fits = [model(prior, random_state=seed, **options).fit(inputs, target) for seed in (0, 1)]
            case = f"{name}, {what} ({(perf_counter() - start) / 2:.0f} s each)"
            told = np.array([fit.posterior_.diagnostics["inclusion_error"] for fit in fits])
            apart = np.ptp([fit.inclusion_probabilities_ for fit in fits], axis=0)
            lines.append(below(f"{case}, error told", float(told.max()), 0.05, unit="", yardstick="the limit"))
            bound = 4.0 * float(np.linalg.norm(told, axis=0).max())
            lines.append(below(f"{case}, two seeds", float(apart.max()), bound, unit="", yardstick="4 errors"))
    return lines


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
        X = rng.normal(size={"wide": (500, 10_000), "tall": (20_000, 500), "square": (2000, 1000)}[kind])
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
        if installed(name, f"lasso paths by {name}"):
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


def classifiers() -> dict[str, Callable[..., np.ndarray]]:
    """Those that are installed, at settings that come as near to the same gap as theirs allow."""
    found = {"credo": _our_classifier, "liblinear": _liblinear}
    for name, fit in {"celer": _celer_classifier, "skglm": _skglm_classifier}.items():
        if installed(name, f"sparse logistic regression by {name}"):
            found[name] = fit
    return found


def _our_classifier(X: Any, y: np.ndarray, alpha: float) -> np.ndarray:
    return SparseLogisticRegression(alpha, fit_intercept=False, tol=LOGISTIC_TOL).fit(X, y).coef_[0]


def _liblinear(X: Any, y: np.ndarray, alpha: float) -> np.ndarray:
    options = {"l1_ratio": 1.0, "solver": "liblinear", "tol": 1e-5, "max_iter": 1000, "fit_intercept": False}
    return LogisticRegression(C=1 / (alpha * len(y)), **options).fit(X, y).coef_[0]


def _celer_classifier(X: Any, y: np.ndarray, alpha: float) -> np.ndarray:
    from celer import LogisticRegression as Celer

    return Celer(C=1 / (alpha * len(y)), tol=LOGISTIC_TOL / 2, fit_intercept=False).fit(X, 2 * y - 1).coef_[0]


def _skglm_classifier(X: Any, y: np.ndarray, alpha: float) -> np.ndarray:
    from skglm.datafits import Logistic
    from skglm.penalties import L1
    from skglm.solvers import ProxNewton

    solver = ProxNewton(fit_intercept=False, tol=30 * LOGISTIC_TOL * alpha, max_iter=200)
    return solver.solve(X, 2 * y - 1, Logistic(), L1(alpha))[0]


def logistic_gap(X: Any, y: np.ndarray, w: np.ndarray, alpha: float) -> float:
    """The duality gap of Σ ln(1 + exp(−(2y−1)xᵀw)) + nα‖w‖₁ relative to n ln 2, by the definition."""
    scores, l1 = X @ w, alpha * len(y)
    rest = y - expit(scores)
    share = min(1.0, l1 / np.abs(X.T @ rest).max())
    primal = np.logaddexp(0.0, -(2 * y - 1) * scores).sum() + l1 * np.abs(w).sum()
    told = y - share * rest
    return float(primal - (entr(told) + entr(1 - told)).sum()) / (len(y) * np.log(2.0))


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
