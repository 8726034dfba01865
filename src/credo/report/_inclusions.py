"""How probable it is that each column of the table is in a linear model of the target, from the posterior over subsets.

A column that was prepared as several (levels, a mark for missing values) is in if any of them is. The words of a text
count one by one.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.report._inputs import sources
from credo.sparse import LassoPath, lasso_path

Vector = NDArray[np.float64]

# From these probabilities on an input is almost surely in, and probably in; below the last it is probably out.
SURE, IN, OUT = 0.95, 0.75, 0.25
# Of two inputs that stand in for each other, both are in less often than this share of what chance would make it.
_SHUN = 0.75
# A stand-in adds at least so much to the probability that one of the group is in; larger groups say nothing.
_ADDS, _MOST_MEMBERS = 0.02, 5
# Tables of more numbers than this go without the lasso's path, which ends at this share of its largest penalty.
_MAX_CELLS, _PATH_END = 10**6, 0.01


@dataclass(frozen=True)
class Either:
    """Inputs of which one is in, almost surely: which one, the rows don't tell. `both` is that more than one is."""

    names: list[str]
    one: float
    both: float


@dataclass(frozen=True)
class Inclusions:
    """The probability that each input is in, by the columns of the table, and those that stand in for each other.

    `path` is the lasso's, with the largest weight of each input's prepared columns; `settled` is whether the search
    over subsets has come to an end.
    """

    model: str
    names: list[str]
    values: Vector
    either: list[Either]
    path: LassoPath | None = None
    settled: bool = True

    @property
    def order(self) -> NDArray[np.intp]:
        """The inputs, the most probable first."""
        return np.argsort(-self.values, kind="stable")

    def between(self, low: float, high: float) -> list[str]:
        """The inputs of a probability from `low` up to, and without, `high`, the most probable first."""
        return [self.names[i] for i in self.order if low <= self.values[i] < high]


def inclusions(models: Mapping[str, Any], frame: Any, y: Any) -> Inclusions | None:
    """From the first model that has a posterior over subsets of the prepared columns.

    None where there is no such model, or a single input. Of numbers, the lasso of the same rows stands beside it.
    """
    for name, model in models.items():
        estimator = model.estimator_
        if hasattr(estimator, "inclusion_probabilities_"):
            origins = _origins(model)
            if len(set(origins)) < 2:
                return None
            path = None if hasattr(estimator, "classes_") else _path(model, origins, frame, y)
            found, settled = grouped(name, origins, estimator.posterior_), bool(estimator.result_.converged)
            # What stands in for what is known least of all.
            return replace(found, either=found.either if settled else [], path=path, settled=settled)
    return None


def grouped(model: str, origins: Sequence[str], found: Any) -> Inclusions:
    """The posterior over subsets of prepared columns in terms of what they were made of."""
    names = list(dict.fromkeys(origins))
    number = {name: i for i, name in enumerate(names)}
    place = np.array([number[origin] for origin in origins])
    models, weight = found.averaged
    inside = np.zeros((len(models), len(names)), dtype=bool)
    for row, subset in zip(inside, models, strict=True):
        row[place[list(subset)]] = True
    single = np.asarray(found.inclusion, dtype=np.float64)
    # One prepared column has its own probability, over all subsets. That of several lies between the largest and the
    # sum of theirs, and the likeliest subsets say where.
    largest, total = np.zeros(len(names)), np.bincount(place, single, minlength=len(names))
    np.maximum.at(largest, place, single)
    values = np.clip(weight @ inside, largest, np.minimum(total, 1.0))
    return Inclusions(model, names, values, _either(names, values, inside, weight))


def _path(model: Any, origins: Sequence[str], frame: Any, y: Any) -> LassoPath | None:
    """The lasso's path on the prepared columns, by inputs; None where the table is too large for a picture's sake."""
    rows = model.preparation_.transform(frame)
    if rows.shape[0] * rows.shape[1] > _MAX_CELLS:
        return None
    with warnings.catch_warnings():
        # Where a penalty's gap isn't met, the order of the inputs is seen all the same.
        warnings.simplefilter("ignore")
        alphas, coefs, gaps = lasso_path(rows, y, eps=_PATH_END)
    names = list(dict.fromkeys(origins))
    largest = np.zeros((len(names), len(alphas)))
    np.maximum.at(largest, [names.index(origin) for origin in origins], np.abs(coefs))
    return LassoPath(alphas, largest, gaps, names=names)


def _either(names: list[str], values: Vector, inside: NDArray[np.bool_], weight: Vector) -> list[Either]:
    """Groups of inputs that are undecided one by one, and of which one is almost surely in."""
    open_to = [i for i in np.argsort(-values, kind="stable").tolist() if _ADDS <= values[i] < SURE]
    found: list[Either] = []
    taken: set[int] = set()
    for first in open_to:
        if first in taken:
            continue
        group, one = [first], min(float(weight @ inside[:, first]), float(values[first]))
        for other in open_to:
            if one >= SURE or len(group) == _MOST_MEMBERS:
                break
            if other in group or other in taken or not _shun(inside, weight, group, other):
                continue
            # Where the subsets that averages go over hold little, they don't say more than the probabilities allow.
            more = min(float(weight @ inside[:, [*group, other]].any(axis=1)), float(values[[*group, other]].sum()))
            if more >= one + _ADDS:
                group, one = [*group, other], more
        if len(group) > 1 and one >= SURE:
            taken.update(group)
            several = float(weight @ (inside[:, group].sum(axis=1) > 1))
            found.append(Either([names[i] for i in group], one, several))
    return found


def _shun(inside: NDArray[np.bool_], weight: Vector, group: list[int], other: int) -> bool:
    """Whether an input is hardly in together with any one of a group."""
    share = weight @ inside[:, other]
    return all(weight @ (inside[:, i] & inside[:, other]) < _SHUN * share * (weight @ inside[:, i]) for i in group)


def _origins(model: Any) -> list[str]:
    """What the inputs are called: a column of the table, or a word of its text."""
    names = [str(name) for name in model.preparation_.get_feature_names_out()]
    columns = sources(model)
    if columns is None:
        return names
    texts = {column.name for column in model.preparation_.columns_ if column.kind == "text"}
    return [name if column in texts else str(column) for name, column in zip(names, columns, strict=True)]
