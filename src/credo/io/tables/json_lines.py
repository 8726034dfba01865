"""JSON lines: one flat object on each line, or a list of such objects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from credo.io.errors import TableError
from credo.io.extras import pandas
from credo.io.tables.source import check_cells

# The longest row, in characters. Nested lists take up to thirty bytes of memory for each.
_LONGEST = 2**24
_BLANKS = re.compile(r"[ \t\r\n]*")
_FLAT = re.compile(r'\{(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")*+\}', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_DECODER = json.JSONDecoder()
SUFFIXES = (".jsonl", ".ndjson", ".json")


def is_json(text: str, *, suffix: str) -> bool:
    """Whether a text is JSON by its name, or begins with an object."""
    if suffix.casefold() in SUFFIXES:
        return True
    first = text[:100_000].lstrip("\ufeff \t\r\n").partition("\n")[0]
    if not first.startswith("{"):
        return False
    try:
        return isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False


def read_json(text: str, *, max_cells: int) -> Any:
    """The frame of the objects: a row each, with a column for every key."""
    # Each list ends with the last value of its key: padding all of them in every row would take quadratic time.
    columns: dict[str, list[Any]] = {}
    n_rows = n_values = 0
    for place, record in _records(text.removeprefix("\ufeff")):
        if not isinstance(record, dict):
            raise TableError(f'{place} holds {type(record).__name__}, not an object such as {{"x": 1}}')
        for key, value in record.items():
            if isinstance(value, dict | list):
                nested = "list" if isinstance(value, list) else "nested object"
                raise TableError(f"{place}: {key!r} holds a {nested}; only flat objects make a table")
            _check_text(key, place)
            _check_text(value, place)
            column = columns.setdefault(key, [])
            if len(column) < n_rows:
                column.extend([None] * (n_rows - len(column)))
            column.append(value)
        n_rows += 1
        n_values += len(record)
        check_cells(f"{place}: the table", n_rows * len(columns), n_rows + n_values, max_cells)
    if not n_rows or not columns:
        raise TableError("it has no rows")
    for column in columns.values():
        column.extend([None] * (n_rows - len(column)))
    return pandas().DataFrame(columns)


def _check_text(value: Any, place: str) -> None:
    """Half of a surrogate pair is valid JSON, but no character, and can't be written to any file."""
    if isinstance(value, str) and not value.isascii() and (found := _SURROGATE.search(value)):
        raise TableError(
            f"{place} holds {found[0]!a}, half of a surrogate pair; write the character itself, or both escapes"
        )


def _records(text: str) -> Iterator[tuple[str, Any]]:
    if text.lstrip().startswith("["):
        yield from _listed(text)
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield f"line {number}", _parsed(line, f"line {number}")


def _listed(text: str) -> Iterator[tuple[str, Any]]:
    """The records of a list, one after another: nested lists of all its text would take far more memory."""
    at, number = _BLANKS.match(text, text.index("[") + 1).end(), 0  # type: ignore[union-attr]
    while text[at : at + 1] != "]":
        number += 1
        flat = _FLAT.match(text, at)
        # A record that isn't flat raises an error, and its beginning is enough for the message.
        record, length = _decoded(flat[0] if flat else text[at : at + _LONGEST], f"record {number}")
        yield f"record {number}", record
        at = _BLANKS.match(text, at + length).end()  # type: ignore[union-attr]
        if text[at : at + 1] == ",":
            at = _BLANKS.match(text, at + 1).end()  # type: ignore[union-attr]
        elif text[at : at + 1] != "]":
            raise TableError(f"record {number} isn't followed by a comma or the end of the list")
    if text[at + 1 :].strip():
        raise TableError("the list is followed by more text; use one list, or one object on each line")


def _parsed(text: str, place: str) -> Any:
    record, end = _decoded(text.strip(), place)
    if end < len(text.strip()):
        raise TableError(f"{place} isn't valid JSON (extra data at character {end + 1})")
    return record


def _decoded(text: str, place: str) -> tuple[Any, int]:
    """The value that a text begins with, and its length."""
    if len(text) > _LONGEST:
        raise TableError(f"{place} is longer than {_LONGEST:,} characters")
    try:
        return _DECODER.raw_decode(text)
    except RecursionError:
        raise TableError(f"{place} is nested too deeply") from None
    except ValueError as error:
        raise TableError(f"{place} isn't valid JSON ({error})") from None
