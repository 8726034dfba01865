"""The HTTP interface of the playground: bounded points and known names; errors are sentences."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Annotated, Any, Literal, Self, TypeVar

from fastapi import APIRouter, Body, FastAPI, Query, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field, TypeAdapter, ValidationError, model_validator

from credo.app.lab.playground._answer import Learners, Want, answer
from credo.app.lab.playground._catalogue import MAX_POINTS, MODELS, catalogue, model_of
from credo.app.lab.playground._datasets import dataset
from credo.app.lab.playground._problem import Coordinate, Domain, Problem, as_points
from credo.app.lab.refused import Refused

N_CLASSES = 3
Checked = TypeVar("Checked")


class Chosen(BaseModel, extra="forbid"):
    """A model by its name, with settings."""

    id: str
    settings: dict[str, Any] = {}


class Question(BaseModel, extra="forbid"):
    """The body of a request for an answer."""

    task: Literal["regression", "classification"]
    points: list[list[Coordinate]] = Field(default=[], max_length=MAX_POINTS)
    domain: Domain = Domain()
    model: Chosen
    want: Want = Want()

    @model_validator(mode="after")
    def _check_points(self) -> Self:
        width, what = (2, "x and y") if self.task == "regression" else (3, "x1, x2 and the class")
        if any(len(point) != width for point in self.points):
            raise ValueError(f"every point must have {width} numbers: {what}")
        if width == 3 and any(point[2] not in range(N_CLASSES) for point in self.points):
            raise ValueError(f"classes must be whole numbers from 0 to {N_CLASSES - 1}")
        return self


def checked(kind: type[Checked], value: Any) -> Checked:
    """A value of this type; raises `Refused`."""
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))[:60] or "the request"
        raise Refused(f"{where!r}: {first['msg']}.") from None


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
    return JSONResponse(catalogue(checked(Domain, {"x": [x0, x1], "y": [y0, y1]})))


@router.get("/dataset/{id}")
def get_dataset(id: str, seed: Annotated[int, Query(ge=0, lt=2**32)] = 0) -> Response:
    """The points of a data set."""
    return JSONResponse(dataset(id, seed))


@router.post("/answer")
def post_answer(body: Annotated[Any, Body()] = None) -> Response:
    """A model fitted to points, and everything that is drawn; with `learn`, at learned settings."""
    asked = checked(Question, body)
    problem = Problem(asked.task, as_points(asked.points, asked.task), asked.domain)
    model, notes = model_of(asked.model.id, asked.task), list[str]()
    settings = model.resolve(problem, asked.model.settings)
    if asked.want.learn:
        settings, notes = _learners.learn(asked.want.page, problem, model, settings)
    found = answer(problem, model, settings, asked.want)
    return JSONResponse(found | {"notes": [*notes, *found["notes"]]})


def warm_up() -> None:
    """Compile the code of answers by a small request of every model, in the order of the tabs."""
    first = ("gp", "bayes_linear", "least_squares")
    for id in sorted(MODELS, key=lambda id: id not in first):
        for task, model in MODELS[id].items():
            found = dataset("sinusoid" if task == "regression" else "xor", 0)
            domain = checked(Domain, found["domain"])
            problem = Problem(task, as_points(found["points"][::3], task), domain)
            settings = model.resolve(problem, {})
            # An error is reported when the model is requested.
            with suppress(Exception):
                answer(problem, model, settings, Want(grid=20, draws=2, cursor=domain.x[0], next=True))
                if id == "gp":
                    model.learn(problem, settings)
