"""One log evidence with its gradient, in units of the factorisation and the inverse that it can't do without."""

from collections.abc import Callable

import numpy as np
from scipy.linalg import lapack

from benchmarks.harness import Job, Line, at_most, times_of
from credo.inference import Dense
from credo.kernels import RBF, Exponential, Kernel, Matern32, Matern52, RationalQuadratic


def run() -> list[Line]:
    return [*sizes(), *families()]


def evaluation(kernel: Kernel, n: int, d: int) -> Job:
    """One log evidence with its gradient, ready to be timed."""
    rng = np.random.default_rng(0)
    rows, Y = Dense(rng.normal(size=(n, d))), rng.normal(size=(n, 1))

    def once() -> None:
        posterior = rows.prior(kernel).observe(Y, 0.1)
        assert np.isfinite(posterior.log_evidence)
        posterior.gradient()

    return once


def floor(n: int) -> tuple[Callable[[], None], Job]:
    """What fills a matrix, and dpotrf + dpotri of it."""
    A = np.asfortranarray(2.0 * np.eye(n) + 0.1)
    work = np.empty_like(A)

    def once() -> None:
        lapack.dpotrf(work, lower=1, overwrite_a=1, clean=0)
        lapack.dpotri(work, lower=1, overwrite_c=1)

    return lambda: np.copyto(work, A), once


def sizes() -> list[Line]:
    lines = []
    for n, d, limit in [(1000, 8, 2.0), (2000, 8, 1.35), (4000, 8, 1.15), (2000, 21, 1.6)]:
        fill, bare = floor(n)
        times = times_of(
            {"credo": evaluation(RBF(np.full(d, 1.5)), n, d), "dpotrf + dpotri": bare},
            rounds=7 if n > 2000 else 25,
            before={"dpotrf + dpotri": fill},
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
    times = times_of({name: evaluation(kernel, 2000, 8) for name, kernel in rivals.items()}, rounds=15)
    return [at_most(f"log evidence + gradient, {name}, N=2000 D=8", times, "RBF", 1.6, ours=name) for name in kernels]
