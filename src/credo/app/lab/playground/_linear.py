"""Linear models on a basis: least squares, ridge, lasso and Bayesian regression; logistic regression and perceptron."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_expit

from credo.app.lab.playground._bases import CONTROLS, Design, Plane
from credo.app.lab.playground._controls import Control, choice, log_slider, slider
from credo.app.lab.playground._equations import number
from credo.app.lab.playground._model import (
    Band,
    Bars,
    Evidence,
    Model,
    Next,
    bic_evidence,
    expected_fit,
    gaussian_evidence,
)
from credo.app.lab.playground._problem import Array, rounded
from credo.distributions import Normal
from credo.linear import (
    BayesianLinearRegression,
    BayesianLogisticRegression,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    Ridge,
)
from credo.sparse import Lasso, LassoCV

_MAX_BARS = 40
_ERROR = "(y_i − f(x_i))^2"
_WEIGHT = "Standard deviation of each weight before any point is seen."
_FIXED_BASIS = tuple(replace(control, curve=False) for control in CONTROLS)
_FREE_BASIS = tuple(replace(each, low=1, default=9) if each.id == "degree" else each for each in _FIXED_BASIS)
NOISE = log_slider(
    "noise", "Noise", 1e-3, 1, 1 / 15, digits=1, unit="y", learnable=True, curve=True,
    help="Standard deviation of an observation around the function.",
)  # fmt: skip
PRIOR = log_slider(
    "prior_std", "Prior scale of the weights", 1e-3, 100, 1 / 3, digits=1, unit="y", learnable=True, curve=True,
    help=_WEIGHT,
)  # fmt: skip


class LinearModel(Model):
    """A linear function of the columns of a design."""

    latent = True
    # Whether the constant is a column of the design.
    constant: ClassVar[bool] = False
    bars_title: ClassVar[str] = "Coefficients"

    @cached_property
    def basis(self) -> Design:
        return Design(self.settings, self.problem.domain, constant=self.constant)

    @cached_property
    def has_interval(self) -> bool:
        """Whether enough points are left to estimate the noise."""
        try:
            predicted = self.estimator.predict_dist(self.features(self.problem.X[:1]))
        except ValueError:
            return False
        return bool(np.isfinite(predicted.std).all())

    @property
    def notes(self) -> tuple[str, ...]:
        few = "Too few points are left to estimate the noise, so there are no intervals."
        return () if self.has_interval else (few,)

    def coefficients(self) -> Array:
        """The constant first."""
        if not self.problem.n:
            return np.append(self.offset, np.zeros(len(self.basis.names)))
        first = [] if self.constant else [float(self.estimator.intercept_)]
        return np.append(first, self.estimator.coef_) + np.append(self.offset, np.zeros(len(self.basis.names)))

    def equation(self) -> str:
        function = f"f(x) = {self.basis.equation(self.coefficients())}"
        return "\n".join([function, *self.basis.where(), self.assumption()])

    def assumption(self) -> str:
        """What the estimate minimizes, or the prior."""
        raise NotImplementedError

    def bars(self) -> Bars | None:
        values = self.coefficients()[1:]
        return (self.bars_title, self.basis.names[:_MAX_BARS], values[:_MAX_BARS]) if len(values) else None


class LeastSquares(LinearModel):
    """Least squares; the constant is a column of the design."""

    id, name, constant = "least_squares", "Least squares", True
    shows: ClassVar = {"regression": ("band", "evidence", "equivalent_kernel", "bars")}
    declared = _FIXED_BASIS
    no_evidence = "Least squares has no prior, so it has no evidence."

    def make(self) -> Any:
        return LinearRegression(fit_intercept=False)

    def evidence(self) -> Evidence:
        with suppress(ValueError, AttributeError):
            return bic_evidence(self.estimator, self.no_evidence)
        return super().evidence()

    def equivalent_kernel(self, at: float) -> Array:
        # The row of the hat matrix φ(x)ᵀ(ΦᵀΦ)⁻¹Φᵀ (Bishop 3.15).
        return (self.features(np.array([[at]])) @ np.linalg.pinv(self.features(self.problem.X)))[0]

    def assumption(self) -> str:
        return f"w = argmin ∑ {_ERROR}"


class _Penalized(LinearModel):
    """A linear model with a penalty and a free intercept."""

    least = 2

    def learned(self) -> dict[str, Any]:
        return {"alpha": float(self.estimator.alpha_)}


class RidgeModel(_Penalized):
    """Ridge regression."""

    id, name = "ridge", "Ridge"
    shows: ClassVar = {"regression": ("band", "evidence", "equivalent_kernel", "bars", "learn")}
    declared = (
        *_FREE_BASIS,
        log_slider(
            "alpha", "Penalty α", 1e-8, 1e4, 1e-3, learnable=True, help="Larger pulls the coefficients to zero."
        ),
    )
    no_evidence = "Ridge is a point estimate: Bayesian linear is the same model with its evidence."
    learned_note = "The penalty has the smallest leave-one-out error."

    def make(self) -> Any:
        return Ridge("loo" if self.learning else self.settings["alpha"])

    def equivalent_kernel(self, at: float) -> Array:
        same = BayesianLinearRegression(float(self.settings["alpha"]), noise_precision=1.0)
        same.fit(self.features(self.problem.X), self.problem.y)
        return same.equivalent_kernel(self.features(np.array([[at]])))[0]

    def assumption(self) -> str:
        return f"w = argmin ∑ {_ERROR} + {number(self.settings['alpha'])} ∑ w_j^2"


class LassoModel(_Penalized):
    """The lasso."""

    id, name, latent = "lasso", "Lasso", False
    shows: ClassVar = {"regression": ("band", "evidence", "bars", "learn")}
    declared = (
        *_FREE_BASIS,
        log_slider(
            "alpha", "Penalty α", 1e-5, 1, 1e-3, unit="y", learnable=True, help="Larger sets more coefficients to zero."
        ),
    )
    no_evidence = "The lasso is a point estimate: it has no evidence."
    learned_note = "The penalty has the smallest cross-validated error."

    def make(self) -> Any:
        if self.learning:
            return LassoCV(cv=min(5, self.problem.n))
        return Lasso(self.settings["alpha"], max_iter=5000, tol=1e-6)

    def assumption(self) -> str:
        half = f"1/{number(2 * self.problem.n, 4)}"
        return f"w = argmin {half} ∑ {_ERROR} + {number(self.settings['alpha'])} ∑ |w_j|"


class BayesianLinear(LinearModel):
    """Bayesian linear regression; without points its prior."""

    id, name, least = "bayes_linear", "Bayesian linear", 0
    constant = centered = has_interval = True
    bars_title = "Posterior means of the weights"
    shows: ClassVar = {
        "regression": (
            "band", "draws", "prior_draws", "evidence", "equivalent_kernel", "next", "curve", "learn", "bars",
        )
    }  # fmt: skip
    declared: ClassVar[tuple[Control, ...]] = (*CONTROLS, PRIOR, NOISE)
    learned_note = "Prior and noise have the highest evidence."

    @property
    def prior_std(self) -> float:
        """The standard deviation of the weights."""
        return float(self.settings["prior_std"])

    def make(self) -> Any:
        prior, noise = (rounded(each**-2, 8) for each in (self.prior_std, self.settings["noise"]))
        if self.learning:
            return BayesianLinearRegression("evidence", noise_precision="evidence", fit_intercept=False)
        return BayesianLinearRegression(prior, noise_precision=noise, fit_intercept=False)

    def learned(self) -> dict[str, Any]:
        found = self.estimator
        return {"prior_std": float(found.prior_precision_) ** -0.5, "noise": float(found.noise_precision_) ** -0.5}

    def band(self, grid: Array) -> Band:
        if self.problem.n:
            return super().band(grid)
        spread, mean = self._prior_std(grid), np.zeros(len(grid))
        return Band.of(Normal(mean, np.hypot(spread, self.settings["noise"])), Normal(mean, spread), self.offset)

    def _prior_std(self, grid: Array) -> Array:
        return self.prior_std * np.linalg.norm(self.features(grid), axis=1)

    def draws(self, grid: Array, n: int, *, prior: bool, seed: int) -> Array:
        rows = self.features(grid)
        if not prior and self.problem.n:
            return self.estimator.sample_functions(rows, n, random_state=seed) + self.offset
        weights = np.random.default_rng(seed).normal(0.0, self.prior_std, (n, rows.shape[1]))
        return weights @ rows.T + self.offset

    def evidence(self) -> Evidence:
        # The covariance of the targets before they are seen: s²ΦΦᵀ + σ²I.
        n, s, sigma = self.problem.n, self.prior_std, self.settings["noise"]
        rows = self.features(self.problem.X) if n else np.empty((0, 0))
        return gaussian_evidence(s**2 * (rows @ rows.T) + sigma**2 * np.eye(n), self.problem.y - self.offset)

    def equivalent_kernel(self, at: float) -> Array | None:
        return self.estimator.equivalent_kernel(self.features(np.array([[at]])))[0] if self.problem.n else None

    def next(self, rows: Array) -> Next:
        if not self.problem.n:
            return Next.widest(rows, self._prior_std(rows))
        return Next.widest(rows, self.estimator.predict_dist(self.features(rows), latent=True).std)

    def assumption(self) -> str:
        prior, noise = number(self.prior_std), number(self.settings["noise"])
        return f"w_j ∼ N(0, {prior}^2), y ∼ N(f(x), {noise}^2)"


class PlaneModel(Model):
    """A linear function of powers of two inputs."""

    @cached_property
    def basis(self) -> Plane:
        return Plane(int(self.settings["degree"]), self.problem.domain)

    def function(self) -> str:
        """The function of two classes with its numbers."""
        return self.basis.equation(np.append(self.estimator.intercept_[0], self.estimator.coef_[0]))


def _degree(highest: int = 6, *, curve: bool = False) -> Control:
    return slider("degree", "Degree", 1, highest, 1, step=1, curve=curve, help="Highest power of the inputs.")


_PENALTIES = ((0.0, "none (maximum likelihood)"), (0.01, "0.01"), (0.1, "0.1"), (1.0, "1"), (10.0, "10"))
_RULES = (("quadrature", "averaged over the posterior"), ("plugin", "at the most probable weights"))


class Logistic(PlaneModel):
    """Logistic regression, with a penalty or without."""

    id, name = "logistic", "Logistic"
    shows: ClassVar = {"classification": ("evidence", "bars")}
    declared: ClassVar[tuple[Control, ...]] = (
        _degree(),
        choice("alpha", "Penalty α", _PENALTIES, help="Larger pulls the coefficients to zero."),
    )

    def make(self) -> Any:
        return LogisticRegression(self.settings["alpha"], max_iter=200)

    def equation(self) -> str:
        if not self.is_binary:
            return 'P(class = k) = softmax" of one polynomial for each class"'
        chance = f"P(class = {self.problem.labels[-1]}) = σ({self.function()})"
        return "\n".join([chance, *self.basis.where(), *self.assumptions()])

    def assumptions(self) -> list[str]:
        """The prior or the penalty."""
        alpha = self.settings["alpha"]
        return [f'"minus log likelihood" + {number(alpha)}/2 ∑ w_j^2" is smallest"'] if alpha else []

    def bars(self) -> Bars | None:
        return ("Coefficients", self.basis.names, self.estimator.coef_[0]) if self.is_binary else None

    def evidence(self) -> Evidence:
        if self.settings["alpha"]:
            return Evidence(None, "A penalized estimate has no evidence: Bayesian logistic is the same model with it.")
        return bic_evidence(self.estimator)


class BayesianLogistic(Logistic):
    """Logistic regression with a Gaussian posterior."""

    id, name = "bayes_logistic", "Bayesian logistic"
    shows: ClassVar = {"classification": ("evidence", "curve", "learn", "bars")}
    declared = (
        _degree(curve=True),
        replace(PRIOR, low=0.01, high=100, default=3.0, unit=""),
        choice("predictive", "Probabilities", _RULES, help="Averages are closer to 1/2 far from the points."),
    )
    learned_note = "The prior scale has the highest evidence."

    def make(self) -> Any:
        prior: Any = "evidence" if self.learning else rounded(self.settings["prior_std"] ** -2, 8)
        return BayesianLogisticRegression(prior, predictive=self.settings["predictive"])

    def learned(self) -> dict[str, Any]:
        return {"prior_std": float(self.estimator.prior_precision_) ** -0.5}

    def evidence(self) -> Evidence:
        value = float(self.estimator.log_evidence_)
        parts: tuple[tuple[str, float], ...] = ()
        if self.is_binary:
            mean, std = self._latent()
            fit = expected_fit(log_expit, self.signs * mean, std)
            parts = (("expected fit", fit), ("−KL(posterior ‖ prior)", value - fit))
        return Evidence(value, parts=parts, method="elbo", label="log evidence (lower bound)")

    def _latent(self) -> tuple[Array, Array]:
        """Mean and standard deviation of the log odds of the points."""
        moments = list(self.estimator.posterior_.moments(self.features(self.problem.X)))
        std = [np.sqrt(np.einsum("njx,njx->n", half[0], half[0])) for _, half in moments]
        return np.concatenate([mean[0, :, 0] for mean, _ in moments]), np.concatenate(std)

    def assumptions(self) -> list[str]:
        return [f"w_j ∼ N(0, {number(self.settings['prior_std'])}^2)"]


PASSES = slider("epochs", "Maximum passes", 1, 50, 50, step=1, help="Passes over the points.")


class PerceptronModel(PlaneModel):
    """The perceptron on powers of the inputs."""

    id, name = "perceptron", "Perceptron"
    shows: ClassVar = {"classification": ("bars", "rounds")}
    declared = (_degree(5), PASSES)
    no_evidence = "The perceptron has no likelihood, so it has no evidence."
    has_probabilities = False

    def make(self) -> Any:
        return Perceptron(int(self.settings["epochs"]), random_state=0)

    @property
    def notes(self) -> tuple[str, ...]:
        return ("A perceptron has no probabilities: the map shows the predicted class.",)

    def equation(self) -> str:
        rule = 'w ← w + "class (±1)" · "point, if it is misclassified"'
        if not self.is_binary:
            return f'class = argmax" of one line for each class"\n{rule}'
        return "\n".join([f"f(x) = {self.function()}", rule, *self.basis.where()])

    def bars(self) -> Bars | None:
        passes = self.estimator.mistakes_[:_MAX_BARS]
        return "Mistakes in each pass", [str(i + 1) for i in range(len(passes))], passes
