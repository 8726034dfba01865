"""Experts of a mixture: linear with their posterior, linear logits, or any estimators.

Each kind offers the same: `fitted` to rows that are shared out as `mass` (n, k), `log_terms`, the (expected) log
density of each row under each expert, and `penalty`, what the bound loses to the priors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, log_softmax
from sklearn.base import clone

from credo.distributions import StudentT
from credo.ensemble._gate import softmax_steps
from credo.estimator import check_positive, check_shapes
from credo.linalg import factorize
from credo.metrics import predictive

Array = NDArray[np.float64]

# The gamma prior of a noise precision, in units of the variance of y: the information of three observations with a
# standard deviation of a tenth of that of y. A Student-t prediction then has more than three degrees of freedom.
NOISE_PRIOR = (1.5, 0.015)
# Precision of an intercept relative to the noise, and the gamma prior of that of the slopes. It is nearly flat in ln ρ,
# so that flat experts (ρ = 100) gain nothing over steep ones (ρ = 0.01) by the prior; (1, 0.01) would give them 8 nats.
INTERCEPT, SLOPE_PRIOR = 1e-4, (0.1, 0.01)
# Precision of the intercept of logits, as in BayesianLogisticRegression.
LOGIT_INTERCEPT = 0.01
# The least share of a row that any expert sees, so that each sees all rows and all classes.
LEAST_SHARE = 1e-4


class Experts(Protocol):
    """What EM needs of experts."""

    @property
    def penalty(self) -> float: ...

    def fitted(self, phi: Array, y: Array, mass: Array) -> Self: ...

    def log_terms(self, phi: Array, y: Array) -> Array: ...


@dataclass(frozen=True)
class LinearExperts:
    """y = wᵀφ + ε with w ~ N(0, σ²/ρ) and a gamma prior of 1/σ², for each expert its posterior given its share of rows.

        q(w | σ²) = N(m, σ² A⁻¹),    q(1/σ²) = Gamma(a, b)                                (Bishop 10.2, for regression)

    ρ is at the maximum of the bound, and the same for all experts, so that one with few rows has the slopes of the
    others to expect. `precision` is ρ of the slopes; `roots` are R with A⁻¹ = RᵀR. `rounding` is the variance of the
    error with which targets were rounded, below which no noise can fall.
    """

    mean: Array
    roots: Array
    shape: Array
    rate: Array
    precision: float
    penalty: float
    rounding: float

    def _check_state(self) -> None:
        check_shapes(self, mean="k q", roots="k q q", shape="k", rate="k", precision="", penalty="", rounding="")
        check_positive(self, "shape", "rate", "precision")
        if not (self.shape > 1).all():
            raise ValueError("shape must be above one, so that predictions have a variance")

    @classmethod
    def start(cls, n_experts: int, width: int, *, rounding: float = 0.0) -> LinearExperts:
        """Before any rows."""
        one, identity = np.ones(n_experts), np.tile(np.eye(width), (n_experts, 1, 1))
        return cls(np.zeros((n_experts, width)), identity, 2 * one, one, 0.1, 0.0, rounding)

    def fitted(self, phi: Array, y: Array, mass: Array) -> LinearExperts:
        """The posterior of each expert, then ρ."""
        old, (c, d) = self.precision, SLOPE_PRIOR
        parts = [_linear_expert(phi, y, mass[:, j], old, self.rounding) for j in range(mass.shape[1])]
        mean, roots, shape, rate, sizes, penalties = (np.array(each) for each in zip(*parts, strict=True))
        half, size = 0.5 * mean[:, :-1].size, 0.5 * float(sizes.sum())
        new = (half + c) / (size + d)
        # What the bound gains from the new ρ, and the log prior of ln ρ.
        gain = half * math.log(new / old) - (new - old) * size + c * math.log(new) - d * new
        return LinearExperts(mean, roots, shape, rate, new, float(penalties.sum()) - gain, self.rounding)

    def log_terms(self, phi: Array, y: Array) -> Array:
        """E_q ln N(y | wᵀφ, σ²)."""
        return np.column_stack(
            [
                _expected(phi, y, m, R, a, b, self.rounding)
                for m, R, a, b in zip(self.mean, self.roots, self.shape, self.rate, strict=True)
            ]
        )

    def plugin_terms(self, phi: Array, y: Array) -> Array:
        """ln N(y | mᵀφ, b/a), at the estimates."""
        variance = self.rate / self.shape
        return -0.5 * (np.log(2 * np.pi * variance) + np.square(y[:, None] - phi @ self.mean.T) / variance)

    def predicted(self, phi: Array, center: float, scale: float, *, latent: bool) -> list[StudentT]:
        """The Student-t predictions of each expert in the units of y."""
        found = []
        for m, R, a, b in zip(self.mean, self.roots, self.shape, self.rate, strict=True):
            spread = np.square(phi @ R.T).sum(axis=1) + (0.0 if latent else 1.0)
            found.append(StudentT(2 * a, center + scale * (phi @ m), scale * np.sqrt(b / a * spread)))
        return found


def _linear_expert(
    phi: Array, y: Array, mass: Array, rho: float, rounding: float
) -> tuple[Array, Array, float, float, float, float]:
    """Mean, root, shape, rate, E‖w‖²/σ² of the slopes, and penalty Σ r E ln p − ln Z of one expert, Z its evidence."""
    a0, b0 = NOISE_PRIOR
    width = phi.shape[1]
    prior = np.full(width, rho)
    prior[-1] = INTERCEPT
    weighted = phi * mass[:, None]
    factor = factorize(weighted.T @ phi + np.diag(prior), assume_symmetric=True)
    m = factor.solve(weighted.T @ y)
    R = factor.half_solve(np.eye(width))
    a = a0 + 0.5 * float(mass.sum())
    b = b0 + 0.5 * float(mass @ (np.square(y - phi @ m) + rounding) + prior @ m**2)
    log_z = 0.5 * float(np.log(prior).sum()) - 0.5 * factor.logdet - 0.5 * float(mass.sum()) * math.log(2 * math.pi)
    log_z += a0 * math.log(b0) - a * math.log(b) + float(gammaln(a) - gammaln(a0))
    size = a / b * float(m[:-1] @ m[:-1]) + float(np.square(R[:, :-1]).sum())
    return m, R, a, b, size, float(mass @ _expected(phi, y, m, R, a, b, rounding)) - log_z


def _expected(phi: Array, y: Array, m: Array, R: Array, a: float, b: float, rounding: float) -> Array:
    """E_q ln N(y | wᵀφ, σ²), also over the rounding error of y."""
    spread = a / b * (np.square(y - phi @ m) + rounding) + np.square(phi @ R.T).sum(axis=1)
    return np.asarray(-0.5 * (math.log(2 * math.pi * b) - digamma(a) + spread))


@dataclass(frozen=True)
class LogitExperts:
    """p(y = c | x) = softmax(Θφ)_c at the posterior mode of each expert; Θ is (k, n_classes, q), and y holds codes."""

    theta: Array
    prior: Array
    penalty: float = 0.0

    @classmethod
    def start(cls, n_experts: int, width: int, *, n_classes: int, precision: float) -> LogitExperts:
        """Before any rows; for two classes the prior is that of their log odds, θ₁ − θ₀."""
        prior = np.full(width, precision * (2.0 if n_classes == 2 else 1.0))
        prior[-1] = LOGIT_INTERCEPT * (2.0 if n_classes == 2 else 1.0)
        return cls(np.zeros((n_experts, n_classes, width)), prior)

    def fitted(self, phi: Array, y: Array, mass: Array, *, n_steps: int = 1) -> LogitExperts:
        """One Newton step for each expert, or more."""
        labels = np.eye(self.theta.shape[1])[y.astype(np.intp)]
        theta = np.array(
            [
                softmax_steps(phi, labels * mass[:, [j]], each, self.prior, n_steps=n_steps)
                for j, each in enumerate(self.theta)
            ]
        )
        return replace(self, theta=theta, penalty=0.5 * float((np.square(theta) * self.prior).sum()))

    def log_terms(self, phi: Array, y: Array) -> Array:
        """ln p(y | x) under each expert."""
        codes = y.astype(np.intp)[:, None]
        return np.column_stack(
            [np.take_along_axis(log_softmax(phi @ each.T, axis=1), codes, axis=1)[:, 0] for each in self.theta]
        )

    plugin_terms = log_terms


@dataclass(frozen=True)
class GivenExperts:
    """Clones of an estimator, fitted to the rows X in their own units with its shares as sample weights."""

    estimator: Any
    X: Any
    members: tuple[Any, ...] = ()
    penalty: float = 0.0

    def fitted(self, phi: Array, y: Array, mass: Array) -> GivenExperts:
        """Each clone fitted to its share of the rows."""
        least = LEAST_SHARE * mass.sum(axis=1, keepdims=True)
        shares = np.maximum(mass, least).T
        members = tuple(clone(self.estimator).fit(self.X, y, sample_weight=share) for share in shares)
        return replace(self, members=members)

    def log_terms(self, phi: Array, y: Array) -> Array:
        """ln p(y | x) under the predictive distribution of each expert."""
        return np.column_stack([predictive(member, self.X).log_prob(y) for member in self.members])

    plugin_terms = log_terms
