"""Running an ASGI application: sockets, signals, slow clients."""

from __future__ import annotations

import asyncio
import math
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from credo.app.serve.guard import App, log_to_stderr

_LOGGERS = ("credo.app.serve", "uvicorn", "uvicorn.error", "uvicorn.access", "py.warnings")
# Time limit for the headers of a request.
_HEADER_SECONDS = 10.0
# Time for a shutdown beyond that of a request.
_SHUTDOWN_SECONDS = 5.0


class _Protocol(H11Protocol):
    """HTTP that closes a connection on which no request, or only part of its headers, arrives in time."""

    seconds = _HEADER_SECONDS
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_answering():
            self._stop()
        elif self._timer is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self) -> None:
        self._timer = self.loop.call_later(self.seconds, self._give_up)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if not self._is_answering():
            self.transport.close()


class _Server(uvicorn.Server):
    """Remembers the signal that stopped it, and doesn't raise it again after it has shut down."""

    stopped_by: int | None = None

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: Any) -> None:
        self.stopped_by = sig
        super().handle_exit(sig, frame)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; raises an OSError that names the address if that is impossible."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise OSError(f"can't listen on {host}:{port}: {error.strerror or error}") from None
    # TCP_NODELAY, inherited by connections: otherwise the second packet of an answer waits 40 ms for an
    # acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def run(app: App, listener: socket.socket, *, seconds: float, started: Callable[[], None] = lambda: None) -> int | None:
    """Serve until SIGTERM or SIGINT, and return the signal; requests in flight are answered first.

    Logs are JSON lines on stderr.

    Parameters
    ----------
    app : ASGI application
    listener : socket, from `listen`
    seconds : time limit of a request, also for those in flight at the signal
    started : called before the first request is taken
    """
    log_to_stderr(*_LOGGERS)
    server = _Server(configured(app, seconds=seconds, shutdown=math.ceil(seconds + _SHUTDOWN_SECONDS)))
    started()
    server.run(sockets=[listener])
    return server.stopped_by


def configured(app: App, *, seconds: float, shutdown: int) -> uvicorn.Config:
    """A configuration for HTTP only, with time limits for the headers of a request and for the shutdown."""
    return uvicorn.Config(
        app,
        http=type("Protocol", (_Protocol,), {"seconds": min(seconds, _HEADER_SECONDS)}),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=shutdown,
    )
