"""Curves along one column: what a model predicts, on average over rows, or a term of an additive model.

In sentences and in figures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from credo import plots
from credo.core.estimator import Description, describe, is_sparse
from credo.core.wording import capital, datum, day, listing, number, percent, whole_percent
from credo.distributions import Distribution
from credo.plots import shorten
from credo.plots.class_rows import color, draw_bands, draw_levels
from credo.plots.styling import canvas, distinct, name_axis
from credo.study.report._figure import MAX_POINTS, Figure, figure, name_x
from credo.study.report._pieces import Piece, pieces, told
from credo.tables.encoders import Days, Levels
from credo.tables.errors import pandas

Vector = NDArray[np.float64]
Rows = Sequence[int] | NDArray[np.intp]

# A column of up to this many values is shown value by value; for categories with more, the most frequent ones.
_MAX_LEVELS = 8
_POINTS = 25
# The curve of a single column is evaluated at so many points as it has values, so that no cycle is missed, but at most
_MOST_POINTS = 500
# A curve takes about so many predictions, and averages at most so many rows.
_PREDICTIONS, _MAX_ROWS = 1500, 100
# The quantiles of a column between which curves are drawn, so that a few outliers don't squeeze the rest.
_RANGE = (0.005, 0.995)
_EPOCH = np.datetime64("1970-01-01", "us")
# Mean and ends before they are computed.
_UNKNOWN = (np.empty(0),) * 3


@dataclass(frozen=True)
class Curve:
    """The mean of the function, or class probabilities, over rows along one column; their mean 95 % band without noise.

    Parameters
    ----------
    name, label : the column, and the label of the axis
    x : where; days since 1970 if `dates`, numbers 0, 1, … if the column has few values, which are named by `ticks`
    mean, lower, upper : at each point; of several `classes` with a column each
    is_flat : whether the 95 % interval of the difference between highest and lowest point includes zero; if the model
        doesn't tell how points covary, whether the summary says that the input has no clear effect, or None
    together : correlated inputs that are varied along with the column, as they do on average
    n_rows : how many rows are averaged
    pieces : the straight pieces of a term of an additive model, which describe it
    partners : other inputs with which it has a joint effect besides
    outer : the ends of its simultaneous band
    predictive, data : of a model with a single input: the distribution with noise, and the input in each row
    """

    name: str
    label: str
    x: Vector
    mean: Vector
    lower: Vector
    upper: Vector
    ticks: list[str] | None = None
    is_flat: bool | None = None
    dates: bool = False
    together: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    n_rows: int = 1
    pieces: tuple[Piece, ...] = ()
    partners: tuple[str, ...] = ()
    outer: tuple[Vector, ...] = ()
    predictive: Distribution | None = None
    data: Vector | None = None

    @property
    def title(self) -> str:
        """The column, with those that are varied along with it."""
        return listing([shorten(name) for name in (self.name, *self.together)], at_most=4)


def sampled(frame: Any) -> NDArray[np.intp]:
    """The rows over which curves are averaged, at random with a fixed seed."""
    return np.random.default_rng(0).permutation(len(frame))[:_MAX_ROWS]


def curves(model: Any, frame: Any, rows: Rows, inputs: Sequence[Sequence[str]]) -> list[Curve]:
    """A curve for each input, averaged over some of these rows; correlated numbers are varied together.

    Columns of text have none, nor have those for which the model gives no finite interval.
    """
    kinds = {column.name: column.kind for column in model.preparation_.columns_}
    description, found = describe(model), list[Curve | None]()
    for members in inputs:
        drawable = [name for name in members if kinds.get(name) != "text"]
        numeric = [name for name in drawable if pandas().api.types.is_numeric_dtype(frame[name])]
        groups = [numeric] if len(numeric) > 1 else [[name] for name in drawable]
        found += [_curve(model, description, frame, rows, group) for group in groups]
    return [curve for curve in found if curve is not None]


def line(model: Any, frame: Any, column: str) -> Curve | None:
    """The curve of a model of a single column, with its noise; None if the column isn't numeric."""
    n_points = int(np.clip(frame[column].nunique(), _POINTS, _MOST_POINTS))
    try:
        curve = _curve(model, describe(model), frame, [0], [column], n_points)
        if curve is None or curve.ticks is not None or not (curve.upper > curve.lower).any():
            return None
        dist = model.predict_dist(
            _around(frame, np.zeros(1, dtype=np.intp), {column: _points(model, frame, column, n_points)[1]})
        )
    except (TypeError, ValueError):
        return None
    data = _axis(model, frame, column)[1]
    return replace(curve, predictive=dist, data=data) if np.isfinite(dist.interval(0.95)).all() else None


