"""A million points of one column in state-space form, beside celerite2 and tinygp where installed."""

from time import perf_counter

import numpy as np

from benchmarks.harness import Job, Line, at_most, below, skipped, times_of
from credo.gp import GPRegressor
from credo.inference import StateSpace
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

    jobs: dict[str, Job] = {"credo": likelihood, "gradient": gradient, **_celerite(t, y), **_tinygp(t, y)}
    times = times_of(jobs, rounds=5)
    case = f"log likelihood, Matern32, {_N:,} irregular times"
    lines = [at_most(case, times, peer, 0.35) for peer in ("celerite2", "tinygp") if peer in times]
    lines.append(at_most("  with its gradient", times, "credo", 6.0, ours="gradient"))
    begin = perf_counter()
    GPRegressor("matern32", random_state=0).fit(t[:, None], y)
    return [*lines, below(f"  fit of GPRegressor, {_N:,} rows", perf_counter() - begin, 60.0)]


def _celerite(t: np.ndarray, y: np.ndarray) -> dict[str, Job]:
    try:
        import celerite2
    except ImportError:
        skipped("celerite2", "it isn't installed")
        return {}
    process = celerite2.GaussianProcess(celerite2.terms.Matern32Term(sigma=1.0, rho=_SCALE), mean=0.0)

    def once() -> float:
        process.compute(t, diag=np.full(_N, _NOISE))
        return float(process.log_likelihood(y))

    return {"celerite2": once}


def _tinygp(t: np.ndarray, y: np.ndarray) -> dict[str, Job]:
    try:
        import jax
        from tinygp import GaussianProcess, kernels
    except ImportError:
        skipped("tinygp", "it isn't installed")
        return {}
    jax.config.update("jax_enable_x64", True)
    times, targets = jax.numpy.asarray(t), jax.numpy.asarray(y)

    @jax.jit
    def value(scale: float) -> jax.Array:
        kernel = kernels.quasisep.Matern32(scale=scale, sigma=1.0)
        return GaussianProcess(kernel, times, diag=_NOISE, assume_sorted=True).log_probability(targets)

    return {"tinygp": lambda: value(_SCALE).block_until_ready()}
