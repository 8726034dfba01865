"""One log evidence with its gradient, in units of the factorisation and the inverse that it can't do without."""

from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack
from scipy.spatial.distance import cdist

from benchmarks.harness import Job, Line, at_most, quick, times_of
from credo.core.inference import Dense
from credo.kernels import RBF, Exponential, Kernel, Matern32, Matern52, RationalQuadratic


def run() -> list[Line]:
    return sizes() if quick() else [*sizes(), *families()]


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
    cases = [(1000, 8, 2.0), (2000, 8, 1.35), (4000, 8, 1.15), (2000, 21, 1.6)]
    for n, d, limit in cases[:2] if quick() else cases:
        fill, bare = floor(n)
        times = times_of(
            {"credo": evaluation(RBF(np.full(d, 1.5)), n, d), "dpotrf + dpotri": bare},
            rounds=7 if n > 2000 or quick() else 15,
            before={"dpotrf + dpotri": fill},
        )
        case, quality = f"log evidence + gradient, ARD RBF, N={n} D={d}", f"differs from SciPy by {_apart(n, d):.0e}"
        lines.append(at_most(case, times, "dpotrf + dpotri", limit, quality=quality))
    return lines


def _apart(n: int, d: int) -> float:
    """The relative difference of the log evidence and the same by SciPy alone."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    factor = cho_factor(np.exp(-0.5 * cdist(X / 1.5, X / 1.5, "sqeuclidean")) + 0.1 * np.eye(n), lower=True)
    half_log_det = np.log(np.diag(factor[0])).sum()
    theirs = -0.5 * y @ cho_solve(factor, y) - half_log_det - 0.5 * n * np.log(2 * np.pi)
    return abs(Dense(X).prior(RBF(np.full(d, 1.5))).observe(y[:, None], 0.1).log_evidence / theirs - 1)


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
    times = times_of({name: evaluation(kernel, 2000, 8) for name, kernel in rivals.items()}, rounds=9)
    return [at_most(f"log evidence + gradient, {name}, N=2000 D=8", times, "RBF", 1.6, ours=name) for name in kernels]
