"""The routes of the model server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any

import numpy as np
from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from prometheus_client.exposition import CONTENT_TYPE_LATEST as CONTENT_TYPE_LATEST
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Route

from credo._version import __version__
from credo.app.serve import protocol as schema
from credo.app.serve.guard import App, Metrics, guarded
from credo.app.serve.inputs import Refused, dump, parse, parse_csv, plain
from credo.app.serve.model import LEVEL, Predictions, ServedModel, Worker
from credo.app.serve.protocol import InferenceRequest, add_page, check_rows, inference_response, model_metadata

# Orchestrators request these without a token.
HEALTH = ("/health", "/v2/health/live", "/v2/health/ready")
_TAG = "Open Inference Protocol v2"


@dataclass(frozen=True)
class Limits:
    """Limits of a request: bytes of its body, rows, and seconds for its body and for its prediction."""

    max_bytes: int = 10_000_000
    max_rows: int = 10_000
    seconds: float = 30.0


def application(
    model: ServedModel,
    *,
    limits: Limits | None = None,
    host: str = "127.0.0.1",
    names: tuple[str, ...] = (),
    token: str | None = None,
) -> App:
    """The server of a model as an ASGI application, behind `guarded`.

    Parameters
    ----------
    model : ServedModel
    limits : Limits, optional
    host, names, token : as in `guarded`; health checks need no token
    """
    chosen = Limits() if limits is None else limits
    metrics = Metrics()
    app = routes(model, chosen, metrics, has_token=token is not None)
    metrics.known = frozenset(route.path for route in app.routes if isinstance(route, Route))
    return guarded(
        app,
        metrics=metrics,
        host=host,
        names=names,
        max_bytes=chosen.max_bytes,
        body_seconds=chosen.seconds,
        token=token,
        open_paths=HEALTH,
    )


def routes(model: ServedModel, limits: Limits, metrics: Metrics, *, has_token: bool = False) -> FastAPI:
    """The application without its guards; `has_token` says whether they ask for one."""
    worker = Worker(limits.seconds)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        worker.close()

    app = FastAPI(
        title=f"Credo: {model.name}",
        version=__version__,
        summary="Predictions with calibrated uncertainty.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    for kind in (Refused, RequestValidationError, ValidationError, HTTPException):
        app.add_exception_handler(kind, _refused)
    _add_predict(app, model, limits, metrics, worker)
    _add_protocol(app, model, limits, metrics, worker)
    add_page(app, model, has_token=has_token)

    app.add_api_route("/health", _constant({"status": "ok"}), summary="Whether the server runs", methods=["GET"])

    @app.get("/metrics", summary="Metrics in the format of Prometheus", response_class=Response)
    async def read_metrics() -> Response:
        return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST)

    return app


def _add_predict(app: FastAPI, model: ServedModel, limits: Limits, metrics: Metrics, worker: Worker) -> None:
    texts = "mean, std and interval" if model.classes is None else "class and probabilities"

    @app.post(
        "/predict",
        summary=f"Predict rows: {texts}",
        **schema.documented(
            *schema.predict_body(model, limits.max_rows),
            schema.predict_answer(model),
            "A prediction for each row, in their order.",
        ),
    )
    async def predict(
        request: Request,
        level: Annotated[float | None, Query(gt=0, lt=1, description="Probability of the interval.")] = None,
    ) -> Response:
        content, accepted = await request.body(), request.headers.get("accept", "")
        given_csv = request.headers.get("content-type", "").split(";")[0].strip().lower() == CSV
        wants_csv = CSV in accepted or (given_csv and "json" not in accepted)

        def work(check: Callable[[], None]) -> bytes:
            rows = parse_csv(content, model.inputs, limits.max_rows) if given_csv else parse(content)
            table, chosen = _table(model, rows, level, limits.max_rows)
            found = model.predict(table, chosen, check)
            metrics.rows.inc(len(found))
            if wants_csv:
                return bytes(found.frame.to_csv(index=False), "utf-8")
            return dump(predict_answer(model, found, chosen))

        answer = await worker.run(work)
        return Response(answer, media_type=CSV) if wants_csv else _json(answer)


def _add_protocol(app: FastAPI, model: ServedModel, limits: Limits, metrics: Metrics, worker: Worker) -> None:
    """The routes of the Open Inference Protocol."""
    place = f"/v2/models/{model.name}"

    answers: dict[str, tuple[str, dict[str, Any]]] = {
        "/v2/health/live": ("Whether the server runs", {"live": True}),
        "/v2/health/ready": ("Whether the server takes requests", {"ready": True}),
        "/v2": ("Name and version of the server", {"name": "credo", "version": __version__, "extensions": []}),
        place: ("Inputs and outputs of the model", model_metadata(model)),
        f"{place}/ready": ("Whether the model takes requests", {"name": model.name, "ready": True}),
    }
    for path, (summary, value) in answers.items():
        app.add_api_route(path, _constant(value), tags=[_TAG], summary=summary, methods=["GET"])

    @app.post(
        f"{place}/infer",
        tags=[_TAG],
        summary="Predict rows that are given as tensors",
        **schema.documented(*schema.infer_body(model), schema.infer_answer(), "One tensor for each output."),
    )
    async def infer(request: Request) -> Response:
        content = await request.body()

        def work(check: Callable[[], None]) -> bytes:
            asked = InferenceRequest.model_validate(parse(content))
            columns = asked.columns(model, limits.max_rows)
            asked.wanted(model)
            found = model.predict(model.inputs.from_columns(columns), asked.level, check)
            metrics.rows.inc(len(found))
            return dump(inference_response(model, asked, found))

        return _json(await worker.run(work))


def _constant(value: dict[str, Any]) -> Callable[[], Awaitable[dict[str, Any]]]:
    async def answer() -> dict[str, Any]:
        return value

    return answer


def _table(model: ServedModel, value: Any, level: float | None, max_rows: int) -> tuple[Any, float]:
    """The rows of a body, and the level of the interval."""
    fields = value if isinstance(value, dict) else {"rows": value}
    rows, names = fields.get("rows"), fields.get("columns")
    if not isinstance(rows, list) or not rows or not isinstance(names, list | None) or fields.keys() - _FIELDS:
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, _FORMS)
    check_rows(len(rows), max_rows)
    given = fields.get("level", level if level is not None else LEVEL)
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given < 1:
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, "level must be a number strictly between 0 and 1")
    table = model.inputs.from_objects(rows) if names is None else model.inputs.from_lists(names, rows)
    return table, float(given)


CSV = "text/csv"
_FIELDS = {"rows", "columns", "level"}
_FORMS = (
    'send a list of rows, each an object by column name; or {"rows": such a list, "level": 0.9}; or {"columns": names, '
    '"rows": lists of cells}'
)


def predict_answer(model: ServedModel, found: Predictions, level: float) -> dict[str, Any]:
    """The answer of /predict."""
    # Non-finite numbers in arrays become null.
    columns = {str(name): plain(found.frame[name].to_numpy()) for name in found.frame}
    if model.classes is not None:
        names, probabilities = [str(label) for label in model.classes], found.frame.iloc[:, 1 : 1 + len(model.classes)]
        rows = [dict(zip(names, row, strict=True)) for row in plain(probabilities.to_numpy(np.float64))]
        columns = {"predicted": found.frame.iloc[:, 0].tolist(), "probabilities": rows}
    if model.has_range:
        columns["outside"] = [reason or None for reason in found.frame["outside"]]
    shown = {"level": level} if model.classes is None else {}
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    return {"model": model.name, **shown, "predictions": rows, "notes": found.notes}


def _json(content: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(content, status, headers, media_type="application/json")


def problems_of(error: RequestValidationError | ValidationError) -> str:
    """The first five problems of a request, without the values, which JSON may not be able to represent."""
    return "; ".join(f"{'.'.join(map(str, part['loc']))}: {part['msg']}" for part in error.errors()[:5])


async def _refused(request: Request, error: Exception) -> Response:
    """Every error as {"error": sentence}, with the cells that are the reason."""
    if isinstance(error, Refused):
        headers = {} if error.retry_after is None else {"retry-after": str(error.retry_after)}
        listed = {"problems": error.problems} if error.problems else {}
        return _json(dump({"error": error.error, **listed}), error.status, headers)
    if isinstance(error, RequestValidationError | ValidationError):
        return _json(dump({"error": problems_of(error)}), 422)
    assert isinstance(error, HTTPException)
    return _json(dump({"error": str(error.detail)}), error.status_code, dict(error.headers or {}))
