"""Dates give weekdays, hours and seasons if the table covers them, and differences between dates of a row."""

import numpy as np
import pandas as pd
import pytest

from credo.linear import LinearRegression
from credo.study import explain
from credo.tables import Preparation, TableModel, load, save


def parts(dates, name="day", **others):
    frame = pd.DataFrame({name: dates, "x": np.arange(len(dates)) ** 2.0, **others})
    names = Preparation().fit(frame).get_feature_names_out().tolist()
    return [part for part in names if part != "x" and "since" not in part]


WEEK = [f"day={day}" for day in ("Monday", "Tuesday", "Thursday", "Friday", "Saturday", "Sunday")]
HOUR = [f"day ({wave} hour {k})" for k in (1, 2) for wave in ("sin", "cos")]
YEAR = [f"day ({wave} day of year {k})" for k in (1, 2) for wave in ("sin", "cos")]


@pytest.mark.parametrize(
    ("dates", "found"),
    [
        (pd.date_range("2020-01-01", periods=40), WEEK),
        (pd.date_range("2020-01-01", periods=10), []),
        (pd.date_range("2020-01-01", periods=60, freq="h"), HOUR),
        (pd.date_range("2020-01-01", periods=30, freq="MS"), YEAR),
        (pd.date_range("2020-01-01", periods=18, freq="MS"), []),
        (pd.date_range("2020-01-01", periods=12, freq="QS"), YEAR[:2]),
        (pd.date_range("2010-01-01", periods=12, freq="YS"), []),
        (pd.date_range("2020-01-01", periods=800), [*YEAR, *WEEK]),
        (pd.date_range("2020-01-06", periods=40, freq="W-MON"), []),
        # Five shops a day.
        (pd.date_range("2020-01-01", periods=40).repeat(5), WEEK),
        (
            pd.bdate_range("2020-01-01", periods=40),
            [f"day={day}" for day in ("Tuesday", "Wednesday", "Thursday", "Friday")],
        ),
    ],
)
def test_parts_of_the_calendar_are_those_that_the_table_covers_twice(dates, found):
    assert parts(dates) == found


def test_a_date_of_birth_has_no_weekday():
    assert parts(pd.date_range("1980-01-01", periods=800), name="date_of_birth") == []


def test_parts_are_those_of_pandas():
    hours = pd.date_range("2019-11-03 05:00", periods=800 * 8, freq="3h")
    table = pd.DataFrame({"day": hours.strftime("%d.%m.%Y %H:%M"), "x": np.arange(6400.0) ** 2})
    preparation = Preparation().fit(table)
    rows = pd.DataFrame(preparation.transform(table), columns=preparation.get_feature_names_out())
    for weekday in {name.removeprefix("day=") for name in rows if "=" in name}:
        assert (rows[f"day={weekday}"] == (hours.day_name() == weekday)).all()
    np.testing.assert_allclose(rows["day (sin hour 1)"], np.sin(2 * np.pi * hours.hour / 24), atol=1e-9)
    seasonal = np.cos(2 * np.pi * (hours.day_of_year - 1 + hours.hour / 24) / 365.25)
    assert np.abs(rows["day (cos day of year 1)"] - seasonal).max() < 0.03


def test_a_weekly_and_yearly_pattern_is_learned_and_kept_in_a_file(tmp_path):
    rng = np.random.default_rng(0)
    day = pd.date_range("2021-01-01", periods=1000)
    load_ = (
        50
        + 10 * (day.day_name() == "Saturday")
        + 8 * np.sin(2 * np.pi * day.day_of_year / 365.25)
        + rng.normal(0, 1, 1000)
    )
    table = pd.DataFrame({"day": day, "load": load_})
    model = TableModel(Preparation(standardize=True), LinearRegression(), "load").fit(table[:800])
    error = model.predict(table[800:]) - table["load"][800:]
    assert np.sqrt(np.mean(error**2)) < 1.2
    save(model, tmp_path / "model.credo")
    np.testing.assert_array_equal(load(tmp_path / "model.credo").predict(table), model.predict(table))


def test_the_days_between_two_dates_of_a_row():
    rng = np.random.default_rng(1)
    first = pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 700, 300), "D")
    stay = rng.integers(1, 30, 300)
    table = pd.DataFrame({"discharged": first + pd.to_timedelta(stay, "D"), "admitted": first, "cost": 100.0 * stay})
    preparation = Preparation().fit(table.drop(columns="cost"))
    names = preparation.get_feature_names_out().tolist()
    assert f"admitted (days since {first.min().date()})" in names
    rows = preparation.transform(table.drop(columns="cost"))
    assert rows[:, names.index("discharged (days since admitted)")].tolist() == stay.tolist()
    # An unknown date of discharge counts as after the usual stay.
    gap = preparation.transform({"admitted": ["2020-03-01"], "discharged": [None]})
    assert gap[0, names.index("discharged (days since admitted)")] == np.median(stay)
    model = TableModel(Preparation(standardize=True), LinearRegression(), "cost").fit(table)
    assert model.predict({"admitted": ["2021-02-01"], "discharged": ["2021-02-11"]})[0] == pytest.approx(1000.0)
    # The admission itself doesn't matter: an explanation moves both dates together.
    found = explain(model, table.drop(columns="cost").iloc[[3]], table.drop(columns="cost"))
    parts = dict(zip(found.inputs, found.contributions[0], strict=True))
    assert abs(parts["admitted"]) < 1.0
    assert parts["discharged"] == pytest.approx(100.0 * (stay[3] - stay.mean()), abs=150.0)
