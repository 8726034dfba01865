"""Every contestant fitted on each fold of a table, and its scores on the held-out rows."""

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from time import process_time
from typing import Any

import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.harness import skipped
from benchmarks.honesty.models import Make
from benchmarks.honesty.sets import N_FOLDS, Table
from credo.deadlines import TimeUp
from credo.distributions import Categorical, Distribution
from credo.metrics import brier, calibration_error, forecast, point, predictive

# Probabilities below this count as this in the log loss, because forests give zeros.
LEAST = 1e-6


@dataclass(frozen=True)
class Limits:
    """CPU seconds for the fit and the predictions of one fold, and how many of the folds are predicted."""

    seconds: float = 120.0
    folds: int = N_FOLDS


@dataclass
class Score:
    """One model on one table, all held-out rows together; `seconds` is CPU time of all folds.

    `values` are, for regression, log score, CRPS and RMSE in units of the standard deviation of y, and coverage; for
    classes, log score, Brier score, calibration error, accuracy and z, which is negative if the model is overconfident.
    `gap` is how far the log score is behind the best on this table, with the standard error of the paired difference.
    """

    table: str
    task: str
    model: str
    rows: int
    values: dict[str, float]
    seconds: float
    gap: float = 0.0
    gap_error: float = 0.0
    log_scores: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)


def contest(table: Table, models: Mapping[str, Make], limits: Limits) -> list[Score]:
    """The scores of all models that finish, in their order."""
    scores = []
    for name, make in models.items():
        try:
            scores.append(_held_out(table, name, make, limits))
        except TimeUp:
            skipped(f"{name} on {table.name}", f"a fold takes more than {limits.seconds:g} CPU s")
        # One model that can't be fitted to a table must not stop the others.
        except Exception as error:
            skipped(f"{name} on {table.name}", f"{type(error).__name__}: {str(error).splitlines()[0][:100]}")
    if scores:
        best = max(scores, key=lambda score: score.log_scores.mean()).log_scores
        for score in scores:
            behind = score.log_scores - best
            score.gap, score.gap_error = float(behind.mean()), float(behind.std(ddof=1) / np.sqrt(len(behind)))
    return scores


def _held_out(table: Table, name: str, make: Make, limits: Limits) -> Score:
    order, parts, seconds = [], [], 0.0
    for train, test in islice(table.folds(), limits.folds):
        prepare = _preparation()
        rows, new = prepare.fit_transform(table.X.iloc[train]), prepare.transform(table.X.iloc[test])
        start = process_time()
        with stopped_after(limits.seconds):
            dist = predictive(make(rows.shape[1]).fit(rows, table.y[train]), new)
            parts.append(_rows(table, table.y[test], dist))
        seconds += process_time() - start
        order.append(test)
    joined = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    values = _summary(table, table.y[np.concatenate(order)], joined)
    # In the order of the table, so that scores are paired by rows.
    logs = joined["log"][np.argsort(np.concatenate(order))]
    return Score(table.name, table.task, name, len(logs), values, seconds, log_scores=logs)


def _preparation() -> Any:
    """As users would: numbers standardised, categories as 0/1 columns; fitted on the training rows."""
    return make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        (
            OneHotEncoder(handle_unknown="ignore", sparse_output=False),
            make_column_selector(dtype_exclude="number"),
        ),
    )


def _rows(table: Table, y: np.ndarray, dist: Distribution) -> dict[str, np.ndarray]:
    """Scores of single rows."""
    if table.task == "classification":
        found = forecast(y, dist)
        return {"log": np.log(np.maximum(found.actual, LEAST)), "probabilities": found.table}
    scale = table.y.std()
    inside = {}
    for level in (0.5, 0.95):
        lower, upper = dist.interval(level)
        inside[f"inside {level}"] = (lower <= y) & (y <= upper)
    logs = dist.log_prob(y) + np.log(scale)
    if not np.isfinite(logs).all():
        raise ValueError(f"the log score of {np.sum(~np.isfinite(logs))} rows isn't finite")
    return {"log": logs, "crps": dist.crps(y) / scale, "square": np.square((point(dist) - y) / scale)} | inside


def _summary(table: Table, y: np.ndarray, rows: Mapping[str, np.ndarray]) -> dict[str, float]:
    values = {"log score": rows["log"].mean()}
    if table.task == "classification":
        dist = Categorical(rows["probabilities"], classes=np.arange(rows["probabilities"].shape[1]))
        right, stated = rows["probabilities"].argmax(axis=1) == y, rows["probabilities"].max(axis=1)
        values |= {"Brier": brier(y, dist), "calibration": calibration_error(y, dist), "accuracy": right.mean()}
        # Correct labels minus those that the probabilities promise, in standard errors.
        values["z"] = (right - stated).sum() / np.sqrt(max((stated * (1 - stated)).sum(), LEAST))
    else:
        values |= {"CRPS": rows["crps"].mean(), "RMSE": np.sqrt(rows["square"].mean())}
        values |= {"50 %": rows["inside 0.5"].mean(), "95 %": rows["inside 0.95"].mean()}
    return {name: float(value) for name, value in values.items()}


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
