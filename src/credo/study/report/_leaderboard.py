"""The leaderboard: columns, rows, and the sentences below it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from credo.core.wording import aligned, capital, fixed, number, percent, spelled
from credo.metrics.calibration import class_calibration
from credo.selection import MEASURES, Comparison, Gap, HeldOut, Measure, Score
from credo.study.facts import Predicted


@dataclass(frozen=True)
class Cell:
    """A number as text, whether it is the best of its column, and a `flag` such as "low" or "overconfident"."""

    text: str
    best: bool = False
    flag: str = ""


@dataclass(frozen=True)
class Row:
    """A row of the leaderboard: cells, or why the model failed."""

    name: str
    family: str
    cells: Sequence[Cell]
    best: bool = False
    error: str = ""


def head(comparison: Comparison) -> list[Measure]:
    """The columns."""
    shown = [MEASURES[name] for name in comparison.measures]
    shown += [_evidence(comparison)] if has_evidence(comparison) else []
    shown.append(MEASURES["seconds"])
    return [replace(measure, title=capital(measure.title)) for measure in shown]


def has_evidence(comparison: Comparison) -> bool:
    """Whether any of the models has an evidence."""
    return any(score.log_evidence is not None for score in comparison.scores)


def _evidence(comparison: Comparison) -> Measure:
    """The column of log evidences; they have a best only if all have the same base."""
    bases = {score.evidence_base for score in comparison.scores if score.log_evidence is not None}
    measure = MEASURES["log_evidence"]
    return measure if len(bases) < 2 else replace(measure, way="not all comparable", sign=0)


def rows(comparison: Comparison, selected: str | None = None) -> list[Row]:
    """One row for each model, in the comparison's order."""
    good = [score for score in comparison.scores if score.error is None]
    columns = [_measured(comparison, measure) for measure in comparison.measures]
    if has_evidence(comparison):
        columns.append(_column([score.log_evidence for score in good], _evidence(comparison)))
    columns.append([Cell(_seconds(score.seconds)) for score in good])
    cells = {score.name: [column[i] for column in columns] for i, score in enumerate(good)}
    return [
        Row(
            score.name,
            score.words,
            cells.get(score.name, []),
            best=bool(good) and score.name == (selected or comparison.selected),
            error=score.error or "",
        )
        for score in comparison.scores
    ]


def words(comparison: Comparison, selected: str | None = None) -> list[str]:
    """The sentences below the leaderboard: the best model beside the selected one, or else the second."""
    good: list[Score] = [score for score in comparison.scores if score.name in comparison.held_out]
    found: list[str] = []
    if len(good) > 1:
        what = "log loss" if comparison.task == "classification" else "log score"
        best, *others = [score.name for score in good]
        second = selected if selected in others else others[0]
        found.append(lead(best, second, comparison.gap(best, second), what=what))
    known = [score for score in good if score.log_evidence is not None and math.isfinite(score.log_evidence)]
    if len(known) > 1 and len({score.evidence_base for score in known}) == 1:
        found.append(evidence({score.name: float(score.log_evidence or 0.0) for score in known}, good[0].name))
    return found


def _measured(comparison: Comparison, name: str) -> list[Cell]:
    """The cells of a held-out score; coverage and calibration are flagged unless chance explains them."""
    good = [score for score in comparison.scores if score.error is None]
    cells = _column([score.held_out.get(name) for score in good], MEASURES[name])
    held = [comparison.held_out.get(score.name) for score in good]
    return [
        cell if each is None else replace(cell, flag=_flag(name, each)) for cell, each in zip(cells, held, strict=True)
    ]


def _flag(name: str, held: HeldOut) -> str:
    """What chance doesn't explain of a coverage or a calibration error."""
    if name == "coverage":
        fact = Predicted(held).coverage
        return "low" if fact.inside < fact.low else "high" if fact.inside > fact.high else ""
    return class_calibration(held.y, held.dist).verdict if name == "calibration_error" else ""


def _column(values: Sequence[float | None], measure: Measure) -> list[Cell]:
    texts = _texts(values, measure)
    known = [measure.sign * value for value in values if value is not None and not math.isnan(value)]
    if len(values) < 2 or not known or not measure.sign:
        return [Cell(text) for text in texts]
    # Cells that look equal are marked alike.
    top = texts[values.index(measure.sign * max(known))]
    return [Cell(text, best=text == top) for text in texts]


def _texts(values: Sequence[float | None], measure: Measure) -> list[str]:
    if measure.decimals is None and not measure.is_share:
        return aligned(values)
    return ["—" if value is None else _text(value, measure) for value in values]


def _text(value: float, measure: Measure) -> str:
    """A share in per cent with one decimal, or more if that would round to 100; other numbers with fixed decimals."""
    if measure.is_share:
        text = percent(value)
        return text if "." in text else f"{text.removesuffix(' %')}.0 %"
    return fixed(value, decimals=measure.decimals or 0) if math.isfinite(value) else number(value)


def _seconds(value: float | None) -> str:
    return "—" if value is None else "< 0.01" if value < 0.01 else number(value, digits=2)


def lead(best: str, second: str, fact: Gap, *, what: str = "log score") -> str:
    """The first two models, compared row by row."""
    if fact.mean == 0 and fact.error == 0:
        return f"{best} and {second} give the same predictions."
    if not (math.isfinite(fact.mean) and math.isfinite(fact.error)):
        return f"{best} and {second} can't be compared row by row, because a {what} is not finite."
    # How large it is, without a verdict: ties are those of the selection rule, which reads errors as well.
    times = "" if not fact.error else f", {number(abs(fact.mean) / fact.error, digits=2)} times its standard error"
    return f"{best} leads {second} by {number(fact.mean, digits=2)} in {what} per row{times}."


def evidence(logs: Mapping[str, float], top: str) -> str:
    """Whether the evidence prefers `top`, the model with the best held-out log score."""
    first, second = sorted(logs, key=lambda name: -logs[name])[:2]
    lead = number(logs[first] - logs[second], digits=2)
    if top not in logs:
        return f"Of {spelled(len(logs))} models with a log evidence, {first} has the largest, {lead} above {second}."
    also = "also" if first == top else "instead"
    return f"The log evidence, which needs no held-out rows, {also} favors {first}, by {lead} over {second}."
