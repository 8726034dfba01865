"""Learning in other processes, so that plain answers aren't held up; a page's newer request replaces its older one."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from credo.app.lab.jobs._process import Worker, WorkerEnded
from credo.app.lab.playground._model import Settings
from credo.app.lab.playground._problem import Problem
from credo.app.lab.playground._worker import encode

SECONDS, GRACE, PROCESSES, WAITING = 15.0, 5.0, 2, 8
# A process that has just been started imports first, and compiles where nothing is cached yet.
START = 60.0
# Seconds that a process has to give up a request.
STOP = 2.0
LOST = "Learning didn't finish and was stopped; the settings are as before."


class Dropped(Exception):
    """A newer request of the same page replaced this one, or too many wait; the text says which."""


class _Process(Worker):
    """A worker process that learns."""

    def __init__(self) -> None:
        super().__init__(Path(os.devnull), memory=sys.maxsize, bounded=True)
        self._seconds = START + SECONDS + GRACE

    def _command(self) -> list[str]:
        return ["credo.app.lab.playground._worker"]

    def answer(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """The answer, or None if the process ended or had to be ended."""
        try:
            return self.ask(request, seconds=self._seconds)
        except WorkerEnded:
            return None
        finally:
            self._seconds = SECONDS + GRACE

    def stop(self) -> None:
        """Give up the present request; the process stays."""
        if hasattr(signal, "SIGUSR1") and self._process is not None:
            self._process.send_signal(signal.SIGUSR1)
        else:
            self.kill()


class _Request:
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
        self._requests: dict[str, _Request] = {}
        self._waiting = 0
        self._closed = False

    def prepare(self) -> None:
        """Start a process, so that the first request to learn needn't wait for it."""
        with self._lock:
            if not (self._closed or self._idle):
                self._idle = [_Process()]
                self._idle[0].start()

    def learn(self, page: str, problem: Problem, model: str, settings: Settings) -> tuple[Settings, list[str]]:
        """Learned settings and notes; raises `Dropped` when a newer request of the page arrives."""
        asked = self._enter(page)
        try:
            with self._slots:
                found = self._ask(asked, encode(problem, model, settings, SECONDS))
        finally:
            self._leave(page, asked)
        if asked.dropped:
            raise Dropped("A newer request of this page replaced this one.")
        if found is None:
            return settings, [LOST]
        return found["settings"] or settings, found["notes"]

    def _ask(self, asked: _Request, request: dict[str, Any]) -> dict[str, Any] | None:
        with self._lock:
            if asked.dropped or self._closed:
                return None
            self._idle = [process for process in self._idle if process.pid is not None]
            process = self._idle.pop() if self._idle else _Process()
            process.start()
            asked.process = process
            self._running.append(process)
        found = process.answer(request)
        with self._lock:
            asked.process = None
            self._running.remove(process)
            if found is not None and not self._closed:
                self._idle.append(process)
                return found
        process.close()
        return found

    def _enter(self, page: str) -> _Request:
        asked = _Request()
        with self._lock:
            if self._closed or self._waiting >= WAITING:
                raise Dropped("Too many models are learning; try again when they are done.")
            self._waiting += 1
            older = self._requests.pop(page, None)
            if page:
                self._requests[page] = asked
            if older is not None:
                older.dropped = True
                if older.process is not None:
                    older.process.stop()
        if older is not None:
            # Its process is free in a moment, which is sooner than another one is started.
            older.done.wait(STOP)
        return asked

    def _leave(self, page: str, asked: _Request) -> None:
        asked.done.set()
        with self._lock:
            self._waiting -= 1
            if self._requests.get(page) is asked:
                del self._requests[page]

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            self._closed = True
            for process in (*self._running, *self._idle):
                process.close()
            self._idle = []
