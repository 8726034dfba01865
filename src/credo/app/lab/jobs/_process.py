"""A worker process seen from the server: requests to it, its limits, and its end."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

from credo.tables.errors import plural

# What the names of the folders with the files of a server begin with.
FOLDER = "credo-lab-"
# Seconds between two looks at the clock and at the memory of a worker.
_TICK = 0.1
# A worker that takes this share of its memory limit after a task is replaced by a new one.
_LARGE = 0.5


class WorkerEnded(Exception):
    """The worker process ended before it answered; the text says why."""


class Worker:
    """A process that does one task after the other; it is started when first needed, and again after its end.

    `memory` is the most memory it may take, in bytes. With `bounded`, its address space is limited too, so that a
    table that is too large gives an error instead of the end of the process.
    """

    def __init__(self, log: Path, *, memory: int, bounded: bool = False) -> None:
        self._log, self._memory, self._bounded = log, memory, bounded
        self._process: subprocess.Popen[bytes] | None = None
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The id of the running process."""
        process = self._process
        return None if process is None or process.poll() is not None else process.pid

    def start(self) -> None:
        """Start the process, if it isn't running, without waiting for it."""
        with self._lock:
            if self._closed or self.pid is not None:
                return
            threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
            with self._log.open("ab") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", *self._command()],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    env=os.environ | (threads if self._bounded else {}),
                    # Ctrl-C in the terminal is for the server, which then ends its workers.
                    start_new_session=True,
                )
            self._lines = queue.SimpleQueue()
            threading.Thread(target=_read, args=(self._process.stdout, self._lines), daemon=True).start()

    def ask(self, request: dict[str, Any], *, seconds: float) -> dict[str, Any]:
        """Send a request and wait for its answer.

        Raises
        ------
        WorkerEnded
            When the process ended: by its limits, by a signal, or by an error.
        """
        self.start()
        process, end = self._process, monotonic() + seconds
        if process is None or not self._send(request):
            raise WorkerEnded(self._why_ended())
        while True:
            try:
                line = self._lines.get(timeout=_TICK)
            except queue.Empty:
                reason = self._beyond(process.pid, end, seconds)
                if reason is not None:
                    self.kill()
                    raise WorkerEnded(reason) from None
                continue
            if not line:
                raise WorkerEnded(self._why_ended())
            answer: dict[str, Any] = json.loads(line)
            if (resident(process.pid) or 0) > _LARGE * self._memory:
                self.kill()
            return answer

    def interrupt(self, job: str) -> None:
        """Ask the process to stop the run of this job, and to answer with what is finished."""
        self._send({"do": "stop", "job": job})

    def kill(self) -> None:
        """End the process at once."""
        with self._lock:
            if self._process is not None:
                self._process.kill()
                self._process.wait()
                for pipe in (self._process.stdin, self._process.stdout):
                    with suppress(OSError):
                        pipe.close()  # type: ignore[union-attr]

    def close(self) -> None:
        """End the process for good."""
        self._closed = True
        self.kill()

    def _command(self) -> list[str]:
        """The module of the process, and its arguments."""
        limit = [str(self._memory)] if self._bounded else []
        return ["credo.app.lab.jobs._worker", str(self._log.parent), *limit]

    def _send(self, request: dict[str, Any]) -> bool:
        process = self._process
        if process is None or process.stdin is None:
            return False
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        except (OSError, ValueError):
            return False
        return True

    def _beyond(self, pid: int, end: float, seconds: float) -> str | None:
        """Which limit the process has passed, or None."""
        if monotonic() > end:
            return f"It took more than {plural(round(seconds), 'second')} and was stopped."
        used = resident(pid)
        if used is not None and used > self._memory:
            return f"It needed more than {self._memory / 2**30:.1f} GB of memory and was stopped."
        return None

    def _why_ended(self) -> str:
        if self._closed:
            return "The server was stopped."
        code = None if self._process is None else self._process.wait()
        if code is not None and code < 0:
            name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
            return f"The worker process was killed ({name}), by the system or by a user."
        return f"The worker process ended by itself (exit code {code})."


def resident(pid: int) -> int | None:
    """The memory of a process in bytes; None where the system doesn't tell."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def _read(stream: Any, lines: queue.SimpleQueue[bytes]) -> None:
    """Put every line into the queue, and an empty one at the end."""
    with suppress(OSError, ValueError):
        for line in stream:
            lines.put(line)
    lines.put(b"")
