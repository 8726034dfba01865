"""A command in a process of its own, with limits of time, memory and output."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from credo.core.notices import on_one_line
from credo.core.wording import plural
from credo.study.catalogue import memory

# Limits on what a child prints, and on one line of it.
_MAX_PRINTED_BYTES, _MAX_LINE_BYTES = 50 * 2**20, 2**20


class ChildFailed(Exception):
    """The child has no result; the text says why."""


@dataclass(frozen=True)
class Bounds:
    """Limits in bytes on memory and on each file that is written."""

    memory: int = field(default_factory=lambda: memory() or 8 * 2**30)
    file: int = 4 * 2**30


class Child:
    """A Python module that runs with arguments in a folder; `result` waits for it.

    No shell is involved, and the folder isn't searched for modules. Ctrl-C in the terminal doesn't reach the child:
    the server handles it, and ends its children.
    """

    def __init__(self, arguments: Sequence[str], folder: Path, bounds: Bounds) -> None:
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115, closed by `result`
        self._why: str | None = None
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", *arguments],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=self._printed,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            self._printed.close()
            raise ChildFailed(f"The process can't be started: {on_one_line(error)}.") from None
        _limit(self._process.pid, bounds)

    def interrupt(self) -> None:
        """Ask the child to finish with what it has, as Ctrl-C does."""
        with suppress(OSError, ValueError):
            self._process.send_signal(signal.SIGINT)

    def kill(self, why: str = "Stopped at once.") -> None:
        """End the child now."""
        self._why = self._why or why
        self._process.kill()

    def result(self, seconds: float, hear: Callable[[str], None] = lambda line: None) -> bytes:
        """What the child printed on stdout; `hear` gets each line of stderr while it runs.

        Raises
        ------
        ChildFailed
            If it failed, or was ended by a limit or a signal.
        """
        late = f"It took more than {plural(round(seconds), 'second')} and was stopped."
        clock = threading.Timer(seconds, self.kill, [late])
        clock.start()
        said, left = list[str](), _MAX_PRINTED_BYTES
        try:
            stream: Any = self._process.stderr
            while left > 0 and (line := stream.readline(_MAX_LINE_BYTES)):
                left -= len(line)
                text = line.decode("utf-8", "replace").rstrip("\n")
                hear(text)
                said.append("" if text.startswith("{") else text)
            if left <= 0:
                self.kill("It printed too much and was stopped.")
            code = self._process.wait()
            self._printed.seek(0)
            found = self._printed.read(_MAX_PRINTED_BYTES)
        finally:
            clock.cancel()
            self._process.kill()
            self._process.wait()
            stream.close()
            self._printed.close()
        if code or self._why:
            raise ChildFailed(self._why or _reason(code, "\n".join(said)))
        return found


def _reason(code: int, said: str) -> str:
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        return f"The process was killed ({name}), by the system or by a user."
    _, marker, text = f"\n{said}".rpartition("\nError: ")
    return sentence(" ".join(text.split())) if marker else f"The process ended without a result (exit code {code})."


def _limit(pid: int, bounds: Bounds) -> None:
    """Limit the address space and the file sizes of a process, if the system supports it."""
    with suppress(ImportError, AttributeError, OSError, ValueError):
        import resource  # noqa: PLC0415

        for kind, most in ((resource.RLIMIT_AS, bounds.memory), (resource.RLIMIT_FSIZE, bounds.file)):
            resource.prlimit(pid, kind, (most, most))


def sentence(text: str) -> str:
    """The text with a capital letter and a full stop.

    >>> sentence("can't read 'a.csv': line 3 has 4 fields")
    "Can't read 'a.csv': line 3 has 4 fields."
    """
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"
