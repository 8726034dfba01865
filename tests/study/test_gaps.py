"""Intervals of rows with missing values."""

from __future__ import annotations

import numpy as np
import pandas as pd

from credo.study import analyze


def table(n, seed, *, share):
    """A target that depends on `a` far more than on its noise, and on `b` a little."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    frame["y"] = 3.0 * frame["a"] + frame["b"] + 0.5 * rng.normal(size=n)
    for name in ("a", "b"):
        frame.loc[rng.random(n) < share, name] = np.nan
    return frame


def test_intervals_hold_for_every_missing_pattern():
    study = analyze(table(3000, 0, share=0.3), "y", models=["linear", "bayes"], time=None, progress=False)
    new = table(8000, 1, share=0.3)
    for name in ("linear", "average"):
        low, high = study[name].predict_dist(new).interval(0.95)
        inside = ((low <= new["y"]) & (new["y"] <= high)).groupby([new["a"].isna(), new["b"].isna()]).mean()
        # Without scales, between 76 and 100 %. The scale of 270 rows has a standard error of 4 %, which is 1 % of
        # coverage, and so is that of the coverage of 720 rows; errors in a pattern aren't exactly normal.
        assert inside.between(0.92, 0.985).all(), (name, inside)
    # Without scales, a share of the baseline would stand for the rows that lack `a`.
    scores = {score.name: score.held_out["log_score"] for score in study.comparison.scores}
    assert scores["average"] > scores["linear"] - 0.005
    held, gone = study.comparison.held_out["linear"], study.data.frame["a"].isna().to_numpy()
    assert held.dist.std[gone].mean() > 2 * held.dist.std[~gone].mean()
    assert study["linear"].gaps is not None and study["baseline"].gaps is None


def test_gaps_that_do_not_matter_change_nothing():
    frame = table(600, 2, share=0.0)
    frame["c"] = np.where(
        np.random.default_rng(3).random(600) < 0.4, np.nan, frame["b"].sample(frac=1.0, random_state=0)
    )
    study = analyze(frame, "y", models="linear", time=None, progress=False)
    assert study["linear"].gaps is None


def test_a_continued_study_scales_once():
    frame = table(300, 4, share=0.4)
    first = analyze(frame, "y", models="linear", time=None, progress=False)
    second = analyze(frame, "y", models=["linear", "bayes"], time=None, progress=False, continue_from=first)
    np.testing.assert_array_equal(
        first.comparison.held_out["linear"].dist.std, second.comparison.held_out["linear"].dist.std
    )
