"""The HTTP interface of the playground."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Annotated, Any

from fastapi import APIRouter, Body, FastAPI, Query, Response
from fastapi.responses import JSONResponse

from credo.app.lab.playground._answer import Want, answer, lacking
from credo.app.lab.playground._catalogue import MODELS, catalogue
from credo.app.lab.playground._datasets import dataset
from credo.app.lab.playground._learning import Learners
from credo.app.lab.playground._problem import Domain, Problem, as_points
from credo.app.lab.playground._requests import Question, read, read_domain
from credo.app.lab.refused import Refused


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Compile the code of answers in the background."""
    threading.Thread(target=warm_up, daemon=True, name="playground warm-up").start()
    yield


_learners = Learners()
router = APIRouter(prefix="/api/playground", tags=["playground"], lifespan=_lifespan)


@router.get("/catalogue")
def get_catalogue(x0: float = 0.0, x1: float = 1.0, y0: float = -1.5, y1: float = 1.5) -> Response:
    """Models, controls with ranges for a plot of this domain, data sets and limits."""
    return JSONResponse(catalogue(read_domain({"x": [x0, x1], "y": [y0, y1]})))


@router.get("/dataset/{id}")
def get_dataset(id: str, seed: Annotated[int, Query(ge=0, lt=2**32)] = 0) -> Response:
    """The points of a data set."""
    return JSONResponse(dataset(id, seed))


@router.post("/answer")
def post_answer(body: Annotated[Any, Body()] = None) -> Response:
    """A model fitted to points, and everything that is drawn; with `learn`, at learned settings."""
    question = read(body)
    settings, notes = _learned(question) if question.want.learn else (question.settings, [])
    found = answer(question.problem, question.model, settings, question.want)
    return JSONResponse(found | {"notes": [*notes, *found["notes"]]})


def _learned(question: Question) -> tuple[dict[str, Any], list[str]]:
    """Learned settings, and notes."""
    problem, model = question.problem, question.model
    if "learn" not in model.shows[problem.task]:
        raise Refused(f"{model.name} has nothing to learn.")
    if problem.n < 2 or lacking(problem, model):
        return question.settings, ["Add more points to learn from."]
    return _learners.learn(question.want.page, problem, model, question.settings)


def warm_up() -> None:
    """Compile the code of answers by a small request of every model, in the order of the tabs."""
    first = ("gp", "bayes_linear", "least_squares")
    for id in sorted(MODELS, key=lambda id: id not in first):
        for task, model in MODELS[id].items():
            found = dataset("sinusoid" if task == "regression" else "xor", 0)
            domain = Domain(*(tuple(found["domain"][axis]) for axis in ("x", "y")))
            problem = Problem(task, as_points(found["points"][::3], task), domain)
            settings = model.resolve(problem, {})
            # An error is reported when the model is requested.
            with suppress(Exception):
                answer(problem, model, settings, Want(grid=20, draws=2, cursor=domain.x[0], next=True))
                if id == "gp":
                    model.learn(problem, settings)
