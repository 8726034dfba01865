"""Classifiers beside scikit-learn, statsmodels, and GPy's expectation propagation."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import Line, at_most, faster, installed, quick, times_of
from credo.gp import GPClassifier
from credo.kernels import RBF
from credo.linear import LogisticRegression


def run() -> list[Line]:
    warnings.simplefilter("ignore")
    return [*logistic(), *likelihood(), *processes(300 if quick() else 1000)]


def table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 50)) * rng.uniform(0.2, 3, size=50)
    return X, (rng.random(len(X)) < 1 / (1 + np.exp(-X @ rng.normal(size=50) / 3))).astype(int)


def logistic() -> list[Line]:
    """To the same objective: the peers' tolerances are as tight as it takes to come as close as we do."""
    from sklearn.linear_model import LogisticRegression as Peer

    X, y = table()

    def objective(model: Any) -> float:
        z = np.where(y == 1, 1, -1) * (X @ np.ravel(model.coef_) + np.ravel(model.intercept_)[0])
        return float(np.logaddexp(0, -z).sum() + 0.5 * np.sum(np.square(model.coef_)))

    rivals = {
        f"scikit-learn {solver}": Peer(C=1.0, solver=solver, tol=tol, max_iter=1000)
        for solver, tol in [("newton-cholesky", 1e-6), ("lbfgs", 1e-5), ("newton-cg", 1e-5)]
    }
    ours = LogisticRegression(alpha=1.0)
    jobs: dict[str, Callable[[], Any]] = {"credo": lambda: ours.fit(X, y)}
    for name, model in rivals.items():
        jobs[name] = lambda model=model: model.fit(X, y)
    times = times_of(jobs, rounds=1 if quick() else 3)
    best = objective(ours)
    lines = []
    for name, model in rivals.items():
        gap = (objective(model) - best) / best
        lines.append(
            at_most(
                "logistic regression, n=100000 p=50",
                times,
                name,
                1.0,
                quality=f"{name}'s objective {gap:+.0e}",
            )
        )
    return lines


def likelihood() -> list[Line]:
    """Maximum likelihood with standard errors."""
    if not installed("statsmodels", "logistic regression by statsmodels"):
        return []
    from statsmodels.api import Logit, add_constant

    X, y = table()
    ours, found = LogisticRegression(), []
    times = times_of(
        {
            "credo": lambda: ours.fit(X, y),
            "statsmodels Logit": lambda: found.append(Logit(y, add_constant(X)).fit(disp=0)),
        },
        rounds=1 if quick() else 3,
    )
    errors = found[-1].bse[1:]
    apart = np.abs(ours.coef_std_error_[0] - errors).max() / errors.max()
    case = "logistic regression with standard errors, n=100000 p=50"
    return [at_most(case, times, "statsmodels Logit", 1.0, quality=f"standard errors differ by {apart:.0e}")]


def processes(n: int) -> list[Line]:
    """Hyperparameters by evidence from the same start, then predictions."""
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process import kernels as sk

    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 8))
    y = (rng.random(n) < 1 / (1 + np.exp(-3 * np.sin(2 * X[:, 0]) - 2 * X[:, 1] * X[:, 2]))).astype(int)
    reached: dict[str, float] = {}

    def ours(inference: str, link: str) -> Callable[[], None]:
        def once() -> None:
            model = GPClassifier(
                RBF(np.ones(8)), inference=inference, link=link, hyperpriors=False, n_restarts=0, random_state=0
            )
            model.fit(X, y).predict_proba(X)
            reached[inference] = model.log_evidence_

        return once

    def theirs() -> None:
        model = GaussianProcessClassifier(sk.ConstantKernel(1.0) * sk.RBF(np.ones(8))).fit(X, y)
        model.predict_proba(X)
        reached["scikit-learn"] = model.log_marginal_likelihood_value_

    times = times_of({"laplace": ours("laplace", "logit"), "ep": ours("ep", "probit")}, rounds=1)
    times |= times_of({"scikit-learn": theirs}, rounds=0)
    gap = reached["laplace"] - reached["scikit-learn"]
    lines = [
        faster(
            f"GP classifier, Laplace, N={n} D=8",
            times,
            "scikit-learn",
            6.0 if n >= 1000 else 1.0,
            ours="laplace",
            quality=f"log evidence {gap:+.2f} beside scikit-learn's",
        ),
        at_most(f"GP classifier, EP beside Laplace, N={n} D=8", times, "laplace", 6.0, ours="ep"),
    ]
    return lines + gpy(n, X, y, times["ep"], reached["ep"])


def gpy(n: int, X: np.ndarray, y: np.ndarray, seconds: float, evidence: float) -> list[Line]:
    if not installed("GPy", "expectation propagation by GPy"):
        return []
    import GPy

    reached = []

    def once() -> None:
        kernel = GPy.kern.RBF(8, ARD=True)
        model = GPy.models.GPClassification(X, y[:, None], kernel=kernel)
        model.optimize("lbfgsb", max_iters=200)
        ended = RBF(np.asarray(kernel.lengthscale), variance=float(kernel.variance[0]))
        # By our own function: GPy's number is that of sites that haven't settled.
        reached.append(GPClassifier(ended, hyperparameters="fixed").fit(X, y).log_evidence_)

    times = times_of({"GPy": once}, rounds=0) | {"credo": seconds}
    quality = f"log evidence {evidence - reached[-1]:+.2f} beside GPy's"
    return [faster(f"GP classifier, EP, N={n} D=8", times, "GPy", 1.0, quality=quality)]
