"""Which model is selected: laws of the rule, on predictions made by hand."""

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import ShuffleSplit, TimeSeriesSplit

from credo.distributions import Bernoulli, Log, Normal, StudentT, Transformed
from credo.linear import LinearRegression
from credo.selection import compare
from credo.selection.rule import BASELINE, Candidate, select


def candidate(name, y, dist):
    return Candidate(name, y, dist, {})


def normal(name, y, mean, std=1.0):
    return candidate(name, y, Normal(np.broadcast_to(mean, y.shape), np.broadcast_to(std, y.shape)))


@pytest.fixture
def truth():
    rng = np.random.default_rng(0)
    signal = 3.0 * rng.normal(size=200)
    return signal, signal + rng.normal(size=200)


def guess(y):
    return normal(BASELINE, y, y.mean(), y.std())


def test_nothing_that_is_worse_than_guessing_is_selected(truth):
    signal, y = truth
    found = select([guess(y), normal("wrong", y, -signal, 6.0), normal("wild", y, 10 * signal, 30.0)])
    assert found.name == BASELINE
    assert "always predicts the mean" in found.reason


def test_a_better_log_score_does_not_excuse_an_error_worse_than_guessing(truth):
    """As on a table where one row explodes under a square map: it hardly shows in a heavy-tailed log score."""
    signal, y = truth
    mean = signal.copy()
    mean[0] = 1e4
    exploded = candidate("square", y, StudentT(np.full(200, 1.5), mean, np.ones(200)))
    assert exploded.log_score.mean() > guess(y).log_score.mean()
    assert select([guess(y), exploded]).name == BASELINE
    assert select([guess(y), normal("line", y, 0.5 * signal, 2.0), exploded]).name == "line"


def test_a_lead_over_guessing_within_one_standard_error_is_none():
    rng = np.random.default_rng(1)
    y = rng.normal(size=60)
    # A tiny share of the target: better on every measure, by far less than the differences between rows.
    lucky = normal("lucky", y, 0.01 * y + 0.3 * (rng.random(60) - 0.5), y.std())
    found = select([guess(y), lucky])
    assert found.name == BASELINE


def test_of_tied_models_the_simplest_is_selected(truth):
    signal, y = truth
    rng = np.random.default_rng(2)
    other = signal + 0.05 * rng.normal(size=200)
    found = select([guess(y), normal("simple", y, other), normal("rich", y, signal)])
    assert found.tied[0] == found.name == "simple"
    assert found.reason == "Selected: simple. Two models are statistically tied (simple, rich); it is the simplest."


def test_of_tied_models_the_simplest_that_is_calibrated_is_selected(truth):
    signal, y = truth
    # Nearly the same log score: one with intervals that are too narrow, the other with larger errors.
    rough = signal + 0.45 * np.random.default_rng(1).normal(size=200)
    narrow, calibrated = normal("narrow", y, signal, 0.78), normal("calibrated", y, rough, np.hypot(1.0, 0.45))
    assert narrow.is_rejected and not calibrated.is_rejected
    found = select([guess(y), narrow, calibrated])
    assert list(found.tied) == ["narrow", "calibrated"]
    assert found.name == "calibrated"
    assert found.why.endswith("it is the simplest whose calibration is not rejected.")


def test_the_better_is_preferred_where_it_is_better_on_every_measure():
    """A few rows make the standard error large; probabilities that are better everywhere still win."""
    rng = np.random.default_rng(3)
    y = (rng.random(300) < 0.5).astype(int)
    good = np.where(y == 1, 0.98, 0.02)
    poor = np.where(y == 1, 0.94, 0.06)
    # Three rows that the poor model gets badly wrong carry most of the difference, and most of its error.
    poor[:3] = 1 - poor[:3]
    base = candidate(BASELINE, y, Bernoulli(np.full(300, y.mean())))
    found = select([base, candidate("poor", y, Bernoulli(poor)), candidate("good", y, Bernoulli(good))])
    assert found.name == "good"


