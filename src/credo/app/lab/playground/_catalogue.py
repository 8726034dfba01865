"""The models of the playground, in the order of their tabs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from credo.app.lab.playground._additive import Additive
from credo.app.lab.playground._answer import MAX_DRAWS, MAX_GRID
from credo.app.lab.playground._datasets import DATASETS
from credo.app.lab.playground._ensembles import AdaBoost, Average, Bagging, Experts, Tree
from credo.app.lab.playground._linear import (
    BayesianLinear,
    BayesianLogistic,
    LassoModel,
    LeastSquares,
    Logistic,
    PerceptronModel,
    RidgeModel,
)
from credo.app.lab.playground._model import Model
from credo.app.lab.playground._neighbours import KernelPerceptronModel, SoftNeighbours, WeightedMean
from credo.app.lab.playground._problem import Domain
from credo.app.lab.playground._processes import ProcessClassification, ProcessRegression, VaryingNoise
from credo.app.lab.refused import Refused

MAX_POINTS = 500
_ORDER: tuple[type[Model], ...] = (
    LeastSquares, RidgeModel, LassoModel, BayesianLinear, Additive, ProcessRegression, ProcessClassification,
    VaryingNoise, WeightedMean, PerceptronModel, KernelPerceptronModel, Logistic, BayesianLogistic, SoftNeighbours,
    Tree, Bagging, AdaBoost, Experts, Average,
)  # fmt: skip
# The model of each tab and task.
MODELS: dict[str, dict[str, type[Model]]] = {}
for _model in _ORDER:
    MODELS.setdefault(_model.id, {}).update(dict.fromkeys(_model.shows, _model))


def model_of(id: str, task: str) -> type[Model]:
    """A model of the catalogue; raises `Refused` if there is none of this name for the task."""
    if id not in MODELS:
        raise Refused(f"There is no model {id[:40]!r}; there are {', '.join(MODELS)}.")
    if task not in MODELS[id]:
        raise Refused(f"{next(iter(MODELS[id].values())).name} has no {task}.")
    return MODELS[id][task]


def catalogue(domain: Domain) -> dict[str, Any]:
    """Models with their controls, data sets and limits."""
    return {
        "models": [_entry(id, domain) for id in MODELS],
        "datasets": [{"id": each.id, "name": each.name, "task": each.task} for each in DATASETS],
        "limits": {"points": MAX_POINTS, "draws": MAX_DRAWS, "grid": MAX_GRID},
    }


def _entry(id: str, domain: Domain) -> dict[str, Any]:
    """A tab: controls of all tasks, marked if they belong to only one task."""
    models = MODELS[id]
    by_task = {task: model.controls(task, domain) for task, model in models.items()}
    merged: list[dict[str, Any]] = []
    for task, controls in by_task.items():
        for control in controls:
            shared = all(control in others for others in by_task.values())
            entry = control.json() if shared else replace(control, tasks=(task,)).json()
            if entry not in merged:
                merged.append(entry)
    shows = {task: model.shows[task] for task, model in models.items()}
    name = next(iter(models.values())).name
    return {"id": id, "name": name, "tasks": list(models), "controls": merged, "shows": shows}
