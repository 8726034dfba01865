"""What a model predicts along one column, the others as they are in a typical row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from credo.io.extras import pandas
from credo.io.preparation.scale import is_sparse
from credo.metrics import final_step
from credo.plots import shorten
from credo.report._inputs import MAX_CELLS, named_rows
from credo.report._numbers import datum, listing

Vector = NDArray[np.float64]
# What a model says at the rows of a table: something with a mean and an interval.
Ask = Callable[[Any, Any], Any]

# A column of up to so many values is shown value by value; of a category, so many of its levels.
_FEW = 8
_POINTS = 80
# The part of a column's values that is drawn: a few far-off rows would squeeze the rest.
_RANGE = (0.005, 0.995)
# Draws of the function by which two places are compared, where a model gives them: of the interval's ends of 2.5 %
# on each side these are known to a quarter of a per cent.
_DRAWS = 4000
_EPOCH = np.datetime64("1970-01-01", "us")


@dataclass(frozen=True)
class Curve:
    """The function, or the probabilities of classes, along one column, with a 95 % band, noise left out.

    `ticks` are the names of the places where the column has few values, and None where it is measured; of `dates`, x
    counts days since 1970. `level` says whether the difference between the highest and the lowest place has a 95 %
    interval that holds zero, and is None where the model doesn't say how places vary together. `together` are inputs
    that move with the column, as they do on average. Of several `classes` the mean has a column each.
    """

    name: str
    label: str
    x: Vector
    dist: Any
    ticks: list[str] | None = None
    level: bool | None = None
    dates: bool = False
    together: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()

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
        """The column, with those that move along."""
        return listing([shorten(name) for name in (self.name, *self.together)], at_most=4)


@dataclass(frozen=True)
class Shares:
    """Probabilities of one class, or of all, at some rows, with 95 % intervals; without them, lines alone."""

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
    dates: bool = False


def typical(model: Any, frame: Any) -> int | None:
    """The row nearest to the medians of all prepared columns, or None where the table is too large to look."""
    X = model.preparation_.transform(frame)
    if X.shape[0] * X.shape[1] > MAX_CELLS:
        return None
    X = X.toarray() if is_sparse(X) else np.asarray(X, dtype=np.float64)
    spread = X.std(axis=0)
    with np.errstate(over="ignore"):
        gap = (X - np.median(X, axis=0)) / np.where(spread > 0, spread, 1.0)
        return int(np.argmin(np.einsum("ij,ij->i", gap, gap)))


def latent(model: Any, frame: Any) -> Any:
    """The distribution of the function itself at the rows of a table."""
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
    """The estimator at the end, and the rows as they reach it."""
    rows, steps = named_rows(model, frame), model.estimator_
    inner = final_step(steps)
    return inner, rows if inner is steps else steps[:-1].transform(rows)


def curves(model: Any, frame: Any, row: int, inputs: Sequence[Sequence[str]], *, ask: Ask = latent) -> list[Curve]:
    """The curve of each input around one row; those that go together move together.

    Columns of text, and those for which the model has no answer, have none.
    """
    kinds = {column.name: column.kind for column in model.preparation_.columns_}
    found: list[Curve | None] = []
    for members in inputs:
        drawable = [name for name in members if kinds.get(name) != "text"]
        numeric = [name for name in drawable if pandas().api.types.is_numeric_dtype(frame[name])]
        if len(numeric) > 1:
            found.append(_curve(model, frame, row, numeric[0], ask, together=numeric[1:]))
        else:
            found += [_curve(model, frame, row, name, ask) for name in drawable]
    return [curve for curve in found if curve is not None]


def line(model: Any, frame: Any, column: str) -> Line | None:
    """The model along the only column that it reads; None where that isn't measured."""
    places = _places(model, frame, column)
    if places is None or places.ticks is not None:
        return None
    _, data, _ = _axis(model, frame, column)
    table = _around(frame, 0, {column: places.cells})
    try:
        dist, inner = model.predict_dist(table), latent(model, table)
    except (TypeError, ValueError):
        return None
    if not (_is_finite(dist) and _is_finite(inner)):
        return None
    return Line(places.label, places.x, dist, inner, data, _is_level(model, table, inner), places.dates)


@dataclass(frozen=True)
class _Places:
    """Where a column is asked: its cells, where they stand on an axis, and their names if they are few."""

    cells: Any
    label: str
    x: Vector
    ticks: list[str] | None = None
    dates: bool = False


def _curve(
    model: Any, frame: Any, row: int, column: str, ask: Ask, *, together: Sequence[str] = ()
) -> Curve | None:  # fmt: skip
    places = _places(model, frame, column)
    if places is None:
        return None
    cells = {column: places.cells}
    for other in together:
        cells[other] = _moved_along(frame[column], frame[other], np.asarray(places.cells, dtype=np.float64))
    table = _around(frame, row, cells)
    try:
        dist = ask(model, table)
    # Without degrees of freedom there is no band, and the model says so in its own words.
    except ValueError:
        return None
    if not _is_finite(dist):
        return None
    several = np.ndim(dist.mean) == 2
    level = None if several else _is_level(model, table, dist)
    classes = tuple(str(label) for label in model.classes_.tolist()) if several else ()
    return Curve(column, places.label, places.x, dist, places.ticks, level, places.dates, tuple(together), classes)


