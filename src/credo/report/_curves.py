"""What a model predicts along one column, the others as they are in a typical row."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.io.extras import pandas
from credo.io.preparation.scale import is_sparse
from credo.metrics import final_step
from credo.plots import shorten
from credo.report._numbers import datum

Vector = NDArray[np.float64]
# What a model says at the rows of a table: something with a mean and an interval.
Ask = Callable[[Any, Any], Any]

# A column of up to so many values is shown value by value; of a category, so many of its levels.
_FEW = 8
_POINTS = 80
# The part of a column's values that is drawn: a few far-off rows would squeeze the rest.
_RANGE = (0.005, 0.995)
# The most numbers that a typical row is sought in.
_MAX_CELLS = 10**7
# Draws of the function by which two places are compared, where a model gives them: of the interval's ends of 2.5 %
# on each side these are known to a quarter of a per cent.
_DRAWS = 4000


@dataclass(frozen=True)
class Curve:
    """The function, or the probability of a class, along one column, with its 95 % band, noise left out.

    `ticks` are the names of the places where the column has few values, and None where it is measured. `level` says
    whether the difference between its highest and its lowest place has a 95 % interval that holds zero, and is None
    where the model doesn't say how places vary together.
    """

    name: str
    label: str
    x: Vector
    dist: Any
    ticks: list[str] | None = None
    level: bool | None = None

    @property
    def mean(self) -> Vector:
        return np.asarray(self.dist.mean)

    @property
    def lower(self) -> Vector:
        return np.asarray(self.dist.interval(0.95)[0])

    @property
    def upper(self) -> Vector:
        return np.asarray(self.dist.interval(0.95)[1])


@dataclass(frozen=True)
class Shares:
    """The probability of one class at some rows, with its 95 % interval; of a model that gives none a line alone."""

    mean: Vector
    lower: Vector
    upper: Vector

    def __len__(self) -> int:
        return len(self.mean)

    def interval(self, level: float) -> tuple[Vector, Vector]:
        """The interval, which is of 95 % whatever is asked."""
        return self.lower, self.upper


@dataclass(frozen=True)
class Line:
    """A model of one measured column: predictions with noise and without it along the axis, and where the rows lie."""

    label: str
    x: Vector
    dist: Any
    latent: Any
    data: Vector
    level: bool | None = None


def typical(model: Any, frame: Any) -> int | None:
    """The row nearest to the medians of all prepared columns, or None where the table is too large to look."""
    X = model.preparation_.transform(frame)
    if X.shape[0] * X.shape[1] > _MAX_CELLS:
        return None
    X = X.toarray() if is_sparse(X) else np.asarray(X, dtype=np.float64)
    spread = X.std(axis=0)
    with np.errstate(over="ignore"):
        gap = (X - np.median(X, axis=0)) / np.where(spread > 0, spread, 1.0)
        return int(np.argmin(np.einsum("ij,ij->i", gap, gap)))


def latent(model: Any, frame: Any) -> Any:
    """The distribution of the function itself at the rows of a table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inner, rows = _last_step(model, frame)
        return inner.predict_dist(rows, latent=True)


def probability(model: Any, frame: Any, *, place: int) -> Shares:
    """The probability of one of the classes at the rows of a table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inner, rows = _last_step(model, frame)
        mean = np.asarray(inner.predict_proba(rows))[:, place]
        if not hasattr(inner, "proba_interval"):
            return Shares(mean, mean, mean)
        lower, upper = inner.proba_interval(rows, 0.95)
        return Shares(mean, lower[:, place], upper[:, place])


def _last_step(model: Any, frame: Any) -> tuple[Any, Any]:
    """The estimator at the end, and the rows as they reach it, in the order of the prepared columns."""
    rows, steps = model.preparation_.transform(frame), model.estimator_
    if final_step(steps) is not steps:
        rows = steps[:-1].transform(rows)
    inner = final_step(steps)
    if is_sparse(rows) and not inner.__sklearn_tags__().input_tags.sparse:
        rows = rows.toarray()
    return inner, rows


def curves(model: Any, frame: Any, row: int, columns: Sequence[str], *, ask: Ask = latent) -> list[Curve]:
    """The curve of each of these columns around one row; those of text, and those that can't be asked, have none."""
    kinds = {column.name: column.kind for column in model.preparation_.columns_}
    found = [_curve(model, frame, row, column, ask) for column in columns if kinds.get(column) != "text"]
    return [curve for curve in found if curve is not None]


def line(model: Any, frame: Any, column: str) -> Line | None:
    """The model along the only column that it reads; None where that isn't measured."""
    places = _places(model, frame, column)
    if places is None or places.ticks is not None:
        return None
    _, data = _axis(model, frame, column)
    table = _around(frame, 0, column, places)
    try:
        dist, inner = model.predict_dist(table), latent(model, table)
    except ValueError:
        return None
    if not (_is_finite(dist) and _is_finite(inner)):
        return None
    return Line(places.label, places.x, dist, inner, data, _is_level(model, table, inner))


@dataclass(frozen=True)
class _Places:
    """Where a column is asked: its cells, where they stand on an axis, and their names if they are few."""

    cells: Any
    label: str
    x: Vector
    ticks: list[str] | None = None


