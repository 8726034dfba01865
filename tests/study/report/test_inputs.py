"""What a model says of its inputs: influences, relevances, curves, and the sentences made of them."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import partial_dependence
from sklearn.pipeline import make_pipeline
from tests.study.report.pages import study_of_model

from credo.core.wording import percent
from credo.features import Polynomial
from credo.gp import GPRegressor
from credo.kernel_machines import KernelRidge, NadarayaWatson
from credo.kernels import RBF
from credo.linear import BayesianLinearRegression, BayesianLogisticRegression, LinearRegression, Ridge
from credo.metrics import Influence
from credo.sparse import SpikeSlabRegressor
from credo.study.report._curves import Curve, curve_figures, curve_sentence, curves, line
from credo.study.report._inputs import (
    _judged,
    influence,
    influence_figure,
    influence_sentence,
    inputs,
    nonlinearity_sentence,
)
from credo.study.report._leaderboard import evidence
from credo.tables import Preparation, TableModel


def fitted(estimator, frame, y):
    return TableModel(Preparation(standardize=True), estimator, "y").fit(frame, y)


def examined(model, frame, y):
    return inputs(study_of_model(model, frame, y), n_rows=len(y), spread=float(np.std(y)))


@pytest.fixture(scope="module")
def farm():
    rng = np.random.default_rng(3)
    n = 120
    frame = pd.DataFrame(
        {
            "warmth": rng.uniform(5, 35, size=n),
            "soil": rng.choice(["sand", "clay", "peat"], size=n, p=[0.5, 0.3, 0.2]),
            "wind": rng.gamma(2.0, 3.0, size=n),
            "day": pd.date_range("2021-03-01", periods=n).strftime("%d.%m.%Y"),
        }
    )
    frame.loc[::15, "wind"] = np.nan
    y = 30 * np.exp(-(((frame["warmth"] - 22) / 7) ** 2)) - 6 * (frame["soil"] == "peat") + rng.normal(0, 1, size=n)
    return frame, y.to_numpy()


@pytest.fixture(scope="module")
def grown(farm):
    return fitted(GPRegressor(), *farm)


def test_the_influence_of_a_column_is_that_of_moving_it_in_the_table(farm, grown):
    frame, y = farm
    found = influence(grown, frame, spread=y.std())
    low, high = frame.copy(), frame.copy()
    half = 0.5 * frame["warmth"].std(ddof=0)
    low["warmth"] = (frame["warmth"] - half).clip(lower=frame["warmth"].min())
    high["warmth"] = (frame["warmth"] + half).clip(upper=frame["warmth"].max())
    change = np.sqrt(np.mean((grown.predict(high) - grown.predict(low)) ** 2))
    assert found.members == [["warmth"], ["soil"], ["wind"], ["day"]]
    assert found.values[0] == pytest.approx(change, rel=1e-6)
    assert found.measured == [True, False, True, True]
    assert found.order.tolist()[:2] == [0, 1]


def test_levels_and_numbers_of_a_linear_model_are_on_one_scale():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.uniform(size=4000), "b": rng.choice(["no", "yes"], size=4000)})
    y = 2 * frame["a"].to_numpy() + 0.5 * (frame["b"] == "yes").to_numpy()
    found = influence(fitted(Ridge(alpha=1e-8), frame, y), frame, spread=y.std())
    # |w| · sd of a fair coin is 0.25; rows exchange with rows at random, which 500 of them average to about 5 %.
    assert found.values[1] == pytest.approx(0.25, rel=0.15)
    # Moved by sd/2 = 1/√48 to either side, rows nearer to an end stop there: E(step²) = ⅓ − … is at most the full one.
    full = 2 / np.sqrt(12)
    assert 0.75 * full < found.values[0] < full


def test_columns_that_go_together_are_moved_together(pictures):
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=(2, 60))
    frame = pd.DataFrame({"x": x, "twin": x + 1e-4 * rng.normal(size=60), "z": z})
    y = x + z + rng.normal(size=60)
    model = fitted(LinearRegression(), frame, y)
    found = influence(model, frame, spread=y.std())
    assert found.members == [["x", "twin"], ["z"]]
    # Together they are worth what x alone would be: its coefficient of one times its spread, exchanged at random.
    assert found.values[0] == pytest.approx(x.std(), rel=0.35)
    text = influence_sentence(found, best="linear", target="y")
    assert text.endswith("x and twin vary together or determine each other: these rows can't separate their effects.")
    assert "x + 1 correlated" in text
    figure = influence_figure(found, best="linear", target="y")
    assert ">x + 1 correlated<" in figure.svg and "share one bar" in figure.reading
    # They have a curve of their own, along which both move.
    (curve,) = curves(model, frame, [0], [["x", "twin"]])
    assert (curve.name, curve.together, curve.title) == ("x", ("twin",), "x and twin")
    slope = np.polyfit(curve.x, curve.mean, 1)[0]
    # What neither coefficient is by itself, their sum is: that of x alone, but for noise of 1/√60.
    assert slope == pytest.approx(1.0, abs=0.5)
    assert np.abs(model.estimator_.coef_).max() > 5


def test_a_sum_of_others_goes_with_them_however_calm_the_model_is():
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=["wall", "roof", "height"])
    frame["surface"] = frame["wall"] + 2 * frame["roof"]
    y = frame["surface"].to_numpy() + frame["height"].to_numpy()
    found = influence(fitted(Ridge(alpha=10.0), frame, y), frame, spread=y.std())
    assert found.together == [["wall", "roof", "surface"]]
    # The surface has a variance of five, and height of one: the group, though no row tells its parts apart, leads.
    assert [found.members[i][0] for i in found.order] == ["wall", "height"]


def test_too_many_columns_are_not_tried_one_by_one():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(30, 101))).add_prefix("x")
    model = fitted(Ridge(), frame, frame["x0"].to_numpy())
    assert influence(model, frame, spread=1.0) is None


def test_bends_are_grouped_by_the_columns_of_the_table(farm, grown):
    found = examined(grown, *farm)
    each = dict(zip(grown.preparation_.get_feature_names_out(), grown.estimator_.relevance_, strict=True))
    levels = [value for name, value in each.items() if name.startswith("soil=")]
    assert len(levels) == 2
    assert list(found.nonlinearity) == ["warmth", "soil", "wind", "day"]
    assert found.nonlinearity["soil"] == pytest.approx(np.hypot(*levels))
    assert found.nonlinearity["wind"] == pytest.approx(np.hypot(each["wind"], each["wind is missing"]))
    assert found.noise == pytest.approx(np.sqrt(grown.estimator_.noise_variance_))
    # The noise of the data has a deviation of one.
    assert 0.7 < found.noise < 1.4


def test_a_shared_length_scale_ranks_nothing(farm):
    frame, y = farm
    assert examined(fitted(GPRegressor(RBF(), n_restarts=0), frame, y), frame, y).nonlinearity == {}
    assert examined(fitted(Ridge(), frame, y), frame, y).nonlinearity == {}


def test_a_curve_is_the_mean_over_rows_that_keep_their_other_values(farm, grown):
    frame, _ = farm
    rows = [3, 50, 7, 110]
    warmth, soil = curves(grown, frame, rows, [["warmth"], ["soil"]])
    known = partial_dependence(grown, frame.iloc[rows], ["warmth"], custom_values={"warmth": warmth.x[[0, 20]]})
    np.testing.assert_allclose(warmth.mean[[0, 20]], known["average"][0], rtol=1e-9)
    peat = frame.iloc[rows].assign(soil="peat")
    assert soil.mean[1] == pytest.approx(grown.predict(peat).mean()) and soil.n_rows == 4
    assert soil.lower[1] < grown.predict(peat).mean() < soil.upper[1]


def test_the_difference_of_means_over_rows_is_that_of_the_coefficients():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    model = LinearRegression().fit(X, X @ [1.0, 0.0] + rng.normal(size=50))
    # Over rows that differ in x1 as well, half of them one unit of x0 higher: the interval of the coefficient.
    rows = np.vstack([X[:9], X[:9] + np.array([1.0, 0.0])])
    np.testing.assert_allclose(model.describe().curve.difference(rows), np.array(model.confint(0.95))[1], rtol=1e-6)


def test_curves_follow_the_function_in_the_units_of_the_table(farm, grown):
    frame, _ = farm
    row = 60
    warmth, soil, day = curves(grown, frame, [row], [["warmth"], ["soil"], ["day"]])
    truth = 30 * np.exp(-(((warmth.x - 22) / 7) ** 2)) - 6 * (frame["soil"].iloc[row] == "peat")
    # A band of 95 % at each of 40 places that go together.
    assert np.mean((warmth.lower <= truth) & (truth <= warmth.upper)) > 0.8
    assert np.abs(warmth.mean - truth).max() < 3.0
    assert soil.ticks == ["clay", "peat", "sand"]
    assert soil.mean[1] == pytest.approx(soil.mean[2] - 6, abs=2.0)
    first = (np.datetime64("2021-03-01") - np.datetime64("1970-01-01")).astype(float)
    assert (day.label, day.dates, day.x[0] - first, day.x[-1] - first) == ("day", True, 0.0, 119.0)


def test_curves_leave_out_the_noise(farm, grown):
    frame, _ = farm
    _, lower, upper = grown.describe().curve.band(frame.iloc[:5])
    wide = np.subtract(*grown.predict_dist(frame.iloc[:5]).interval(0.95)[::-1])
    # 3.92 standard deviations of a noise of about one are missing.
    assert (upper - lower < wide - 1.0).all()


def test_a_pipeline_is_asked_through_its_steps(farm):
    frame, y = farm
    model = fitted(make_pipeline(Polynomial(degree=2), BayesianLinearRegression()), frame, y)
    np.testing.assert_allclose(model.describe().curve.band(frame)[0], model.predict(frame), rtol=1e-9)
    assert {curve.name for curve in curves(model, frame, [0], [[name] for name in frame.columns])} == set(frame.columns)


def test_a_table_of_one_column_has_a_line(farm):
    frame, y = farm
    model = fitted(KernelRidge(alpha="loo", fit_intercept=True), frame[["warmth"]], y)
    found = line(model, frame[["warmth"]], "warmth")
    np.testing.assert_allclose(found.data, frame["warmth"], rtol=1e-9)
    table = pd.DataFrame({"warmth": found.x})
    np.testing.assert_allclose(found.predictive.mean, model.predict(table), rtol=1e-9)
    assert (found.predictive.interval(0.95)[1] > found.upper).all()
    few = pd.DataFrame({"warmth": np.round(frame["warmth"] / 10)})
    assert line(fitted(Ridge(), few, y), few, "warmth") is None


def curve(mean, half, ticks=None, level=None):
    mean = np.asarray(mean, dtype=float)
    return Curve("x", "x", np.linspace(0, 10, len(mean)), mean, mean - half, mean + half, ticks, level)


up = np.linspace(0.0, 10.0, 41)
hill = 10 - (up - 5) ** 2 / 2.5


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        (curve(up, 1.0), "Rises from 0 to 10.0."),
        (curve(-up, 1.0), "Falls from 0 to −10.0."),
        (curve(up, 6.0), "No clear effect."),
        (curve(hill, 1.0), "Rises from 0 to 10.0 at 5, then falls to 0 at 10."),
        (curve(-hill, 1.0), "Falls from 0 to −10.0 at 5, then rises to 0 at 10."),
        (curve(np.cos(np.pi * up), 0.1), "Changes direction 9 times: lowest at 1 (−1.00), highest at 0 (1.00)."),
        # A dent that the band doesn't vouch for; what is next to nothing beside the curve's height is none.
        (curve(up - 3 * np.exp(-((up - 5) ** 2)) + 1e-9, 1.5), "Rises from 0 to 10.0."),
        (curve([1.0, 5.0, 3.0], 0.5, ["a", "b", "c"]), "Lowest at a (1.00), highest at b (5.00)."),
        # A band of which the height is unknown, and the difference between places isn't; and the other way round.
        (curve(up, 6.0, level=False), "Rises from 0 to 10.0."),
        (curve(-up, 6.0, level=False), "Falls from 0 to −10.0."),
        (curve(hill, 6.0, level=False), "Rises from 0 to 10.0 at 5, then falls to 0 at 10."),
        (curve([1.0, 5.0, 3.0], 4.0, ["a", "b", "c"], level=False), "Lowest at a (1.00), highest at b (5.00)."),
        (curve(up, 6.0, level=True), "No clear effect."),
    ],
)
def test_what_a_curve_does(fact, text):
    assert curve_sentence(fact) == text


@pytest.mark.parametrize(
    "estimator", [LinearRegression(), BayesianLinearRegression(), make_pipeline(Polynomial(degree=1), Ridge())]
)
def test_a_line_is_level_where_the_interval_of_its_coefficient_holds_zero(estimator):
    """The slope of each column sweeps through the border, while the height is so unsure that the bands hold levels."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(40, 12))).add_prefix("x")
    y = 100 + frame.to_numpy() @ np.linspace(-0.8, 0.8, 12) + rng.normal(0, 1.2, size=40)
    model = fitted(estimator, frame, y)
    found = curves(model, frame, [0], [[name] for name in frame.columns])
    inner = model.estimator_ if hasattr(model.estimator_, "confint") else model.estimator_[-1]
    lower, upper = np.asarray(inner.confint(0.95))[1:].T
    assert [one.is_flat for one in found] == ((lower <= 0) & (upper >= 0)).tolist()
    assert 0 < sum(one.is_flat for one in found) < 12
    assert any(not one.is_flat and one.lower.max() <= one.upper.min() for one in found)


