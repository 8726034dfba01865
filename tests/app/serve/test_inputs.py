"""The columns that a served model takes, and CSV rows."""

import numpy as np
import pandas as pd
import pytest

from credo import AdditiveRegressor
from credo.app.serve.inputs import Input, Inputs, Refused, inputs_of, parse_csv
from credo.tables import Event, Preparation, TableModel

DOSE = Inputs((Input("dose", "number"),))


def test_csv_is_read_up_to_the_limit_of_rows():
    """The rest of a body that is refused for its rows isn't read, so that it can't block the server."""
    found = parse_csv(b"dose\n" + b"1\n" * 1000, DOSE, max_rows=10)
    assert len(found["rows"]) == 11
    assert len(parse_csv(b"dose\n" + b"1\n" * 10, DOSE, max_rows=10)["rows"]) == 10


def test_csv_without_rows_is_refused():
    with pytest.raises(Refused, match="a header, but no rows"):
        parse_csv(b"dose\n", DOSE)


@pytest.mark.parametrize("text", ["nan", "NaN", "1_0", "NA"])
def test_csv_cells_that_are_no_numbers(text):
    with pytest.raises(Refused, match="row 1, column 'dose': a number is needed; this is a text"):
        DOSE.from_lists(names=["dose"], rows=parse_csv(b"dose\n" + text.encode() + b"\n", DOSE)["rows"])


def test_a_million_unknown_columns_are_not_all_listed():
    with pytest.raises(Refused, match="no such column") as error:
        DOSE.from_lists([f"a{i}" for i in range(100_000)], [[1]])
    assert len(error.value.problems) == 20 and "and 200 more problems" in str(error.value)


def test_the_training_table_of_times_can_be_sent_with_its_event():
    x = np.linspace(0.1, 2.0, 40)
    table = pd.DataFrame({"x": x, "days": np.exp(x), "died": np.arange(40) % 2})
    model = TableModel(
        Preparation(), AdditiveRegressor(family="weibull", pairs=0), "days", event=Event("died", "1")
    ).fit(table)
    assert inputs_of(model).ignored == {"days", "died"}