def _curve(model: Any, frame: Any, row: int, column: str, ask: Ask) -> Curve | None:
    places = _places(model, frame, column)
    if places is None:
        return None
    table = _around(frame, row, column, places)
    try:
        dist = ask(model, table)
    # Without degrees of freedom there is no band, and the model says so in its own words.
    except ValueError:
        return None
    if not _is_finite(dist):
        return None
    return Curve(column, places.label, places.x, dist, places.ticks, _is_level(model, table, dist))


def _is_level(model: Any, table: Any, dist: Any) -> bool | None:
    """Whether the highest and the lowest place of a curve may be of one height; None where the model doesn't say.

    All places share what isn't known of the function's height, so that a band around each of them is wider than what
    isn't known of their difference.
    """
    ends = [int(np.argmin(dist.mean)), int(np.argmax(dist.mean))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inner, rows = _last_step(model, table.iloc[ends])
        if hasattr(inner, "sample_functions"):
            return _draws_are_level(np.asarray(inner.sample_functions(rows, _DRAWS, random_state=0)))
        try:
            _, cov = inner.predict(rows, return_cov=True)
        # A classifier has no covariances, and a regression that has none says so.
        except (TypeError, ValueError):
            return None
    # Noise stands on the diagonal of cov alone, and the variances of the function itself are known.
    variance = np.asarray(dist.var)[ends].sum() - 2 * cov[0, 1]
    lower, upper = (np.asarray(end)[ends] for end in dist.interval(0.95))
    half = float(np.mean((upper - lower) / (2 * np.asarray(dist.std)[ends]))) * np.sqrt(max(variance, 0.0))
    return bool(dist.mean[ends[1]] - dist.mean[ends[0]] <= half) if np.isfinite(half) else None


def _draws_are_level(draws: Vector) -> bool | None:
    """The same of draws at the two places, as log odds where there are two classes; more classes have several each."""
    if draws.shape != (_DRAWS, 2):
        return None
    low, high = np.quantile(draws[:, 1] - draws[:, 0], (0.025, 0.975))
    return bool(low <= 0 <= high)


def _around(frame: Any, row: int, column: str, places: _Places) -> Any:
    """A table of one row over and over, with the column at each of its places."""
    table = frame.iloc[[row] * len(places.x)].reset_index(drop=True)
    table[column] = places.cells
    return table


def _places(model: Any, frame: Any, column: str) -> _Places | None:
    values = frame[column].dropna()
    counts = values.value_counts()
    if len(counts) < 2:
        return None
    kind = next(known.kind for known in model.preparation_.columns_ if known.name == column)
    if len(counts) <= _FEW or kind == "categorical":
        levels = _levels(counts, kind)
        ticks = [datum(float(p)) if isinstance(p, int | float | np.number) else shorten(p, width=12) for p in levels]
        cells = pandas().Series(levels, dtype=frame[column].dtype)
        return _Places(cells, column, np.arange(len(levels), dtype=np.float64), ticks)
    if pandas().api.types.is_numeric_dtype(values):
        low, high = np.quantile(values.to_numpy(dtype=np.float64), _RANGE).tolist()
        x = np.linspace(low, high, _POINTS)
        return _Places(x, column, x)
    cells = _spaced(model, frame, column)
    label, x = _axis(model, frame.iloc[: len(cells)].assign(**{column: cells.array}), column)
    return _Places(cells, label, x)


def _is_finite(dist: Any) -> bool:
    """Whether mean and interval can be drawn; without residual degrees of freedom they can't."""
    return bool(np.isfinite([dist.mean, *dist.interval(0.95)]).all())


def _levels(counts: Any, kind: str) -> list[Any]:
    """The values of a column that has few: numbers in their order, levels by their frequency."""
    # Equal counts in the order of first appearance: the same page for the same table.
    levels = counts.sort_values(ascending=False, kind="stable").index[:_FEW].tolist()
    return levels if kind == "categorical" else sorted(levels)


def _spaced(model: Any, frame: Any, column: str) -> Any:
    """Cells of a column that isn't of plain numbers (dates, numbers with a unit), evenly spread over its values."""
    _, x = _axis(model, frame, column)
    known = np.flatnonzero(frame[column].notna().to_numpy())
    order = known[np.argsort(x[known], kind="stable")]
    order = order[np.unique(x[order], return_index=True)[1]]
    picked = order[np.unique(np.linspace(0, len(order) - 1, _POINTS).round().astype(int))]
    return frame[column].iloc[picked].reset_index(drop=True)


def _axis(model: Any, frame: Any, column: str) -> tuple[str, Vector]:
    """A prepared column's name and values, before any scaling."""
    preparation = model.preparation_
    start = 0
    for encoder in preparation.encoders_:
        if encoder.name == column:
            break
        start += len(encoder.names())
    X = preparation.transform(frame)
    values = np.asarray(X[:, [start]].toarray() if is_sparse(X) else X[:, [start]], dtype=np.float64)[:, 0]
    if preparation.standardize:
        values = values * preparation.scale_[start] + preparation.center_[start]
    return str(preparation.get_feature_names_out()[start]), values
