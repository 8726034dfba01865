"""A table in the order of time: folds that forecast, a process in time, and dates far from the training rows."""

import numpy as np
import pandas as pd
import pytest
from scipy.interpolate import make_smoothing_spline

from credo.gp import GPRegressor
from credo.study import dataset
from credo.study.catalogue import MODELS, Size, Times


@pytest.fixture(scope="module")
def monthly():
    """Eight years of monthly sales with a trend and a season, in a shuffled order of rows."""
    rng = np.random.default_rng(0)
    month = np.arange(96)
    sales = 100 + 0.8 * month + 15 * np.sin(2 * np.pi * month / 12) + rng.normal(0, 3, size=96)
    return pd.DataFrame({"date": pd.date_range("2015-01-01", periods=96, freq="MS"), "sales": sales})


@pytest.fixture(scope="module")
def study(analyze, monthly):
    return analyze(monthly, "sales", models=["linear", "gp-time"], time=None)


def test_held_out_rows_are_later_than_their_training_rows(monthly):
    shuffled = monthly.sample(frac=1.0, random_state=1)
    data = dataset(shuffled, "sales")
    dates = data.frame["date"].to_numpy()
    splits, _ = data.splits(5, 0)
    assert len(splits) == 5
    for train, test in splits:
        assert dates[train].max() < dates[test].min()
    # The first half is never held out; every other row is once.
    tested = np.concatenate([test for _, test in splits])
    assert len(set(tested.tolist())) == len(tested) == 48
    assert len(splits[0][0]) == 48
    assert any("date" in note.text and "--shuffle" in note.text for note in data.notes)


def test_years_and_quarters_give_forecasts():
    frame = pd.DataFrame({"year": 1960 + np.arange(80) // 4, "quarter": 1 + np.arange(80) % 4, "gdp": np.arange(80.0)})
    data = dataset(frame.sample(frac=1.0, random_state=1), "gdp")
    for train, test in data.splits(5, 0)[0]:
        assert data.y[train].max() < data.y[test].min()
    unit = data.preparation.scale_[0]
    assert data.size.times == Times(0, pytest.approx(19.0 / unit), pytest.approx(1.0 / unit))
    assert any("'year', 'quarter' (one row a quarter)" in note.text for note in data.notes)


def test_rows_are_held_out_at_random_on_request(monthly):
    data = dataset(monthly, "sales", time_order=False)
    assert data.time is None
    splits, _ = data.splits(5, 0)
    assert any(train.max() > test.min() for train, test in splits)
    assert sum(len(test) for _, test in splits) == 96


def test_the_first_half_is_not_among_the_held_out_rows(study, monthly):
    held = study.held_out()
    assert len(held) == 48
    assert held["row"].min() == 49
    assert held["actual"].tolist() == monthly["sales"].iloc[48:].tolist()


def test_forecasts_start_after_two_cycles():
    """Three years of days: the first forecast knows two of them. Of two years, it knows three quarters."""
    date = pd.date_range("2012-01-01", periods=1095, freq="D")
    frame = pd.DataFrame({"date": date, "temperature": np.arange(1095.0) % 365})
    starts = [len(dataset(frame[:n], "temperature").splits(5, 0)[0][0][0]) for n in (1095, 740, 500)]
    # 500 days have no two years: their longest cycle is a week.
    assert starts == [731, 555, 250]


def test_the_process_in_time_forecasts_the_season(study):
    board = {score.name: score.held_out for score in study.comparison.scores}
    # The season has a standard deviation of 15/√2 ≈ 10.6, the noise of 3. Linear models know the day of the year.
    assert board["gp-time"]["rmse"] < 4.5 and board["linear"]["rmse"] < 4.5


def test_intervals_widen_with_the_horizon(study):
    ahead = pd.DataFrame({"date": pd.date_range("2023-01-01", periods=120, freq="MS")})
    std = study.predict(ahead, name="gp-time")["std"].to_numpy()
    assert std[-1] > 1.5 * std[0]
    assert std[60:72].mean() > std[:12].mean()


def test_far_dates_are_flagged(study):
    rows = pd.DataFrame({"date": pd.to_datetime(["2018-06-01", "2023-02-01", "3000-01-01"])})
    outside = study.predict(rows)["outside"].tolist()
    assert outside[0] == ""
    assert "date" in outside[2]


def test_several_rows_a_date_are_no_series():
    rng = np.random.default_rng(2)
    days = np.repeat(pd.date_range("2020-01-01", periods=30), 4)
    frame = pd.DataFrame({"day": days, "x": rng.normal(size=120), "y": rng.normal(size=120)})
    data = dataset(frame, "y")
    assert data.time is None
    assert any("several rows" in note.text for note in data.notes)


def test_a_panel_of_a_few_years_is_noted():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"nr": np.repeat(np.arange(40), 8), "year": np.tile(np.arange(1980, 1988), 40)})
    data = dataset(frame.assign(wage=rng.normal(size=320)), "wage")
    assert data.time is None
    assert any("'year' has several rows" in note.text for note in data.notes)


