"""Dates, durations and masked values are no numbers, and are refused in words at every door."""

from datetime import date, time, timedelta
from time import process_time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from credo import features
from credo.core.estimator import numeric
from credo.ensemble import BaggingRegressor, Conformal
from credo.gp import GPRegressor
from credo.kernels import RBF, check_kernel
from credo.linear import BaselineRegressor, LinearRegression, LogisticRegression, ridge_path
from credo.selection import compare
from credo.sparse import Lasso, LassoCV, SparseLogisticRegression, forward_selection, lasso_path
from credo.tables import TableModel

DAYS = np.arange("2020-01-01", "2020-01-21", dtype="datetime64[D]")
NUMBERS = np.random.default_rng(0).normal(size=(20, 2))
Y = NUMBERS[:, 0] + np.arange(20) % 2
LABELS = np.arange(20) % 2
MASKED = np.ma.masked_array(NUMBERS, np.arange(40).reshape(20, 2) == 7)
DATED = "holds dates: convert them to numbers, such as days since a date"
MASKS = "X masks 1 of its 40 values, the first in row 3, column 1: drop those rows, or fill them in"

each = pytest.mark.parametrize(
    ("fit", "y"),
    [
        (LinearRegression().fit, Y),
        (Lasso(alpha=0.1).fit, Y),
        (LassoCV().fit, Y),
        (LogisticRegression().fit, LABELS),
        (SparseLogisticRegression().fit, LABELS),
        (lasso_path, Y),
        (forward_selection, Y),
        (ridge_path, Y),
        (GPRegressor().fit, Y),
        (features.Polynomial(degree=2).fit, Y),
        (lambda X, y: RBF().gram(X), Y),
        (lambda X, y: check_kernel(RBF(), X), Y),
    ],
)


@each
def test_every_door_refuses_dates_and_masks(fit, y):
    with pytest.raises(ValueError, match=f"^column 'when' of X {DATED}; credo.tables.TableModel"):
        fit(pd.DataFrame({"length": Y, "when": DAYS}), y)
    with pytest.raises(ValueError, match=f"^X {DATED}"):
        fit(DAYS[:, None], y)
    with pytest.raises(ValueError, match=f"^{MASKS}"):
        fit(MASKED, y)


@each
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_text_column_names_the_model_of_tables(fit, y, frame):
    words = "^column 'kind' of X holds text: encode it as numbers.*; credo.tables.TableModel"
    with pytest.raises(ValueError, match=words):
        fit(frame({"length": Y, "kind": ["oak", "elm"] * 10}), y)


NO_TABLE = r"^X is a dict, not a table: pass pandas.DataFrame\(X\)"


@each
def test_a_dict_is_no_table(fit, y):
    with pytest.raises(TypeError, match=NO_TABLE):
        fit({"a": Y}, y)


@pytest.mark.parametrize("model", [BaggingRegressor(), Conformal(LinearRegression()), BaselineRegressor()])
def test_a_dict_is_no_table_where_x_is_passed_on(model):
    with pytest.raises(TypeError, match=NO_TABLE):
        model.fit({"a": Y}, Y)


@pytest.mark.parametrize("model", [LinearRegression(), LogisticRegression(), GPRegressor()])
def test_a_dict_without_targets(model):
    with pytest.raises(TypeError, match=NO_TABLE):
        model.fit({"a": 1})


def test_text_among_categories_and_objects_is_text_and_written_numbers_are_not():
    kinds = ["oak", "elm"] * 10
    for column in (pd.Series(kinds, dtype="category"), pd.Series([None, *kinds[1:]], dtype=object)):
        with pytest.raises(ValueError, match="column 'kind' of X holds text"):
            LinearRegression().fit(pd.DataFrame({"length": Y, "kind": column}), Y)
    with pytest.raises(ValueError, match=r"y holds text: .* use a classifier"):
        LinearRegression().fit(NUMBERS, pd.Series(kinds))
    LinearRegression().fit(pd.DataFrame({"length": pd.Series(Y.astype(str), dtype=object)}), Y)


@pytest.mark.parametrize("model", [Lasso(alpha=0.1), SparseLogisticRegression()])
def test_new_rows_are_looked_at_as_well(model):
    model = model.fit(NUMBERS, LABELS)
    with pytest.raises(ValueError, match=MASKS):
        model.predict(MASKED)
    with pytest.raises(ValueError, match=f"X {DATED}"):
        model.predict(np.column_stack([DAYS, DAYS]))
    with pytest.raises(ValueError, match=MASKS):
        lasso_path(NUMBERS, Y, n_alphas=3).predict(MASKED)


