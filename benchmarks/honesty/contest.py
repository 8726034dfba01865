"""Every contestant fitted on each split of a table, and what it said about the held-out rows, kept in files.

A file `TABLE/MODEL.npz` of the work folder holds one model's forecasts of one table, or why there are none. What has
a file isn't fitted again, so that a run can be stopped and continued, and single models can be run again.
"""

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.harness import skipped
from benchmarks.honesty.models import MOST_ROWS, Make
from benchmarks.honesty.peers import LEVELS
from benchmarks.honesty.sets import Table
from credo.core.deadlines import TimeUp
from credo.metrics import forecast, point, predictive

# Probabilities below this count as this in the log loss, because forests give zeros.
LEAST = 1e-6
Forecasts = dict[str, np.ndarray]


def file_of(work: Path, table: str, model: str) -> Path:
    return work / table / f"{model.replace(', ', '-')}.npz"


def contest(table: Table, models: Mapping[str, Make], seconds: float, work: Path) -> None:
    """Forecasts of all models that have no file yet; a fit may take so many CPU seconds."""
    (work / table.name).mkdir(parents=True, exist_ok=True)
    for name, make in models.items():
        file = file_of(work, table.name, name)
        if file.exists():
            continue
        try:
            found = _held_out(table, name, make, seconds)
        except TimeUp:
            found = {"why": np.array(f"a fit takes more than {seconds:g} CPU s")}
        # One model that can't be fitted to a table must not stop the others.
        except Exception as error:
            found = {"why": np.array(f"{type(error).__name__}: {str(error).splitlines()[0][:100]}")}
        if "why" in found:
            skipped(f"{name} on {table.name}", str(found["why"]))
        np.savez_compressed(file, **found)


def forecasts(work: Path, table: str) -> dict[str, Forecasts]:
    """What each model that was asked said, or why it said nothing."""
    return {file.stem.replace("-", ", "): dict(np.load(file)) for file in sorted((work / table).glob("*.npz"))}


def _held_out(table: Table, name: str, make: Make, seconds: float) -> Forecasts:
    parts: list[Forecasts] = []
    for number, (train, test) in enumerate(table.splits()):
        if len(train) > MOST_ROWS.get(name, len(train)):
            raise ValueError(f"more than {MOST_ROWS[name]:,} rows")
        prepare = _preparation()
        rows, new = prepare.fit_transform(table.X.iloc[train]), prepare.transform(table.X.iloc[test])
        start = process_time()
        with stopped_after(seconds):
            dist = predictive(make(rows.shape[1]).fit(rows, table.y[train]), new)
            found = _rows(table, table.y[test], dist)
        found |= {"row": test, "y": table.y[test], "split": np.full(len(test), number)}
        parts.append(found | {"seconds": np.full(len(test), (process_time() - start) / len(test))})
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


def _preparation() -> Any:
    """As users would: numbers standardised, categories as 0/1 columns; fitted on the training rows."""
    return make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        (
            OneHotEncoder(handle_unknown="ignore", sparse_output=False),
            make_column_selector(dtype_exclude="number"),
        ),
    )


def _rows(table: Table, y: np.ndarray, dist: Any) -> Forecasts:
    """Scores of single rows, in the units of y."""
    if table.task == "classification":
        found = forecast(y, dist)
        return {"log": np.log(np.maximum(found.actual, LEAST)), "probabilities": found.table}
    inside = {}
    for level in LEVELS:
        lower, upper = dist.interval(level)
        inside[f"inside {level}"] = (lower <= y) & (y <= upper)
    if not hasattr(dist, "log_prob"):
        nothing = np.full(len(y), np.nan)
        return {"log": nothing, "crps": nothing, "square": np.square(dist.mean - y)} | inside
    logs = dist.log_prob(y)
    if not np.isfinite(logs).all():
        raise ValueError(f"the log score of {np.sum(~np.isfinite(logs))} rows isn't finite")
    return {"log": logs, "crps": dist.crps(y), "square": np.square(point(dist) - y)} | inside


@contextmanager
def stopped_after(seconds: float) -> Iterator[None]:
    """Raise `TimeUp` in the body after so many seconds of CPU time, where the system has such alarms."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        raise TimeUp

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
