"""What is known about the selected model and its inputs, for the sentences on top of the page and the figures below."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from credo.metrics import Influence, final_step
from credo.plots import shorten
from credo.report import _inclusion_sentences as inclusion_words
from credo.report import _sentences as sentences
from credo.report._curves import Ask, Curve, Line, curves, latent, line, typical
from credo.report._effects import Effects, Kept, effects, kept, untransformed
from credo.report._figures import MAX_CURVES
from credo.report._inclusions import Inclusions, inclusions
from credo.report._inputs import Process, influence, process, sources
from credo.report._numbers import number, several
from credo.selection import BASELINE, Comparison

T = TypeVar("T")


@dataclass(frozen=True)
class Choice:
    """The model that the page is about, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Inputs:
    """What is known about the inputs of the selected model.

    `effects` are its coefficients, or those of the first other model that has some where nothing else is known;
    `curves` are drawn around the row `typical`, and a table of one measured input has a `line` instead. `inclusions`
    are of the model that averages over subsets of the inputs, if there is one; `linear` says whether the selected model
    is linear as well. `kept` are the coefficients that a penalty has left to it, or to another model where none
    averages over subsets. `troubles` say what could not be computed.
    """

    effects: Effects | None = None
    influence: Influence | None = None
    process: Process | None = None
    line: Line | None = None
    curves: list[Curve] = field(default_factory=list)
    typical: int | None = None
    noise: float | None = None
    inclusions: Inclusions | None = None
    linear: bool = False
    kept: Kept | None = None
    troubles: list[str] = field(default_factory=list)

    @property
    def settled(self) -> bool:
        """Whether one sentence says which inputs matter: inclusions do of linear models, coefficients of themselves."""
        return self.effects is not None or (self.linear and self.inclusions is not None)


def inputs(
    best: str,
    others: Sequence[str],
    models: Mapping[str, Any],
    frame: Any,
    *,
    y: Any,
    rows: Any,
    spread: float,
    ask: Ask = latent,
) -> Inputs:
    """Look at the selected model, and at the others only where it says nothing of its inputs.

    Whether inputs matter at all is for a model over all subsets of them to say, whichever model is selected. `y` and
    `rows` are the held-out targets and their places in the frame. `ask` is what the curves show; where that isn't the
    function itself, a single input has a curve and no line.
    """
    tried = dict.fromkeys([best, *others])
    known = {name: models[name] for name in tried if hasattr(models.get(name), "preparation_")}
    model, troubles = known.get(best), list[str]()

    def attempt(what: str, work: Callable[[], T], otherwise: T) -> T:
        """What the work gives; if it fails, that costs its part of the page and no more."""
        try:
            return work()
        except Exception as error:
            troubles.append(f"{what} could not be computed ({type(error).__name__}: {error}).")
            return otherwise

    weighed = attempt("Inclusion probabilities", lambda: inclusions(known, frame.iloc[rows], y), None)
    if model is None or not hasattr(model, "predict_dist"):
        nonzero = attempt("Coefficients", lambda: kept(known, frame), None) if weighed is None else None
        some = attempt("Coefficients", lambda: effects(known, frame), None)
        return Inputs(some, inclusions=weighed, kept=nonzero, troubles=troubles)
    own = attempt("Coefficients", lambda: effects({best: model}, frame), None)
    moved = attempt("Influences of the inputs", lambda: influence(model, frame, spread=spread), None)
    if own is None and moved is None:
        own = attempt("Coefficients", lambda: effects(known, frame), None)
    law = process(best, model)
    noise = getattr(final_step(model.estimator_), "noise_std_", None) if law is None else law.noise
    only, row, drawn, along = set(sources(model) or ()), None, list[Curve](), None
    if len(only) == 1 and ask is latent:
        along = attempt("The curve", lambda: line(model, frame, next(iter(only))), None)
    if along is None and moved is not None:
        row = attempt("The typical row", lambda: typical(model, frame), None)
        shown = [moved.members[i] for i in moved.order if moved.values[i] > 0][:MAX_CURVES]
        place = row
        if place is not None:
            drawn = attempt("Curves of the inputs", lambda: curves(model, frame, place, shown, ask=ask), [])
    return Inputs(
        own,
        moved,
        law,
        along,
        drawn[:MAX_CURVES],
        row,
        noise=None if noise is None else float(noise),
        inclusions=weighed,
        linear=hasattr(untransformed(model.estimator_)[0], "coef_"),
        kept=attempt("Coefficients", lambda: kept(known if weighed is None else {best: model}, frame), None),
        troubles=troubles,
    )


def opening(comparison: Comparison, choice: Choice, target: str) -> list[str]:
    """Which model is selected and why; first of all, whether any model beat guessing."""
    n_failed = sum(score.error is not None for score in comparison.scores)
    failed = [f"{sentences.capital(several(n_failed, 'model', spell=True))} could not be fitted."] if n_failed else []
    if choice.name != BASELINE:
        return [" ".join([choice.reason, *failed])]
    advice = (
        f"These columns don't help to predict {target}, or there are too few rows to show that they do. "
        "Check the notes for outliers, or add rows or "
        "columns that are related to it."
    )
    others = [name for name in comparison.held_out if name not in comparison.references]
    ahead = any(comparison.gap(name, BASELINE).mean > 0 for name in others)
    said = f"Nothing {'clearly ' if ahead else ''}beat guessing. {choice.reason}"
    return [said, " ".join([advice, *failed])]


def effect_words(found: Effects, *, best: str, target: str) -> list[str]:
    """The clearest coefficients in words; those of the log of the target as factors."""
    names = [shorten(name) for name in found.names]
    said = [sentences.inputs(found, best=best, target=target, names=names)]
    sure = np.flatnonzero(found.sure)
    if found.transform == "log" and len(sure):
        top = sure[np.argmax(found.strength[sure])]
        factor = number(float(np.exp(found.estimate[top])))
        said.append(
            f"The clearest one, {names[top]}, multiplies {target} by {factor} for each standard deviation (an input "
            "with two values: from one to the other)."
        )
    return said


def which(found: Inputs) -> list[str]:
    """Which inputs matter, and which have a coefficient at all where a penalty has left but some."""
    said = [] if found.inclusions is None else [inclusion_words.inclusions(found.inclusions, linear=found.linear)]
    return [*said, *left(found)]


def left(found: Inputs) -> list[str]:
    """Which coefficients a penalty has left."""
    kept = found.kept
    return [] if kept is None else [inclusion_words.kept(kept.model, kept.names, kept.n_weights)]
