"""The objectives of logistic regression for a table in parts: sums over the chunks, one pass for each evaluation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from operator import add, methodcaller
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.core.parts import Chunk, Labels, LabelSurvey, Parts
from credo.linear._ascent import COLLINEAR, Optimum, newton
from credo.linear._separable import SeparationMonitor
from credo.linear._softmax import Objective, Point, Sums, contrasts

Array = NDArray[np.float64]

# Parameters up to which the curvature is stored, 200 MB.
_MOST_PARAMETERS = 5000
# The sample gives a start: it needn't be the maximum to many digits.
_SAMPLE_TOL, _SAMPLE_ITER = 1.0, 20


@dataclass(frozen=True)
class PartsObjective(Objective):
    """L(Θ) for rows in parts; X, codes and weight are a sample of them, with the weight of all rows."""

    parts: Parts = field(kw_only=True)
    labels: Labels = field(kw_only=True)
    row_count: int = field(kw_only=True)

    @property
    def mean_weight(self) -> float:
        return self.total / self.row_count

    def start(self) -> Array:
        return _start(self.labels, self)

    def evaluate(self, theta: Array, *, curvature: bool = True) -> Point:
        """The objective at Θ, in one pass over the table."""
        ask = methodcaller("evaluate", theta, curvature=curvature)
        rows = Objective(**_EMPTY, n_classes=self.n_classes, center=self.center, intercept=self.intercept)
        return self._penalized(theta, self.parts.map_reduce(partial(_asked, ask, rows, self.labels), add))

    @property
    def sample(self) -> Objective:
        """The objective of the sample alone."""
        return Objective(self.X, self.codes, self.weight, self.n_classes, self.center, self.penalty, self.intercept)


# What a chunk has in place of its own rows, and of penalties, which are added once for all chunks.
_EMPTY: dict[str, Any] = {"X": np.empty((0, 0)), "codes": np.empty(0, np.intp), "weight": np.empty(0), "penalty": 0.0}


def _asked(ask: Callable[[Objective], Point], empty: Objective, labels: Labels, chunk: Chunk) -> Sums:
    """What a chunk adds: the sums of the objective of its rows."""
    rows, codes, weight = labels.read(chunk)
    found = ask(replace(empty, X=rows, codes=codes, weight=weight))
    return Sums(found.log_likelihood, found.gradient, found.curvature, found.min_margin)


def _start(labels: Labels, objective: Objective) -> Array:
    """No weights, and the intercepts at the log frequencies of the classes."""
    theta = np.zeros(objective.shape)
    if objective.intercept:
        level = np.log(labels.totals / labels.totals.sum())
        theta[:, -1] = level[1] - level[0] if len(level) == 2 else level @ objective.contrasts
    return theta


def _sample(labels: Labels, found: LabelSurvey) -> tuple[Array, NDArray[np.intp], Array]:
    """The sample, with the weight of all rows."""
    rows, codes, weight = labels.read_sample(found.sample)
    return rows, codes, weight * (labels.totals.sum() / weight.sum())


def objective_in_parts(
    parts: Parts,
    found: LabelSurvey,
    labels: Labels,
    *,
    penalty: float,
    intercept: bool,
    center_of: Callable[[Array], Array],
) -> PartsObjective:
    """The objective of the parts that were surveyed."""
    X, codes, weight = _sample(labels, found)
    n_classes = len(labels.classes)
    n_parameters = contrasts(n_classes).shape[1] * (X.shape[1] + intercept)
    if n_parameters > _MOST_PARAMETERS:
        raise ValueError(
            f"{n_parameters} parameters are too many for a table in parts, whose curvature is stored: at most "
            f"{_MOST_PARAMETERS}. Use fewer columns, or a sample of the rows that fits into memory"
        )
    center = center_of(X) if intercept else np.zeros(X.shape[1])
    return PartsObjective(
        X,
        codes,
        weight,
        n_classes,
        center,
        penalty,
        intercept,
        parts=parts,
        labels=labels,
        row_count=found.sample.n_rows,
    )


def start_of_sample(sample: Objective, start: Array) -> Array:
    """The maximum for a sample from this start; the start itself, where the sample has none or lacks a class."""
    if np.unique(sample.codes).size < sample.n_classes:
        return start
    near = newton(sample, start=start, tol=_SAMPLE_TOL, max_iter=_SAMPLE_ITER)
    found = near.converged and not near.failure and near.point.min_margin <= 0
    return near.point.theta if found else start


def maximize_in_parts(objective: PartsObjective, *, tol: float, max_iter: int) -> Optimum:
    """The maximum by Newton's method, started at that of the sample."""
    start = start_of_sample(objective.sample, objective.start())
    monitor = SeparationMonitor(exact=False) if objective.penalty == 0 else None
    end = newton(objective, start=start, tol=tol, max_iter=max_iter, monitor=monitor)
    if end.failure == COLLINEAR:
        raise ValueError(
            "the columns are collinear, so the maximum isn't unique: drop columns that repeat others or are constant, "
            "or set alpha to a number above 0"
        )
    return end
