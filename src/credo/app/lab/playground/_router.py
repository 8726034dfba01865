"""The HTTP interface of the playground."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import APIRouter, Body, FastAPI, Request, Response

from credo.app.lab.playground._answer import answer, lacking
from credo.app.lab.playground._catalogue import catalogue
from credo.app.lab.playground._datasets import dataset
from credo.app.lab.playground._learning import Dropped, Learners
from credo.app.lab.playground._problem import Refused
from credo.app.lab.playground._requests import Question, read, read_domain
from credo.app.lab.playground._warm_up import warm_up


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Compile what answers need beside the first requests, and end the processes that learn with the server."""
    learners = _learners(app)
    threading.Thread(target=_prepare, args=(learners,), daemon=True, name="playground warm-up").start()
    yield
    learners.close()


def _prepare(learners: Learners) -> None:
    warm_up()
    learners.prepare()


router = APIRouter(prefix="/api/playground", tags=["playground"], lifespan=_lifespan)


@router.get("/catalogue")
def get_catalogue(x0: float = 0.0, x1: float = 1.0, y0: float = -1.5, y1: float = 1.5) -> Response:
    """Models, controls with ranges for a plot of this domain, data sets and limits."""
    try:
        return _reply(catalogue(read_domain({"x": [x0, x1], "y": [y0, y1]})))
    except Refused as error:
        return _refusal(error)


@router.get("/dataset/{id}")
def get_dataset(id: str, seed: int = 0) -> Response:
    """The points of a data set."""
    if not 0 <= seed < 2**32:
        return _refusal(Refused("The seed must lie between 0 and 4294967295."))
    try:
        return _reply(dataset(id, seed))
    except Refused as error:
        return _refusal(error)


@router.post("/answer")
def post_answer(request: Request, body: Annotated[Any, Body()] = None) -> Response:
    """A model fitted to points, and everything that is drawn of it; with `learn`, at learned settings."""
    try:
        question = read(body)
        settings, notes = _learned(request.app, question) if question.learn else (question.settings, [])
        found = answer(question.problem, question.model, settings, question.want)
    except Refused as error:
        return _refusal(error)
    except Dropped as error:
        return _refusal(error, status=409)
    found["notes"] = [*notes, *found["notes"]]
    return _reply(found)


def _learned(app: FastAPI, question: Question) -> tuple[dict[str, Any], list[str]]:
    """Settings learned in another process, and notes."""
    problem, model = question.problem, question.model
    if "learn" not in model.shows[problem.task]:
        raise Refused(f"{model.name} has nothing to learn.")
    if problem.n < 2 or lacking(problem, model):
        return question.settings, ["Add more points to learn from."]
    return _learners(app).learn(question.page, problem, model.id, question.settings)


_lock = threading.Lock()


def _learners(app: FastAPI) -> Learners:
    """The processes of this application."""
    with _lock:
        if not hasattr(app.state, "learners"):
            app.state.learners = Learners()
        found: Learners = app.state.learners
        return found


def _reply(value: Any) -> Response:
    return Response(json.dumps(value, allow_nan=False, separators=(",", ":")), media_type="application/json")


def _refusal(error: Exception, status: int = 422) -> Response:
    return Response(json.dumps({"detail": str(error)}), status_code=status, media_type="application/json")
