"""Gates: the probability g_j(x) that expert j makes the target at x, and the penalized softmax regression behind them.

    L(Θ) = Σᵢ Σ_k Tᵢₖ ln softmax(Θφᵢ)_k − ½ Σ λ_q Θ_kq²        T ≥ 0 are counts, whole or not

A softmax gate is one such regression on the responsibilities. A hierarchical gate (Jordan & Jacobs 1994) is a binary
tree of them: g_j is the product of the probabilities of the branches that lead to expert j.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from credo.estimator import check_shapes
from credo.linalg import factorize

Array = NDArray[np.float64]

_HALVINGS = 20


@dataclass(frozen=True)
class Gate:
    """Weights (n_nodes, n_branches, q) of each node: one of K branches, or K − 1 of two if hierarchical."""

    theta: Array
    n_experts: int
    hierarchical: bool

    def _check_state(self) -> None:
        check_shapes(self, theta="n b q")
        k = self.n_experts
        if self.theta.shape[:2] != ((k - 1, 2) if self.hierarchical and k > 1 else (1, k)):
            raise ValueError(f"theta has shape {self.theta.shape} for a gate of {self.n_experts} experts")

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
    """Which experts are behind each branch of each node, (n_nodes, n_branches, n_experts)."""
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
        for _ in range(_HALVINGS):
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
