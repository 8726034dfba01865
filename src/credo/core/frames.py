"""Data frames in whichever library is installed, and the printed table of `summary()`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.util import find_spec
from typing import Any, Literal, cast

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

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
    # The most rows that are printed, and characters of a text.
    most: int = 400
    width: int = 1000

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
        """The shown columns as rows of text, with numbers to five significant digits; long texts are cut."""
        texts = [[_text(value) for value in row] for row in zip(*self.shown().values(), strict=True)]
        return [[text if len(text) <= self.width else f"{text[: self.width - 1]}…" for text in row] for row in texts]

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


class Intervals(Table):
    """Lower and upper ends of the parameters' intervals: a table with names, and an array of shape (n_parameters, 2).

    >>> table = Intervals("Intervals", {"parameter": ["intercept", "x0"], "lower": [0.0, 1.0], "upper": [2.0, 3.0]})
    >>> np.asarray(table)
    array([[0., 2.],
           [1., 3.]])
    >>> table["x0"], table[1], list(table)
    ((1.0, 3.0), (1.0, 3.0), [(0.0, 2.0), (1.0, 3.0)])
    """

    @classmethod
    def of(cls, names: Sequence[str], ends: NDArray[np.float64], level: float) -> Intervals:
        """From the names of the parameters and an array of shape (n_parameters, 2)."""
        columns = {"parameter": names, "lower": list(ends[:, 0]), "upper": list(ends[:, 1])}
        return cls(f"{100 * level:g} % intervals", columns)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[np.float64]:
        return np.column_stack([self.columns["lower"], self.columns["upper"]]).astype(dtype or np.float64)

    def __getitem__(self, parameter: str | int) -> tuple[float, float]:
        """The interval of a parameter, by its name or its position."""
        if not isinstance(parameter, str):
            return float(self.columns["lower"][parameter]), float(self.columns["upper"][parameter])
        names = list(self.columns["parameter"])
        if parameter not in names:
            raise KeyError(f"no parameter is called {parameter!r}; there are {', '.join(map(repr, names))}")
        return self[names.index(parameter)]

    def __iter__(self) -> Iterator[tuple[float, float]]:
        return map(self.__getitem__, range(len(self)))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _text(value: Any) -> str:
    if value is None or (_is_number(value) and value != value):
        return "—"
    return f"{value:.5g}" if _is_number(value) else str(value)
