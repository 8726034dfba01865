"""From the results to one page of HTML."""

import platform
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape
from numpy.typing import ArrayLike
from sklearn import config_context

from credo._version import __version__
from credo.io.tables.columns import as_frame
from credo.plots import shorten
from credo.report import _facts as facts
from credo.report import _glance as glance
from credo.report import _leaderboard as leaderboard
from credo.report import _sentences as sentences
from credo.report._effects import Effects, effects
from credo.report._figures import coefficient_figure, held_out_figures
from credo.report._numbers import count, datum, number, percent, several
from credo.report._surprises import surprises
from credo.selection import Comparison, Score

# What a heading shows of a title, whatever the column and the file are called.
_TITLE = 120
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "pandas", "matplotlib")


def render(
    *,
    title: str,
    sheet_notes: Sequence[str],
    preparation: Any,
    comparison: Comparison,
    models: Mapping[str, Any],
    target: str,
    frame: Any,
    y: ArrayLike,
    seed: int | None,
    source: str | None = None,
    date: str | None = None,
) -> str:
    """The page as text; `write` says what the arguments are."""
    values = np.asarray(y, dtype=np.float64)
    guess = facts.guess(values)
    frame = as_frame(frame)
    columns = list(preparation.columns_)
    board = leaderboard.rows(comparison, {name: _family(model) for name, model in models.items()})
    return _template().render(
        title=shorten(title, width=_TITLE),
        source=None if source is None else shorten(source, width=_TITLE),
        style=Markup(_source("style.css")),
        size=[several(len(values), "row"), several(len(columns), "column"), f"target {shorten(target)}"],
        date=date,
        **_results(comparison, models, frame, shorten(target), guess),
        board=board,
        guess=leaderboard.guess_row(guess, comparison),
        board_words=leaderboard.words(comparison, guess) if np.ptp(values) else [],
        has_flags=any(cell.flag for row in board for cell in row.cells),
        has_evidence=any(score.log_evidence is not None for score in comparison.scores),
        lines=[glance.target_line(target, values), *glance.lines(columns, frame)],
        unlisted=max(0, len(columns) - glance.MAX_COLUMNS),
        notes=_unique([*sheet_notes, *preparation.notes_]),
        run_notes=_unique(comparison.notes),
        n_folds=comparison.n_folds,
        dated=[shorten(column.name) for column in columns if column.kind == "date"],
        seed=seed,
        settings={name: _settings(model) for name, model in models.items()},
        versions=_versions(),
    )


def _results(
    comparison: Comparison, models: Mapping[str, Any], frame: Any, target: str, guess: facts.Guess | None
) -> dict[str, Any]:
    """What depends on there being a model that could be fitted, and a target that varies."""
    good = [score.name for score in comparison.scores if score.error is None]
    if not good:
        return _nothing("No model could be fitted; the leaderboard says why.")
    best = comparison.best
    held = comparison.held_out[best]
    if np.ptp(held.y) == 0:
        return _nothing(f"Every value of {target} is {datum(float(held.y[0]))}: there is nothing to predict.")
    found = effects({name: models[name] for name in dict.fromkeys([best, *good]) if name in models}, frame)
    figures = held_out_figures(held, target=target, guess=None if guess is None else guess.rmse)
    if found is not None:
        figures.append(coefficient_figure(found, best=best, target=target))
    return {
        "best": best,
        "answer": _answer(comparison, target, guess, found),
        "tiles": _tiles(_score(comparison, best), guess, facts.coverage(held), found),
        "figures": figures,
        "surprises": surprises(held, frame.index),
    }


def _nothing(sentence: str) -> dict[str, Any]:
    return {"best": "", "answer": [sentence], "tiles": [], "figures": [], "surprises": ([], "")}


