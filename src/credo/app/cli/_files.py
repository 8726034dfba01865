"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class Staging:
    """A hidden folder in which outputs are completed before they are moved into place."""

    def __init__(self, target: Path, folder: Path) -> None:
        self.target, self.folder = target, folder

    def publish(self) -> dict[str, Path]:
        """Move every finished file into place; an older file of the same name is replaced."""
        with _no_interrupt():
            names = sorted(path.name for path in self.folder.iterdir())
            for name in names:
                os.replace(self.folder / name, self.target / name)
        return {name: self.target / name for name in names}


@contextmanager
def staging(target: Path) -> Iterator[Staging]:
    """Create the output folder if needed; leave nothing behind unless files were published.

    The staging folder is inside the target, on the same file system, so that moving is atomic; it is created first, so
    that a missing write permission is found before the work.
    """
    made = [path for path in (target, *target.parents) if not path.exists()]
    target.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=".credo-", dir=target))
    try:
        yield Staging(target, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        for path in made:
            # Only folders that were created here and are empty.
            with suppress(OSError):
                path.rmdir()


def check_outputs(inputs: list[Path], outputs: list[Path]) -> None:
    """Raise an error, before the work, if an output would replace an input or is a folder."""
    for output in outputs:
        if output.is_dir():
            raise IsADirectoryError(f"{output} is a folder, but a file of this name has to be written; rename it")
        for source in inputs:
            if output.exists() and output.samefile(source):
                raise ValueError(f"{output} is an input file and would be overwritten; choose another output")


@contextmanager
def _no_interrupt() -> Iterator[None]:
    """Delay Ctrl-C and termination during the renames, so that the files of one run stay together."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
