"""Bootstrap samples as counts of the rows, the fit of one member to such a sample, and its out-of-bag predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from credo.deadlines import TimeUp, until
from credo.ensemble._base import class_probabilities
from credo.ensemble._members import Attempt, attempt
from credo.metrics import NoDistribution, point, predictive
from credo.seeds import reseeded

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# How often a sample that has a single class is drawn again.
_DRAWS = 100
# The most rows of a bootstrap sample.
_LARGEST = 2e7


@dataclass(frozen=True)
class Resampling:
    """The probability of each row in a bootstrap sample, which is proportional to its weight, and the sample's size."""

    share: Array
    size: int

    @classmethod
    def of(cls, n_rows: int, weight: Array | None) -> Resampling:
        """Samples have as many rows as the table, counted by weight."""
        weight = np.ones(n_rows) if weight is None else weight
        total = float(weight.sum())
        if total > _LARGEST:
            raise ValueError(
                f"the weights sum to {total:.3g}, and a bootstrap sample would have as many rows: rescale the "
                "weights so that they sum to the number of observations"
            )
        return cls(weight / total, max(n_rows, round(total)))

    def counts(self, rng: np.random.Generator) -> Indices:
        """How often each row is drawn."""
        return rng.multinomial(self.size, self.share)


@dataclass
class Bag:
    """A member, the rows that it wasn't fitted to, and what it predicts for them.

    `predicted` are means or class probabilities; `std` and `log_prob` are None for classes and for members that predict
    numbers only.
    """

    attempt: Attempt
    rows: Indices
    predicted: Array
    std: Array | None = None
    log_prob: Array | None = None


def fit_bag(
    name: str,
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    resampling: Resampling,
    rng: np.random.Generator,
    classes: NDArray[Any] | None,
    deadline: float | None,
) -> Bag | None:
    """Fit a clone to a bootstrap sample and predict the other rows; None if the deadline has passed."""
    with until(deadline):
        try:
            counts = resampling.counts(rng)
            for _ in range(_DRAWS if classes is not None else 0):
                if len(np.unique(y[counts > 0])) > 1:
                    break
                counts = resampling.counts(rng)
            # So that members differ also where their samples don't.
            model = reseeded(clone(estimator), rng)
            done = _fitted(name, model, X, y, counts)
            out = np.flatnonzero(counts == 0)
            if done.error is None:
                try:
                    return _predicted(done, X, y, out, classes)
                # A member that can't predict is of no more use than one that can't be fitted.
                except Exception as error:
                    done = Attempt(name, error=error)
            return Bag(done, out, np.empty(0))
        except TimeUp:
            return None


def _fitted(name: str, model: Any, X: Any, y: NDArray[Any], counts: Indices) -> Attempt:
    """Fit to the rows drawn, with their counts as weights; the steps of a pipeline would not all get weights."""
    rows = np.flatnonzero(counts)
    weight = None
    if has_fit_parameter(model, "sample_weight") and not isinstance(model, Pipeline):
        weight = counts[rows].astype(np.float64)
    else:
        rows = np.repeat(rows, counts[rows])
    return attempt(name, model, _safe_indexing(X, rows), y[rows], weight)


def _predicted(done: Attempt, X: Any, y: NDArray[Any], out: Indices, classes: NDArray[Any] | None) -> Bag:
    # Without any row left out, the first shows whether the member can predict.
    rows = out if len(out) else np.zeros(1, dtype=np.intp)
    part = _safe_indexing(X, rows)
    n = len(out)
    if classes is not None:
        return Bag(done, out, _finite(class_probabilities(done.model, part, classes))[:n])
    try:
        dist = predictive(done.model, part)
    except NoDistribution:
        return Bag(done, out, _finite(np.asarray(done.model.predict(part), dtype=np.float64))[:n])
    return Bag(done, out, point(dist)[:n], np.asarray(dist.std)[:n], dist.log_prob(y[rows])[:n])


def _finite(predicted: Array) -> Array:
    if not np.isfinite(predicted).all():
        raise ValueError("its predictions are not finite")
    return predicted