def test_a_line_of_a_spike_is_level_unless_its_column_is_almost_surely_in():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(60, 6))).add_prefix("x")
    y = frame.to_numpy() @ np.array([0.0, 0.1, 0.3, 0.4, 0.8, 2.0]) + rng.normal(size=60)
    model = fitted(SpikeSlabRegressor(), frame, y)
    found = {one.name: one.is_flat for one in curves(model, frame, [0], [[name] for name in frame.columns])}
    share = dict(zip(frame.columns, model.estimator_.inclusion_probabilities_, strict=True))
    assert all(found[name] for name in share if share[name] < 0.94)
    assert not any(found[name] for name in share if share[name] > 0.999)
    assert 0 < sum(found.values()) < 6


def test_a_process_and_two_classes_are_compared_at_two_places_too(farm, grown):
    frame, y = farm
    row = [60]
    warmth, wind = curves(grown, frame, row, [["warmth"], ["wind"]])
    assert (warmth.is_flat, wind.is_flat) == (False, True)
    classes = fitted(BayesianLogisticRegression(), frame, np.where(y > np.median(y), "high", "low"))
    assert curves(classes, frame, row, [["wind"]])[0].is_flat is True
    assert curves(fitted(NadarayaWatson(), frame, y), frame, row, [["wind"]])[0].is_flat is None


