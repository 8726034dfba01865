"""What a chain over models saw."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from credo.subsets._models import Model
from credo.subsets.walk._mass import Heat

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Path:
    """What a chain saw.

    `models` are those it visited, each with its `log_evidence` and the share `rest` of the target that it leaves;
    `steps` are their numbers, step by step, each with its `weight`. `included` (n_batches, d) and `batch_weight`
    (n_batches,) are sums, over stretches of the chain, of weight × conditional inclusion probability and of weight.
    `peak` is the log posterior, but for a constant, of the best model that the chain ever looked at, its `summit`.
    `heat` is what its replicas say of the mass of all models.
    """

    models: list[Model]
    log_evidence: Array
    rest: Array
    steps: NDArray[np.intp]
    weight: Array
    included: Array
    batch_weight: Array
    peak: float = -np.inf
    summit: Model = ()
    heat: Heat | None = None

    @property
    def mean_size(self) -> float:
        """Of the models, over the steps."""
        return float(np.array([len(model) for model in self.models])[self.steps].mean())


def joined(path: Path, further: Path) -> Path:
    """A path and as much again of the same chain; batches become twice as long."""
    numbers = {model: number for number, model in enumerate(path.models)}
    places = np.array([numbers.setdefault(model, len(numbers)) for model in further.models], dtype=np.intp)
    new = places >= len(path.models)
    heat = path.heat.joined(further.heat) if path.heat and further.heat else None
    return replace(
        further,
        models=list(numbers),
        log_evidence=np.append(path.log_evidence, further.log_evidence[new]),
        rest=np.append(path.rest, further.rest[new]),
        steps=np.append(path.steps, places[further.steps]),
        weight=np.append(path.weight, further.weight),
        included=_in_pairs(path.included, further.included),
        batch_weight=_in_pairs(path.batch_weight, further.batch_weight),
        heat=heat,
    )


def retrace(models: Iterable[Model]) -> tuple[list[Model], NDArray[np.intp], NDArray[np.intp]]:
    """The different ones of a walk's models, the number of each step's, and the step at which each was first seen."""
    numbers: dict[Model, int] = {}
    steps: list[int] = []
    first: list[int] = []
    for t, model in enumerate(models):
        number = numbers.setdefault(model, len(first))
        if number == len(first):
            first.append(t)
        steps.append(number)
    return list(numbers), np.array(steps, dtype=np.intp), np.array(first, dtype=np.intp)


def _in_pairs(before: Array, after: Array) -> Array:
    """Sums of neighbours in a row of batches."""
    whole = np.concatenate([before, after])
    return np.asarray(whole[::2] + whole[1::2])