def test_a_calibrated_model_is_preferred_to_an_overconfident_one(truth):
    signal, y = truth
    rng = np.random.default_rng(4)
    sure = normal("sure", y, signal, 0.76)
    # A little more error, and honest about it.
    honest = normal("honest", y, signal + 0.8 * rng.normal(size=200), 1.28)
    assert sure.is_rejected and not honest.is_rejected
    assert honest.log_score.mean() < sure.log_score.mean() < honest.log_score.mean() + 0.25
    for order in ([sure, honest], [honest, sure]):
        assert select([guess(y), *order]).name == "honest"


def test_where_errors_contradict_the_log_score_the_crps_decides(truth):
    signal, y = truth
    far = np.where(np.arange(200) % 18 == 0, 12.0, 0.0)
    heavy = candidate("heavy", y, StudentT(np.full(200, 2.1), signal + far, np.full(200, 0.6)))
    plain = normal("plain", y, signal + 1.7 * np.random.default_rng(5).normal(size=200), 2.0)
    assert heavy.is_contradicted_by(plain)
    found = select([guess(y), plain, heavy])
    assert found.notes and "RMSE" in found.notes[0]
    assert found.name == min((plain, heavy), key=lambda c: c.losses[2]).name


def test_calibration_is_judged_as_its_tests_say(truth):
    signal, y = truth
    right = [normal("right", signal + e, signal).is_rejected for e in np.random.default_rng(6).normal(size=(200, 200))]
    assert np.mean(right) < 0.03
    assert normal("narrow", y, signal, 0.6).is_rejected
    assert normal("wide", y, signal, 2.0).is_rejected


def test_splitters_of_scikit_learn_are_taken():
    rng = np.random.default_rng(7)
    X = np.arange(60.0)[:, None]
    y = X[:, 0] + rng.normal(size=60)
    comparison = compare({"line": LinearRegression()}, X, y, cv=TimeSeriesSplit(4))
    held = comparison.held_out["line"]
    splits = list(TimeSeriesSplit(4).split(X))
    np.testing.assert_array_equal(held.rows, np.concatenate([test for _, test in splits]))
    np.testing.assert_array_equal(held.y, y[held.rows])
    for train, test in splits:
        expected = LinearRegression().fit(X[train], y[train]).predict(X[test])
        np.testing.assert_allclose(held.dist.mean[np.searchsorted(held.rows, test)], expected)
    assert comparison.n_folds == 4 and comparison.selected == "line"
    with pytest.raises(ValueError, match="each row at most once"):
        compare({"line": LinearRegression()}, X, y, cv=ShuffleSplit(5, random_state=0))


def test_an_estimator_with_return_std_takes_part():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(80, 2))
    y = X[:, 0] + rng.normal(size=80)
    held = compare({"ridge": BayesianRidge()}, X, y, cv=4, random_state=0).held_out["ridge"]
    _, std = BayesianRidge().fit(X[20:], y[20:]).predict(X[:20], return_std=True)
    assert stats.kstest(held.dist.cdf(y), "uniform").pvalue > 0.001
    assert held.dist.std.mean() == pytest.approx(std.mean(), rel=0.2)


def test_one_row_held_nearly_impossible_does_not_make_a_good_model_a_guess(truth):
    signal, y = truth
    # Half of the error of guessing, but one row costs as much log score as all others gain.
    mean = signal.copy()
    gain = normal("x", y, mean).log_score.sum() - guess(y).log_score.sum()
    mean[0] = y[0] + np.sqrt(2 * 0.95 * gain)
    good = normal("good", y, mean)
    assert 0 < good.log_score.mean() - guess(y).log_score.mean() < 0.1
    assert select([guess(y), good]).name == "good"


def test_the_reason_says_among_which_models_a_score_is_the_best(truth):
    """A model with a larger error than the baseline's isn't selected, although its log score is the best of all."""
    signal, y = truth
    mean = signal.copy()
    mean[0] = 1e4
    exploded = candidate("square", y, StudentT(np.full(200, 3.0), mean, np.ones(200)))
    models = [guess(y), normal("line", y, 0.5 * signal, 2.0), normal("flat", y, 0.3 * signal, 3.0)]
    assert "best held-out log score, by" in select(models).reason
    found = select([*models, exploded])
    assert found.name == "line"
    assert "best held-out log score of those whose RMSE is not clearly worse than the baseline's" in found.reason


