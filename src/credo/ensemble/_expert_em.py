"""EM for mixtures of experts (Jordan & Jacobs 1994), from several starts.

    E: r_ij ∝ g_j(x_i) exp E ln p_j(y_i | x_i)      M: experts and gate, each given the responsibilities r

    bound = Σᵢ ωᵢ ln Σ_j g_j(x_i) exp E ln p_j(y_i | x_i) − penalties of experts and gate

For linear experts this is the variational lower bound of ln p(y | X, gate) plus the log prior of the gate; for logits,
the penalized log likelihood. Neither ever decreases.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from credo.ensemble._experts import Experts
from credo.ensemble._gate import Gate
from credo.learning.em import Ascent, best_ascent, distant_rows, squared_distances

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


def step(task: Task, fit: Fit, *, gate_steps: int = _STEPS) -> Fit:
    """One M step and the E step after it."""
    mass = task.weight[:, None] * fit.shares
    experts = fit.experts.fitted(task.phi, task.y, mass)
    gate = fit.gate.improved(task.phi, mass, task.gate_penalty, n_steps=gate_steps)
    joint = task.joint(experts, gate)
    total = logsumexp(joint, axis=1)
    bound = float(task.weight @ total) - experts.penalty - gate.penalty(task.gate_penalty)
    return Fit(experts, gate, np.exp(joint - total[:, None]), bound)


def first_step(task: Task, experts: Experts, gate: Gate, shares: Array) -> Fit:
    """The step from given responsibilities, with a better fit of the gate."""
    return step(task, Fit(experts, gate, shares, -np.inf), gate_steps=_FIRST_STEPS)


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
    return best_ascent(
        starts, partial(step, task), max_iter=max_iter, goal=goal, n_short=_SHORT, n_continued=_CONTINUED
    )


def _shares(distances: Array) -> Array:
    """Responsibilities at a start: most of a row belongs to the nearest of the experts, (n, k) distances."""
    n_experts = distances.shape[1]
    if n_experts == 1:
        return np.ones_like(distances)
    return (1 - _SOFT) * np.eye(n_experts)[distances.argmin(axis=1)] + _SOFT / n_experts


def _regions(task: Task, labels: Array, n_experts: int, rng: np.random.Generator) -> Array:
    """Squared distances of inputs alone: of a curve, pieces that may be steep."""
    X = task.phi[:, :-1]
    return squared_distances(X, distant_rows(X, task.weight, n_experts, rng))


def _cells(task: Task, labels: Array, n_experts: int, rng: np.random.Generator) -> Array:
    """Squared distances from rows chosen as in k-means++, with inputs and targets of equal say: levels, or branches."""
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
