"""From a path to text: bounded in size, decompressed and decoded, with a clear error when it isn't text."""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import IO

from credo.tables.errors import TableError, existing

MAX_BYTES = 2**30
# The least memory of a cell of a frame, in bytes. A short or compressed text may hold many cells.
CELL = 8
# A table with a value in fewer than one of so many cells takes time and memory out of proportion to its file, unless it
# has few cells.
_SPARSEST, _FEW_CELLS = 100, 1_000_000
_GZIP = b"\x1f\x8b"
PARQUET = b"PAR1"
ZIP = b"PK\x03\x04"
STDIN = "standard input"
# First bytes of files that aren't text tables.
_MAGIC = {
    ZIP: "a zip archive; unpack it first",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save it as .xlsx or CSV",
    b"%PDF": "a PDF",
    b"\x89HDF": "an HDF5 file",
    b"SQLite format 3": "an SQLite database; export the table as CSV",
    b"\x89PNG": "a picture",
    b"\x93NUMPY": "a NumPy array; save it with numpy.savetxt",
    b"\x28\xb5\x2f\xfd": "a zstd archive; unpack it first",
    b"BZh": "a bzip2 archive; unpack it first",
    b"\xfd7zXZ": "an xz archive; unpack it first",
}
_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe\x00\x00", "utf-32"), (b"\x00\x00\xfe\xff", "utf-32"),
         (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))  # fmt: skip
_SAMPLE = 65_536


@contextmanager
def opened(path: str | os.PathLike[str], *, max_bytes: int) -> Iterator[IO[bytes]]:
    """The file, or all of standard input for the path "-", opened for reading and seeking."""
    if os.fspath(path) != "-":
        what = "a file; pipe the table into '-' or save it to a file first"
        with existing(path, what, TableError).open("rb") as handle:
            yield handle
        return
    if sys.stdin is None or sys.stdin.isatty():
        raise TableError("there is no table on standard input; pipe one into it, or name a file")
    content = sys.stdin.buffer.read(max_bytes + 1)
    _bounded(content, name=STDIN, max_bytes=max_bytes)
    yield BytesIO(content)


def read_bytes(handle: IO[bytes], *, name: str, max_bytes: int) -> bytes:
    """All bytes, unpacked if they are gzipped, up to the limit."""
    packed = handle.read(len(_GZIP)) == _GZIP
    handle.seek(0)
    try:
        content = gzip.GzipFile(fileobj=handle).read(max_bytes + 1) if packed else handle.read(max_bytes + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise TableError(f"{name!r} is a damaged or truncated gzip file; download or compress it again") from None
    return _bounded(content, name=name, max_bytes=max_bytes, when=" when unpacked" if packed else "")


def begins_with(handle: IO[bytes], magic: bytes) -> bool:
    """Whether the file begins with these bytes, whatever its name."""
    found = handle.read(len(magic)) == magic
    handle.seek(0)
    return found


def _bounded(content: bytes, *, name: str, max_bytes: int, when: str = "") -> bytes:
    if len(content) > max_bytes:
        raise too_large(name, f"more than {max_bytes:,} bytes{when}")
    return content


def too_large(name: str, size: str) -> TableError:
    """The error about a file or a table that takes more memory than is allowed."""
    return TableError(f"{name!r} holds {size}; raise the limit with max_bytes= in Python, or use part of the rows")


def check_cells(place: str, cells: int, written: int, max_cells: int) -> None:
    """Raise a TableError if a table has too many cells, or too many for the values and rows that the file writes."""
    if cells > max_cells:
        raise TableError(too_many_cells(place, max_cells))
    if cells > max(_FEW_CELLS, _SPARSEST * written):
        raise TableError(
            f"{place} has a value in fewer than one of {_SPARSEST} cells ({cells:,} in all); delete cells far from the "
            "others, and write keys that differ from row to row as the values of a column"
        )


def too_many_cells(place: str, max_cells: int) -> str:
    """The sentence about a table that takes more memory than is allowed."""
    return (
        f"{place} has more cells than the {max_cells:,} that max_bytes={CELL * max_cells:,} allows ({CELL} bytes "
        "each); raise the limit in Python, or use part of the rows"
    )


def decode(content: bytes, *, name: str, encoding: str | None = None) -> tuple[str, list[str]]:
    """The text, and notes about the encoding if it had to be detected."""
    if not content.strip():
        raise TableError(f"{name!r} is empty")
    if encoding is not None:
        return _decoded(content, name=name, encoding=encoding), []
    for bom, found in _BOMS:
        if content.startswith(bom):
            return _decoded(content, name=name, encoding=found), []
    for magic, what in _MAGIC.items():
        if content.startswith(magic):
            raise TableError(f"{name!r} is not a text table: it is {what}")
    sample = content[:_SAMPLE]
    wide = _wide_encoding(sample)
    if wide is not None:
        return _decoded(content, name=name, encoding=wide), [f"The encoding was detected as {wide}."]
    if _is_binary(sample):
        raise TableError(f"{name!r} is not a text table: it holds binary data")
    try:
        return content.decode("utf-8"), []
    except UnicodeDecodeError:
        # cp1252 is what Windows writes; it leaves five bytes undefined, latin-1 none.
        found = "latin-1" if any(byte in content for byte in b"\x81\x8d\x8f\x90\x9d") else "cp1252"
        wrong = "if characters look wrong, set the encoding (--encoding)"
        return content.decode(found), [f"The file is not in UTF-8; it was read as {found}: {wrong}."]


def _decoded(content: bytes, *, name: str, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except LookupError:
        raise TableError(f"there is no encoding {encoding!r}; utf-8, utf-16, cp1252 and latin-1 are common") from None
    except UnicodeError as error:
        raise TableError(f"{name!r} is not in {encoding}: {error}") from None


def _wide_encoding(sample: bytes) -> str | None:
    """UTF-16 without its mark: in Latin text every other byte is zero."""
    pairs = len(sample) // 2
    if pairs < 4:
        return None
    even, odd = sample[0 : 2 * pairs : 2].count(0), sample[1 : 2 * pairs : 2].count(0)
    if odd > 0.7 * pairs and even < 0.1 * pairs:
        return "utf-16-le"
    if even > 0.7 * pairs and odd < 0.1 * pairs:
        return "utf-16-be"
    return None


def _is_binary(sample: bytes) -> bool:
    controls = sum(sample.count(byte) for byte in range(32) if byte not in b"\t\n\r\f\v\x1a\x1b")
    return b"\x00" in sample or controls > 0.01 * len(sample)
