"""Preparing a table once for several models that are fitted to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

# Tables and what was made of them; a table is held, so that its identity can't become another's.
_fitted: ContextVar[list[tuple[Any, dict[str, Any], Any, Any]] | None] = ContextVar("credo_fitted", default=None)
_transformed: ContextVar[list[tuple[Any, Any, Any]] | None] = ContextVar("credo_transformed", default=None)


@contextmanager
def preparing_once() -> Iterator[None]:
    """Inside, models of tables that are fitted to the very same frame with equal preparations share one.

    For frames that don't change meanwhile, such as the folds of a comparison. Belongs to one thread alone.
    """
    tokens = _fitted.set([]), _transformed.set([])
    try:
        yield
    finally:
        _fitted.reset(tokens[0])
        _transformed.reset(tokens[1])


def fit_transform(preparation: Any, table: Any, weights: dict[str, Any]) -> tuple[Any, Any]:
    """The fitted preparation and the prepared rows."""
    known = _fitted.get()
    if known is None or weights:
        return preparation, preparation.fit_transform(table, **weights)
    parameters = preparation.get_params()
    for frame, given, fitted, rows in known:
        if frame is table and given == parameters:
            return fitted, rows
    rows = preparation.fit_transform(table)
    known.append((table, parameters, preparation, rows))
    return preparation, rows


def transform(preparation: Any, table: Any) -> Any:
    """The prepared rows of a table."""
    known = _transformed.get()
    if known is None:
        return preparation.transform(table)
    for fitted, frame, rows in known:
        if fitted is preparation and frame is table:
            return rows
    rows = preparation.transform(table)
    known.append((preparation, table, rows))
    return rows
