"""The optional libraries of this package, imported when first needed; an error says how to install them."""

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


def arrow() -> Any:
    """The pyarrow library, with its functions of arrays."""
    parquet()
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute  # noqa: PLC0415

    return pa


def openpyxl() -> Any:
    """The openpyxl library."""
    try:
        import openpyxl as library  # noqa: PLC0415
    except ImportError:
        raise ImportError("reading Excel workbooks needs openpyxl: pip install 'credo[excel]'") from None
    return library
