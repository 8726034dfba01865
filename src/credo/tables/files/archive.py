"""The zip file of a model: written completely or not at all, and read only within bounds.

Members are never extracted to disk, are stored uncompressed, and their number and size are checked before any of them
is read.
"""

from __future__ import annotations

import json
import os
import re
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO, Self
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from credo.core.wording import plural
from credo.tables.errors import ModelFileError, strict_json

# A temporary file not written to for this long was left by a process that was killed.
_ABANDONED_SECONDS = 86_400.0


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary handle whose content replaces the file when the block ends without an error.

    The bytes are written to a temporary file in the same folder, synced to disk, and then renamed in one step.
    After an error or Ctrl-C the old file is unchanged, and the temporary one is removed; files left by a killed
    process are removed after a day. A device or a pipe, such as /dev/null, is written to and never replaced.

    Examples
    --------
    >>> import tempfile
    >>> from credo.tables import replacing
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "note.txt") as handle:
    ...         _ = handle.write(b"whole")
    ...     (Path(folder) / "note.txt").read_text()
    'whole'
    """
    # Before links are resolved, because the target of /dev/stdout may have no name.
    if Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir():
        with open(path, "wb") as handle:
            yield handle
        return
    # A link stays a link; its target is replaced.
    final = Path(os.path.realpath(path))
    if final.is_dir():
        raise IsADirectoryError(f"{os.fspath(path)!r} is a folder; name a file in it")
    if not final.parent.is_dir():
        raise FileNotFoundError(
            f"there is no folder {str(final.parent)!r} to write {final.name!r} into; create it first"
        )
    _remove_abandoned(final)
    part = final.with_name(f".{final.name[:100]}.{token_hex(8)}.part")
    # O_EXCL never follows an existing link; mode 0666 leaves the permissions to the umask.
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
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


def _remove_abandoned(final: Path) -> None:
    """Remove temporary files of this name that no process writes to any more."""
    own = re.compile(re.escape(f".{final.name[:100]}.") + r"[0-9a-f]{16}\.part")
    with suppress(OSError):
        for part in final.parent.iterdir():
            if own.fullmatch(part.name) and time.time() - part.lstat().st_mtime > _ABANDONED_SECONDS:
                part.unlink()


MANIFEST, STATE = "manifest.json", "state.json"
MAX_MEMBERS = 50_000
# JSON becomes Python objects of many times its size, so it has tighter bounds than the arrays: on the length of its
# text, and on the number of its values, each of which takes up to 180 bytes.
MAX_JSON_BYTES, MAX_JSON_VALUES = 64 * 2**20, 2**22
_MEMBER = re.compile(r"manifest\.json|state\.json|arrays/[0-9]{1,6}\.npy")

# The end records of a zip (APPNOTE 4.3.14 to 4.3.16): zip64 record, its locator, and the plain record.
_ZIP64_BYTES, _LOCATOR_BYTES, _END_BYTES = 56, 20, 22


class ArchiveWriter:
    """Writes members into an open handle, and keeps their digests."""

    def __init__(self, handle: BinaryIO) -> None:
        self._zip = ZipFile(handle, "w", ZIP_STORED)
        self.members: dict[str, tuple[str, int]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        # After an error, zipfile's destructor would write its directory to a handle that is closed by then.
        self._zip.fp = None

    def add(self, name: str, payload: bytes) -> None:
        """Write one member."""
        self.members[name] = (sha256(payload).hexdigest(), len(payload))
        # A fixed date makes equal models equal files.
        self._zip.writestr(ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0)), payload)

    def close(self, manifest: dict[str, Any]) -> None:
        """Write the manifest and the directory of the zip."""
        self.add(MANIFEST, to_bytes(manifest))
        self._zip.close()


class ArchiveReader:
    """The members of a model file, each checked against the bounds and, once known, its digest."""

    def __init__(self, handle: BinaryIO, *, max_bytes: int) -> None:
        try:
            _check_ends(handle, max_bytes=max_bytes)
            self._zip = ZipFile(handle)
            self._infos = _directory(self._zip, max_bytes=max_bytes)
        except ModelFileError:
            raise
        except (BadZipFile, struct.error, NotImplementedError, ValueError) as error:
            raise ModelFileError(f"it is damaged or truncated ({error})") from None
        self.names = set(self._infos)

    def read(self, name: str, *, entry: tuple[str, int] | None = None) -> bytes:
        """The bytes of one member, whose digest and size must be those of the manifest's entry."""
        if name not in self._infos:
            raise ModelFileError(f"its member {name} is missing")
        try:
            payload = self._zip.read(self._infos[name])
        # NotImplementedError is a RuntimeError.
        except (BadZipFile, EOFError, RuntimeError, OSError, struct.error, ValueError) as error:
            raise ModelFileError(f"its member {name} is damaged or truncated ({error})") from None
        if entry is not None and (sha256(payload).hexdigest(), len(payload)) != entry:
            raise ModelFileError(f"its member {name} was changed after it was written: the SHA-256 doesn't match")
        return payload

    def json(self, name: str, *, entry: tuple[str, int] | None = None) -> Any:
        """One JSON member."""
        size = self._infos[name].file_size if name in self._infos else 0
        if size > MAX_JSON_BYTES:
            raise ModelFileError(f"its member {name} holds {size:,} bytes, more than any model needs")
        payload = self.read(name, entry=entry)
        if (count := n_values(payload)) > MAX_JSON_VALUES:
            raise ModelFileError(f"its member {name} holds up to {count:,} values, more than any model needs")
        return from_bytes(payload, name=name)


