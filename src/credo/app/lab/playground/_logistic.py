"""Logistic regression on powers of the inputs: maximum likelihood and Bayesian."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import log_expit

from credo.app.lab.playground._controls import Control, choice, log_slider, slider
from credo.app.lab.playground._estimators import ClassifierFit, Plane
from credo.app.lab.playground._gaussian import bic_evidence, expected_fit
from credo.app.lab.playground._mathml import Math, call, index, lines, number, power, row, sign, symbol, words
from credo.app.lab.playground._model import Evidence, Fitted, Model, Settings
from credo.app.lab.playground._problem import Array, Domain, Problem, rounded
from credo.linear import BayesianLogisticRegression, LogisticRegression


def _degree() -> Control:
    return slider("degree", "Degree", 1, 6, 1, step=1, curve=True, help="Highest power of the inputs.")


class LogisticFit(ClassifierFit):
    """σ of a polynomial."""

    def equation(self) -> Math:
        assert self.plane is not None
        if not self.is_binary:
            return lines(row(self.chance(), "=", symbol("softmax"), words(" of one polynomial for each class")))
        inner = self.plane.sum(float(self.estimator.intercept_[0]), self.estimator.coef_[0])
        return lines(row(self.chance(), "=", call("σ", inner)), self.plane.where(), *self.assumptions())

    def assumptions(self) -> list[Math]:
        """The prior or the penalty."""
        return []

    def bars(self) -> tuple[str, list[str], Array] | None:
        assert self.plane is not None
        return ("Coefficients", self.plane.names, self.estimator.coef_[0]) if self.is_binary else None


class MaximumLikelihoodFit(LogisticFit):
    """Logistic regression, with a penalty or without."""

    def evidence(self) -> Evidence:
        if self.settings["alpha"]:
            return Evidence(None, "A penalized estimate has no evidence: Bayesian logistic is the same model with it.")
        return bic_evidence(self.estimator)

    def assumptions(self) -> list[Math]:
        alpha = self.settings["alpha"]
        if not alpha:
            return []
        penalty = row(number(alpha), sign("/"), number(2), sign("∑"), power(index(symbol("w"), symbol("j")), number(2)))
        return [row(words("minus log likelihood"), "+", penalty, words(" is smallest"))]


class Logistic(Model):
    """The tab of logistic regression."""

    id, name = "logistic", "Logistic"
    shows: ClassVar = {"classification": ("evidence", "bars")}

    def controls(self, task: str, domain: Domain) -> list[Control]:
        penalties = ((0.0, "none (maximum likelihood)"), (0.01, "0.01"), (0.1, "0.1"), (1.0, "1"), (10.0, "10"))
        penalty = choice("alpha", "Penalty α", penalties, help="Larger pulls the coefficients to zero.")
        return [slider("degree", "Degree", 1, 6, 1, step=1, help="Highest power of the inputs."), penalty]

    def fit(self, problem: Problem, settings: Settings) -> Fitted:
        plane = Plane(int(settings["degree"]), problem.domain)
        return MaximumLikelihoodFit(problem, settings, LogisticRegression(settings["alpha"], max_iter=200), plane)


class BayesFit(LogisticFit):
    """Logistic regression with a Gaussian posterior."""

    def evidence(self) -> Evidence:
        value = float(self.estimator.log_evidence_)
        parts: tuple[tuple[str, float], ...] = ()
        if self.is_binary:
            mean, std = self._latent()
            y = np.where(self.problem.y == self.problem.labels[-1], 1.0, -1.0)
            fit = expected_fit(log_expit, y * mean, std)
            parts = (("expected fit", fit), ("−KL(posterior ‖ prior)", value - fit))
        return Evidence(value, parts=parts, method="elbo", label="log evidence (lower bound)")

    def _latent(self) -> tuple[Array, Array]:
        """Mean and standard deviation of the log odds of the points."""
        found = [
            (mean[0, :, 0], half[0]) for mean, half in self.estimator.posterior_.moments(self.inputs(self.problem.X))
        ]
        std = [np.sqrt(np.einsum("njx,njx->n", half, half)) for _, half in found]
        return np.concatenate([mean for mean, _ in found]), np.concatenate(std)

    def assumptions(self) -> list[Math]:
        variance = power(number(self.settings["prior_std"]), number(2))
        return [row(index(symbol("w"), symbol("j")), "∼", call("N", number(0), variance))]


class BayesianLogistic(Model):
    """The tab of Bayesian logistic regression."""

    id, name = "bayes_logistic", "Bayesian logistic"
    shows: ClassVar = {"classification": ("evidence", "curve", "learn", "bars")}

    def controls(self, task: str, domain: Domain) -> list[Control]:
        return [_degree(), _prior(), _predictive()]

    def fit(self, problem: Problem, settings: Settings) -> Fitted:
        return BayesFit(problem, settings, _estimator(settings), Plane(int(settings["degree"]), problem.domain))

    def learn(self, problem: Problem, settings: Settings) -> tuple[Settings, list[str]]:
        plane = Plane(int(settings["degree"]), problem.domain)
        found = BayesianLogisticRegression("evidence").fit(plane.features(problem.X), problem.target)
        learned = _prior().clipped(float(found.prior_precision_) ** -0.5)
        return {**settings, "prior_std": learned}, ["The prior scale has the highest evidence."]

    def log_evidence(self, problem: Problem, settings: Settings) -> float:
        plane = Plane(int(settings["degree"]), problem.domain)
        return float(_estimator(settings).fit(plane.features(problem.X), problem.target).log_evidence_)


def _prior() -> Control:
    return log_slider(
        "prior_std", "Prior scale of the weights", 0.01, 100, 3.0, learnable=True, curve=True,
        help="Standard deviation of each weight before any point is seen.",
    )  # fmt: skip


def _predictive() -> Control:
    rules = (("quadrature", "averaged over the posterior"), ("plugin", "at the most probable weights"))
    return choice("predictive", "Probabilities", rules, help="Averages are closer to 1/2 far from the points.")


def _estimator(settings: Settings) -> Any:
    return BayesianLogisticRegression(rounded(settings["prior_std"] ** -2, 8), predictive=settings["predictive"])
