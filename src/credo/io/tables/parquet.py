"""Parquet files, through pyarrow."""

from __future__ import annotations

from typing import IO, Any

from credo.io.errors import TableError
from credo.io.extras import pandas, parquet
from credo.io.tables.names import unique_names


def read_parquet(handle: IO[bytes], *, name: str, max_bytes: int) -> tuple[Any, list[str]]:
    """The frame of a Parquet file, whose size unpacked is checked before it is read."""
    pandas()
    pq = parquet()
    try:
        with pq.ParquetFile(handle) as opened:
            meta = opened.metadata
            # Runs of one value take no room on disk, so the declared size is not the size in memory.
            declared = sum(meta.row_group(i).total_byte_size for i in range(meta.num_row_groups))
            size = max(declared, 8 * meta.num_rows * meta.num_columns)
            if size > max_bytes:
                raise TableError(f"{name!r} holds about {size:,} bytes; raise the limit with max_bytes=")
            frame = opened.read().to_pandas()
    except (TableError, MemoryError):
        raise
    # What pyarrow and pandas make of a damaged file has errors of many kinds.
    except Exception as error:
        raise TableError(f"{name!r} is a damaged Parquet file ({str(error)[:200]})") from None
    if len(frame) == 0 or frame.shape[1] == 0:
        raise TableError(f"{name!r} is empty: it has {len(frame)} rows and {frame.shape[1]} columns")
    named = [name for name in frame.index.names if name is not None and name not in frame.columns]
    if named:
        frame = frame.reset_index(named)
    names, notes = unique_names([str(name) for name in frame.columns])
    frame.columns = names
    return frame.reset_index(drop=True), notes