def _answer(comparison: Comparison, target: str, guess: facts.Guess | None, found: Effects | None) -> list[str]:
    """The headline: the best model, its error, its honesty, and the inputs that matter."""
    good = [score for score in comparison.scores if score.error is None]
    best, held = comparison.best, comparison.held_out[comparison.best]
    rmse = _score(comparison, best).rmse
    beside = None if guess is None else guess.rmse
    answer = [
        sentences.winner(
            best,
            n_models=len(good),
            n_failed=len(comparison.scores) - len(good),
            n_tied=len(comparison.tied),
            clear=leaderboard.clear_lead(comparison),
            target=target,
        ),
        sentences.error(float("nan") if rmse is None else rmse, beside, clear=facts.gain(held).clear, target=target),
        sentences.coverage(facts.coverage(held)),
    ]
    if found is not None:
        names = [shorten(name) for name in found.names]
        answer.append(sentences.inputs(found, best=best, target=target, names=names))
    return answer


def _score(comparison: Comparison, name: str) -> Score:
    return next(score for score in comparison.scores if score.name == name)


def _tiles(
    score: Score, guess: facts.Guess | None, coverage: facts.Coverage, found: Effects | None
) -> list[tuple[str, str, str]]:
    """Three numbers that one would remember, each with its label and a detail."""
    tiles = []
    if score.rmse is not None:
        beside = "on held-out rows" if guess is None else f"guessing the mean: {number(guess.rmse)}"
        tiles.append((number(score.rmse), "root mean squared error", beside))
    rows = f"{count(coverage.inside)} of {several(coverage.n, 'held-out row')}"
    tiles.append((percent(coverage.inside / coverage.n), "inside the 95 % interval", rows))
    if found is not None:
        clear = f"{count(int(found.sure.sum()))} of {count(len(found.names))}"
        whose = "" if found.model == score.name else f" of {found.model}"
        tiles.append((clear, f"coefficients{whose} with a clear sign", "95 % interval excludes zero"))
    return tiles


def _family(model: Any) -> str:
    """The kind of a model in words: BayesianLinearRegression is a Bayesian linear regression."""
    parts = [_words(type(part).__name__) for part in _steps(model.estimator_)]
    text = ", then ".join(parts)
    return text[:1].upper() + text[1:]


def _words(name: str) -> str:
    """The words of a class name.

    >>> _words("BayesianLinearRegression"), _words("LMSRegression")
    ('Bayesian linear regression', 'LMS regression')
    """
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z]*|[a-z]+|\d+", name)
    kept = {"Bayesian", "Gaussian", "Lasso"}
    words = [part if part in kept or part.isupper() else part.lower() for part in parts]
    return " ".join(words)


def _settings(model: Any) -> str:
    """Every setting of the estimator, also those that were left at their defaults."""
    with config_context(print_changed_only=False):
        return " → ".join(" ".join(repr(part).split()) for part in _steps(model.estimator_))


def _steps(estimator: Any) -> list[Any]:
    return [step for _, step in getattr(estimator, "steps", [])] or [estimator]


def _versions() -> list[tuple[str, str]]:
    own = [("credo", __version__), ("python", platform.python_version())]
    return own + [(name, version(name)) for name in _LIBRARIES]


def _unique(notes: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(str(note) for note in notes))


def _source(name: str) -> str:
    return files("credo.report").joinpath(name).read_text(encoding="utf-8")


@cache
def _template() -> Any:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["tie"] = _tie
    environment.filters["mark"] = _mark
    return environment.from_string(_source("template.html"))


def _tie(text: Any) -> Markup:
    """Text in which numbers, ranges and equations don't break at the end of a line."""
    tied = str(text).replace(" %", "\u202f%")
    tied = re.sub(r"(?<=\d)–(?=\d)", "\u2060–\u2060", tied)
    tied = re.sub(r"\b([pρ]) ([=<]) (?=[\d−])", "\\1\u00a0\\2\u00a0", tied)
    return escape(tied)


def _mark(text: str, name: str) -> Markup:
    """A sentence in which its subject stands out."""
    if not name or name not in text:
        return _tie(text)
    before, _, after = text.partition(name)
    return _tie(before) + Markup("<strong>{}</strong>").format(name) + _tie(after)