def to_bytes(tree: Any) -> bytes:
    """JSON without NaN and in plain ASCII, so that lone surrogates survive."""
    return json.dumps(tree, allow_nan=False, ensure_ascii=True, separators=(",", ":")).encode("ascii")


def n_values(payload: bytes) -> int:
    """An upper bound on the number of values in a JSON text, without parsing it."""
    return 1 + sum(map(payload.count, (b",", b"[", b"{")))


def from_bytes(payload: bytes, *, name: str) -> Any:
    """The tree of a JSON member; NaN, repeated keys and deep nesting raise an error."""
    try:
        return strict_json(payload.decode("ascii"))
    except ValueError as error:
        raise ModelFileError(f"its member {name} is not JSON ({str(error)[:100]})") from None


def _check_ends(handle: BinaryIO, *, max_bytes: int) -> None:
    """Raise an error, before parsing, if this isn't a zip or declares too large a directory."""
    size = handle.seek(0, os.SEEK_END)
    if size == 0:
        raise ModelFileError("it is empty")
    handle.seek(0)
    if handle.read(4) != b"PK\x03\x04":
        raise ModelFileError("it is not a Credo model file")
    handle.seek(max(0, size - _END_BYTES - _LOCATOR_BYTES - _ZIP64_BYTES))
    tail = handle.read()
    end = tail[-_END_BYTES:]
    if len(end) < _END_BYTES or not end.startswith(b"PK\x05\x06"):
        raise ModelFileError("it is truncated or has bytes appended: its end is missing")
    count, directory = struct.unpack("<HI", end[10:16])
    if tail[-_END_BYTES - _LOCATOR_BYTES :].startswith(b"PK\x06\x07"):
        # A zip64 record overrides the plain one; it must be the one here.
        (position,) = struct.unpack("<Q", tail[-_END_BYTES - _LOCATOR_BYTES + 8 : -_END_BYTES - _LOCATOR_BYTES + 16])
        if not tail.startswith(b"PK\x06\x06") or position != size - len(tail):
            raise ModelFileError("it is damaged: its end records contradict each other")
        count, directory = struct.unpack("<QQ", tail[32:48])
    if count > MAX_MEMBERS or directory > 200 * MAX_MEMBERS:
        raise ModelFileError(f"it declares {count:,} members, but a model has at most {MAX_MEMBERS:,}")
    _check_total(size - 400 * MAX_MEMBERS, max_bytes)


def _directory(archive: ZipFile, *, max_bytes: int) -> dict[str, ZipInfo]:
    infos = archive.infolist()
    names = [info.filename for info in infos]
    if len(set(names)) < len(names):
        raise ModelFileError("it has two members with the same name, so it was changed")
    foreign = [name for name in names if not _MEMBER.fullmatch(name)]
    if MANIFEST not in names:
        raise ModelFileError("it is a zip file, but not a Credo model: it has no manifest")
    if foreign:
        raise ModelFileError(f"it holds a member that no model has: {foreign[0][:100]!r}")
    for info in infos:
        if info.compress_type != ZIP_STORED or info.compress_size != info.file_size or info.flag_bits & 0x1:
            raise ModelFileError(f"its member {info.filename} is compressed or encrypted, which Credo never does")
    total = sum(info.file_size for info in infos)
    _check_total(total, max_bytes)
    return dict(zip(names, infos, strict=True))


def _check_total(size: int, max_bytes: int) -> None:
    if size > max_bytes:
        advice = f"if you trust it, raise the limit: load(path, max_bytes={size})"
        raise ModelFileError(f"it holds {plural(size, 'byte')}, more than the limit of {max_bytes:,}; {advice}")
