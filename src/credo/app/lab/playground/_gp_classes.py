"""Classification by a Gaussian process: Laplace's approximation, expectation propagation or variational inference."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.special import entr, log_ndtr, ndtr

from credo.app.lab.playground._controls import Control, choice
from credo.app.lab.playground._gaussian import expected_fit
from credo.app.lab.playground._kernels import KernelControl, kernel_control, kernel_equation, learned_terms, make_kernel
from credo.app.lab.playground._mathml import Math, call, lines, number, row
from credo.app.lab.playground._model import Evidence, Fitted, Next, Settings
from credo.app.lab.playground._problem import Array, Domain, Problem
from credo.app.lab.playground._source import names, source
from credo.gp import GPClassifier

INFERENCES = (
    ("laplace", "Laplace's approximation"),
    ("ep", "Expectation propagation"),
    ("vi", "Variational inference"),
)


def class_controls(domain: Domain) -> list[Control]:
    """The controls of classification."""
    help = "How the posterior of the latent function is approximated."
    return [
        kernel_control(domain, two_inputs=True),
        choice("inference", "Inference", INFERENCES, help=help, tasks=("classification",)),
    ]


def classifier(
    problem: Problem, settings: Settings, hyperparameters: Literal["fixed", "optimize"] = "fixed"
) -> GPClassifier:
    """The estimator of these settings."""
    kernel = make_kernel(settings["kernel"], problem.domain, two_inputs=True)
    return GPClassifier(
        kernel, inference=settings["inference"], hyperparameters=hyperparameters, method="exact",
        multiclass="one_vs_rest", n_restarts=1, random_state=0,
    )  # fmt: skip


class ClassFit(Fitted):
    """A classifier with given hyperparameters."""

    def __init__(self, problem: Problem, settings: Settings) -> None:
        self.problem, self.settings = problem, settings
        self.estimator = classifier(problem, settings).fit(problem.X, problem.target)

    def probabilities(self, rows: Array) -> Array:
        return self.estimator.predict_proba(rows)

    def evidence(self) -> Evidence:
        """The approximate log evidence: of Laplace, the fit at the mode and the Occam factor; else the expected fit."""
        if len(self.problem.labels) > 2:
            return Evidence(None, "Each class has a model of its own against the rest, without a common evidence.")
        value, method = float(self.estimator.log_evidence_), str(self.estimator.evidence_method_)
        latent = self.estimator.predict_dist(self.problem.X, latent=True)
        y = np.where(self.problem.y == self.problem.labels[-1], 1.0, -1.0)
        if self.settings["inference"] == "laplace":
            # The mean at the points is the mode (Rasmussen & Williams 3.32).
            fit = float(log_ndtr(y * latent.mean).sum())
            parts = (("fit at the mode", fit), ("Occam factor", value - fit))
        else:
            fit = expected_fit(log_ndtr, y * latent.mean, latent.std)
            rest = "−KL(posterior ‖ prior)" if self.settings["inference"] == "vi" else "complexity"
            parts = (("expected fit", fit), (rest, value - fit))
        label = "log evidence (lower bound)" if method == "elbo" else "log evidence (approximate)"
        return Evidence(value, parts=parts, method=method, label=label)

    def next(self, rows: Array) -> Next:
        if len(self.problem.labels) > 2:
            chances = np.clip(self.probabilities(rows), 1e-12, 1.0)
            return _best(rows, -(chances * np.log(chances)).sum(axis=1), "entropy", "The class is least certain here.")
        why = "The label here is expected to tell most about the function."
        latent = self.estimator.predict_dist(rows, latent=True)
        return _best(rows, information(latent.mean, latent.std), "information", why)

    def equation(self) -> Math:
        kernel = row(call("k", "r"), "=", kernel_equation(self.settings["kernel"]))
        model = row(call("P", row("class", "=", number(1))), "=", call("Φ", call("f", "x")))
        return lines(model, row("f", "∼", call("GP", number(0), "k")), kernel)

    def bars(self) -> tuple[str, list[str], Array] | None:
        """The relevance of each input where it has a length scale of its own."""
        first = next(
            (factor for term in self.settings["kernel"] for factor in term if factor.get("lengthscale2")), None
        )
        if first is None:
            return None
        scales = np.array([first["lengthscale"], first["lengthscale2"]])
        return (
            "Relevance (half-width of the plot / length scale)",
            ["x₁", "x₂"],
            np.array(self.problem.domain.half) / scales,
        )

    def code(self) -> list[str]:
        kernel = source(self.estimator.kernel)
        return [
            f"kernel = {kernel}",
            f'model = GPClassifier(kernel, inference="{self.settings["inference"]}", hyperparameters="fixed")',
            "model.fit(X, labels)",
            "probability = model.predict_proba(rows)",
        ]

    def imports(self) -> set[str]:
        return {"GPClassifier"} | names(self.estimator.kernel)


def information(mean: Array, std: Array) -> Array:
    """The information in nats between a label and the latent function: H(E p) − E H(p) (Houlsby et al. 2011, eq. 3)."""
    c = np.pi * np.log(2) / 2
    p = ndtr(mean / np.sqrt(1 + std**2))
    expected = np.log(2) * np.sqrt(c / (std**2 + c)) * np.exp(-(mean**2) / (2 * (std**2 + c)))
    return np.maximum(entr(p) + entr(1 - p) - expected, 0.0)


def _best(rows: Array, amount: Array, measure: str, why: str) -> Next:
    at = int(np.argmax(amount))
    return Next(tuple(rows[at].tolist()), float(amount[at]), measure, why)


def class_evidence(problem: Problem, settings: Settings) -> float:
    """The approximate log evidence of given hyperparameters."""
    return float(classifier(problem, settings).fit(problem.X, problem.target).log_evidence_)


def learn_classes(problem: Problem, settings: Settings, control: KernelControl) -> tuple[Settings, list[str]]:
    """The kernel that maximises the approximate evidence, kept within reason by weak priors."""
    found = classifier(problem, settings, "optimize").fit(problem.X, problem.target)
    learned = learned_terms(settings["kernel"], found.kernel_, control.parameters())
    return {**settings, "kernel": learned}, ["The kernel has the highest approximate evidence, with weak priors."]
