"""Mixtures of experts, and the average of polynomials of several degrees."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.pipeline import Pipeline

from credo.app.lab.playground._bases import Design
from credo.app.lab.playground._controls import Control, choice, log_slider, slider
from credo.app.lab.playground._estimators import ClassifierFit, RegressorFit
from credo.app.lab.playground._gaussian import bic_evidence
from credo.app.lab.playground._linear import precision_controls
from credo.app.lab.playground._mathml import Math, call, index, lines, number, row, sign, symbol, times, total, words
from credo.app.lab.playground._model import Band, Evidence, Fitted, Model, Settings
from credo.app.lab.playground._problem import Array, Domain, Problem, rounded
from credo.app.lab.playground._source import prediction, shift, source
from credo.ensemble import MixtureOfExpertsClassifier, MixtureOfExpertsRegressor, ModelAverage
from credo.features import Polynomial
from credo.linear import BayesianLinearRegression

# Restarts and iterations of EM that keep an answer quick.
_EM: dict[str, Any] = {"n_restarts": 1, "max_iter": 100, "tol": 1e-4}


class _ExpertParts:
    """The equation and the bars of a mixture of experts."""

    estimator: Any
    problem: Problem

    def equation(self) -> Math:
        gate, expert = call(index(symbol("g"), symbol("j")), "x"), index(symbol("p"), symbol("j"))
        mixture = row(call("p", words("y | x")), "=", sign("∑"), gate, call(expert, words("y | x")))
        return lines(mixture, row(call("g", "x"), "=", call("softmax", row("V", "x"))))

    def evidence(self) -> Evidence:
        return bic_evidence(self.estimator)

    def bars(self) -> tuple[str, list[str], Array]:
        shares = self.estimator.gate_proba(self.problem.X).mean(axis=0)
        return "Share of the points of each expert", [f"expert {j + 1}" for j in range(len(shares))], shares


class ExpertRegressorFit(_ExpertParts, RegressorFit):
    """Linear experts."""

    def equation(self) -> Math:
        ends = np.array(self.problem.domain.x)
        low, high = self.estimator.expert_predictions(ends[:, None])
        slopes = (high - low) / (ends[1] - ends[0])
        levels = low - slopes * ends[0]
        experts = [
            row(index(symbol("f"), number(j + 1)), "=", total(number(a), times(number(b), symbol("x"))))
            for j, (a, b) in enumerate(zip(levels.tolist(), slopes.tolist(), strict=True))
        ]
        return lines(super().equation(), *experts[:4])


class ExpertClassifierFit(_ExpertParts, ClassifierFit):
    """Logistic experts."""


class Experts(Model):
    """The tab of mixtures of experts."""

    id, name = "experts", "Mixture of experts"
    shows: ClassVar = {
        "regression": ("band", "evidence", "learn", "bars"),
        "classification": ("evidence", "learn", "bars"),
    }
    least = 4

    def controls(self, task: str, domain: Domain) -> list[Control]:
        return [
            slider("experts", "Number of experts", 1, 6, 2, step=1, learnable=True, help="Lines, or logistic curves."),
            log_slider(
                "gate_precision", "Precision of the gate", 1e-4, 10, 0.01, help="Larger makes the gate smoother."
            ),
        ]

    def _estimator(self, problem: Problem, settings: Settings, experts: int | Literal["bic"]) -> Any:
        kind = MixtureOfExpertsRegressor if problem.task == "regression" else MixtureOfExpertsClassifier
        return kind(experts, gate_precision=settings["gate_precision"], max_experts=5, random_state=0, **_EM)

    def fit(self, problem: Problem, settings: Settings) -> Fitted:
        kind = ExpertRegressorFit if problem.task == "regression" else ExpertClassifierFit
        return kind(problem, settings, self._estimator(problem, settings, int(settings["experts"])))

    def learn(self, problem: Problem, settings: Settings) -> tuple[Settings, list[str]]:
        found = self._estimator(problem, settings, "bic").fit(problem.X, problem.target)
        return {**settings, "experts": float(found.n_experts_)}, ["The number of experts has the smallest BIC."]


class AverageFit(Fitted):
    """Polynomials of several degrees, weighted by their evidence or by stacking."""

    def __init__(self, problem: Problem, settings: Settings) -> None:
        self.problem, self.settings, self.offset = problem, settings, problem.domain.offset
        self.map = Design({"basis": "polynomial", "degree": 1}, problem.domain).mapped or (0.0, 1.0)
        alpha, beta = rounded(settings["prior_std"] ** -2, 8), rounded(settings["noise"] ** -2, 8)
        models = [(str(d), _polynomial(d, alpha, beta)) for d in range(1, int(settings["degree"]) + 1)]
        self.estimator = ModelAverage(models, weights=settings["weights"], random_state=0)
        self.estimator.fit(self._inputs(problem.X), problem.y - self.offset)

    def _inputs(self, x: Array) -> Array:
        return (x - self.map[0]) / self.map[1]

    def band(self, grid: Array) -> Band:
        rows = self._inputs(grid)
        return Band.of(self.estimator.predict_dist(rows), self.estimator.predict_dist(rows, latent=True), self.offset)

    def draws(self, grid: Array, n: int, *, prior: bool, seed: int) -> Array | None:
        """The means of the polynomials with the largest weights."""
        if prior:
            return None
        best = np.argsort(-np.asarray(self.estimator.weights_))[:n]
        models = [self.estimator.estimators_[int(i)] for i in best if self.estimator.weights_[int(i)] > 1e-3]
        return np.stack([model.predict(self._inputs(grid)) for model in models]) + self.offset

    def evidence(self) -> Evidence:
        if self.settings["weights"] == "stacking":
            return Evidence(None, "Stacking weighs models by held-out scores, not by their evidence.")
        return Evidence(float(self.estimator.log_evidence_), label="log evidence of the average")

    def equation(self) -> Math:
        shares = zip(self.estimator.names_, self.estimator.weights_, strict=True)
        terms = [
            row(number(float(share)), sign("·"), call(index(symbol("p"), words(name)), words("y | x")))
            for name, share in shares
            if share >= 0.005
        ]
        what = "p(degree | points)" if self.settings["weights"] == "evidence" else "held-out log score"
        return lines(row(call("p", words("y | x")), "=", total(*terms)), words(f"weights by {what}"))

    def code(self) -> list[str]:
        center, half = self.map
        alpha, beta = rounded(self.settings["prior_std"] ** -2, 8), rounded(self.settings["noise"] ** -2, 8)
        last = source(BayesianLinearRegression(alpha, noise_precision=beta, fit_intercept=False))
        return [
            "from sklearn.pipeline import make_pipeline",
            "",
            "models = [",
            f"    (str(d), make_pipeline(Polynomial(d, scale=False, include_constant=True), {last}))",
            f"    for d in range(1, {int(self.settings['degree']) + 1})",
            "]",
            f'model = ModelAverage(models, weights="{self.settings["weights"]}", random_state=0)',
            f"model.fit((x - {center!r}) / {half!r}, {shift('y', self.offset, '-')})",
            *prediction(f"(grid - {center!r}) / {half!r}", self.offset),
            "print(dict(zip(model.names_, model.weights_)))",
        ]

    def imports(self) -> set[str]:
        return {"BayesianLinearRegression", "ModelAverage", "Polynomial"}

    def bars(self) -> tuple[str, list[str], Array]:
        labels = [f"degree {name}" for name in self.estimator.names_]
        return "Weight of each degree", labels, np.asarray(self.estimator.weights_)


def _polynomial(degree: int, alpha: float, beta: float) -> Pipeline:
    last = BayesianLinearRegression(alpha, noise_precision=beta, fit_intercept=False)
    return Pipeline([("basis", Polynomial(degree, scale=False, include_constant=True)), ("model", last)])


class Average(Model):
    """The tab of the average over degrees."""

    id, name = "average", "Model average"
    shows: ClassVar = {"regression": ("band", "draws", "evidence", "bars")}
    least = 3

    def controls(self, task: str, domain: Domain) -> list[Control]:
        ways = (("evidence", "Evidence (one degree is right)"), ("stacking", "Stacking (combine them)"))
        fixed = [replace(control, learnable=False, curve=False) for control in precision_controls(domain)]
        return [
            slider("degree", "Highest degree", 1, 10, 6, step=1, help="Polynomials of degree 1 to this one."),
            choice("weights", "Weights", ways, help="An average believes that one model is right; stacking combines."),
            *fixed,
        ]

    def fit(self, problem: Problem, settings: Settings) -> Fitted:
        return AverageFit(problem, settings)
