"""The posterior in the leaves of a tree, and its prior by evidence or by held-out log score.

A leaf has a conjugate prior that all leaves share. Its evidence is closed-form, and the predictive density of a new row
is the evidence with that row divided by the evidence without it; so the same function, and its gradient, serve both
ways to choose the prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from credo.distributions import StudentT
from credo.estimator import check_positive, check_shapes
from credo.learning.ascent import maximize
from credo.learning.peak import refined_maximum

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# Of ln κ₀, ln(ν₀ − 2) and ln s₀² around their centres: weak, and finite where leaves say nothing.
_PRIOR_SD = np.array([2.0, 1.0, 2.0])
_PRIOR_CENTER = np.array([0.0, 1.0])
# In units of the variance of y.
_LEAST_VARIANCE = 1e-10
# Candidates for the strength of a Dirichlet prior.
_STRENGTHS = np.geomspace(1e-2, 1e3, 31)


@dataclass(frozen=True)
class NormalPrior:
    """μ | σ² ~ N(mean, σ²/strength) and σ² ~ inverse gamma(dof/2, dof·variance/2) in each leaf.

    The prior weighs as much as `strength` rows for the mean of a leaf, and `dof` rows for its variance.
    """

    mean: float
    strength: float
    dof: float
    variance: float

    def _check_state(self) -> None:
        check_shapes(self, mean="", strength="", dof="", variance="")
        check_positive(self, "strength", "dof")
        check_positive(self, "variance", zero=True)

    @classmethod
    def fitted(
        cls, leaves: Array, without: Array | None = None, weight: Array | None = None, *, strength: float | None = None
    ) -> Self:
        """The prior that maximizes the evidence of leaves, or the log score of held-out rows, in standardized units.

        `leaves` has columns weight, mean and sum of squares. For held-out rows, `without` has the leaf of each,
        `leaves` the same with the row added, and the objective is Σ weight (ln p(leaf with row) − ln p(leaf)).
        """
        weight = np.ones(len(leaves)) if weight is None else weight
        more = leaves if without is None else leaves - without
        inside = float(weight @ np.maximum(more[:, 2], 0.0) / (weight @ more[:, 0]))
        center = np.array([*_PRIOR_CENTER, np.log(np.clip(inside, _LEAST_VARIANCE, 1.0))])
        if strength is not None:
            center[0] = np.log(strength)

        def objective(theta: Array) -> tuple[float, Array]:
            theta = np.clip(theta, center - 12.0, center + 12.0)
            value, slope = _log_evidence(leaves, theta)
            if without is not None:
                less, down = _log_evidence(without, theta)
                value, slope = value - less, slope - down
            gap = (theta - center) / _PRIOR_SD
            total = weight @ slope - gap / _PRIOR_SD
            if strength is not None:
                total[0] = 0.0
            return float(weight @ value - 0.5 * gap @ gap), total

        found = np.clip(
            maximize(objective, center, tolerance=1e-6, max_evaluations=60).vector, center - 12.0, center + 12.0
        )
        return cls(0.0, float(np.exp(found[0])), 2.0 + float(np.exp(found[1])), float(np.exp(found[2])))

    def in_units(self, mean: float, scale: float) -> NormalPrior:
        """The prior of mean + scale·y."""
        return NormalPrior(mean + scale * self.mean, self.strength, self.dof, scale**2 * self.variance)

    def predictive(self, leaves: Array, *, latent: bool = False) -> StudentT:
        """The distribution of a new observation in each leaf, or of the leaf's mean."""
        n, mean, squares = leaves.T
        strength, dof = self.strength + n, self.dof + n
        gap = mean - self.mean
        spread = self.dof * self.variance + squares + self.strength * n / strength * gap**2
        more = 1.0 / strength if latent else 1.0 + 1.0 / strength
        return StudentT(dof, self.mean + n / strength * gap, np.sqrt(spread / dof * more))


def _log_evidence(leaves: Array, theta: Array) -> tuple[Array, Array]:
    """ln p(y in the leaf) for a prior of mean 0, and its gradient by ln κ₀, ln(ν₀ − 2) and ln s₀² (Murphy 2007)."""
    n, mean, squares = leaves.T
    kappa, nu, s = np.exp(theta[0]), 2.0 + np.exp(theta[1]), np.exp(theta[2])
    kappa_n, nu_n, start = kappa + n, nu + n, nu * s
    spread = start + squares + kappa * n / kappa_n * mean**2
    value = (
        gammaln(nu_n / 2) - gammaln(nu / 2) + 0.5 * np.log(kappa / kappa_n)
        + nu / 2 * np.log(start) - nu_n / 2 * np.log(spread) - n / 2 * np.log(np.pi)
    )  # fmt: skip
    pull = nu_n / spread
    by_kappa = 0.5 * kappa * (1 / kappa - 1 / kappa_n - pull * (n / kappa_n * mean) ** 2)
    by_nu = 0.5 * (nu - 2.0) * (digamma(nu_n / 2) - digamma(nu / 2) + np.log(start / spread) + 1.0 - pull * s)
    return value, np.column_stack([by_kappa, by_nu, 0.5 * nu * (1.0 - pull * s)])


def with_row(leaves: Array, y: Array) -> Array:
    """The statistics of leaves (weight, mean, sum of squares) with one more row in each."""
    n, mean, squares = leaves.T
    gap = y - mean
    return np.column_stack([n + 1.0, mean + gap / (n + 1.0), squares + n / (n + 1.0) * gap**2])


@dataclass(frozen=True)
class DirichletPrior:
    """Class probabilities of each leaf ~ Dirichlet(strength · frequencies)."""

    frequencies: Array
    strength: float

    def _check_state(self) -> None:
        check_shapes(self, frequencies="k", strength="")
        check_positive(self, "frequencies", "strength")

    @classmethod
    def by_evidence(cls, frequencies: Array, counts: Array, strength: float | None) -> Self:
        """The strength that maximizes Σ ln p(labels in the leaf); `counts` has the classes of each leaf."""
        a = _STRENGTHS[:, None, None]
        prior = a * frequencies
        inside = (gammaln(prior + counts) - gammaln(prior)).sum(axis=2)
        whole = gammaln(a[:, :, 0]) - gammaln(a[:, :, 0] + counts.sum(axis=1))
        return cls(frequencies, _highest((inside + whole).sum(axis=1)) if strength is None else strength)

    @classmethod
    def by_held_out(
        cls, frequencies: Array, counts: Array, codes: Index, weight: Array, strength: float | None
    ) -> tuple[Self, float]:
        """The strength with the highest log score of held-out rows whose leaves have these counts, and that score."""
        own, total = counts[np.arange(len(codes)), codes], counts.sum(axis=1)
        a = _STRENGTHS[:, None] if strength is None else np.array([[strength]])
        scores = np.log((own + a * frequencies[codes]) / (total + a)) @ weight
        return cls(frequencies, _highest(scores) if strength is None else strength), float(scores.max())

    def predictive(self, counts: Array) -> Array:
        """The posterior mean of the class probabilities of each leaf."""
        table = counts + self.strength * self.frequencies
        return table / table.sum(axis=1, keepdims=True)


def _highest(values: Array) -> float:
    """The strength at the maximum."""
    return float(np.exp(refined_maximum(np.log(_STRENGTHS), values)))
