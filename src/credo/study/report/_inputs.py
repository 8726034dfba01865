"""Which columns of the table change the predictions, and how nonlinear a Gaussian process is along each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.core.estimator import is_sparse
from credo.metrics import Influence, final_step
from credo.metrics import influence as influence_of
from credo.plots import shorten
from credo.study.report._numbers import Figure, bar_figure, capital, listing, number, several, spelled
from credo.tables.errors import pandas

# Limits beyond which influences aren't computed: columns of the table, and cells of the prepared table. Of more rows
# than the last number, a random sample is used.
_MAX_COLUMNS, MAX_CELLS, _MAX_ROWS = 100, 10**7, 5000
# An input has little influence below this share of the largest; the function is nearly linear along an input below
# this share of the largest nonlinearity.
_LITTLE, _NEARLY_LINEAR = 0.05, 0.1

_SMOOTHNESS = {
    "RBF": "a very smooth function",
    "Matern52": "a smooth function",
    "Matern32": "a function with some roughness",
    "Exponential": "a rough function",
}


def feature_names(model: Any) -> list[str]:
    """The names of the prepared columns."""
    return [str(name) for name in model.preparation_.get_feature_names_out()]


def named_rows(model: Any, frame: Any) -> Any:
    """Prepared rows in the form in which the model's estimator was fitted to them."""
    rows = model.preparation_.transform(frame)
    if is_sparse(rows) and final_step(model.estimator_).__sklearn_tags__().input_tags.sparse:
        return rows
    return with_names(model.estimator_, dense(rows))


def with_names(estimator: Any, rows: Any) -> Any:
    """Rows of numbers with the column names that an estimator was fitted to."""
    names = getattr(estimator, "feature_names_in_", None)
    return rows if names is None else pandas().DataFrame(rows, columns=list(names))


def dense(rows: Any) -> NDArray[np.float64]:
    """Rows as an array of floats."""
    return np.asarray(rows.toarray() if is_sparse(rows) else rows, dtype=np.float64)


def influence(model: Any, frame: Any, *, spread: float) -> Influence | None:
    """How much each column changes the predictions; None if the table is too large.

    `spread` is the standard deviation of the target, or infinite for classes.
    """
    columns = model.preparation_.sources()
    if len(set(columns)) > _MAX_COLUMNS or len(frame) < 2:
        return None
    estimator = model.estimator_
    predict = getattr(estimator, "predict_proba", estimator.predict)
    if len(frame) > _MAX_ROWS:
        frame = frame.iloc[np.sort(np.random.default_rng(0).permutation(len(frame))[:_MAX_ROWS])]
    X = model.preparation_.transform(frame)
    if X.shape[0] * X.shape[1] > MAX_CELLS:
        return None
    return influence_of(lambda rows: predict(with_names(estimator, rows)), dense(X), columns, spread=spread)


def is_little(fact: Influence, column: str) -> bool:
    """Whether a column is among those that `influence_sentence` says have little influence."""
    value = next(fact.values[i] for i, members in enumerate(fact.members) if column in members)
    return bool(value < _LITTLE * fact.values.max())


def influence_sentence(fact: Influence, *, best: str, target: str) -> str:
    """Which columns change the predictions most."""
    correlated = " ".join(
        f"{listing([shorten(name) for name in members], at_most=8)} vary together or determine each other: these rows "
        "can't separate their effects."
        for members in fact.together
    )
    order = fact.order
    if not len(order) or not fact.values[order[0]] > 0:
        return f"No input changes the predictions of {best}. {correlated}".strip()
    names, values = [_entry(fact.members[i]) for i in order], fact.values[order]
    strong = int(np.sum(values >= 0.5 * values[0]))
    some = int(np.sum(values >= _LITTLE * values[0]))
    first = capital(_change(fact, order[0], name="it" if strong == 1 else names[0]))
    text = (
        f"Most influential: {listing(names[:strong], at_most=4)}. {first} changes the predicted {target} by "
        f"{number(float(values[0]), digits=2)} (root mean square over the rows)"
    )
    if some > 1:
        text += f", {_change(fact, order[1], name=names[1])} by {number(float(values[1]), digits=2)}"
    return f"{text}.{_little(names[some:], there_are_others=strong < some)} {correlated}".strip()


def _entry(members: Sequence[str]) -> str:
    """An input; of correlated ones the first, with the other or their number.

    >>> _entry(["froude"]), _entry(["wall", "roof"]), _entry(["wall", "roof", "height"])
    ('froude', 'wall (with roof)', 'wall (with two correlated inputs)')
    """
    first = shorten(members[0])
    if len(members) == 2:
        return f"{first} (with {shorten(members[1])})"
    return first if len(members) == 1 else f"{first} (with {spelled(len(members) - 1)} correlated inputs)"


