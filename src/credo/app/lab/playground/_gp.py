"""Gaussian processes: regression with given hyperparameters, and learning them."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from credo.app.lab.playground._controls import Control
from credo.app.lab.playground._gaussian import gaussian_evidence
from credo.app.lab.playground._gp_classes import ClassFit, class_controls, class_evidence, learn_classes
from credo.app.lab.playground._kernels import (
    KernelControl,
    kernel_control,
    kernel_equation,
    learned_terms,
    make_kernel,
    with_parameter,
)
from credo.app.lab.playground._linear import noise_control, square, widest
from credo.app.lab.playground._mathml import COMMA, Math, call, lines, number, row
from credo.app.lab.playground._model import Band, Evidence, Fitted, Model, Next, Settings
from credo.app.lab.playground._problem import Array, Domain, Problem, rounded
from credo.app.lab.playground._source import names, prediction, shift, source
from credo.core.linalg import factorize
from credo.distributions import Normal
from credo.gp import GPRegressor


class ProcessFit(Fitted):
    """A Gaussian process with given hyperparameters; without points its prior."""

    def __init__(self, problem: Problem, settings: Settings) -> None:
        self.problem, self.settings = problem, settings
        self.kernel = make_kernel(settings["kernel"], problem.domain, two_inputs=False)
        self.noise = rounded(settings["noise"] ** 2, 8)
        self.offset = problem.domain.offset
        self.estimator = GPRegressor(
            self.kernel, mean="zero", noise=self.noise, standardize=False, hyperparameters="fixed", method="exact"
        )
        if problem.n:
            self.estimator.fit(problem.X, problem.y - self.offset)

    def band(self, grid: Array) -> Band:
        if not self.problem.n:
            return self._prior_band(grid)
        latent = self.estimator.predict_dist(grid, latent=True)
        observed = Normal(latent.mean, np.sqrt(np.square(latent.std) + self.noise))
        return Band.of(observed, latent, self.offset)

    def _prior_band(self, grid: Array) -> Band:
        variance, mean = self.kernel.diagonal(grid), np.full(len(grid), self.offset)
        return Band.of(Normal(mean, np.sqrt(variance + self.noise)), Normal(mean, np.sqrt(variance)))

    def draws(self, grid: Array, n: int, *, prior: bool, seed: int) -> Array:
        if prior or not self.problem.n:
            return self.kernel.sample(grid, n, random_state=seed) + self.offset
        return self.estimator.sample(grid, n, random_state=seed) + self.offset

    def evidence(self) -> Evidence:
        return gaussian_evidence(covariance(self.problem, self.settings), self.problem.y - self.offset)

    def equivalent_kernel(self, at: float) -> Array | None:
        if not self.problem.n:
            return None
        # h(x) = (K + σ²I)⁻¹ k(X, x)  (Rasmussen & Williams 2.6)
        cross = self.kernel.cross(self.problem.X, np.array([[at]]))
        return factorize(covariance(self.problem, self.settings)).solve(cross)[:, 0]

    def next(self, rows: Array) -> Next:
        if not self.problem.n:
            return widest(rows, np.sqrt(self.kernel.diagonal(rows)))
        best = int(self.estimator.suggest(rows, 1)[0])
        return widest(rows[[best]], self.estimator.predict_dist(rows[[best]], latent=True).std)

    def equation(self) -> Math:
        kernel = row(call("k", "r"), "=", kernel_equation(self.settings["kernel"]))
        prior = row("f", "∼", call("GP", number(self.offset, 6), "k"), COMMA)
        noise = row("y", "∼", call("N", call("f", "x"), square(self.settings["noise"])))
        return lines(kernel, row(prior, noise))

    def code(self) -> list[str]:
        return [
            f"kernel = {source(self.kernel)}",
            "model = GPRegressor(",
            f'    kernel, mean="zero", noise={self.noise!r}, standardize=False, hyperparameters="fixed"',
            ")",
            f"model.fit(x, {shift('y', self.offset, '-')})",
            *prediction("grid", self.offset),
            "log_evidence = model.log_evidence_",
        ]

    def imports(self) -> set[str]:
        return {"GPRegressor"} | names(self.kernel)


class GaussianProcess(Model):
    """The tab of Gaussian processes."""

    id, name = "gp", "Gaussian process"
    least = 0
    shows: ClassVar = {
        "regression": ("band", "draws", "prior_draws", "evidence", "equivalent_kernel", "next", "curve", "learn"),
        "classification": ("evidence", "next", "curve", "learn", "bars"),
    }

    def controls(self, task: str, domain: Domain) -> list[Control]:
        if task == "classification":
            return class_controls(domain)
        return [kernel_control(domain, two_inputs=False), noise_control(domain)]

    def fit(self, problem: Problem, settings: Settings) -> Fitted:
        return ClassFit(problem, settings) if problem.task == "classification" else ProcessFit(problem, settings)

    def learn(self, problem: Problem, settings: Settings) -> tuple[Settings, list[str]]:
        control = self._kernel_control(problem)
        if problem.task == "classification":
            return learn_classes(problem, settings, control)
        kernel = make_kernel(settings["kernel"], problem.domain, two_inputs=False)
        found = GPRegressor(
            kernel, mean="zero", standardize=False, hyperparameters="optimize", hyperpriors=False, method="exact",
            n_restarts=3, random_state=0,
        ).fit(problem.X, problem.y - problem.domain.offset)  # fmt: skip
        learned = {
            "kernel": learned_terms(settings["kernel"], found.kernel_, control.parameters()),
            "noise": noise_control(problem.domain).clipped(float(np.sqrt(found.noise_variance_))),
        }
        return {**settings, **learned}, ["Kernel and noise have the highest evidence that was found."]

    def _kernel_control(self, problem: Problem) -> KernelControl:
        return kernel_control(problem.domain, two_inputs=problem.task == "classification")

    def log_evidence(self, problem: Problem, settings: Settings) -> float:
        if problem.task == "classification":
            return class_evidence(problem, settings)
        value = gaussian_evidence(covariance(problem, settings), problem.y - problem.domain.offset).value
        assert value is not None
        return value

    def with_value(self, settings: Settings, control: str, value: float) -> Settings:
        if control.startswith("kernel."):
            return {**settings, "kernel": with_parameter(settings["kernel"], control, value)}
        return super().with_value(settings, control, value)


def covariance(problem: Problem, settings: Settings) -> Array:
    """K + σ²I."""
    if not problem.n:
        return np.empty((0, 0))
    kernel = make_kernel(settings["kernel"], problem.domain, two_inputs=False)
    return kernel.gram(problem.X) + settings["noise"] ** 2 * np.eye(problem.n)
