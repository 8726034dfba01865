"""How a model does on new rows with known outcomes: coverage, calibration, a test for repeated looks, and shift."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn.base import is_classifier

from credo.core.frames import Table
from credo.core.wording import fixed, number, percent, plural
from credo.distributions import RightCensored
from credo.metrics import forecast, log_score
from credo.metrics.anytime import log_e_value, log_e_value_of_events
from credo.metrics.calibration import ALARM, class_calibration, interval_probability
from credo.selection import HeldOut
from credo.study.facts import Predicted, calibration_sentence, reliability_sentence
from credo.tables import Levels, Numbers, Shift, TableModel
from credo.tables.columns import as_frame, column_named, present_mask, words
from credo.tables.target import part_target

Vector = NDArray[np.float64]

# Levels of at least this many rows are audited.
MIN_LEVEL_ROWS = 50


@dataclass(frozen=True)
class Level:
    """The audited rows of one level of a column, or all of them.

    `hits` is the share of outcomes inside their 95 % interval, or of correct labels. `expected` is its expectation if
    the model is right, and it is between `low` and `high` with probability 99 %. `bias` is the mean of actual minus
    predicted values, or of two classes the share of the second less its mean probability. `p` tests both together.
    """

    name: str
    rows: int
    hits: float
    expected: float
    low: float
    high: float
    bias: float
    p: float
    differs: bool = False


@dataclass(frozen=True, eq=False)
class Audit:
    """A model's predictions compared with the outcomes of new rows.

    Attributes
    ----------
    target : str
    n_rows : int
    score : float
        RMSE, or the log loss of classes.
    overall : Level
        Coverage (for classes, accuracy) and bias of all rows.
    calibration : str
        What a test of the whole distributions, or of the class probabilities, shows.
    log_e : float
        The log of the e-value against calibration. With probability 99 % it stays below ln 100 for a calibrated model,
        however often it is looked at; those of other rows may be added.
    levels : sequence of Level
        The same as `overall` for each level of at least 50 rows. `differs` marks those that chance doesn't explain, by
        Holm's method at 1 %.
    shift : Shift or None
        How the rows differ from the training rows; None if rows are in time order.
    notes : sequence of str

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import credo
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"dose": rng.normal(size=400)})
    >>> frame["growth"] = 2 * frame["dose"] + rng.normal(size=400)
    >>> study = credo.analyze(frame[:200], "growth", models=["linear"], progress=False)
    >>> found = credo.audit(study.model, frame[200:])
    >>> found.overall.hits, found.is_alarm, found.shift.differences
    (0.95, False, ())
    """

    target: str
    n_rows: int
    is_of_classes: bool
    score: float
    overall: Level
    calibration: str
    log_e: float
    levels: Sequence[Level]
    shift: Shift | None
    notes: Sequence[str]

    def __str__(self) -> str:
        return "\n".join(f"{title:<12}{text}" for title, text in self.lines()) + f"\n\n{self.table}" * bool(self.levels)

    def lines(self) -> list[tuple[str, str]]:
        """A title and a text for each line."""
        one = self.overall
        title = "accuracy" if self.is_of_classes else "coverage"
        right = "predicted correctly" if self.is_of_classes else "inside their 95 % interval"
        verdict = "" if one.low <= one.hits <= one.high else ", too few" if one.hits < one.low else ", more than stated"
        by_chance = f"{percent(one.low)} to {percent(one.high)} if the model is right"
        error = f"log loss {number(self.score)}" if self.is_of_classes else f"RMSE {number(self.score)}"
        bias = "" if np.isnan(one.bias) else f", bias {self._bias(one)} ({self._what_bias})"
        return [
            ("rows", f"{plural(self.n_rows, 'row')} with {self.target}"),
            (title, f"{percent(one.hits)} are {right} ({by_chance}){verdict}"),
            ("error", error + bias),
            ("calibration", self.calibration),
            (
                "evidence",
                f"e-value {self.e_value} against calibration{', an alarm' * self.is_alarm} (alarm: 100 or more)",
            ),
            ("shift", self._shift),
        ]

    @property
    def is_alarm(self) -> bool:
        """Whether the e-value is 100 or more."""
        return bool(self.log_e >= -np.log(ALARM))

    @property
    def e_value(self) -> str:
        """The e-value as text, with an exponent if it is large."""
        return number(float(np.exp(self.log_e)), digits=2) if self.log_e < 600 else "above 10²⁰⁰"

    @cached_property
    def table(self) -> Table:
        """The levels, those that chance doesn't explain first."""
        order = sorted(self.levels, key=lambda one: (not one.differs, one.p))
        what = "accuracy" if self.is_of_classes else "coverage"
        columns: dict[str, list[Any]] = {
            "level": [one.name for one in order],
            "rows": [one.rows for one in order],
            what: [percent(one.hits) for one in order],
            "if right": [f"{percent(one.low)} to {percent(one.high)}" for one in order],
            "bias": [None if np.isnan(one.bias) else self._bias(one) for one in order],
            "differs": ["yes" if one.differs else "" for one in order],
        }
        none = "" if any(one.differs for one in order) else "Chance explains the differences between levels."
        return Table(f"Levels of {MIN_LEVEL_ROWS} rows or more", columns, (none,) * bool(none))

    def record(self) -> dict[str, Any]:
        """The audit in JSON types."""
        shift = self.shift
        return {
            "target": self.target, "rows": self.n_rows,
            "task": "classification" if self.is_of_classes else "regression",
            "log_loss" if self.is_of_classes else "rmse": self.score, "overall": vars(self.overall),
            "calibration": self.calibration, "log_e_value": self.log_e, "alarm": self.is_alarm,
            "levels": [vars(one) for one in self.levels],
            "shift": None if shift is None else {"p": shift.p, "differences": [vars(one) for one in shift.differences]},
            "notes": list(self.notes),
        }  # fmt: skip

    def _bias(self, one: Level) -> str:
        if self.is_of_classes:
            return f"{fixed(100 * one.bias, decimals=1)} percentage points"
        # To one digit more than the error.
        return number(round(one.bias, 3 - math.floor(math.log10(self.score))) if self.score > 0 else one.bias)

    @property
    def _what_bias(self) -> str:
        return "observed share minus probability" if self.is_of_classes else "actual minus predicted"

    @property
    def _shift(self) -> str:
        found = self.shift
        if found is None:
            return "not tested, because the training rows are in time order"
        if not found.differences:
            return f"none found in {plural(found.n_columns, 'column')}"
        return "; ".join(str(one) for one in found.differences)


