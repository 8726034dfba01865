"""Least squares, ridge, lasso and Bayesian linear regression on a basis."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from credo.app.lab.playground._bases import Design, basis_controls
from credo.app.lab.playground._controls import Control, log_slider
from credo.app.lab.playground._gaussian import bic_evidence, gaussian_evidence
from credo.app.lab.playground._mathml import COMMA, Math, call, index, lines, number, power, row, sign, symbol, words
from credo.app.lab.playground._model import Band, Evidence, Fitted, Model, Next, Settings
from credo.app.lab.playground._problem import Array, Domain, Problem, rounded
from credo.app.lab.playground._source import names, prediction, shift, source
from credo.distributions import Normal
from credo.linear import BayesianLinearRegression, LinearRegression, Ridge
from credo.sparse import Lasso, LassoCV

BARS = 40


class LinearFit(Fitted):
    """A linear model on the columns of a design."""

    def __init__(self, problem: Problem, settings: Settings, estimator: Any, *, constant: bool) -> None:
        self.problem, self.settings, self.estimator = problem, settings, estimator
        self.design = Design(settings, problem.domain, constant=constant)
        self.estimator.fit(self.design.features(problem.X), problem.y - self.offset)

    # Whether the function itself has an interval.
    latent = True

    @property
    def offset(self) -> float:
        """What is subtracted from y first."""
        return 0.0

    def band(self, grid: Array) -> Band:
        rows = self.design.features(grid)
        if not self.has_interval:
            return Band(self.estimator.predict(rows))
        latent = self.estimator.predict_dist(rows, latent=True) if self.latent else None
        return Band.of(self.estimator.predict_dist(rows), latent, self.offset)

    @cached_property
    def has_interval(self) -> bool:
        """Whether enough points are left to estimate the noise."""
        try:
            predicted = self.estimator.predict_dist(self.design.features(self.problem.X[:1]))
        except ValueError:
            return False
        return bool(np.isfinite(predicted.std).all())

    @property
    def notes(self) -> tuple[str, ...]:
        few = "Too few points are left to estimate the noise, so there are no intervals."
        return () if self.has_interval else (few,)

    def coefficients(self) -> Array:
        """The constant first."""
        first = [] if self.design.constant else [float(self.estimator.intercept_)]
        return np.append(first, self.estimator.coef_) + np.append(self.offset, np.zeros(len(self.design.names)))

    def equation(self) -> Math:
        function = row(call("f", "x"), "=", self.design.equation(self.coefficients()))
        where = self.design.where()
        return lines(*(part for part in (function, where, self.assumption()) if part is not None))

    def assumption(self) -> Math | None:
        """What the estimate minimises, or the prior."""
        return None

    def code(self) -> list[str]:
        shifted = shift("y", self.offset, "-")
        first = [*self.design.code(), f"model = {source(self.estimator)}", f"model.fit(features(x), {shifted})"]
        if not self.has_interval:
            return [*first, "mean = model.predict(features(grid))"]
        return [*first, *prediction("features(grid)", self.offset)]

    def imports(self) -> set[str]:
        return names(self.estimator) | self.design.imports()

    def bars(self) -> tuple[str, list[str], Array] | None:
        values = self.coefficients()[1:]
        return ("Coefficients", self.design.names[:BARS], values[:BARS]) if len(values) else None


class LeastSquaresFit(LinearFit):
    """Least squares; the constant is a column of the design."""

    no_evidence = "Least squares has no prior, so it has no evidence."

    def evidence(self) -> Evidence:
        with suppress(ValueError, AttributeError):
            return bic_evidence(self.estimator, self.no_evidence)
        return super().evidence()

    def equivalent_kernel(self, at: float) -> Array:
        # The row of the hat matrix φ(x)ᵀ(ΦᵀΦ)⁻¹Φᵀ (Bishop 3.15).
        return (self.design.features(np.array([[at]])) @ np.linalg.pinv(self.design.features(self.problem.X)))[0]

    def assumption(self) -> Math:
        return row("w", "=", symbol("argmin"), sign("∑"), _squared_error())


class RidgeFit(LinearFit):
    """Ridge regression, with a free intercept."""

    no_evidence = "Ridge is a point estimate: Bayesian linear is the same model with its evidence."

    def equivalent_kernel(self, at: float) -> Array:
        same = BayesianLinearRegression(float(self.settings["alpha"]), noise_precision=1.0)
        same.fit(self.design.features(self.problem.X), self.problem.y)
        return same.equivalent_kernel(self.design.features(np.array([[at]])))[0]

    def assumption(self) -> Math:
        penalty = row(number(self.settings["alpha"]), sign("∑"), power(index(symbol("w"), symbol("j")), number(2)))
        return row("w", "=", symbol("argmin"), sign("∑"), _squared_error(), "+", penalty)


class LassoFit(LinearFit):
    """The lasso, with a free intercept."""

    latent = False
    no_evidence = "The lasso is a point estimate: it has no evidence."

    def assumption(self) -> Math:
        size = row(sign("|"), index(symbol("w"), symbol("j")), sign("|"))
        half = row(number(1), sign("/"), number(2 * self.problem.n, 4))
        penalty = row(number(self.settings["alpha"]), sign("∑"), size)
        return row("w", "=", words("argmin "), half, sign("∑"), _squared_error(), "+", penalty)


class BayesFit(LinearFit):
    """Bayesian linear regression; without points its prior."""

    def __init__(self, problem: Problem, settings: Settings) -> None:
        self.problem, self.settings = problem, settings
        self.design = Design(settings, problem.domain)
        self.estimator = BayesianLinearRegression(
            rounded(settings["prior_std"] ** -2, 8),
            noise_precision=rounded(settings["noise"] ** -2, 8),
            fit_intercept=False,
        )
        if problem.n:
            self.estimator.fit(self.design.features(problem.X), problem.y - self.offset)

    @property
    def offset(self) -> float:
        return self.problem.domain.offset

    def band(self, grid: Array) -> Band:
        if self.problem.n:
            return super().band(grid)
        spread = self._prior_std(grid)
        mean = np.full(len(grid), self.offset)
        return Band.of(Normal(mean, np.hypot(spread, self.settings["noise"])), Normal(mean, spread))

    def _prior_std(self, grid: Array) -> Array:
        return float(self.settings["prior_std"]) * np.linalg.norm(self.design.features(grid), axis=1)

    def draws(self, grid: Array, n: int, *, prior: bool, seed: int) -> Array:
        rows = self.design.features(grid)
        if not prior and self.problem.n:
            return self.estimator.sample_functions(rows, n, random_state=seed) + self.offset
        weights = np.random.default_rng(seed).normal(0.0, self.settings["prior_std"], (n, rows.shape[1]))
        return weights @ rows.T + self.offset

    has_interval = True

    def evidence(self) -> Evidence:
        return gaussian_evidence(covariance(self.problem, self.settings), self.problem.y - self.offset)

    def equivalent_kernel(self, at: float) -> Array | None:
        if not self.problem.n:
            return None
        return self.estimator.equivalent_kernel(self.design.features(np.array([[at]])))[0]

    def next(self, rows: Array) -> Next:
        features = self.design.features(rows)
        spread = self.estimator.predict_dist(features, latent=True).std if self.problem.n else self._prior_std(rows)
        return widest(rows, spread)

    def coefficients(self) -> Array:
        if self.problem.n:
            return super().coefficients()
        return np.append(self.offset, np.zeros(len(self.design.names)))

    def assumption(self) -> Math:
        prior = row(index(symbol("w"), symbol("j")), "∼", call("N", number(0), square(self.settings["prior_std"])))
        return row(prior, COMMA, "y", "∼", call("N", call("f", "x"), square(self.settings["noise"])))

    def bars(self) -> tuple[str, list[str], Array] | None:
        found = super().bars()
        return None if found is None else ("Posterior means of the weights", *found[1:])


class LeastSquares(Model):
    """Least squares on a basis."""

    id, name = "least_squares", "Least squares"
    shows: ClassVar = {"regression": ("band", "evidence", "equivalent_kernel", "bars")}

    def controls(self, task: str, domain: Domain) -> list[Control]:
        return [replace(control, curve=False) for control in basis_controls(domain)]

    def fit(self, problem: Problem, settings: Settings) -> Fitted:
        return LeastSquaresFit(problem, settings, LinearRegression(fit_intercept=False), constant=True)


class RidgeRegression(Model):
    """Ridge regression on a basis."""

    id, name = "ridge", "Ridge"
    shows: ClassVar = {"regression": ("band", "evidence", "equivalent_kernel", "bars", "learn")}
    least = 2

    def controls(self, task: str, domain: Domain) -> list[Control]:
        basis = [replace(control, curve=False) for control in basis_controls(domain, degree=9, lowest=1)]
        return [*basis, _ridge_penalty()]

    def fit(self, problem: Problem, settings: Settings) -> Fitted:
        return RidgeFit(problem, settings, Ridge(settings["alpha"]), constant=False)

    def learn(self, problem: Problem, settings: Settings) -> tuple[Settings, list[str]]:
        design = Design(settings, problem.domain, constant=False)
        found = Ridge("loo").fit(design.features(problem.X), problem.y)
        alpha = _ridge_penalty().clipped(float(found.alpha_))
        return {**settings, "alpha": alpha}, ["The penalty has the smallest leave-one-out error."]


class LassoRegression(Model):
    """The lasso on a basis."""

    id, name = "lasso", "Lasso"
    shows: ClassVar = {"regression": ("band", "evidence", "bars", "learn")}
    least = 2

    def controls(self, task: str, domain: Domain) -> list[Control]:
        basis = [replace(control, curve=False) for control in basis_controls(domain, degree=9, lowest=1)]
        return [*basis, self._penalty(domain)]

    def _penalty(self, domain: Domain) -> Control:
        height = domain.height
        return log_slider(
            "alpha", "Penalty α", 1e-5 * height, height, 1e-3 * height, unit="y", learnable=True,
            help="Larger sets more coefficients to zero.",
        )  # fmt: skip

    def fit(self, problem: Problem, settings: Settings) -> Fitted:
        return LassoFit(problem, settings, Lasso(settings["alpha"], max_iter=5000, tol=1e-6), constant=False)

    def learn(self, problem: Problem, settings: Settings) -> tuple[Settings, list[str]]:
        design = Design(settings, problem.domain, constant=False)
        found = LassoCV(cv=min(5, problem.n)).fit(design.features(problem.X), problem.y)
        alpha = self._penalty(problem.domain).clipped(float(found.alpha_))
        return {**settings, "alpha": alpha}, ["The penalty has the smallest cross-validated error."]


class BayesianLinear(Model):
    """Bayesian linear regression on a basis."""

    id, name = "bayes_linear", "Bayesian linear"
    least = 0
    shows: ClassVar = {
        "regression": (
            "band", "draws", "prior_draws", "evidence", "equivalent_kernel", "next", "curve", "learn", "bars",
        )
    }  # fmt: skip

    def controls(self, task: str, domain: Domain) -> list[Control]:
        return [*basis_controls(domain), *precision_controls(domain)]

    def fit(self, problem: Problem, settings: Settings) -> Fitted:
        return BayesFit(problem, settings)

    def learn(self, problem: Problem, settings: Settings) -> tuple[Settings, list[str]]:
        design = Design(settings, problem.domain)
        found = BayesianLinearRegression("evidence", noise_precision="evidence", fit_intercept=False)
        found.fit(design.features(problem.X), problem.y - problem.domain.offset)
        prior, noise = precision_controls(problem.domain)
        learned = {
            "prior_std": prior.clipped(float(found.prior_precision_) ** -0.5),
            "noise": noise.clipped(float(found.noise_precision_) ** -0.5),
        }
        return {**settings, **learned}, ["Prior and noise have the highest evidence."]

    def log_evidence(self, problem: Problem, settings: Settings) -> float:
        value = gaussian_evidence(covariance(problem, settings), problem.y - problem.domain.offset).value
        assert value is not None
        return value

    def curve(self, problem: Problem, settings: Settings, control: str, values: Sequence[float]) -> list[float]:
        if control not in ("prior_std", "noise"):
            return super().curve(problem, settings, control, values)
        rows, y = Design(settings, problem.domain).features(problem.X), problem.y - problem.domain.offset
        gram, made = rows @ rows.T, [{**settings, control: value} for value in values]
        found = [gaussian_evidence(_covariance(gram, each), y).value for each in made]
        return [value for value in found if value is not None]


def precision_controls(domain: Domain) -> list[Control]:
    """Standard deviations of the weights and of the noise."""
    height = domain.height
    return [
        log_slider(
            "prior_std", "Prior scale of the weights", 1e-3 * height, 100 * height, rounded(height / 3, 1), unit="y",
            learnable=True, curve=True, help="Standard deviation of each weight before any point is seen.",
        ),
        noise_control(domain),
    ]  # fmt: skip


def noise_control(domain: Domain) -> Control:
    """The standard deviation of the noise."""
    height = domain.height
    return log_slider(
        "noise", "Noise", 1e-3 * height, height, rounded(height / 15, 1), unit="y", learnable=True, curve=True,
        help="Standard deviation of an observation around the function.",
    )  # fmt: skip


def covariance(problem: Problem, settings: Settings) -> Array:
    """The covariance of the targets before they are seen: s²ΦΦᵀ + σ²I."""
    if not problem.n:
        return np.empty((0, 0))
    rows = Design(settings, problem.domain).features(problem.X)
    return _covariance(rows @ rows.T, settings)


def _covariance(gram: Array, settings: Settings) -> Array:
    return settings["prior_std"] ** 2 * gram + settings["noise"] ** 2 * np.eye(len(gram))


def widest(rows: Array, spread: Array) -> Next:
    """The row where the function is known least."""
    at = int(np.argmax(spread))
    why = "The standard deviation of the function is largest here."
    return Next(tuple(rows[at].tolist()), float(spread[at]), "std", why)


def square(value: float) -> Math:
    return power(number(value), number(2))


def _ridge_penalty() -> Control:
    help = "Larger pulls the coefficients to zero."
    return log_slider("alpha", "Penalty α", 1e-8, 1e4, 1e-3, learnable=True, help=help)


def _squared_error() -> Math:
    y = index(symbol("y"), symbol("i"))
    return power(row(sign("("), y, sign("−"), call("f", index(symbol("x"), symbol("i"))), sign(")")), number(2))
