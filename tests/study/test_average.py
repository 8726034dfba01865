"""The average of a study: its weights, honest held-out predictions, and when it is calibrated."""

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

import credo
from credo.core.folds import shuffled
from credo.distributions import Normal, Recalibrated
from credo.ensemble.calibration import BetaMap
from credo.metrics import pit
from credo.selection.measures import CLASSIFICATION, REGRESSION
from credo.selection.trial import Parts, Trial
from credo.study.average import average


class Column(RegressorMixin, BaseEstimator):
    """Predicts a column of X, with a given spread."""

    def __init__(self, column=0, std=1.0):
        self.column, self.std = column, std

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return X[:, self.column]

    def predict_dist(self, X):
        return Normal(self.predict(X), np.full(len(X), self.std))


class Odds(ClassifierMixin, BaseEstimator):
    """Probabilities of two classes, whose log odds are a multiple of a column."""

    def __init__(self, column=0, slope=1.0):
        self.column, self.slope = column, slope

    def fit(self, X, y):
        self.n_features_in_, self.classes_ = X.shape[1], np.unique(y)
        return self

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-self.slope * X[:, self.column]))
        return np.column_stack([1 - p, p, *np.zeros((len(self.classes_) - 2, len(X)))])

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def trials(models, X, y, n_folds=5, task=REGRESSION):
    """Finished trials on the same folds; with one fold, a fifth of the rows is held out."""
    tests, _ = shuffled(len(y), max(n_folds, 5), np.random.default_rng(0))
    splits = [(np.setdiff1d(np.arange(len(y)), test), test) for test in tests[:n_folds]]
    found = [Trial(f"m{i}", model, Parts(X), y, task, 0) for i, model in enumerate(models)]
    for trial in found:
        assert list(trial.run(splits)) and trial.error is None
    return found


def em(log_scores, n_steps=20_000):
    """Mixture weights by expectation maximization."""
    density = np.exp(log_scores - log_scores.max(axis=1, keepdims=True))
    weights = np.full(density.shape[1], 1 / density.shape[1])
    for _ in range(n_steps):
        share = density * weights
        weights = (share / share.sum(axis=1, keepdims=True)).mean(axis=0)
    return weights


