"""Ways of writing dates: which are recognized, and what only looks like one."""

from datetime import datetime
from time import monotonic

import numpy as np
import pandas as pd
import pytest

from credo import load, save
from credo.core.deadlines import TimeUp, until
from credo.core.fields import check
from credo.tables import ColumnError, Days, Form, Preparation, kinds, time_column
from credo.tables import kinds as dates

DAYS = pd.date_range("2006-07-02", periods=60)
MONTHS = pd.date_range("1998-11-01", periods=36, freq="MS")
WEEKS = pd.date_range("2008-12-01", periods=60, freq="7D")


def table(values, name="when"):
    return pd.DataFrame({name: values, "x": np.linspace(0.0, 1.0, len(values)) ** 2})


def kind(values, name="when"):
    return Preparation().fit(table(values, name)).columns_[0].kind


NAMED = [
    f"%d{mark}{month}{mark}{year}" for mark in ("-", " ", "/", "") for month in ("%b", "%B") for year in ("%y", "%Y")
]
ORDERED = [
    "%B %d, %Y",
    "%b %d %Y",
    "%m/%d/%y",
    "%d/%m/%y",
    "%d-%b-%y 12:30",
    "%m/%d/%y 12:30:05",
    "%d. %b %Y",
    "%d.%m.%y",
]
WITH_WEEKDAY = ["%A %d %B %Y", "%a, %d %b %Y", "%A, %B %d, %Y", "%a %m/%d/%Y"]
WRITTEN = [
    *((DAYS, "day", style) for style in (*NAMED, *ORDERED, *WITH_WEEKDAY)),
    *((MONTHS, "month", style) for style in ("%b %Y", "%B %Y", "%b-%y", "%B-%Y", "%Y-%m")),
    *((WEEKS, "week", style) for style in ("%G-W%V", "%GW%V", "%G-W%V-%u")),
]


@pytest.mark.parametrize(("dates", "step", "style"), WRITTEN, ids=[style for *_, style in WRITTEN])
@pytest.mark.parametrize("case", [str, str.upper])
def test_common_ways_of_writing_dates(dates, step, style, case):
    written = table([case(word) for word in dates.strftime(style)])
    preparation = Preparation().fit(written[:-5].sample(frac=1, random_state=0))
    assert preparation.columns_[0].kind == "date" and preparation.notes_ == []
    # Also the rows after those of the fit.
    days = preparation.transform(written)[:, 0]
    np.testing.assert_allclose(days - days[0], (dates - dates[0]).days, atol=1e-12)
    found = time_column(written)
    assert (found.name, found.step) == ("when", step)


def test_calendars_with_53_weeks_every_year():
    written = [f"{year}-W{week:02d}" for year in (2020, 2021) for week in range(1, 54)]
    preparation = Preparation().fit(table(written))
    days = preparation.transform(table(written))[:, 0]
    # 2020 has 53 weeks in the ISO calendar; of 2021, week 53 is the week after week 52, which is the first of 2022.
    assert np.diff(days).tolist() == [7.0] * 105
    assert preparation.encoder("when").text(days[-1]) == "2022-01-03"


def test_long_and_short_names_of_months_may_alternate():
    written = ["30 June 2006", "1 Jul 2006", "Sunday 2 July 2006", "3 Sept 2006", "4 September 2006"]
    days = Preparation(kinds={"when": "date"}).fit_transform(table(written))[:, 0]
    assert days.tolist() == [0, 1, 2, 65, 66]


def test_years_of_two_digits_are_those_of_posix():
    for year in ("68", "69", "99", "00"):
        written = [f"{day:02d}-Jul-{year}" for day in (1, 2, 3)]
        origin = Preparation(kinds={"when": Form("date", style="%d-%b-%y")}).fit(table(written)).encoders_[0].origin
        assert origin == datetime.strptime(written[0], "%d-%b-%y").date().isoformat()


@pytest.mark.parametrize("to", [int, float, str])
@pytest.mark.parametrize("name", ["date", "SaleDate", "day", "time_stamp", "when"])
def test_numbers_of_eight_digits_under_the_name_of_a_date(name, to):
    written = table([to(word) for word in DAYS.strftime("%Y%m%d")], name)
    preparation = Preparation().fit(written[:-5])
    np.testing.assert_array_equal(preparation.transform(written)[:, 0], np.arange(60.0))
    # Panel data.
    assert kind(np.repeat(written[name], 2), name) == "date"
    with pytest.raises(ColumnError, match=r"2006072(\.0)?' is not a date"):
        preparation.transform(table([to("2006072")], name))


def test_numbers_of_eight_digits_are_found_as_times():
    found = time_column(table(DAYS.strftime("%Y%m%d").astype(int), "date"))
    assert (found.name, found.origin, found.step) == ("date", "2006-07-02", "day")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("price", DAYS.strftime("%Y%m%d").astype(int)),
        ("date", np.arange(20060690, 20060730)),
        ("date", [20060701, 20060702] * 10),
        ("date", DAYS.strftime("%Y%m%d").astype(int) + 2_000_000),
        ("day", DAYS.strftime("%Y%m%d").astype(int) + 0.5),
    ],
)
def test_other_numbers_of_eight_digits(name, values):
    assert kind(values, name) == "numeric"


