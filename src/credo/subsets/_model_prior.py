"""The prior over subsets of the columns, which depends on a subset's size alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, gammaln, softmax

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ModelPrior:
    """p(γ) of a subset of d columns: each is in with probability π₀, or π₀ itself has a beta law.

        Bernoulli:       p(γ) = π₀ᵏ (1 − π₀)ᵈ⁻ᵏ
        beta-binomial:   p(γ) = B(a + k, b + d − k) / B(a, b)        (Scott & Berger 2010)

    Parameters
    ----------
    d : int
        The number of columns.
    inclusion : float or (a, b)
        π₀, or the two parameters of its beta law.

    Examples
    --------
    >>> import numpy as np
    >>> prior = ModelPrior(3, (1.0, 1.0))
    >>> np.exp(prior.log_prob([0, 1, 2, 3])).round(4)
    array([0.25  , 0.0833, 0.0833, 0.25  ])
    """

    d: int
    inclusion: float | tuple[float, float]

    @classmethod
    def of(cls, inclusion: Any, d: int) -> ModelPrior:
        """From the argument `prior_inclusion` of an estimator."""
        if isinstance(inclusion, str) and inclusion == "beta-binomial":
            return cls(d, (1.0, 1.0))
        if isinstance(inclusion, tuple | list) and len(inclusion) == 2 and all(map(_is_positive, inclusion)):
            return cls(d, (float(inclusion[0]), float(inclusion[1])))
        if _is_positive(inclusion) and inclusion < 1:
            return cls(d, float(inclusion))
        raise ValueError(
            'prior_inclusion must be a probability strictly between 0 and 1, "beta-binomial", or the pair (a, b) of '
            f"its beta law; got {inclusion!r}"
        )

    def log_prob(self, k: ArrayLike) -> Array:
        """ln p(γ) of one subset of k columns."""
        size = np.asarray(k, dtype=np.float64)
        if isinstance(self.inclusion, tuple):
            a, b = self.inclusion
            return np.asarray(betaln(a + size, b + self.d - size) - betaln(a, b))
        return size * math.log(self.inclusion) + (self.d - size) * math.log1p(-self.inclusion)

    def words(self, n: float, *, beta: bool = False) -> list[str]:
        """What there is to say about a prior that expects more columns than n rows can judge.

        A `beta` law gives way to the rows, unless columns that add nothing cost nothing and outnumber them.
        """
        expected, law = self.mean * self.d, isinstance(self.inclusion, tuple)
        if expected <= n / 2 or (law and not (beta and self.d > n)):
            return []
        told = self.inclusion if isinstance(self.inclusion, tuple) else f"{self.inclusion:g}"
        return [
            f"prior_inclusion={told} expects {expected:.0f} of {self.d} columns in the model, which {n:g} rows can "
            f"hardly correct: use {advised(self.d, n)}"
        ]

    @property
    def mean(self) -> float:
        """The probability that a given column is in."""
        if isinstance(self.inclusion, tuple):
            return self.inclusion[0] / sum(self.inclusion)
        return self.inclusion


def log_subsets(d: int, largest: int) -> Array:
    """The logarithm of the number of subsets of d columns, of each size up to the largest."""
    sizes = np.arange(largest + 1)
    return np.asarray(gammaln(d + 1.0) - gammaln(sizes + 1.0) - gammaln(d - sizes + 1.0))


def size_distribution(log_prior: Array, d: int) -> Array:
    """The prior probability of each size that a model of d columns may have, from ln p(γ) of one model of that size."""
    return np.asarray(softmax(log_prior + log_subsets(d, len(log_prior) - 1)))


def advised(d: int, n: float) -> str:
    """A prior for d columns and n rows.

    Under the uniform law of their share, models of half as many columns as rows may weigh most where columns are more.
    """
    return f"prior_inclusion=(1, {d}), which expects a few" if d > n else 'prior_inclusion="beta-binomial"'


def _is_positive(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < math.inf