def test_wide_intervals_do_not_exclude_a_model_that_predicts_much_better(truth):
    signal, y = truth
    rough = signal + np.random.default_rng(1).normal(size=200)
    noise = np.std(y - rough)
    good, worse = normal("good", y, signal, 1.4), normal("worse", y, rough, noise)
    assert good.is_rejected and not worse.is_rejected
    assert select([guess(y), worse, good]).name == "good"
    # Narrow intervals do, if the other isn't much worse.
    assert select([guess(y), worse, normal("narrow", y, signal, 0.7)]).name == "worse"


def test_an_underconfident_classifier_that_predicts_much_better_is_selected():
    rng = np.random.default_rng(0)
    signal = rng.normal(size=600)
    y = (rng.random(600) < 1 / (1 + np.exp(-6 * signal))).astype(int)
    base = candidate(BASELINE, y, Bernoulli(np.full(600, y.mean())))
    unsure = candidate("unsure", y, Bernoulli(1 / (1 + np.exp(-3 * signal))))
    weak = candidate("weak", y, Bernoulli(1 / (1 + np.exp(-2.5 * (signal + 0.5 * rng.normal(size=600))))))
    assert unsure.fault == "it is underconfident" and not weak.is_rejected
    assert 0.05 < unsure.log_score.mean() - weak.log_score.mean() < 0.25
    assert select([base, weak, unsure]).name == "unsure"


def test_intervals_are_called_too_wide_only_where_their_coverage_says_so():
    """98 of 99 rows are inside, which chance allows; but most are near the middle of their distributions."""
    y = np.concatenate([np.linspace(-0.9, 0.9, 98), [2.5]])
    found = normal("cautious", y, 0.0)
    assert found.fault == "its predictive distributions are not calibrated"
    assert normal("cautious", np.tile(y[:98], 10), 0.0).fault == "its 95 % intervals are too wide"


def test_a_clear_lead_in_log_score_outweighs_an_error_that_is_slightly_larger():
    """Skewed targets: a lognormal forecast has by far the better log score, and nearly the RMSE of the mean."""
    y = np.random.default_rng(9).lognormal(6.5, 1.2, size=75)
    base = guess(y)
    # Any constant other than the mean has the larger error.
    skewed = candidate("skewed", y, Transformed(Normal(np.full(75, 6.4), np.full(75, 1.2)), Log()))
    assert skewed.clearly_leads(base) and base.rmse < skewed.rmse < base.rmse / 0.9
    assert select([base, skewed]).name == "skewed"
    # Not where the error is clearly larger.
    wrong = normal("wrong", y, y.mean() + 0.4 * (y.mean() - y) + np.sign(y.mean() - y), y.std())
    assert not wrong.beats(base)
    assert "baseline by log score without a clearly larger RMSE" in select([base, wrong, skewed]).reason


def test_few_rows_whose_errors_differ_by_chance_are_tied():
    """The leader's RMSE is smaller because of one row."""
    rng = np.random.default_rng(3)
    y = 10 * rng.normal(size=14)
    error = rng.normal(size=14)
    error[0] = 7.0
    simple = normal("simple", y, y + error, 2.5)
    rich = normal("rich", y, y + np.where(np.arange(14) == 0, 1.0, 1.9 * error), 3.0)
    assert rich.rmse < 0.9 * simple.rmse
    assert 0.002 < rich.log_score.mean() - simple.log_score.mean() < 0.05
    assert select([guess(y), simple, rich]).name == "simple"


def test_a_crps_does_not_favour_narrow_intervals_over_a_clear_lead_in_log_score(truth):
    signal, y = truth
    far = np.where(np.arange(200) % 20 == 0, 4.5, 0.0)
    right = candidate("right", y, StudentT(np.full(200, 3.5), signal + far, np.full(200, 0.95)))
    narrow = normal("narrow", y, signal + 0.3 * np.random.default_rng(5).normal(size=200), 0.45)
    assert right.is_contradicted_by(narrow) and right.losses[2] > narrow.losses[2]
    assert right.clearly_leads(narrow) and narrow.is_overconfident and not right.is_overconfident
    assert select([guess(y), right, narrow]).name == "right"
