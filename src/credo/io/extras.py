"""The optional libraries of this package, imported when first needed; an error says how to install them."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def pandas() -> Any:
    """The pandas library."""
    return _library("pandas", "reading and preparing tables needs pandas: pip install 'credo[cli]'")


def parquet() -> Any:
    """pyarrow's module for Parquet files."""
    return _library("pyarrow.parquet", "reading Parquet files needs pyarrow: pip install 'credo[parquet]'")


def arrow() -> Any:
    """The pyarrow library, with its functions of arrays."""
    parquet()
    import_module("pyarrow.compute")
    return import_module("pyarrow")


def openpyxl() -> Any:
    """The openpyxl library."""
    return _library("openpyxl", "reading Excel workbooks needs openpyxl: pip install 'credo[excel]'")


def _library(name: str, sentence: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ImportError(sentence) from None
