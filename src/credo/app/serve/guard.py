"""ASGI middleware that keeps a local web server private and responsive, with JSON logs and metrics.

    guarded(app, host=…, max_bytes=…, body_seconds=…, token=…) = AccessLog(Guard(BodyLimit(app)))

Each class wraps any ASGI application, keeps nothing of a finished request, and answers a rejected request itself with a
JSON object {"error": sentence}. Used by the model server and the lab.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import re
import sys
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, MutableMapping
from html import escape
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.datastructures import Headers, QueryParams
from starlette.responses import HTMLResponse, JSONResponse, Response

logger = logging.getLogger("credo.app.serve")


_BUCKET_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_METHODS = frozenset({"GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"})


class Metrics:
    """The metrics of one server, in their own registry."""

    def __init__(self) -> None:
        self.known: frozenset[str] = frozenset()
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "credo_requests_total", "Requests answered.", ["method", "path", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "credo_request_seconds", "Time to answer.", ["path"], buckets=_BUCKET_SECONDS, registry=self.registry
        )
        self.in_flight = Gauge("credo_requests_in_flight", "Requests not answered yet.", registry=self.registry)
        self.rows = Counter("credo_rows_predicted_total", "Rows predicted.", registry=self.registry)

    def text(self) -> bytes:
        """All metrics in the format of Prometheus."""
        return generate_latest(self.registry)

    def answered(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count and time a request; paths other than the `known` ones count as "other"."""
        path, method = path if path in self.known else "other", method if method in _METHODS else "other"
        self.in_flight.dec()
        self.requests.labels(method, path, str(status)).inc()
        self.seconds.labels(path).observe(seconds)


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
    exception of the application is logged with its traceback and answered with 500, without details. `metrics` counts
    every request too.
    """

    def __init__(self, app: Callable[..., Awaitable[None]], metrics: Metrics | None = None) -> None:
        self.app, self.metrics = app, Metrics() if metrics is None else metrics

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status, identity = time.perf_counter(), 0, uuid4().hex[:16]
        with_id = _with_headers(send, {"x-request-id": identity})

        async def sending(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            status = message.get("status", status)
            await with_id(message)

        failure: Exception | None = None
        self.metrics.in_flight.inc()
        try:
            await self.app(scope, receive, sending)
        except Exception as error:
            failure = error
            if status == 0:
                await refuse(scope, sending, 500, "internal error; see the log of the server")
        finally:
            seconds, method = time.perf_counter() - started, scope.get("method", "")
            self.metrics.answered(method, scope["path"], status, seconds)
            fields = {
                "id": identity,
                "method": method,
                "path": scope["path"][:200],
                "status": status,
                "milliseconds": round(1e3 * seconds, 2),
                "client": (scope.get("client") or ("",))[0],
            }
            logger.log(
                logging.ERROR if failure else logging.INFO, "request", extra={"fields": fields}, exc_info=failure
            )


Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_WILDCARDS = {"0.0.0.0", "::", ""}
HEADERS = {
    # Everything comes from this server; nothing inline, so that text from data can't become a script.
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
_TOKEN_ADVICE = (
    "This server answers only those who know its token. Open the address that the lab printed in the terminal in which "
    "it was started, or add ?token= and the token to this address. After that, links to this server work in this "
    "browser until it is started again."
)
# A rejected body is read and discarded for this long, so that the client can read the answer.
_DISCARD_SECONDS = 2.0


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Credo</title></head>
<body><h1>This page can't be shown</h1><p>{}</p></body></html>
"""


async def refuse(
    scope: Scope, send: Send, status: int, error: str, headers: dict[str, str] | None = None, *, advice: str = ""
) -> None:
    """Answer with the status and {"error": error}; close a websocket that isn't open yet.

    A browser that opens a page gets a page with the advice (or the error) instead.
    """
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": error[:100]})
        return
    answer: Response = JSONResponse({"error": error}, status, headers)
    if scope.get("method") == "GET" and "text/html" in (header(scope, "accept") or ""):
        answer = HTMLResponse(_PAGE.format(escape(advice or error)), status, headers)
    if scope.get("method") == "HEAD":
        answer.body = b""
    await answer(scope, None, send)  # type: ignore[arg-type]


def header(scope: Scope, name: str) -> str | None:
    """The value of a header; None without one. Several of the same name are joined by commas, as HTTP allows."""
    values = Headers(scope=scope).getlist(name)
    return ", ".join(values) if values else None


