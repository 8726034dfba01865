"""Classification by a Gaussian process: Laplace's approximation, expectation propagation or variational inference."""

from __future__ import annotations

import numpy as np

from credo.gp import GPClassifier
from credo.lab.playground._controls import Control, choice
from credo.lab.playground._kernels import KernelControl, kernel_control, kernel_equation, learned_terms, make_kernel
from credo.lab.playground._mathml import Math, call, lines, number, row
from credo.lab.playground._model import Evidence, Fitted, Next, Settings
from credo.lab.playground._problem import Array, Domain, Problem
from credo.lab.playground._source import names, source

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


def classifier(problem: Problem, settings: Settings, hyperparameters: str = "fixed") -> GPClassifier:
    """The estimator of these settings."""
    kernel = make_kernel(settings["kernel"], problem.domain, two_inputs=True)
    return GPClassifier(
        kernel, inference=settings["inference"], hyperparameters=hyperparameters, method="exact",
        multiclass="one_vs_rest", random_state=0,
    )  # fmt: skip


class ClassFit(Fitted):
    """A classifier with given hyperparameters."""

    def __init__(self, problem: Problem, settings: Settings) -> None:
        self.problem, self.settings = problem, settings
        self.estimator = classifier(problem, settings).fit(problem.X, problem.y.astype(int))

    def probabilities(self, rows: Array) -> Array:
        return self.estimator.predict_proba(rows)

    def evidence(self) -> Evidence:
        return Evidence(float(self.estimator.log_evidence_), method=self.estimator.evidence_method_)

    def next(self, rows: Array) -> Next:
        chances = np.clip(self.probabilities(rows), 1e-12, 1.0)
        entropy = -(chances * np.log(chances)).sum(axis=1)
        at = int(np.argmax(entropy))
        return Next(tuple(rows[at].tolist()), float(entropy[at]), "entropy", "The class is least certain here.")

    def equation(self) -> Math:
        kernel = row(call("k", "r"), "=", kernel_equation(self.settings["kernel"]))
        model = row(call("P", row("class", "=", number(1))), "=", call("Φ", call("f", "x")))
        return lines(model, row("f", "∼", call("GP", number(0), "k")), kernel)

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


def class_evidence(problem: Problem, settings: Settings) -> float:
    """The approximate log evidence of given hyperparameters."""
    return float(classifier(problem, settings).fit(problem.X, problem.y.astype(int)).log_evidence_)


def learn_classes(problem: Problem, settings: Settings, control: KernelControl) -> tuple[Settings, list[str]]:
    """The kernel that maximises the approximate evidence, kept within reason by weak priors."""
    found = classifier(problem, settings, "optimize").fit(problem.X, problem.y.astype(int))
    learned = learned_terms(settings["kernel"], found.kernel_, control.parameters())
    return {**settings, "kernel": learned}, ["The kernel has the highest approximate evidence, with weak priors."]
