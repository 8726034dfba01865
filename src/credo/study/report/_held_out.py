"""Held-out predictions of numbers: facts, sentences and figures."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from credo import plots
from credo.core.wording import about, capital, count, number, p_value, plural, whole_percent
from credo.metrics.calibration import ALARM, MIN_CALIBRATION_ROWS, Coverage
from credo.metrics.sensitivity import MIN_TREND_ROWS, ResidualTrend, residual_trend
from credo.plots import shorten
from credo.plots.styling import MUTED
from credo.study.ahead import Ahead
from credo.study.facts import Folds, Numbers, Predicted, bias_words, calibration_sentence
from credo.study.report._figure import MAX_POINTS, Figure, figure, name_x
from credo.tables import time_column

Vector = NDArray[np.float64]

# How many rows the figure over time shows.
_MAX_TIMES = 1000


def agreement_sentence(r2: float | None, fact: Coverage, *, target: str, reference: str = "") -> str:
    """What the figure of predicted and actual values shows."""
    missed = fact.n - fact.inside
    bars = (
        f"{count(missed) if missed else 'None'} of {plural(fact.n, 'interval')} "
        f"{'misses' if missed == 1 else 'miss'} the actual value; about {about((1 - fact.expected) * fact.n)} should."
    )
    if r2 is None:
        return bars
    if reference:
        # The mean of earlier rows, for example, may be far from the later ones.
        ahead = f"{whole_percent(r2)} below" if r2 > 0 else "not below"
        return f"The squared error of the predictions is {ahead} that of {reference}. {bars}"
    share = whole_percent(r2) if r2 > 0 else "none"
    return f"The predictions explain {share} of the variance of {target} in held-out rows. {bars}"


def residual_sentence(y: Vector, mean: Vector, std: Vector | float = 1.0, *, useful: bool) -> str:
    """What the figure of the residuals shows."""
    size = np.abs(y - mean)
    half = f"Half of the errors are below {number(float(np.median(size)))}; the largest is {number(float(size.max()))}."
    signs = residual_signs(y, mean, std, useful=useful)
    if signs is None:
        what = plural(len(y), "row") if len(y) < MIN_TREND_ROWS else "The distinct predictions"
        return f"{what} are too few to show a pattern. {half}"
    signs = signs or ["no clear trend: the residuals change with the prediction by no more than chance explains"]
    return f"{'. '.join(map(capital, signs))}. {half}"


def residual_signs(y: Vector, mean: Vector, std: Vector | float = 1.0, *, useful: bool) -> list[str] | None:
    """The patterns in the residuals for which there is evidence, in the groups of rows of the figure; None if too few.

    The mean of the training folds is low where that of the held-out fold is high, so a model that predicts next to
    nothing (not `useful`) shows a falling trend without being wrong; then trends are left out.
    """
    residual = y - mean
    size = np.abs(residual)
    trend = residual_trend(mean, residual)
    if trend is None:
        return None
    signs = _mean_signs(trend, useful=useful)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = size / std
    if np.isfinite(relative).all() and np.ptp(relative) > 0:
        rho, p = spearmanr(relative, mean)
        if p < ALARM:
            test = f"Spearman ρ = {number(float(rho), digits=2)}, {p_value(float(p))}"
            signs.append(
                f"errors {'grow' if rho > 0 else 'shrink'} with the prediction more than the intervals do ({test})"
            )
    return signs


def worst_sentence(found: Numbers) -> str:
    """The fault of the predictions that the coverage doesn't show: a bias or else a pattern of the residuals."""
    held, shape = found.held, found.held.uniformity
    said = bias_words(shape)
    if not said and shape.n >= MIN_CALIBRATION_ROWS and not (shape.is_flat or shape.too_wide or shape.too_narrow):
        points = number(100 * shape.distance, digits=2)
        said = f"predicted and observed probabilities differ by up to {points} percentage points"
    if not said:
        said = next(iter(residual_signs(held.y, held.mean, held.std, useful=found.is_useful) or []), "")
    return f"Largest fault: {said}." if said else ""


def _mean_signs(trend: ResidualTrend, *, useful: bool) -> list[str]:
    """Where the drawn mean of the residuals is clearly not zero: at both ends, along the line, or somewhere."""
    p, (first, last) = trend.p, trend.mean[[0, -1]].tolist()
    low, high = (number(abs(end), digits=2) for end in (first, last))
    clear = p[0] < ALARM / 2, p[-1] < ALARM / 2
    if all(clear) and first * last > 0:
        ends = f"at both ends the actual values are {'above' if first > 0 else 'below'} the predictions"
        return [f"{ends}, by {low} and {high} on average: the model misses some curvature"]
    slope, p_slope = trend.slope
    if useful and p_slope < ALARM and first * last < 0 and (last > first) == (slope > 0):
        way, verdict = ("rises", "too close to the mean") if slope > 0 else ("falls", "too extreme")
        ends = f"from {number(first, digits=2)} to {number(last, digits=2)}"
        return [f"the mean residual {way} with the prediction, {ends}: predictions are {verdict}"]
    if useful and any(clear):
        where, end, by = ("lowest", first, low) if clear[0] else ("highest", last, high)
        return [f"the {where} predictions are too {'low' if end > 0 else 'high'}, by {by} on average"]
    worst = int(np.argmin(p))
    if useful and p[worst] < ALARM / len(p):
        near, by = (number(float(part[worst])) for part in (trend.prediction, np.abs(trend.mean)))
        return [f"predictions near {near} are too {'low' if trend.mean[worst] > 0 else 'high'}, by {by} on average"]
    return []


