"""What is known about the inputs of the selected model: which of them change the predictions, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.sparsefuncs import mean_variance_axis

from credo import plots
from credo.core.estimator import describe, is_sparse
from credo.core.wording import about, capital, count, listing, number, plural, spelled
from credo.metrics import Influence
from credo.plots import shorten
from credo.study._explain import influence
from credo.study.facts import class_name
from credo.study.report._curves import MAX_CURVES, Curve, Terms, curves, line, sampled, terms
from credo.study.report._figure import MAX_BARS, SIZE, Figure, Listing, bar_figure, figure
from credo.study.report._inclusions import Inclusions, inclusion_sentence, inclusions
from credo.study.study import Study
from credo.tables.encoders import Days

T = TypeVar("T")
Vector = NDArray[np.float64]

# An input has little influence below this share of the largest; the function is nearly linear along an input below
# this share of the largest nonlinearity.
_LITTLE, _NEARLY_LINEAR = 0.05, 0.1
# An effect of about three standard deviations, as a multiple of the width of its 95 % interval.
_STRONG = 0.75
# With this many coefficients, the report says how many would exclude zero by chance.
_COEFFICIENTS_WITH_CHANCE_HITS = 20
# How many coefficients the table has.
MAX_LINES = 100
# How many inputs a sentence names: by the size of their coefficient, and of those that a penalty has left.
_MAX_NAMED_BY_SIZE, _MAX_NAMED = 8, 6


@dataclass(frozen=True)
class Coefficients:
    """Coefficients of a model, a row for each score and a column for each prepared column, with 95 % intervals.

    `step` is a standard deviation of each column, or the difference of its values if it has only two; `std` always a
    standard deviation. `transform` names the transformation of the target. `selects` says whether the fit sets
    coefficients to zero. `words` are the prepared columns that stand for words of a text.
    """

    model: str
    names: list[str]
    estimate: Vector
    lower: Vector
    upper: Vector
    step: Vector
    std: Vector
    words: list[bool]
    classes: tuple[Any, ...] = ()
    transform: str = ""
    selects: bool = False
    unit: Vector | float = 1.0

    @classmethod
    def of(cls, title: str, model: Any, frame: Any) -> Coefficients | None:
        """None if the model isn't linear in its prepared columns."""
        found, preparation = describe(model.estimator_), model.without_exposure
        names = [str(name) for name in preparation.get_feature_names_out()]
        if len(found.columns) != len(names) or not len(found.coefficients()[0]):
            return None
        # A date has the name of its column, without the day that it is counted from.
        days = {
            one.names()[0]: one.name
            for one in preparation.encoders_
            if isinstance(one, Days) and one.value and one.since is None
        }
        texts = [column.name for column in preparation.columns_ if column.kind == "text"]
        are_words = [origin in texts for origin in preparation.sources()]
        # With a single text, its words are named without it.
        prefix = f"{texts[0]}: " if len(texts) == 1 else ""
        names = [
            name.removeprefix(prefix) if w else days.get(name, name) for name, w in zip(names, are_words, strict=True)
        ]
        return cls(
            title, names, *found.coefficients(), *steps(preparation.transform(frame)), are_words, found.classes,
            found.transform, found.selects, preparation.scale_ if preparation.standardize else 1.0,
        )  # fmt: skip

    def effects(self) -> Effects | None:
        """The change of the prediction, or of the log odds, with each step; None without intervals."""
        if len(self.estimate) != 1 or not np.isfinite(self.upper - self.lower).any():
            return None
        estimate, lower, upper = (part[0] * self.step for part in (self.estimate, self.lower, self.upper))
        return Effects(self.model, self.names, estimate, lower, upper, self.transform)

    def table(self, target: str) -> Listing | None:
        """The coefficients per unit of each input, for two classes with odds ratios; None without intervals."""
        if self.effects() is None:
            return None
        parts = np.array([part[0] / self.unit for part in (self.estimate, self.lower, self.upper)]).T
        head, lines = ["Input", "Coefficient", "95 % interval"], []
        what = f"{self.transform} of {target}" if self.transform else target
        if self.classes:
            what = f"log odds of {class_name(self.classes[1], target)}"
            head.append("Odds ratio")
        for name, (mean, low, high) in zip(self.names[:MAX_LINES], parts.tolist(), strict=False):
            with np.errstate(over="ignore"):
                ratio = [number(float(np.exp(mean)), digits=4)] if self.classes else []
            known = (number(mean), f"{number(low)} to {number(high)}", *ratio)
            unknown = ("—", "not determined by these rows", *(["—"] if ratio else []))
            lines.append((shorten(name, width=60), *(known if np.isfinite(high - low) else unknown)))
        more = f" {count(len(self.names) - MAX_LINES)} more are not shown." if len(self.names) > MAX_LINES else ""
        reading = (
            f"The change in {what} when an input rises by one of its units (a level: compared with the reference "
            f"level), the other inputs held fixed. Fitted to all rows.{more}"
        )
        return Listing(head, lines, reading, f"Coefficients of {self.model}")

    def non_zero(self) -> str:
        """How many coefficients a penalty has left, the largest named; empty without a penalty, or for one column."""
        size = np.abs(self.estimate).max(axis=0)
        n, n_all = int(np.count_nonzero(size)), len(size)
        if not self.selects or n == n_all == 1:
            return ""
        if not n:
            return f"Every coefficient of {self.model} is zero: it predicts the same value for all rows."
        if n == n_all:
            return f"{'Both' if n == 2 else f'All {spelled(n)}'} coefficients of {self.model} are non-zero."
        order = np.lexsort((-size * self.std, size == 0))[: min(n, _MAX_NAMED)]
        some = listing([f"“{shorten(self.names[j])}”" if self.words[j] else shorten(self.names[j]) for j in order])
        whose = f": {some}" if n <= _MAX_NAMED else f"; the largest are those of {some}"
        are = "is" if n == 1 else "are"
        return f"{spelled(n).capitalize()} of {spelled(n_all)} coefficients {are} non-zero in {self.model}{whose}."

    def weights(self) -> tuple[Vector, list[Any]]:
        """The largest coefficient of each column in the log odds of a class times its deviation, and the class."""
        # The log odds of two classes are those of the second; of more classes, only differences between them count.
        one = len(self.estimate) == 1
        coef = np.vstack([-self.estimate, self.estimate]) if one else self.estimate - self.estimate.mean(axis=0)
        return self.std * coef.max(axis=0), [self.classes[k] for k in coef.argmax(axis=0)]

    def weight_sentence(self, target: str) -> str:
        """Which inputs, and which words of a text, favor which class."""
        values, labels = self.weights()
        groups: dict[str, list[int]] = {}
        for i in np.argsort(-values, kind="stable")[: min(_MAX_NAMED_BY_SIZE, np.count_nonzero(values))].tolist():
            groups.setdefault(class_name(labels[i], target), []).append(i)
        said = []
        for label, rows in groups.items():
            words = [f"“{shorten(self.names[i])}”" for i in rows if self.words[i]]
            parts = [shorten(self.names[i]) for i in rows if not self.words[i]]
            parts += [f"the word{'' if len(words) == 1 else 's'} {listing(words)}"] if words else []
            said.append(f"{listing(parts)} for {label}")
        return f"Largest coefficients: {'; '.join(said)}."

    def weight_figure(self, target: str) -> Figure:
        """The largest coefficients of a linear classifier that has no intervals for them."""
        values, labels = self.weights()
        n, used = len(values), int(np.count_nonzero(values))
        rows = np.argsort(-values, kind="stable")[:used]
        shown = "all are shown" if used <= MAX_BARS else f"the {MAX_BARS} largest are shown"
        whole = f"{count(used)} of {count(n)} coefficients are non-zero" if used < n else plural(n, "coefficient")
        return bar_figure(
            "weights",
            "Which inputs change the predictions?",
            [f"{shorten(self.names[i])} → {class_name(labels[i], target)}" for i in rows],
            values[rows],
            label="coefficient × standard deviation",
            answer=f"{self.weight_sentence(target)} {whole}; {shown}.",
            reading="Coefficient of an input in the log odds of a class times the standard deviation of the input, so "
            "that rare inputs count little. Associations, not causes.",
        )