def test_a_mask_without_anything_under_it_is_no_hindrance():
    whole = np.ma.masked_array(NUMBERS, np.zeros_like(NUMBERS, dtype=bool))
    model = Lasso(alpha=0.1).fit(whole, np.ma.masked_array(Y))
    assert_array_equal(model.coef_, Lasso(alpha=0.1).fit(NUMBERS, Y).coef_)
    assert_array_equal(model.predict(whole), model.predict(NUMBERS))


def test_targets_labels_and_weights_are_looked_at_as_well():
    hidden = np.arange(20) == 4
    with pytest.raises(ValueError, match="y masks 1 of its 20 values, the first in row 4: "):
        Lasso().fit(NUMBERS, np.ma.masked_array(Y, hidden))
    with pytest.raises(ValueError, match="y masks 1 of its 20 values"):
        SparseLogisticRegression().fit(NUMBERS, np.ma.masked_array(LABELS, hidden))
    with pytest.raises(ValueError, match="sample_weight masks 1 of its 20 values"):
        Lasso().fit(NUMBERS, Y, sample_weight=np.ma.masked_array(np.ones(20), hidden))
    # A table model and a comparison take y apart before the model sees it.
    for fit in (TableModel(None, Lasso()).fit, lambda X, y: compare({"lasso": Lasso()}, X, y)):
        with pytest.raises(ValueError, match="y masks 1 of its 20 values"):
            fit(NUMBERS, np.ma.masked_array(Y, hidden))
    for when in (
        DAYS, list(DAYS), DAYS.tolist(), np.array([*DAYS, None], dtype=object)[:-1], list(pd.Series(DAYS)),
        pd.Series(DAYS), pl.Series(DAYS), pd.Series(DAYS).dt.tz_localize("UTC"), pd.Series(list(DAYS), dtype=object),
    ):  # fmt: skip
        for fit in (Lasso().fit, lambda X, y: compare({"lasso": Lasso()}, X, y)):
            with pytest.raises(ValueError, match=f"^y {DATED}$"):
                fit(NUMBERS, when)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (pl.DataFrame({"a": Y, "when": DAYS}), f"column 'when' of X {DATED}"),
        (pa.table({"a": Y, "when": DAYS}), f"column 'when' of X {DATED}"),
        (pd.DataFrame({"a": Y, "when": pd.Series(DAYS).dt.tz_localize("UTC")}), f"column 'when' of X {DATED}"),
        (pd.DataFrame({3: DAYS - DAYS[0]}), "column '3' of X holds durations: .* such as days or seconds$"),
        (pl.DataFrame({"at": [time(12)]}), "column 'at' of X holds times: .* such as hours since midnight$"),
        ((DAYS - DAYS[0])[:, None], "X holds durations"),
        ([[1.0, DAYS[0]], [2.0, DAYS[1]]], f"column 1 of X {DATED}"),
        (np.array([[1.0, DAYS[0] - DAYS[1]]], dtype=object), "column 1 of X holds durations"),
        ([[date(2020, 1, 1)]], f"column 0 of X {DATED}"),
        (pd.DataFrame({"at": [time(12)], "a": 1.0}), "column 'at' of X holds times"),
        (pd.DataFrame({"took": pd.Series([timedelta(1)], dtype=object)}), "column 'took' of X holds durations"),
    ],
)
def test_whatever_holds_them(table, words):
    with pytest.raises(ValueError, match=words):
        numeric(table)


@pytest.mark.parametrize(
    "table", [NUMBERS, NUMBERS.tolist(), pd.DataFrame(NUMBERS), pl.DataFrame(NUMBERS), [], [1.0], None, "words"]
)
def test_all_else_passes_as_it_is(table):
    assert numeric(table) is table


def test_a_model_of_tables_counts_days_as_the_words_say():
    frame, rng = pd.DataFrame({"when": DAYS, "length": Y}), np.random.default_rng(1)
    y = 0.5 * np.arange(20) + 0.01 * rng.normal(size=20)
    parameters = TableModel(None, Lasso(alpha=0.01)).fit(frame, y).summary().columns
    slope = dict(zip(parameters["parameter"], parameters["estimate"], strict=True))["when (days since 2020-01-01)"]
    assert abs(slope - 0.5) < 0.01


def test_a_table_model_takes_dates_but_no_masks():
    with pytest.raises(ValueError, match=MASKS):
        TableModel(None, LinearRegression()).fit(MASKED, Y)


def test_a_frame_of_numbers_is_checked_faster_than_its_columns_can_be_accessed():
    """A wide table has thousands of columns, and is checked in every fit and every prediction."""
    frame = pd.DataFrame(np.zeros((2, 3000)))

    def seconds(action):
        start = process_time()
        action()
        return process_time() - start

    checked = min(seconds(lambda: numeric(frame)) for _ in range(3))
    assert checked < seconds(lambda: [column for _, column in frame.items()])