def test_the_summary_judges_curves_of_models_that_do_not_compare_two_places(farm):
    """The band of a forest is mostly the uncertainty of its level: a horizontal line fits into every one."""
    frame, y = farm
    model = fitted(NadarayaWatson(), frame, y)
    found = examined(model, frame, y)
    assert found.effects is None and len(found.curves) == 4
    said = influence_sentence(found.influence, best="model", target="y")
    little = said.partition("Little influence:")[2]
    assert [one.name for one in found.curves if one.is_flat] == [name for name in frame.columns if name in little]
    wide = replace(curve([18.0, 40.0, 68.0], 80.0), name="warmth", label="warmth")
    assert curve_sentence(wide) == "No clear effect."
    fact = Influence([["warmth"], ["wind"]], np.array([19.0, 0.5]), [True, True])
    assert curve_sentence(_judged(wide, None, fact, model)) == "Rises from 18.0 to 68.0."
    assert curve_sentence(_judged(replace(wide, name="wind"), None, fact, model)) == "No clear effect."


def test_the_coefficients_of_a_classifier_judge_its_curves(farm):
    frame, y = farm
    frame = frame[["warmth", "soil"]]
    labels = np.where(y + 10 * (frame["soil"] == "clay") > 15, "good", "bad")
    model = fitted(BayesianLogisticRegression(prior_precision=1.0), frame, labels)
    found = inputs(study_of_model(model, frame, labels), n_rows=len(y), spread=np.inf)
    clear = dict.fromkeys(frame.columns, False)
    for name, is_clear in zip(model.preparation_.sources(), found.effects.is_clear, strict=True):
        clear[name] |= bool(is_clear)
    assert {one.name: not one.is_flat for one in found.curves} == clear


