"""Sample weights: one number is every row's weight, and what can't be counts of rows raises a clear error."""

import datetime

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter
from tests.contracts.estimators import classifiers, regressors

import credo
from credo.core.estimator import Regressor

X = np.random.default_rng(0).normal(size=(12, 2))
y = X[:, 0] + 0.1 * X[:, 1] ** 2
MODELS = [
    m for m in [*regressors(variants=False), *classifiers(variants=False)] if has_fit_parameter(m, "sample_weight")
]
DAYS = pd.date_range("2026-01-01", periods=12)

BAD = {
    "next to nothing": (np.full(12, 1e-300), r"largest sample_weight is 1e-300, but a weight of k means k copies"),
    "beyond counting": (np.full(12, 1e200), r"largest sample_weight is 1e\+200, but a weight of k means k copies"),
    "dates": (DAYS.to_series(), r"sample_weight holds dates: convert them to numbers"),
    "an array of dates": (DAYS.to_numpy(), r"sample_weight holds dates: convert them to numbers"),
    "a list of dates": ([datetime.date(2026, 1, 1)] * 12, r"sample_weight holds dates: convert them to numbers"),
    "durations": ((DAYS - DAYS[0]).to_series(), r"sample_weight holds durations: convert them to numbers"),
    "None": ([1.0] * 11 + [None], r"sample_weight contains NaN"),
    "one NaN": (np.nan, r"sample_weight contains NaN"),
    "one negative number": (-1.0, r"Negative values in data passed to `sample_weight`"),
    "NA": (pd.Series([1] * 11 + [None], dtype="Int64"), r"sample_weight contains NaN"),
}


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_what_is_no_weight_is_refused_in_words(model):
    target = y if isinstance(model, Regressor) else (y > 0).astype(int)
    for weight, message in BAD.values():
        with pytest.raises(ValueError, match=message):
            clone(model).fit(X, target, sample_weight=weight)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", [*MODELS, credo.BaselineRegressor(), credo.BaselineClassifier()], ids=repr)
def test_one_number_is_the_weight_of_every_row(model):
    target = (y > 0).astype(int) if is_classifier(model) else y
    one = clone(model).fit(X, target, sample_weight=2.0)
    each = clone(model).fit(X, target, sample_weight=np.full(12, 2.0))
    np.testing.assert_array_equal(one.predict(X), each.predict(X))
