"""Structured logs: one JSON object a line, through `logging`.

ASGI middleware that keeps a local web server private and responsive; used by the model server and by the lab.

    guarded(app, hosts=…, max_bytes=…, body_seconds=…, token=…) = AccessLog(SecurityHeaders(AllowedHosts(
        SameOrigin(TokenRequired(BodyLimit(app))))))

Each class wraps any ASGI application, keeps nothing of a finished request, and answers a refused request itself with a
JSON object {"error": sentence}. They need no library.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import sys
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, MutableMapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

logger = logging.getLogger("credo.app.serve")

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


Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_WILDCARDS = {"0.0.0.0", "::", ""}
# Everything comes from this server; nothing inline, so that text from data can't become a script.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# How much of a refused body is read and thrown away, so that the client gets to read the answer.
_DISCARD_SECONDS = 2.0


async def refuse(scope: Scope, send: Send, status: int, error: str, headers: dict[str, str] | None = None) -> None:
    """Answer with the status and {"error": error}; close a websocket that isn't open yet."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": error[:100]})
        return
    body = json.dumps({"error": error}).encode()
    fields = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body if scope.get("method") != "HEAD" else b""})


def header(scope: Scope, name: str) -> str | None:
    """The value of a header; None without one. Several of the same name are joined by commas, as HTTP allows."""
    wanted = name.lower().encode("latin-1")
    values = [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == wanted]
    return ", ".join(values) if values else None


def _is_request(scope: Scope) -> bool:
    return scope["type"] in {"http", "websocket"}


class AllowedHosts:
    """Refuses requests whose Host header is none of the names (403).

    Without it, a web page whose name is made to resolve to 127.0.0.1 (DNS rebinding) could read this server, because
    the browser then believes that both have the same origin.

    Parameters
    ----------
    app : ASGI application
    hosts : names or addresses without port; an IPv6 address in brackets
    any_address : also accept every IP address: a name server can't redirect these
    """

    def __init__(self, app: App, hosts: Iterable[str], *, any_address: bool = False) -> None:
        self.app, self.hosts = app, frozenset(host.lower() for host in hosts)
        self.any_address = any_address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _is_request(scope) and not self._allows(header(scope, "host") or ""):
            await refuse(scope, send, 403, "the Host header names another server")
            return
        await self.app(scope, receive, send)

    def _allows(self, field: str) -> bool:
        name, colon, port = field.lower().rpartition(":")
        if not colon or not port.isascii() or not port.isdigit():
            name = field.lower()
        return name in self.hosts or (self.any_address and _is_address(name))


def _is_address(name: str) -> bool:
    try:
        ip_address(name[1:-1] if name.startswith("[") and name.endswith("]") else name)
    except ValueError:
        return False
    return True


class SameOrigin:
    """Refuses what a web page of another origin sends (403): by its Origin header, or by Sec-Fetch-Site without one.

    A link to a page on this server still works. Programs send neither header and aren't affected.
    """

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _is_request(scope) and not self._allows(scope):
            await refuse(scope, send, 403, "requests from pages of another origin are refused")
            return
        await self.app(scope, receive, send)

    def _allows(self, scope: Scope) -> bool:
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


class TokenRequired:
    """Refuses requests without the secret token (401).

    The token is taken from `Authorization: Bearer TOKEN`, from a cookie, or from `?token=TOKEN` in the address; in the
    last case the answer sets the cookie, so that what the page loads next needs no token in its address. The cookie
    holds a hash of the token, whose characters need no quoting.

    Parameters
    ----------
    app : ASGI application
    token : str
    open_paths : paths that need no token, such as health checks
    """

    def __init__(self, app: App, token: str, *, open_paths: Collection[str] = ()) -> None:
        if not token:
            raise ValueError("the token is empty")
        self.app, self.token, self.open_paths = app, token, frozenset(open_paths)
        self.hash = hashlib.sha256(token.encode()).hexdigest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _is_request(scope) or scope["path"] in self.open_paths:
            await self.app(scope, receive, send)
            return
        # Browsers share the cookies of all ports of a host.
        cookie = f"credo-token-{(scope.get('server') or ('', 0))[1]}"
        scheme, _, bearer = (header(scope, "authorization") or "").partition(" ")
        as_header = scheme.lower() == "bearer" and _equal(bearer.strip(), self.token)
        if as_header or _equal(_cookie(scope, cookie), self.hash):
            await self.app(scope, receive, send)
        elif _equal(_query(scope, "token"), self.token):
            field = f"{cookie}={self.hash}; HttpOnly; Path=/; SameSite=Strict"
            await self.app(scope, receive, _with_headers(send, {"set-cookie": field}))
        else:
            await refuse(
                scope, send, 401, "the token is missing or wrong; send the header 'Authorization: Bearer TOKEN' or add "
                "?token=TOKEN to the address, with the token that the server printed when it started",
                {"www-authenticate": "Bearer"},
            )  # fmt: skip


def _equal(given: str, secret: str) -> bool:
    # As bytes: compare_digest takes no text beyond ASCII.
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), secret.encode())


def _cookie(scope: Scope, name: str) -> str:
    """The value of one cookie; others are not parsed, because `SimpleCookie` can take seconds for a hostile one."""
    for field in (header(scope, "cookie") or "").replace(",", ";").split(";"):
        key, _, value = field.partition("=")
        if key.strip() == name:
            return value.strip()
    return ""


def _query(scope: Scope, name: str) -> str:
    try:
        found = parse_qs(scope.get("query_string", b"").decode("latin-1"), max_num_fields=100).get(name, [""])
    except ValueError:
        return ""
    return found[0] if len(found) == 1 else ""


