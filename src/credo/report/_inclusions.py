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

from credo.report._assumption import Assumption, assumption
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
    over subsets has come to an end, `error` what it says of its own error, and `assumed` what was held beforehand. Of a
    `wide` table, which has more inputs than rows, many may say the same and share their probability.
    """

    model: str
    names: list[str]
    values: Vector
    either: list[Either]
    path: LassoPath | None = None
    settled: bool = True
    error: float = 0.0
    assumed: Assumption | None = None
    wide: bool = False

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
            return replace(
                found,
                # What stands in for what is known least of all.
                either=found.either if settled else [],
                path=path,
                settled=settled,
                error=float(np.max(estimator.posterior_.diagnostics.get("inclusion_error", 0.0))),
                assumed=assumption(estimator.prior_inclusion, origins),
                wide=len(found.names) > len(frame),
            )
    return None


def grouped(model: str, origins: Sequence[str], found: Any) -> Inclusions:
    """The posterior over subsets of prepared columns in terms of what they were made of."""
    names = list(dict.fromkeys(origins))
    number = {name: i for i, name in enumerate(names)}
    place = np.array([number[origin] for origin in origins])
    models, weight = found.averaged
    counts = np.zeros((len(models), len(names)), dtype=np.int16)
    for row, subset in zip(counts, models, strict=True):
        np.add.at(row, place[list(subset)], 1)
    single = np.asarray(found.inclusion, dtype=np.float64)
    largest, total = np.zeros(len(names)), np.zeros(len(names))
    np.maximum.at(largest, place, single)
    np.add.at(total, place, single)
    values = np.array([_any(counts[:, [i]], weight, total[[i]], largest[[i]]) for i in range(len(names))])
    return Inclusions(model, names, values, _either(names, values, counts, weight, total))


def _any(counts: NDArray[np.int16], weight: Vector, total: Vector, largest: Vector) -> float:
    """The probability that one of the columns of some inputs is in, as `ModelPosterior.any_of` has it.

    It is the sum of their own, which are over all subsets, without what they are in together, which those that averages
    go over say: a bar, and that of a group of bars, agree with each other.
    """
    spare = weight @ np.maximum(counts.sum(axis=1) - 1, 0)
    return float(np.clip(total.sum() - spare, largest.max(), min(float(total.sum()), 1.0)))


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


def _either(
    names: list[str], values: Vector, counts: NDArray[np.int16], weight: Vector, total: Vector
) -> list[Either]:  # fmt: skip
    """Groups of inputs that are undecided one by one, and of which one is almost surely in."""
    open_to = [i for i in np.argsort(-values, kind="stable").tolist() if _ADDS <= values[i] < SURE]
    inside = counts > 0
    found: list[Either] = []
    taken: set[int] = set()
    for first in open_to:
        if first in taken:
            continue
        group, one = [first], float(values[first])
        for other in open_to:
            if one >= SURE or len(group) == _MOST_MEMBERS:
                break
            if other in group or other in taken or not _shun(inside, weight, group, other):
                continue
            both = [*group, other]
            more = _any(counts[:, both], weight, total[both], values[both])
            if more >= one + _ADDS:
                group, one = both, more
        if len(group) > 1 and one >= SURE:
            taken.update(group)
            found.append(Either([names[i] for i in group], one, _several(values[group], inside[:, group], weight, one)))
    return found


def _several(values: Vector, inside: NDArray[np.bool_], weight: Vector, one: float) -> float:
    """The probability that more than one is in: of two, what their own leave beside that of one of them.

    With N in, P(N ≥ 2) ≤ E[max(N − 1, 0)] = Σ p − P(N ≥ 1), with equality for two.
    """
    spare = max(float(values.sum()) - one, 0.0)
    return spare if len(values) == 2 else min(spare, float(weight @ (inside.sum(axis=1) > 1)))


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
