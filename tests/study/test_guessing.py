"""A model that is no better than guessing is never selected, and one odd row doesn't spoil a good one."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="module")
def gems():
    """Prices of gems by their sizes; one width has a slip of the decimal point, 58.9 where others are 3 to 10."""
    rng = np.random.default_rng(0)
    width = rng.uniform(3, 10, size=1500)
    frame = pd.DataFrame({"width": width, "depth": 0.6 * width + rng.normal(0, 0.1, size=1500)})
    frame["value"] = 40 * width**2 + rng.normal(0, 60, size=1500)
    frame.loc[17, "width"] = 58.9
    return frame


def test_an_absurd_input_doesnt_explode(analyze, gems):
    study = analyze(gems, "value", models=["linear", "bayes", "polynomial"])
    rmse = {score.name: score.held_out["rmse"] for score in study.comparison.scores}
    assert study.selected != "baseline"
    assert rmse[study.selected] < rmse["baseline"]
    # The quadratic terms of 58.9 would be a hundred times those of the others.
    assert rmse["polynomial"] < 1.5 * rmse["baseline"]
    assert gems["value"].std() == pytest.approx(rmse["baseline"], rel=0.05)


def test_nothing_beats_guessing_on_noise(analyze):
    reasons = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(rng.normal(size=(120, 4)), columns=list("abcy"))
        study = analyze(frame, "y", models=["linear", "bayes", "polynomial"])
        reasons.append(study.reason)
        if study.selected == "baseline":
            assert "baseline" in study.reason
            assert study.predict(frame)["mean"].to_numpy() == pytest.approx(frame["y"].mean())
    # Of several models one is sometimes better by chance.
    assert sum(reason.startswith("Selected: baseline.") for reason in reasons) >= 4, reasons


def test_nothing_beats_guessing_of_noisy_classes(analyze):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(150, 3)), columns=list("abc")).assign(y=rng.choice(["u", "v", "w"], 150))
    study = analyze(frame, "y", models=["logistic", "discriminant"])
    assert study.selected == "baseline"
    assert "baseline" in study.reason


def test_the_selected_model_is_never_worse_than_the_baseline(analyze):
    # Of a heavy-tailed target, errors and log scores say different things.
    rng = np.random.default_rng(4)
    x = rng.normal(size=150)
    frame = pd.DataFrame({"x": x, "y": 0.3 * x + rng.standard_t(1.5, size=150)})
    study = analyze(frame, "y", models=["linear", "polynomial", "nadaraya-watson"])
    board = {score.name: score.held_out for score in study.comparison.scores}
    assert board[study.selected]["rmse"] <= board["baseline"]["rmse"]
    assert board[study.selected]["log_score"] >= board["baseline"]["log_score"]
