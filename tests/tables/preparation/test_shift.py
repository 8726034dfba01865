"""Whether new rows, as a whole, are like the training rows."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import credo
from credo.linear import LinearRegression
from credo.tables import Preparation, TableModel
from credo.tables.groups import Groups
from credo.tables.shift import MAX_ROWS, chance
from credo.trees import DecisionTreeRegressor


def test_the_hypergeometric_distribution_is_scipy_s():
    rng = np.random.default_rng(0)
    for n_new, n_trained in ((1, 5), (30, 12), (200, 2000)):
        new, trained = rng.integers(0, n_new + 1, 20), rng.integers(0, n_trained + 1, 20)
        law = stats.hypergeom(n_new + n_trained, new + trained, n_new)
        expected = np.minimum(1.0, 2 * np.minimum(law.cdf(new), law.sf(new - 1)))
        np.testing.assert_allclose(chance(new, n_new, trained, n_trained), expected, rtol=1e-9, atol=1e-300)


def awkward(rng, n):
    """Twenty columns: normal, heavy-tailed, skewed, rare and correlated ones, counts, levels and gaps."""
    X = rng.normal(size=(n, 20)) + rng.normal(size=(n, 1))
    X[:, :4] = np.exp(1.5 * X[:, :4])
    X[:, 4:7] = rng.standard_t(1.5, size=(n, 3))
    X[:, 7:10] = rng.random((n, 3)) < [0.5, 0.1, 0.01]
    X[:, 10:12] = rng.poisson(0.3, (n, 2))
    frame = pd.DataFrame(X).add_prefix("x")
    frame["x12"] = rng.choice(list("abcde"), n, p=[0.5, 0.3, 0.15, 0.04, 0.01])
    frame.loc[rng.random(n) < 0.05, "x13"] = np.nan
    return frame


def test_power_and_false_alarms():
    """A shift of one standard deviation in one of 20 columns, from 200 rows."""
    rng, n_tables = np.random.default_rng(1), 250
    alarms = found = 0
    for _ in range(n_tables):
        seen, new = Preparation().fit(awkward(rng, 400)), awkward(rng, 200)
        alarms += bool(seen.shift(new).differences)
        shifted = seen.shift(new.assign(x19=new["x19"] + np.sqrt(2))).differences
        found += bool(shifted) and shifted[0].column == "x19"
    assert found >= 0.95 * n_tables
    # The 99 % quantile of the number of false alarms if each has a probability of 1 %.
    assert alarms <= stats.binom.ppf(0.99, n_tables, 0.01)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dose": lambda f: f["dose"] * 2.0}, "dose above"),
        ({"dose": lambda f: f["dose"].where(f.index % 4 > 0)}, "dose missing: 25 %, training 0 %"),
        ({"soil": lambda f: f["soil"].replace("clay", "peat")}, "soil = peat: 100 %, training "),
        ({"soil": lambda f: f["soil"].replace("clay", "rock")}, "soil new or missing"),
        ({"note": lambda f: f["note"] + " refund"}, "note with 'refund': 100 %"),
        ({"day": lambda f: f["day"] + pd.Timedelta("900D")}, "day above 20"),
    ],
)
def test_each_kind_of_column_is_named(change, words):
    rng, n = np.random.default_rng(2), 400

    def frame(n):
        said = [
            "fast service and good food",
            "slow kitchen but good food",
            "a refund was promised by phone",
            "ok for once",
        ]
        return pd.DataFrame(
            {
                "dose": rng.normal(size=n),
                "soil": rng.choice(["clay", "peat"], n),
                "note": [f"{rng.choice(said)} {rng.choice(said)} {i}" for i in rng.integers(0, 99, n)],
                "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1000, n), "D"),
                "other": rng.normal(size=n),
            }
        )

    seen, new = Preparation(kinds={"note": "text"}).fit(frame(n)), frame(200)
    assert seen.shift(new).note() is None
    found = seen.shift(new.assign(**change))
    assert [one.column for one in found.differences] == [next(iter(change))]
    assert words in found.note() if "soil = " not in words else any(w in found.note() for w in (words, "soil = clay"))


def test_large_tables_are_sampled_and_empty_ones_are_like_any_other():
    rng = np.random.default_rng(3)
    seen = Preparation().fit({"x": rng.normal(size=10 * MAX_ROWS)})
    assert seen.counts_.rows == seen.shift({"x": rng.normal(size=10 * MAX_ROWS)}).n_rows == MAX_ROWS
    assert seen.shift(pd.DataFrame({"x": np.empty(0)})).note() is None


def test_rows_in_time_order_are_not_compared():
    days = pd.date_range("2024-01-01", periods=100).astype(str)
    assert Preparation().fit({"day": days, "x": np.arange(100.0) % 7}).shift({"day": days, "x": [1.0] * 100}) is None


def test_a_model_names_columns_it_uses_and_keeps_them_in_its_file(tmp_path):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300), "soil": rng.choice(["x", "y"], 300)})
    y = 3 * frame["a"].to_numpy() + rng.normal(size=300)
    model = TableModel(Preparation(standardize=True), DecisionTreeRegressor(max_depth=1)).fit(frame, y)
    credo.save(model, tmp_path / "model.credo")
    loaded, new = credo.load(tmp_path / "model.credo"), frame.assign(a=frame["a"] + 1, b=frame["b"] + 1)
    assert [one.column for one in loaded.shift(new).differences] == ["a"]
    assert loaded.shift(new).note() == model.shift(new).note()


def test_of_repeated_units_one_row_counts():
    """Ten rows of each unit are as one; with all of them nearly every table would differ."""
    rng, alarms = np.random.default_rng(5), 0
    for _ in range(100):
        unit, new_unit = np.repeat(np.arange(40), 10), np.repeat(np.arange(40, 80), 10)
        value = rng.normal(size=80)
        frame, new = (pd.DataFrame({"age": value[one], "unit": one}) for one in (unit, new_unit))
        groups = Groups.of("unit", unit.astype(str), rng.normal(size=400))
        model = TableModel(Preparation(), LinearRegression(), groups=groups).fit(frame[["age"]], value[unit] * 2)
        alarms += bool(model.shift(new).differences)
    assert alarms <= stats.binom.ppf(0.99, 100, 0.01)
