"""A bounded load test of `credo serve` on the loopback interface: rate, errors and latency.

`python -m benchmarks.serve [MODEL]` starts a server of its own, for a small model or MODEL, and stops it at the end.
Clients keep their connections and send the next request when the last is answered: the rate is what the server holds.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.harness import Line, below

# One case ends after so many requests, or seconds.
REQUESTS, SECONDS = 2000, 15.0
CLIENTS = 8


def run(path: str | None = None) -> list[Line]:
    with tempfile.TemporaryDirectory() as folder:
        model = Path(path) if path else _model(Path(folder) / "model.credo")
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
    for name, rows, clients in (
        ("/predict, 1 row, 1 client", 1, 1),
        (f"/predict, 1 row, {CLIENTS} clients", 1, CLIENTS),
        (f"/predict, 100 rows, {CLIENTS} clients", 100, CLIENTS),
    ):
        content = json.dumps({"rows": body["rows"] * rows}).encode()
        lines.append(await _load(name, port, "POST", "/predict", content, clients))
    lines.append(await _load(f"/v2/health/live, {CLIENTS} clients", port, "GET", "/v2/health/live", b"", CLIENTS))
    return lines


async def _load(name: str, port: int, method: str, path: str, body: bytes, clients: int) -> Line:
    """One case: all clients until the limit."""
    seconds: list[float] = []
    errors = 0
    left, end = REQUESTS, time.perf_counter() + SECONDS

    def more() -> bool:
        nonlocal left
        left -= 1
        return left >= 0 and time.perf_counter() < end

    async def client() -> None:
        nonlocal errors
        errors += await _client(port, method, path, body, more, seconds)

    start = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    elapsed = time.perf_counter() - start
    p50, p99 = (1e3 * np.quantile(seconds, q) for q in (0.5, 0.99))
    text = f"{len(seconds) / elapsed:.0f} requests/s, p50 {p50:.1f} ms, p99 {p99:.1f} ms, {errors} errors"
    return below(f"{name}: {text}", errors, 0.0, unit="errors")


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
