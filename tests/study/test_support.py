"""Targets with possible values: what is recognized, and that no prediction, score or file leaves them."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import credo
from credo.distributions import Support
from credo.metrics import rps
from credo.metrics.calibration import interval_probability
from credo.study import dataset
from credo.tables import target_support

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("values", "support"),
    [
        (RNG.poisson(1.5, size=2000), Support(low=0.0, step=1.0)),
        (RNG.integers(25, 347, size=400), Support(low=0.0, step=1.0)),
        (RNG.geometric(0.4, size=500), Support(low=1.0, step=1.0)),
        (RNG.choice([1, 2, 3, 4, 5], p=[0.2, 0.1, 0.2, 0.3, 0.2], size=300), Support(1.0, 5.0, 1.0)),
        (RNG.choice([1, 2, 3, 4, 5], p=[0.03, 0.2, 0.27, 0.3, 0.2], size=300), Support(1.0, 5.0, 1.0)),
        (RNG.integers(-3, 4, size=9), Support(step=1.0)),
        (RNG.beta(2, 1, size=300), Support(0.0, 1.0)),
        (100 * RNG.beta(1, 1, size=300), Support(0.0, 100.0)),
        (0.5 * RNG.beta(2, 2, size=300), Support(low=0.0)),
        (RNG.lognormal(size=300), Support(low=0.0)),
        (RNG.normal(size=300), Support()),
    ],
)
def test_supports_are_recognized(values, support):
    assert target_support(np.asarray(values, dtype=float)) == support


def test_tails_of_counts_are_no_ends():
    """In 1,000 samples of counts, the largest value is taken for a bound at most as often as it should be."""
    rng = np.random.default_rng(1)
    wrong = [np.isfinite(target_support(rng.poisson(3.0, size=200).astype(float)).high) for _ in range(1000)]
    assert np.mean(wrong) <= 0.01


@pytest.fixture(scope="module")
def visits():
    rng = np.random.default_rng(2)
    x, arm = rng.normal(size=300), rng.choice(["a", "b"], size=300)
    rate = np.exp(0.4 + 0.7 * x + 0.5 * (arm == "b"))
    return pd.DataFrame({"x": x, "arm": arm, "visits": rng.negative_binomial(2, 2 / (2 + rate))})


def test_counts_are_predicted_as_counts(analyze, visits, tmp_path):
    study = analyze(visits, "visits", models=["linear", "bayes-power", "forest"], time=None)
    assert study.data.support == Support(low=0.0, step=1.0)
    frame = study.predict(visits)
    for name in ("lower", "upper"):
        np.testing.assert_array_equal(frame[name], np.abs(np.round(frame[name])))
    assert (frame["mean"] > 0).all()
    for name, held in study.comparison.held_out.items():
        # Log probabilities, of which no prediction exceeds zero.
        assert (held.log_score <= 0).all(), name
        probs = np.exp(held.dist[:5].log_prob(np.arange(400.0)[:, None]))
        np.testing.assert_allclose(probs.sum(axis=0), 1.0, atol=1e-3, err_msg=name)
    board = {score.name: score.held_out["log_score"] for score in study.comparison.scores}
    truth = stats.nbinom(2, 2 / (2 + np.exp(0.4 + 0.7 * visits["x"] + 0.5 * (visits["arm"] == "b"))))
    assert board["baseline"] < board["average"] < truth.logpmf(visits["visits"]).mean() + 0.05
    study.save(tmp_path / "model.credo")
    pd.testing.assert_frame_equal(
        credo.load(tmp_path / "model.credo").predict_dist(visits[:9]).to_frame(),
        study.model.predict_dist(visits[:9]).to_frame(),
    )


def test_intervals_of_counts_contain_more_than_95_percent_as_they_should(analyze, visits):
    study = analyze(visits, "visits", models=["bayes-power"], time=None)
    dist = study.comparison.held_out["bayes-power"].dist
    expected = interval_probability(dist)
    assert 0.95 < expected < 1
    assert study.comparison["bayes-power"].held_out["coverage"] == pytest.approx(expected, abs=0.04)
    assert interval_probability(credo.Normal([0.0], [1.0])) == 0.95


def test_zeros_of_amounts_have_a_probability(analyze):
    rng = np.random.default_rng(3)
    x = rng.normal(size=200)
    spent = np.maximum(1.0 + x + rng.normal(size=200), 0.0)
    study = analyze(pd.DataFrame({"x": x, "spent": spent}), "spent", models=["linear"], time=None)
    held = study.comparison.held_out["linear"]
    zero = np.exp(held.dist.log_prob(0.0))
    assert zero[spent == 0].mean() > zero[spent > 0].mean() and (held.log_score[spent == 0] <= 0).all()
    assert (study.predict(pd.DataFrame({"x": [-9.0]}))[["mean", "lower", "upper"]].to_numpy() < 0.05).all()


def test_the_support_can_be_given(analyze, visits):
    assert dataset(visits, "visits", support="real").support.is_real_line
    study = analyze(visits, "visits", models=["linear"], support="real", time=None)
    assert (study.predict(visits)["lower"] < 0).any()
    assert dataset(visits, "visits", support=(0, 99)).support == Support(0.0, 99.0, 1.0)
    assert dataset(visits, "visits", support=Support(high=100.0)).support == Support(high=100.0)
    with pytest.raises(ValueError, match="the support has numbers up to 1, but the target is"):
        dataset(visits, "visits", support=Support(high=1.0))
    with pytest.raises(ValueError, match="support must be 'auto', 'real', a pair of ends"):
        dataset(visits, "visits", support="counts")


def test_ordered_classes_are_modelled_as_such(analyze):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(240, 2))
    place = np.digitize(1.5 * x[:, 0] - x[:, 1] + rng.logistic(size=240), [-1.5, 0.5, 2.0])
    words = np.array(["never", "rarely", "sometimes", "often"])
    table = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "answer": words[place]})
    study = analyze(table, "answer", models=["ordinal", "logistic", "discriminant"], time=None)
    assert study.data.size.order == ("never", "rarely", "sometimes", "often")
    board = {score.name: score.held_out["log_loss"] for score in study.comparison.scores}
    # One function of the columns instead of three.
    assert board["ordinal"] < min(board["baseline"] - 0.1, board["logistic"] + 0.01)
    # The ranked probability score beside the log loss, and classes in their order.
    scores = {score.name: score.held_out["rps"] for score in study.comparison.scores}
    assert study.comparison.measures[:2] == ("log_loss", "rps") and scores["ordinal"] < scores["baseline"]
    held = study.comparison.held_out["ordinal"]
    assert scores["ordinal"] == pytest.approx(rps(held.y, held.dist, order=study.data.size.order))
    assert study.facts.classes.forecast.classes.tolist() == ["never", "rarely", "sometimes", "often"]
    names = [f"p({word})" for word in study.data.size.order]
    assert [name for name in study.predict(table.head(2)) if name.startswith("p(")] == names
    assert [name for name in study.held_out() if name.startswith("p(")] == names
    nominal = table.assign(answer=np.array(["oak", "elm", "ash", "fir"])[place])
    assert dataset(nominal, "answer").size.order == ()
    of_words = analyze(nominal, "answer", models=["logistic"], time=None)
    assert "rps" not in of_words.comparison.measures
    with pytest.raises(ValueError, match="the classes are not on a scale"):
        analyze(nominal, "answer", models=["ordinal"], time=None)


def test_the_page_has_log_probabilities_of_whole_numbers(analyze, visits, tmp_path):
    analyze(visits, "visits", models=["linear"], time=None).report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "Log score: mean log probability" in page and "mean log density" not in page
