"""The web application of the lab: pages, scripts and the two APIs."""

from __future__ import annotations

import re
import secrets
import socket
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.staticfiles import StaticFiles

from credo.app.lab.jobs import UPLOAD_BYTES
from credo.app.lab.jobs import router as jobs
from credo.app.lab.playground import router as playground
from credo.app.serve import BodyLimit, guarded
from credo.app.serve.app import problems_of
from credo.app.serve.guard import App
from credo.app.serve.protocol import add_files
from credo.app.serve.server import configured, listen

STATIC = Path(str(files("credo.app.lab") / "static"))
PAGES = {"/": "index.html", "/lessons": "lessons.html", "/data": "data.html"}
LOOPBACK = "127.0.0.1"
# Fixed, so that a link to a view works on the next day, and on another machine on which the lab runs.
PORT = 8391


# Tables are uploaded to these paths; all other requests are small JSON values.
UPLOADS, UPLOAD_SECONDS = re.compile("/api/jobs(/[^/]+/predictions)?"), 600.0
JSON_BYTES, JSON_SECONDS = 1_000_000, 30.0


def application(token: str) -> App:
    """The lab as an ASGI application that answers only requests from this machine with this token."""
    small = BodyLimit(routes(), JSON_BYTES, JSON_SECONDS, exempt=UPLOADS)
    return guarded(small, token=token, max_bytes=UPLOAD_BYTES, body_seconds=UPLOAD_SECONDS)


def routes() -> FastAPI:
    """The pages and interfaces of the lab, without the guard."""
    app = FastAPI(title="Credo lab", docs_url=None, redoc_url=None, openapi_url=None)
    app.add_exception_handler(RequestValidationError, _invalid)
    add_files(app, STATIC, PAGES)
    app.include_router(playground)
    app.include_router(jobs)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    return app


def run(port: int | None = None, *, link: str = "/", ready: Callable[[str], None]) -> None:
    """Serve the lab on 127.0.0.1 until it is stopped; `ready` gets the address once the port is bound.

    Parameters
    ----------
    port : int, optional
        By default `PORT`, or a free one if that is taken; 0 selects a free one.
    link : str
        The page to open: a link that the playground copied, on any port, or the part of it after the host.
    ready : called with the address, which has the token
    """
    token = secrets.token_urlsafe(24)
    path = page_of(link, token)
    config = configured(application(token), seconds=JSON_SECONDS, shutdown=5)
    with _listener(port) as listener:
        ready(f"http://{LOOPBACK}:{listener.getsockname()[1]}{path}")
        uvicorn.Server(config).run(sockets=[listener])


def page_of(link: str, token: str) -> str:
    """Path, query and fragment of a link to the lab, with this token.

    >>> page_of("http://127.0.0.1:9999/lessons?id=ard&token=old#part", "new")
    '/lessons?id=ard&token=new#part'
    """
    parts = urlsplit(link)
    if parts.path not in {"", *PAGES} or (parts.netloc and parts.hostname not in {LOOPBACK, "localhost"}):
        raise ValueError(
            f"this isn't a link to the lab: {link[:80]!r}. Copy one with the button in the playground, or give a page "
            f"such as {', '.join(PAGES)} or '/?data=sinusoid&model=gp'"
        )
    query = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0] != "token"]
    return urlunsplit(("", "", parts.path or "/", urlencode([*query, ("token", token)]), parts.fragment))


def _listener(port: int | None) -> socket.socket:
    if port is not None:
        return listen(LOOPBACK, port)
    try:
        return listen(LOOPBACK, PORT)
    except OSError:
        return listen(LOOPBACK, 0)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return JSONResponse({"detail": problems_of(error)}, 422)
