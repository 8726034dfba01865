"""Ordered classes: the cumulative logit model."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from credo.core.fields import Axes, each
from credo.likelihoods._likelihood import ByParameter, Likelihood

Array = NDArray[np.float64]

Ascending = each(lambda x: np.diff(x) >= 0, "increasing")


@dataclass(frozen=True, eq=False)
class Ordinal(Likelihood):
    """Classes 0 < 1 < … with P(y ≤ k) = σ(cuts_k − f), for K − 1 increasing cuts.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.likelihoods import Ordinal
    >>> np.exp(Ordinal(np.array([-1.0, 1.0])).log_prob(np.arange(3.0), np.zeros(3))).round(3)
    array([0.269, 0.462, 0.269])
    """

    cuts: Annotated[Array, Axes("k"), Ascending] = field(default_factory=lambda: np.zeros(1))

    _breakpoints: ClassVar[Array] = np.array([-40.0, -20.0, -10.0, -4.0, 0.0, 4.0, 10.0, 20.0, 40.0])

    def log_prob(self, y: Array, f: Array) -> Array:
        """ln(σ(a) − σ(b)) = ln σ(a) + ln σ(−b) + ln(1 − e^(b − a)), with the cuts above and below."""
        a, b = self._ends(y, f)
        with np.errstate(invalid="ignore"):
            gap = np.where(np.isfinite(a) & np.isfinite(b), a - b, np.inf)
        return log_expit(a) + log_expit(-b) + np.log(-np.expm1(-gap))

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """σ(b) − σ(−a) and its derivatives."""
        a, b = self._ends(y, f)
        up, down = expit(a) * expit(-a), expit(b) * expit(-b)
        return (
            expit(b) - expit(-a),
            -up - down,
            up * (1.0 - 2.0 * expit(a)) + down * (1.0 - 2.0 * expit(b)),
        )

    def by_parameters(self, y: Array, f: Array) -> list[ByParameter]:
        """By the first cut, and the logs of the gaps between neighboring cuts."""
        a, b = self._ends(y, f)
        with np.errstate(invalid="ignore"):
            gap = np.where(np.isfinite(a) & np.isfinite(b), a - b, np.inf)
        more = 1.0 / np.expm1(np.minimum(gap, 700.0))
        up, down = expit(a) * expit(-a), expit(b) * expit(-b)
        k, found = y.astype(np.intp), []
        for moved in self._moves():
            by_a, by_b = np.append(moved, 0.0)[k], np.concatenate([[0.0], moved])[k]
            found.append((
                by_a * (expit(-a) + more) - by_b * (expit(b) + more),
                by_a * up + by_b * down,
                -by_a * up * (1.0 - 2.0 * expit(a)) - by_b * down * (1.0 - 2.0 * expit(b)),
            ))  # fmt: skip
        return found

    def with_logs(self, logs: Array) -> Self:
        """With cuts from the first of them and the logs of the gaps."""
        return replace(self, cuts=logs[0] + np.concatenate([[0.0], np.cumsum(np.exp(np.clip(logs[1:], -25.0, 25.0)))]))

    def probabilities(self, f: Array) -> Array:
        """The probability of each class, (n, K)."""
        heights = expit(self.cuts - f[:, None])
        return np.diff(heights, axis=1, prepend=0.0, append=1.0)

    def _moves(self) -> Array:
        """∂ cuts by each parameter, (K − 1, K − 1)."""
        gaps = np.concatenate([[1.0], np.diff(self.cuts)])
        return np.triu(np.ones((len(gaps), len(gaps)))) * gaps[:, None]

    def _ends(self, y: Array, f: Array) -> tuple[Array, Array]:
        ends = np.concatenate([[-np.inf], self.cuts, [np.inf]])
        k = np.asarray(y, dtype=np.intp)
        return ends[k + 1] - f, ends[k] - f
