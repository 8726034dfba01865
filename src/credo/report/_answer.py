"""The answer on top of the page: what is known about the model that is taken, in sentences and in numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.metrics import Influence, final_step
from credo.plots import shorten
from credo.report import _facts as facts
from credo.report import _inclusion_sentences as inclusion_words
from credo.report import _input_sentences as words
from credo.report import _sentences as sentences
from credo.report._curves import Ask, Curve, Line, curves, latent, line, typical
from credo.report._effects import Effects, Kept, effects, kept
from credo.report._figures import MAX_CURVES
from credo.report._inclusions import Inclusions, inclusions
from credo.report._inputs import Process, influence, process, sources
from credo.report._numbers import count, number, percent, several
from credo.selection import Comparison, Score


@dataclass(frozen=True)
class Inputs:
    """What is known about the inputs of the model that is taken.

    `effects` are its coefficients, or those of the first other model that has some where nothing else is known;
    `curves` are drawn around the row `typical`, and a table of one measured input has a `line` instead. `inclusions`
    are of the model that weighs all subsets of the inputs, if there is one; `linear` says whether the model that is
    taken is a weighted sum as well. `kept` are the weights that a penalty has left to it, or to another model where
    no model weighs subsets.
    """

    effects: Effects | None
    influence: Influence | None
    process: Process | None
    line: Line | None
    curves: list[Curve]
    typical: int | None
    noise: float | None = None
    inclusions: Inclusions | None = None
    linear: bool = False
    kept: Kept | None = None

    @property
    def settled(self) -> bool:
        """Whether one sentence says which inputs matter: inclusions do of weighted sums, coefficients of themselves."""
        return self.effects is not None or (self.linear and self.inclusions is not None)


def inputs(
    best: str,
    others: Sequence[str],
    models: Mapping[str, Any],
    frame: Any,
    *,
    y: Any,
    spread: float,
    ask: Ask = latent,
) -> Inputs:
    """Look at the model that is taken, and at the others only where it says nothing of its inputs.

    Whether inputs matter at all is for a model over all subsets of them to say, whichever model is taken.

    `ask` is what the curves show; where that isn't the function itself, a single input has a curve and no line.
    """
    known = {name: models[name] for name in dict.fromkeys([best, *others]) if name in models}
    model = models.get(best)
    if model is None or not hasattr(model, "predict_dist"):
        weighed = inclusions(known, frame, y)
        nonzero = kept(known, frame) if weighed is None else None
        return Inputs(effects(known, frame), None, None, None, [], None, inclusions=weighed, kept=nonzero)
    own, moved = effects({best: model}, frame), influence(model, frame, spread=spread)
    if own is None and moved is None:
        own = effects(known, frame)
    law = process(best, model)
    noise = getattr(final_step(model.estimator_), "noise_std_", None) if law is None else law.noise
    only, row, drawn, along = set(sources(model) or ()), None, [], None
    if len(only) == 1 and ask is latent:
        along = line(model, frame, only.pop())
    elif moved is not None:
        row = typical(model, frame)
        alone = [moved.members[i] for i in moved.order if len(moved.members[i]) == 1 and moved.values[i] > 0]
        shown = [members[0] for members in alone[:MAX_CURVES]]
        drawn = [] if row is None else curves(model, frame, row, shown, ask=ask)
    weighed = inclusions(known, frame, y)
    return Inputs(
        own,
        moved,
        law,
        along,
        drawn,
        row,
        noise=None if noise is None else float(noise),
        inclusions=weighed,
        linear=hasattr(model.estimator_, "coef_"),
        kept=kept(known if weighed is None else {best: model}, frame),
    )


def answer(comparison: Comparison, target: str, guess: facts.Guess | None, found: Inputs) -> list[str]:
    """The headline: the best model, its error, its honesty, and the inputs that matter."""
    best = comparison.best
    held = facts.Predicted(comparison.held_out[best])
    beside = None if guess is None else guess.rmse
    said = [
        winner(comparison, target),
        sentences.error(comparison[best].held_out["rmse"], beside, clear=facts.gain(held).clear, target=target),
        sentences.coverage(facts.coverage(held), facts.uniformity(held.pit)),
    ]
    if found.process is not None:
        said.append(words.process(found.process, target=target, spread=float(np.std(held.y))))
    said += which(found)
    if found.effects is not None and found.inclusions is None:
        names = [shorten(name) for name in found.effects.names]
        said.append(sentences.inputs(found.effects, best=best, target=target, names=names))
    elif not found.settled and found.influence is not None and len(found.influence.members) > 1:
        said.append(words.influences(found.influence, best=best, target=target))
    return said


def which(found: Inputs) -> list[str]:
    """Which inputs matter, and which have a weight at all where a penalty has left but some."""
    said = [] if found.inclusions is None else [inclusion_words.inclusions(found.inclusions, linear=found.linear)]
    return [*said, *left(found)]


def left(found: Inputs) -> list[str]:
    """Which weights a penalty has left."""
    kept = found.kept
    return [] if kept is None else [inclusion_words.kept(kept.model, kept.names, kept.n_weights)]


def winner(comparison: Comparison, target: str) -> str:
    """Which model is taken, and how clearly."""
    good = [score for score in comparison.scores if score.error is None]
    return sentences.winner(
        comparison.best,
        n_models=len(good),
        n_failed=len(comparison.scores) - len(good),
        n_tied=len(comparison.tied),
        target=target,
    )


def tiles(
    score: Score, guess: facts.Guess | None, coverage: facts.Coverage, found: Inputs
) -> list[tuple[str, str, str]]:  # fmt: skip
    """Three numbers that one would remember, each with its label and a detail."""
    made = []
    beside = "on held-out rows" if guess is None else f"guessing the mean: {number(guess.rmse)}"
    made.append((number(score.held_out["rmse"]), "root mean squared error", beside))
    rows = f"{count(coverage.inside)} of {several(coverage.n, 'held-out row')}"
    made.append((percent(coverage.inside / coverage.n), "inside the 95 % interval", rows))
    if found.effects is None and found.noise is not None:
        made.append((number(found.noise), "noise that the inputs leave", "standard deviation, estimated"))
    elif found.effects is not None:
        clear = f"{count(int(found.effects.sure.sum()))} of {count(len(found.effects.names))}"
        whose = "" if found.effects.model == score.name else f" of {found.effects.model}"
        made.append((clear, f"coefficients{whose} with a clear sign", "95 % interval excludes zero"))
    return made