class Guard:
    """Rejects requests from other hosts or origins and those without the token, and adds headers for browsers.

    A request whose Host header is none of the names gets 403. Without this, a web page whose name is made to resolve to
    127.0.0.1 (DNS rebinding) could read this server, because the browser would treat both as the same origin. Requests
    from pages of another origin, by the Origin header or else Sec-Fetch-Site, get 403 too; a link to a page on this
    server still works, and programs send neither header.

    A request without the token gets 401. It is taken from `Authorization: Bearer TOKEN`, from a cookie, or from
    `?token=TOKEN` in the address; in the last case the answer sets the cookie, so that further requests of the page
    need no token in their address. The cookie holds a hash of the token, whose characters need no quoting. It is
    SameSite=Lax, so that a link in a document opens a page; other requests from other origins are rejected anyway.

    The headers allow only scripts and styles from this server and none inline, forbid other pages to embed it, and keep
    answers out of caches and addresses (which may contain a token) out of the Referer header. An answer that sets one
    of them itself keeps it.

    Parameters
    ----------
    app : ASGI application
    host : the address that the server listens on; with a wildcard such as 0.0.0.0, every IP address is allowed as
        Host, because DNS can't redirect these
    names : further names by which clients may call the server
    token : the secret that every request needs; without one, none is required
    open_paths : paths that need no token, such as health checks
    """

    def __init__(
        self,
        app: App,
        *,
        host: str = "127.0.0.1",
        names: Iterable[str] = (),
        token: str | None = None,
        open_paths: Collection[str] = (),
    ) -> None:
        if token == "":
            raise ValueError("the token is empty")
        own = f"[{host}]" if ":" in host else host
        self.app, self.token, self.open_paths = app, token, frozenset(open_paths)
        self.hosts, self.any_address = frozenset(each.lower() for each in {*LOOPBACK, own, *names}), host in _WILDCARDS
        self.hash = hashlib.sha256((token or "").encode()).hexdigest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            await self.app(scope, receive, send)
            return
        # Browsers share the cookies of all ports of a host.
        cookie = f"credo-token-{(scope.get('server') or ('', 0))[1]}"
        by_address = self.token is not None and _equal(_query(scope, "token"), self.token)
        added = {"set-cookie": f"{cookie}={self.hash}; HttpOnly; Path=/; SameSite=Lax"} if by_address else {}
        if not self._is_known_host(header(scope, "host") or ""):
            await refuse(scope, _with_headers(send, HEADERS), 403, "the Host header names another server")
        elif not _is_same_origin(scope):
            error = "requests from pages of another origin are rejected"
            await refuse(scope, _with_headers(send, HEADERS), 403, error)
        elif by_address or self._has_token(scope, cookie):
            # The application needs no cookies, and its framework would parse all of them.
            rest = {**scope, "headers": [pair for pair in scope["headers"] if pair[0].lower() != b"cookie"]}
            await self.app(rest, receive, _with_headers(send, {**HEADERS, **added}))
        else:
            await refuse(
                scope, _with_headers(send, HEADERS), 401, "the token is missing or wrong; send the header "
                "'Authorization: Bearer TOKEN' or add ?token=TOKEN to the address, with the token that the server "
                "printed when it started", {"www-authenticate": "Bearer"}, advice=_TOKEN_ADVICE,
            )  # fmt: skip

    def _is_known_host(self, field: str) -> bool:
        name, colon, port = field.lower().rpartition(":")
        if not colon or not port.isascii() or not port.isdigit():
            name = field.lower()
        return bool(name) and (name in self.hosts or (self.any_address and _is_address(name)))

    def _has_token(self, scope: Scope, cookie: str) -> bool:
        if self.token is None or scope["path"] in self.open_paths:
            return True
        scheme, _, bearer = (header(scope, "authorization") or "").partition(" ")
        by_header = scheme.lower() == "bearer" and _equal(bearer.strip(), self.token)
        return by_header or _equal(_cookie(scope, cookie), self.hash)


def _is_address(name: str) -> bool:
    try:
        ip_address(name[1:-1] if name.startswith("[") and name.endswith("]") else name)
    except ValueError:
        return False
    return True


def _is_same_origin(scope: Scope) -> bool:
    origin = header(scope, "origin")
    if origin is not None:
        try:
            place = urlsplit(origin).netloc
        except ValueError:
            return False
        return bool(place) and place.lower() == (header(scope, "host") or "").lower()
    if header(scope, "sec-fetch-site") in {"cross-site", "same-site"}:
        followed = header(scope, "sec-fetch-mode") == "navigate" and header(scope, "sec-fetch-dest") == "document"
        return followed and scope.get("method") in {"GET", "HEAD"}
    return True


def _equal(given: str, secret: str) -> bool:
    # As bytes, because compare_digest accepts only ASCII text.
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), secret.encode())


def _cookie(scope: Scope, name: str) -> str:
    """The value of one cookie; others are not parsed, because `SimpleCookie` can take seconds for a hostile one."""
    for field in (header(scope, "cookie") or "").replace(",", ";").split(";"):
        key, _, value = field.partition("=")
        if key.strip() == name:
            return value.strip()
    return ""


def _query(scope: Scope, name: str) -> str:
    found = QueryParams(scope.get("query_string", b"")).getlist(name)
    return found[0] if len(found) == 1 else ""


