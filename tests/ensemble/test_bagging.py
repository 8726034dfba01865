"""Bagging: scikit-learn's as the oracle, closed forms of the bootstrap, weights as probabilities, and the diagnosis."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_friedman1
from sklearn.ensemble import BaggingRegressor as Oracle
from sklearn.linear_model import LinearRegression as PlainRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import credo
from credo.core.deadlines import TimeUp, until
from credo.core.estimator import FitWarning
from credo.ensemble import BaggingClassifier, BaggingRegressor
from credo.ensemble._held_out import Bag, Resampling
from credo.ensemble.bagging import OutOfBag
from credo.linear import BayesianLinearRegression, LinearRegression

TREE = DecisionTreeRegressor(min_samples_leaf=5)


def line(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, X @ [1.0, -0.5] + 0.5 * rng.normal(size=n)


def test_bagged_trees_are_as_good_as_scikit_learn_s_and_their_intervals_hold():
    X, y = make_friedman1(900, noise=1.0, random_state=0)
    model = BaggingRegressor(TREE, n_estimators=30, random_state=0).fit(X[:300], y[:300])
    theirs = Oracle(TREE, n_estimators=30, random_state=0, oob_score=True).fit(X[:300], y[:300])
    new, truth = X[300:], y[300:]
    ours = credo.rmse(truth, model.predict(new))
    assert ours == pytest.approx(credo.rmse(truth, theirs.predict(new)), rel=0.05)
    assert model.oob_score_ == pytest.approx(theirs.oob_score_, abs=0.04)
    dist = model.predict_dist(new)
    assert 0.93 < credo.coverage(truth, dist, level=0.95) < 0.995
    # Out-of-bag scores are for a third of the members, and for rows that none of these has seen.
    assert model.oob_log_score_ == pytest.approx(credo.log_score(truth, dist), abs=0.2)
    found = model.diagnosis(X[:300], y[:300])
    assert found.verdict.startswith("Averaging helped: mean squared error") and "single model" in found.verdict
    assert found.uncorrelated_error < found.committee_error < found.member_error
    np.testing.assert_allclose(np.sqrt(np.mean((model.oob_prediction_ - y[:300]) ** 2)) ** 2, found.committee_error)
    assert (model.predict_dist(new[:5], latent=True).std < dist[:5].std).all()


def test_the_mean_of_bagged_lines_is_the_line_and_averaging_it_gains_nothing():
    X, y = line()
    model = BaggingRegressor(LinearRegression(), n_estimators=80, random_state=0).fit(X, y)
    coefs = np.array([member.coef_ for member in model.estimators_])
    single = LinearRegression().fit(X, y)
    # A mean of 80 draws; the bootstrap's own bias is of order 1/n.
    error = coefs.std(axis=0) / np.sqrt(80)
    assert (np.abs(coefs.mean(axis=0) - single.coef_) < 4 * error + 0.01).all()
    # The spread of the draws is the standard error, by White's formula for unequal variances.
    centred = np.column_stack([np.ones(60), X])
    inverse = np.linalg.inv(centred.T @ centred)
    meat = centred.T @ (centred * (y - single.predict(X))[:, None] ** 2)
    np.testing.assert_allclose(coefs.std(axis=0), np.sqrt(np.diag(inverse @ meat @ inverse))[1:], rtol=0.35)
    within, between = model.variance_parts(X)
    np.testing.assert_allclose(within + between, model.predict_dist(X).var, rtol=1e-10)
    verdict = model.diagnosis(X, y).verdict
    assert verdict.startswith("No clear difference: mean squared error") and "single model" in verdict


def test_the_slopes_of_the_out_of_bag_score_are_its_differences():
    rng = np.random.default_rng(0)
    bags = [Bag(None, np.flatnonzero(rng.random(20) < 0.4), None) for _ in range(6)]
    for bag in bags:
        bag.predicted, bag.std = rng.normal(size=len(bag.rows)), rng.gamma(2.0, size=len(bag.rows))
    outside, at = OutOfBag.of(bags, rng.normal(size=20), None), np.array([0.2, -0.3, -1.0])
    for i, step in enumerate(1e-6 * np.eye(3)):
        up, down = (outside.log_score(*np.exp(at + sign * step))[0] for sign in (1, -1))
        np.testing.assert_allclose(outside.log_score(*np.exp(at))[1][:, i], (up - down) / 2e-6, atol=1e-7)


def test_calibrated_intervals_of_grown_trees_hold_what_they_say():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(1100, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.05 * rng.normal(size=1100)
    kinds = [BaggingRegressor(n_estimators=30, calibrate=c, random_state=0) for c in ("oob", None)]
    oob, raw = (model.fit(X[:300], y[:300]).predict_dist(X[300:]) for model in kinds)
    lower, upper = oob.interval(0.9)
    assert 0.86 < np.mean((lower < y[300:]) & (y[300:] < upper)) < 0.95
    assert oob.log_prob(y[300:]).mean() > raw.log_prob(y[300:]).mean() + 0.02
    np.testing.assert_allclose(oob.mean, raw.mean)
    np.testing.assert_allclose(sum(kinds[0].variance_parts(X[300:])), oob.var)


def test_averaged_probabilities_are_raised_to_the_power_of_the_least_log_loss_out_of_bag():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 6))
    y = (X.sum(axis=1) > 0).astype(int)
    base = credo.DecisionTreeClassifier(pruning=0.0, max_features=1)
    kinds = (BaggingClassifier(base, n_estimators=20, calibrate=c, random_state=0) for c in ("oob", None))
    oob, raw = (model.fit(X[:300], y[:300]) for model in kinds)
    beta = oob.calibration_.scaling.slope
    power = raw.predict_proba(X) ** beta
    np.testing.assert_allclose(oob.predict_proba(X), power / power.sum(axis=1, keepdims=True))
    known = np.isfinite(raw.oob_probabilities_[:, 0])
    table, labels = raw.oob_probabilities_[known], y[:300][known]

    def loss(b):
        return log_loss(labels, table**b / (table**b).sum(axis=1, keepdims=True))

    # Labels are smoothed as by one more row of each class.
    assert loss(beta) < min(loss(0.8 * beta), loss(1.4 * beta), loss(1.0)) and beta > 1
    assert log_loss(y[300:], oob.predict_proba(X[300:])) < log_loss(y[300:], raw.predict_proba(X[300:])) - 0.01


def test_out_of_bag_is_what_members_say_of_rows_that_they_did_not_see():
    X, y = line(30)
    model = BaggingRegressor(LinearRegression(), n_estimators=8, calibrate=None, random_state=3).fit(X, y)
    resampling = Resampling.of(len(y), None)
    counts = np.array([resampling.counts(rng) for rng in np.random.default_rng(3).spawn(8)])
    assert (counts.sum(axis=1) == 30).all() and (counts == 0).mean() == pytest.approx(np.exp(-1), abs=0.1)
    means = np.array([member.predict(X) for member in model.estimators_])
    refitted = LinearRegression().fit(np.repeat(X, counts[0], axis=0), np.repeat(y, counts[0]))
    np.testing.assert_allclose(means[0], refitted.predict(X), rtol=1e-9)
    hidden = np.where(counts == 0, means, np.nan)
    seen = (counts == 0).any(axis=0)
    np.testing.assert_allclose(model.oob_prediction_[seen], np.nanmean(hidden[:, seen], axis=0), rtol=1e-9)
    densities = np.array([member.predict_dist(X).log_prob(y) for member in model.estimators_])
    outside = np.where(counts == 0, densities, -np.inf)[:, seen]
    mixed = np.logaddexp.reduce(outside, axis=0) - np.log((counts == 0).sum(axis=0)[seen])
    assert model.oob_log_score_ == pytest.approx(np.mean(mixed))
    assert model.predict_dist(X).components[0].mean[0] == means[0, 0]
    calibrated = BaggingRegressor(LinearRegression(), n_estimators=8, random_state=3).fit(X, y)
    (within, between), noise = calibrated.spread_factors_, calibrated.noise_std_
    stds = np.array([member.predict_dist(X).std for member in model.estimators_])
    center = np.nanmean(hidden[:, seen], axis=0)
    normals = norm(center + between * (hidden[:, seen] - center), np.hypot(within * stds[:, seen], noise))
    score = np.log(np.nanmean(normals.pdf(y[seen]), axis=0)).mean()
    assert calibrated.oob_log_score_ == pytest.approx(score) and score > model.oob_log_score_
    assert np.isnan(model.oob_prediction_[~seen]).all()


def test_rows_are_drawn_in_proportion_to_their_weights():
    weight = np.array([1.0, 2.0, 0.5, 4.5])
    counts = Resampling.of(4, weight).counts(np.random.default_rng(0))
    assert counts.sum() == 8
    many = Resampling.of(4, 1e5 * weight).counts(np.random.default_rng(0))
    np.testing.assert_allclose(many / many.sum(), weight / 8, rtol=0.02)
    X, y = line(40)
    model = BaggingRegressor(BayesianLinearRegression(), n_estimators=4, random_state=0)
    model.fit(X, y, sample_weight=np.resize([1, 2, 0, 3], 40))
    assert len(model.oob_prediction_) == 40 and np.isnan(model.oob_prediction_[2::4]).all()


@pytest.mark.parametrize("base", [BayesianLinearRegression(), make_pipeline(StandardScaler(), LinearRegression())])
def test_neither_jobs_nor_frames_matter(base):
    X, y = line(40)
    model = BaggingRegressor(base, n_estimators=4, random_state=0)
    first = model.fit(X, y)
    both = BaggingRegressor(base, n_estimators=4, n_jobs=2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(first.predict(X), both.predict(X))
    np.testing.assert_array_equal(first.oob_std_, both.oob_std_)
    frame = pd.DataFrame(X, columns=["a", "b"])
    assert list(model.fit(frame, y).feature_names_in_) == ["a", "b"]
    np.testing.assert_allclose(model.predict(frame), both.predict(X), rtol=1e-12)


class SaysAWithProbabilityTwoFifths(ClassifierMixin, BaseEstimator):
    """The textbook's learner: at every row it says A with probability .4, whatever it was fitted to."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_, self.n_features_in_ = np.array(["A", "B"]), X.shape[1]
        return self

    def predict(self, X):
        keys = np.abs(np.sin(1e4 * X[:, 0] + self.random_state)) * 1e4 % 1.0
        return np.where(keys < 0.4, "A", "B")


