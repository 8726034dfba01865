"""Titsias's bound with its gradient beside GPflow and GPyTorch where installed; memory, and a whole fit.

All have the same points, kernel and noise, and don't move the points.
"""

import gc
import tracemalloc
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Job, Line, below, faster, skipped, times_of
from credo.gp import GPRegressor
from credo.inference import Inducing
from credo.kernels import RBF

Array = NDArray[np.float64]
N, D, M = 50_000, 8, 500
SCALE, NOISE = 1.5, 0.1


def run() -> list[Line]:
    X, y = table()
    values: dict[str, float] = {}
    jobs = {"credo": credo(X, y, values)}
    for name, (module, job) in {"GPyTorch": ("gpytorch", gpytorch), "GPflow": ("gpflow", gpflow)}.items():
        if find_spec(module) is None:
            skipped(f"the bound of inducing points by {name}", "which isn't installed")
        else:
            jobs[name] = job(X, y, values)
    times = times_of(jobs, rounds=3)
    lines = []
    for name in list(jobs)[1:]:
        # Their jitter on K_uu changes the value in the sixth digit.
        assert abs(values[name] / values["credo"] - 1) < 1e-4, values
        quality = f"bound {values['credo']:.1f}, {name} {values[name]:.1f}"
        lines.append(faster(f"bound + gradient, ARD RBF, N={N} D={D} M={M}", times, name, 3.0, quality=quality))
    lines.append(below(f"peak memory of it, N={N} M={M}", peak(jobs["credo"]), 1.5, unit="n×m", yardstick="n×m arrays"))
    return [*lines, fit(X, y)]


def table() -> tuple[Array, Array]:
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, size=(N, D))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=N)
    return X, (y - y.mean()) / y.std()


def fit(X: Array, y: Array) -> Line:
    model = GPRegressor(n_inducing=M, random_state=0)
    times = times_of({"credo": lambda: model.fit(X, y)}, rounds=0)
    return below(f"a whole fit, N={N} D={D} M={M}", times["credo"], 150.0)


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


def gpflow(X: Array, y: Array, values: dict[str, float]) -> Callable[[], None]:
    import gpflow
    import tensorflow as tf

    kernel = gpflow.kernels.SquaredExponential(lengthscales=np.full(D, SCALE))
    model = gpflow.models.SGPR((X, y[:, None]), kernel, X[:M].copy(), noise_variance=NOISE)
    gpflow.set_trainable(model.inducing_variable, False)

    @tf.function
    def evaluate():
        with tf.GradientTape() as tape:
            value = model.elbo()
        return value, tape.gradient(value, model.trainable_variables)

    def once() -> None:
        values["GPflow"] = float(evaluate()[0])

    return once
