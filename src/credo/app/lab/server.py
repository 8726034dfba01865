"""The web application of the lab: pages, scripts and the two interfaces behind them."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import uvicorn
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

from credo.app.lab.jobs import router as jobs
from credo.app.lab.playground import router as playground
from credo.app.serve import BodyLimit, guarded
from credo.app.serve.guard import App, Receive, Scope, Send
from credo.app.serve.server import configured, listen

STATIC = Path(str(files("credo.app.lab") / "static"))
PAGES = {"/": "index.html", "/lessons": "lessons.html", "/data": "data.html"}
LOOPBACK = "127.0.0.1"


# Tables are uploaded to these paths; everything else that a page sends is a small JSON value.
UPLOADS, UPLOAD_BYTES, UPLOAD_SECONDS = re.compile("/api/jobs(/[^/]+/predictions)?"), 250_000_000, 600.0
JSON_BYTES, JSON_SECONDS = 1_000_000, 30.0
# The most problems of a request that an answer names.
_LISTED = 5


def application(token: str) -> App:
    """The lab as an ASGI application that answers requests from this machine with this token only."""
    return guarded(_Limits(routes()), token=token, max_bytes=UPLOAD_BYTES, body_seconds=UPLOAD_SECONDS)


def routes() -> FastAPI:
    """The pages and interfaces of the lab, without the guard."""
    app = FastAPI(title="Credo lab", docs_url=None, redoc_url=None, openapi_url=None)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.include_router(_pages())
    app.include_router(playground)
    app.include_router(jobs)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    return app


class _Limits:
    """Small bodies everywhere but at the uploads."""

    def __init__(self, app: App) -> None:
        self.uploads, self.small = app, BodyLimit(app, JSON_BYTES, JSON_SECONDS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self.uploads if UPLOADS.fullmatch(scope.get("path", "")) else self.small
        await app(scope, receive, send)


def run(port: int = 0, *, ready: Callable[[str], None]) -> None:
    """Serve the lab on 127.0.0.1 until it is stopped; `ready` gets the address once the port is bound.

    Port 0 takes a free one.
    """
    token = secrets.token_urlsafe(24)
    config = configured(application(token), seconds=JSON_SECONDS, shutdown=5)
    with listen(LOOPBACK, port) as listener:
        ready(f"http://{LOOPBACK}:{listener.getsockname()[1]}/?token={token}")
        uvicorn.Server(config).run(sockets=[listener])


async def _invalid(request: Request, error: Exception) -> Response:
    """What is wrong, without the values: they may be ones that JSON can't have."""
    assert isinstance(error, RequestValidationError)
    sentences = [f"{'.'.join(map(str, part['loc']))}: {part['msg']}" for part in error.errors()[:_LISTED]]
    return Response(json.dumps({"detail": "; ".join(sentences)}), 422, media_type="application/json")


def _pages() -> APIRouter:
    router = APIRouter()
    for path, name in PAGES.items():
        router.add_api_route(path, _page(name), methods=["GET"])
    return router


def _page(name: str) -> Callable[[], FileResponse]:
    def page() -> FileResponse:
        return FileResponse(STATIC / name)

    return page
