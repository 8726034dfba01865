"""A model file that answers requests, in one thread with a bounded queue and a time limit.

One thread, because a model's predictions are not guaranteed to be thread-safe; answers about health and metrics don't
wait for it. A thread can't be stopped from outside: a task gets a function to call between its steps, which raises an
exception when the time is over.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from threading import Event
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.base import is_classifier

from credo.app.serve.inputs import Inputs, Problems, Refused, first_failure, inputs_of
from credo.core.notices import collected, on_one_line
from credo.metrics import final_step
from credo.tables import Manifest, ModelFileError, TableModel, describe, load
from credo.tables.errors import pandas
from credo.tables.table_model import predictions

Result = TypeVar("Result")


class Worker:
    """Runs tasks one after the other.

    Parameters
    ----------
    seconds : float
        The time limit of a task, including the wait for others; then it is answered with 504.
    max_waiting : int, default 64
        With more tasks, the next is answered with 503 and a Retry-After header.
    """

    def __init__(self, seconds: float, max_waiting: int = 64) -> None:
        self.seconds, self.max_waiting = seconds, max_waiting
        self.n_tasks = 0
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="credo-predict")

    async def run(self, task: Callable[[Callable[[], None]], Result]) -> Result:
        """The result of the task, which is called with the function that checks the time."""
        if self.n_tasks > self.max_waiting:
            error = f"{self.n_tasks} requests are waiting; try again later"
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, error, retry_after=1)
        over = Event()

        def check() -> None:
            if over.is_set():
                raise TimeoutError

        def work() -> Result:
            check()
            return task(check)

        self.n_tasks += 1
        future = asyncio.get_running_loop().run_in_executor(self._threads, work)
        future.add_done_callback(self._finished)
        try:
            async with asyncio.timeout(self.seconds):
                return await asyncio.shield(future)
        except TimeoutError:
            error = f"no prediction within {self.seconds:g} seconds; send fewer rows"
            raise Refused(HTTPStatus.GATEWAY_TIMEOUT, error) from None
        finally:
            # No effect after an answer; a client that has disconnected needs none.
            over.set()

    def close(self) -> None:
        """Wait for the running task, and drop the others."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _finished(self, future: asyncio.Future[Result]) -> None:
        self.n_tasks -= 1
        if not future.cancelled():
            # Nobody retrieves the exception of a task whose time was over.
            future.exception()


LEVEL = 0.95
# Rows that are predicted at a time; in between, the time limit is checked.
_CHUNK_ROWS = 1000
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, eq=False)
class Predictions:
    """The predictions of each row, as `predictions` gives them, and sentences about the rows."""

    frame: Any
    notes: list[str]

    def __len__(self) -> int:
        return len(self.frame)


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A model with its name and the columns that it takes; see `open`."""

    name: str
    estimator: Any
    inputs: Inputs
    manifest: Manifest

    @classmethod
    def open(cls, path: str | os.PathLike[str], name: str | None = None) -> Self:
        """Load a model file, and predict one row with it, which compiles the code of predictions.

        Parameters
        ----------
        path : file written by `credo fit` or `credo.save`
        name : str, optional
            The name in addresses; by default that of the file.

        Raises
        ------
        ModelFileError
            If the file isn't a model file, or its model can't be served.
        """
        if name is not None and _NAME.fullmatch(name) is None:
            raise ValueError(f"the name {name!r} can't be part of an address: use letters, digits, '.', '_' and '-'")
        manifest, estimator = describe(path), load(path)
        own = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(path).stem).lstrip(".-")[:100]
        served = cls(name or own or "model", estimator, inputs_of(estimator), manifest)
        try:
            served.predict(served.inputs.from_objects([served.example()]))
        except Refused:
            # Other rows may work even if the typical row can't be predicted.
            pass
        except TypeError as error:
            raise ModelFileError(f"the model can't be served: {on_one_line(error)}") from None
        return served

    @property
    def classes(self) -> list[Any] | None:
        """The labels of a classifier, in the order of their probabilities."""
        if not is_classifier(self.estimator):
            return None
        labels: list[Any] = np.asarray(final_step(self.estimator).classes_).tolist()
        return labels

    @property
    def has_range(self) -> bool:
        """Whether the model knows the range of its training data."""
        return isinstance(self.estimator, TableModel)

    def example(self) -> dict[str, Any]:
        """A typical row."""
        return {column.name: column.example for column in self.inputs.columns}

    def predict(self, table: Any, level: float = LEVEL, check: Callable[[], None] = lambda: None) -> Predictions:
        """Predictions for a table of `inputs`.

        Parameters
        ----------
        table : data frame or array
        level : probability of the interval from `lower` to `upper`
        check : called before each part of the rows; may raise an exception to give up

        Raises
        ------
        Refused
            With 422, if the model can't predict the rows.
        """
        parts, notes = [], dict[str, None]()
        for start in range(0, len(table), _CHUNK_ROWS):
            check()
            chunk = table[start : start + _CHUNK_ROWS]
            if self.inputs.named:
                chunk = chunk.reset_index(drop=True)
            try:
                frame, said = self._chunk(chunk, level)
            except ValueError as error:
                raise self._refusal(chunk, start, error, check) from error
            parts.append(frame)
            notes |= dict.fromkeys(said)
        return Predictions(pandas().concat(parts, ignore_index=True), list(notes))

    def _chunk(self, rows: Any, level: float) -> tuple[Any, list[str]]:
        with collected() as notices, np.errstate(all="ignore"):
            frame = predictions(self.estimator, rows, level=level)
        frame = frame if self.has_range else frame.drop(columns="outside", errors="ignore")
        return frame, [str(notice) for notice in notices]

    def _refusal(self, rows: Any, start: int, error: ValueError, check: Callable[[], None]) -> Refused:
        """The error that names the first cell that can't be prepared, or the first row that can't be predicted."""
        preparation = self.estimator.preparation_ if isinstance(self.estimator, TableModel) else None
        problems = Problems()
        for encoder in [] if preparation is None else preparation.encoders_:
            found = _bad_cell(encoder, rows[encoder.name])
            if found is not None:
                problems.add(start + found[0], str(encoder.name), found[1])
        if not problems.count:

            def works(count: int) -> bool:
                check()
                return _failure(lambda: self._chunk(rows[:count], LEVEL)) is None

            row = first_failure(len(rows), works)
            place = None if row is None else start + row
            problems.add(place, None, f"the model can't predict this row: {on_one_line(error)}")
        return problems.refusal()


def _bad_cell(encoder: Any, column: Any) -> tuple[int, str] | None:
    """The first cell that an encoder rejects, with the reason; None if it accepts all."""
    row = first_failure(len(column), lambda n: _failure(lambda: encoder.matrix(column.iloc[:n])) is None)
    if row is None:
        return None
    sentence = _failure(lambda: encoder.matrix(column.iloc[row : row + 1])) or "the value can't be used"
    return row, sentence.removeprefix(f"column {str(encoder.name)!r}, row 1: ")


def _failure(call: Callable[[], Any]) -> str | None:
    """The message of the ValueError that the call raises, or None."""
    try:
        with collected():
            call()
    except ValueError as error:
        return on_one_line(error)
    return None
