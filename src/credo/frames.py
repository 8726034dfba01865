"""Data frames in whichever library is installed, and the printed table of `summary()`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.util import find_spec
from typing import Any, Literal, cast

import narwhals as nw
import numpy as np

_BACKENDS = ("pandas", "polars", "pyarrow")


def frame(columns: Mapping[str, Any], *, backend: str | None = None) -> Any:
    """A native data frame of named columns.

    Parameters
    ----------
    columns : mapping of name to one-dimensional array
    backend : {"pandas", "polars", "pyarrow"}, optional
        The library to build with; by default the first of these that is installed.
    """
    if backend is None:
        backend = next((name for name in _BACKENDS if find_spec(name)), None)
    if backend is None:
        raise ImportError("a data frame needs pandas, polars or pyarrow: pip install pandas")
    if backend not in _BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(_BACKENDS)}; got {backend!r}")
    data = {name: _entries(values) for name, values in columns.items()}
    known = cast("Literal['pandas', 'polars', 'pyarrow']", backend)
    return nw.from_dict(data, backend=known).to_native()


def _entries(values: Any) -> list[Any]:
    """The values as a list of plain Python objects."""
    if isinstance(values, list | tuple):
        return [value.item() if isinstance(value, np.generic) else value for value in values]
    return np.asarray(values).tolist()


@dataclass(frozen=True, repr=False)
class Table:
    """A small table that prints aligned columns, shows as HTML in a notebook, and converts to a data frame.

    Columns without any value, such as unknown standard deviations, aren't shown.

    >>> print(Table("Weights", {"parameter": ["slope"], "estimate": [2.0], "sd": [0.125]}))
    Weights
    parameter  estimate     sd
    slope             2  0.125
    """

    title: str
    columns: Mapping[str, Sequence[Any]]
    notes: Sequence[str] = field(default=())
    # The most rows that are printed.
    most: int = 400

    @classmethod
    def of_estimates(cls, title: str, lines: Iterable[tuple[str, Any]], *, notes: Sequence[str] = ()) -> Table:
        """A table of parameters and their estimates, without standard deviations."""
        names, estimates = map(list, zip(*lines, strict=True))
        return cls(title, {"parameter": names, "estimate": estimates, "sd": [None] * len(names)}, notes=notes)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def to_frame(self, *, backend: str | None = None) -> Any:
        """The columns as a data frame of the installed library."""
        return frame(self.columns, backend=backend)

    def shown(self) -> dict[str, Sequence[Any]]:
        """The columns that have a value."""
        return {
            name: values
            for name, values in self.columns.items()
            if not len(values) or any(value is not None for value in values)
        }

    def cells(self) -> list[list[str]]:
        """The shown columns as rows of text, with numbers to five significant digits."""
        return [[_text(value) for value in row] for row in zip(*self.shown().values(), strict=True)]

    def __str__(self) -> str:
        shown, rows = self.shown(), self.cells()
        header = list(shown)
        left_out = len(rows) - self.most
        rows = rows[: self.most] if left_out > 0 else rows
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        right = [all(value is None or _is_number(value) for value in values) for values in shown.values()]
        lines = [
            "  ".join(cell.rjust(w) if r else cell.ljust(w) for cell, w, r in zip(line, widths, right, strict=True))
            for line in [header, *rows]
        ]
        more = [f"… and {left_out} more; to_frame() has all"] if left_out > 0 else []
        return "\n".join([self.title, *(line.rstrip() for line in lines), *more, *self.notes])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.shown())
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in self.cells())
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<table><caption>{escape(self.title)}</caption><tr>{head}</tr>{body}</table>{notes}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _text(value: Any) -> str:
    if value is None or (_is_number(value) and value != value):
        return "—"
    return f"{value:.5g}" if _is_number(value) else str(value)
