"""Text tables with a known truth: what was written is read back, and what is broken raises an error in words.

python -m fuzz.tables --seconds 60 --seed 0
"""

from __future__ import annotations

import atexit
import gzip
import math
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from credo.tables import Preparation, TableError, read_table
from credo.tables.errors import ColumnError
from fuzz.run import Failure, main

_SEPARATORS = (",", ";", "\t", "|")
_MISSING = ("", "NA", "NaN", "null", "N/A")
_LETTERS = tuple("abcdefgxyz ÄößéñŁ漢🦉'#%&@/()[]{}<>$^~`!?*+=:.-_")
_QUOTED = ('"', "\n", ",", ";", "\t", "|", " ")


@dataclass
class Written:
    """A table and how it is written to a file."""

    names: list[str]
    columns: list[list[Any]]
    separator: str
    decimal: str
    encoding: str
    newline: str
    packed: bool
    options: dict[str, Any] = field(default_factory=dict)

    def text(self, rng: np.random.Generator) -> str:
        """The file, with blank lines here and there where the table has more than one column."""
        lines = [self.separator.join(self._cell(name, rng) for name in self.names)]
        for row in zip(*self.columns, strict=True):
            lines.append(self.separator.join(self._cell(value, rng) for value in row))
            if len(self.names) > 1 and rng.random() < 0.05:
                lines.append("")
        return self.newline.join(lines) + self.newline * int(rng.integers(0, 3))

    def content(self, rng: np.random.Generator) -> bytes:
        """The bytes of the file."""
        data = self.text(rng).encode(self.encoding)
        return gzip.compress(data, 1) if self.packed else data

    def _cell(self, value: Any, rng: np.random.Generator) -> str:
        if value is None:
            return str(rng.choice(_MISSING))
        text = value if isinstance(value, str) else _number(value, rng).replace(".", self.decimal)
        needs = any(sign in text for sign in ('"', "\n", "\r", self.separator)) or text != text.strip()
        if needs or rng.random() < 0.1:
            return '"' + text.replace('"', '""') + '"'
        return text


def _number(value: float, rng: np.random.Generator) -> str:
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value)}"
    return repr(float(value)) if rng.random() < 0.8 else f"{value:.17e}"


def _word(rng: np.random.Generator, *, wild: bool) -> str:
    """A word that can't be taken for a number, a date or a missing value."""
    signs = rng.choice([*_LETTERS, *(_QUOTED if wild else ())], size=int(rng.integers(1, 9)))
    return ("w" + "".join(signs) + "q").replace("\r", "")


def _column(rng: np.random.Generator, n: int, *, missing: bool) -> list[Any]:
    kind = rng.choice(["float", "integer", "huge", "tiny", "word", "long"], p=[0.35, 0.2, 0.1, 0.1, 0.2, 0.05])
    if kind == "word":
        pool = [_word(rng, wild=rng.random() < 0.3) for _ in range(int(rng.integers(1, 6)))]
        values: list[Any] = [pool[k] for k in rng.integers(len(pool), size=n)]
    elif kind == "long":
        values = ["w" + "long text " * int(rng.integers(1, 400)) + "q" for _ in range(n)]
    elif kind == "integer":
        values = rng.integers(-1000, 1000, size=n).tolist()
    else:
        size = {"float": 1.0, "huge": 1e200, "tiny": 1e-200}[str(kind)]
        # Fractions, so that no comma can be one between thousands.
        values = ((rng.normal(size=n) + 0.1234567) * size).tolist()
    if missing:
        values = [None if rng.random() < 0.15 else value for value in values]
    if all(value is None for value in values):
        values[0] = 1.5
    return values