def test_a_majority_of_bad_classifiers_is_worse_than_each():
    # The true class is A; one row of B, because a classifier needs two classes.
    X, y = np.random.default_rng(0).normal(size=(60, 1)), np.array(["A"] * 59 + ["B"])
    model = BaggingClassifier(SaysAWithProbabilityTwoFifths(), n_estimators=250, voting="hard", random_state=0)
    found = model.fit(X, y).diagnosis()
    assert found.member_error_rate == pytest.approx(0.6, abs=0.03)
    # Out of bag 92 members vote, of which most say A with probability 0.025; of all 250 with 0.0007.
    assert found.committee_error_rate > 0.9 and 1 - model.score(X, y) > 0.95
    assert found.verdict.startswith("Averaging hurt: error rate")
    few = BaggingClassifier(SaysAWithProbabilityTwoFifths(), n_estimators=9, voting="hard", random_state=0).fit(X, y)
    assert found.committee_error_rate > few.diagnosis().committee_error_rate


def test_votes_and_averages_of_trees():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.array(["in", "out"])[(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=300) > 0).astype(int)]
    for voting in ("soft", "hard"):
        base = DecisionTreeClassifier(max_depth=3)
        model = BaggingClassifier(base, n_estimators=15, voting=voting, calibrate=None, random_state=0)
        model.fit(X[:150], y[:150])
        tables = np.array([member.predict_proba(X) for member in model.estimators_])
        votes = np.eye(2)[tables.argmax(axis=2)]
        np.testing.assert_allclose(model.predict_proba(X), (tables if voting == "soft" else votes).mean(axis=0))
        seen = np.isfinite(model.oob_probabilities_).all(axis=1)
        assert model.oob_score_ == pytest.approx(model.score(X[150:], y[150:]), abs=0.12)
        labels = model.classes_[model.oob_probabilities_[seen].argmax(axis=1)]
        assert model.oob_score_ == pytest.approx((labels == y[:150][seen]).mean())
        found = model.diagnosis(X[:150], y[:150])
        assert found.committee_error_rate == pytest.approx(1 - model.oob_score_) and found.single_error is not None
    with pytest.raises(ValueError, match="voting must be one of 'soft', 'hard'"):
        BaggingClassifier(DecisionTreeClassifier(), voting="loud").fit(X, y)


