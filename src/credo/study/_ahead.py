"""Forecasts of later times: whether they are as unsure as the held-out errors say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from credo.estimator import is_sparse
from credo.metrics import point, predictive
from credo.selection import BASELINE, Comparison
from credo.selection._folds import Split
from credo.study._dataset import Dataset

# A forecast is too narrow if its standard deviation is below this share of the held-out RMSE.
_NARROW = 0.5


def narrow_ahead(data: Dataset, comparison: Comparison, splits: Sequence[Split]) -> dict[str, str]:
    """The models whose forecasts for the time after the last row are too narrow, and why.

    Each fold was predicted from the rows before it. So the rows of the last fold, moved by its length, are as far ahead
    of the last row as held-out rows were of the rows before them.
    """
    if data.time is None or data.size.times is None or data.size.classes:
        return {}
    column, last = data.size.times.column, np.asarray(data.time.order)[-len(splits[-1][1]) - 1 :]
    # Which quarter of its fold a row is in: held-out rows, and the rows ahead.
    quarter = np.zeros(len(data.y), dtype=np.intp)
    for _, test in splits:
        quarter[test] = 4 * np.arange(len(test)) // len(test)
    found = {}
    for name, held in comparison.held_out.items():
        model = comparison.fitted[name]
        before, rows = (model.preparation_.transform(data.frame.iloc[part]) for part in (last[:1], last[1:]))
        if name == BASELINE or is_sparse(rows) or rows.shape[1] <= column:
            continue
        rows[:, column] += rows[-1, column] - before[0, column]
        std = predictive(model.estimator_, model.for_estimator(rows)).std
        squares = (held.y - point(held.dist)) ** 2
        for q in range(4):
            ours = float(np.median(std[quarter[last[1:]] == q]))
            rmse = float(np.sqrt(np.mean(squares[quarter[held.rows] == q])))
            if ours < _NARROW * rmse:
                found[name] = (
                    "its intervals for times after the last row are too narrow (a standard deviation of "
                    f"{ours:.3g}, where held-out rows as far ahead have an RMSE of {rmse:.3g})"
                )
                break
    return found
