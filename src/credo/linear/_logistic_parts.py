"""The logistic objective of a table in parts: a sum over the chunks, one pass over the table for each evaluation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.estimator import is_sparse, labelled_rows, require_squares
from credo.linear._ascent import COLLINEAR, Optimum, newton
from credo.linear._separable import SeparationMonitor
from credo.linear._softmax import Objective, Point, Sums, contrasts
from credo.scale import Chunk, Parts, RowSample

Array = NDArray[np.float64]

# Parameters up to which the curvature is stored, 200 MB.
_MOST_PARAMETERS = 5000
# The sample gives a start: it needn't be the maximum to many digits.
_SAMPLE_TOL, _SAMPLE_ITER = 1.0, 20


@dataclass(frozen=True)
class Survey:
    """What must be known of the rows before the first step: the weight of each label, and a sample."""

    totals: dict[Any, float]
    dtype: Any
    n_rows: int
    sample: RowSample
    names: tuple[str, ...] | None

    def merge(self, other: Survey) -> Survey:
        text = {isinstance(label, str) for label in (*self.totals, *other.totals)}
        if len(text) > 1:
            raise ValueError("the labels in y are text in some parts and numbers in others: make them all of one type")
        labels = self.totals.keys() | other.totals.keys()
        return Survey(
            {label: self.totals.get(label, 0.0) + other.totals.get(label, 0.0) for label in labels},
            np.result_type(self.dtype, other.dtype),
            self.n_rows + other.n_rows,
            self.sample.merge(other.sample),
            self.names if other.names is None else other.names,
        )

    @property
    def classes(self) -> NDArray[Any]:
        return np.array(sorted(self.totals), dtype=self.dtype)


def survey(parts: Parts) -> Survey:
    """The survey of all rows, in one pass."""
    found: Survey = parts.map_reduce(_surveyed, Survey.merge)
    return found


def _surveyed(chunk: Chunk) -> Survey:
    rows, labels, weight, names = labelled_rows("LogisticRegression", chunk.X, chunk.y, chunk.weight)
    require_squares(rows, weight)
    weight = np.ones(len(labels)) if weight is None else weight
    found, codes = np.unique(labels, return_inverse=True)
    totals = dict(zip(found.tolist(), np.bincount(codes.ravel(), weight).tolist(), strict=True))
    keep = np.arange(len(labels))
    if is_sparse(rows):
        # Only rows that may be in the sample are made dense.
        keep = np.sort(np.random.default_rng(chunk.number).permutation(len(labels))[:1000])
        rows = rows[keep].toarray()
    plain = names == [f"x{i}" for i in range(len(names))]
    sample = RowSample.of(rows, labels[keep], weight[keep], number=chunk.number)
    return Survey(totals, labels.dtype, len(labels), sample, None if plain else tuple(names))


@dataclass(frozen=True)
class PartsObjective(Objective):
    """L(Θ) for rows in parts; X, codes and weight are a sample of them, with the weight of all rows.

    `factors` multiplies the weights of each class, and `totals` is its weight with this factor.
    """

    parts: Parts = field(kw_only=True)
    classes: NDArray[Any] = field(kw_only=True)
    factors: Array = field(kw_only=True)
    totals: Array = field(kw_only=True)
    row_count: int = field(kw_only=True)

    @property
    def mean_weight(self) -> float:
        return self.total / self.row_count

    def start(self) -> Array:
        theta = np.zeros(self.shape)
        if self.intercept:
            level = np.log(self.totals / self.totals.sum())
            theta[:, -1] = level[1] - level[0] if self.n_classes == 2 else level @ self.contrasts
        return theta

    def evaluate(self, theta: Array, *, curvature: bool = True) -> Point:
        """The objective at Θ, in one pass over the table."""
        sums = partial(
            _sums,
            theta=theta,
            curvature=curvature,
            classes=self.classes,
            factors=self.factors,
            center=self.center,
            intercept=self.intercept,
        )
        return self._penalized(theta, self.parts.map_reduce(sums, add))

    @property
    def sample(self) -> Objective:
        """The objective of the sample alone."""
        return Objective(self.X, self.codes, self.weight, self.n_classes, self.center, self.penalty, self.intercept)


def _sums(
    chunk: Chunk,
    *,
    theta: Array,
    curvature: bool,
    classes: NDArray[Any],
    factors: Array,
    center: Array,
    intercept: bool,
) -> Sums:
    """What a chunk adds to the objective."""
    rows, labels, weight, _ = labelled_rows("LogisticRegression", chunk.X, chunk.y, chunk.weight)
    known = np.isin(labels, classes)
    codes = np.searchsorted(classes, labels[known])
    weight = factors[codes] if weight is None else weight[known] * factors[codes]
    rows = rows if known.all() else rows[known]
    part = Objective(rows, codes, weight, len(classes), center, 0.0, intercept).evaluate(theta, curvature=curvature)
    return Sums(part.log_likelihood, part.gradient, part.curvature, part.min_margin)


def objective_in_parts(
    parts: Parts,
    found: Survey,
    class_factors: Callable[[NDArray[Any], Array], Array],
    *,
    penalty: float,
    intercept: bool,
    center_of: Callable[[Array], Array],
) -> PartsObjective:
    """The objective of the parts that were surveyed."""
    classes = found.classes
    totals = np.array([found.totals[label] for label in classes.tolist()])
    factors = class_factors(classes, totals)
    classes, totals, factors = classes[factors > 0], (totals * factors)[factors > 0], factors[factors > 0]
    if len(classes) < 2:
        every = f"every label is {classes.tolist()[0]!r}" if len(classes) else "no row has any weight"
        raise ValueError(f"LogisticRegression needs at least two classes, but {every} (1 class)")
    labels, weight = found.sample.extra
    known = np.isin(labels, classes)
    X, codes = found.sample.rows[known], np.searchsorted(classes, labels[known])
    weight = np.asarray(weight[known], dtype=np.float64) * factors[codes]
    n_parameters = contrasts(len(classes)).shape[1] * (X.shape[1] + intercept)
    if n_parameters > _MOST_PARAMETERS:
        raise ValueError(
            f"{n_parameters} parameters are too many for a table in parts, whose curvature is stored: at most "
            f"{_MOST_PARAMETERS}. Use fewer columns, or a sample of the rows that fits into memory"
        )
    return PartsObjective(
        X,
        codes,
        weight * (totals.sum() / weight.sum()),
        len(classes),
        center_of(X) if intercept else np.zeros(X.shape[1]),
        penalty,
        intercept,
        parts=parts,
        classes=classes,
        factors=factors,
        totals=totals,
        row_count=found.n_rows,
    )


def maximize_in_parts(objective: PartsObjective, *, tol: float, max_iter: int) -> Optimum:
    """The maximum by Newton's method, started at that of the sample."""
    start, sample = objective.start(), objective.sample
    if np.unique(objective.codes).size == objective.n_classes:
        near = newton(sample, start=start, tol=_SAMPLE_TOL, max_iter=_SAMPLE_ITER)
        if near.converged and not near.failure and near.point.min_margin <= 0:
            start = near.point.theta
    monitor = SeparationMonitor(exact=False) if objective.penalty == 0 else None
    end = newton(objective, start=start, tol=tol, max_iter=max_iter, monitor=monitor)
    if end.failure == COLLINEAR:
        raise ValueError(
            "the columns are collinear, so the maximum isn't unique: drop columns that repeat others or are constant, "
            "or set alpha to a number above 0"
        )
    return end
