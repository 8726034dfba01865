"""Scores of class probabilities, against scikit-learn and the formulas written out."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss

from credo.distributions import Bernoulli, Categorical, Normal
from credo.linear import LinearDiscriminant
from credo.metrics import accuracy, brier, calibration_error, forecast, groups, log_score, rps, scorer

RNG = np.random.default_rng(8)
WORDS = np.array(["ash", "elm", "oak"])


@pytest.fixture
def trees():
    table = RNG.dirichlet([1.0, 1.0, 1.0], size=200)
    return WORDS[RNG.integers(3, size=200)], table


def test_scores_of_many_classes_are_scikit_learns(trees):
    y, table = trees
    dist = Categorical(table, classes=WORDS)
    assert -log_score(y, dist) == pytest.approx(log_loss(y, table, labels=WORDS))
    assert brier(y, dist) == pytest.approx(brier_score_loss(y, table, labels=WORDS, scale_by_half=False))
    assert accuracy(y, dist) == pytest.approx(accuracy_score(y, WORDS[table.argmax(axis=1)]))


@pytest.mark.parametrize("labels", [[0, 1], [False, True], ["no", "yes"], [-1, 1], [0.5, 1.5]])
def test_scores_of_two_classes_do_not_hang_on_their_names(labels):
    p, codes = RNG.uniform(size=100), RNG.integers(2, size=100)
    y = np.array(labels)[codes]
    dist = Categorical(np.column_stack([1 - p, p]), classes=labels)
    assert brier(y, dist) == pytest.approx(brier_score_loss(codes, p))
    assert brier(y, dist) == pytest.approx(brier(codes, Bernoulli(p)))
    assert accuracy(y, dist) == accuracy(codes, Bernoulli(p))
    assert calibration_error(y, dist) == calibration_error(codes, Bernoulli(p))


def test_weights_count_rows(trees):
    y, table = trees
    weight = RNG.integers(0, 4, size=len(y))
    every = np.repeat(np.arange(len(y)), weight)
    for score in (brier, accuracy):
        weighted = score(y, Categorical(table, classes=WORDS), sample_weight=weight)
        assert weighted == pytest.approx(score(y[every], Categorical(table[every], classes=WORDS)))


def test_the_calibration_error_of_two_groups_by_hand():
    """Forty rows at 0.2 of which 16 happen, forty at 0.7 of which 28 do: (40 · 0.2 + 40 · 0) / 80."""
    p = np.repeat([0.2, 0.7], 40)
    y = np.concatenate([np.arange(40) < 16, np.arange(40) < 28]).astype(int)
    assert calibration_error(y, Bernoulli(p)) == pytest.approx(0.1)


def test_of_more_classes_the_named_one_is_the_event():
    table = np.tile([0.6, 0.3, 0.1], (50, 1))
    y = np.where(np.arange(50) < 20, "ash", "elm")
    assert calibration_error(y, Categorical(table, classes=WORDS)) == pytest.approx(abs(0.6 - 0.4))


def test_honest_probabilities_leave_what_chance_makes_of_them():
    """Ten groups of 1000: the mean size of a group's error is √(2 p(1 − p)/(π 1000)), about 0.01 on average."""
    p = RNG.uniform(size=10_000)
    found = calibration_error((RNG.uniform(size=10_000) < p).astype(int), Bernoulli(p))
    middles = (np.arange(10) + 0.5) / 10
    expected = np.mean(np.sqrt(2 * middles * (1 - middles) / (np.pi * 1000)))
    assert found == pytest.approx(expected, rel=0.8)


def test_groups_are_of_about_equal_size_and_keep_ties_together():
    p = RNG.uniform(size=1000)
    assert np.ptp(np.bincount(groups(p))) <= 1
    tied = np.repeat([0.1, 0.9], [900, 100])
    assert len(np.unique(groups(tied)[:900])) == 1


def test_a_label_that_no_probability_speaks_of():
    with pytest.raises(ValueError, match="'fir', which is not among the classes 'ash', 'elm', 'oak'"):
        brier(["ash", "fir"], Categorical(np.full((2, 3), 1 / 3), classes=WORDS))
    with pytest.raises(TypeError, match="must be a Bernoulli or a Categorical; got a Normal"):
        forecast([0.0], Normal([0.0], [1.0]))


def test_scorers_of_classes():
    X = np.concatenate([RNG.normal(size=(20, 2)), RNG.normal(2, 1, size=(20, 2))])
    y = np.repeat(["a", "b"], 20)
    model = LinearDiscriminant().fit(X, y)
    assert scorer("accuracy")(model, X, y) == pytest.approx(model.score(X, y))
    assert scorer("brier")(model, X, y) == pytest.approx(
        -brier_score_loss(y, model.predict_proba(X)[:, 1], pos_label="b")
    )


LEVELS = ["low", "medium", "high", "very high"]


def test_ranked_probability_score_is_the_squared_distance_of_distribution_functions():
    rng = np.random.default_rng(2)
    probs, codes = rng.dirichlet(np.ones(4), size=30), rng.integers(0, 4, 30)
    y, weight = np.array(LEVELS)[codes], rng.integers(1, 4, 30)
    each = [sum((probs[i, : k + 1].sum() - (codes[i] <= k)) ** 2 for k in range(4)) for i in range(30)]
    assert rps(y, Categorical(probs, classes=LEVELS)) == pytest.approx(np.mean(each), rel=1e-12)
    # The CRPS of the numbers of the levels; in an order of its own, and with levels that have no probability.
    numbers = Categorical(probs)
    assert rps(y, Categorical(probs, classes=LEVELS), sample_weight=weight) == pytest.approx(
        np.average(numbers.crps(codes), weights=weight), rel=1e-12
    )
    mixed = rng.permutation(4)
    shuffled = Categorical(probs[:, mixed], classes=np.array(LEVELS)[mixed])
    assert rps(y, shuffled, order=LEVELS) == pytest.approx(np.mean(each), rel=1e-12)
    ends = Categorical([[0.3, 0.7]], classes=["high", "low"])
    assert rps(["low"], ends, order=LEVELS) == pytest.approx(2 * 0.3**2)
    assert rps(["high"], ends, order=["none", *LEVELS]) == pytest.approx(2 * 0.7**2)


def test_ranked_probability_score_of_two_classes_is_the_brier_score():
    y, dist = [0, 1, 1], Bernoulli([0.2, 0.6, 0.9])
    assert rps(y, dist) == pytest.approx(brier_score_loss(y, dist.probs)) == brier(y, dist)
    assert scorer("rps").name == "rps"


@pytest.mark.parametrize("order", [["low", "low", "high"], ["low"], ["low", "medium"]])
def test_an_order_has_every_class_once(order):
    with pytest.raises(ValueError, match="order must name each class once"):
        rps(["low"], Categorical([[0.5, 0.5]], classes=["high", "low"]), order=order)