@pytest.fixture
def table():
    """Of three columns, the target is the first or the second with noise, in shares of 60 and 40 %."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    return X, np.where(rng.random(300) < 0.6, X[:, 0], X[:, 1]) + rng.normal(size=300)


def test_weights_are_those_of_expectation_maximization(table):
    members = trials([Column(0), Column(1), Column(2, 2.5)], *table)
    scores = np.column_stack([one.held_out().log_score for one in members])
    model = average("average", members).fitted
    expected = em(scores)
    # What is below 1 % is left out.
    expected = np.where(expected < 0.01, 0.0, expected) / expected[expected >= 0.01].sum()
    assert model.names_ == [f"m{k}" for k in np.flatnonzero(expected)]
    np.testing.assert_allclose(model.weights_, expected[expected > 0], atol=1e-3)
    assert len(model.names_) > 1


@pytest.mark.parametrize("n_folds", [1, 5])
def test_each_part_is_predicted_with_weights_of_the_other_parts(table, n_folds):
    members = trials([Column(0), Column(1)], *table, n_folds)
    found = average("average", members)
    held = [one.held_out() for one in members]
    scores = np.column_stack([one.log_score for one in held])
    own = found.held_out()
    np.testing.assert_array_equal(own.rows, held[0].rows)
    assert found.fitted.calibration_ is None and len(found.parts) == 5
    for rows, _ in found.parts:
        part = np.isin(own.rows, rows)
        weights = em(scores[~part])
        np.testing.assert_allclose(own.log_score[part], np.log(np.exp(scores[part]) @ weights), rtol=1e-4, atol=1e-3)


def test_a_model_that_knows_the_outcomes_of_one_fold_does_not_help_there(table):
    """With weights from all rows, the average would have a score that no new row confirms."""
    X, y = table
    first = trials([Column(0)], X, y)[0].parts[0][0]
    noise = 5.0 * np.random.default_rng(1).normal(size=300)
    noise[first] = y[first]
    members = trials([Column(0, 1.2), Column(3, 0.05)], np.column_stack([X, noise]), y)
    found, plain = average("average", members).held_out(), members[0].held_out()
    there = np.isin(found.rows, first)
    np.testing.assert_allclose(found.log_score[there], plain.log_score[there], atol=0.02)
    assert members[1].held_out().log_score[there].mean() > plain.log_score[there].mean() + 2
    # The weights for all other rows have seen the fold.
    assert found.log_score[~there].mean() < plain.log_score[~there].mean()


def test_intervals_that_are_clearly_too_narrow_are_calibrated(table):
    X, y = table
    members = trials([Column(0, 0.5), Column(1, 0.5)], X, y)
    found = average("average", members)
    calibration = found.fitted.calibration_
    assert isinstance(calibration, BetaMap) and max(calibration.a, calibration.b) < 0.8
    held = found.held_out()
    assert held.log_score.mean() > max(one.held_out().log_score.mean() for one in members) + 0.2
    raw = stats.kstest(pit(y, members[0].held_out().dist), "uniform").pvalue
    assert stats.kstest(pit(held.y, held.dist), "uniform").pvalue > 0.01 > raw
    dist = found.fitted.predict_dist(X)
    assert isinstance(dist, Recalibrated) and (dist.a, dist.b) == (calibration.a, calibration.b)
    # The scores are those of maps from other rows, not of the one that is kept.
    assert not np.allclose(held.log_score, dist.log_prob(y), atol=1e-6)


def test_calibrated_models_are_left_as_they_are():
    rng, n_calibrated = np.random.default_rng(3), 0
    for _ in range(20):
        X = rng.normal(size=(100, 2))
        y = X[:, 0] + rng.normal(size=100)
        n_calibrated += average("average", trials([Column(0), Column(1, 1.7)], X, y)).fitted.calibration_ is not None
    # One standard error is exceeded by chance about one time in six.
    assert n_calibrated <= 7


@pytest.mark.parametrize(("slope", "calibrated"), [(1.0, False), (4.0, True)])
def test_class_probabilities_are_calibrated_if_they_are_overconfident(slope, calibrated):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = np.where(rng.random(400) < 1 / (1 + np.exp(-X[:, 0])), "yes", "no")
    members = trials([Odds(0, slope), Odds(1, slope)], X, y, task=CLASSIFICATION)
    found = average("average", members)
    assert (found.fitted.calibration_ is not None) == calibrated
    loss = -found.held_out().log_score.mean()
    # Never much worse than the true probabilities.
    truth = np.log1p(np.exp(-np.where(y == "yes", 1, -1) * X[:, 0])).mean()
    assert loss < truth + 0.03
    table = found.fitted.predict_proba(X)
    np.testing.assert_allclose(table.sum(axis=1), 1.0)
    if calibrated:
        assert np.abs(table[:, 1] - 0.5).mean() < np.abs(members[0].model.fit(X, y).predict_proba(X)[:, 1] - 0.5).mean()


def test_a_class_that_no_fold_knows_prevents_calibration():
    """It is in the last rows of a table in time order, which are held out: their rows are not scored."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = np.where(rng.random(400) < 1 / (1 + np.exp(-X[:, 0])), "yes", "no")
    y[-3:] = "zoo"
    found = [Trial(f"m{i}", Odds(i, 4.0), Parts(X), y, CLASSIFICATION, 0) for i in range(2)]
    rows = np.arange(397)
    for trial in found:
        assert list(trial.run([(rows[:200], rows[200:300]), (rows[:300], rows[300:])])) and trial.error is None
    model = average("average", found).fitted
    assert model.classes_.tolist() == ["no", "yes", "zoo"] and model.calibration_ is None
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("calibration", [None, BetaMap(0.6, 0.8)])
def test_a_calibrated_average_is_saved(table, tmp_path, calibration):
    X, y = table
    models = [credo.LinearRegression().fit(X, y), credo.Ridge(1.0).fit(X, y)]
    pairs = [("linear", credo.LinearRegression()), ("ridge", credo.Ridge(1.0))]
    weights, scores = np.array([0.3, 0.7]), np.zeros((len(y), 2))
    model = credo.ModelAverage.of_fitted(pairs, models, weights, scores, np.arange(len(y)), "folds", calibration)
    credo.save(model, tmp_path / "average.credo")
    loaded, mixed = (
        credo.load(tmp_path / "average.credo"),
        sum(w * one.predict_dist(X).cdf(y) for w, one in zip(weights, models, strict=True)),
    )
    assert loaded.calibration_ == calibration
    expected = mixed if calibration is None else stats.beta.cdf(mixed, 0.6, 0.8)
    np.testing.assert_allclose(loaded.predict_dist(X).cdf(y), expected, rtol=1e-9)
