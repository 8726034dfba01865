"""What is known about the selected model and its inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from credo.metrics import Influence, final_step
from credo.selection import BASELINE, Comparison
from credo.study.report._curves import MAX_CURVES, Curve, Predict, curves, latent, line, typical
from credo.study.report._effects import Effects, NonZero, effects, non_zero, untransformed
from credo.study.report._inclusion_figure import inclusion_sentence
from credo.study.report._inclusions import Inclusions, inclusions
from credo.study.report._inputs import Process, influence, is_little, process
from credo.study.report._numbers import capital, several, spelled

T = TypeVar("T")


@dataclass(frozen=True)
class Choice:
    """The model that the page is about, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Inputs:
    """What is known about the inputs of the selected model.

    `effects` are its coefficients, or those of another model if nothing else is known. `curves` are drawn around the
    row `typical`; a table with a single numeric input has a `line` instead. `inclusions` are those of the model that
    averages over subsets, if there is one. `non_zero` are the coefficients that a penalty has left in the selected
    model, or in another one if none averages over subsets. `linear` says whether the selected model is linear.
    `failures` say what couldn't be computed.
    """

    effects: Effects | None = None
    influence: Influence | None = None
    process: Process | None = None
    line: Curve | None = None
    curves: list[Curve] = field(default_factory=list)
    typical: int | None = None
    noise: float | None = None
    inclusions: Inclusions | None = None
    linear: bool = False
    non_zero: NonZero | None = None
    failures: list[str] = field(default_factory=list)

    @property
    def is_settled(self) -> bool:
        """Whether coefficients, or the inclusion probabilities of a linear model, say which inputs matter."""
        return self.effects is not None or (self.linear and self.inclusions is not None)

    @property
    def has_influence(self) -> bool:
        """Whether there are several inputs with known influence."""
        return self.influence is not None and len(self.influence.members) > 1

    @property
    def drawn(self) -> str:
        """How many of the inputs have a curve, if not all of them do."""
        n_inputs = 0 if self.influence is None else sum(map(len, self.influence.members))
        n_curves = sum(1 + len(curve.together) for curve in self.curves)
        return f"{spelled(n_curves)} of the {spelled(n_inputs)} inputs" if n_curves < n_inputs else ""

    def sentences(self) -> list[str]:
        """Which inputs matter, and which have a non-zero coefficient."""
        said = [] if self.inclusions is None else [inclusion_sentence(self.inclusions, linear=self.linear)]
        return said if self.non_zero is None else [*said, str(self.non_zero)]


def inputs(
    best: str,
    others: Sequence[str],
    models: Mapping[str, Any],
    frame: Any,
    *,
    y: Any,
    rows: Any,
    spread: float,
    predict: Predict = latent,
) -> Inputs:
    """Examine the selected model, and the others only if it says nothing about its inputs.

    Inclusion probabilities are those of a model over all subsets, whichever model is selected. `y` and `rows` are the
    held-out targets and their rows in the frame. Curves show what `predict` gives; only of the function itself, a
    single input has a line instead.
    """
    tried = dict.fromkeys([best, *others])
    known = {name: models[name] for name in tried if hasattr(models.get(name), "preparation_")}
    model, failures = known.get(best), list[str]()

    def attempt(what: str, work: Callable[[], T], otherwise: T) -> T:
        """The result of the work; if it fails, the page says so and goes on."""
        try:
            return work()
        except Exception as error:
            failures.append(f"{what} could not be computed ({type(error).__name__}: {error}).")
            return otherwise

    included = attempt("Inclusion probabilities", lambda: inclusions(known, frame.iloc[rows], y), None)
    if model is None or not hasattr(model, "predict_dist"):
        left = attempt("Coefficients", lambda: non_zero(known, frame), None) if included is None else None
        some = attempt("Coefficients", lambda: effects(known, frame), None)
        return Inputs(some, inclusions=included, non_zero=left, failures=failures)
    own = attempt("Coefficients", lambda: effects({best: model}, frame), None)
    moved = attempt("Influences of the inputs", lambda: influence(model, frame, spread=spread), None)
    if own is None and moved is None:
        own = attempt("Coefficients", lambda: effects(known, frame), None)
    gp = process(best, model)
    noise = getattr(final_step(model.estimator_), "noise_std_", None) if gp is None else gp.noise
    only, row, drawn, along = set(model.preparation_.sources()), None, list[Curve](), None
    if len(only) == 1 and predict is latent:
        along = attempt("The curve", lambda: line(model, frame, next(iter(only))), None)
    if along is None and moved is not None:
        row = attempt("The typical row", lambda: typical(model, frame), None)
        shown = [moved.members[i] for i in moved.order if moved.values[i] > 0][:MAX_CURVES]
        place = row
        if place is not None:
            drawn = attempt("Curves of the inputs", lambda: curves(model, frame, place, shown, predict=predict), [])
            drawn = [_judged(curve, own, moved, model) for curve in drawn]
    return Inputs(
        own, moved, gp, along, drawn[:MAX_CURVES], row,
        noise=None if noise is None else float(noise),
        inclusions=included,
        linear=hasattr(untransformed(model.estimator_)[0], "coef_"),
        non_zero=attempt("Coefficients", lambda: non_zero(known if included is None else {best: model}, frame), None),
        failures=failures,
    )  # fmt: skip


def _judged(curve: Curve, own: Effects | None, moved: Influence, model: Any) -> Curve:
    """A curve with its effect judged as the summary does, if the model doesn't tell how points of a curve covary.

    A band around each point is no measure: all points share the uncertainty of the function's level.
    """
    if curve.is_flat is not None or curve.classes:
        return curve
    if own is None:
        return replace(curve, is_flat=is_little(moved, curve.name))
    inputs = zip(model.preparation_.sources(), own.is_clear, strict=True)
    return replace(curve, is_flat=not any(clear for name, clear in inputs if name in (curve.name, *curve.together)))


def opening(comparison: Comparison, choice: Choice, target: str) -> list[str]:
    """Which model is selected and why; or that no model beat the baseline."""
    n_failed = sum(score.error is not None for score in comparison.scores)
    failed = [f"{capital(several(n_failed, 'model', spell=True))} could not be fitted."] if n_failed else []
    if choice.name != BASELINE:
        return [" ".join([choice.reason, *failed])]
    if comparison.out_of_time:
        return [" ".join([choice.reason, *failed])]
    advice = (
        f"These columns don't help to predict {target}, or there are too few rows to show that they do. Check the "
        "notes for outliers, or add rows or columns that are related to it."
    )
    ahead = any(comparison.gap(name, BASELINE).mean > 0 for name in comparison.held_out)
    return [f"No model {'clearly ' if ahead else ''}beat the baseline. {choice.reason}", " ".join([advice, *failed])]