def held_out_figures(found: Numbers, *, target: str, in_order: bool = False) -> list[Figure]:
    """Predicted versus actual, calibration and residuals of the selected model."""
    held = found.held
    n = len(held.y)
    some = f" {count(MAX_POINTS)} of {count(n)} rows are drawn." if n > MAX_POINTS else ""
    shape = held.uniformity
    options: dict[str, Any] = {"name": target, "max_points": MAX_POINTS}
    return [
        figure(
            "agreement",
            "How close are the predictions?",
            lambda ax: plots.predicted_vs_actual(held.y, held.mean, interval=held.interval, ax=ax, **options),
            agreement_sentence(found.r2, held.coverage, target=shorten(target), reference=found.reference),
            f"Held-out predictions with 95 % intervals; exact predictions lie on the diagonal.{some}",
        ),
        figure(
            "calibration",
            "Are the intervals calibrated?",
            lambda ax: plots.calibration(held.pit, bins=len(shape.bars.counts), level=1 - ALARM, ax=ax),
            calibration_sentence(shape),
            "Flat: calibrated. U-shaped: overconfident. Hump: underconfident. Slope: biased. With a calibrated model, "
            "all bars stay between the dashed lines in 99 % of cases.",
        ),
        figure(
            "residuals",
            "Do the residuals show a pattern?",
            lambda ax: plots.residuals(held.y, held.mean, ax=ax, **options),
            residual_sentence(held.y, held.mean, held.std, useful=found.is_useful),
            f"Residuals of a good model scatter evenly around zero.{some}",
        ),
    ]


def time_figure(held: Predicted, frame: Any, *, folds: Folds, target: str) -> list[Figure]:
    """Predicted and actual values in time order, if the table has one."""
    found = time_column(frame)
    if found is None or found.repeated:
        return []
    dates = found.dates(found.values)
    days = found.values if dates is None else (dates - np.datetime64("1970-01-01")) / np.timedelta64(1, "D")
    rows = held.held.rows
    every = np.argsort(days[rows], kind="stable")
    order = every[-_MAX_TIMES:]
    blocks = _blocks(days, rows, folds)
    squares = (held.y - held.mean) ** 2
    early, late = (float(np.sqrt(np.mean(squares[part]))) for part in np.array_split(every, 2))
    some = f" The last {count(_MAX_TIMES)} rows are drawn." if len(rows) > _MAX_TIMES else ""

    def draw(ax: Any) -> None:
        at, ends = days[rows[order]], tuple(part[order] for part in (held.mean, *held.interval))
        plots.band(at, ends, data=(at, held.y[order]), name=target, ax=ax)
        for start in blocks:
            ax.axvline(start, color=MUTED, linewidth=0.8, dashes=(4, 2.5), zorder=0)
        name_x(ax, "", dates=dates is not None)

    made = figure(
        "time",
        "How good are the predictions over time?",
        draw,
        f"RMSE is {number(early)} in the earlier half of the held-out rows and {number(late)} in the later half. "
        f"{count(held.coverage.inside)} of {count(held.coverage.n)} rows are inside the 95 % band.",
        f"Held-out predictions (line and band) and actual values (dots) by {shorten(found.name)}. "
        f"{folds.of_each_row}{some}",
        size=(9.6, 3.0),
    )  # fmt: skip
    return [made]


def ahead_figure(ahead: Ahead | None, *, target: str) -> list[Figure]:
    """The forecast after the last row, behind the last values."""
    if ahead is None or ahead.table is None:
        return []
    known, future = ahead.known, ahead.at
    table = ahead.table

    def draw(ax: Any) -> None:
        ends = tuple(table[name].to_numpy() for name in ("mean", "lower", "upper"))
        plots.band(future, ends, data=(known, ahead.values), name=target, ax=ax)
        name_x(ax, "", dates=ahead.dated)

    return [
        figure(
            "ahead",
            "What comes next?",
            draw,
            ahead.sentence,
            f"Forecast of the model fitted to all rows (line, with 95 % band) after the last {count(len(known))} "
            "values (dots).",
            size=(9.6, 3.0),
        )
    ]


def _blocks(days: NDArray[np.float64], rows: NDArray[np.intp], folds: Folds) -> list[float]:
    """Where each held-out block begins, if each was predicted from the rows before it."""
    if not folds.in_order:
        return []
    parts = np.array_split(rows[np.argsort(days[rows], kind="stable")], folds.n_parts)
    return [float(days[part[0]]) for part in parts if len(part)]