class BodyLimit:
    """Limits the size of a request's body, the time in which it must arrive, and the size of all bodies together.

    A body of more than `max_bytes` gets 413, whether its length is declared or not; one that isn't complete after
    `seconds` gets 408; one for which there is no room beside those of unfinished requests, which together may have
    `at_once` times as many bytes, gets 503. All close the connection. The time starts when the application asks for
    the body, so that one that ignores it isn't disturbed, and whatever the application answers after a failure is
    replaced.
    """

    def __init__(self, app: App, max_bytes: int, seconds: float, *, at_once: int = 8) -> None:
        self.app, self.max_bytes, self.seconds, self.room = app, max_bytes, seconds, _Room(at_once * max_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        declared = header(scope, "content-length")
        if declared is not None and not (declared.isascii() and declared.isdigit() and len(declared) < 20):
            await refuse(scope, send, 400, "the Content-Length header isn't a number", {"connection": "close"})
            return
        body = _Body(receive, self.max_bytes, self.seconds, self.room)
        if declared is not None and int(declared) > self.max_bytes:
            await body.discard()
            await refuse(scope, send, *_too_large(self.max_bytes))
            return
        try:
            await self._run(scope, body, send)
        finally:
            self.room.left += body.size

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


@dataclass
class _Room:
    """How many bytes of bodies may still be received before a request finishes."""

    left: int


class _Body:
    """The messages of a body, until it is complete or has failed."""

    def __init__(self, receive: Receive, max_bytes: int, seconds: float, room: _Room) -> None:
        self._receive, self.max_bytes, self.seconds, self.room = receive, max_bytes, seconds, room
        self.size, self.complete = 0, False
        self.deadline: float | None = None
        self.failure: _Failure | None = None

    async def receive(self) -> Message:
        """The next message; `_BodyFailed` if the body is too large or too late."""
        if self.failure is not None:
            raise _BodyFailed
        if self.complete:
            # Whoever waits for the client to go away may wait.
            return await self._receive()
        if self.deadline is None:
            self.deadline = asyncio.get_running_loop().time() + self.seconds
        try:
            async with asyncio.timeout_at(self.deadline):
                message = await self._receive()
        except TimeoutError:
            error = f"the body wasn't complete after {self.seconds:g} seconds"
            self.failure = 408, error, {"connection": "close"}
            raise _BodyFailed from None
        if message["type"] != "http.request":
            self.complete = True
            return message
        size = len(message.get("body", b""))
        self.complete = not message.get("more_body", False)
        if self.size + size > self.max_bytes:
            self.failure = _too_large(self.max_bytes)
        elif size > self.room.left:
            error = "the server is receiving too many large requests at once; try again in a few seconds"
            self.failure = 503, error, {"connection": "close", "retry-after": "5"}
        if self.failure is not None:
            await self.discard()
            raise _BodyFailed
        self.size += size
        self.room.left -= size
        return message

    async def discard(self) -> None:
        """Read and forget some more of a body that is refused.

        A connection that is closed while its client still sends is reset, and the client can't read the answer.
        """
        left = 4 * self.max_bytes
        try:
            async with asyncio.timeout(_DISCARD_SECONDS):
                while left > 0 and not self.complete:
                    message = await self._receive()
                    left -= len(message.get("body", b""))
                    self.complete = message["type"] != "http.request" or not message.get("more_body", False)
        except TimeoutError:
            pass


class SecurityHeaders:
    """Adds headers for browsers to every answer that doesn't set them itself.

    They allow scripts and styles of this server only and none inline, forbid other pages to embed it, and keep answers
    out of caches and addresses (which may contain a token) out of the Referer header.
    """

    def __init__(self, app: App, *, policy: str = CONTENT_SECURITY_POLICY) -> None:
        self.app = app
        self.headers = {
            "content-security-policy": policy,
            "x-content-type-options": "nosniff",
            "x-frame-options": "DENY",
            "referrer-policy": "no-referrer",
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
            "permissions-policy": "camera=(), geolocation=(), microphone=()",
            "cache-control": "no-store",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            send = _with_headers(send, self.headers)
        await self.app(scope, receive, send)


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


def allowed_hosts(host: str, names: Iterable[str] = ()) -> dict[str, Any]:
    """The arguments of `AllowedHosts` for a server that listens on `host` and is also known by `names`.

    >>> allowed_hosts("0.0.0.0", ["model"])["any_address"]
    True
    """
    own = f"[{host}]" if ":" in host else host
    return {"hosts": {*LOOPBACK, own, *names} - {""}, "any_address": host in _WILDCARDS}


def guarded(
    app: App,
    *,
    host: str = "127.0.0.1",
    names: Iterable[str] = (),
    max_bytes: int = 10_000_000,
    body_seconds: float = 30.0,
    token: str | None = None,
    open_paths: Collection[str] = (),
    policy: str = CONTENT_SECURITY_POLICY,
) -> App:
    """The application behind all of these classes.

    Parameters
    ----------
    app : ASGI application
    host : the address that the server listens on; with a wildcard such as 0.0.0.0, every IP address is allowed as Host
    names : further names by which clients may call the server
    max_bytes, body_seconds : limits of a request's body
    token : the secret that every request needs; without one, none is required
    open_paths : paths that need no token
    policy : the content security policy
    """
    inner: App = BodyLimit(app, max_bytes, body_seconds)
    if token is not None:
        inner = TokenRequired(inner, token, open_paths=open_paths)
    return AccessLog(SecurityHeaders(AllowedHosts(SameOrigin(inner), **allowed_hosts(host, names)), policy=policy))
