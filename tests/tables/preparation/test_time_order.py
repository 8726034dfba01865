"""Which column, if any, puts the rows in time order."""

import numpy as np
import pandas as pd
import pytest

from credo.tables import Preparation, time_column

RNG = np.random.default_rng(0)
N = 120
MONTHS = pd.date_range("1949-01-01", periods=N, freq="MS")


@pytest.mark.parametrize(
    ("column", "step"),
    [
        (pd.Series(MONTHS, name="date"), "month"),
        (pd.Series(MONTHS.strftime("%Y-%m-%d"), name="when"), "month"),
        (pd.Series(MONTHS.strftime("%d.%m.%Y"), name="Datum"), "month"),
        (pd.Series(pd.bdate_range("2020-01-01", periods=N), name="Date"), "day"),
        (pd.Series(pd.date_range("2020-01-01", periods=N, freq="h"), name="ds"), "hour"),
        (pd.Series(pd.date_range("2000-01-01", periods=N, freq="QS"), name="date"), "quarter"),
        (pd.Series(np.arange(1871, 1871 + N), name="year"), ""),
        (pd.Series(1949 + np.arange(N) / 12, name="time"), ""),
        (pd.Series((1949 + np.arange(N) / 12).round(3), name="decimal_year"), ""),
        (pd.Series(np.arange(1, N + 1), name="month"), ""),
        (pd.Series(np.arange(N), name="t"), ""),
    ],
)
def test_series_are_found_whatever_the_order_of_their_rows(column, step):
    frame = pd.DataFrame({column.name: column, "y": RNG.normal(size=N)}).sample(frac=1, random_state=1)
    found = time_column(frame)
    assert (found.name, found.step, found.repeated) == (column.name, step, False)
    assert frame[column.name].iloc[found.order].tolist() == column.tolist()


NAMES = list(MONTHS.strftime("%B"))


@pytest.mark.parametrize(
    ("name", "parts", "step"),
    [
        ("month", MONTHS.month, "month"),
        ("Month", MONTHS.strftime("%b"), "month"),
        ("month", pd.Categorical(NAMES, categories=NAMES[:12]), "month"),
        ("quarter", 1 + np.arange(N) % 4, "quarter"),
        ("Quarter", [f"Q{1 + i % 4}" for i in range(N)], "quarter"),
    ],
)
def test_years_are_divided_by_another_column(name, parts, step):
    per = 4 if step == "quarter" else 12
    frame = pd.DataFrame({name: parts, "Year": 1949 + np.arange(N) // per, "y": np.arange(N)})
    frame = frame.sample(frac=1, random_state=1)
    found = time_column(frame)
    assert (found.name, found.within, found.step, found.repeated) == ("Year", name, step, False)
    assert frame["y"].iloc[found.order].tolist() == list(range(N))


def test_panel_data_by_year_and_quarter_stay_panel_data():
    frame = pd.DataFrame({"year": np.repeat(np.arange(1990, 2002), 8), "quarter": np.tile([1, 2, 3, 4], 24), "y": 0.5})
    assert time_column(frame).repeated
    assert time_column(frame.assign(quarter=np.tile([0, 1, 2, 3], 24))).within is None


def test_a_few_lost_or_doubled_steps_do_no_harm():
    kept = np.sort(np.append(np.setdiff1d(np.arange(N), [3, 40, 41, 90]), [7]))
    assert time_column({"date": MONTHS[kept], "y": RNG.normal(size=len(kept))}).step == "month"


def test_one_long_gap_does_not_end_the_order():
    hours = pd.date_range("2024-01-01", periods=400, freq="h")
    frame = pd.DataFrame({"time": hours[np.r_[:200, 280:400]], "load": np.arange(320.0)})
    assert time_column(frame).step == "hour"


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(np.arange(1, N + 1), name="id"),
        pd.Series(np.arange(N), name="count"),
        pd.Series(np.arange(N) + 18, name="age"),
        pd.Series(RNG.normal(size=N).cumsum(), name="price"),
        pd.Series(np.arange(N) / 2, name="hours studied"),
        pd.Series(np.arange(N) / 2, name="time_to_failure"),
        pd.Series(RNG.gamma(2.0, size=N), name="time"),
        pd.Series(RNG.integers(1900, 2010, N), name="year"),
        pd.Series(np.arange(N) + 1880, name="year_built"),
        pd.Series(np.arange(N) % 12 + 1, name="month"),
        pd.Series(np.arange(N) % 7, name="day_of_week"),
        pd.Series(MONTHS, name="date of birth"),
        pd.Series(MONTHS, name="dob"),
        pd.Series(pd.to_datetime("1960-01-01") + pd.to_timedelta(RNG.integers(0, 9000, N), "D"), name="visited"),
        pd.Series(["2020-01-01"] * 60 + ["2020-02-01"] * 60, name="date"),
        pd.Series(np.repeat(np.arange(2003, 2009), 20), name="year"),
        pd.Series([*MONTHS[:-1], None], name="date"),
    ],
    ids=lambda column: column.name,
)
def test_other_columns_are_no_time(column):
    assert time_column(pd.DataFrame({column.name: column, "y": RNG.normal(size=N)})) is None


def test_short_tables_have_no_time_order():
    assert time_column({"year": np.arange(1990, 2005), "y": np.arange(15.0)}) is None


@pytest.mark.parametrize("times", [MONTHS[:30], np.arange(1980, 2010)])
def test_panel_data_are_told_apart(times):
    name = "date" if isinstance(times, pd.DatetimeIndex) else "year"
    frame = pd.DataFrame({"firm": list("abcd") * 30, name: np.repeat(np.asarray(times), 4), "y": RNG.normal(size=120)})
    found = time_column(frame)
    assert (found.name, found.repeated) == (name, True)
    assert np.all(np.diff(found.values[found.order]) >= 0)


def test_days_become_dates_again():
    frame = pd.DataFrame({"date": MONTHS, "y": RNG.normal(size=N)})
    found = time_column(frame)
    np.testing.assert_array_equal(found.dates(found.values), MONTHS.to_numpy(dtype="datetime64[us]"))
    preparation = Preparation().fit(frame)
    encoder = preparation.encoder("date")
    np.testing.assert_array_equal(encoder.dates(preparation.transform(frame)[:, 0]), found.dates(found.values))
    assert time_column({"year": np.arange(1871, 1971), "y": np.ones(100)}).dates(np.zeros(3)) is None
