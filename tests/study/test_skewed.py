"""Skewed positive targets: models of a transformed target, on the scale of the target itself."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student_t

from credo.linear import BayesianLinearRegression
from credo.study import dataset, run
from credo.study.catalogue import chosen
from credo.tables import Preparation


@pytest.fixture(scope="module")
def prices():
    rng = np.random.default_rng(0)
    carat, clarity = rng.uniform(0.2, 2.0, size=150), rng.choice(["IF", "VS", "SI"], 150)
    log = 6 + 1.2 * carat + 0.5 * (clarity == "IF") + rng.normal(0, 0.5, size=150)
    return pd.DataFrame({"carat": carat, "clarity": clarity, "price": np.exp(log)})


@pytest.fixture(scope="module")
def study(analyze, prices):
    return analyze(prices, "price", models=["linear", "bayes", "linear-log", "bayes-log"])


def test_models_of_the_log_replace_those_of_the_target_by_default(prices):
    data = dataset(prices, "price")
    assert data.transformation == "log"
    names = [spec.name for spec in chosen(data.size, None, data.transformation)[0]]
    assert {"linear", "linear-log", "gp-log", "boosting"} <= set(names)
    assert not {"baseline-log", "boosting-log", "gp", "bayes"} & set(names)


def test_a_symmetric_target_is_left_as_it_is(houses):
    data = dataset(houses, "price")
    assert data.transformation == "identity"
    names = {spec.name for spec in chosen(data.size, None, data.transformation)[0]}
    assert not any(name.endswith(("-log", "-power")) for name in names)


def test_a_model_of_the_log_is_selected_and_its_intervals_are_positive(study, prices):
    assert study.selected in {"linear-log", "bayes-log"}
    assert (study.predict(prices)["lower"] > 0).all()
    assert (study.held_out()["lower"] > 0).all()
    # Models of the price itself know that it is never negative.
    assert (study.held_out("linear")["lower"] == 0).any() and not (study.held_out("linear")["lower"] < 0).any()
    # The mean of a lognormal, not the exponential of the mean of the log.
    assert study.predict(prices)["mean"].mean() == pytest.approx(prices["price"].mean(), rel=0.1)


def test_log_scores_have_the_jacobian(study, prices):
    X, price = prices.drop(columns="price"), prices["price"].to_numpy()
    log, scores = np.log(price), np.empty(len(price))
    rows = Preparation(standardize=True).fit_transform(X)
    for train, test in study.data.splits(3, 0)[0]:
        found = BayesianLinearRegression().fit(rows[train], log[train]).predict_dist(rows[test])
        # p(y) = p(z) dz/dy, where z = ln y up to the largest training price and is its tangent beyond.
        most = price[train].max()
        below = np.minimum(price[test], most)
        z = np.log(below) + (price[test] - below) / most
        parts = [student_t.pdf(z, part.df, part.loc, part.scale) for part in found.components]
        shares = np.reshape(found.weights, (-1, len(parts))).T
        scores[test] = np.log((shares * parts).sum(axis=0)) - np.log(below)
    board = {score.name: score.held_out["log_score"] for score in study.comparison.scores}
    assert board["bayes-log"] == pytest.approx(scores.mean(), rel=1e-6)
    assert board["bayes-log"] > board["bayes"] + 0.1


def test_the_transformation_is_explained(prices):
    found = run(dataset(prices, "price"), folds=2, time=2.0)
    assert any("skewed" in note.text and "-log" in note.text for note in found.notes)
    assert any(score.name.endswith("-log") for score in found.comparison.scores)


@pytest.mark.parametrize(
    ("values", "word"),
    [
        (lambda rng: rng.poisson(2.0, size=200), "whole numbers from 0: each has a predicted probability"),
        (lambda rng: rng.beta(1, 1, size=200), "numbers from 0 to 1: intervals contain no others; support='real'"),
        (lambda rng: 100 * rng.beta(1, 1, size=200), "numbers from 0 to 100"),
        (lambda rng: np.maximum(rng.normal(size=200), 0), "% of the rows have, has a probability"),
    ],
)
def test_bounded_targets_and_counts_get_a_note(values, word):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=200), "y": values(rng)})
    assert any(word in note.text for note in dataset(frame, "y", task="regression").notes)
