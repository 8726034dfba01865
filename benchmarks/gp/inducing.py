"""Titsias's bound with its gradient beside GPyTorch where installed; memory, and a whole fit.

All have the same points, kernel and noise, and don't move the points.
"""

import gc
import tracemalloc
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Job, Line, below, faster, installed, times_of
from credo.core.inference import Inducing
from credo.gp import GPRegressor
from credo.kernels import RBF

Array = NDArray[np.float64]
N, D, M = 50_000, 8, 500
SCALE, NOISE = 1.5, 0.1


def run() -> list[Line]:
    X, y = table()
    lines = bound(X, y, {"GPyTorch": gpytorch} if installed("gpytorch", "inducing points by GPyTorch") else {})
    most = peak(credo(X, y, {}))
    lines.append(below(f"peak memory of it, N={N} M={M}", most, 1.5, unit="n×m", yardstick="n×m arrays"))
    return [*lines, fit(X, y)]


def bound(X: Array, y: Array, peers: dict[str, Callable[..., Job]]) -> list[Line]:
    values: dict[str, float] = {}
    times = times_of({name: job(X, y, values) for name, job in {"credo": credo, **peers}.items()}, rounds=3)
    lines = []
    for name in peers:
        # Their jitter on K_uu changes the value in the sixth digit.
        assert abs(values[name] / values["credo"] - 1) < 1e-4, values
        quality = f"bound {values['credo']:.1f}, {name} {values[name]:.1f}"
        lines.append(faster(f"bound + gradient, ARD RBF, N={N} D={D} M={M}", times, name, 3.0, quality=quality))
    return lines


def table() -> tuple[Array, Array]:
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, size=(N, D))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=N)
    return X, (y - y.mean()) / y.std()


def fit(X: Array, y: Array) -> Line:
    model = GPRegressor(n_inducing=M, random_state=0)
    times = times_of({"credo": lambda: model.fit(X, y)}, rounds=0)
    rmse = np.sqrt(np.mean((model.predict(X[:5000]) - y[:5000]) ** 2))
    case, quality = f"a whole fit with inducing points, N={N} D={D} M={M}", f"RMSE {rmse:.3f} of the training rows"
    return below(case, times["credo"], 150.0, quality=quality)


def peak(job: Job) -> float:
    """n×m arrays' worth of memory at the worst moment."""
    gc.collect()
    tracemalloc.start()
    job()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / (8 * N * M)


def credo(X: Array, y: Array, values: dict[str, float]) -> Callable[[], None]:
    rows, kernel = Inducing(X, X[:M]), RBF(np.full(D, SCALE))

    def once() -> None:
        posterior = rows.prior(kernel).observe(y[:, None], NOISE)
        values["credo"] = posterior.log_evidence
        posterior.gradient()

    return once


def gpytorch(X: Array, y: Array, values: dict[str, float]) -> Callable[[], None]:
    import gpytorch
    import torch

    torch.set_default_dtype(torch.float64)
    rows, targets = torch.tensor(X), torch.tensor(y)

    class Model(gpytorch.models.ExactGP):
        def __init__(self, likelihood):
            super().__init__(rows, targets, likelihood)
            inner = gpytorch.kernels.RBFKernel(ard_num_dims=D)
            inner.lengthscale = torch.full((D,), SCALE)
            scaled = gpytorch.kernels.ScaleKernel(inner)
            scaled.outputscale = 1.0
            self.mean = gpytorch.means.ZeroMean()
            self.kernel = gpytorch.kernels.InducingPointKernel(scaled, rows[:M].clone(), likelihood)
            self.kernel.inducing_points.requires_grad_(False)

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    likelihood.noise = NOISE
    model = Model(likelihood).train()
    bound = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)

    def once() -> None:
        model.zero_grad()
        value = N * bound(model(rows), targets)
        value.backward()
        values["GPyTorch"] = float(value.detach())

    return once
