"""Gates, experts and EM of mixtures of experts.

A gate gives the probability g_j(x) that expert j generates the target at x, by penalized softmax regression:

    L(Θ) = Σᵢ Σ_k Tᵢₖ ln softmax(Θφᵢ)_k − ½ Σ λ_q Θ_kq²        T ≥ 0 are counts, not necessarily whole

A softmax gate is one such regression on the responsibilities. A hierarchical gate (Jordan & Jacobs 1994) is a binary
tree of them: g_j is the product of the probabilities of the branches that lead to expert j.

Experts are linear with their posterior, linear logits, or any estimators. Each kind has `fitted` to rows divided among
them by `mass` (n, k); `log_terms`, the (expected) log density of each row under each expert; and `penalty`, the part of
the bound due to the priors. EM (Jordan & Jacobs 1994) runs from several starts:

    E: r_ij ∝ g_j(x_i) exp E ln p_j(y_i | x_i)      M: experts and gate, each given the responsibilities r

    bound = Σᵢ ωᵢ ln Σ_j g_j(x_i) exp E ln p_j(y_i | x_i) − penalties of experts and gate

For linear experts this is the variational lower bound of ln p(y | X, gate) plus the log prior of the gate; for logits,
the penalized log likelihood. Neither ever decreases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, log_softmax, logsumexp
from sklearn.base import clone

from credo.core.fields import Axes, Finite, Positive, each
from credo.core.learning.em import Ascent, best_ascent, distant_rows, squared_distances
from credo.core.linalg import factorize
from credo.distributions import StudentT
from credo.metrics import predictive

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Gate:
    """Weights (n_nodes, n_branches, q) of each node: one of K branches, or K − 1 of two if hierarchical."""

    theta: Annotated[Array, Axes("n b q")]
    n_experts: int
    hierarchical: bool

    def _sizes(self) -> dict[str, int]:
        k = self.n_experts
        return {"n": k - 1, "b": 2} if self.hierarchical and k > 1 else {"n": 1, "b": k}

    @classmethod
    def uniform(cls, n_experts: int, width: int, *, hierarchical: bool) -> Gate:
        """The same probability for each branch, everywhere."""
        shape = _members(n_experts, hierarchical).shape[:2]
        return cls(np.zeros((*shape, width)), n_experts, hierarchical)

    def log_proba(self, phi: Array) -> Array:
        """ln g_j for each row, (n, n_experts)."""
        members = _members(self.n_experts, self.hierarchical)
        total = np.zeros((len(phi), self.n_experts))
        for theta, member in zip(self.theta, members, strict=True):
            total += log_softmax(phi @ theta.T, axis=1) @ member
        return total

    def improved(self, phi: Array, mass: Array, penalty: Array, *, n_steps: int) -> Gate:
        """A few Newton steps of every node on the rows' shares (n, n_experts)."""
        members = _members(self.n_experts, self.hierarchical)
        nodes = [
            softmax_steps(phi, mass @ member.T, theta, penalty, n_steps=n_steps)
            for theta, member in zip(self.theta, members, strict=True)
        ]
        return replace(self, theta=np.array(nodes).reshape(self.theta.shape))

    def penalty(self, penalty: Array) -> float:
        """½ Σ λ Θ²."""
        return 0.5 * float((np.square(self.theta) * penalty).sum())


def _members(n_experts: int, hierarchical: bool) -> Array:
    """The experts that each branch of each node leads to, (n_nodes, n_branches, n_experts)."""
    if not hierarchical or n_experts == 1:
        return np.eye(n_experts)[None]
    nodes, waiting = [], [np.arange(n_experts)]
    while waiting:
        group = waiting.pop(0)
        if len(group) > 1:
            halves = np.array_split(group, 2)
            nodes.append([np.isin(np.arange(n_experts), half).astype(np.float64) for half in halves])
            waiting += halves
    return np.array(nodes)


def softmax_steps(phi: Array, counts: Array, theta: Array, penalty: Array, *, n_steps: int) -> Array:
    """Θ (n_classes, q) after Newton steps with a line search, none of which lowers L."""
    if len(theta) == 1:
        return theta
    value = _value(phi, counts, theta, penalty)
    for _ in range(n_steps):
        step, slope = _newton_step(phi, counts, theta, penalty)
        length = 1.0
        for _ in range(20):
            ahead = theta + length * step
            new = _value(phi, counts, ahead, penalty)
            if new >= value + 1e-4 * length * slope:
                break
            length /= 2
        if new <= value:
            return theta
        theta, value = ahead, new
    return theta


