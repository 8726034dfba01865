"""Curves of an additive model: the fewest pieces inside a band, and what the page says of them."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from tests.study.report.pages import study_of_model

from credo import AdditiveClassifier, AdditiveRegressor, LinearRegression, ModelAverage, TransformedTarget
from credo.study.report._curves import curve_sentence, terms
from credo.study.report._inputs import inputs
from credo.study.report._pieces import Piece, pieces, told
from credo.tables import Preparation, TableModel

X = np.linspace(0.0, 1.0, 41)


def ways(mean, width):
    return [piece.way for piece in pieces(X, mean, mean - width, mean + width)]


@pytest.mark.parametrize(
    ("mean", "expected"),
    [
        (X, [1]),
        (-(X**3), [-1]),
        (np.maximum(X - 0.5, 0), [0, 1]),
        (np.abs(X - 0.4), [-1, 1]),
        (np.sin(6 * X), [1, -1, 1]),
        (np.clip(10 * X - 4.5, 0, 1), [0, 1, 0]),
        (np.zeros(41), [0]),
    ],
)
def test_shapes_are_told_by_their_pieces(mean, expected):
    assert ways(mean, 0.02) == expected


def test_a_band_that_a_level_line_fits_into_has_one_level_piece():
    mean = np.sin(6 * X)
    assert pieces(X, mean, mean - 1.1, mean + 1.1) == [Piece(0, 40, 0)]
    # A slow rise is one piece, even though parts of it could each be level.
    assert ways(0.3 * X, 0.1) == [1]


def fits(lower, upper, way):
    """Whether a curve that never falls (1) or never rises (−1) fits between the ends, by linear programming."""
    n = len(lower)
    steps = way * (np.eye(n)[:-1] - np.eye(n)[1:])
    return linprog(np.zeros(n), steps, np.zeros(n - 1), bounds=list(zip(lower, upper, strict=True))).status == 0


def test_no_fewer_rises_and_falls_fit_into_the_band():
    """Over all partitions, by linear programming."""
    rng = np.random.default_rng(0)
    for _ in range(8):
        x, mean = np.sort(rng.uniform(size=9)), rng.normal(size=9)
        lower, upper = mean - rng.uniform(0.1, 0.6, 9), mean + rng.uniform(0.1, 0.6, 9)
        feasible = {
            (i, j, way): fits(lower[i : j + 1], upper[i : j + 1], way)
            for i, j in itertools.combinations(range(9), 2)
            for way in (1, -1)
        }
        least = next(
            k + 1
            for k in range(8)
            for cuts in itertools.combinations(range(1, 8), k)
            for first in (1, -1)
            if all(feasible[i, j, first * (-1) ** m] for m, (i, j) in enumerate(itertools.pairwise((0, *cuts, 8))))
        )
        found = pieces(x, mean, lower, upper)
        ways = [piece.way for piece in found if piece.way]
        assert len([way for way, _ in itertools.groupby(ways)]) <= least
        assert (found[0].start, found[-1].stop) == (0, 8)
        assert all(a.stop == b.start for a, b in itertools.pairwise(found))


def test_sentences_name_where_a_curve_turns():
    def say(mean, width):
        return told(pieces(X, mean, mean - width, mean + width), mean, lambda i: f"{X[i]:.1f}", lambda v: f"{v:.1f}")

    assert say(3.1 * np.maximum(X - 0.4, 0) / 0.6, 0.05) == "no clear change up to 0.4, then rises to 3.1 at 1.0"
    assert say(1 - np.abs(X - 0.5), 0.02) == "rises from 0.5 to 1.0 at 0.5, then falls to 0.5 at 1.0"
    assert say(np.sin(30 * X), 0.1).startswith("changes direction 9 times: lowest at 0.6 (-1.0), highest at 0.1 (1.0)")
    assert say(np.zeros(41), 0.1) == "no clear effect"


@pytest.fixture(scope="module")
def farm():
    rng = np.random.default_rng(3)
    n = 160
    frame = pd.DataFrame({
        "warmth": rng.uniform(5, 35, n), "soil": rng.choice(["sand", "clay", "peat"], n), "idle": rng.uniform(0, 1, n),
        "wet": rng.choice(["yes", "no"], n), "day": pd.date_range("2021-03-01", periods=n).strftime("%d.%m.%Y"),
    })  # fmt: skip
    y = 5 * np.sin(frame["warmth"] / 5) - 6 * (frame["soil"] == "peat") + 2 * (frame["wet"] == "yes") + 20
    return frame, (y + rng.normal(size=n)).to_numpy()


def fitted(estimator, frame, y):
    return TableModel(Preparation(standardize=True), estimator, "y").fit(frame, y)


def test_curves_of_the_selected_model_are_in_units_of_the_target(farm):
    frame, y = farm
    model = fitted(AdditiveRegressor(family="gaussian", pairs=0), frame, y)
    found = terms("additive", [], {"additive": model})
    assert found is not None and {"idle"} <= set(found.idle) and found.weight == 0.0
    curves = {curve.name: curve for curve in found.curves}
    warm = curves["warmth"]
    # All other terms at their average: 20 and what the others add on average.
    others = y.mean() - 5 * np.sin(frame["warmth"] / 5).mean()
    np.testing.assert_allclose(warm.mean, others + 5 * np.sin(warm.x / 5), atol=1.0)
    assert curves["soil"].ticks == ["clay", "peat", "sand"] and curves["soil"].is_flat is False
    assert curves["wet"].ticks == ["no", "yes"] and curves["wet"].is_flat is False
    assert np.diff(curves["wet"].mean) == pytest.approx(2.0, abs=0.5)
    assert "additive (fitted to all rows): the y along one input" in found.caption("additive", what="the y")


def test_a_transformed_target_and_a_probability_have_curves_of_their_own_units(farm):
    frame, y = farm
    log = fitted(TransformedTarget(AdditiveRegressor(family="gaussian", pairs=0), transformation="log"), frame, y)
    (warm, *_) = [c for c in terms("m", [], {"m": log}).curves if c.name == "warmth"]
    assert 10 < warm.mean.min() < warm.mean.max() < 30 and (warm.lower < warm.mean).all()
    two = fitted(AdditiveClassifier(pairs=0), frame, y > 19)
    (warm, *_) = [c for c in terms("m", [], {"m": two}).curves if c.name == "warmth"]
    assert warm.lower.min() >= 0 and warm.upper.max() <= 1 and np.ptp(warm.mean) > 0.5


def test_curves_of_a_member_or_a_tied_model_are_named_so(farm):
    frame, y = farm
    additive, line = fitted(AdditiveRegressor(family="gaussian"), frame, y), fitted(LinearRegression(), frame, y)
    pairs = [("additive", AdditiveRegressor(family="gaussian", pairs=0)), ("linear", LinearRegression())]
    mean = fitted(ModelAverage(pairs, weights="stacking"), frame, y)
    models = {"additive": additive, "linear": line, "average": mean}
    assert terms("linear", ["linear"], models) is None
    assert "statistically tied with linear" in terms("linear", ["linear", "additive"], models).caption(
        "linear", what="y"
    )
    found = terms("average", [], models)
    assert found.weight > 0.9 and "which has the largest weight" in found.caption("average", what="y")


def test_the_page_has_them_in_the_place_of_other_curves(farm):
    frame, y = farm
    model = fitted(AdditiveRegressor(family="gaussian", pairs=0), frame, y)
    found = inputs(study_of_model(model, frame, y), n_rows=len(y), spread=float(np.std(y)))
    assert not found.curves and not found.failures
    assert found.terms is not None and [curve.name for curve in found.terms.curves][:2] == ["warmth", "soil"]


@pytest.fixture(scope="module")
def of_pairs():
    """Counts of two sites, between which the effect of the dose differs."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {"dose": rng.uniform(-1, 1, 600), "site": rng.choice(["a", "b"], 600), "age": rng.uniform(size=600)}
    )
    rate = np.exp(2 * frame["age"] + 1.5 * frame["dose"] * np.where(frame["site"] == "a", 1, -1))
    preparation = Preparation(standardize=True)
    model = TableModel(preparation, AdditiveRegressor(family="poisson"), "k").fit(frame.assign(k=rng.poisson(rate)))
    return terms("counts", [], {"counts": model})


def test_an_input_that_is_needed_only_in_a_pair_is_not_called_needless(of_pairs):
    caption = of_pairs.caption("counts", what="the mean k")
    assert "What two inputs add together is not shown: dose × site" in caption
    assert "Needed only in pairs: " in caption and "Not needed beside the others" not in caption


def test_curves_of_inputs_in_pairs_say_on_what_they_depend(of_pairs):
    (curve,) = of_pairs.curves
    assert curve.name == "age" and curve_sentence(curve).startswith("Rises")
    assert "depends" not in curve_sentence(curve)
    assert curve_sentence(replace(curve, partners=("dose",))).endswith("; the effect depends on dose.")


def test_curves_with_a_link_are_of_the_mean(of_pairs):
    assert of_pairs.of_mean
