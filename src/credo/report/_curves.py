"""What a model predicts along one column, with the others as in a typical row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from credo.io.extras import pandas
from credo.metrics import final_step
from credo.plots import shorten
from credo.report._inputs import MAX_CELLS, dense, named_rows
from credo.report._numbers import datum, listing

Vector = NDArray[np.float64]
# What a model predicts at the rows of a table: something with a mean and an interval.
Predict = Callable[[Any, Any], Any]

# A column of up to this many values is shown value by value; of more levels of a category, the most frequent.
_FEW = 8
_POINTS = 80
# The quantiles of a column between which curves are drawn, so that a few outliers don't squeeze the rest.
_RANGE = (0.005, 0.995)
# Draws of the function with which two points are compared: they give the 2.5 % quantile to a quarter of a per cent.
_DRAWS = 4000
_EPOCH = np.datetime64("1970-01-01", "us")


@dataclass(frozen=True)
class Curve:
    """The function, or class probabilities, along one column, with a 95 % band without noise.

    Parameters
    ----------
    name, label : the column, and the label of the axis
    x : where; days since 1970 if `dates`, numbers 0, 1, … if the column has few values, which are named by `ticks`
    dist : mean and interval at each point; of several `classes` the mean has a column each
    is_flat : whether the 95 % interval of the difference between highest and lowest point includes zero; if the model
        doesn't tell how points covary, whether the summary says that the input has no clear effect, or None
    together : correlated inputs that are varied along with the column, as they do on average
    predictive, data : of a model with a single input: the distribution with noise, and the input in each row
    """

    name: str
    label: str
    x: Vector
    dist: Any
    ticks: list[str] | None = None
    is_flat: bool | None = None
    dates: bool = False
    together: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    predictive: Any = None
    data: Vector | None = None

    @property
    def mean(self) -> Vector:
        return np.asarray(self.dist.mean)

    @property
    def lower(self) -> Vector:
        return np.asarray(self.dist.interval(0.95)[0])

    @property
    def upper(self) -> Vector:
        return np.asarray(self.dist.interval(0.95)[1])

    @property
    def title(self) -> str:
        """The column, with those that are varied along with it."""
        return listing([shorten(name) for name in (self.name, *self.together)], at_most=4)


@dataclass(frozen=True)
class Shares:
    """Class probabilities with 95 % intervals, which have no width if the model doesn't give them."""

    mean: Vector
    lower: Vector
    upper: Vector

    def __len__(self) -> int:
        return len(self.mean)

    def interval(self, level: float) -> tuple[Vector, Vector]:
        """The 95 % interval, whatever the level."""
        return self.lower, self.upper


def typical(model: Any, frame: Any) -> int | None:
    """The row nearest to the medians of all prepared columns; None if the table is too large."""
    X = model.preparation_.transform(frame)
    if X.shape[0] * X.shape[1] > MAX_CELLS:
        return None
    X = dense(X)
    spread = X.std(axis=0)
    with np.errstate(over="ignore"):
        gap = (X - np.median(X, axis=0)) / np.where(spread > 0, spread, 1.0)
        return int(np.argmin(np.einsum("ij,ij->i", gap, gap)))


def latent(model: Any, frame: Any) -> Any:
    """The distribution of the function, without noise, at the rows of a table."""
    inner, rows = _last_step(model, frame)
    return inner.predict_dist(rows, latent=True)


def probability(model: Any, frame: Any) -> Shares:
    """The probability of the second of two classes, or of each of more, at the rows of a table."""
    inner, rows = _last_step(model, frame)
    mean = np.asarray(inner.predict_proba(rows))
    lower, upper = inner.proba_interval(rows, 0.95) if hasattr(inner, "proba_interval") else (mean, mean)
    ends = (mean, np.asarray(lower), np.asarray(upper))
    return Shares(*(end[:, 1] for end in ends)) if mean.shape[1] == 2 else Shares(*ends)


def _last_step(model: Any, frame: Any) -> tuple[Any, Any]:
    """The last step of a pipeline, and its input."""
    rows, steps = named_rows(model, frame), model.estimator_
    inner = final_step(steps)
    return inner, rows if inner is steps else steps[:-1].transform(rows)


def curves(
    model: Any, frame: Any, row: int, inputs: Sequence[Sequence[str]], *, predict: Predict = latent
) -> list[Curve]:  # fmt: skip
    """A curve for each input around one row; correlated numbers are varied together.

    Columns of text have none, nor have those for which the model gives no finite interval.
    """
    kinds = {column.name: column.kind for column in model.preparation_.columns_}
    found: list[Curve | None] = []
    for members in inputs:
        drawable = [name for name in members if kinds.get(name) != "text"]
        numeric = [name for name in drawable if pandas().api.types.is_numeric_dtype(frame[name])]
        groups = [numeric] if len(numeric) > 1 else [[name] for name in drawable]
        found += [_curve(model, frame, row, group, predict) for group in groups]
    return [curve for curve in found if curve is not None]


def line(model: Any, frame: Any, column: str) -> Curve | None:
    """The curve of a model of a single column, with its noise; None if the column isn't numeric."""
    try:
        curve = _curve(model, frame, 0, [column], latent)
        if curve is None or curve.ticks is not None:
            return None
        dist = model.predict_dist(_around(frame, 0, {column: _points(model, frame, column)[1]}))
    except (TypeError, ValueError):
        return None
    data = _axis(model, frame, column)[1]
    return replace(curve, predictive=dist, data=data) if _is_finite(dist) else None