def _moved_along(lead: Any, other: Any, places: Vector) -> Vector:
    """The average of another column at some values of the leading one, by a cubic fitted to the rows."""
    both = pandas().DataFrame({"lead": lead, "other": other}).astype(np.float64).dropna().to_numpy()
    x, values = both.T
    cubic = Polynomial.fit(x, values, deg=min(3, len(np.unique(x)) - 1))
    return np.clip(cubic(places), values.min(), values.max())


def _is_level(model: Any, table: Any, dist: Any) -> bool | None:
    """Whether the highest and the lowest place of a curve may be of one height; None where the model doesn't say.

    All places share what isn't known of the function's height, so that a band around each of them is wider than what
    isn't known of their difference.
    """
    ends = [int(np.argmin(dist.mean)), int(np.argmax(dist.mean))]
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


def _around(frame: Any, row: int, cells: Mapping[str, Any]) -> Any:
    """A table of one row over and over, with some columns at each of their places."""
    n_places = len(next(iter(cells.values())))
    table = frame.iloc[[row] * n_places].reset_index(drop=True)
    for column, values in cells.items():
        table[column] = values
    return table


def _places(model: Any, frame: Any, column: str) -> _Places | None:
    values = frame[column].dropna()
    counts = values.value_counts()
    if len(counts) < 2:
        return None
    kind = next(known.kind for known in model.preparation_.columns_ if known.name == column)
    if kind == "categorical" or (len(counts) <= _FEW and kind != "date"):
        levels = _levels(model, counts, column, kind)
        ticks = [datum(float(p)) if isinstance(p, int | float | np.number) else shorten(p, width=12) for p in levels]
        cells = pandas().Series(levels, dtype=frame[column].dtype)
        return _Places(cells, column, np.arange(len(levels), dtype=np.float64), ticks)
    if pandas().api.types.is_numeric_dtype(values):
        low, high = np.quantile(values.to_numpy(dtype=np.float64), _RANGE).tolist()
        x = np.linspace(low, high, _POINTS)
        return _Places(x, column, x)
    cells = _spaced(model, frame, column)
    label, x, dates = _axis(model, frame.iloc[: len(cells)].assign(**{column: cells.array}), column)
    return _Places(cells, label, x, dates=dates)


def _is_finite(dist: Any) -> bool:
    """Whether mean and interval can be drawn; without residual degrees of freedom they can't."""
    return bool(np.isfinite([dist.mean, *dist.interval(0.95)]).all())


def _levels(model: Any, counts: Any, column: str, kind: str) -> list[Any]:
    """The values of a column that has few, the most frequent if there are many: in their order."""
    # Equal counts in the order of first appearance: the same page for the same table.
    levels = counts.sort_values(ascending=False, kind="stable").index[:_FEW].tolist()
    if kind != "categorical":
        return sorted(levels)
    order = [str(level) for level in getattr(_encoder(model, column), "order", ())]
    return sorted(
        levels, key=lambda level: (order.index(str(level)) if str(level) in order else len(order), str(level))
    )


def _encoder(model: Any, column: str) -> Any:
    encoders = getattr(model.preparation_, "encoders_", ())
    return next((encoder for encoder in encoders if encoder.name == column), None)


def _spaced(model: Any, frame: Any, column: str) -> Any:
    """Cells of a column that isn't of plain numbers (dates, numbers with a unit), evenly spread over its values."""
    _, x, _ = _axis(model, frame, column)
    known = np.flatnonzero(frame[column].notna().to_numpy())
    order = known[np.argsort(x[known], kind="stable")]
    order = order[np.unique(x[order], return_index=True)[1]]
    picked = order[np.unique(np.linspace(0, len(order) - 1, _POINTS).round().astype(int))]
    return frame[column].iloc[picked].reset_index(drop=True)


def _axis(model: Any, frame: Any, column: str) -> tuple[str, Vector, bool]:
    """A prepared column's name and values before any scaling, and whether they are dates, in days since 1970."""
    preparation, encoder = model.preparation_, _encoder(model, column)
    start = sum(len(other.names()) for other in preparation.encoders_[: preparation.encoders_.index(encoder)])
    X = preparation.transform(frame)
    values = np.asarray(X[:, [start]].toarray() if is_sparse(X) else X[:, [start]], dtype=np.float64)[:, 0]
    if preparation.standardize:
        values = values * preparation.scale_[start] + preparation.center_[start]
    origin = getattr(encoder, "origin", None)
    if origin is None:
        return str(preparation.get_feature_names_out()[start]), values, False
    days = (np.datetime64(origin, "us") - _EPOCH) / np.timedelta64(1, "D")
    return column, values + float(days), True