def test_a_walk_is_not_forecast_better_than_by_its_last_value(analyze, tmp_path):
    rng = np.random.default_rng(0)
    days = pd.date_range("2020-01-01", periods=240, freq="D")
    walk = pd.DataFrame({"day": days, "price": 100 + rng.normal(size=240).cumsum()})
    study = analyze(walk, "price", models=["naive", "linear", "nadaraya-watson"])
    board = {score.name: score.held_out for score in study.comparison.scores}
    assert study.selected == "naive"
    assert board["naive"]["rmse"] < board["baseline"]["rmse"]
    forced = analyze(walk, "price", models=["naive", "linear"], select="linear")
    assert "It doesn't beat the last value" in " ".join(forced.facts.performance)
    forced.report(tmp_path / "report.html")
    assert "beat the last value" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def weather():
    """Days of two classes, and of a third that first appears halfway."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    y = np.where(x + 0.5 * rng.normal(size=120) > 0, "dry", "wet")
    y[60::7] = "fog"
    return pd.DataFrame({"date": pd.date_range("2020-01-01", periods=120), "x": x, "y": y})


def test_rows_of_a_class_that_appears_late_are_not_scored_before(analyze, weather):
    found = analyze(weather, "y", models=["discriminant", "logistic", "average"], time=None, folds=5)
    assert found.selected != "baseline"
    assert all(score.error is None and np.isfinite(score.held_out["log_loss"]) for score in found.comparison.scores)
    held = found.held_out()
    # Forecasts start halfway. Rows 61 and 68 are the first foggy ones, and their block of 12 is predicted without any.
    assert held["row"][held["actual"] == "fog"].min() == 75
    assert sum("2 held-out rows are not scored (classes: 'fog')" in note.text for note in found.notes) == 1


def test_a_class_of_the_last_block_only_can_not_be_scored(weather):
    late = dataset(weather.assign(y=np.where(np.arange(120) < 110, "dry", "wet")), "y")
    with pytest.raises(ValueError, match=r"no fold has held-out rows of a class .* --shuffle"):
        late.splits(5, 0)


def test_a_model_that_can_not_be_scored_does_not_end_the_run(analyze, weather, monkeypatch):
    def fails(*_):
        raise ZeroDivisionError("no weights")

    monkeypatch.setattr("credo.study.engine.average", fails)
    found = analyze(weather, "y", models=["discriminant", "logistic", "average"], time=None)
    assert found.comparison["average"].error == "ZeroDivisionError: no weights"
    monkeypatch.setattr("credo.study.engine.Trial.held_out", fails)
    with pytest.raises(ValueError, match=r"no model was finished\. .*no weights"):
        analyze(weather, "y", models=["logistic"], time=None)


def test_the_report_of_rows_in_time_order_draws_all_rows_and_no_noise(study, monthly, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr("credo.plots.band", lambda *_, data, **__: drawn.append(data))
    study.report(tmp_path / "report.html")
    # The fitted curve, held-out forecasts, and the forecast ahead.
    ((_, values), _, (_, last)) = drawn
    np.testing.assert_array_equal(last, monthly["sales"][-len(last) :])
    np.testing.assert_array_equal(np.sort(values), np.sort(monthly["sales"]))
    # The forecasts have errors that the noise around the fitted curve doesn't contain.
    assert "residual noise" not in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_trend_in_time_is_a_cubic_smoothing_spline():
    """Wahba 1978: an integrated random walk beside a flat linear mean; S(0) = 4 (√3/ℓ)³σ² is its rate."""
    rng = np.random.default_rng(3)
    x = np.arange(80.0)
    y = 0.01 * (x - 30) ** 2 + 3 * np.sin(x / 12) + rng.normal(size=80)
    times = Times(0, 79.0, 1.0)
    [spec] = [spec for spec in MODELS["regression"] if spec.name == "gp-time"]
    kernel = spec.make(Size(80, 1, times=times)).kernel.terms[0]
    length = 5 * times.span
    variance, noise = 3e5, 1.0
    # The kernel of the trend alone, with its length scale.
    assert kernel.gram([[0.0], [length]])[0, 1] == pytest.approx((1 + np.sqrt(3)) * np.exp(-np.sqrt(3)))
    # A given kernel is in units of the variance of y.
    kernel = variance / np.var(y) * kernel
    model = GPRegressor(kernel, noise=noise, mean="linear", hyperparameters="fixed").fit(x[:, None], y)
    rate = 4 * (np.sqrt(3) / length) ** 3 * variance
    spline = make_smoothing_spline(x, y, lam=noise / rate)
    ahead = np.array([20.0, 60.5, 79.0, 81.0, 85.0])
    beyond = spline(79.0) + spline.derivative()(79.0) * np.maximum(ahead - 79.0, 0.0)
    expected = np.where(ahead > 79.0, beyond, spline(np.minimum(ahead, 79.0)))
    np.testing.assert_allclose(model.predict(ahead[:, None]), expected, atol=0.03 * np.std(y))


def test_an_additive_model_continues_the_trend_and_the_season(analyze, monthly):
    """Held-out errors not far above the noise, whose standard deviation is 3."""
    study = analyze(monthly, "sales", models=["linear", "additive"], time=None)
    score = {name: study.comparison[name].held_out["rmse"] for name in ("linear", "additive")}
    assert max(score.values()) < 5.0
    kinds = [term.kind for term in study["additive"].describe().terms]
    assert kinds[:2] == ["smooth", "cycle"]
