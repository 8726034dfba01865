"""How probable it is that each column of the table is in a linear model of the target, from the posterior over subsets.

A column that was prepared as several (levels, a mark for missing values) is in if any of them is, and so is a column
with copies. The words of a text count one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.io.preparation.scale import is_sparse
from credo.notices import collected
from credo.penalized import LassoPath, lasso_path
from credo.report._alike import Alike, Copies, Sums, alike
from credo.report._assumption import Assumption, assumption
from credo.report._effects import untransformed
from credo.report._inputs import origins as origins_of
from credo.report._stand_ins import ADDS, SURE, Counts, Either, Some, combined, either_of

Vector = NDArray[np.float64]

# Tables of more numbers than this go without the lasso's path, which ends at this share of its largest penalty.
_MAX_CELLS, _PATH_END = 10**6, 0.01
# And in tables of more than this, inputs aren't compared with each other.
_MAX_COMPARED = 10**7


@dataclass(frozen=True)
class Inclusions:
    """The probability that each input is in, by the columns of the table, and those that stand in for each other.

    Of `copies` the first stands in `names` for all of them, which is in if any of them is. `path` is the lasso's, with
    the largest weight of each input's prepared columns; `settled` is whether the search over subsets has come to an
    end, `error` what it says of its own error, and `assumed` what was held beforehand. Of a `wide` table, which has
    more inputs than rows, many may say the same and share their probability.
    """

    model: str
    names: list[str]
    values: Vector
    either: list[Either]
    some: list[Some] = field(default_factory=list)
    copies: list[Copies] = field(default_factory=list)
    path: LassoPath | None = None
    settled: bool = True
    error: float = 0.0
    assumed: Assumption | None = None
    wide: bool = False

    @property
    def order(self) -> NDArray[np.intp]:
        """The inputs, the most probable first."""
        return np.argsort(-self.values, kind="stable")

    @property
    def groups(self) -> list[Either | Some]:
        """Inputs that are told together, no input in two of the groups."""
        return [*self.either, *self.some]

    @property
    def n_inputs(self) -> int:
        """How many there are in the table, copies and all."""
        return self.n_of(self.names)

    def n_of(self, names: Sequence[str]) -> int:
        """How many inputs of the table some names stand for."""
        others = {group.names[0]: len(group.names) - 1 for group in self.copies}
        return len(names) + sum(others.get(name, 0) for name in names)

    def value(self, name: str) -> float:
        """The probability that an input is in."""
        return float(self.values[self.names.index(name)])

    def between(self, low: float, high: float) -> list[str]:
        """The inputs of a probability from `low` up to, and without, `high`, the most probable first."""
        return [self.names[i] for i in self.order if low <= self.values[i] < high]


def inclusions(models: Mapping[str, Any], frame: Any, y: Any) -> Inclusions | None:
    """From the first model that has a posterior over subsets of the prepared columns.

    None where there is no such model, or a single input. Of numbers, the lasso of the same rows stands beside it.
    """
    inner = {name: untransformed(model.estimator_)[0] for name, model in models.items()}
    name = next((name for name, each in inner.items() if hasattr(each, "inclusion_probabilities_")), None)
    if name is None:
        return None
    estimator, every = inner[name], origins_of(models[name])
    if estimator is not models[name].estimator_:
        y = models[name].estimator_.transformation_.forward(y)
    if len(set(every)) < 2:
        return None
    rows = models[name].preparation_.transform(frame)
    same = _alike(rows, every)
    copies = joined(every, estimator.posterior_, same.copies)
    origins = _headed(every, copies)
    found = grouped(name, origins, estimator.posterior_, sums=same.sums)
    settled = bool(estimator.result_.converged)
    return replace(
        found,
        copies=copies,
        # What stands in for what is known least of all.
        either=found.either if settled else [],
        some=found.some if settled else [],
        path=None if hasattr(estimator, "classes_") else _path(rows, origins, y),
        settled=settled,
        error=float(np.max(estimator.posterior_.diagnostics.get("inclusion_error", 0.0))),
        assumed=assumption(estimator.prior_inclusion, origins),
        wide=len(set(every)) > len(frame),
    )


def grouped(model: str, origins: Sequence[str], found: Any, *, sums: Sequence[Sums] = ()) -> Inclusions:
    """The posterior over subsets of prepared columns in terms of what they were made of."""
    names = list(dict.fromkeys(origins))
    counts = _counts(names, origins, found)
    values = np.array([counts.any_of([i]) for i in range(len(names))])
    # A sum of what is one input here, as that of near copies, isn't told.
    some = combined(names, values, counts, [group for group in sums if set(group.names) <= set(names)])
    either = either_of(names, values, counts, [name for group in some for name in group.names])
    return Inclusions(model, names, values, either, some)


def joined(origins: Sequence[str], found: Any, copies: Sequence[Copies]) -> list[Copies]:
    """Copies; of near copies those that the rows don't tell apart.

    They do where one is almost surely in, or as probably as one of the group is.
    """
    names = list(dict.fromkeys(origins))
    counts = _counts(names, origins, found)
    kept = []
    for group in copies:
        places = [names.index(name) for name in group.names]
        largest = max(counts.any_of([i]) for i in places)
        if not group.nearly or (largest < SURE and counts.any_of(places) >= largest + ADDS):
            kept.append(group)
    return kept


def _counts(names: Sequence[str], origins: Sequence[str], found: Any) -> Counts:
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
    return Counts(counts, weight, total, largest)


def _alike(rows: Any, origins: Sequence[str]) -> Alike:
    if rows.shape[0] * rows.shape[1] > _MAX_COMPARED:
        return Alike()
    return alike(rows.toarray() if is_sparse(rows) else np.asarray(rows, dtype=np.float64), origins)


def _headed(origins: Sequence[str], copies: Sequence[Copies]) -> list[str]:
    """The same with the first of copies for all of them."""
    head = {name: group.names[0] for group in copies for name in group.names}
    return [head.get(origin, origin) for origin in origins]


def _path(rows: Any, origins: Sequence[str], y: Any) -> LassoPath | None:
    """The lasso's path on the prepared columns, by inputs; None where the table is too large for a picture's sake."""
    if rows.shape[0] * rows.shape[1] > _MAX_CELLS:
        return None
    # Where the path doesn't converge at some penalty, the order of the inputs is seen all the same.
    with collected():
        alphas, coefs, gaps = lasso_path(rows, y, eps=_PATH_END)
    names = list(dict.fromkeys(origins))
    largest = np.zeros((len(names), len(alphas)))
    np.maximum.at(largest, [names.index(origin) for origin in origins], np.abs(coefs))
    return LassoPath(alphas, largest, gaps, names=names)
