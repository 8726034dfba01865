"""Strict JSON, the columns that a model takes, and rows of JSON values as a table.

Every cell is checked before it reaches the model, and an error names the rows and columns. Unknown columns are rejected
rather than ignored, because a misspelled name would otherwise go unnoticed. Null is a missing cell, and is accepted if
the training data had missing cells too; `credo predict` also accepts others, and notes how it filled them in.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import islice
from typing import Any, Literal, get_args

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from credo.core.estimator import column_names, has_column_names
from credo.core.wording import plural, quoted
from credo.tables import Days, Levels, ModelFileError, Numbers, Preparation, TableModel
from credo.tables.errors import nearest, pandas, strict_json


class Refused(Exception):
    """A request that is answered with an error: status, sentence, and the cells that are the reason.

    `problems` are objects with row (1 is the first), column and problem; row and column may be null.
    """

    def __init__(
        self, status: int, error: str, problems: list[dict[str, Any]] | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(error)
        self.status, self.error, self.problems, self.retry_after = status, error, problems or [], retry_after


def parse(body: bytes) -> Any:
    """The value of a JSON text; `Refused` with 400 if it isn't one, or repeats a name in an object.

    >>> parse(b'[{"x": 1.5}]')
    [{'x': 1.5}]
    """
    try:
        return strict_json(body.decode("utf-8"))
    except ValueError as error:
        raise Refused(HTTPStatus.BAD_REQUEST, f"the body isn't JSON: {error}") from None


def parse_csv(body: bytes, inputs: Inputs, max_rows: int = 10_000) -> dict[str, Any]:
    """A CSV text with a header as columns and rows; empty cells are missing, and cells of numbers are numbers.

    Reading ends after `max_rows` rows and one more, which is refused later.

    >>> parse_csv(b"dose,soil\\n1.5,clay\\n,peat\\n", Inputs((Input("dose", "number"), Input("soil", "category"))))
    {'columns': ['dose', 'soil'], 'rows': [[1.5, 'clay'], [None, 'peat']]}
    """
    try:
        lines = (line for line in csv.reader(io.StringIO(body.decode("utf-8-sig")), strict=True) if line)
        names, *rows = islice(lines, max_rows + 2)
    except (ValueError, csv.Error) as error:
        reason = "it has no header" if not body.strip() else f"{error}"
        raise Refused(HTTPStatus.BAD_REQUEST, f"the body isn't CSV with a header, in UTF-8: {reason}") from None
    if not rows:
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, "the CSV has a header, but no rows below it")
    kinds = {column.name: column.kind for column in (*inputs.columns, *inputs.optional)}
    read: list[Callable[[str], float | str]] = [
        _number if kinds.get(name) in {"number", "any"} else str for name in names
    ]
    cells = [[as_cell(text) if text else None for as_cell, text in zip(read, row, strict=False)] for row in rows]
    # Rows of another length stay as they are, and are named in the refusal.
    return {
        "columns": names,
        "rows": [cell if len(cell) == len(row) else row for cell, row in zip(cells, rows, strict=True)],
    }


def _number(text: str) -> float | str:
    """The number of a cell, or its text if it has none, which is refused later."""
    try:
        value = float(text)
    except ValueError:
        return text
    # Python reads 1_0 as 10.
    return text if "_" in text or np.isnan(value) else value


def dump(value: Any) -> bytes:
    """The value as ASCII JSON; arrays become lists, and numbers that aren't finite null.

    >>> dump({"std": np.array([1.0, np.inf])})
    b'{"std": [1.0, null]}'
    """
    return json.dumps(value, default=plain, allow_nan=False).encode("ascii")


def plain(value: Any) -> Any:
    """An array or a NumPy number in JSON types."""
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            cells = np.asarray(value).astype(object)
            cells[~np.isfinite(value)] = None
            return cells.tolist()
        return value.tolist()
    return str(value)


Kind = Literal["number", "truth", "category", "date", "text", "any"]
KINDS: tuple[str, ...] = get_args(Kind)

# Limit of a cell.
MAX_TEXT_CHARACTERS = 10_000
# Problems that an answer lists, and after which the search for more unknown columns ends.
_MAX_LISTED, _MAX_COUNTED = 20, 200
# Longer names are not compared with those of the model.
_MAX_NAME_CHARACTERS = 100
# Python types of a cell of each kind, and their description.
_CELLS: dict[str, tuple[tuple[type, ...], str]] = {
    "number": ((int, float), "a number"),
    "truth": ((bool, str, int), "true, false or a word of the training data"),
    "category": ((bool, str, int, float), "a text, a number, true or false"),
    "date": ((str,), "a date as text"),
    "text": ((str,), "a text"),
    "any": ((bool, str, int, float), "a text, a number, true or false"),
}


@dataclass(frozen=True)
class Input:
    """A column that the model uses.

    `nullable` says whether a cell may be missing, `example` is a typical value, `words` are those of truth values, and
    `levels` the categories of the training data; others are predicted as `outside`.
    """

    name: str
    kind: Kind
    nullable: bool = False
    example: Any = 0.0
    words: frozenset[str] = frozenset()
    levels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Inputs:
    """All columns of a model; `ignored` are columns of its training table that it doesn't use.

    `named` says whether the model takes a frame with names, or an array. `optional` columns, such as that of known
    units, may be left out of a request.
    """

    columns: tuple[Input, ...]
    ignored: frozenset[str] = frozenset()
    named: bool = True
    optional: tuple[Input, ...] = ()
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(column.name for column in self.columns))

    @property
    def numeric(self) -> bool:
        """Whether all columns hold numbers, so that one matrix can hold the rows."""
        return all(column.kind == "number" for column in self.columns)

    def from_objects(self, rows: list[Any]) -> Any:
        """The table of rows that are objects by column name."""
        problems = Problems()
        expected = set(self.names)
        known = expected | {column.name for column in self.optional}
        for i, row in enumerate(rows):
            if not isinstance(row, dict):
                problems.add(i, None, f"a row must be an object by column name; this is {_kind_name(row)}")
            elif not expected <= row.keys() <= known:
                self._check_names(list(row), problems, i)
            if problems.count > _MAX_COUNTED:
                break
        problems.refuse()
        cells = {name: [row[name] for row in rows] for name in self.names}
        return self._table(cells | {column.name: [row.get(column.name) for row in rows] for column in self.optional})

    def from_lists(self, names: list[Any], rows: list[Any]) -> Any:
        """The table of rows that are lists, with the names of their columns."""
        problems = Problems()
        self._check_names(names, problems)
        problems.refuse()
        for i, row in enumerate(rows):
            if not isinstance(row, list):
                problems.add(i, None, f"a row must be a list; this is {_kind_name(row)}")
            elif len(row) != len(names):
                problems.add(i, None, f"the row has {plural(len(row), 'cell')}, but there are {len(names)} columns")
        problems.refuse()
        place = {name: j for j, name in enumerate(names)}
        return self._table({name: [row[j] for row in rows] for name, j in place.items()})

    def from_columns(self, columns: dict[str, list[Any]]) -> Any:
        """The table of columns of equal length by name."""
        problems = Problems()
        self._check_names(list(columns), problems)
        problems.refuse()
        return self._table(columns)

    def _check_names(self, names: list[Any], problems: Problems, row: int | None = None) -> None:
        known, seen = {*self.names, *self.ignored, *(column.name for column in self.optional)}, set[Any]()
        for name in names:
            if problems.count > _MAX_COUNTED:
                return
            if not isinstance(name, str):
                problems.add(row, None, f"the name of a column must be a text; this is {_kind_name(name)}")
                continue
            if name in seen:
                problems.add(row, name, "the column occurs more than once")
            elif name not in known:
                problems.add(row, name, self._unknown(name, problems))
            seen.add(name)
        for name in self.names:
            if name not in seen:
                problems.add(row, name, "the column is missing")

    def _unknown(self, name: str, problems: Problems) -> str:
        # The search is slow, and a request may have a million names: only for those that the answer lists.
        wanted = len(name) <= _MAX_NAME_CHARACTERS and len(problems.listed) < _MAX_LISTED
        near = nearest(name, self.names[:_MAX_COUNTED], most=1) if wanted else []
        return "the model has no such column" + (f"; did you mean {near[0]!r}?" if near else "")

    def _table(self, cells: dict[str, list[Any]]) -> Any:
        """The frame or array that the model takes."""
        problems, n_rows = Problems(), len(next(iter(cells.values())))
        values = {column.name: checked(column, cells[column.name], problems) for column in self.columns}
        for column in self.optional:
            values[column.name] = checked(column, cells.get(column.name, [None] * n_rows), problems)
        problems.refuse()
        return pandas().DataFrame(values) if self.named else np.column_stack(list(values.values()))


class Problems:
    """Collects the problems with the rows of a request."""

    def __init__(self) -> None:
        self.count, self.listed = 0, list[dict[str, Any]]()

    def add(self, row: int | None, column: str | None, problem: str) -> None:
        """Note a problem; rows count from zero here, and from one in the answer."""
        self.count += 1
        if len(self.listed) < _MAX_LISTED:
            shown = None if column is None else column[:200]
            self.listed.append({"row": None if row is None else row + 1, "column": shown, "problem": problem})

    def refusal(self) -> Refused:
        """The exception with 422 that lists them."""
        more = "" if self.count == 1 else f" (and {plural(self.count - 1, 'more problem')})"
        return Refused(HTTPStatus.UNPROCESSABLE_ENTITY, f"{located(self.listed[0])}{more}", self.listed)

    def refuse(self) -> None:
        """Raise `refusal` if there are any."""
        if self.count:
            raise self.refusal()


def located(problem: dict[str, Any]) -> str:
    """A problem as a sentence.

    >>> located({"row": 3, "column": "age", "problem": "a number is needed"})
    "row 3, column 'age': a number is needed"
    """
    row = [] if problem["row"] is None else [f"row {problem['row']}"]
    column = [] if problem["column"] is None else [f"column {problem['column']!r}"]
    place = ", ".join(row + column)
    return f"{place}: {problem['problem']}" if place else str(problem["problem"])


def checked(column: Input, values: list[Any], problems: Problems) -> Any:
    """The cells of a column as the model takes them: floats, or objects."""
    kinds = set(map(type, values))
    if column.kind == "number" and kinds <= {int, float}:
        try:
            numbers = np.array(values, dtype=np.float64)
        except OverflowError:
            numbers = np.array([np.inf])
        if np.isfinite(numbers).all():
            return numbers
    result = np.empty(len(values), dtype=np.float64 if column.kind == "number" else object)
    for i, value in enumerate(values):
        problem = _problem(column, value)
        if problem is not None:
            problems.add(i, column.name, problem)
        else:
            result[i] = _cell(column, value)
    return result


def _problem(column: Input, value: Any) -> str | None:
    """What is wrong with a cell, or None."""
    # Blank text counts as missing, as in tables; in a text column it is a text without words.
    blank = column.kind in {"truth", "category", "date"} and isinstance(value, str) and not value.strip()
    if value is None or blank:
        return None if column.nullable else "the value is missing, but none was missing in the training data"
    allowed, wanted = _CELLS[column.kind]
    if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
        return f"{wanted} is needed; this is {_kind_name(value)}"
    if isinstance(value, str) and len(value) > MAX_TEXT_CHARACTERS:
        return f"the text has {len(value)} characters; the maximum is {MAX_TEXT_CHARACTERS}"
    try:
        if isinstance(value, int | float) and not np.isfinite(float(value)):
            return "the number is too large"
        _word(value).encode()
    except OverflowError:
        return "the number is too large"
    except UnicodeEncodeError:
        return "the text has half of a surrogate pair"
    if column.kind == "truth" and _word(value).casefold() not in column.words:
        return f"{str(value)[:100]!r} is not one of {quoted(sorted(column.words))}"
    return None


def _cell(column: Input, value: Any) -> Any:
    if column.kind == "number":
        return np.nan if value is None else float(value)
    if value is None or column.kind == "any":
        return value
    return _word(value)


def _word(value: Any) -> str:
    """A category as text: 3 and 3.0 are the same level."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()