def test_a_line_without_a_band_that_hardly_rises_before_it_falls_is_not_said_to_rise():
    """As the probability of a class between two others does: 99.9 %, 100 %, and down to nothing."""
    bare = np.r_[0.999, np.ones(20), np.linspace(1.0, 0.0, 20)]
    fact = Curve("x", "x", np.arange(41.0), bare, bare, bare)
    assert curve_sentence(fact, write=percent) == "No clear change up to 21, then falls to 0 % at 40."
    up_and_down = Curve("x", "x", np.arange(41.0), hill, hill, hill)
    assert curve_sentence(up_and_down).startswith("Rises from 0 to 10.0")
    flat = np.full(41, 0.5)
    assert curve_sentence(Curve("x", "x", np.arange(41.0), flat, flat, flat)) == "No effect."


def test_what_is_as_good_as_flat_is_not_enlarged():
    tiny = 0.999 + 1e-5 * up
    fact = Curve("x", "x", up, tiny, tiny, tiny)
    (shown,) = curve_figures([fact], scale=(0.0, 1.0), max_zoom=25.0, write=percent)
    assert "zoomed" not in shown.answer
    (shown,) = curve_figures([fact], scale=(0.0, 1.0), write=percent)
    assert "zoomed" in shown.answer


def test_a_small_curve_says_that_it_is_enlarged():
    assert curve_sentence(curve(up, 1.0), zoom=12.3).endswith(" (y-axis zoomed 12×).")


