"""Structured logs: one JSON object a line, through `logging`."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from uuid import uuid4

logger = logging.getLogger("credo.serve")

# What a log line shows of a path.
_LONGEST = 200


class JsonLines(logging.Formatter):
    """Formats a record as a JSON object on one line: time, level, logger, message, and the fields of `extra`.

    >>> record = logging.LogRecord("credo", logging.INFO, "", 0, "rows: %d", (3,), None)
    >>> json.loads(JsonLines().format(record))["message"]
    'rows: 3'
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def log_to_stderr(*names: str, level: int = logging.INFO) -> None:
    """Write the records of these loggers to stderr as JSON lines, and nowhere else."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in names:
        chosen = logging.getLogger(name)
        chosen.handlers[:] = [handler]
        chosen.setLevel(level)
        chosen.propagate = False


class AccessLog:
    """Logs every request when it is answered: id, method, path without the query, status, milliseconds, client.

    The query is left out because it may contain a token. The id is also the header x-request-id of the answer. An
    exception of the application is logged with its traceback and answered with 500, without details.
    """

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self.app = app

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status, identity = time.perf_counter(), 0, uuid4().hex[:16]

        async def sending(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [*message.get("headers", ()), (b"x-request-id", identity.encode())]
                message = {**message, "headers": headers}
            await send(message)

        failure: Exception | None = None
        try:
            await self.app(scope, receive, sending)
        except Exception as error:
            failure = error
            if status == 0:
                body = b'{"error": "internal error; the log of the server says more"}'
                length = str(len(body)).encode()
                headers = [(b"content-type", b"application/json"), (b"content-length", length)]
                await sending({"type": "http.response.start", "status": 500, "headers": headers})
                await sending({"type": "http.response.body", "body": body})
        finally:
            fields = {
                "id": identity,
                "method": scope.get("method", ""),
                "path": scope["path"][:_LONGEST],
                "status": status,
                "milliseconds": round(1e3 * (time.perf_counter() - started), 2),
                "client": (scope.get("client") or ("",))[0],
            }
            logger.log(
                logging.ERROR if failure else logging.INFO, "request", extra={"fields": fields}, exc_info=failure
            )