def _kind_name(value: Any) -> str:
    names: dict[type, str] = {
        type(None): "null", bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list",
        dict: "an object",
    }  # fmt: skip
    return names[type(value)]


def inputs_of(model: Any) -> Inputs:
    """The columns that a loaded model takes."""
    preparation = _preparation(model)
    if preparation is not None:
        columns = tuple(_input(encoder) for encoder in preparation.encoders_)
        target = model.target if isinstance(model, TableModel) else None
        groups = model.groups if isinstance(model, TableModel) else None
        optional = () if groups is None else (Input(groups.column, "category", nullable=True, example=None),)
        event = model.event if isinstance(model, TableModel) else None
        status = None if event is None else event.column
        known = {str(name) for name in preparation.feature_names_in_} | {target, status}
        used = {column.name for column in (*columns, *optional)}
        return Inputs(columns, frozenset(name for name in known - used if name is not None), optional=optional)
    if not (is_classifier(model) or is_regressor(model)):
        raise ModelFileError(f"a {type(model).__name__} can't be served: it predicts nothing from the rows of a table")
    named, names = has_column_names(model), column_names(model)
    first = model[0] if isinstance(model, Pipeline) else model
    tags = get_tags(first).input_tags
    kind: Kind = "any" if isinstance(first, ColumnTransformer) or tags.string or tags.categorical else "number"
    return Inputs(
        tuple(Input(str(name), kind, nullable=tags.allow_nan) for name in names),
        named=named or kind == "any",
    )


