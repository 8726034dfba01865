"""What Prometheus reads: requests, their latency, those in flight, and rows predicted."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST as CONTENT_TYPE_LATEST

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_METHODS = frozenset({"GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"})


class Metrics:
    """The metrics of one server, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "credo_requests_total", "Requests answered.", ["method", "path", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "credo_request_seconds", "Time to answer.", ["path"], buckets=_BUCKETS, registry=self.registry
        )
        self.in_flight = Gauge("credo_requests_in_flight", "Requests not answered yet.", registry=self.registry)
        self.rows = Counter("credo_rows_predicted_total", "Rows predicted.", registry=self.registry)

    def text(self) -> bytes:
        """All of them in the format of Prometheus."""
        return generate_latest(self.registry)


class Measured:
    """ASGI middleware that counts and times requests; paths other than the `known` ones count as "other"."""

    def __init__(self, app: Any, metrics: Metrics, known: Collection[str]) -> None:
        self.app, self.metrics, self.known = app, metrics, frozenset(known)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, started = 500, time.perf_counter()

        async def sending(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        with self.metrics.in_flight.track_inprogress():
            try:
                await self.app(scope, receive, sending)
            finally:
                path = scope["path"] if scope["path"] in self.known else "other"
                method = scope["method"] if scope["method"] in _METHODS else "other"
                self.metrics.requests.labels(method, path, str(status)).inc()
                self.metrics.seconds.labels(path).observe(time.perf_counter() - started)
