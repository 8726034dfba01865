"""Calibration and accuracy of the default models on held-out rows, beside other libraries.

    python -m benchmarks.honesty --data DIR --out scores.csv

A table for every data set: log score, CRPS, RMSE and coverage of 50 % and 95 % intervals for regression; log score,
Brier score and calibration error for classification. Then the coverage on tables drawn from a model's own prior. Data
sets are those that scikit-learn and statsmodels ship, and the files of a folder; `sets.py` has the names.
"""

import warnings

from benchmarks.harness import Line, below
from benchmarks.honesty.contest import Limits, contest
from benchmarks.honesty.models import contestants
from benchmarks.honesty.sets import QUICK, load
from benchmarks.honesty.tables import outside, print_scores


def run() -> list[Line]:
    """For `make bench`: Credo's regressors on a few sets, and how far their 95 % coverage is from 93–97 %."""
    warnings.simplefilter("ignore")
    worst: dict[str, float] = {}
    for table in load(QUICK):
        scores = contest(table, contestants(table.task, ["credo"]), Limits(seconds=60.0))
        print_scores(scores)
        for score in scores:
            if table.task == "regression":
                worst[score.model] = max(worst.get(score.model, 0.0), outside(score))
    return [
        below(f"{name}, 95 % coverage outside 93–97 %", value, 2.0, unit="s.e.", yardstick="two binomial errors")
        for name, value in worst.items()
    ]