def _value(phi: Array, counts: Array, theta: Array, penalty: Array) -> float:
    return float((counts * log_softmax(phi @ theta.T, axis=1)).sum() - 0.5 * (np.square(theta) * penalty).sum())


def _newton_step(phi: Array, counts: Array, theta: Array, penalty: Array) -> tuple[Array, float]:
    """H⁻¹g and gᵀH⁻¹g; the blocks of H sum to the penalty, so those off the diagonal give the others."""
    n_classes, width = theta.shape
    P, total = np.exp(log_softmax(phi @ theta.T, axis=1)), counts.sum(axis=1)
    gradient = (counts - total[:, None] * P).T @ phi - penalty * theta
    H = np.zeros((n_classes, width, n_classes, width))
    for k in range(n_classes):
        H[k, :, k, :] += np.diag(penalty)
        for l in range(k):
            root = phi * np.sqrt(total * P[:, k] * P[:, l])[:, None]
            block = root.T @ root
            H[k, :, l, :] = H[l, :, k, :] = -block
            H[k, :, k, :] += block
            H[l, :, l, :] += block
    factor = factorize(H.reshape(n_classes * width, -1), overwrite=True, assume_symmetric=True)
    step = factor.solve(gradient.ravel())
    return step.reshape(theta.shape), float(step @ gradient.ravel())


# The gamma prior of a noise precision, in units of the variance of y: the information of three observations with a
# standard deviation of a tenth of that of y. A Student-t prediction then has more than three degrees of freedom.
NOISE_PRIOR = (1.5, 0.015)
# Precision of an intercept relative to the noise, and the gamma prior of that of the slopes. It is nearly flat in ln ρ,
# so that the prior doesn't favor flat experts (ρ = 100) over steep ones (ρ = 0.01); (1, 0.01) would give them 8 nats.
INTERCEPT_PRECISION, SLOPE_PRIOR = 1e-4, (0.1, 0.01)
# Precision of the intercept of logits, as in BayesianLogisticRegression.
LOGIT_INTERCEPT_PRECISION = 0.01
# The smallest share of a row that an expert is fitted to, so that each sees all rows and all classes.
MIN_SHARE = 1e-4


class Experts(Protocol):
    """The interface of experts that EM uses."""

    @property
    def penalty(self) -> float: ...

    def fitted(self, phi: Array, y: Array, mass: Array) -> Self: ...

    def log_terms(self, phi: Array, y: Array) -> Array: ...


@dataclass(frozen=True)
class LinearExperts:
    """y = wᵀφ + ε with w ~ N(0, σ²/ρ) and a gamma prior of 1/σ², for each expert its posterior given its share of rows.

        q(w | σ²) = N(m, σ² A⁻¹),    q(1/σ²) = Gamma(a, b)                                (Bishop 10.2, for regression)

    ρ maximizes the bound, and is the same for all experts, so that one with few rows expects slopes like those of the
    others. `precision` is ρ of the slopes; `roots` are R with A⁻¹ = RᵀR. `rounding` is the variance of the
    rounding error of the targets, a lower limit of the noise.
    """

    mean: Annotated[Array, Axes("k q")]
    roots: Annotated[Array, Axes("k q q")]
    shape: Annotated[Array, Axes("k"), each(lambda a: a > 1, "above one, so that predictions have a variance")]
    rate: Annotated[Array, Axes("k"), Positive]
    precision: Annotated[float, Finite, Positive]
    penalty: Annotated[float, Finite]
    rounding: Annotated[float, Finite]

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
        # The change of the bound by the new ρ, and the log prior of ln ρ.
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
    prior[-1] = INTERCEPT_PRECISION
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
    """E_q ln N(y | wᵀφ, σ²), averaged over the rounding error of y as well."""
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
        prior[-1] = LOGIT_INTERCEPT_PRECISION * (2.0 if n_classes == 2 else 1.0)
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
        least = MIN_SHARE * mass.sum(axis=1, keepdims=True)
        shares = np.maximum(mass, least).T
        members = tuple(clone(self.estimator).fit(self.X, y, sample_weight=share) for share in shares)
        return replace(self, members=members)

    def log_terms(self, phi: Array, y: Array) -> Array:
        """ln p(y | x) under the predictive distribution of each expert."""
        return np.column_stack([predictive(member, self.X).log_prob(y) for member in self.members])

    plugin_terms = log_terms