class FailsSometimes(LinearRegression):
    def fit(self, X, y, sample_weight=None):
        if sample_weight is not None and sample_weight.max() > 3:
            raise RuntimeError("too heavy")
        return super().fit(X, y, sample_weight)


def test_members_that_fail_are_named_and_the_others_go_on():
    X, y = line(30)
    with pytest.warns(FitWarning, match=r"member \d.* failed and .* left out: RuntimeError: too heavy"):
        model = BaggingRegressor(FailsSometimes(), n_estimators=12, random_state=0).fit(X, y)
    assert 0 < len(model.estimators_) < 12 and "failed: RuntimeError: too heavy" in model.result_.message
    with pytest.raises(ValueError, match="NaN"):
        BaggingRegressor(LinearRegression(), n_estimators=2).fit(np.vstack([X[:-1], [[np.nan, 0.0]]]), y)
    with pytest.raises(ValueError, match="n_estimators must be a whole number of at least 1"):
        BaggingRegressor(LinearRegression(), n_estimators=0).fit(X, y)


def test_extreme_tables():
    constant = BaggingRegressor(PlainRegression(), n_estimators=5, random_state=0).fit(np.eye(6), np.full(6, 2.0))
    np.testing.assert_allclose(constant.predict(np.eye(6)), 2.0)
    assert constant.noise_std_ == pytest.approx(0.0, abs=1e-12) and np.isnan(constant.oob_score_)
    one = BaggingRegressor(PlainRegression(), n_estimators=2).fit([[1.0]], [3.0])
    assert one.predict([[0.0]]) == [3.0] and np.isnan(one.oob_log_score_)
    with pytest.raises(ValueError, match="none is out of bag"):
        one.diagnosis()
    # Two rows of each class: samples of one class only are drawn again.
    two = BaggingClassifier(DecisionTreeClassifier(), n_estimators=30, random_state=0)
    assert len(two.fit(np.arange(4.0)[:, None], [0, 0, 1, 1]).estimators_) == 30
    whole = np.random.default_rng(0).poisson(3.0, size=(50, 2)).astype(float)
    counts = BaggingRegressor(TREE, n_estimators=10, random_state=0).fit(whole, np.round(whole.sum(axis=1)))
    assert counts.noise_std_ > 0.05
    with pytest.raises(ValueError, match="there are 50; got 49"):
        counts.diagnosis(whole[1:], whole[1:, 0])


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_deadline_ends_the_fit(n_jobs):
    with pytest.raises(TimeUp), until(0.0):
        BaggingRegressor(LinearRegression(), n_estimators=3, n_jobs=n_jobs).fit(*line(20))
