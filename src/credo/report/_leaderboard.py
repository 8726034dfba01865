"""The leaderboard's columns and rows, and the sentences under it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from credo.report import _class_facts as class_facts
from credo.report import _facts as facts
from credo.report import _sentences as sentences
from credo.report._numbers import aligned, fixed, number, percent
from credo.selection import BASELINE, MEASURES, Comparison, HeldOut, Measure, Score


@dataclass(frozen=True)
class Cell:
    """A number as text; `best` in its column, or with a `flag` that says in which way it is off."""

    text: str
    best: bool = False
    flag: str = ""


@dataclass(frozen=True)
class Row:
    """A line of the leaderboard: cells, or the sentence that says why the model failed."""

    name: str
    family: str
    cells: Sequence[Cell]
    best: bool = False
    error: str = ""


def head(comparison: Comparison) -> list[Measure]:
    """The columns; where no model could be fitted there is nothing to measure."""
    evidence = [_evidence(comparison)] if has_evidence(comparison) else []
    shown = [*(MEASURES[name] for name in comparison.measures), *evidence, MEASURES["seconds"]]
    return [replace(measure, title=sentences.capital(measure.title)) for measure in shown]


def has_evidence(comparison: Comparison) -> bool:
    """Whether any of the models has an evidence."""
    return any(score.log_evidence is not None for score in comparison.scores)


def _evidence(comparison: Comparison) -> Measure:
    """The log evidence as a column; it has a best only where all of them have one base."""
    measure = MEASURES["log_evidence"]
    return measure if _one_base(comparison.scores) else replace(measure, way="not all comparable", sign=0)


def _one_base(scores: Sequence[Score]) -> bool:
    return len({score.evidence_base for score in scores if score.log_evidence is not None}) < 2


def rows(comparison: Comparison, families: dict[str, str], *, selected: str | None = None) -> list[Row]:
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
            families.get(score.name, ""),
            cells.get(score.name, []),
            best=bool(good) and score.name == (selected or comparison.selected),
            error=score.error or "",
        )
        for score in comparison.scores
    ]


def words(comparison: Comparison, *, selected: str | None = None) -> list[str]:
    """The sentences under the leaderboard."""
    good: list[Score] = [score for score in comparison.scores if score.name in comparison.held_out]
    if not good:
        return []
    classes = comparison.task == "classification"
    found: list[str] = []
    if len(good) > 1:
        what = "log loss" if classes else "log score"
        names = good[0].name, good[1].name
        found.append(sentences.lead(*names, comparison.gap(*names), what=what))
    found.append(sentences.evidence(_comparable(good), good[0].name))
    name = selected or comparison.selected
    if {name, BASELINE} <= set(comparison.held_out) and name != BASELINE:
        found.append(sentences.reference(name, comparison.gap(name, BASELINE), classes=classes))
    return [sentence for sentence in found if sentence]


def _comparable(scores: Sequence[Score]) -> dict[str, float]:
    """The log evidences of the models that condition on the same; of none where those differ."""
    known = [score for score in scores if score.log_evidence is not None and math.isfinite(score.log_evidence)]
    if len({getattr(score, "evidence_base", None) for score in known}) > 1:
        return {}
    return {score.name: float(score.log_evidence) for score in known if score.log_evidence is not None}


def _measured(comparison: Comparison, name: str) -> list[Cell]:
    """The cells of a held-out score; coverage and calibration are flagged where chance doesn't explain them."""
    good = [score for score in comparison.scores if score.error is None]
    cells = _column([score.held_out.get(name) for score in good], MEASURES[name])
    flags = {"coverage": _covered, "calibration_error": _calibrated}.get(name)
    if flags is None:
        return cells
    held = [comparison.held_out.get(score.name) for score in good]
    return [cell if each is None else replace(cell, flag=flags(each)) for cell, each in zip(cells, held, strict=True)]


def _column(values: Sequence[float | None], measure: Measure) -> list[Cell]:
    texts = _texts(values, measure)
    known = [measure.sign * value for value in values if value is not None and not math.isnan(value)]
    if len(values) < 2 or not known or not measure.sign:
        return [Cell(text) for text in texts]
    # What looks equal is equally good to a reader.
    top = texts[values.index(measure.sign * max(known))]
    return [Cell(text, best=text == top) for text in texts]


def _texts(values: Sequence[float | None], measure: Measure) -> list[str]:
    if measure.is_share:
        return ["—" if value is None else _share(value) for value in values]
    return aligned(values) if measure.decimals is None else [_fixed(value, measure.decimals) for value in values]


def _share(value: float) -> str:
    """In per cent with one decimal, as the others of its column; with more where that would hide something.

    >>> _share(0.93), _share(0.9996), _share(1.0)
    ('93.0 %', '99.96 %', '100.0 %')
    """
    text = percent(value)
    return text if "." in text else f"{text.removesuffix(' %')}.0 %"


def _fixed(value: float | None, decimals: int) -> str:
    if value is None or not math.isfinite(value):
        return "—" if value is None else number(value)
    return fixed(value, decimals=decimals)


def _covered(held: HeldOut) -> str:
    fact = facts.coverage(facts.Predicted(held))
    return "low" if fact.inside < fact.low else "high" if fact.inside > fact.high else ""


def _calibrated(held: HeldOut) -> str:
    return class_facts.calibration(held).verdict


def _seconds(value: float | None) -> str:
    return "—" if value is None else "< 0.01" if value < 0.01 else number(value, digits=2)
