"""A bounded load test of `credo serve` on 127.0.0.1: latency, rate and errors.

It starts a server of its own, for a small model, and stops it at the end. Clients keep their connections and send the
next request when the last is answered: the rate is what the server holds. A request that needs no model
(`/v2/health/live`) shows what the web server alone takes.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.harness import Line

# One case ends after so many requests, or seconds.
REQUESTS, SECONDS = 1000, 4.0
CLIENTS = 8


def run() -> list[Line]:
    with tempfile.TemporaryDirectory() as folder:
        model = _model(Path(folder) / "model.credo")
        command = [sys.executable, "-m", "credo", "serve", str(model), "--port", "0", "--name", "model"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
            try:
                assert server.stdout is not None
                port = int(server.stdout.readline().split(" (")[0].rpartition(":")[2])
                return asyncio.run(_all(port))
            finally:
                server.terminate()
                server.wait(timeout=60)


def _model(path: Path) -> Path:
    """A linear model of five columns, one of them a category."""
    import pandas as pd

    import credo

    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 4)), columns=list("abcd"))
    table["soil"] = rng.choice(["sand", "clay", "peat"], 200)
    table["y"] = table.a - table.b + (table.soil == "clay") + rng.normal(size=200)
    credo.save(credo.TableModel(credo.Preparation(standardize=True), credo.LinearRegression(), "y").fit(table), path)
    return path


async def _all(port: int) -> list[Line]:
    example = json.loads((await _request(port, "GET", "/openapi.json"))[1])
    body = example["paths"]["/predict"]["post"]["requestBody"]["content"]["application/json"]["example"]
    lines = []
    for rows, clients in ((1, 1), (1, CLIENTS), (100, CLIENTS)):
        content = json.dumps({"rows": body["rows"] * rows}).encode()
        bare = await _load(port, "GET", "/v2/health/live", b"", clients)
        ours = await _load(port, "POST", "/predict", content, clients)
        case = f"POST /predict, {rows} row{'s' * (rows > 1)}, {clients} client{'s' * (clients > 1)}, p50"
        # Milliseconds.
        p50, p99 = np.quantile(ours.seconds, [0.5, 0.99]) * 1e3
        quality = f"{len(ours.seconds) / ours.elapsed:.0f} requests/s, p99 {p99:.1f} ms, {ours.errors} errors"
        alone = float(np.median(bare.seconds)) * 1e3
        lines.append(
            Line(
                case, float(p50), "GET /v2/health/live", alone, "no errors", not ours.errors, unit="ms", quality=quality
            )
        )
    return lines


@dataclass
class Answers:
    """Seconds of each request, how many weren't answered with 200, and how long all took."""

    seconds: list[float] = field(default_factory=list)
    errors: int = 0
    elapsed: float = 0.0


async def _load(port: int, method: str, path: str, body: bytes, clients: int) -> Answers:
    """All clients until the limit."""
    found = Answers()
    left, end = REQUESTS, time.perf_counter() + SECONDS

    def more() -> bool:
        nonlocal left
        left -= 1
        return left >= 0 and time.perf_counter() < end

    start = time.perf_counter()
    jobs = (_client(port, method, path, body, more, found.seconds) for _ in range(clients))
    found.errors = sum(await asyncio.gather(*jobs))
    found.elapsed = time.perf_counter() - start
    return found


async def _client(
    port: int, method: str, path: str, body: bytes, more: Callable[[], bool], seconds: list[float]
) -> int:
    """Requests on one connection, one after the other; the number of answers other than 200."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    errors = 0
    while more():
        start = time.perf_counter()
        writer.write(_head(method, path, len(body)) + body)
        status, _ = await _answer(reader)
        seconds.append(time.perf_counter() - start)
        errors += status != 200
    writer.close()
    return errors


async def _request(port: int, method: str, path: str) -> tuple[int, bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(_head(method, path, 0))
    answer = await _answer(reader)
    writer.close()
    return answer


def _head(method: str, path: str, length: int) -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n".encode()


async def _answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)).decode("latin-1").lower()
    length = next(int(line.split(":")[1]) for line in head.splitlines() if line.startswith("content-length:"))
    return int(head.split()[1]), await reader.readexactly(length)


if __name__ == "__main__":
    for found in run(*sys.argv[1:2]):
        print(found.case)