def _written(rng: np.random.Generator) -> Written:
    n, width = int(rng.integers(1, 40)), int(rng.integers(2, 8))
    names = [f"{_word(rng, wild=rng.random() < 0.2).strip()}{j}" for j in range(width)]
    columns = [_column(rng, n, missing=rng.random() < 0.4) for _ in range(width)]
    # A row without any value is left out, and a note says so.
    for i in range(n):
        if all(column[i] is None for column in columns):
            columns[0][i] = next(value for value in columns[0] if value is not None)
    decimal = str(rng.choice([".", ","]))
    separator = str(rng.choice([sign for sign in _SEPARATORS if sign != decimal or rng.random() < 0.3]))
    encoding = str(rng.choice(["utf-8", "utf-8-sig", "utf-16"]))
    newline = str(rng.choice(["\n", "\r\n", "\r"]))
    options = {"separator": separator, "decimal": decimal, "header": True}
    return Written(names, columns, separator, decimal, encoding, newline, bool(rng.random() < 0.2), options)


def _expected(table: Written, j: int) -> list[Any]:
    cells = [cell.strip() if isinstance(cell, str) else cell for cell in table.columns[j]]
    return [cell.replace("\r\n", "\n") if isinstance(cell, str) else cell for cell in cells]


def read_back(rng: np.random.Generator, folder: Path) -> str:
    """Write a table, read it, and compare every cell."""
    table = _written(rng)
    path = folder / "table.csv"
    content = table.content(rng)
    path.write_bytes(content)
    # What the separator and the decimal sign are is known here; that they are found out is tested elsewhere.
    try:
        frame = read_table(path, **table.options).frame
    except TableError as error:
        raise Failure(f"a table that is well formed was refused: {error}", content) from None
    if list(frame.columns) != [name.strip() for name in table.names]:
        raise Failure(f"names {table.names} were read as {list(frame.columns)}", content)
    if len(frame) != len(table.columns[0]):
        raise Failure(f"{len(table.columns[0])} rows were read as {len(frame)}", content)
    for j, name in enumerate(frame.columns):
        found = frame[name].tolist()
        for i, (cell, value) in enumerate(zip(_expected(table, j), found, strict=True)):
            if not _equal(cell, value):
                raise Failure(f"column {name!r}, row {i + 1}: {cell!r} was read as {value!r}", content)
    return "well formed"


def _equal(cell: Any, value: Any) -> bool:
    if cell is None:
        return value is None or value != value
    if isinstance(cell, str):
        return bool(value == cell)
    return not isinstance(value, str) and math.isclose(float(value), float(cell), rel_tol=0.0, abs_tol=0.0)


def found_out(rng: np.random.Generator, folder: Path) -> str:
    """A plain table of numbers, whose separator, decimal sign and header are to be found out."""
    decimal, separator = [(".", ","), (".", ";"), (".", "\t"), (",", ";"), (",", "\t"), (".", "|")][rng.integers(6)]
    n = int(rng.integers(3, 30))
    values = np.round(rng.normal(size=(n, 3)) * 10.0 ** rng.integers(-3, 6, size=3), 4)
    rows = [separator.join(f"{value:.4f}".replace(".", decimal) for value in row) for row in values]
    content = "\n".join([separator.join("abc"), *rows]).encode()
    path = folder / "table.csv"
    path.write_bytes(content)
    frame = read_table(path).frame
    if frame.shape != (n, 3) or not np.array_equal(frame.to_numpy(dtype=float), values):
        raise Failure(f"the numbers were read as {frame.to_numpy().tolist()}", content)
    return "found out"


def money(rng: np.random.Generator, folder: Path) -> str:
    """Prices with a currency and thousands, and percentages."""
    n = int(rng.integers(3, 30))
    amounts, shares = np.round(rng.uniform(-1e6, 1e6, size=n), 2), np.round(rng.uniform(0, 100, size=n), 1)
    sign = str(rng.choice(["$", "€", "£", ""]))
    group, decimal, separator = [(",", ".", "\t"), (".", ",", ";"), (" ", ",", ";"), ("'", ".", ",")][rng.integers(4)]
    lines = ["price" + separator + "share"]
    for amount, share in zip(amounts, shares, strict=True):
        text = f"{amount:,.2f}".replace(",", "_").replace(".", decimal).replace("_", group)
        lines.append(f'"{sign}{text}"{separator}"{str(share).replace(".", decimal)} %"')
    content = "\n".join(lines).encode()
    path = folder / "table.csv"
    path.write_bytes(content)
    frame = read_table(path).frame
    if not np.array_equal(frame["price"], amounts) or not np.array_equal(frame["share"], shares):
        raise Failure(f"the prices were read as {frame.to_dict('list')}", content)
    return "money"