@dataclass(frozen=True)
class Task:
    """Rows φ = (x, 1) in standardized units, targets, weights, and the penalty of the gate's weights."""

    phi: Array
    y: Array
    weight: Array
    gate_penalty: Array

    def joint(self, experts: Any, gate: Gate, *, plugin: bool = False) -> Array:
        """ln g_j + (E) ln p_j for each row, (n, k)."""
        terms = experts.plugin_terms(self.phi, self.y) if plugin else experts.log_terms(self.phi, self.y)
        return gate.log_proba(self.phi) + terms

    def log_likelihood(self, fit: Fit) -> float:
        """Σ ω ln Σ_j g_j p_j at the estimates."""
        return float(self.weight @ logsumexp(self.joint(fit.experts, fit.gate, plugin=True), axis=1))


@dataclass(frozen=True)
class Fit:
    """Experts, gate, responsibilities, and the bound."""

    experts: Any
    gate: Gate
    shares: Array
    value: float


def step(task: Task, fit: Fit, *, gate_steps: int = 1) -> Fit:
    """One M step and the E step after it."""
    mass = task.weight[:, None] * fit.shares
    experts = fit.experts.fitted(task.phi, task.y, mass)
    gate = fit.gate.improved(task.phi, mass, task.gate_penalty, n_steps=gate_steps)
    joint = task.joint(experts, gate)
    total = logsumexp(joint, axis=1)
    bound = float(task.weight @ total) - experts.penalty - gate.penalty(task.gate_penalty)
    return Fit(experts, gate, np.exp(joint - total[:, None]), bound)


def first_step(task: Task, experts: Experts, gate: Gate, shares: Array) -> Fit:
    """The step from given responsibilities, with more iterations for the gate."""
    return step(task, Fit(experts, gate, shares, -np.inf), gate_steps=4)


def maximize(
    task: Task,
    experts: Experts,
    gate: Gate,
    labels: Array,
    *,
    n_restarts: int,
    max_iter: int,
    tol: float,
    rng: np.random.Generator,
) -> Ascent[Fit]:
    """The best of several starts; `labels` are the targets as standardized columns, by which starts divide the rows."""
    kinds = (_regions, _cells, _lines)
    starts = (
        first_step(task, experts, gate, _shares(kinds[i % 3](task, labels, gate.n_experts, rng)))
        for i in range(1 if gate.n_experts == 1 else 1 + n_restarts)
    )
    goal = tol * float(task.weight.sum())
    return best_ascent(starts, partial(step, task), max_iter=max_iter, goal=goal, n_short=12, n_continued=2)


def _shares(distances: Array) -> Array:
    """Responsibilities at a start: most of a row belongs to the nearest of the experts, (n, k) distances."""
    n_experts = distances.shape[1]
    if n_experts == 1:
        return np.ones_like(distances)
    # A tenth of each row is shared by all experts.
    return 0.9 * np.eye(n_experts)[distances.argmin(axis=1)] + 0.1 / n_experts


def _regions(task: Task, labels: Array, n_experts: int, rng: np.random.Generator) -> Array:
    """Squared distances in the inputs alone, which divide a curve into pieces that may be steep."""
    X = task.phi[:, :-1]
    return squared_distances(X, distant_rows(X, task.weight, n_experts, rng))


def _cells(task: Task, labels: Array, n_experts: int, rng: np.random.Generator) -> Array:
    """Squared distances from rows chosen as in k-means++, weighting inputs and targets equally: levels or branches."""
    X = np.column_stack([task.phi[:, :-1], labels * np.sqrt(max(task.phi.shape[1] - 1, 1) / labels.shape[1])])
    return squared_distances(X, distant_rows(X, task.weight, n_experts, rng))


def _lines(task: Task, labels: Array, n_experts: int, rng: np.random.Generator) -> Array:
    """Squared errors of linear functions, each through a few rows chosen at random."""
    phi, n = task.phi, len(task.phi)
    size = min(phi.shape[1] + 1, n)
    errors = []
    for _ in range(n_experts):
        some = rng.choice(n, size=size, replace=False)
        found = np.linalg.lstsq(
            np.vstack([phi[some], 0.1 * np.eye(phi.shape[1])]),
            np.vstack([labels[some], np.zeros((phi.shape[1], labels.shape[1]))]),
            rcond=None,
        )[0]
        errors.append(np.square(labels - phi @ found).sum(axis=1))
    return np.column_stack(errors)
