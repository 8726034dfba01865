"""Writing a file completely or not at all."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:
    # Windows doesn't let a file be removed that a process has open.
    flock = None  # type: ignore[assignment]

# A temporary file that was not written to for this many seconds may be left from a process that was killed.
_OLD = 60.0


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary handle whose content replaces the file when the block ends without an error.

    The bytes are written to a temporary file in the same folder, synced to disk, and then renamed in one step.
    After an error or Ctrl-C the old file is unchanged, and the temporary one is removed; what a killed process left
    of the same name is removed by the next one. A device or a pipe, such as /dev/null, is written to and never
    replaced.

    Examples
    --------
    >>> import tempfile
    >>> from credo.io import replacing
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "note.txt") as handle:
    ...         _ = handle.write(b"whole")
    ...     (Path(folder) / "note.txt").read_text()
    'whole'
    """
    # Before links are resolved: what /dev/stdout points to may have no name.
    if _is_special(Path(path)):
        with open(path, "wb") as handle:
            yield handle
        return
    # A link stays a link: what it points to is replaced.
    final = Path(os.path.realpath(path))
    if final.is_dir():
        raise IsADirectoryError(f"{os.fspath(path)!r} is a folder; name a file in it")
    if not final.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(final.parent)!r} to write {final.name!r} into; make it first")
    _remove_abandoned(final)
    part = final.with_name(f".{final.name[:100]}.{token_hex(8)}.part")
    # O_EXCL never follows an existing link; mode 0666 leaves the permissions to the umask.
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    lock = _locked(descriptor)
    try:
        with os.fdopen(descriptor, "wb") as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        with suppress(OSError):
            os.chmod(part, final.stat().st_mode & 0o777)
        os.replace(part, final)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    finally:
        if lock is not None:
            os.close(lock)
    _sync_folder(final.parent)


def _locked(descriptor: int) -> int | None:
    """A second descriptor that locks the file until it is closed or the process ends, where the system has locks."""
    if flock is None:
        return None
    with suppress(OSError):
        flock(descriptor, LOCK_EX | LOCK_NB)
    return os.dup(descriptor)


def _remove_abandoned(final: Path) -> None:
    """Remove temporary files of this name that are this user's, old, and locked by no process."""
    own = re.compile(re.escape(f".{final.name[:100]}.") + r"[0-9a-f]{16}\.part")
    with suppress(OSError), os.scandir(final.parent) as entries:
        for entry in entries:
            if own.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError):
                    _remove_if_abandoned(entry)


def _remove_if_abandoned(entry: os.DirEntry[str]) -> None:
    found = entry.stat(follow_symlinks=False)
    if time.time() - found.st_mtime < _OLD or (hasattr(os, "getuid") and found.st_uid != os.getuid()):
        return
    if flock is None:
        os.unlink(entry.path)
        return
    descriptor = os.open(entry.path, os.O_WRONLY | os.O_NOFOLLOW)
    try:
        # Raises an error where a running process holds the lock.
        flock(descriptor, LOCK_EX | LOCK_NB)
        os.unlink(entry.path)
    finally:
        os.close(descriptor)


def _is_special(path: Path) -> bool:
    """Whether the path is there and neither a file nor a folder."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _sync_folder(folder: Path) -> None:
    """Make the new name durable, where the system lets a folder be synced."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