def _curve(
    model: Any, found: Description, frame: Any, rows: Rows, columns: Sequence[str], n_points: int = _POINTS
) -> Curve | None:
    column, *together = columns
    if frame[column].nunique() < 2:
        return None
    curve, values = _points(model, frame, column, n_points)
    cells = {column: values}
    for other in together:
        cells[other] = _along(frame[column], frame[other], np.asarray(values, dtype=np.float64))
    # Without text, whose words a row keeps, a single input has the same curve in all rows.
    n_rows = 1 if frame.shape[1] == len(columns) else max(1, _PREDICTIONS // len(curve.x))
    rows = rows[:n_rows]
    table = _around(frame, rows, cells)
    assert found.curve is not None
    band = found.curve.band(table)
    if not np.isfinite(band).all():
        return None
    mean, lower, upper = (part.reshape(len(curve.x), len(rows), *part.shape[1:]).mean(axis=1) for part in band)
    curve = replace(curve, together=tuple(together), n_rows=len(rows))
    if len(found.classes) > 2:
        return replace(curve, mean=mean, lower=lower, upper=upper, classes=tuple(map(str, found.classes)))
    # The probability of the second of two classes.
    mean, lower, upper = (part[:, 1] if part.ndim == 2 else part for part in (mean, lower, upper))
    places = np.arange(len(table)).reshape(len(curve.x), len(rows))
    ends = table.iloc[np.concatenate([places[np.argmin(mean)], places[np.argmax(mean)]])]
    between = found.curve.difference(ends)
    flat = None if between is None else bool(between[0] <= 0 <= between[1])
    return replace(curve, mean=mean, lower=lower, upper=upper, is_flat=flat)


def _along(lead: Any, other: Any, points: Vector) -> Vector:
    """The average of another column at some values of the first, by a cubic polynomial fitted to the rows."""
    both = pandas().DataFrame({"lead": lead, "other": other}).astype(np.float64).dropna().to_numpy()
    x, values = both.T
    cubic = Polynomial.fit(x, values, deg=min(3, len(np.unique(x)) - 1))
    return np.clip(cubic(points), values.min(), values.max())


def _around(frame: Any, rows: Rows, cells: Mapping[str, Any]) -> Any:
    """The rows once for each value of the cells, which replace those of some columns."""
    n_points = len(next(iter(cells.values())))
    table = frame.iloc[np.tile(rows, n_points)].reset_index(drop=True)
    places = np.repeat(np.arange(n_points), len(rows))
    for column, values in cells.items():
        table[column] = pandas().Series(values).iloc[places].reset_index(drop=True)
    return table


def _points(model: Any, frame: Any, column: str, n_points: int = _POINTS) -> tuple[Curve, Any]:
    """Where a column is evaluated: a curve without values, and the cells of the table."""
    values = frame[column].dropna()
    counts = values.value_counts()
    kind = next(known.kind for known in model.preparation_.columns_ if known.name == column)
    if kind == "categorical" or (len(counts) <= _MAX_LEVELS and kind != "date"):
        levels = _levels(model, counts, column, kind)
        named = [datum(float(p)) if isinstance(p, int | float | np.number) else str(p) for p in levels]
        ticks = distinct(named, width=_TICK_WIDTH)
        cells = pandas().Series(levels, dtype=frame[column].dtype)
        return Curve(column, column, np.arange(len(levels), dtype=np.float64), *_UNKNOWN, ticks), cells
    if pandas().api.types.is_numeric_dtype(values):
        low, high = np.quantile(values.to_numpy(dtype=np.float64), _RANGE).tolist()
        x = np.linspace(low, high, n_points)
        return Curve(column, column, x, *_UNKNOWN), x
    # Dates and numbers with a unit: rows that are evenly spread over the values.
    label, x, dates = _axis(model, frame, column)
    known = np.flatnonzero(frame[column].notna().to_numpy())
    order = known[np.argsort(x[known], kind="stable")]
    order = order[np.unique(x[order], return_index=True)[1]]
    picked = order[np.unique(np.linspace(0, len(order) - 1, n_points).round().astype(int))]
    return Curve(column, label, x[picked], *_UNKNOWN, dates=dates), frame[column].iloc[picked].reset_index(drop=True)


def _levels(model: Any, counts: Any, column: str, kind: str) -> list[Any]:
    """The values of a column that has few, or the most frequent levels, in their order."""
    # Equal counts in the order of first appearance, so that equal tables give equal pages.
    levels = counts.sort_values(ascending=False, kind="stable").index[:_MAX_LEVELS].tolist()
    if kind != "categorical":
        return sorted(levels)
    encoder = model.preparation_.encoder(column)
    order = [str(level) for level in encoder.order] if isinstance(encoder, Levels) else []
    return sorted(
        levels, key=lambda level: (order.index(str(level)) if str(level) in order else len(order), str(level))
    )


def _axis(model: Any, frame: Any, column: str) -> tuple[str, Vector, bool]:
    """Name and values of a prepared column before scaling, and whether they are days since 1970."""
    preparation, encoder = model.preparation_, model.preparation_.encoder(column)
    start = sum(len(other.names()) for other in preparation.encoders_[: preparation.encoders_.index(encoder)])
    cells = preparation.transform(frame)[:, [start]]
    values = np.asarray(cells.toarray() if is_sparse(cells) else cells, dtype=np.float64)[:, 0]
    if preparation.standardize:
        values = values * preparation.scale_[start] + preparation.center_[start]
    if not isinstance(encoder, Days) or encoder.since is not None:
        return str(preparation.get_feature_names_out()[start]), values, False
    days = (np.datetime64(encoder.origin, "us") - _EPOCH) / np.timedelta64(1, "D")
    return column, values + float(days), True


# At most this many inputs have a curve, and this many classes.
MAX_CURVES, MAX_CLASSES = 6, 8
# A curve that could be enlarged this many times has a y-axis of its own.
_ZOOM_FROM = 4.0
# A change of direction by less than this share of a curve's range doesn't count, and of more points not all are told.
_TURN, _MOST_TOLD = 0.1, 100
_SMALL_PANEL_INCHES = (3.1, 2.1)
# The most letters of a tick, unless two ticks would look alike.
_TICK_WIDTH = 18


def curve_sentence(fact: Curve, *, zoom: float = 1.0, write: Callable[[float], str] = number) -> str:
    """What a curve does, whether it has a clear effect, and whether its y-axis is zoomed.

    The effect is clear if the curve isn't flat by its `is_flat` or, if that is unknown, if no horizontal line fits into
    the band. `write` formats the values.
    """
    suffix = f" (y-axis zoomed {zoom:.0f}×)" if zoom > 1 else ""
    said = _classes(fact) if fact.classes else _shape(fact, write)
    if not fact.partners:
        return f"{said}{suffix}."
    said = said.replace("No clear effect", "No clear effect on average", 1)
    return f"{said}{suffix}; the effect depends on {listing(fact.partners, at_most=3)}."


def _classes(fact: Curve) -> str:
    """Which class is the most likely where."""
    best = fact.mean.argmax(axis=1)
    names = [shorten(name, width=24) for name in fact.classes]
    if (best == best[0]).all():
        k = int(np.ptp(fact.mean, axis=0).argmax())
        low, high = (percent(float(end)) for end in (fact.mean[:, k].min(), fact.mean[:, k].max()))
        most = f"{names[best[0]]} is the most likely class throughout"
        return most if low == high else f"{most}; the probability of {names[k]} ranges from {low} to {high}"
    if fact.ticks is not None:
        parts = [
            f"{names[k]} at {listing([fact.ticks[i] for i in np.flatnonzero(best == k)], at_most=4)}"
            for k in dict.fromkeys(best.tolist())
        ]
        return f"Most likely: {', '.join(parts)}"
    ends = np.flatnonzero(np.diff(best)).tolist()
    if len(ends) > 3:
        return f"The most likely class changes {len(ends)} times"
    parts = [f"{names[best[i]]} up to {_point(fact, i)}" for i in ends]
    return f"Most likely: {', '.join(parts)}, then {names[best[-1]]}"


def _shape(fact: Curve, write: Callable[[float], str]) -> str:
    """The rises and falls of a curve: those of a term, or as few as fit into the band of another curve."""
    mean, lower, upper = fact.mean, fact.lower, fact.upper
    if fact.pieces:
        return capital(told(fact.pieces, mean, partial(_point, fact), write))
    span, tolerance = float(np.ptp(mean)), _TURN * float(np.ptp(mean))

    def value(height: float) -> str:
        # Compared with the range of the curve, rounding errors of a zero are nothing.
        return write(height if abs(height) > 1e-4 * span else 0.0)

    low, high = int(mean.argmin()), int(mean.argmax())
    if upper.max() <= lower.min() or value(mean[low]) == value(mean[high]):
        return "No effect"
    if fact.is_flat or (fact.is_flat is None and lower.max() <= upper.min()):
        return "No clear effect"
    if fact.ticks is not None:
        lowest, highest = (f"{_point(fact, i)} ({value(float(mean[i]))})" for i in (low, high))
        return f"Lowest at {lowest}, highest at {highest}"
    thin = slice(None, None, -(-len(mean) // _MOST_TOLD))
    found = list[Piece]()
    # If its points differ clearly, a band in which a level fits shows only how uncertain their common level is.
    for ends in ((lower, upper), (mean, mean)):
        wide = np.minimum(ends[0], mean - tolerance)[thin], np.maximum(ends[1], mean + tolerance)[thin]
        found = found if any(piece.way for piece in found) else pieces(fact.x[thin], mean[thin], *wide)
    return capital(told(found, mean[thin], lambda i: _point(fact, i * (thin.step or 1)), value))


def _point(fact: Curve, i: int) -> str:
    if fact.ticks is not None:
        return fact.ticks[i]
    return day(float(fact.x[i])) if fact.dates else datum(float(fact.x[i]))


def line_figure(line: Curve, y: NDArray[np.float64], *, target: str) -> Figure:
    """A model of one input, with the data."""
    assert line.data is not None
    rows = np.sort(np.random.default_rng(0).permutation(len(y))[:MAX_POINTS])
    data = (line.data[rows], y[rows])

    def draw(ax: Any) -> None:
        plots.band(line.x, line.predictive, latent=(line.mean, line.lower, line.upper), data=data, name=target, ax=ax)
        name_x(ax, shorten(line.label), dates=line.dates)

    return figure(
        "line",
        "What does the fitted curve look like?",
        draw,
        curve_sentence(line),
        "Mean of the model fitted to all rows. Dark band: 95 % interval of the function. Light band: 95 % interval of "
        "a new observation.",
    )


def curve_figures(
    curves: list[Curve],
    *,
    scale: tuple[float, float] | None = None,
    max_zoom: float = np.inf,
    write: Callable[[float], str] = number,
    classes: Sequence[int] = (),
) -> list[Figure]:
    """A small figure for each curve on one y-axis; those that would look flat are zoomed, up to `max_zoom`.

    `scale` are the limits of that axis, by default the range of all curves. `write` formats values; `classes` are the
    indices of the classes that are drawn, if there are several.
    """
    if scale is None:
        scale = _limits(min(curve.lower.min() for curve in curves), max(curve.upper.max() for curve in curves))
    figures = []
    for i, curve in enumerate(curves):
        own = _limits(curve.lower.min(), curve.upper.max())
        zoom = (scale[1] - scale[0]) / (own[1] - own[0]) if own[1] > own[0] else 1.0
        limits, zoom = (own, zoom) if _ZOOM_FROM <= zoom <= max_zoom else (scale, 1.0)
        draw = partial(_draw_curve, curve=curve, limits=limits, classes=classes)
        said = curve_sentence(curve, zoom=zoom, write=write)
        figures.append(figure(f"curve-{i}", curve.title, draw, said, "", size=_SMALL_PANEL_INCHES))
    return figures


def _limits(low: float, high: float) -> tuple[float, float]:
    margin = 0.04 * (high - low)
    return float(low - margin), float(high + margin)


def _draw_curve(ax: Any, *, curve: Curve, limits: tuple[float, float], classes: Sequence[int]) -> None:
    parts = [(curve.mean, curve.lower, curve.upper)]
    if curve.classes:
        parts = [(curve.mean[:, k], curve.lower[:, k], curve.upper[:, k]) for k in classes]
    paints = [color(k) for k in range(len(parts))]
    with canvas(ax) as ax:
        if curve.ticks is None:
            draw_bands(ax, curve.x, [(*part, *curve.outer) for part in parts], paints)
            is_named = curve.label != curve.name or curve.together
            name_x(ax, shorten(curve.label) if is_named else "", dates=curve.dates)
        else:
            draw_levels(ax, curve.ticks, parts, paints)
        ax.set(ylim=limits)
        name_axis(ax.yaxis, "")


MAX_TERMS = 2 * MAX_CURVES


@dataclass(frozen=True)
class Terms:
    """The curves of an additive model, and which model it is.

    `weight` is its weight if it has the largest in the selected average, otherwise 0. `pairs` are the needed pairs of
    columns with their shares of the explained variance, `idle` the terms that aren't needed, `paired` those of them
    whose columns are needed in a pair. The curves are those of the mean of the target if `of_mean`, else its median.
    """

    model: str
    weight: float
    curves: list[Curve]
    pairs: list[str]
    idle: list[str]
    n_left: int = 0
    paired: tuple[str, ...] = ()
    of_mean: bool = False

    def caption(self, best: str, *, what: str) -> str:
        """What the figures show, and of which model."""
        whose = ""
        if self.weight:
            whose = f", which has the largest weight ({percent(round(self.weight, 2))}) in {best}"
        elif self.model != best:
            whose = f", which is statistically tied with {best}"
        said = [
            f"The curves of {self.model} (fitted to all rows){whose}: {what} along one input, with its other terms at "
            "their average. Dark band: 95 % interval at each point. Light band: 95 % interval of the whole curve; the "
            "sentences tell the fewest rises and falls that fit into it. All figures share one y-axis unless stated "
            "otherwise; the largest share of the explained variance comes first."
        ]
        if self.n_left:
            said.append(f"{self.n_left} with smaller shares are not shown.")
        if self.pairs:
            said.append(f"What two inputs add together is not shown: {listing(self.pairs, at_most=6)}.")
        if self.paired:
            said.append(f"Needed only in pairs: {listing(self.paired, at_most=8)}.")
        if self.idle:
            said.append(
                f"Not needed beside the others in {self.model}, by its evidence: {listing(self.idle, at_most=8)}."
            )
        return " ".join([*said, "Associations, not causes."])


def terms(best: str, tied: Sequence[str], models: Mapping[str, Any]) -> Terms | None:
    """Those of the selected model, of the model with the largest weight in it, or of one that is tied with it.

    None if none of these is an additive model of a single function with curves that are needed.
    """
    members = dict(describe(models[best]).members) if best in models else {}
    largest = max(members, key=lambda name: members[name], default="")
    for name in dict.fromkeys([best, largest, *tied]):
        found = describe(models[name]).terms if name in models else ()
        ordered = sorted((term for term in found if term.response is not None), key=lambda term: -term.share)
        needed = [term for term in ordered if term.is_needed]
        alone = [term for term in needed if len(term.points) == 1]
        together = [term for term in needed if len(term.points) > 1]
        if alone:
            partners = _partners(models[name], together)
            idle = [term for term in ordered if not term.is_needed]
            paired = [len(term.points) == 1 and next(iter(term.points)) in partners for term in idle]
            return Terms(
                name,
                members[name] if name == largest else 0.0,
                [
                    replace(_term_curve(models[name], term), partners=partners.get(next(iter(term.points)), ()))
                    for term in alone[:MAX_TERMS]
                ],
                [f"{shorten(term.words)} ({whole_percent(max(term.share, 0.0))})" for term in together],
                [shorten(term.words) for term, is_paired in zip(idle, paired, strict=True) if not is_paired],
                max(0, len(alone) - MAX_TERMS),
                tuple(shorten(term.words) for term, is_paired in zip(idle, paired, strict=True) if is_paired),
                of_mean="of the mean" in alone[0].unit,
            )
    return None


def _partners(model: Any, pairs: Sequence[Any]) -> dict[str, tuple[str, ...]]:
    """The columns of the table with which each prepared column, or group of them, is in a pair."""
    origins, found = model.preparation_.origins(), dict[str, tuple[str, ...]]()
    for pair in pairs:
        for name in pair.points:
            others = [shorten(origins[other]) for other in pair.points if other != name]
            found[name] = tuple(dict.fromkeys([*found.get(name, ()), *others]))
    return found


def _term_curve(model: Any, term: Any) -> Curve:
    """A term in units of the target."""
    ((name, values),) = term.points.items()
    ends, band = term.interval(), term.band()
    mean, lower, upper = (term.response(part) for part in (term.mean, *ends))
    outer = tuple(term.response(part) for part in band)
    if term.is_of_levels:
        ticks = [datum(value) if isinstance(value, float) else shorten(value, width=12) for value in values.tolist()]
        flat = _levels_agree(term, band)
        return Curve(name, name, np.arange(len(mean), dtype=np.float64), mean, lower, upper, ticks, flat)
    days = {one.names()[0]: one for one in model.preparation_.encoders_ if isinstance(one, Days) and one.value}
    x, encoder = np.asarray(values, dtype=np.float64), days.get(name)
    if encoder is not None:
        x = (encoder.dates(x) - _EPOCH) / np.timedelta64(1, "D")
    own = pieces(x, term.mean, *band)
    label = name if encoder is None else encoder.name
    title = f"{label} (cycle)" if term.kind == "cycle" else label
    return Curve(title, title, x, mean, lower, upper, dates=encoder is not None, pieces=tuple(own), outer=outer)


def _levels_agree(term: Any, band: Any) -> bool:
    """Whether the levels may all have the same effect: by the difference of two, or the band of more."""
    if len(term.mean) != 2:
        return bool(band[0].max() <= band[1].min())
    way = np.array([-1.0, 1.0])
    z = float((term.interval()[1] - term.mean).max() / max(term.std.max(), 1e-300))
    return bool(abs(way @ term.mean) <= z * np.sqrt(max(way @ term.covariance @ way, 0.0)))
