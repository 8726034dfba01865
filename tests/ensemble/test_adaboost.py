"""AdaBoost: scikit-learn's SAMME round by round, its ends, its calibration, ESL's example."""

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import chi2
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import AdaBoostClassifier as Peer
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier as PeerTree

from credo.core.estimator import FitWarning
from credo.ensemble import AdaBoostClassifier
from credo.linear import LogisticRegression
from credo.metrics import calibration_error
from credo.trees import DecisionStump, DecisionTreeClassifier


def sphere(n, seed, d=10):
    """ESL 10.2: the median of χ² with d degrees of freedom separates the classes, 9.34 for ten."""
    X = np.random.default_rng(seed).normal(size=(n, d))
    return X, (np.square(X).sum(axis=1) > chi2(d).median()).astype(int)


def three(n=300, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 4))
    return X, np.digitize(X[:, 0] + 0.5 * X[:, 1] + 0.4 * np.random.default_rng(seed + 1).normal(size=n), [-0.5, 0.6])


@pytest.mark.parametrize("data", [lambda: sphere(400, 0), three], ids=["two classes", "three classes"])
def test_the_weights_of_every_round_are_those_of_scikit_learn(data, monkeypatch):
    X, y = data()
    model = AdaBoostClassifier(n_rounds=40, calibrate=False, keep_weights=True, random_state=0).fit(X, y)
    theirs = []
    fit = PeerTree.fit

    def spy(self, X, y, sample_weight=None, **options):
        theirs.append(sample_weight / sample_weight.sum())
        return fit(self, X, y, sample_weight=sample_weight, **options)

    monkeypatch.setattr(PeerTree, "fit", spy)
    peer = Peer(PeerTree(max_depth=1), n_estimators=40, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.weights_, theirs, atol=1e-10)
    np.testing.assert_allclose(model.errors_, peer.estimator_errors_, atol=1e-10)
    np.testing.assert_allclose(model.boosted_.alpha, peer.estimator_weights_, atol=1e-10)
    np.testing.assert_array_equal(model.predict(X), peer.predict(X))
    for ours, other in zip(model.staged_predict(X), peer.staged_predict(X), strict=True):
        np.testing.assert_array_equal(ours, other)


def test_the_weights_follow_the_rule_of_the_books():
    X, y = sphere(200, 3)
    model = AdaBoostClassifier(n_rounds=8, calibrate=False, keep_weights=True, random_state=0).fit(X, y)
    F = np.zeros(len(y))
    for m, (staged, weight) in enumerate(zip(model.staged_votes(X), model.weights_, strict=True)):
        # w ∝ exp(−½ y F), so that the mean of these is the exponential loss.
        expected = np.exp(-0.5 * np.where(y == 1, F, -F))
        np.testing.assert_allclose(weight, expected / expected.sum(), rtol=1e-9)
        F = staged[:, 1] - staged[:, 0]
        assert model.boosted_.alpha[m] == pytest.approx(np.log(1 / model.errors_[m] - 1))
    assert model.exponential_loss(X, y) == pytest.approx(np.mean(np.exp(-0.5 * np.where(y == 1, F, -F))))
    margin = np.where(y == 1, F, -F) / model.boosted_.alpha.sum()
    np.testing.assert_allclose(model.margins(X, y), margin, atol=1e-12)


def test_the_exponential_loss_is_the_product_of_the_rounds():
    """Freund & Schapire (1997): each round multiplies the mean of exp(−½yF) by 2√(ε(1 − ε))."""
    X, y = sphere(300, 5)
    model = AdaBoostClassifier(n_rounds=25, calibrate=False, random_state=0).fit(X, y)
    product = np.prod(2 * np.sqrt(model.errors_ * (1 - model.errors_)))
    assert model.exponential_loss(X, y) == pytest.approx(product, rel=1e-9)
    assert np.mean(model.predict(X) != y) <= product


def test_stumps_boost_the_sphere_of_the_textbook():
    """ESL figure 10.2: a stump errs on 45.8 %, boosting below 15 % after a few hundred rounds."""
    X, y = sphere(2000, 0)
    new, truth = sphere(10_000, 1)
    assert 0.44 < 1 - DecisionStump().fit(X, y).score(new, truth) < 0.48
    model = AdaBoostClassifier(n_rounds=400, calibrate=False, random_state=0).fit(X, y)
    assert 1 - model.score(new, truth) < 0.15
    scores = list(model.staged_score(new[:500], truth[:500]))
    assert len(scores) == 400 and scores[0] < 0.62 and scores[-1] == model.score(new[:500], truth[:500])


def test_calibration_improves_log_loss_and_reliability():
    X, y = sphere(1500, 0)
    new, truth = sphere(4000, 1)
    raw, calibrated = (AdaBoostClassifier(n_rounds=400, calibrate=on, random_state=0).fit(X, y) for on in (False, True))
    before, after = (log_loss(truth, model.predict_proba(new)) for model in (raw, calibrated))
    assert after < 0.9 * before
    errors = [calibration_error(truth, model.predict_dist(new)) for model in (raw, calibrated)]
    assert errors[1] < 0.5 * errors[0]
    np.testing.assert_allclose(raw.predict_proba(new), softmax(raw.votes(new), axis=1))
    np.testing.assert_array_equal(raw.votes(new), calibrated.votes(new))