def audit(model: Any, data: Any) -> Audit:
    """Compare a model's predictions with the outcomes of new rows: coverage, calibration and shift.

    If the model knows units with several rows, such as patients, the first row of each is audited.

    Parameters
    ----------
    model : TableModel
        Such as `study.model` or `credo.load("model.credo")`.
    data : data frame with the columns of the training table, the target included
        New rows: those that the model was fitted to are predicted better than others.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from credo.study import analyze, audit
    >>> rng = np.random.default_rng(1)
    >>> frame = pd.DataFrame({"dose": rng.normal(size=300), "site": np.repeat(["Ulm", "Bonn"], 150)})
    >>> frame["growth"] = frame["dose"] + rng.normal(size=300)
    >>> model = analyze(frame[::2], "growth", models=["linear"], progress=False).model
    >>> new = frame[1::2].assign(growth=lambda rows: rows["growth"] + 3 * (rows["site"] == "Ulm"))
    >>> [(one.name, one.differs) for one in audit(model, new).levels]
    [('site = Bonn', False), ('site = Ulm', True)]
    """
    if not isinstance(model, TableModel) or model.target is None:
        raise ValueError("an audit needs a model of tables with a target, as `credo fit` and `study.save` write it")
    table, classes = as_frame(data).reset_index(drop=True), is_classifier(model)
    name = column_named(table, model.target, what="target")
    known = table[present_mask(table[name])]
    rows, y = part_target(known, name, classes=model.classes_ if classes else None)
    left_out = ((len(table) - len(known), "missing"), (len(known) - len(rows), "no class that the model knows"))
    notes = [f"Left out {plural(n, 'row')} whose {name!r} is {why}." for n, why in left_out if n]
    if not len(rows):
        raise ValueError(f"no row has a {name!r} to compare predictions with")
    rows, y = rows.reset_index(drop=True), np.asarray(y)
    single = model.one_of_each(rows)
    if len(single) < len(rows):
        of = f"one row of each {model.groups.column if model.groups else ''}, whose rows are alike"
        notes.append(f"Audited: {plural(len(single), 'row')}, {of}.")
        y, rows = y[single.index], single.reset_index(drop=True)
    dist = model.predict_dist(rows)
    if model.event is not None:
        dist = RightCensored(dist, np.where(model.event.observed(rows), np.inf, y))
    measured = _Classes(y, dist) if classes else _Numbers(Predicted(HeldOut(y, dist)))
    levels = [measured.level(title, places) for title, places in _levels(model, rows)]
    # Holm's method.
    order = sorted(range(len(levels)), key=lambda i: levels[i].p)
    for rank, i in enumerate(order):
        if levels[i].p * (len(levels) - rank) >= ALARM:
            break
        levels[i] = replace(levels[i], differs=True)
    return Audit(
        name, len(rows), classes, measured.score, measured.level("all rows", np.arange(len(rows))),
        measured.calibration, measured.log_e, levels, model.preparation_.shift(rows, units=model.n_units), notes,
    )  # fmt: skip


