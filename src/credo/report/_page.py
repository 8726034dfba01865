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
from numpy.typing import ArrayLike, NDArray
from sklearn import config_context

from credo._version import __version__
from credo.plots import shorten
from credo.report import _facts as facts
from credo.report import _glance as glance
from credo.report import _leaderboard as leaderboard
from credo.report import _sentences as sentences
from credo.report._effects import Effects, effects
from credo.report._figures import Figure, coefficient_figure, held_out_figures
from credo.report._numbers import count, number, percent, several
from credo.report._surprises import surprises
from credo.selection import Comparison

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
    date: str | None = None,
) -> str:
    """The page as text; `write` says what the arguments are."""
    values = np.asarray(y, dtype=np.float64)
    guess = facts.guess(values)
    columns = list(preparation.columns_)
    board = leaderboard.rows(comparison, {name: _family(model) for name, model in models.items()})
    return _template().render(
        title=title,
        style=Markup(_source("style.css")),
        size=[several(len(values), "row"), several(len(columns), "column"), f"target {shorten(target)}"],
        date=date,
        **_results(comparison, models, frame, shorten(target), guess),
        board=board,
        guess=leaderboard.guess_row(guess, comparison),
        board_words=leaderboard.words(comparison, guess),
        has_flags=any(cell.flag for row in board for cell in row.cells),
        has_evidence=any(score.log_evidence is not None for score in comparison.scores),
        lines=[glance.target_line(target, values), *glance.lines(columns, frame)],
        unlisted=max(0, len(columns) - glance.MAX_COLUMNS),
        notes=_unique([*sheet_notes, *preparation.notes_]),
        run_notes=_unique(comparison.notes),
        n_folds=comparison.n_folds,
        seed=seed,
        settings={name: _settings(model) for name, model in models.items()},
        versions=_versions(),
    )


def _results(
    comparison: Comparison, models: Mapping[str, Any], frame: Any, target: str, guess: facts.Guess | None
) -> dict[str, Any]:
    """What depends on there being a model that could be fitted."""
    good = [score for score in comparison.scores if score.error is None]
    if not good:
        sentence = "No model could be fitted; the leaderboard says why."
        return {"best": "", "answer": [sentence], "tiles": [], "figures": [], "surprises": ([], "")}
    best, rmse = good[0].name, good[0].rmse
    held = comparison.held_out[best]
    ordered = {score.name: models[score.name] for score in good if score.name in models}
    found = effects(ordered, frame)
    mean_error = None if guess is None else guess.rmse
    coverage = facts.coverage(held)
    failed = len(comparison.scores) - len(good)
    answer = [
        sentences.winner(best, n_models=len(good), n_failed=failed, target=target, ties=leaderboard.ties(comparison)),
        _error(held.y, rmse, mean_error, target),
        sentences.coverage(coverage),
    ]
    pictures: list[Figure] = held_out_figures(held, target=target, guess=mean_error)
    if found is not None:
        names = [shorten(name) for name in found.names]
        answer.append(sentences.inputs(found, target=target, names=names))
        pictures.append(coefficient_figure(found, best=best, target=target))
    tiles = _tiles(rmse, mean_error, coverage, found)
    odd = surprises(held, frame.index)
    return {"best": best, "answer": answer, "tiles": tiles, "figures": pictures, "surprises": odd}


def _error(y: NDArray[np.float64], rmse: float | None, guess: float | None, target: str) -> str:
    if np.ptp(y) == 0:
        return f"Every value of {target} is {number(float(y[0]), digits=4)}, so there is nothing to tell apart."
    return sentences.error(float("nan") if rmse is None else rmse, guess, target=target)


def _tiles(
    rmse: float | None, guess: float | None, coverage: facts.Coverage, found: Effects | None
) -> list[dict[str, Any]]:
    """Three numbers that one would remember."""
    tiles: list[dict[str, Any]] = []
    if rmse is not None:
        beside = "root mean square" if guess is None else f"guessing the mean: {number(guess)}"
        share = None if not guess else rmse / guess
        tiles.append({"value": number(rmse), "label": "typical error", "detail": beside, "share": share})
    tiles.append(
        {
            "value": percent(coverage.inside / coverage.n),
            "label": "inside the 95 % interval",
            "detail": f"{count(coverage.inside)} of {several(coverage.n, 'held-out row')}",
            "share": None,
        }
    )
    if found is not None:
        tiles.append(
            {
                "value": f"{count(int(found.sure.sum()))} of {count(len(found.names))}",
                "label": "coefficients with a clear sign",
                "detail": "95 % interval excludes zero",
                "share": None,
            }
        )
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
