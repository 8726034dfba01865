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
from credo.estimator import is_sparse, numeric
from credo.metrics import NoDistribution, point, predictive
from credo.seeds import reseeded

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# How often a sample that has a single class is drawn again.
_DRAWS = 100
# The most rows of a bootstrap sample.
_LARGEST = 2e7
# A row isn't out of bag if a copy of it was drawn. With more copies than this on average, hardly any would be left:
# rows of a table of few levels are then taken for different ones.
MOST_COPIES = 5


@dataclass(frozen=True)
class Resampling:
    """What samples are drawn from: the cumulative weights of the rows, in an order that the rows themselves define.

    A sample is a set of points on the line of cumulative weights. Copies of a row are neighbours there and take as much
    of the line as one row of their total weight: so k copies and a weight of k give the same sample, and the order of
    the rows in the table doesn't matter. `group` numbers the distinct rows, target included.
    """

    order: Indices
    ends: Array
    size: int
    # Equal for copies of a row.
    group: Indices

    @classmethod
    def of(cls, X: Any, codes: NDArray[Any], weight: Array | None) -> Resampling:
        """Samples have as many rows as the table, counted by weight."""
        places, n = row_places(X), len(codes)
        order = group = np.arange(n)
        if places is not None:
            order = np.lexsort((codes, places))
            first = np.append(True, (np.diff(places[order]) != 0) | (np.diff(codes[order]) != 0))
            if n <= MOST_COPIES * first.sum():
                group = np.empty(n, dtype=np.intp)
                group[order] = np.cumsum(first) - 1
        ends = np.cumsum((np.ones(n) if weight is None else weight)[order])
        if ends[-1] > _LARGEST:
            raise ValueError(
                f"the weights sum to {ends[-1]:.3g}, and a bootstrap sample would have as many rows: rescale the "
                "weights so that they sum to the number of observations"
            )
        return cls(order, ends, max(n, round(float(ends[-1]))), group)

    def counts(self, rng: np.random.Generator) -> Indices:
        """How often each row is drawn."""
        points = rng.random(self.size) * self.ends[-1]
        places = np.minimum(np.searchsorted(self.ends, points, side="right"), len(self.order) - 1)
        counts = np.zeros(len(self.order), dtype=np.intp)
        counts[self.order] = np.bincount(places, minlength=len(self.order))
        return counts

    def left_out(self, counts: Indices) -> Indices:
        """The rows of which neither they nor a copy were drawn."""
        return np.flatnonzero(np.bincount(self.group, counts)[self.group] == 0)


def row_places(X: Any) -> Array | None:
    """A number for each row, equal for equal rows and otherwise different; None where columns aren't numbers.

    It is a fixed linear function of the row, so that an order by it doesn't depend on that of the table.
    """
    try:
        rows = numeric(X)
        if np.iscomplexobj(rows):
            return None
        rows = rows if is_sparse(rows) else np.asarray(rows, dtype=np.float64)
        direction = np.random.default_rng(0).normal(size=rows.shape[1])
        with np.errstate(all="ignore"):
            # Not by BLAS, whose sums may differ in the last digit between equal rows.
            places = rows @ direction if is_sparse(rows) else np.einsum("ij,j->i", rows, direction)
    except (ValueError, TypeError, IndexError):
        return None
    return np.asarray(places).ravel()


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
            out = resampling.left_out(counts)
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
    """Counts are weights where a weight of k is k copies; the steps of a pipeline would not all get them."""
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
