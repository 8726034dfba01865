"""Forecasts of later times: whether they are as unsure as the held-out errors say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from credo.estimator import is_sparse
from credo.report._numbers import number
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
    found = {}
    for name, held in comparison.held_out.items():
        model = comparison.fitted[name]
        rows = model.preparation_.transform(data.frame.iloc[last])
        if name == BASELINE or is_sparse(rows) or rows.shape[1] <= column:
            continue
        ahead = np.array(rows[1:], dtype=np.float64)
        ahead[:, column] += rows[-1, column] - rows[0, column]
        std = float(np.median(model.estimator_.predict_dist(ahead).std))
        rmse = float(np.sqrt(np.mean((held.y - held.dist.mean) ** 2)))
        if std < _NARROW * rmse:
            found[name] = (
                f"its intervals for times after the last row are too narrow (a standard deviation of {number(std)}, "
                f"beside a held-out RMSE of {number(rmse)})"
            )
    return found
