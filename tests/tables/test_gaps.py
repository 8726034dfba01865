"""How much wider or narrower predictions are for rows that lack the same values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from credo import LinearRegression
from credo.distributions import Normal, StudentT, Support
from credo.tables import Preparation, TableModel, load, save
from credo.tables.gaps import Gaps, scaled, scales_of_others

RNG = np.random.default_rng(0)
MISSING = RNG.random((3000, 2)) < 0.3
# Standard deviations of the normal scores without a gap, with one in each column, and with both.
TRUTH = np.array([[0.5, 0.9], [1.5, 1.8]])
SCALES = TRUTH[MISSING[:, 0].astype(int), MISSING[:, 1].astype(int)]


def test_scales_are_those_of_the_patterns():
    found = Gaps.of(MISSING, SCALES * RNG.normal(size=3000))
    for pattern, scale in zip(found.patterns, found.scale, strict=True):
        n = int((pattern == MISSING).all(axis=1).sum())
        # Four standard errors of a standard deviation.
        assert abs(scale / TRUTH[tuple(pattern.astype(int))] - 1) < 4 / np.sqrt(2 * n)


def test_patterns_that_are_alike_keep_the_scale_of_the_model():
    """40 patterns of 20 rows: their own standard deviations would be off by 16 %."""
    patterns = np.array([[k & 1, k & 2, k & 4, k & 8, k & 16, k & 32] for k in range(40)], dtype=bool)
    found = Gaps.of(np.repeat(patterns, 20, axis=0), np.random.default_rng(3).normal(size=800))
    assert abs(found.scale - 1).max() < 0.1


def test_the_scale_of_a_row_comes_from_the_others():
    """The outcome of a row doesn't change its own scale, but for that of all the other rows of its pattern."""
    scores = SCALES * RNG.normal(size=3000)
    before = scales_of_others(MISSING, scores)
    scores[0] *= 1.01
    after = scales_of_others(MISSING, scores)
    alike = (MISSING[0] == MISSING).all(axis=1)
    assert after[0] == pytest.approx(before[0], rel=1e-12)
    assert (after[1:][alike[1:]] != before[1:][alike[1:]]).all()
    np.testing.assert_array_equal(after[~alike], before[~alike])


def test_a_normal_distribution_stays_normal_and_others_keep_their_median():
    wide = scaled(Normal([1.0, 1.0], [1.0, 2.0]), np.array([1.0, 1.7]))
    np.testing.assert_allclose(wide.quantile(0.9), norm(1.0, [1.0, 3.4]).ppf(0.9), rtol=1e-7)
    np.testing.assert_allclose(wide.std, [1.0, 3.4], rtol=1e-3)
    heavy = StudentT([3.0, 5.0], 1.0, 2.0)
    np.testing.assert_allclose(scaled(heavy, np.array([2.0, 0.5])).quantile(0.5), heavy.quantile(0.5))


def table(n=400, seed=1):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    frame["y"] = np.exp(0.5 * frame["a"] + 0.1 * frame["b"])
    frame.loc[rng.random(n) < 0.3, "a"] = np.nan
    return frame


def test_a_model_has_them_in_its_predictions_and_in_its_file(tmp_path):
    frame = table()
    plain = TableModel(Preparation(), LinearRegression(), "y", Support(0.0, np.inf)).fit(frame)
    model = TableModel(Preparation(), LinearRegression(), "y", Support(0.0, np.inf)).fit(frame)
    model.gaps = Gaps(np.array([[False], [True]]), np.array([0.5, 2.0]))
    save(model, tmp_path / "m.credo")
    gone = frame["a"].isna().to_numpy()
    for one in (model, load(tmp_path / "m.credo")):
        before, after = plain.predict_dist(frame), one.predict_dist(frame)
        own, other = ((dist.quantile(0.975) - dist.quantile(0.5)) for dist in (after, before))
        inside = after.quantile(0.5) > 0
        np.testing.assert_allclose(own[gone & inside], 2.0 * other[gone & inside], rtol=0.02)
        np.testing.assert_allclose(own[~gone & inside], 0.5 * other[~gone & inside], rtol=0.02)
        assert (after.interval(0.95)[0] >= 0).all()
        np.testing.assert_allclose(one.predict(frame, return_std=True)[1], after.std)


def test_a_pattern_that_was_not_seen_has_the_scale_of_the_model():
    found = Gaps(np.array([[False, False], [True, False]]), np.array([0.5, 2.0]))
    std = found.given(Normal([0.0, 0.0], 1.0), np.array([[True, False], [True, True]])).std
    np.testing.assert_allclose(std, [2.0, 1.0], rtol=1e-3)
