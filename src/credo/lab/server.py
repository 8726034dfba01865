"""The web application of the lab: pages, scripts and the two interfaces behind them."""

from __future__ import annotations

import secrets
import webbrowser
from importlib.resources import files
from pathlib import Path

import uvicorn
from fastapi import APIRouter, FastAPI
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

STATIC = Path(str(files("credo.lab") / "static"))
PAGES = {"/": "index.html", "/lessons": "lessons.html", "/data": "data.html"}


def application(token: str) -> FastAPI:
    """The lab as an ASGI application that answers requests with this token."""
    app = FastAPI(title="Credo lab", docs_url=None, redoc_url=None, openapi_url=None)
    app.include_router(_pages())
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    return app


def _pages() -> APIRouter:
    router = APIRouter()
    for path, name in PAGES.items():
        router.add_api_route(path, _page(name), methods=["GET"], include_in_schema=False)
    return router


def _page(name: str):
    def page() -> FileResponse:
        return FileResponse(STATIC / name)

    return page


def run(port: int = 8000, *, browser: bool = True) -> None:
    """Serve the lab on 127.0.0.1 until it is stopped, and open the browser on it."""
    token = secrets.token_urlsafe(24)
    address = f"http://127.0.0.1:{port}/?token={token}"
    if browser:
        webbrowser.open(address)
    uvicorn.run(application(token), host="127.0.0.1", port=port, log_level="warning")
