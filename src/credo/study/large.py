"""Tables that don't fit into memory: models are compared on a sample of the rows, the selected one fitted to all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from credo.core.estimator import Estimator, dask_module
from credo.core.notices import collected, on_one_line
from credo.core.parts import DaskParts, LocalParts, Parts
from credo.study.catalogue import BASELINE, MODELS, Size, memory
from credo.tables import TableModel
from credo.tables.columns import row_weights
from credo.tables.errors import MAX_BYTES, TableError
from credo.tables.formats import LargeTable
from credo.tables.target import part_target

ENGINES = ("local", "dask")
# Rows, and cells, of the sample on which models are compared.
_SAMPLE_ROWS, _SAMPLE_CELLS = 100_000, 20_000_000
# A table that takes more than this share of the memory is read in parts.
_SHARE = 0.25


def large_table(path: Any, reading: Mapping[str, Any], *, engine: str = "local") -> LargeTable | None:
    """The table of a Parquet file that is to be read in parts, or None if it is small or of another format."""
    if engine not in ENGINES:
        raise ValueError(f"engine must be one of {', '.join(ENGINES)}; got {engine!r}")
    found = LargeTable.of(path) if reading.get("sheet") is None else None
    if engine == "dask" and found is None:
        raise TableError(f"engine='dask' (--engine dask) reads Parquet files, and {str(path)!r} isn't one")
    if found is None or engine == "dask":
        return found
    return found if found.size > limit() else None


def limit() -> float:
    """The size in memory, in bytes, above which a table is read in parts."""
    there = memory()
    return MAX_BYTES if there is None else min(_SHARE * there, MAX_BYTES)


def sample_of(table: LargeTable, seed: int = 0) -> tuple[Any, str]:
    """Rows on which models are compared, and a note."""
    n = max(1000, min(_SAMPLE_ROWS, _SAMPLE_CELLS // table.n_columns))
    frame = table.sample(n, seed)
    why = f"takes about {table.size / 1e9:.1f} GB in memory and " if table.size > limit() else ""
    return frame, (
        f"The table {why}is read in parts. Its columns are prepared and the models compared on a random sample of "
        f"{len(frame):,} of its {table.n_rows:,} rows; the selected model is then fitted to all rows."
    )


def names_in_parts(size: Size) -> tuple[str, ...]:
    """The names of the models that can be fitted to a table in parts."""
    specs = [spec for spec in MODELS[size.task] if spec.default and spec.name != BASELINE and spec.limit(size) is None]
    return tuple(spec.name for spec in specs if _takes_parts(spec.make(size)))


def _last(estimator: Any) -> Any:
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def _takes_parts(estimator: Any) -> bool:
    return isinstance(_last(estimator), Estimator) and _last(estimator)._accepts_parts


@dataclass(frozen=True)
class Prepared:
    """Turns rows of the table into prepared rows, targets and, from the column of that name, weights."""

    model: TableModel
    weight: str | None = None

    def __call__(self, frame: Any) -> tuple[Any, Any, Any]:
        model = self.model
        assert model.target is not None
        rest, y = part_target(frame, model.target, classes=model.classes_ if is_classifier(model) else None)
        weight = None if self.weight is None else row_weights(rest, self.weight)
        if not len(y):
            return np.empty((0, len(model.preparation_.get_feature_names_out()))), y, weight
        rows = model.for_estimator(model.preparation_.transform(rest))
        return (model.estimator_[:-1].transform(rows) if isinstance(model.estimator_, Pipeline) else rows), y, weight


def fitted_to_all(
    model: TableModel,
    table: LargeTable,
    *,
    weight: str | None = None,
    engine: str = "local",
    scheduler: str | None = None,
) -> tuple[TableModel, list[str]]:
    """The model fitted to all rows of the table, with the preparation of the sample, and notes.

    A model that can't be fitted in parts is returned as it is.
    """
    fitted = model.estimator_
    if not _takes_parts(fitted):
        return model, [
            f"The selected model, {type(_last(fitted)).__name__}, can't be fitted in parts: it is the fit to the "
            "sample of the rows."
        ]
    last = clone(_last(fitted))
    if isinstance(last.get_params().get("alpha"), str):
        # A penalty α of ‖y − Xw‖² + α‖w‖², the ratio of two variances, doesn't depend on the number of rows.
        last.set_params(alpha=_last(fitted).alpha_)
    try:
        with collected() as warnings, _client(engine, scheduler):
            last.fit(_parts(table, Prepared(model, weight), engine), **_groups_of(model, last))
    except KeyboardInterrupt:
        return model, ["Stopped by Ctrl-C: the selected model is the fit to the sample of the rows, not to all."]
    found = copy(model)
    found.estimator_ = last
    if isinstance(fitted, Pipeline):
        found.estimator_ = Pipeline([*fitted.steps[:-1], (fitted.steps[-1][0], last)])
    note = f"The selected model was fitted to all {table.n_rows:,} rows, the others to the sample."
    return found, [note, *map(on_one_line, warnings)]


def _groups_of(model: TableModel, estimator: Any) -> dict[str, Any]:
    """The columns that share a length scale, for an estimator that wants to know."""
    return {"column_groups": model.preparation_.groups()} if has_fit_parameter(estimator, "column_groups") else {}


def _parts(table: LargeTable, prepared: Prepared, engine: str) -> Parts:
    if engine == "local":

        def chunks() -> Iterator[tuple[Any, Any, Any]]:
            return map(prepared, table.frames())

        return LocalParts(chunks)
    dask = dask_module("dask")
    task, how = dask.delayed(_group, pure=False, nout=3), dask.delayed(prepared, pure=False, traverse=False)
    groups = [task(how, table, k) for k in range(table.n_groups)]
    return DaskParts([tuple(group) for group in groups])


def _group(prepared: Prepared, table: LargeTable, number: int) -> tuple[Any, Any, Any]:
    return prepared(table.group(number))


def _client(engine: str, scheduler: str | None) -> AbstractContextManager[Any]:
    """The Dask client of a fit: of the scheduler's address, of the current client, or of new processes here."""
    if engine == "local":
        return nullcontext()
    distributed = dask_module("distributed")
    if scheduler is not None:
        client: AbstractContextManager[Any] = distributed.Client(scheduler)
        return client
    try:
        distributed.get_client()
        return nullcontext()
    except ValueError:
        started: AbstractContextManager[Any] = distributed.Client(dashboard_address=None)
        return started
