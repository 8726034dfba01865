"""Gaussian processes with given hyperparameters: regression, and classification by three approximations."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import entr, log_ndtr, ndtr

from credo.app.lab.playground._controls import choice
from credo.app.lab.playground._equations import number
from credo.app.lab.playground._kernels import KERNEL, kernel_equation, learned_terms, make_kernel, with_parameter
from credo.app.lab.playground._linear import NOISE
from credo.app.lab.playground._model import Band, Bars, Evidence, Model, Next, expected_fit, gaussian_evidence
from credo.app.lab.playground._problem import Array, rounded
from credo.core.linalg import factorize
from credo.distributions import Normal
from credo.gp import GPClassifier, GPRegressor
from credo.kernels import Kernel

_SHAPES = (("rbf", "Squared exponential (RBF)"), ("matern52", "Matérn 5/2"), ("matern32", "Matérn 3/2"))
INFERENCES = (
    ("laplace", "Laplace's approximation"),
    ("ep", "Expectation propagation"),
    ("vi", "Variational inference"),
)


class Process(Model):
    """Base of regression and classification: the kernel."""

    id, name = "gp", "Gaussian process"

    @cached_property
    def kernel(self) -> Kernel:
        two = self.problem.task == "classification"
        return make_kernel(self.settings["kernel"], self.problem.domain, two_inputs=two)

    def learned(self) -> dict[str, Any]:
        return {"kernel": learned_terms(self.settings["kernel"], self.estimator.kernel_)}

    def with_value(self, control: str, value: float) -> Model:
        if control.startswith("kernel."):
            return super().with_value("kernel", with_parameter(self.settings["kernel"], control, value))
        return super().with_value(control, value)


class ProcessRegression(Process):
    """Regression with given hyperparameters; without points its prior."""

    least = 0
    centered = True
    shows: ClassVar = {
        "regression": ("band", "draws", "prior_draws", "evidence", "equivalent_kernel", "next", "curve", "learn")
    }
    declared = (KERNEL, NOISE)
    learned_note = "Kernel and noise have the highest evidence that was found."

    def make(self) -> Any:
        common: dict[str, Any] = {"mean": "zero", "standardize": False, "method": "exact"}
        if self.learning:
            return GPRegressor(self.kernel, hyperpriors=False, n_restarts=3, random_state=0, **common)
        return GPRegressor(self.kernel, noise=self.noise, hyperparameters="fixed", **common)

    @property
    def noise(self) -> float:
        """The variance of the noise."""
        return rounded(self.settings["noise"] ** 2, 8)

    def learned(self) -> dict[str, Any]:
        return {**super().learned(), "noise": float(np.sqrt(self.estimator.noise_variance_))}

    def band(self, grid: Array) -> Band:
        if self.problem.n:
            latent = self.estimator.predict_dist(grid, latent=True)
        else:
            latent = Normal(np.zeros(len(grid)), np.sqrt(self.kernel.diagonal(grid)))
        observed = Normal(latent.mean, np.sqrt(np.square(latent.std) + self.noise))
        return Band.of(observed, latent, self.offset)

    def draws(self, grid: Array, n: int, *, prior: bool, seed: int) -> Array:
        made = self.kernel if prior or not self.problem.n else self.estimator
        return made.sample(grid, n, random_state=seed) + self.offset

    def _covariance(self) -> Array:
        """K + σ²I."""
        n = self.problem.n
        gram = self.kernel.gram(self.problem.X) if n else np.empty((0, 0))
        return gram + self.settings["noise"] ** 2 * np.eye(n)

    def evidence(self) -> Evidence:
        return gaussian_evidence(self._covariance(), self.problem.y - self.offset)

    def equivalent_kernel(self, at: float) -> Array | None:
        if not self.problem.n:
            return None
        # h(x) = (K + σ²I)⁻¹ k(X, x)  (Rasmussen & Williams 2.6)
        return factorize(self._covariance()).solve(self.kernel.cross(self.problem.X, np.array([[at]])))[:, 0]

    def next(self, rows: Array) -> Next:
        if not self.problem.n:
            return Next.widest(rows, np.sqrt(self.kernel.diagonal(rows)))
        best = rows[[int(self.estimator.suggest(rows, 1)[0])]]
        return Next.widest(best, self.estimator.predict_dist(best, latent=True).std)

    def equation(self) -> str:
        kernel = f"k(r) = {kernel_equation(self.settings['kernel'])}"
        return f"{kernel}\nf ∼ GP({number(self.offset, 6)}, k), y ∼ N(f(x), {number(self.settings['noise'])}^2)"

    def code(self) -> list[str]:
        return [*super().code(), "log_evidence = model.log_evidence_"]


class VaryingNoise(Model):
    """Regression whose noise is a function too; kernels and noise are learned from the points."""

    id, name, least = "gp_varying", "Varying noise", 5
    latent = True
    shows: ClassVar = {"regression": ("band", "draws", "evidence")}
    declared = (choice("shape", "Kernel", _SHAPES, help="The kernel of the function."),)

    def make(self) -> Any:
        common: dict[str, Any] = {"hyperparameters": "optimize", "n_restarts": 0, "random_state": 0}
        return GPRegressor(self.settings["shape"], noise="heteroscedastic", **common)

    def draws(self, grid: Array, n: int, *, prior: bool, seed: int) -> Array | None:
        return None if prior else self.estimator.sample(grid, n, random_state=seed)

    def evidence(self) -> Evidence:
        label = "log evidence (lower bound)"
        return Evidence(float(self.estimator.log_evidence_), method=self.estimator.evidence_method_, label=label)

    def equation(self) -> str:
        ends = self.estimator.noise_std(np.array([[end] for end in self.problem.domain.x]))
        known = f'"from "σ = {number(float(ends[0]))}" at the left to "{number(float(ends[1]))}" at the right"'
        return f"f ∼ GP(m, k), y ∼ N(f(x), σ(x)^2), ln σ^2 ∼ GP\n{known}"


class ProcessClassification(Process):
    """Classification with given hyperparameters."""

    shows: ClassVar = {"classification": ("evidence", "next", "curve", "learn", "bars")}
    declared = (
        KERNEL,
        choice("inference", "Inference", INFERENCES, help="How the posterior of the latent function is approximated."),
    )
    learned_note = "The kernel has the highest approximate evidence, with weak priors."

    def make(self) -> Any:
        return GPClassifier(
            self.kernel, inference=self.settings["inference"], hyperparameters="optimize" if self.learning else "fixed",
            method="exact", multiclass="one_vs_rest", n_restarts=1, random_state=0,
        )  # fmt: skip

    def evidence(self) -> Evidence:
        """The approximate log evidence: for Laplace fit at the mode and Occam factor, otherwise the expected fit."""
        if not self.is_binary:
            return Evidence(None, "One-vs-rest models of several classes have no common evidence.")
        value, method = float(self.estimator.log_evidence_), str(self.estimator.evidence_method_)
        latent = self.estimator.predict_dist(self.problem.X, latent=True)
        mean, std = latent.mean, latent.std
        if self.settings["inference"] == "laplace":
            # The mean at the points is the mode (Rasmussen & Williams 3.32).
            names, fit = ("fit at the mode", "Occam factor"), float(log_ndtr(self.signs * mean).sum())
        else:
            rest = "−KL(posterior ‖ prior)" if self.settings["inference"] == "vi" else "complexity"
            names, fit = ("expected fit", rest), expected_fit(log_ndtr, self.signs * mean, std)
        label = "log evidence (lower bound)" if method == "elbo" else "log evidence (approximate)"
        return Evidence(value, parts=((names[0], fit), (names[1], value - fit)), method=method, label=label)

    def next(self, rows: Array) -> Next:
        if not self.is_binary:
            amount = entr(self.probabilities(rows)).sum(axis=1)
            return Next.largest(rows, amount, "entropy", "The class is least certain here.")
        latent = self.estimator.predict_dist(rows, latent=True)
        why = "The label here is expected to be most informative about the function."
        return Next.largest(rows, information(latent.mean, latent.std), "information", why)

    def equation(self) -> str:
        return f"P(class = 1) = Φ(f(x))\nf ∼ GP(0, k)\nk(r) = {kernel_equation(self.settings['kernel'])}"

    def bars(self) -> Bars | None:
        """The relevance of each input if it has its own length scale."""
        factors = [factor for term in self.settings["kernel"] for factor in term if factor.get("lengthscale2")]
        if not factors:
            return None
        scales = np.array([factors[0]["lengthscale"], factors[0]["lengthscale2"]])
        title = "Relevance (half-width of the plot / length scale)"
        return title, ["x₁", "x₂"], np.array(self.problem.domain.half) / scales


def information(mean: Array, std: Array) -> Array:
    """The information in nats between a label and the latent function: H(E p) − E H(p) (Houlsby et al. 2011, eq. 3)."""
    c = np.pi * np.log(2) / 2
    p = ndtr(mean / np.sqrt(1 + std**2))
    expected = np.log(2) * np.sqrt(c / (std**2 + c)) * np.exp(-(mean**2) / (2 * (std**2 + c)))
    return np.maximum(entr(p) + entr(1 - p) - expected, 0.0)
