"""The optional libraries of this room, imported when first needed and missed in words."""

from __future__ import annotations

from typing import Any


def pandas() -> Any:
    """The pandas library."""
    try:
        import pandas as pd  # noqa: PLC0415
    except ImportError:
        raise ImportError("reading and preparing tables needs pandas: pip install 'credo[cli]'") from None
    return pd


def parquet() -> Any:
    """pyarrow's module for Parquet files."""
    try:
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError:
        raise ImportError("reading Parquet files needs pyarrow: pip install 'credo[parquet]'") from None
    return pq