def _levels(model: TableModel, rows: Any) -> Iterator[tuple[str, NDArray[np.intp]]]:
    """The levels of the columns in use, and of missing cells, with their rows."""
    for encoder in model.preparation_.encoders_:
        column = rows[encoder.name]
        present = present_mask(column)
        if isinstance(encoder, Levels) or (isinstance(encoder, Numbers) and encoder.words is not None):
            found = words(column, present)
            labels, counts = np.unique(found[present].astype(str), return_counts=True)
            for label in labels[counts >= MIN_LEVEL_ROWS].tolist():
                yield f"{encoder.name} = {label}", np.flatnonzero(found == label)
        if (~present).sum() >= MIN_LEVEL_ROWS:
            yield f"{encoder.name} missing", np.flatnonzero(~present)


@dataclass(frozen=True)
class _Numbers:
    """Outcomes that are numbers."""

    held: Predicted

    @property
    def score(self) -> float:
        return self.held.rmse

    @property
    def calibration(self) -> str:
        return calibration_sentence(self.held.uniformity)

    @property
    def log_e(self) -> float:
        return log_e_value(self.held.pit)

    def level(self, name: str, rows: NDArray[np.intp]) -> Level:
        held, n = self.held, len(rows)
        stated = np.full(n, interval_probability(held.held.dist[rows]))
        # Uniform numbers have the variance 1/12.
        z = (held.pit[rows].mean() - 0.5) * np.sqrt(12 * n)
        off = float((held.y - held.mean)[rows].mean())
        return _level(name, held.inside[rows], stated, off, float(2 * ndtr(-abs(z))))


@dataclass(frozen=True)
class _Classes:
    """Outcomes that are classes."""

    y: NDArray[Any]
    dist: Any

    @property
    def score(self) -> float:
        return -log_score(self.y, self.dist)

    @property
    def calibration(self) -> str:
        return reliability_sentence(class_calibration(self.y, self.dist))

    @cached_property
    def found(self) -> Any:
        return forecast(self.y, self.dist)

    @property
    def log_e(self) -> float:
        return log_e_value_of_events(*self.found.event)

    def level(self, name: str, rows: NDArray[np.intp]) -> Level:
        right, stated = (self.found.predicted == self.found.codes)[rows], self.found.table.max(axis=1)[rows]
        probability, happened = (part[rows] for part in self.found.event)
        two = len(self.found.classes) == 2
        off = float(np.mean(happened - probability)) if two else np.nan
        return _level(name, right, stated, off, tail(happened, probability)[0])


def _level(name: str, hits: NDArray[np.bool_], stated: Vector, bias: float, p: float) -> Level:
    own, low, high = tail(hits, stated)
    n = len(hits)
    return Level(
        name, n, float(hits.mean()), float(stated.mean()), low / n, high / n, bias, min(1.0, 2.0 * min(own, p))
    )


def tail(happened: NDArray[np.bool_], probability: Vector) -> tuple[float, int, int]:
    """The two-sided p-value of the number of events, and its central 99 % range.

    Independent events with probabilities pᵢ have a Poisson-binomial number, whose probabilities are the coefficients of
    Π (1 − pᵢ + pᵢ t): the polynomials are multiplied two by two.

    >>> p, low, high = tail(np.arange(10) < 9, np.full(10, 0.5))
    >>> round(p, 4), low, high
    (0.0215, 1, 9)
    """
    n = len(probability)
    terms = np.zeros((2 ** int(np.ceil(np.log2(max(n, 1)))), 2))
    terms[:, 0] = 1.0
    terms[:n] = np.column_stack([1 - probability, probability])
    while len(terms) > 1:
        width = 2 * terms.shape[1]
        left, right = (np.fft.rfft(part, width, axis=1) for part in (terms[::2], terms[1::2]))
        terms = np.maximum(np.fft.irfft(left * right, width, axis=1), 0.0)
    below = np.cumsum(terms[0, : n + 1])
    above = np.cumsum(terms[0, n::-1])[::-1]
    k = int(happened.sum())
    low, high = (int(np.searchsorted(below, q)) for q in (ALARM / 2, 1 - ALARM / 2))
    return float(min(1.0, 2 * min(below[k], above[k]))), low, min(high, n)