def _curve(model: Any, frame: Any, row: int, columns: Sequence[str], predict: Predict) -> Curve | None:
    column, *together = columns
    if frame[column].nunique() < 2:
        return None
    curve, values = _points(model, frame, column)
    cells = {column: values}
    for other in together:
        cells[other] = _along(frame[column], frame[other], np.asarray(values, dtype=np.float64))
    table = _around(frame, row, cells)
    try:
        dist = predict(model, table)
    except ValueError:  # no residual degrees of freedom
        return None
    if not _is_finite(dist):
        return None
    several = np.ndim(dist.mean) == 2
    return replace(
        curve,
        dist=dist,
        is_flat=None if several else _is_flat(model, table, dist),
        together=tuple(together),
        classes=tuple(str(label) for label in model.classes_.tolist()) if several else (),
    )


def _along(lead: Any, other: Any, points: Vector) -> Vector:
    """The average of another column at some values of the first, by a cubic polynomial fitted to the rows."""
    both = pandas().DataFrame({"lead": lead, "other": other}).astype(np.float64).dropna().to_numpy()
    x, values = both.T
    cubic = Polynomial.fit(x, values, deg=min(3, len(np.unique(x)) - 1))
    return np.clip(cubic(points), values.min(), values.max())


def _is_flat(model: Any, table: Any, dist: Any) -> bool | None:
    """Whether highest and lowest point of a curve may be equal; None if the model doesn't tell.

    All points share the uncertainty of the function's level, so a band around each of them is wider than the
    uncertainty of their difference.
    """
    ends = [int(np.argmin(dist.mean)), int(np.argmax(dist.mean))]
    inner, rows = _last_step(model, table.iloc[ends])
    if hasattr(inner, "sample_functions"):
        draws = np.asarray(inner.sample_functions(rows, _DRAWS, random_state=0))
        if draws.shape != (_DRAWS, 2):
            return None
        low, high = np.quantile(draws[:, 1] - draws[:, 0], (0.025, 0.975))
        return bool(low <= 0 <= high)
    try:
        _, cov = inner.predict(rows, return_cov=True)
    except (TypeError, ValueError):  # a classifier, or a regression without covariances
        return None
    # Noise is on the diagonal of cov only, and the variances of the function are known.
    variance = np.asarray(dist.var)[ends].sum() - 2 * cov[0, 1]
    lower, upper = (np.asarray(end)[ends] for end in dist.interval(0.95))
    half = float(np.mean((upper - lower) / (2 * np.asarray(dist.std)[ends]))) * np.sqrt(max(variance, 0.0))
    return bool(dist.mean[ends[1]] - dist.mean[ends[0]] <= half) if np.isfinite(half) else None


def _is_finite(dist: Any) -> bool:
    return bool(np.isfinite([dist.mean, *dist.interval(0.95)]).all())


def _around(frame: Any, row: int, cells: Mapping[str, Any]) -> Any:
    """A table that repeats one row, with the cells of some columns replaced."""
    n_points = len(next(iter(cells.values())))
    table = frame.iloc[[row] * n_points].reset_index(drop=True)
    for column, values in cells.items():
        table[column] = values
    return table


def _points(model: Any, frame: Any, column: str) -> tuple[Curve, Any]:
    """Where a column is evaluated: a curve without values, and the cells of the table."""
    values = frame[column].dropna()
    counts = values.value_counts()
    kind = next(known.kind for known in model.preparation_.columns_ if known.name == column)
    if kind == "categorical" or (len(counts) <= _FEW and kind != "date"):
        levels = _levels(model, counts, column, kind)
        ticks = [datum(float(p)) if isinstance(p, int | float | np.number) else shorten(p, width=12) for p in levels]
        cells = pandas().Series(levels, dtype=frame[column].dtype)
        return Curve(column, column, np.arange(len(levels), dtype=np.float64), None, ticks), cells
    if pandas().api.types.is_numeric_dtype(values):
        low, high = np.quantile(values.to_numpy(dtype=np.float64), _RANGE).tolist()
        x = np.linspace(low, high, _POINTS)
        return Curve(column, column, x, None), x
    # Dates and numbers with a unit: rows that are evenly spread over the values.
    label, x, dates = _axis(model, frame, column)
    known = np.flatnonzero(frame[column].notna().to_numpy())
    order = known[np.argsort(x[known], kind="stable")]
    order = order[np.unique(x[order], return_index=True)[1]]
    picked = order[np.unique(np.linspace(0, len(order) - 1, _POINTS).round().astype(int))]
    return Curve(column, label, x[picked], None, dates=dates), frame[column].iloc[picked].reset_index(drop=True)


def _levels(model: Any, counts: Any, column: str, kind: str) -> list[Any]:
    """The values of a column that has few, or the most frequent levels, in their order."""
    # Equal counts in the order of first appearance, so that equal tables give equal pages.
    levels = counts.sort_values(ascending=False, kind="stable").index[:_FEW].tolist()
    if kind != "categorical":
        return sorted(levels)
    order = [str(level) for level in getattr(model.preparation_.encoder(column), "order", ())]
    return sorted(
        levels, key=lambda level: (order.index(str(level)) if str(level) in order else len(order), str(level))
    )


def _axis(model: Any, frame: Any, column: str) -> tuple[str, Vector, bool]:
    """Name and values of a prepared column before scaling, and whether they are days since 1970."""
    preparation, encoder = model.preparation_, model.preparation_.encoder(column)
    start = sum(len(other.names()) for other in preparation.encoders_[: preparation.encoders_.index(encoder)])
    values = dense(preparation.transform(frame)[:, [start]])[:, 0]
    if preparation.standardize:
        values = values * preparation.scale_[start] + preparation.center_[start]
    origin = getattr(encoder, "origin", None)
    if origin is None:
        return str(preparation.get_feature_names_out()[start]), values, False
    days = (np.datetime64(origin, "us") - _EPOCH) / np.timedelta64(1, "D")
    return column, values + float(days), True
