"""EM for mixtures of experts (Jordan & Jacobs 1994), from several starts.

    E: r_ij ∝ g_j(x_i) exp E ln p_j(y_i | x_i)      M: experts and gate, each given the responsibilities r

    bound = Σᵢ ωᵢ ln Σ_j g_j(x_i) exp E ln p_j(y_i | x_i) − penalties of experts and gate

For linear experts this is the variational lower bound of ln p(y | X, gate) plus the log prior of the gate; for logits,
the penalized log likelihood. Neither ever decreases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from credo.deadlines import check
from credo.ensemble._experts import Experts
from credo.ensemble._gate import Gate

Array = NDArray[np.float64]

# Iterations of each start, and how many of the best are continued.
_SHORT, _CONTINUED = 12, 2
# Newton steps of the gate in an iteration, and of its first fit.
_STEPS, _FIRST_STEPS = 1, 4
# The share of a row that a start gives to all other experts together.
_SOFT = 0.1


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

    def log_likelihood(self, experts: Any, gate: Gate) -> float:
        """Σ ω ln Σ_j g_j p_j at the estimates."""
        return float(self.weight @ logsumexp(self.joint(experts, gate, plugin=True), axis=1))


@dataclass(frozen=True)
class Fit:
    """Experts, gate and responsibilities, and the bound after every iteration."""

    experts: Any
    gate: Gate
    shares: Array
    bounds: tuple[float, ...]
    converged: bool


def step(task: Task, experts: Experts, gate: Gate, shares: Array, *, gate_steps: int = _STEPS) -> Fit:
    """One M step and the E step after it."""
    check()
    mass = task.weight[:, None] * shares
    experts = experts.fitted(task.phi, task.y, mass)
    gate = gate.improved(task.phi, mass, task.gate_penalty, n_steps=gate_steps)
    joint = task.joint(experts, gate)
    total = logsumexp(joint, axis=1)
    bound = float(task.weight @ total) - experts.penalty - gate.penalty(task.gate_penalty)
    return Fit(experts, gate, np.exp(joint - total[:, None]), (bound,), False)


def climb(task: Task, fit: Fit, *, max_iter: int, tol: float) -> Fit:
    """EM until an iteration adds less than `tol` times the number of observations to the bound.

    Any other experts than linear ones may lower it; then the fit before is returned.
    """
    goal = tol * float(task.weight.sum())
    for _ in range(max_iter):
        new = step(task, fit.experts, fit.gate, fit.shares)
        gain = new.bounds[0] - fit.bounds[-1]
        if gain < -1e-9 * abs(fit.bounds[-1]):
            return Fit(fit.experts, fit.gate, fit.shares, fit.bounds, True)
        fit = Fit(new.experts, new.gate, new.shares, (*fit.bounds, max(new.bounds[0], fit.bounds[-1])), gain <= goal)
        if fit.converged:
            break
    return fit


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
) -> Fit:
    """The best of several starts; `labels` are the targets as standardized columns, by which starts divide the rows."""
    n_experts = gate.n_experts
    fits = []
    for i in range(1 if n_experts == 1 else 1 + n_restarts):
        cells = (_cells if i % 2 == 0 else _lines)(task, labels, n_experts, rng)
        shares = np.full((len(cells), n_experts), _SOFT / n_experts) if n_experts > 1 else np.zeros((len(cells), 1))
        shares[np.arange(len(cells)), cells] += 1 - _SOFT if n_experts > 1 else 1.0
        first = step(task, experts, gate, shares, gate_steps=_FIRST_STEPS)
        fits.append(climb(task, first, max_iter=min(_SHORT, max_iter), tol=tol))
    fits.sort(key=lambda fit: -fit.bounds[-1])
    rest = max(max_iter - _SHORT, 0)
    ends = [fit if fit.converged else climb(task, fit, max_iter=rest, tol=tol) for fit in fits[:_CONTINUED]]
    return max(ends, key=lambda fit: fit.bounds[-1])


def _cells(task: Task, labels: Array, n_experts: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """The nearest of several rows, chosen as in k-means++, with inputs and targets of equal say."""
    X = np.column_stack([task.phi[:, :-1], labels * np.sqrt(max(task.phi.shape[1] - 1, 1) / labels.shape[1])])
    gap = np.full(len(X), np.inf)
    distances = []
    for _ in range(n_experts):
        share = task.weight * np.where(np.isfinite(gap), gap, 1.0)
        share = share if share.sum() > 0 else task.weight
        center = X[int(rng.choice(len(X), p=share / share.sum()))]
        distances.append(np.square(X - center).sum(axis=1))
        gap = np.minimum(gap, distances[-1])
    return np.argmin(distances, axis=0)


def _lines(task: Task, labels: Array, n_experts: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """The best of several linear functions, each through a few rows chosen at random."""
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
    return np.argmin(errors, axis=0)
