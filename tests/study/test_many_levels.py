"""Categories with many levels in a study."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from credo.core.notices import collected
from credo.study import analyze


def shops(n, seed, *, effect=1.0, n_shops=100):
    """Sales of shops that differ; the shops are the same for every seed."""
    rng = np.random.default_rng(seed)
    shop, x = rng.integers(n_shops, size=n), rng.normal(size=n)
    effects = np.random.default_rng(7).normal(size=n_shops)
    effects *= effect / effects.std()
    return pd.DataFrame({
        "x": x, "shop": [f"s{k}" for k in shop], "sales": x + effects[shop] + rng.normal(size=n)
    })  # fmt: skip


def test_held_out_scores_are_those_of_new_rows():
    """The effects of held-out rows come from training rows: had they seen all, the RMSE would be 0.94 and not 1.06."""
    study = analyze(shops(800, 0), "sales", models=["linear", "bayes"], groups=False, time=None, progress=False)
    new = shops(4000, 1)
    for name in ("linear", "average"):
        error = np.sqrt(np.mean((study[name].predict_dist(new).mean - new["sales"]) ** 2))
        # The noise and a level's mean of 8 rows, shrunken: sqrt(1 + 1/9); a standard error of an RMSE is 2.5 %.
        assert error < 1.1 and 1.0 < study.comparison[name].held_out["rmse"] < 1.16


def test_levels_without_an_effect_predict_nothing():
    frame = shops(600, 2, effect=0.0).drop(columns="x").assign(other=np.random.default_rng(0).normal(size=600))
    frame["sales"] = np.random.default_rng(1).normal(size=600)
    study = analyze(frame, "sales", models=["linear"], groups=False, time=None, progress=False)
    gap = study.comparison.gap("linear", "baseline")
    assert gap.mean < 2 * gap.error


def test_intervals_of_new_shops_are_wider():
    study = analyze(shops(2000, 3, effect=2.0), "sales", models=["linear"], groups=False, time=None, progress=False)
    rng = np.random.default_rng(4)
    x = rng.normal(size=3000)
    new = pd.DataFrame({"x": x, "shop": [f"new{k}" for k in range(3000)]})
    y = x + 2.0 * rng.normal(size=3000) + rng.normal(size=3000)
    with collected():
        low, high = study.predict(new)[["lower", "upper"]].to_numpy().T
    assert 0.93 < np.mean((low <= y) & (y <= high)) < 0.98


def test_classes():
    frame = shops(1200, 5, effect=2.0)
    frame["sales"] = np.where(frame["sales"] > 0, "high", "low")
    new = shops(2000, 6, effect=2.0)
    study = analyze(frame, "sales", models=["logistic"], groups=False, time=None, progress=False)
    found = study["logistic"].predict(new) == np.where(new["sales"] > 0, "high", "low")
    # The best possible accuracy is 0.84; with lumped levels it is 0.72.
    assert found.mean() > 0.8
    assert study.comparison["logistic"].held_out["accuracy"] == pytest.approx(found.mean(), abs=0.04)