def _change(fact: Influence, i: int, *, name: str) -> str:
    if len(fact.members[i]) > 1:
        return f"exchanging {'them' if name == 'it' else name} between rows"
    return f"one standard deviation of {name}" if fact.measured[i] else f"another value of {name}"


def _little(names: list[str], *, there_are_others: bool) -> str:
    if not names:
        return ""
    who = listing(names) if len(names) <= 4 else f"{spelled(len(names))} others"
    if len(names) > 1 and not there_are_others:
        who = f"the other {spelled(len(names))}"
    return f" Little influence: {who}."


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
    rest = f" Not shown: {several(zero, 'input', spell=True)} without influence." if zero else ""
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


@dataclass(frozen=True)
class Process:
    """The noise of a Gaussian process, its kernel, and its nonlinearity along each column of the table.

    The nonlinearity is the standard deviation of a column divided by its length scale. For a column that was prepared
    as several ones (levels, a mark for missing values) their squares add up, as they do in the distance between two
    rows. None if all columns share one length scale.
    """

    model: str
    kernel: str
    noise: float
    names: list[str]
    nonlinearity: NDArray[np.float64] | None
    noise_varies: bool = False


def process(name: str, model: Any) -> Process | None:
    """What a Gaussian process has learned; None for other models."""
    estimator = final_step(model.estimator_)
    noise = getattr(estimator, "noise_variance_", None)
    if noise is None or not hasattr(estimator, "kernel_"):
        return None
    columns = model.preparation_.sources()
    names = list(dict.fromkeys(columns))
    each = np.asarray(getattr(estimator, "relevance_", np.empty(0)), dtype=np.float64)
    grouped = None
    if len(each) == len(columns):
        grouped = np.sqrt(np.bincount([names.index(c) for c in columns], each**2, minlength=len(names)))
    std = float(np.sqrt(np.mean(np.asarray(noise, dtype=np.float64))))
    terms = getattr(estimator.kernel_, "terms", (estimator.kernel_,))
    kernel = " + ".join(type(term).__name__ for term in terms)
    noise_model = getattr(estimator, "noise", None)
    varies = isinstance(noise_model, str) and noise_model == "heteroscedastic"
    return Process(name, kernel, std, names, grouped, varies)


def process_sentence(fact: Process, *, target: str, spread: float) -> str:
    """How smooth the function is, and how much noise there is."""
    stationary = fact.kernel.removesuffix(" + Linear")
    kind = _SMOOTHNESS.get(stationary, "a function")
    if stationary != fact.kernel and stationary in _SMOOTHNESS:
        kind = f"the sum of a linear and {kind}"
    inputs = "its only input" if len(fact.names) == 1 else f"its {spelled(len(fact.names))} inputs"
    # Less noise than this is a search that ran to zero, not an estimate.
    is_noisy = spread > 0 and fact.noise / spread >= 1e-3
    varies = " on average, which varies with the inputs" if fact.noise_varies else ""
    noise = f"noise of standard deviation {number(fact.noise)}{varies}" if is_noisy else "almost no noise"
    return f"{fact.model} models {target} as {kind} of {inputs} plus {noise}."


def nonlinearity_figure(fact: Process) -> Figure:
    """How nonlinear a Gaussian process is along each column of the table."""
    return bar_figure(
        "nonlinearity",
        "Along which inputs is the function nonlinear?",
        fact.names,
        fact.nonlinearity,
        label="standard deviation of the input / length scale",
        answer=nonlinearity_sentence(fact),
        reading="Long bars: strongly curved along this input. Short bars: nearly linear, steep or flat. The length "
        "scale is the distance over which the function changes direction, not the size of the effect.",
    )


def nonlinearity_sentence(fact: Process) -> str:
    """Along which columns the function is curved, and along which it is nearly linear."""
    assert fact.nonlinearity is not None
    order = np.argsort(-fact.nonlinearity, kind="stable")
    names, values = [shorten(fact.names[i]) for i in order], fact.nonlinearity[order]
    strong = int(np.sum(values >= 0.5 * values[0]))
    linear = [name for name, value in zip(names, values, strict=True) if value < _NEARLY_LINEAR * values[0]]
    text = f"Most nonlinear along {listing(names[:strong], at_most=4)}"
    if len(linear) > 4:
        return f"{text}; nearly linear along {spelled(len(linear))} of {spelled(len(names))} inputs."
    return f"{text}; nearly linear along {listing(linear)}." if linear else f"{text}."
