"""Compiling and importing what answers need, before the first of them is asked for."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from credo.app.lab.playground._answer import Want, answer
from credo.app.lab.playground._catalogue import MODELS
from credo.app.lab.playground._datasets import dataset
from credo.app.lab.playground._problem import Domain, Problem, as_points

_FIRST = ("gp", "bayes_linear", "least_squares")


def warm_up() -> None:
    """Answer one small request of every model; the models that the page shows first come first."""
    for id in sorted(MODELS, key=lambda id: id not in _FIRST):
        model = MODELS[id]
        for task in model.shows:
            problem = _small("sinusoid" if task == "regression" else "xor", task)
            want = Want(grid=20, draws=2, cursor=problem.domain.x[0], next=True)
            # A model that can't be warmed says so when it is asked for.
            with suppress(Exception):
                answer(problem, model, model.settings(problem, {}), want)


def warm_up_learning() -> None:
    """Learn the kernels of small problems, which compiles their gradients."""
    for id, task in (("sinusoid", "regression"), ("xor", "classification")):
        problem, model = _small(id, task), MODELS["gp"]
        with suppress(Exception):
            model.learn(problem, model.settings(problem, {}))


def _small(id: str, task: str) -> Problem:
    found = dataset(id, 0)
    return Problem(task, as_points(found["points"][::3], task), _domain(found))


def _domain(found: dict[str, Any]) -> Domain:
    return Domain(tuple(found["domain"]["x"]), tuple(found["domain"]["y"]))