@pytest.mark.parametrize(
    "values",
    [
        ["May", "Mar", "Apr"],
        ["12-AB-07", "13-CD-08"],
        ["1-2-3", "4-5-6"],
        ["1.2.06", "1.10.12"],
        ["Mar 12", "Apr 13"],
        ["MAR-120", "MAR-121"],
        ["March 1", "May 2"],
        ["12-MAR-1", "13-MAR-2"],
        ["12-MARS-07", "13-MAYO-08"],
        ["31-Feb-2006", "01-Mar-2006"],
        ["02-Jul-2006", "today"],
        ["02-Jul-2006", "03/Jul/2006"],
        ["2006-W26", "2006-W54"],
        # Either of day and month, a year or a day.
        ["01/02/06", "03/04/06"],
        DAYS.strftime("%y/%m/%d"),
        DAYS.strftime("%y-%b-%d"),
        DAYS.strftime("%b-%d"),
        [f"Jul-{day:02d}" for day in range(5, 25)],
        [f"15/07/{day:02d}" for day in range(5, 25)],
    ],
    ids=lambda values: values[0],
)
def test_what_only_looks_like_a_date(values):
    assert kind(list(values) * 2) in ("categorical", "identifier")


def test_future_months_are_not_days():
    assert kind(pd.date_range("2024-01-01", "2030-12-01", freq="MS").strftime("%b-%y")) == "date"


def test_today_is_no_date_of_new_rows():
    preparation = Preparation().fit(table(DAYS.strftime("%d%b%Y")))
    with pytest.raises(ColumnError, match="'today' is not a date"):
        preparation.transform(table(["today"]))


@pytest.mark.parametrize("style", ["%d%b%Y", "%Y%m%d", "%a %d/%m/%y"])
def test_the_way_of_writing_is_saved(style, tmp_path):
    rows = table(DAYS.strftime(style))
    preparation = Preparation().fit(rows)
    save(preparation, tmp_path / "p.credo")
    np.testing.assert_array_equal(load(tmp_path / "p.credo").transform(rows), preparation.transform(rows))


@pytest.mark.parametrize("style", ["mixed", "", "%9999999999d", "%s", "%", "%c", "%d" * 100, None, 3])
def test_a_file_can_t_ask_for_any_format(style):
    with pytest.raises(ValueError, match=r"style must be a known format of dates|for style, which is of another type"):
        check(Days(name="d", fill=0.0, style=style, origin="2020-01-01"))
    for known in ("typed", "ISO8601", "%d.%m.%Y %H:%M", "%b %d, %Y"):
        check(Days(name="d", fill=0.0, style=known, origin="2020-01-01"))


def every_way(n=40):
    """Dates written in several ways, with a gap, and columns of other kinds."""
    days = pd.Series(pd.date_range("2006-07-02 08:15", periods=n, freq="31h").to_numpy())
    frame = pd.DataFrame(
        {
            "iso": days.dt.strftime("%Y-%m-%d %H:%M"),
            "german": days.dt.strftime("%d.%m.%Y"),
            "named": days.dt.strftime("%A %d %B %Y %H:%M:%S"),
            "date": days.dt.strftime("%Y%m%d").astype(int),
            "typed": days.dt.tz_localize("Europe/Berlin"),
            "soil": ["sand", "clay", "peat", None] * (n // 4),
            "answer": ["yes", "no"] * (n // 2),
            "x": np.linspace(0.0, 1.0, n) ** 2,
        }
    )
    frame.loc[3, "german"] = None
    return frame


def test_known_forms_are_not_learned_again(monkeypatch):
    frame, names = every_way(), ["iso", "german", "named", "typed"]
    first = Preparation(standardize=True).fit(frame[names])
    assert {form.kind for form in first.forms_.values()} == {"date"}

    def refuse(*_):
        raise AssertionError("a date was tried as a number, or its format was guessed")

    monkeypatch.setattr(kinds, "numbers", refuse)
    monkeypatch.setattr(kinds, "date_format", refuse)
    again = Preparation(standardize=True, kinds=first.forms_).fit(frame[names])
    np.testing.assert_array_equal(again.transform(frame[names]), first.transform(frame[names]))


def test_every_date_is_read_once_in_a_fit(monkeypatch):
    frame, words, parsed = every_way(), [], dates._parsed
    monkeypatch.setattr(dates, "_parsed", lambda values, style: words.extend(values) or parsed(values, style))
    forms = Preparation().fit(frame[["named"]]).forms_
    words.clear()
    Preparation(standardize=True, clip=True, kinds=forms).fit_transform(frame[["named"]])
    assert sorted(words) == sorted(frame["named"])


def test_a_table_with_dates_as_dates_is_prepared_alike():
    frame = every_way()
    first = Preparation(standardize=True, clip=True).fit(frame)
    converted = first.with_dates(frame)
    assert [converted[name].dtype.kind for name in frame.columns[:5]] == ["M"] * 5
    again = Preparation(standardize=True, clip=True, kinds=first.forms_)
    np.testing.assert_array_equal(again.fit_transform(converted), first.transform(frame))
    assert again.forms_ == first.forms_ and again.columns_ == first.columns_
    np.testing.assert_array_equal(again.transform(frame), first.transform(frame))


def test_preparing_stops_at_a_deadline():
    with until(monotonic() - 1.0), pytest.raises(TimeUp):
        Preparation().fit(every_way())
