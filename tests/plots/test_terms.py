"""Panels of an additive model: what is drawn in them are its terms."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from credo import AdditiveClassifier, AdditiveRegressor, LinearRegression
from credo.additive import factor, linear, pair, random, smooth
from credo.plots import terms
from credo.plots.styling import MUTED
from credo.tables import Preparation, TableModel


@pytest.fixture(scope="module")
def trial():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "dose": rng.uniform(0, 1, 200), "age": rng.uniform(20, 60, 200), "idle": rng.uniform(0, 1, 200),
        "unit": rng.choice(list("abcdefghijklmno"), 200), "soil": rng.choice(["clay", "sand"], 200),
    })  # fmt: skip
    effect = frame["unit"].map(dict(zip("abcdefghijklmno", np.linspace(-1, 1, 15)[::-1], strict=True)))
    y = np.sin(6 * frame["dose"]) + 0.5 * effect + 0.002 * (frame["age"] - 40) * frame["dose"]
    return frame, y + 0.8 * (frame["soil"] == "sand") + 0.05 * rng.normal(size=200)


def drawn(model, **options):
    panels = terms(model, ax=Figure(figsize=(7, 7)).subplots(), **options)
    return {panel.get_title(loc="left").partition(": ")[2]: panel for panel in panels}


def test_terms_come_by_their_share_and_those_that_arent_needed_last_and_grey(trial):
    frame, y = trial
    model = AdditiveRegressor([smooth("dose"), smooth("idle"), linear("age"), factor("soil")], family="gaussian")
    panels = drawn(model.fit(frame, y), name="growth")
    assert list(panels)[:2] == ["dose", "soil"]
    assert list(panels).index("idle") >= 2
    needed = dict(zip(model.terms_.columns["term"], model.terms_.columns["needed"], strict=True))
    assert needed["smooth(idle)"] == "no"
    assert panels["idle"].get_title(loc="left") == "not needed: idle"
    assert panels["idle"].lines[-1].get_color() == MUTED != panels["dose"].lines[-1].get_color()
    assert panels["dose"].get_ylabel() == "effect on growth"
    assert panels["dose"].get_ylim() == panels["soil"].get_ylim()


def test_a_curve_is_drawn_with_its_interval_inside_its_band(trial):
    frame, y = trial
    model = AdditiveRegressor([smooth("dose")], family="gaussian").fit(frame, y)
    (panel,) = drawn(model, level=0.9).values()
    curve = model.curve("dose")
    np.testing.assert_array_equal(panel.lines[-1].get_ydata(), curve.mean)
    band, interval = (fill.get_paths()[0].get_extents() for fill in panel.collections[:2])
    assert (band.y0, band.y1) == pytest.approx((curve.band(0.9)[0].min(), curve.band(0.9)[1].max()))
    assert (interval.y0, interval.y1) == pytest.approx((curve.interval(0.9)[0].min(), curve.interval(0.9)[1].max()))
    ticks = panel.collections[2].get_segments()
    assert [tick[0, 0] for tick in ticks] == pytest.approx(
        np.quantile(frame["dose"], np.linspace(0, 1, 21), method="inverted_cdf")
    )


def test_random_effects_are_sorted_and_levels_keep_their_order(trial):
    frame, y = trial
    model = AdditiveRegressor([smooth("dose"), random("unit"), factor("soil")], family="gaussian").fit(frame, y)
    panels = drawn(model)
    dots = panels["unit (random)"].lines[-1].get_ydata()
    assert (np.diff(dots) >= 0).all() and len(dots) == 15
    assert panels["unit (random)"].get_xlabel() == "15 levels"
    assert [text.get_text() for text in panels["soil"].get_xticklabels()] == ["clay", "sand"]


def test_pairs_are_surfaces_and_curves_by_level_share_a_panel(trial):
    frame, y = trial
    given = [smooth("dose", by="soil"), pair("dose", "age"), random("unit", by="age"), pair("soil", "unit")]
    panels = drawn(AdditiveRegressor(given, family="gaussian").fit(frame, y))
    assert {"dose by soil", "dose × age", "unit (slope of age)", "soil × unit"} == set(panels)
    assert len(panels["dose by soil"].lines) == 1 + 2
    assert [text.get_text() for text in panels["dose by soil"].texts] == ["clay", "sand"]
    assert len(panels["unit (slope of age)"].lines) == 1 + 15
    assert (panels["dose × age"].get_xlabel(), panels["dose × age"].get_ylabel()) == ("dose", "age")


def test_classes_share_a_panel_with_a_line_each(trial):
    frame, y = trial
    labels = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    model = AdditiveClassifier([smooth("dose"), factor("soil")]).fit(frame, np.array(["lo", "mid", "hi"])[labels])
    panels = drawn(model)
    assert [text.get_text() for text in panels["dose"].texts] == ["hi", "lo", "mid"]
    assert panels["dose"].get_ylabel() == "effect on log odds of each class"


def test_a_model_of_a_table_is_drawn_in_its_units_and_others_are_refused(trial):
    frame, y = trial
    model = TableModel(Preparation(standardize=True), AdditiveRegressor(family="gaussian")).fit(frame, y)
    panels = drawn(model, max_terms=3)
    low, high = panels["dose"].get_xlim()
    assert (low, high) == pytest.approx((frame["dose"].min(), frame["dose"].max())) and len(panels) == 3
    with pytest.raises(TypeError, match="a LinearRegression has no terms"):
        terms(LinearRegression().fit(frame[["dose"]], y))
