"""The Bernoulli distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.distributions import _validation as valid
from credo.distributions._distribution import Array, Distribution


class Bernoulli(Distribution):
    """An outcome of 0 or 1 for each row, 1 with probability `probs`.

    `log_prob` and `crps` raise an error for outcomes other than 0 and 1 (booleans are accepted). The CRPS is the Brier
    score (probs − y)².

    Parameters
    ----------
    probs : float or array of shape (n_rows,)

    Examples
    --------
    >>> from credo.distributions import Bernoulli
    >>> dist = Bernoulli([0.9, 0.2])
    >>> dist.mode
    array([1, 0])
    >>> dist.crps([1, 1]).round(2)
    array([0.01, 0.64])
    """

    _shown = ("probs",)
    _discrete = True
    _probs: Array

    def __init__(self, probs: ArrayLike) -> None:
        scalar = valid.are_scalars(probs)
        (probs,) = valid.rows(probs=probs)
        valid.refuse((probs < 0) | (probs > 1), probs, "probs must be between 0 and 1")
        vars(self).update(_probs=probs, _scalar=scalar)

    @property
    def probs(self) -> Array:
        """The probability of 1 in each row."""
        return self._unless_scalar(self._probs)

    @property
    def mode(self) -> NDArray[np.int64]:
        """The more probable outcome of each row; 0 if both are equally probable."""
        return np.asarray(self.probs > 0.5, dtype=np.int64)[()]

    @property
    def _mean(self) -> Array:
        return self._probs

    @property
    def _std(self) -> Array:
        return np.sqrt(self._probs) * np.sqrt(1 - self._probs)

    @property
    def var(self) -> Array:
        return self.probs * (1 - self.probs)

    def __len__(self) -> int:
        return self._probs.size

    def _cdf(self, y: Array) -> Array:
        return np.where(y < 0, 0.0, np.where(y < 1, 1 - self._probs, 1.0))

    def _log_prob(self, y: Array) -> Array:
        _refuse_others(y)
        with np.errstate(divide="ignore"):
            return np.where(y == 1, np.log(self._probs), np.log1p(-self._probs))

    def _crps(self, y: Array) -> Array:
        _refuse_others(y)
        return np.square(self._probs - y)

    def _quantile(self, q: Array) -> Array:
        # q > 1 − p, written so that a tiny p keeps its digits; if p = 1, the 0-quantile is 1 too.
        probs = self._probs[:, None]
        return ((1 - q < probs) | (probs == 1)).astype(np.float64)

    def _sample(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        return (rng.random((n, len(self))) < self._probs).astype(np.int64)

    def _knots(self) -> Array:
        return np.broadcast_to([[0.0], [1.0]], (2, len(self)))


def _refuse_others(y: Array) -> None:
    valid.refuse((y != 0) & (y != 1), y, "outcomes of a Bernoulli must be 0 or 1; use Categorical for other labels")
