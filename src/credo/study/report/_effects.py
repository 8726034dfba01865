"""The coefficients of a fitted model on a scale on which they can be compared: facts, sentences and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array
from sklearn.utils.sparsefuncs import mean_variance_axis

from credo import plots
from credo.core.estimator import is_sparse
from credo.plots import shorten
from credo.study.report._classes import class_name
from credo.study.report._inputs import feature_names
from credo.study.report._numbers import (
    MAX_BARS,
    SIZE,
    Figure,
    about,
    bar_figure,
    capital,
    count,
    figure,
    listing,
    number,
    several,
    spelled,
)

Vector = NDArray[np.float64]

# A normal variable is within this many standard deviations with probability 0.95.
_Z = 1.959963984540054
# An effect of about three standard deviations, as a multiple of the width of its 95 % interval.
_STRONG = 0.75
# With this many coefficients, the report says how many would exclude zero by chance.
_MANY = 20
# How many inputs a sentence names: by the size of their coefficient, and of those that a penalty has left.
_LARGEST, _NAMED = 8, 6


@dataclass(frozen=True)
class Effects:
    """Change of the target when a feature moves by one `step`, the others fixed, with 95 % intervals.

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


def effects(models: Mapping[str, Any], frame: Any) -> Effects | None:
    """The coefficients of the first model that has intervals for them."""
    for name, model in models.items():
        estimator, transform = untransformed(model.estimator_)
        found = _intervals(estimator)
        if found is None:
            continue
        # A date has the name of its column, without the day that it is counted from.
        days = {
            encoder.names()[0]: encoder.name
            for encoder in model.preparation_.encoders_
            if hasattr(encoder, "origin") and encoder.value
        }
        names = [days.get(feature, feature) for feature in feature_names(model)]
        if len(names) == len(found[0]) and np.isfinite(found[2] - found[1]).any():
            scale = step(model.preparation_.transform(frame))
            estimate, lower, upper = (part * scale for part in found)
            return Effects(name, names, estimate, lower, upper, transform)
    return None


def untransformed(estimator: Any) -> tuple[Any, str]:
    """The estimator of a transformed target and the name of the transformation; otherwise itself and ""."""
    transform: Any = getattr(estimator, "transformation_", None)
    if not hasattr(transform, "log_derivative"):
        return estimator, ""
    return estimator.estimator_, "" if transform.name == "identity" else str(transform.name)


def _intervals(estimator: Any) -> tuple[Vector, Vector, Vector] | None:
    estimate = np.asarray(getattr(estimator, "coef_", np.empty((0, 0))), dtype=np.float64)
    if hasattr(estimator, "inclusion_probabilities_"):
        lower, upper = estimator._intervals(np.arange(estimator.n_features_in_), 0.95).T
        # A coefficient whose interval is the point zero is shown as zero, not as its mean over all subsets.
        return np.where(lower == upper, 0.0, np.ravel(estimate)), lower, upper
    if estimate.ndim == 2 and len(estimate) == 1 and hasattr(estimator, "coef_std_"):
        # The log odds of two classes, with normal coefficients.
        half = _Z * np.asarray(estimator.coef_std_, dtype=np.float64)[0]
        return estimate[0], estimate[0] - half, estimate[0] + half
    if estimate.ndim != 1 or not len(estimate) or not hasattr(estimator, "confint"):
        return None
    try:
        # The intercept comes before the columns.
        lower, upper = np.asarray(estimator.confint(0.95), dtype=np.float64)[-len(estimate) :].T
    except ValueError:  # no residual degrees of freedom
        return None
    return estimate, lower, upper


def step(X: Any) -> Vector:
    """One standard deviation of each column; the difference of its values if it has only two.

    >>> step(np.array([[0.0, 1.0], [1.0, 2.0], [1.0, 3.0]])).round(3)
    array([1.   , 0.816])
    """
    if not is_sparse(X):
        X = np.asarray(X, dtype=np.float64)
        low, high = X.min(axis=0), X.max(axis=0)
        return np.where(np.all((low == X) | (high == X), axis=0), high - low, _std(X))
    # A sparse column has its stored values and, unless all are stored, zero.
    X = csc_array(X, dtype=np.float64)
    n_rows, n_columns = X.shape
    column = np.repeat(np.arange(n_columns), np.diff(X.indptr))
    has_zero = np.bincount(column, minlength=n_columns) < n_rows
    low, high = np.where(has_zero, 0.0, np.inf), np.where(has_zero, 0.0, -np.inf)
    np.minimum.at(low, column, X.data)
    np.maximum.at(high, column, X.data)
    other = (X.data != low[column]) & (X.data != high[column])
    is_binary = np.bincount(column, weights=other, minlength=n_columns) == 0
    is_binary &= ~has_zero | (low == 0) | (high == 0)
    return np.where(is_binary, high - low, _std(X))