def test_influences_in_words():
    def say(values, measured=None):
        values = np.asarray(values)
        names = ["froude", "beam", "length", "draught", "soil"][: len(values)]
        fact = Influence([[name] for name in names], values, measured or [True] * len(values))
        return influence_sentence(fact, best="gp", target="y")

    assert say([20.0, 0.5, 0.4]) == (
        "Most influential: froude. A change by one standard deviation, or to another value, moves the predicted y: "
        "froude by 20 and beam by 0.50 (root mean square over the rows). Little influence: beam and length."
    )
    assert say([20.0, 12.0, 6.0]).startswith("Most influential: froude and beam. A change")
    assert say([20.0, 6.0, 0.3, 0.2, 0.1]).endswith("Little influence: length, draught and soil.")
    assert say([0.0, 0.0]) == "No input changes the predictions of gp."


def test_bars_end_where_influences_do(pictures):
    fact = Influence([["froude"], ["beam"], ["soil"]], np.array([0.0, 2.0, 0.0]), [True] * 3)
    shown = influence_figure(fact, best="lasso", target="y")
    assert ">beam<" in shown.svg and ">froude<" not in shown.svg
    assert "Not shown: two inputs without influence." in shown.reading


def test_nonlinearity_in_words():
    assert nonlinearity_sentence({"a": 1.0, "b": 0.05}) == "Most nonlinear along a; nearly linear along b."


@pytest.mark.parametrize(
    ("logs", "top", "text"),
    [
        ({"gp": -10.0, "bayes": -33.0}, "gp",
         "The log evidence, which needs no held-out rows, also favors gp, by 23 over bayes."),
        ({"gp": -40.0, "bayes": -33.0}, "gp",
         "The log evidence, which needs no held-out rows, instead favors bayes, by 7.0 over gp."),
        ({"gp": -40.0, "bayes": -33.0}, "ridge",
         "Of two models with a log evidence, bayes has the largest, 7.0 above gp."),
    ],
)  # fmt: skip
def test_evidence_beside_the_held_out_score(logs, top, text):
    assert evidence(logs, top) == text


def test_every_small_picture_has_its_sentence_and_words_for_the_blind(farm, make_page):
    text = make_page(*farm, {"gp": GPRegressor(n_restarts=0)})
    small = re.findall(r'<figure id="figure-curve-.*?</figure>', text, flags=re.DOTALL)
    assert len(small) == 4
    for figure in small:
        assert re.search(r'<svg [^>]*role="img" aria-label="[^"]{20,}"', figure)
        assert len(re.search(r'<p class="said">(.+?)</p>', figure, flags=re.DOTALL)[1]) > 15
    assert text.index('id="figure-curve-0"') < text.index(">soil</h3>")
    # What moves the predictions comes first; how they bend is another matter.
    assert text.index('id="figure-influences"') < text.index('id="figure-nonlinearity"')
    assert "strongly curved along this input" in text
    assert "relevance" not in re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)
    assert "figure-coefficients" not in text
    assert "residual noise" in text
    assert "<dt>Gaussian process</dt>" in text


def test_models_without_length_scales_for_each_column_show_influences(farm, make_page):
    text = make_page(*farm, {"model": NadarayaWatson()})
    assert "Which inputs matter?" in text
    assert "figure-nonlinearity" not in text
    assert "<dt>Gaussian process</dt>" not in text


def test_the_page_says_how_many_inputs_have_a_curve(make_page):
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(rng.normal(size=(60, 8))).add_prefix("x")
    y = frame.sum(axis=1).to_numpy() + rng.normal(size=60)
    assert "Shown: six of the eight inputs." in make_page(frame, y, {"linear": LinearRegression()})
    assert "Shown: " not in make_page(frame[["x0", "x1"]], y, {"linear": LinearRegression()})


def test_a_table_of_one_column_shows_its_curve(farm, make_page):
    frame, y = farm
    text = make_page(frame[["warmth"]], y, {"gp": GPRegressor(n_restarts=0)})
    assert "What does the fitted curve look like?" in text
    assert "Effect of each input" not in text


def test_the_line_of_one_column_shows_every_cycle():
    """A season of quarters for 40 years: 25 points would show a slow wave."""
    year = 1960 + np.arange(160) / 4
    y = 10 * np.cos(2 * np.pi * year)
    frame = pd.DataFrame({"year": year})
    model = fitted(GPRegressor(RBF(0.02), random_state=0), frame, y)
    found = line(model, frame, "year")
    signs = np.sign(found.mean - found.mean.mean())
    assert len(found.x) == 160 and np.count_nonzero(np.diff(signs)) >= 70