def dates(rng: np.random.Generator, folder: Path) -> str:
    """Dates of any century in one of the known styles."""
    style = str(rng.choice(["%Y-%m-%d", "%d.%m.%Y", "%Y/%m/%d", "%Y-%m-%d %H:%M:%S"]))
    n = int(rng.integers(5, 30))
    first = int(rng.integers(-719_000, 2_930_000 - 60_000))
    days = np.datetime64("1970-01-01", "s") + (first + rng.integers(0, 60_000, size=n)) * np.timedelta64(86_400, "s")
    stamps = [day.item() for day in days]
    texts = [f"{s:{style}}".replace(f"{s:%Y}", f"{s.year:04d}", 1) for s in stamps]
    content = "\n".join(["when,x", *(f"{text},{i % 3}" for i, text in enumerate(texts))]).encode()
    path = folder / "table.csv"
    path.write_bytes(content)
    frame = read_table(path).frame
    prepared = Preparation(kinds={"when": "date"}).fit(frame).transform(frame)[:, 0]
    truth = (days - days.min()) / np.timedelta64(86_400, "s")
    if not np.allclose(prepared, truth, rtol=0.0, atol=1e-6):
        raise Failure(f"the days are {prepared.tolist()} and should be {truth.tolist()}", content)
    return "dates"


def broken(rng: np.random.Generator, folder: Path) -> str:
    """A file with damage: it may be read, or raise a `TableError` or a `ColumnError`; nothing else."""
    table = _written(rng)
    content = bytearray(table.content(rng))
    for _ in range(int(rng.integers(1, 6))):
        at = int(rng.integers(len(content) + 1))
        match rng.integers(6):
            case 0:
                content[at : at + 1] = bytes(rng.integers(256, size=int(rng.integers(1, 4)), dtype=np.uint8))
            case 1:
                del content[at : at + int(rng.integers(1, 40))]
            case 2:
                content[at:at] = rng.choice([b'"', b"\x00", b"\n\n", b",,,,", b"\r", b"\xff\xfe", b" " * 5000, b"'"])
            case 3:
                content = content[:at]
            case 4:
                content[at:at] = bytes(content[: int(rng.integers(1, 200))])
            case _:
                content[at:at] = b"9" * int(rng.integers(1, 5000)) + b"e" * int(rng.integers(2))
    path = folder / str(rng.choice(["table.csv", "table.tsv", "table.jsonl", "table"]))
    path.write_bytes(bytes(content))
    options = {} if rng.random() < 0.5 else table.options
    try:
        frame = read_table(path, **options).frame
        Preparation(standardize=True, clip=True).fit(frame).transform(frame)
        kind = "damaged and read"
    except (TableError, ColumnError) as error:
        kind = "damaged and refused"
        if not str(error).strip() or ("codec" in str(error) and "is not in" not in str(error)):
            raise Failure(f"the error is no sentence: {error!r}", bytes(content)) from None
    return kind


_KINDS = (read_back, found_out, money, dates, broken)
_WEIGHTS = (0.4, 0.1, 0.1, 0.05, 0.35)


def one(rng: np.random.Generator) -> Counter[str]:
    """One input of a kind that is drawn at random."""
    kind = _KINDS[int(rng.choice(len(_KINDS), p=_WEIGHTS))]
    folder = _folder()
    try:
        return Counter({kind(rng, folder): 1})
    finally:
        for path in folder.iterdir():
            path.unlink()


@cache
def _folder() -> Path:
    """One for all inputs: to make a folder and delete it takes longer than to read a small table."""
    kept = tempfile.TemporaryDirectory()
    atexit.register(kept.cleanup)
    return Path(kept.name)


if __name__ == "__main__":
    # Made here, so that it is deleted when this process ends, not the one that is ended where an input hangs.
    _folder()
    main(one, __doc__)
