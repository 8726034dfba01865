"""The documentation of the server as one page, made from its OpenAPI description; it loads nothing from elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from jinja2 import Environment, FileSystemLoader, select_autoescape
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response

_STATIC = Path(__file__).parent / "static"
_TEMPLATES = Environment(loader=FileSystemLoader(_STATIC), autoescape=select_autoescape(["html"]))


def add_page(app: FastAPI) -> None:
    """Add /docs with its style and script, and a redirection from / to it."""

    @app.get("/", include_in_schema=False)
    async def start() -> Response:
        return RedirectResponse("docs")

    @app.get("/docs", include_in_schema=False)
    async def page() -> Response:
        return HTMLResponse(render(app.openapi()))

    @app.get("/docs.css", include_in_schema=False)
    async def style() -> Response:
        return FileResponse(_STATIC / "docs.css", media_type="text/css")

    @app.get("/docs.js", include_in_schema=False)
    async def script() -> Response:
        return FileResponse(_STATIC / "docs.js", media_type="text/javascript")


def render(description: dict[str, Any]) -> str:
    """The page of an OpenAPI description; everything in it is escaped."""
    operations = [
        {
            "method": method.upper(),
            "path": path,
            "summary": found.get("summary", ""),
            "parameters": found.get("parameters", []),
            "example": _example(found),
            "columns": _columns(found),
            "answers": {status: reply.get("description", "") for status, reply in found["responses"].items()},
        }
        for path, methods in description["paths"].items()
        for method, found in methods.items()
    ]
    return _TEMPLATES.get_template("docs.html").render(info=description["info"], operations=operations)


def _body(operation: dict[str, Any]) -> dict[str, Any]:
    content: dict[str, Any] = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    return content


def _example(operation: dict[str, Any]) -> str | None:
    content = _body(operation)
    return json.dumps(content["example"], indent=2, ensure_ascii=False) if content else None


def _columns(operation: dict[str, Any]) -> list[dict[str, str]]:
    """The columns of a row, where the body is a table."""
    forms = _body(operation).get("schema", {}).get("anyOf", [{}])
    fields = forms[0].get("items", {}).get("properties", {})
    return [
        {"name": name, "type": " or ".join(cell.get("type", ["anything"])), "text": cell.get("description", "")}
        for name, cell in fields.items()
    ]
