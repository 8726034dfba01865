"""The leaderboard's rows and the sentences under it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from credo.report import _facts as facts
from credo.report import _sentences as sentences
from credo.report._numbers import aligned, fixed, number, percent
from credo.selection import Comparison, HeldOut, Score


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


def rows(comparison: Comparison, families: dict[str, str]) -> list[Row]:
    """One row for each model, in the comparison's order."""
    good = [score for score in comparison.scores if score.error is None]
    columns = [
        _column([score.log_score for score in good], sign=1, decimals=3),
        _column([score.rmse for score in good], sign=-1),
        _column([score.crps for score in good], sign=-1),
        [_covered(score, comparison.held_out[score.name]) for score in good],
        _column([score.log_evidence for score in good], sign=1, decimals=1),
        [Cell(_seconds(score.seconds)) for score in good],
    ]
    cells = {score.name: [column[i] for column in columns] for i, score in enumerate(good)}
    return [
        Row(
            score.name,
            families.get(score.name, ""),
            cells.get(score.name, []),
            best=bool(good) and score.name == comparison.best,
            error=score.error or "",
        )
        for score in comparison.scores
    ]


def guess_row(guess: facts.Guess | None, comparison: Comparison) -> Row | None:
    """The row of guessing the mean, to compare with; its numbers as precise as the models' own."""
    if guess is None:
        return None
    good = [score for score in comparison.scores if score.error is None]
    texts = [
        aligned([*(getattr(score, name) for score in good), getattr(guess, name)])[-1] for name in ("rmse", "crps")
    ]
    cells = [_fixed(guess.log_score, 3), *texts, percent(guess.coverage), "—", "—"]
    return Row("always the mean", "for comparison: looks at no column", [Cell(text) for text in cells])


def clear_lead(comparison: Comparison) -> bool:
    """Whether the top model is ahead of every other by more than chance would explain."""
    first, *others = [score.name for score in comparison.scores if score.error is None]
    top = comparison.held_out[first].log_score
    return all(facts.gap(top, comparison.held_out[name].log_score).clear for name in others)


def words(comparison: Comparison, guess: facts.Guess | None) -> list[str]:
    """The sentences under the leaderboard."""
    good = [score for score in comparison.scores if score.error is None]
    found: list[str] = []
    if not good:
        return found
    if len(good) > 1:
        first, second = (comparison.held_out[score.name].log_score for score in good[:2])
        found.append(sentences.lead(good[0].name, good[1].name, facts.gap(first, second)))
    logs = {score.name: score.log_evidence for score in good if score.log_evidence is not None}
    found.append(sentences.evidence({name: log for name, log in logs.items() if math.isfinite(log)}, good[0].name))
    if guess is not None and good[0].log_score is not None:
        found.append(sentences.reference(good[0].log_score, guess))
    return [sentence for sentence in found if sentence]


def _column(values: Sequence[float | None], *, sign: int, decimals: int | None = None) -> list[Cell]:
    # Of a logarithm the difference counts, whatever its size.
    texts = aligned(values) if decimals is None else [_fixed(value, decimals) for value in values]
    known = [sign * value for value in values if value is not None and not math.isnan(value)]
    if len(values) < 2 or not known:
        return [Cell(text) for text in texts]
    # What looks equal is equally good to a reader.
    top = texts[values.index(sign * max(known))]
    return [Cell(text, best=text == top) for text in texts]


def _fixed(value: float | None, decimals: int) -> str:
    if value is None or not math.isfinite(value):
        return "—" if value is None else number(value)
    return fixed(value, decimals=decimals)


def _covered(score: Score, held: HeldOut) -> Cell:
    fact = facts.coverage(held)
    flag = "low" if fact.inside < fact.low else "high" if fact.inside > fact.high else ""
    return Cell("—" if score.coverage is None else percent(score.coverage), flag=flag)


def _seconds(value: float | None) -> str:
    return "—" if value is None else "< 0.01" if value < 0.01 else number(value, digits=2)