@dataclass(frozen=True)
class Effects:
    """Change of the target when a feature moves by one step, the others fixed, with 95 % intervals.

    For a model of the transformed target it is the change of the transformed one; `transform` is its name.
    """

    model: str
    names: list[str]
    estimate: Vector
    lower: Vector
    upper: Vector
    transform: str = ""

    @property
    def is_clear(self) -> NDArray[np.bool_]:
        """Which intervals exclude zero."""
        return (self.lower > 0) | (self.upper < 0)

    @property
    def is_known(self) -> NDArray[np.bool_]:
        """Which intervals are finite: that of a coefficient that the data don't determine isn't."""
        return np.isfinite(self.upper - self.lower)

    @property
    def strength(self) -> Vector:
        """|estimate| divided by the width of its interval, which doesn't depend on units; 0 where there is none."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.abs(self.estimate) / (self.upper - self.lower)
        return np.where(self.is_known & (self.estimate != 0), ratio, 0.0)


def steps(X: Any) -> tuple[Vector, Vector]:
    """The step of each column and its standard deviation, which is the step unless there are only two values.

    Values between low and high have at most the variance (high − mean)(mean − low), and exactly that if all of them are
    at the ends.

    >>> steps(np.array([[0.0, 1.0], [1.0, 2.0], [1.0, 3.0]]))[0].round(3)
    array([1.   , 0.816])
    """
    if is_sparse(X):
        mean, variance = mean_variance_axis(X.tocsr().astype(np.float64), axis=0)
        low, high = (np.ravel(end.toarray()) for end in (X.min(axis=0), X.max(axis=0)))
    else:
        X = np.asarray(X, dtype=np.float64)
        mean, variance, low, high = (of(X, axis=0) for of in (np.mean, np.var, np.min, np.max))
    has_two = np.isclose(variance, (high - mean) * (mean - low), rtol=1e-9, atol=0.0)
    return np.where(has_two, high - low, np.sqrt(variance)), np.sqrt(variance)


def effect_sentences(fact: Effects, *, best: str, target: str) -> list[str]:
    """The clearest effects and their direction; of a log target the clearest as a factor."""
    names = [shorten(name) for name in fact.names]
    clear = np.flatnonzero(fact.is_clear)
    if not len(clear):
        return [f"No coefficient of {fact.model} differs clearly from zero."]
    # Among many columns some exclude zero by chance: they aren't named beside clearer ones.
    strong = clear[fact.strength[clear] >= _STRONG]
    clear = strong if len(strong) else clear
    clearest = clear[np.argsort(-fact.strength[clear], kind="stable")][:4]
    up = [names[i] for i in clearest if fact.estimate[i] > 0]
    down = [names[i] for i in clearest if fact.estimate[i] < 0]
    ways = [f"{way} with {listing(group)}" for way, group in (("rises", up), ("falls", down)) if group]
    unknown = [name for name, known in zip(names, fact.is_known, strict=True) if not known]
    whose = "" if fact.model == best else f" in {fact.model}"
    fixed = ", other inputs held fixed" if len(names) > 1 else ""
    rest = f" These rows don't determine the coefficients of {listing(unknown, at_most=3)}." if unknown else ""
    said = [f"Clearest effect{'s' * (len(clearest) > 1)}{whose}: {target} {' and '.join(ways)}{fixed}.{rest}"]
    if fact.transform == "log":
        top = clearest[0]
        said.append(
            f"The clearest one, {names[top]}, multiplies {target} by {number(float(np.exp(fact.estimate[top])))} for "
            "each standard deviation (an input with two values: from one to the other)."
        )
    return said


def coefficient_sentence(fact: Effects, *, best: str, shown: int) -> str:
    """Which coefficients differ clearly from zero, and of which model they are if not of the selected one."""
    names, n, clear = [shorten(name) for name in fact.names], len(fact.names), np.flatnonzero(fact.is_clear)
    if len(clear):
        every = "both" if n == 2 else f"all {spelled(n)}"
        some = every if len(clear) == n else f"{spelled(len(clear))} of the {spelled(n)}"
        which = "the only coefficient" if n == 1 else f"{some} coefficients"
        have = "has a 95 % interval that excludes" if len(clear) == 1 else "have 95 % intervals that exclude"
        signs = (("positive", clear[fact.estimate[clear] > 0]), ("negative", clear[fact.estimate[clear] < 0]))
        groups = [f"{listing([names[i] for i in group], at_most=8)} ({sign})" for sign, group in signs if len(group)]
        text = f"{which} {have} zero: {'; '.join(groups)}."
    elif n == 1:
        text = "the only coefficient has a 95 % interval that includes zero."
    else:
        which = "neither of the two" if n == 2 else f"none of the {spelled(n)}"
        text = f"{which} coefficients has a 95 % interval that excludes zero."
    text = capital(text) if fact.model == best else f"In {fact.model}, {text}"
    if n >= _COEFFICIENTS_WITH_CHANCE_HITS and len(clear):
        text += f" If no input had an effect, about {about(0.05 * n)} would do so by chance."
    known = int(fact.is_known.sum())
    if known < n:
        are = "coefficient is" if n - known == 1 else "coefficients are"
        text += f" {capital(spelled(n - known))} {are} not determined by these rows."
    if shown < known:
        text += f" The figure shows the {spelled(shown)} that are largest relative to their uncertainty."
    return text


def coefficient_figure(
    fact: Effects,
    *,
    best: str,
    target: str,
    moves: str = "the prediction",
    question: str = "Which inputs matter, and in which direction?",
) -> Figure:
    """The coefficients of the selected model, or of the best other one that has some."""
    rows = min(MAX_BARS, len(fact.names))
    scale = f"{fact.transform} of {target}" if fact.transform else target
    whose = f" {best} has no coefficients with intervals; these are from {fact.model}."
    factor = f" On this scale, +0.1 is about +10 % of {target}." if fact.transform == "log" else ""
    moves = f"the {scale}" if fact.transform else moves
    return figure(
        "coefficients",
        question,
        lambda ax: plots.coefficients(
            fact.names, fact.estimate, lower=fact.lower, upper=fact.upper, label=f"change in {scale}",
            max_rows=MAX_BARS, ax=ax,
        ),
        coefficient_sentence(fact, best=best, shown=rows),
        f"Change in {moves} when an input rises by one standard deviation (an input with two values: from one to the "
        f"other) and the others stay fixed, with 95 % intervals.{factor} Associations, not causes."
        f"{'' if fact.model == best else whose}",
        size=(SIZE[0], 0.9 + 0.21 * rows),
    )  # fmt: skip


@dataclass(frozen=True)
class Inputs:
    """What is known about the inputs of the selected model.

    `effects` are its coefficients with intervals, or those of another model if nothing else is known; `own` are its
    coefficients, if it is linear. `curves` are averages over rows; a table with a single numeric input has
    a `line` instead. `inclusions` are those of the model that averages over subsets, if there is one. `non_zero` says
    which coefficients a penalty has left in the selected model, or in one that it left some of.
    `nonlinearity` is that of a Gaussian process along each column. `failures` say what couldn't be computed. `tabled`
    are the coefficients with intervals of the selected model or the best other one. `terms` are those of an additive
    model that is selected, or tied with the selected one, and take the place of curves.
    """

    effects: Effects | None = None
    influence: Influence | None = None
    own: Coefficients | None = None
    line: Curve | None = None
    curves: list[Curve] = field(default_factory=list)
    noise: float | None = None
    nonlinearity: dict[str, float] = field(default_factory=dict)
    inclusions: Inclusions | None = None
    linear: bool = False
    non_zero: str = ""
    terms: Terms | None = None
    failures: list[str] = field(default_factory=list)
    tabled: Coefficients | None = None

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
        return [*said, self.non_zero] if self.non_zero else said


def inputs(study: Study, *, n_rows: int, spread: float) -> Inputs:
    """Examine the selected model, and the others only if it says nothing about its inputs.

    Inclusion probabilities are those of a model over all subsets, whichever model is selected. `n_rows` is the number
    of held-out rows; `spread` the standard deviation of the target, or infinite for classes.
    """
    best, frame, models = study.selected, study.data.frame, study.comparison.fitted
    tried = dict.fromkeys([best, *(score.name for score in study.comparison.scores)])
    known = {name: models[name] for name in tried if name in models}
    model, failures = known[best], list[str]()

    def attempt(what: str, work: Callable[[], T], otherwise: T) -> T:
        """The result of the work; if it fails, the page says so and goes on."""
        try:
            return work()
        except Exception as error:
            failures.append(f"{what} could not be computed ({type(error).__name__}: {error}).")
            return otherwise

    included = attempt("Inclusion probabilities", lambda: inclusions(known, n_rows), None)

    def coefficients() -> list[Coefficients]:
        every = (Coefficients.of(name, each, frame) for name, each in known.items())
        return [each for each in every if each is not None]

    linear: list[Coefficients] = attempt("Coefficients", coefficients, [])
    effects = {each.model: sized for each in linear if (sized := each.effects()) is not None}
    own = next((each for each in linear if each.model == best), None)
    tabled = next((each for each in linear if each.model in effects), None)
    left = [each.non_zero() for each in linear if each is own or (included is None and not each.estimate.all())]
    sparse = next(filter(None, left), "")
    found = attempt("The description", lambda: describe(model), None)
    if found is None or found.curve is None:
        return Inputs(
            next(iter(effects.values()), None), inclusions=included, non_zero=sparse, failures=failures, tabled=tabled
        )
    moved = attempt("Influences of the inputs", lambda: influence(model, frame, spread=spread), None)
    chosen = effects.get(best) or (next(iter(effects.values()), None) if moved is None else None)
    only, drawn, along = set(model.without_exposure.sources()), list[Curve](), None
    if len(only) == 1 and not found.classes:
        along = attempt("The curve", lambda: line(model, frame, next(iter(only))), None)
    added: Terms | None = None
    if along is None:
        added = attempt("Terms of the additive model", lambda: terms(best, study.comparison.tied, known), None)
    if along is None and moved is not None and added is None:
        # Predictions are proportional to an exposure, which is no effect to judge.
        parts = ([name for name in moved.members[i] if name in only] for i in moved.order if moved.values[i] > 0)
        shown = [names for names in parts if names][:MAX_CURVES]
        drawn = attempt("Curves of the inputs", lambda: curves(model, frame, sampled(frame), shown), [])
        drawn = [_judged(curve, effects.get(best), moved, model) for curve in drawn]
    return Inputs(
        chosen, moved, own, along, drawn[:MAX_CURVES], found.noise,
        nonlinearity=_nonlinearity(model, found) if found.measure.startswith("nonlinearity") else {},
        inclusions=included, linear=own is not None, non_zero=sparse, terms=added, failures=failures, tabled=tabled,
    )  # fmt: skip


def _judged(curve: Curve, own: Effects | None, moved: Influence, model: Any) -> Curve:
    """A curve with its effect judged as the summary does, if the model doesn't tell how points of a curve covary.

    A band around each point is no measure: all points share the uncertainty of the function's level.
    """
    if curve.is_flat is not None or curve.classes:
        return curve
    if own is None:
        return replace(curve, is_flat=is_little(moved, curve.name))
    inputs = zip(model.without_exposure.sources(), own.is_clear, strict=True)
    return replace(curve, is_flat=not any(clear for name, clear in inputs if name in (curve.name, *curve.together)))


def is_little(fact: Influence, column: str) -> bool:
    """Whether a column is among those that `influence_sentence` says have little influence."""
    value = next(fact.values[i] for i, members in enumerate(fact.members) if column in members)
    return bool(value < _LITTLE * fact.values.max())


def influence_sentence(fact: Influence, *, best: str, target: str) -> str:
    """Which columns change the predictions most."""
    groups = [listing([shorten(name) for name in members], at_most=8) for members in fact.together]
    correlated = (
        f"{'; '.join(groups)} vary together or determine each other: these rows can't separate their effects."
        if groups
        else ""
    )
    order = fact.order
    if not len(order) or not fact.values[order[0]] > 0:
        return f"No input changes the predictions of {best}. {correlated}".strip()
    names, values = [_bar_name(fact.members[i]) for i in order], fact.values[order]
    strong = int(np.sum(values >= 0.5 * values[0]))
    little = names[int(np.sum(values >= _LITTLE * values[0])) :]
    shown = zip(names[:2], values[:2].tolist(), strict=True)
    sizes = [f"{name} by {number(v, digits=2)}" for name, v in shown if v > 0]
    rest = listing(little[:4]) if 0 < len(little) <= 4 else f"{spelled(len(little))} others"
    return (
        f"Most influential: {listing(names[:strong], at_most=4)}. A change by one standard deviation, or to another "
        f"value, moves the predicted {target}: {listing(sizes)} (root mean square over the rows)."
        f"{f' Little influence: {rest}.' if little else ''} {correlated}"
    ).strip()


def influence_figure(
    influence: Influence,
    *,
    best: str,
    target: str,
    moves: str = "the prediction",
    question: str = "Which inputs matter?",
) -> Figure:
    """How much each column of the table changes the predictions."""
    order = np.array([i for i in influence.order if influence.values[i] > 0], dtype=np.intp)
    zero = len(influence.members) - len(order)
    rest = f" Not shown: {plural(zero, 'input', spell=True)} without influence." if zero else ""
    grouped = " Correlated inputs share one bar, for taking the values of another row." if influence.together else ""
    return bar_figure(
        "influences",
        question,
        [_bar_name(influence.members[i]) for i in order],
        influence.values[order],
        label=f"change in {target}",
        answer=influence_sentence(influence, best=best, target=target),
        reading=f"Change in {moves} (root mean square over the rows) when an input moves by one standard deviation or, "
        f"if categorical, takes another of its values.{grouped}{rest} Associations, not causes.",
    )


def _bar_name(members: Sequence[str]) -> str:
    more = f" + {len(members) - 1} correlated" if len(members) > 1 else ""
    return f"{shorten(members[0], width=28 - len(more))}{more}"


def _nonlinearity(model: Any, found: Any) -> dict[str, float]:
    """The standard deviation of each column of the table divided by its length scale.

    For a column that was prepared as several ones (levels, a mark for missing values) their squares add up, as they do
    in the distance between two rows.
    """
    squares = dict.fromkeys(model.without_exposure.sources(), 0.0)
    for column, (_, value) in zip(model.without_exposure.sources(), found.inputs, strict=True):
        squares[column] += value**2
    return {column: float(np.sqrt(value)) for column, value in squares.items()}


def nonlinearity_figure(fact: Mapping[str, float]) -> Figure:
    """How nonlinear a Gaussian process is along each column of the table."""
    return bar_figure(
        "nonlinearity",
        "Along which inputs is the function nonlinear?",
        list(fact),
        np.array(list(fact.values())),
        label="standard deviation of the input / length scale",
        answer=nonlinearity_sentence(fact),
        reading="Long bars: strongly curved along this input. Short bars: nearly linear, steep or flat. The length "
        "scale is the distance over which the function changes direction, not the size of the effect.",
    )


def nonlinearity_sentence(fact: Mapping[str, float]) -> str:
    """Along which columns the function is curved, and along which it is nearly linear."""
    order = sorted(fact, key=lambda name: -fact[name])
    largest = fact[order[0]]
    strong = [shorten(name) for name in order if fact[name] >= 0.5 * largest]
    linear = [shorten(name) for name in order if fact[name] < _NEARLY_LINEAR * largest]
    text = f"Most nonlinear along {listing(strong, at_most=4)}"
    if len(linear) > 4:
        return f"{text}; nearly linear along {spelled(len(linear))} of {spelled(len(order))} inputs."
    return f"{text}; nearly linear along {listing(linear)}." if linear else f"{text}."
