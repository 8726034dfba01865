"""JSON lines: one flat object on each line, or a list of such objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from credo.io.errors import TableError
from credo.io.extras import pandas

# A table of more cells than this isn't made of lines that each have keys of their own.
_MAX_CELLS = 10**8
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


def read_json(text: str) -> Any:
    """The frame of the objects: a row each, with a column for every key."""
    columns: dict[str, list[Any]] = {}
    n_rows = 0
    for place, record in _records(text.removeprefix("\ufeff")):
        if not isinstance(record, dict):
            raise TableError(f'{place} holds {type(record).__name__}, not an object such as {{"x": 1}}')
        for key, value in record.items():
            if isinstance(value, dict | list):
                nested = "list" if isinstance(value, list) else "nested object"
                raise TableError(f"{place}: {key!r} holds a {nested}; only flat objects make a table")
            if key not in columns:
                columns[key] = [None] * n_rows
            columns[key].append(value)
        n_rows += 1
        if n_rows * len(columns) > _MAX_CELLS:
            raise TableError(f"{place}: the table has more than {_MAX_CELLS:,} cells")
        if len(record) < len(columns):
            for key in columns.keys() - record.keys():
                columns[key].append(None)
    if not n_rows or not columns:
        raise TableError("it has no rows")
    return pandas().DataFrame(columns)


def _records(text: str) -> Iterator[tuple[str, Any]]:
    if text.lstrip().startswith("["):
        for number, record in enumerate(_parsed(text, "the list"), start=1):
            yield f"record {number}", record
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield f"line {number}", _parsed(line, f"line {number}")


def _parsed(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise TableError(f"{place} is nested too deeply") from None
    except ValueError as error:
        raise TableError(f"{place} isn't valid JSON ({error})") from None
