"""The scores of all models on one table, from what they said about its held-out rows, and what stands out."""

from collections.abc import Callable, Mapping
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.honesty.contest import LEAST, Forecasts, forecasts
from benchmarks.honesty.models import CREDO
from credo.distributions import Categorical
from credo.metrics import brier, calibration_error

# Coverage of 95 % intervals that is as it should be.
LOW, HIGH = 0.93, 0.97


def scores_of(work: Path, table: str, task: str) -> dict[str, Any] | None:
    """All that is known about a table: a score for each model, the best log score first, and who is missing and why.

    RMSE, log score and CRPS are means over the splits, with standard errors; coverage is that of all test rows.
    """
    asked = forecasts(work, table)
    held_out = {name: found for name, found in asked.items() if "why" not in found}
    if not held_out:
        return None
    summary = _regression if task == "regression" else _classification
    first = next(iter(held_out.values()))
    best = max(held_out.values(), key=_log_score)
    found = [
        {"model": name, "credo": name in CREDO[task], "behind": _behind(own, best)}
        | summary(own)
        | {"seconds": float(own["seconds"].sum() / _n_splits(own))}
        for name, own in held_out.items()
    ]
    return {
        "task": task,
        "splits": _n_splits(first),
        "distinct": len(np.unique(first["row"])),
        "scores": sorted(found, key=_order, reverse=True),
        "skipped": {name: str(own["why"]) for name, own in asked.items() if "why" in own},
    }


def _order(score: Mapping[str, Any]) -> float:
    gap = score["behind"][0]
    return -np.inf if gap is None else gap


def _log_score(own: Forecasts) -> float:
    mean = own["log"].mean()
    return float(mean) if np.isfinite(mean) else -np.inf


def _n_splits(own: Forecasts) -> int:
    return len(np.unique(own["split"]))


def _behind(own: Forecasts, best: Forecasts) -> tuple[float | None, float | None]:
    """The log score minus the best of this table, by pairs of rows, with its standard error.

    Where the splits repeat a row, its differences are averaged first: they aren't independent.
    """
    if not np.isfinite(own["log"]).all():
        return None, None
    pairs = own["log"] - best["log"]
    rows, where = np.unique(own["row"], return_inverse=True)
    each = np.bincount(where, pairs) / np.bincount(where)
    return float(pairs.mean()), float(each.std(ddof=1) / sqrt(len(rows)))


def _over_splits(own: Forecasts, statistic: Callable[[np.ndarray], float]) -> tuple[float, float]:
    """Mean and standard error over the splits."""
    each = [statistic(own["split"] == number) for number in np.unique(own["split"])]
    return float(np.mean(each)), float(np.std(each, ddof=1) / sqrt(len(each))) if len(each) > 1 else float("nan")


def _regression(own: Forecasts) -> dict[str, Any]:
    pairs = {
        "RMSE": _over_splits(own, lambda at: float(np.sqrt(own["square"][at].mean()))),
        "log score": _over_splits(own, lambda at: float(own["log"][at].mean())),
        "CRPS": _over_splits(own, lambda at: float(own["crps"][at].mean())),
    }
    half, wide = own["inside 0.5"].mean(), own["inside 0.95"].mean()
    return {
        **{name: _finite(pair) for name, pair in pairs.items()},
        "50 %": float(half),
        "95 %": float(wide),
        "flag": _coverage_flag(float(wide), len(np.unique(own["row"]))),
    }


def _finite(pair: tuple[float, float]) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in pair]


def _coverage_flag(share: float, n_rows: int) -> str:
    """Coverage outside 93–97 % by more than two binomial standard errors."""
    limit = LOW if share < LOW else HIGH
    if LOW <= share <= HIGH or abs(share - limit) <= 2 * sqrt(limit * (1 - limit) / n_rows):
        return ""
    return "too narrow" if share < LOW else "too wide"


def _classification(own: Forecasts) -> dict[str, Any]:
    table, y = own["probabilities"], own["y"]
    dist = Categorical(table, classes=np.arange(table.shape[1]))
    right, stated = table.argmax(axis=1) == y, table.max(axis=1)
    # Correct labels minus those that the probabilities promise, in standard errors; three of them are flagged.
    z = (right - stated).sum() / np.sqrt(max((stated * (1 - stated)).sum(), LEAST))
    return {
        "accuracy": float(right.mean()),
        "log score": _finite(_over_splits(own, lambda at: float(own["log"][at].mean()))),
        "Brier": float(brier(y, dist)),
        "calibration": float(calibration_error(y, dist)),
        "z": float(z),
        "flag": "" if abs(z) <= 3.0 else "overconfident" if z < 0 else "underconfident",
    }


def clearly_behind(score: Mapping[str, Any]) -> bool:
    """Whether the log score is behind the best of the table by more than two standard errors."""
    gap, error = score["behind"]
    return gap is not None and gap < -2 * error
