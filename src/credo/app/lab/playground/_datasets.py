"""Data sets of the playground, all simulated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.app.lab.playground._problem import Array, Domain, numbers
from credo.app.lab.refused import Refused

Generator = np.random.Generator


@dataclass(frozen=True)
class Dataset:
    """A way to simulate points, and the rectangle that shows them."""

    id: str
    name: str
    task: str
    domain: Domain
    note: str
    simulate: Callable[[Generator], Array]
    # A model that suits the points, as the page describes it: id and settings.
    model: Mapping[str, Any] | None = None


def dataset(id: str, seed: int) -> dict[str, Any]:
    """The points of a data set; raises `Refused` if there is none of this name."""
    found = next((each for each in DATASETS if each.id == id), None)
    if found is None:
        raise Refused(f"There is no data set {id[:40]!r}; there are {', '.join(each.id for each in DATASETS)}.")
    shown = {name: getattr(found, name) for name in ("id", "name", "task", "note", "model")}
    domain = {"x": list(found.domain.x), "y": list(found.domain.y)}
    return {**shown, "points": numbers(found.simulate(np.random.default_rng(seed)), 8), "domain": domain}


def _sinusoid(rng: Generator) -> Array:
    x = np.sort(rng.uniform(0.0, 1.0, 25))
    return np.column_stack([x, np.sin(2 * np.pi * x) + rng.normal(0.0, 0.2, len(x))])


def _motorcycle(rng: Generator) -> Array:
    x = np.sort(np.concatenate([rng.uniform(2.4, 12, 15), rng.uniform(12, 40, 65), rng.uniform(40, 57.6, 14)]))
    dip = -115 * np.exp(-(((x - 21) / 5.0) ** 2)) + 45 * np.exp(-(((x - 32.5) / 4.5) ** 2))
    spread = 1.5 + 23 / (1 + np.exp(-(x - 14.5) / 1.2)) - 10 / (1 + np.exp(-(x - 45) / 2.0))
    return np.column_stack([x, dip + spread * rng.normal(size=len(x))])


def _carbon_dioxide(rng: Generator) -> Array:
    x = 1960 + np.arange(120) / 6 + 1 / 12
    t = x - 1960
    cycle = 2.8 * np.sin(2 * np.pi * t) + 0.8 * np.sin(4 * np.pi * t + 1.0)
    return np.column_stack([x, 316.5 + 0.75 * t + 0.014 * t**2 + cycle + rng.normal(0.0, 0.3, len(x))])


def _ripley(rng: Generator) -> Array:
    # Pattern Recognition and Neural Networks (1996), appendix: equal mixtures of two normal distributions for each
    # class, with common covariance 0.03 I.
    centers = np.array([[[-0.7, 0.3], [0.3, 0.3]], [[-0.3, 0.7], [0.4, 0.7]]])
    labels = np.repeat([0, 1], 60)
    part = rng.integers(0, 2, len(labels))
    return np.column_stack([centers[labels, part] + rng.normal(0.0, np.sqrt(0.03), (len(labels), 2)), labels])


def _xor(rng: Generator) -> Array:
    corners = np.array([[-1, -1], [1, 1], [-1, 1], [1, -1]]).repeat(15, axis=0)
    return np.column_stack([corners + rng.normal(0.0, 0.4, corners.shape), np.repeat([0, 1], 30)])


def _rings(rng: Generator) -> Array:
    labels = np.repeat([0, 1], [30, 50])
    radius = np.where(labels == 0, np.abs(rng.normal(0.0, 0.35, 80)), 1.4) + rng.normal(0.0, 0.15, 80) * labels
    angle = rng.uniform(0, 2 * np.pi, 80)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), labels])


_TREND_AND_CYCLE = [
    [{"name": "RBF", "lengthscale": 20.0, "variance": 400.0}],
    [{"name": "Periodic", "period": 1.0, "lengthscale": 1.5, "variance": 6.0}],
]
DATASETS = (
    Dataset(
        "sinusoid", "Sinusoid", "regression", Domain((-0.1, 1.1), (-2.0, 2.0)),
        "25 points of sin(2πx) with noise of standard deviation 0.2.", _sinusoid,
    ),
    Dataset(
        "motorcycle", "Motorcycle crash", "regression", Domain((0.0, 60.0), (-160.0, 100.0)),
        "Simulated after the motorcycle crash data (acceleration of the head in g over milliseconds): the noise grows "
        "at the impact.", _motorcycle, {"id": "gp_varying", "settings": {"shape": "matern52"}},
    ),
    Dataset(
        "co2", "Carbon dioxide", "regression", Domain((1959.0, 1985.0), (308.0, 350.0)),
        "Simulated after the record of Mauna Loa (parts per million by year): a trend and a yearly cycle.",
        _carbon_dioxide, {"id": "gp", "settings": {"kernel": _TREND_AND_CYCLE, "noise": 0.3}},
    ),
    Dataset(
        "ripley", "Ripley's two classes", "classification", Domain((-1.3, 1.0), (-0.3, 1.3)),
        "Drawn from Ripley's published mixture: two normal distributions for each class, covariance 0.03 I. "
        "No classifier has an error below 8 %.", _ripley,
    ),
    Dataset(
        "xor", "XOR", "classification", Domain((-2.5, 2.5), (-2.5, 2.5)),
        "Four clusters; opposite corners have the same class, so no line separates the classes.", _xor,
    ),
    Dataset(
        "rings", "Rings", "classification", Domain((-2.2, 2.2), (-2.2, 2.2)),
        "One class in the middle, the other in a ring around it.", _rings,
    ),
)  # fmt: skip
