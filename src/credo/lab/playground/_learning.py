"""Learning in other processes, so that plain answers aren't held up; a page's newer request replaces its older one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Any

from credo.lab.playground._model import Settings
from credo.lab.playground._problem import Problem
from credo.lab.playground._worker import encode

SECONDS, GRACE, PROCESSES, WAITING = 15.0, 5.0, 2, 8
# A process that has just been started imports first, and compiles where nothing is cached yet.
START = 60.0
# Seconds that a process has to give up a request.
STOP = 2.0
LOST = "Learning didn't finish and was stopped; the settings are as before."


class Dropped(Exception):
    """A newer request of the same page replaced this one, or too many wait; the text says which."""


class _Process:
    """A worker process: a request and its answer at a time."""

    def __init__(self) -> None:
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "credo.lab.playground._worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | threads,
            text=True,
            # Ctrl-C in the terminal is for the server, which then ends its workers.
            start_new_session=True,
        )
        self._is_new = True

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any] | None:
        """The answer, or None if the process ended or had to be ended."""
        assert self._process.stdin is not None and self._process.stdout is not None
        timer = threading.Timer(seconds + START if self._is_new else seconds, self.kill)
        timer.daemon = True
        timer.start()
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except (OSError, ValueError):
            line = ""
        finally:
            timer.cancel()
        self._is_new = False
        return json.loads(line) if line else None

    def stop(self) -> None:
        """Give up the present request; the process stays."""
        if hasattr(signal, "SIGUSR1") and self.is_alive:
            self._process.send_signal(signal.SIGUSR1)
        else:
            self.kill()

    def kill(self) -> None:
        """End the process; an answer that is waited for is then None."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End the process and close its pipes."""
        self.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError, ValueError):
                pipe.close()  # type: ignore[union-attr]


class _Ticket:
    """A request of a page; `dropped` once a newer one took its place."""

    def __init__(self) -> None:
        self.process: _Process | None = None
        self.dropped = False
        self.done = threading.Event()


class Learners:
    """Up to two processes that learn, started when they are needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._slots = threading.Semaphore(PROCESSES)
        self._idle: list[_Process] = []
        self._running: list[_Process] = []
        self._tickets: dict[str, _Ticket] = {}
        self._waiting = 0
        self._closed = False

    def prepare(self) -> None:
        """Start a process, so that the first request to learn needn't wait for it."""
        with self._lock:
            if not (self._closed or self._idle):
                self._idle.append(_Process())

    def learn(self, page: str, problem: Problem, model: str, settings: Settings) -> tuple[Settings, list[str]]:
        """Learned settings and notes; raises `Dropped` when a newer request of the page arrives."""
        ticket = self._enter(page)
        try:
            with self._slots:
                found = self._ask(ticket, encode(problem, model, settings, SECONDS))
        finally:
            self._leave(page, ticket)
        if ticket.dropped:
            raise Dropped("A newer request of this page replaced this one.")
        if found is None:
            return settings, [LOST]
        return found["settings"] or settings, found["notes"]

    def _ask(self, ticket: _Ticket, request: dict[str, Any]) -> dict[str, Any] | None:
        with self._lock:
            if ticket.dropped or self._closed:
                return None
            self._idle = [process for process in self._idle if process.is_alive]
            process = self._idle.pop() if self._idle else _Process()
            ticket.process = process
            self._running.append(process)
        found = process.ask(request, SECONDS + GRACE)
        with self._lock:
            ticket.process = None
            self._running.remove(process)
            if found is not None and not self._closed:
                self._idle.append(process)
                return found
        process.close()
        return found

    def _enter(self, page: str) -> _Ticket:
        ticket = _Ticket()
        with self._lock:
            if self._closed or self._waiting >= WAITING:
                raise Dropped("Too many models are learning; try again when they are done.")
            self._waiting += 1
            older = self._tickets.pop(page, None)
            if page:
                self._tickets[page] = ticket
            if older is not None:
                older.dropped = True
                if older.process is not None:
                    older.process.stop()
        if older is not None:
            # Its process is free in a moment, which is sooner than another one is started.
            older.done.wait(STOP)
        return ticket

    def _leave(self, page: str, ticket: _Ticket) -> None:
        ticket.done.set()
        with self._lock:
            self._waiting -= 1
            if self._tickets.get(page) is ticket:
                del self._tickets[page]

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            self._closed = True
            for process in self._running:
                process.kill()
            for process in self._idle:
                process.close()
            self._idle = []
