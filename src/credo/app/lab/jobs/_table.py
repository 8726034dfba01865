"""How the columns of an uploaded table were understood."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import numpy as np

from credo.core.wording import quoted, shown
from credo.study.large import large_table, sample_of
from credo.tables import ColumnError, TableError, read_table, target_task, time_column
from credo.tables.kinds import Profile, kind_of, profile, timestamps

# The kinds as the page names them.
KINDS = {"numeric": "number", "categorical": "category", "text": "text", "date": "date"}
LEAVE_OUT = "leave out"
_PREVIEW_ROWS, _EXAMPLES = 5, 4
# Limits on the columns of a table and the characters of a cell on the page.
_MAX_COLUMNS, _MAX_CELL_CHARACTERS = 2000, 80
_TARGET_NAME = re.compile(r"(y|target|class|label|outcome|response|result|price)", re.IGNORECASE)
_SPLIT_NAME = re.compile(r"(train|test|split|fold|set|weight|weights)", re.IGNORECASE)


def main() -> None:
    """Print what `read` finds in the file of the first argument, as JSON."""
    try:
        found = read(sys.argv[1])
    except MemoryError:
        sys.exit("Error: the table takes more memory than the lab allows; use part of the rows or columns")
    except (ImportError, OSError, ValueError) as error:
        sys.exit(f"Error: {error}")
    sys.stdout.write(json.dumps(found))


def read(name: str) -> dict[str, Any]:
    """The columns of a table with their kinds, the first rows, the proposed target, and notes."""
    whole = large_table(name, {})
    if whole is None:
        sheet = read_table(name)
        frame, notes = sheet.frame, list(sheet.notes)
    else:
        frame, note = sample_of(whole)
        notes = [note]
    n_rows = len(frame) if whole is None else whole.n_rows
    if frame.shape[1] < 2:
        found = quoted(frame.columns)
        raise TableError(
            f"{name!r} has only one column, {found}. A table needs a column to predict and at least one other; if "
            "it has more, the separator was not recognized"
        )
    if not n_rows:
        raise TableError(f"{name!r} has a header but no rows")
    if frame.shape[1] > _MAX_COLUMNS:
        raise TableError(
            f"{name!r} has {frame.shape[1]:,} columns, but the page shows at most {_MAX_COLUMNS:,}; use `credo fit`"
        )
    columns = [column_record(str(column), frame[column]) for column in frame.columns]
    return {
        "rows": n_rows,
        "columns": columns,
        "preview": [[_cell(value) for value in row] for row in frame.head(_PREVIEW_ROWS).to_numpy(dtype=object)],
        "target": proposed(columns),
        "time": None if (time := time_column(frame)) is None or time.repeated else time.name,
        "notes": notes,
    }


def column_record(name: str, column: Any) -> dict[str, Any]:
    """One column: its kind and why, missing and distinct values, range and examples."""
    try:
        found = profile(name, column)
    except ColumnError as error:
        nothing: dict[str, Any] = {"missing": 0, "distinct": 0, "low": None, "high": None, "examples": [], "task": None}
        return {"name": name, "kind": LEAVE_OUT, "reason": str(error), **nothing}
    kind, reason = kind_of(found)
    low, high = _range(found, kind)
    return {
        "name": name,
        "kind": KINDS.get(kind, LEAVE_OUT),
        "reason": reason if kind in KINDS else _reason(kind, reason),
        "missing": found.n_missing,
        "distinct": found.n_distinct,
        "low": low,
        "high": high,
        "examples": [_cell(value) for value in dict.fromkeys(column[found.present].head(200).tolist())][:_EXAMPLES],
        "task": _task(name, column) if found.n_distinct > 1 else None,
    }


def proposed(columns: list[dict[str, Any]]) -> str | None:
    """The proposed target: a column with a typical name, otherwise the last usable one."""
    usable = [column["name"] for column in columns if column["kind"] in ("number", "category") and column["task"]]
    named = [name for name in usable if _TARGET_NAME.fullmatch(name)]
    others = [name for name in usable if not _SPLIT_NAME.fullmatch(name)]
    return next(iter([*named[-1:], *others[-1:], *usable[-1:]]), None)


def _reason(kind: str, reason: str) -> str:
    words = {"constant": "only one value", "empty": "no values", "identifier": "identifies the rows"}[kind]
    return f"{words}: {reason}" if reason and kind == "identifier" else words


def _task(name: str, column: Any) -> dict[str, Any]:
    """The task if this column is the target."""
    found = target_task(column.to_frame(), name)
    return {"name": found.name, "why": found.why}


def _range(found: Profile, kind: str) -> tuple[str | None, str | None]:
    """The smallest and the largest value of numbers and dates, as text."""
    if kind == "date":
        stamps = timestamps(found.column, found.present, found.date_format or "")
        known = stamps[~np.isnat(stamps)].astype("datetime64[D]")
        return (str(known.min()), str(known.max())) if len(known) else (None, None)
    values = found.values[np.isfinite(found.values)]
    if kind not in ("numeric", "constant", "identifier") or not len(values) or len(found.odd) > len(values):
        return None, None
    return shown(float(values.min())), shown(float(values.max()))


def _cell(value: Any) -> str:
    """A cell as text; empty if it is missing."""
    if value is None or value != value:
        return ""
    text = shown(value)
    return text if len(text) <= _MAX_CELL_CHARACTERS else f"{text[: _MAX_CELL_CHARACTERS - 1]}…"


if __name__ == "__main__":
    main()