def test_calibration_knows_the_share_of_a_rare_class():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), (rng.random(400) < 0.05).astype(int)
    chances = AdaBoostClassifier(n_rounds=60, random_state=0).fit(X, y).predict_proba(rng.normal(size=(500, 3)))
    assert chances[:, 1].mean() == pytest.approx(y.mean(), abs=0.03)


def test_early_stopping_keeps_the_rounds_of_the_smallest_held_out_loss():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    model = AdaBoostClassifier(n_rounds=150, early_stopping=True, keep_weights=True, random_state=0).fit(X, y)
    assert len(model.boosted_) == model.stages_[model.log_losses_.argmin()] < 60
    assert len(model.weights_) == len(model.errors_) == len(model.boosted_)
    assert "smallest held-out log loss" in model.result_.message
    assert len(list(model.staged_predict_proba(X))) == len(model.boosted_)


def test_a_perfect_learner_decides_alone():
    X = np.arange(8.0)[:, None]
    model = AdaBoostClassifier(random_state=0).fit(X, X[:, 0] > 3)
    assert len(model.boosted_) == 1 and model.errors_.tolist() == [0.0]
    assert "without error" in model.result_.message and model.score(X, X[:, 0] > 3) == 1.0
    assert np.isfinite(model.predict_log_proba(X)).all() and 0 < model.predict_proba(X).min() < 0.4
    # No held-out row of this pattern can be predicted, so that calibration would mistrust the learner.
    deep = AdaBoostClassifier(DecisionTreeClassifier(pruning=0.0), calibrate=False, random_state=0).fit(
        X, [0, 1, 0, 1, 0, 1, 0, 1]
    )
    assert len(deep.boosted_) == 1 and deep.score(X, [0, 1, 0, 1, 0, 1, 0, 1]) == 1.0


def test_learners_no_better_than_chance_end_it():
    X, y = np.ones((10, 2)), np.array([0, 1] * 5)
    with pytest.warns(FitWarning, match=r"no better than chance \(error 0.5\)"):
        model = AdaBoostClassifier(random_state=0).fit(X, y)
    assert not model.result_.converged and len(model.boosted_) == 1
    np.testing.assert_allclose(model.predict_proba(X), 0.5)
    # Constant columns and unequal classes: the first round knows their frequencies, the second nothing more.
    model = AdaBoostClassifier(calibrate=False, random_state=0).fit(X, [1] * 7 + [0] * 3)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 0.7)
    assert "next learner was no better than chance" in model.result_.message


def test_any_weighted_learner_and_pipeline():
    X, y = sphere(200, 0, d=2)
    words = np.array(["a", "b"])[y]
    for learner in (
        DecisionTreeClassifier(max_depth=2, pruning=0.0, random_state=0),
        make_pipeline(StandardScaler(), PeerTree(max_depth=2)),
        LogisticRegression(alpha=1.0),
        DecisionStump(class_weight="balanced"),
    ):
        model = AdaBoostClassifier(learner, n_rounds=5, calibrate=False, keep_weights=True, random_state=0).fit(
            X, np.array(["a", "b"])[y]
        )
        assert len(model.boosted_.learners) == len(model.boosted_.alpha) > 0
        np.testing.assert_allclose(model.weights_.sum(axis=1), 1.0)
        assert model.score(X, words) > 0.5
    trees = AdaBoostClassifier(PeerTree(max_depth=1), n_rounds=20, calibrate=False, random_state=0).fit(X, y)
    stumps = AdaBoostClassifier(n_rounds=20, calibrate=False, random_state=0).fit(X, y)
    np.testing.assert_allclose(trees.boosted_.alpha, stumps.boosted_.alpha, atol=1e-9)


class Hasty(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        return self


def test_bad_arguments_are_refused_in_words():
    X, y = sphere(30, 0, d=2)
    with pytest.raises(ValueError, match=r"KNeighborsClassifier\.fit takes no sample_weight: use another estimator"):
        AdaBoostClassifier(KNeighborsClassifier()).fit(X, y)
    with pytest.raises(ValueError, match=r"Hasty\.fit takes no sample_weight"):
        AdaBoostClassifier(make_pipeline(StandardScaler(), Hasty())).fit(X, y)
    with pytest.raises(ValueError, match="estimator must be a classifier"):
        AdaBoostClassifier(StandardScaler()).fit(X, y)
    with pytest.raises(ValueError, match="n_rounds must be"):
        AdaBoostClassifier(n_rounds=0).fit(X, y)
    with pytest.raises(ValueError, match="label 7, which was not in the training rows"):
        AdaBoostClassifier(n_rounds=2).fit(X, y).margins(X, np.full(30, 7))
    with pytest.raises(NotFittedError):
        AdaBoostClassifier().votes(X)


def test_missing_values_are_taken_where_the_learner_takes_them():
    X, y = sphere(120, 0, d=2)
    X[::7, 0] = np.nan
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2, pruning=0.0), n_rounds=5, random_state=0).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    with pytest.raises(ValueError, match="NaN"):
        AdaBoostClassifier().fit(X, y)