class BodyLimit:
    """Limits the size of a request's body, the time in which it must arrive, and the size of all bodies together.

    A body of more than `max_bytes` gets 413, whether its length is declared or not; one that isn't complete after
    `seconds` gets 408; one that would bring the bodies of all unfinished requests above `at_once` times `max_bytes`
    gets 503. All close the connection. The time starts when the application asks for the body, so that an application
    that ignores it isn't affected. After a failure, the application's answer is replaced. Paths that match `exempt`
    have no limit here.
    """

    def __init__(
        self, app: App, max_bytes: int, seconds: float, *, at_once: int = 8, exempt: re.Pattern[str] | None = None
    ) -> None:
        self.exempt = exempt
        self.app, self.max_bytes, self.seconds, self.room = app, max_bytes, seconds, at_once * max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or (self.exempt is not None and self.exempt.fullmatch(scope["path"])):
            await self.app(scope, receive, send)
            return
        declared = header(scope, "content-length")
        if declared is not None and not (declared.isascii() and declared.isdigit() and len(declared) < 20):
            await refuse(scope, send, 400, "the Content-Length header isn't a number", {"connection": "close"})
            return
        body = _Body(receive, self)
        if declared is not None and int(declared) > self.max_bytes:
            await body.discard()
            await refuse(scope, send, *_too_large(self.max_bytes))
            return
        try:
            await self._run(scope, body, send)
        finally:
            self.room += body.size

    async def _run(self, scope: Scope, body: _Body, send: Send) -> None:
        started = False

        async def replaced(message: Message) -> None:
            nonlocal started
            if body.failure is None or started:
                started = True
                await send(message)

        try:
            await self.app(scope, body.receive, replaced)
        except _BodyFailed:
            pass
        except Exception:
            # An application may turn the failure into another error.
            if body.failure is None:
                raise
        if body.failure is not None and not started:
            await refuse(scope, send, *body.failure)


_Failure = tuple[int, str, dict[str, str]]


def _too_large(limit: int) -> _Failure:
    return 413, f"the body has more than {limit} bytes", {"connection": "close"}


class _BodyFailed(Exception):
    """The body is too large or too late."""


class _Body:
    """The messages of a body, until it is complete or has failed."""

    def __init__(self, receive: Receive, limit: BodyLimit) -> None:
        self._receive, self.limit, self.size, self.complete = receive, limit, 0, False
        self.deadline: float | None = None
        self.failure: _Failure | None = None

    async def receive(self) -> Message:
        """The next message; `_BodyFailed` if the body is too large or too late."""
        if self.failure is not None:
            raise _BodyFailed
        if self.complete:
            # Waiting for the client to disconnect is allowed.
            return await self._receive()
        if self.deadline is None:
            self.deadline = asyncio.get_running_loop().time() + self.limit.seconds
        try:
            async with asyncio.timeout_at(self.deadline):
                message = await self._receive()
        except TimeoutError:
            error = f"the body wasn't complete after {self.limit.seconds:g} seconds"
            self.failure = 408, error, {"connection": "close"}
            raise _BodyFailed from None
        if message["type"] != "http.request":
            self.complete = True
            return message
        size = len(message.get("body", b""))
        self.complete = not message.get("more_body", False)
        if self.size + size > self.limit.max_bytes:
            self.failure = _too_large(self.limit.max_bytes)
        elif size > self.limit.room:
            error = "the server is receiving too many large requests at once; try again in a few seconds"
            self.failure = 503, error, {"connection": "close", "retry-after": "5"}
        if self.failure is not None:
            await self.discard()
            raise _BodyFailed
        self.size += size
        self.limit.room -= size
        return message

    async def discard(self) -> None:
        """Read and discard more of a rejected body.

        A connection that is closed while the client is sending is reset, and the client can't read the answer.
        """
        left = 4 * self.limit.max_bytes
        try:
            async with asyncio.timeout(_DISCARD_SECONDS):
                while left > 0 and not self.complete:
                    message = await self._receive()
                    left -= len(message.get("body", b""))
                    self.complete = message["type"] != "http.request" or not message.get("more_body", False)
        except TimeoutError:
            pass


def _with_headers(send: Send, added: dict[str, str]) -> Send:
    """`send`, with headers that the answer doesn't have yet."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", ()))
            present = {name.lower() for name, _ in headers}
            encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in added.items()]
            message = {**message, "headers": headers + [pair for pair in encoded if pair[0] not in present]}
        await send(message)

    return sending


def guarded(
    app: App,
    *,
    max_bytes: int = 10_000_000,
    body_seconds: float = 30.0,
    metrics: Metrics | None = None,
    **guard: Any,
) -> App:
    """The application wrapped in all of these classes; other arguments are those of `Guard`.

    Parameters
    ----------
    app : ASGI application
    max_bytes, body_seconds : limits of a request's body
    metrics : counts and times requests, as in `AccessLog`
    """
    return AccessLog(Guard(BodyLimit(app, max_bytes, body_seconds), **guard), metrics)
