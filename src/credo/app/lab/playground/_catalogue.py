"""The models of the playground, in the order of their tabs."""

from __future__ import annotations

from typing import Any

from credo.app.lab.playground._datasets import DATASETS
from credo.app.lab.playground._gp import GaussianProcess
from credo.app.lab.playground._linear import BayesianLinear, LassoRegression, LeastSquares, RidgeRegression
from credo.app.lab.playground._logistic import BayesianLogistic, Logistic
from credo.app.lab.playground._mixtures import Average, Experts
from credo.app.lab.playground._model import Model
from credo.app.lab.playground._neighbours import KernelPerceptronModel, PerceptronModel, SoftNeighbours, WeightedMean
from credo.app.lab.playground._problem import Domain
from credo.app.lab.playground._trees import AdaBoost, Bagging, Tree

POINTS, DRAWS, GRID = 500, 30, 400
_ORDER: tuple[Model, ...] = (
    LeastSquares(),
    RidgeRegression(),
    LassoRegression(),
    BayesianLinear(),
    GaussianProcess(),
    WeightedMean(),
    PerceptronModel(),
    KernelPerceptronModel(),
    Logistic(),
    BayesianLogistic(),
    SoftNeighbours(),
    Tree(),
    Bagging(),
    AdaBoost(),
    Experts(),
    Average(),
)
MODELS = {model.id: model for model in _ORDER}


def catalogue(domain: Domain) -> dict[str, Any]:
    """Models with their controls, data sets and limits."""
    return {
        "models": [model.catalogue(domain) for model in _ORDER],
        "datasets": [{"id": each.id, "name": each.name, "task": each.task} for each in DATASETS],
        "limits": {"points": POINTS, "draws": DRAWS, "grid": GRID},
    }
