"""A million points of one column in state-space form, beside celerite2 and tinygp where installed."""

from collections.abc import Callable
from time import perf_counter

import numpy as np

from benchmarks.harness import Job, Line, at_most, below, installed, times_of
from credo.core.inference import StateSpace
from credo.gp import GPRegressor
from credo.kernels import Matern32

_N, _SCALE, _NOISE = 1_000_000, 0.5, 0.09


def run() -> list[Line]:
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(0, 1000, _N))
    y = np.sin(t) + 0.3 * rng.normal(size=_N)
    rows, noise = StateSpace(t[:, None]), np.full(_N, _NOISE)

    def likelihood() -> float:
        return rows.prior(Matern32(_SCALE)).observe(y[:, None], noise).log_evidence

    def gradient() -> None:
        rows.prior(Matern32(_SCALE)).observe(y[:, None], noise).gradient()

    peers: dict[str, Callable[[], float]] = {**_celerite(t, y), **_tinygp(t, y)}
    jobs: dict[str, Job] = {"credo": likelihood, "gradient": gradient, **peers}
    times = times_of(jobs, rounds=5)
    case = f"log likelihood, Matern32, {_N:,} irregular times"
    lines = []
    for name, value in peers.items():
        quality = f"{name}'s value differs by {abs(value() / likelihood() - 1):.0e}"
        lines.append(at_most(case, times, name, 0.35, quality=quality))
    lines.append(at_most(f"{case}, with its gradient", times, "credo", 6.0, ours="gradient"))
    begin = perf_counter()
    model = GPRegressor("matern32", random_state=0).fit(t[:, None], y)
    seconds = perf_counter() - begin
    some = slice(None, None, 100)
    error = np.sqrt(np.mean(np.square(model.predict(t[some, None]) - np.sin(t[some]))))
    quality = f"error of the function {error:.4f}, noise 0.3"
    return [*lines, below(f"fit of GPRegressor, Matern32, {_N:,} rows", seconds, 60.0, quality=quality)]


def _celerite(t: np.ndarray, y: np.ndarray) -> dict[str, Callable[[], float]]:
    if not installed("celerite2", "series by celerite2"):
        return {}
    import celerite2

    process = celerite2.GaussianProcess(celerite2.terms.Matern32Term(sigma=1.0, rho=_SCALE), mean=0.0)

    def once() -> float:
        process.compute(t, diag=np.full(_N, _NOISE))
        return float(process.log_likelihood(y))

    return {"celerite2": once}


def _tinygp(t: np.ndarray, y: np.ndarray) -> dict[str, Callable[[], float]]:
    if not installed("tinygp", "series by tinygp"):
        return {}
    import jax
    from tinygp import GaussianProcess, kernels

    jax.config.update("jax_enable_x64", True)
    times, targets = jax.numpy.asarray(t), jax.numpy.asarray(y)

    @jax.jit
    def value(scale: float) -> jax.Array:
        kernel = kernels.quasisep.Matern32(scale=scale, sigma=1.0)
        return GaussianProcess(kernel, times, diag=_NOISE, assume_sorted=True).log_probability(targets)

    return {"tinygp": lambda: float(value(_SCALE).block_until_ready())}
