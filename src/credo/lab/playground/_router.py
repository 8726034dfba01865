"""The HTTP interface of the playground."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Body, Response

from credo.lab.playground._answer import answer
from credo.lab.playground._catalogue import catalogue
from credo.lab.playground._datasets import dataset
from credo.lab.playground._problem import Refused
from credo.lab.playground._requests import read, read_domain

router = APIRouter(prefix="/api/playground", tags=["playground"])


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
def post_answer(body: Annotated[Any, Body()] = None) -> Response:
    """A model fitted to points, and everything that is drawn of it."""
    try:
        question = read(body)
        return _reply(answer(question.problem, question.model, question.settings, question.want))
    except Refused as error:
        return _refusal(error)


def _reply(value: Any) -> Response:
    return Response(json.dumps(value, allow_nan=False, separators=(",", ":")), media_type="application/json")


def _refusal(error: Refused) -> Response:
    return Response(json.dumps({"detail": str(error)}), status_code=422, media_type="application/json")
