"""Gaussian processes beside GPflow, which needs an older NumPy than GPy and so has an environment of its own:
`make bench` runs this suite there, in a second, short run."""

import os
import warnings
from typing import Any

import numpy as np

from benchmarks.gp import inducing, peers
from benchmarks.gp.evidence import evaluation
from benchmarks.gp.fits import task
from benchmarks.harness import Job, Line, faster, installed, quick, times_of
from credo.kernels import RBF

Array = np.ndarray


def run() -> list[Line]:
    warnings.simplefilter("ignore")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if not installed("gpflow", "GPflow"):
        return []
    lines = [evidence(500 if quick() else 2000), fit(300 if quick() else 1000)]
    return lines if quick() else [*lines, *inducing.bound(*inducing.table(), {"GPflow": bound})]


def evidence(n: int, d: int = 8) -> Line:
    """One log evidence with its gradient."""
    import gpflow

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, d)), rng.normal(size=(n, 1))
    model = gpflow.models.GPR((X, y), gpflow.kernels.RBF(lengthscales=np.full(d, 1.5)), noise_variance=0.1)
    theirs = _compiled(model, model.log_marginal_likelihood)
    times = times_of({"credo": evaluation(RBF(np.full(d, 1.5)), n, d), "GPflow": theirs}, rounds=5)
    ours = peers.End(np.full(d, 1.5), 1.0, 0.1).log_evidence(X, y[:, 0])
    quality = f"values differ by {abs(theirs() / ours - 1):.0e}"
    return faster(f"log evidence + gradient, ARD RBF, N={n} D={d}", times, "GPflow", 3.0, quality=quality)


def fit(n: int) -> Line:
    """The whole climb of the evidence, and a prediction, as in the suite `gp`."""
    X, y, new = task(n)
    ends: dict[str, peers.End] = {}

    def ours() -> None:
        ends["credo"] = peers.credo(X, y, new)

    def theirs() -> None:
        ends["GPflow"] = climb(X, y, new)

    times = times_of({"credo": ours, "GPflow": theirs}, rounds=1)
    gap = ends["GPflow"].log_evidence(X, y) - ends["credo"].log_evidence(X, y)
    return faster(f"fit + predict 1000, N={n} D=8", times, "GPflow", 1.0, quality=f"GPflow's log evidence {gap:+.2f}")


def climb(X: Array, y: Array, new: Array) -> peers.End:
    import gpflow

    kernel = gpflow.kernels.RBF(lengthscales=np.ones(X.shape[1]))
    model = gpflow.models.GPR((X, y[:, None]), kernel, noise_variance=0.1)
    gpflow.optimizers.Scipy().minimize(model.training_loss, model.trainable_variables, options={"maxiter": 1000})
    np.sqrt(model.predict_y(new)[1].numpy())
    return peers.End(
        kernel.lengthscales.numpy(), float(kernel.variance.numpy()), float(model.likelihood.variance.numpy())
    )


def bound(X: Array, y: Array, values: dict[str, float]) -> Job:
    """The collapsed bound of inducing points with its gradient."""
    import gpflow

    kernel = gpflow.kernels.RBF(lengthscales=np.full(inducing.D, inducing.SCALE))
    points = X[: inducing.M].copy()
    model = gpflow.models.SGPR((X, y[:, None]), kernel, points, noise_variance=inducing.NOISE)
    gpflow.set_trainable(model.inducing_variable, False)
    evaluate = _compiled(model, model.elbo)
    return lambda: values.update(GPflow=evaluate())


def _compiled(model: Any, value: Any) -> Any:
    """A function that gives the value, after its gradient by the trainable variables."""
    import tensorflow as tf

    @tf.function
    def both() -> Any:
        with tf.GradientTape() as tape:
            found = value()
        return found, tape.gradient(found, model.trainable_variables)

    return lambda: float(both()[0].numpy())