def _preparation(model: Any) -> Preparation | None:
    if isinstance(model, TableModel):
        return model.preparation_
    first = model[0] if isinstance(model, Pipeline) else None
    return first if isinstance(first, Preparation) else None


def _input(encoder: Any) -> Input:
    """The input of an encoder."""
    name = str(encoder.name)
    if isinstance(encoder, Numbers) and encoder.words is not None:
        example = next(iter(encoder.words))
        return Input(name, "truth", encoder.had_missing, example, frozenset(encoder.words))
    if isinstance(encoder, Numbers):
        return Input(name, "number", encoder.had_missing, float(encoder.fill))
    if isinstance(encoder, Days):
        return Input(name, "date", encoder.had_missing, _date(encoder))
    if isinstance(encoder, Levels):
        example = encoder.reference or next(iter(encoder.order), "")
        return Input(name, "category", encoder.had_missing, example, levels=encoder.order)
    return Input(name, "text", nullable=True, example="some words")


def _date(encoder: Days) -> str:
    """The first date of the training data, as its table wrote dates."""
    stamp = pandas().Timestamp(encoder.origin)
    if "%" in encoder.style:
        return str(stamp.strftime(encoder.style))
    return str(stamp.isoformat()).removesuffix("T00:00:00")


def first_failure(n_rows: int, works: Callable[[int], bool]) -> int | None:
    """The first row such that the rows up to it fail, by bisection; None if all work.

    >>> first_failure(8, lambda n: n <= 5)
    5
    """
    if works(n_rows):
        return None
    low, high = 0, n_rows
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if works(middle) else (low, middle)
    return low