def _std(X: Any) -> Vector:
    if is_sparse(X):
        return np.sqrt(mean_variance_axis(X.tocsr().astype(np.float64), axis=0)[1])
    return np.asarray(X, dtype=np.float64).std(axis=0)


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
    if n >= _MANY and len(clear):
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
class Weights:
    """The coefficient of each prepared column in the log odds times its standard deviation, and the class it favours.

    A column for a word of a text has that word as its name if the table has no other text.
    """

    names: list[str]
    are_words: list[bool]
    values: Vector
    classes: list[Any]

    @property
    def order(self) -> NDArray[np.intp]:
        """The columns with a non-zero coefficient, the largest first."""
        return np.argsort(-self.values, kind="stable")[: np.count_nonzero(self.values)]

    def sentence(self, target: str) -> str:
        """Which inputs, and which words of a text, favour which class."""
        groups: dict[str, list[int]] = {}
        for i in self.order[:_LARGEST].tolist():
            groups.setdefault(class_name(self.classes[i], target), []).append(i)
        said = []
        for label, rows in groups.items():
            words = [f"“{shorten(self.names[i])}”" for i in rows if self.are_words[i]]
            parts = [shorten(self.names[i]) for i in rows if not self.are_words[i]]
            parts += [f"the word{'' if len(words) == 1 else 's'} {listing(words)}"] if words else []
            said.append(f"{listing(parts)} for {label}")
        return f"Largest coefficients: {'; '.join(said)}."

    def figure(self, target: str) -> Figure:
        """The largest coefficients of a linear classifier that has no intervals for them."""
        rows, n = self.order, len(self.values)
        whole = f"{count(len(rows))} of {count(n)} coefficients are non-zero"
        if len(rows) <= MAX_BARS:
            shown = f"All {several(n, 'coefficient')} are shown." if len(rows) == n else f"{whole}, all shown."
        elif len(rows) == n:
            shown = f"The {count(MAX_BARS)} largest of {several(n, 'coefficient')} are shown."
        else:
            shown = f"{whole}; the {count(MAX_BARS)} largest are shown."
        return bar_figure(
            "weights",
            "Which inputs change the predictions?",
            [f"{shorten(self.names[i])} → {class_name(self.classes[i], target)}" for i in rows],
            self.values[rows],
            label="coefficient × standard deviation",
            answer=f"{self.sentence(target)} {shown}",
            reading="Coefficient of an input in the log odds of a class times the standard deviation of the input, so "
            "that rare inputs count little. Associations, not causes.",
        )


def weights(model: Any, frame: Any) -> Weights | None:
    """The coefficients of a linear classifier; None for other models, and if all are zero."""
    coef = np.asarray(getattr(model.estimator_, "coef_", np.empty(0)), dtype=np.float64)
    if coef.ndim != 2 or coef.shape[1] != len(feature_names(model)) or not hasattr(model, "classes_"):
        return None
    # The log odds of two classes are those of the second; of more classes, only differences between them count.
    coef = np.vstack([-coef, coef]) if len(coef) == 1 else coef - coef.mean(axis=0)
    values = _std(model.preparation_.transform(frame)) * coef.max(axis=0)
    if not values.any():
        return None
    return Weights(*_words(model), values, [model.classes_[k].item() for k in coef.argmax(axis=0)])


def _words(model: Any) -> tuple[list[str], list[bool]]:
    """The names of the prepared columns, and which are words of a text; these alone if there is no other text."""
    names = feature_names(model)
    texts = [column.name for column in model.preparation_.columns_ if column.kind == "text"]
    are_words = [origin in texts for origin in model.preparation_.sources()]
    prefix = f"{texts[0]}: " if len(texts) == 1 else ""
    return [name.removeprefix(prefix) if w else name for name, w in zip(names, are_words, strict=True)], are_words


@dataclass(frozen=True)
class NonZero:
    """The columns whose coefficients a penalty hasn't set to zero, the largest first, and the number of all."""

    model: str
    names: Sequence[str]
    n_coefficients: int

    def __str__(self) -> str:
        n, n_all, model = len(self.names), self.n_coefficients, self.model
        if not n:
            return f"Every coefficient of {model} is zero: it predicts the same value for all rows."
        if n == n_all:
            return f"{'Both' if n == 2 else f'All {spelled(n)}'} coefficients of {model} are non-zero."
        some = listing([shorten(name) for name in self.names[:_NAMED]])
        whose = f": {some}" if n <= _NAMED else f"; the largest are those of {some}"
        are = "is" if n == 1 else "are"
        return f"{spelled(n).capitalize()} of {spelled(n_all)} coefficients {are} non-zero in {model}{whose}."


def non_zero(models: Mapping[str, Any], frame: Any) -> NonZero | None:
    """The non-zero coefficients of the first model that sets some to zero; None if there is no such model.

    Also None if the only coefficient is not zero, which goes without saying.
    They are ordered by their size times the standard deviation of the column. Words of a text are in quotes.
    """
    for title, model in models.items():
        estimator, _ = untransformed(model.estimator_)
        if hasattr(estimator, "selected_"):
            size = np.abs(np.atleast_2d(estimator.coef_)).max(axis=0)
            moved = size * _std(model.preparation_.transform(frame))
            order = np.lexsort((-moved, size == 0))[: np.count_nonzero(size)]
            names = [f"“{name}”" if is_word else name for name, is_word in zip(*_words(model), strict=True)]
            return None if len(size) == 1 and size[0] > 0 else NonZero(title, [names[j] for j in order], len(size))
    return None
