"""Parquet files as chunks of rows, with one chunk in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.core.estimator import named, names_for

# Numbers in a chunk, 32 MB.
_CHUNK_ENTRIES = 4_000_000

# So that pyarrow reads a row group page by page.
READING = {"pre_buffer": False, "buffer_size": 2**20}

Source = str | PathLike[str]


class ParquetChunks:
    """The rows of Parquet files, (X, y) or (X, y, weight) at a time; each iteration reads the files again.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from credo.core.parts import read_parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pd.DataFrame({"dose": [1.0, 2.0, 4.0], "gain": [2.0, 4.1, 7.9]}).to_parquet(Path(folder) / "trial.parquet")
    ...     chunks = read_parquet(Path(folder) / "trial.parquet", target="gain")
    ...     type(chunks).__name__, [len(y) for X, y in chunks]
    ('ParquetChunks', [3])
    """

    def __init__(
        self, files: Sequence[Path], *, target: str, columns: Sequence[str], weight: str | None, n_rows: int
    ) -> None:  # fmt: skip
        self.files, self.target, self.columns, self.weight = list(files), target, list(columns), weight
        self.n_rows = n_rows

    def __repr__(self) -> str:
        return f"ParquetChunks({self.n_rows:,} rows, {len(self.columns)} columns, target {self.target!r})"

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        pq = _pyarrow()
        needed = list(dict.fromkeys([*self.columns, self.target, *([self.weight] if self.weight else [])]))
        step = max(1024, _CHUNK_ENTRIES // len(needed))
        for file in self.files:
            with pq.ParquetFile(file, **READING) as opened:
                yield from map(self._chunk, record_batches(opened, step, needed))

    def _chunk(self, batch: Any) -> tuple[Any, ...]:
        rows = np.empty((batch.num_rows, len(self.columns)), order="F")
        for j, name in enumerate(self.columns):
            rows[:, j] = _numbers(batch.column(name), name)
        target = _values(batch.column(self.target))
        X = named(rows, self.columns)
        return (X, target) if self.weight is None else (X, target, _numbers(batch.column(self.weight), self.weight))


def read_parquet(
    path: Source | Sequence[Source], *, target: str, columns: Sequence[str] | None = None, weight: str | None = None
) -> ParquetChunks:
    """The rows of Parquet files as chunks, for `fit` of models that accept tables in parts.

    Parameters
    ----------
    path : file, directory of .parquet files, or list of files
    target : str
        The column to predict.
    columns : sequence of str, optional
        The inputs, which must be numbers; by default all columns except target and weight.
    weight : str, optional
        The column of sample weights.

    Returns
    -------
    ParquetChunks
        Can be iterated any number of times. A missing value raises an error that names its chunk.

    Examples
    --------
    >>> from credo import BayesianLinearRegression
    >>> from credo.core.parts import read_parquet
    >>> BayesianLinearRegression().fit(read_parquet("big.parquet", target="price"))  # doctest: +SKIP
    """
    files = _files(path)
    pq, n_rows, known = _pyarrow(), 0, None
    for file in files:
        with pq.ParquetFile(file) as opened:
            n_rows += opened.metadata.num_rows
            present = opened.schema_arrow.names
        if known is not None and set(known) != set(present):
            odd = sorted(set(known) ^ set(present))[0]
            raise ValueError(f"{file} and {files[0]} have different columns, such as {odd!r}")
        known = known or present
    assert known is not None
    inputs = [name for name in known if name not in (target, weight)] if columns is None else list(columns)
    for name in (*inputs, target, *([] if weight is None else [weight])):
        if name not in known:
            raise ValueError(f"{files[0]} has no column {name!r}; it has {', '.join(map(repr, known[:20]))}")
    if not inputs or target in inputs:
        raise ValueError(f"columns must be inputs other than the target {target!r}; got {inputs!r:.200}")
    inputs = names_for(inputs, len(inputs))
    return ParquetChunks(files, target=target, columns=inputs, weight=weight, n_rows=n_rows)


def record_batches(opened: Any, n_rows: int, columns: Sequence[str]) -> Iterator[Any]:
    """Batches of at most `n_rows` rows from an open file, one row group at a time, because pyarrow keeps them all.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> import pyarrow.parquet as pq
    >>> from credo.core.parts import record_batches
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pd.DataFrame({"dose": [1.0, 2.0, 4.0]}).to_parquet(Path(folder) / "trial.parquet")
    ...     with pq.ParquetFile(Path(folder) / "trial.parquet") as opened:
    ...         [batch.num_rows for batch in record_batches(opened, 2, ["dose"])]
    [2, 1]
    """
    for group in range(opened.metadata.num_row_groups):
        yield from opened.iter_batches(n_rows, row_groups=[group], columns=list(columns))


def _files(path: Source | Sequence[Source]) -> list[Path]:
    given = [Path(path)] if isinstance(path, str | PathLike) else [Path(part) for part in path]
    files = [file for one in given for file in (sorted(one.glob("*.parquet")) if one.is_dir() else [one])]
    if not files:
        raise ValueError(f"there is no Parquet file in {path!r}")
    return files


def _numbers(column: Any, name: str) -> NDArray[np.float64]:
    """A column of a batch as floats, NaN for missing values."""
    try:
        return np.asarray(column.cast("float64").to_numpy(zero_copy_only=False))
    except Exception:
        raise ValueError(
            f"column {name!r} holds {column.type}, which isn't a number: leave it out of `columns`, or encode it as "
            "numbers first"
        ) from None


def _values(column: Any) -> NDArray[Any]:
    """A target: numbers, or labels."""
    if str(column.type).startswith("dictionary"):
        column = column.dictionary_decode()
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _pyarrow() -> Any:
    try:
        return import_module("pyarrow.parquet")
    except ImportError:
        raise ImportError("reading Parquet files needs pyarrow: pip install 'credo[parquet]'") from None
