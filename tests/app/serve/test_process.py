"""`credo serve` as a process of its own: slow clients, signals, exit codes, logs."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import httpx
import pytest
from tests.app.serve.conftest import ROW

from credo.app.serve.server import listen

SECONDS = 3.0


@contextmanager
def started(path, *options, log=None):
    """A server process and its address; stopped at the end if it still runs."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "credo", "serve", str(path), "--port", "0", *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=log or subprocess.DEVNULL, text=True, env=environment
    ) as process:
        try:
            line = process.stdout.readline()
            assert line.startswith("Serving "), line
            yield process, int(line.split(" (")[0].rpartition(":")[2])
        finally:
            process.kill()


@pytest.fixture(scope="module")
def server(files, tmp_path_factory):
    log = tmp_path_factory.mktemp("log") / "stderr"
    with log.open("w") as handle, started(files["growth"], "--timeout", str(SECONDS), log=handle) as (process, port):
        yield process, port, log
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 130


def head(path="/predict", length=None, host="localhost", **headers):
    """The head of a POST request."""
    size = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    more = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST {path} HTTP/1.1\r\nHost: {host}\r\n{size}\r\n{more}\r\n".encode()


def answer(connection):
    """Everything that the server sends until it closes the connection."""
    connection.settimeout(30)
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


BODY = json.dumps([ROW]).encode()


def test_half_a_body_holds_nobody_up(server):
    _, port, _ = server
    stalled = [socket.create_connection(("127.0.0.1", port)) for _ in range(30)]
    for k, connection in enumerate(stalled):
        # Some declare the length, some send chunks, some don't get beyond half a header.
        parts = [head(length=len(BODY)) + BODY[:10], head() + b'4\r\n[{"a\r\n', b"POST /predict HTTP/1.1\r\nHo"]
        connection.sendall(parts[k % 3])
    begun = time.monotonic()
    with httpx.Client(base_url=f"http://localhost:{port}", timeout=30) as client:
        replies = [client.post("/predict", content=BODY) for _ in range(5)]
    assert [reply.status_code for reply in replies] == [200] * 5
    answers = [answer(connection) for connection in stalled]
    assert SECONDS / 2 < time.monotonic() - begun < 10 * SECONDS
    for k, text in enumerate(answers):
        assert text == b"" if k % 3 == 2 else text.startswith(b"HTTP/1.1 408"), (k, text)
    for connection in stalled:
        connection.close()


def test_a_chunked_body_without_end_is_cut_off(server):
    _, port, _ = server
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(head())
        chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
        try:
            for _ in range(60):
                connection.sendall(chunk)
        except OSError:
            return
        assert answer(connection).startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize("headers", [{"host": "evil.example"}, {"origin": "http://evil.example"}])
def test_other_hosts_and_origins_are_refused(server, headers):
    _, port, _ = server
    reply = httpx.post(f"http://localhost:{port}/predict", content=BODY, headers=headers, timeout=30)
    assert reply.status_code == 403 and "access-control-allow-origin" not in reply.headers


def test_logs_are_lines_of_json(server):
    _, port, log = server
    reply = httpx.get(f"http://localhost:{port}/v2/health/live?token=s3cret", timeout=30)
    time.sleep(0.2)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    (line,) = [line for line in lines if line.get("id") == reply.headers["x-request-id"]]
    assert (line["path"], line["status"], line["logger"]) == ("/v2/health/live", 200, "credo.app.serve")
    assert "s3cret" not in log.read_text() and "server" not in reply.headers


def test_a_request_in_flight_is_answered_before_the_server_stops(files):
    with started(files["growth"], "--name", "plants") as (process, port):
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(head("/predict", len(BODY)) + BODY[:10])
            with httpx.Client(base_url=f"http://localhost:{port}", timeout=30) as client:
                # The answer proves that the server has taken the connection before.
                assert client.get("/v2/models/plants/ready").json()["ready"]
            process.send_signal(signal.SIGTERM)
            time.sleep(1.0)
            with pytest.raises(OSError):
                socket.create_connection(("127.0.0.1", port), timeout=1)
            connection.sendall(BODY[10:])
            text = answer(connection)
        assert text.startswith(b"HTTP/1.1 200") and b'"mean"' in text
        assert process.wait(timeout=20) == 0


def test_answers_do_not_wait_for_acknowledgements():
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
