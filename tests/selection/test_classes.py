"""Comparisons of classifiers: folds, scores by hand, and labels of any kind."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import log_loss

from credo.core.folds import shuffled as folds
from credo.distributions import Bernoulli, Categorical, Normal, StudentT
from credo.kernel_machines import KernelPerceptron
from credo.linear import (
    BayesianLogisticRegression,
    LinearDiscriminant,
    LinearRegression,
    LogisticRegression,
    Perceptron,
)
from credo.selection import compare
from credo.selection.trial import Stacked, stacked
from credo.tables import TableModel

RNG = np.random.default_rng(5)


class Shares(ClassifierMixin, BaseEstimator):
    """Predicts the shares of the classes that it has seen."""

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.shares_ = counts / counts.sum()
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[self.shares_.argmax()])

    def predict_dist(self, X):
        return Categorical(np.tile(self.shares_, (len(X), 1)), classes=self.classes_)


@pytest.fixture
def table():
    y = np.repeat(["oak", "elm", "ash"], [30, 20, 10])
    return RNG.normal(size=(60, 2)) + 2.0 * (y == "oak")[:, None], y


def test_scores_by_hand(table):
    X, y = table
    comparison = compare({"shares": Shares()}, X, y, cv=10, random_state=0)
    # Ten folds of 3 oaks, 2 elms and 1 ash each leave the shares as they are.
    shares = {"oak": 0.5, "elm": 1 / 3, "ash": 1 / 6}
    score = comparison["shares"].held_out
    assert score["log_loss"] == pytest.approx(-np.mean([np.log(shares[label]) for label in y]))
    assert score["accuracy"] == 0.5
    assert score["brier"] == pytest.approx(1 - sum(p**2 for p in shares.values()))
    assert score["calibration_error"] == pytest.approx(0.0, abs=1e-12)
    assert comparison.task == "classification"


def test_a_loop_by_hand_gives_the_same_held_out_probabilities(table):
    X, y = table
    comparison = compare({"lda": LinearDiscriminant()}, X, y, cv=3, random_state=1)
    held = comparison.held_out["lda"]
    cut, _ = folds(60, 3, np.random.default_rng(1), classes=y)
    for test in cut:
        train = np.setdiff1d(np.arange(60), test)
        expected = LinearDiscriminant().fit(X[train], y[train]).predict_proba(X[test])
        np.testing.assert_allclose(held.dist.probs[test], expected, rtol=1e-12)
    expected = log_loss(y, held.dist.probs, labels=held.dist.classes)
    assert comparison["lda"].held_out["log_loss"] == pytest.approx(expected)


@pytest.mark.parametrize("grouped", [False, True])
def test_folds_spread_every_class_evenly(grouped):
    y = np.repeat([0, 1, 2], [47, 23, 2])
    groups = np.arange(72) if grouped else None
    cut, notes = folds(72, 5, np.random.default_rng(0), groups=groups, classes=y)
    counts = np.array([np.bincount(y[fold], minlength=3) for fold in cut])
    assert np.ptp(counts, axis=0).max() <= 1 and np.ptp([len(fold) for fold in cut]) <= 1
    assert not notes
    np.testing.assert_array_equal(np.sort(np.concatenate(cut)), np.arange(72))


def test_groups_stay_together_and_classes_spread():
    groups = np.repeat(np.arange(40), 3)
    y = np.repeat(np.arange(40) % 2, 3)
    cut, _ = folds(120, 4, np.random.default_rng(0), groups=groups, classes=y)
    for fold in cut:
        assert set(np.bincount(groups[fold], minlength=40)) <= {0, 3}
        assert y[fold].mean() == 0.5


@pytest.mark.parametrize(
    "labels",
    [[True, False], [0, 1], [1, 2], ["yes", "no"]],
    ids=["truth", "bits", "numbers", "words"],
)
def test_labels_of_any_kind_give_the_same_scores(labels):
    X = RNG.normal(size=(40, 2))
    codes = (X[:, 0] + 0.5 * RNG.normal(size=40) > 0).astype(int)
    order = np.sort(np.array(labels))
    found = compare({"lda": LinearDiscriminant()}, X, order[codes], random_state=0)["lda"].held_out
    expected = compare({"lda": LinearDiscriminant()}, X, codes, random_state=0)["lda"].held_out
    assert found == pytest.approx(expected)


def test_words_in_a_column_of_pandas_are_taken(table):
    X, y = table
    plain = compare({"lda": LinearDiscriminant()}, X, y, random_state=0)["lda"].held_out
    assert compare({"lda": LinearDiscriminant()}, X, pd.Series(y), random_state=0)["lda"].held_out == pytest.approx(
        plain
    )


def test_the_probability_of_a_model_is_its_evidence_by_the_sum(table):
    X, y = table
    models = {
        "weak": BayesianLogisticRegression(0.1),
        "strong": BayesianLogisticRegression(10.0),
        "lda": LinearDiscriminant(),
    }
    comparison = compare(models, X, y, cv=2, random_state=0)
    logs = [comparison[name].log_evidence for name in ("weak", "strong")]
    for name, log in zip(("weak", "strong"), logs, strict=True):
        assert comparison[name].model_probability == pytest.approx(np.exp(log - logsumexp(logs)))
    assert comparison["lda"].model_probability is None
    assert comparison["lda"].bic is not None
    assert "model probability" in comparison.table().columns


def test_one_evidence_alone_is_no_probability(table):
    comparison = compare({"bayes": BayesianLogisticRegression(), "lda": LinearDiscriminant()}, *table, cv=2)
    assert comparison["bayes"].model_probability is None


def test_a_line_that_is_asked_for_by_name(table):
    comparison = compare({"lda": LinearDiscriminant()}, *table, cv=2)
    with pytest.raises(KeyError, match="there is no model 'qda'; choose from 'lda', 'baseline'"):
        comparison["qda"]
    assert list(comparison.records()[0])[:5] == ["name", "log_loss", "brier", "accuracy", "calibration_error"]


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (["a"] * 6, "y has only one class, 'a'"),
        (
            ["a", "a", "a", "b", "b", "c"],
            "the class 'c' has one row only, which can't be split into training and held-out rows",
        ),
        (["a", "b", None, "a", "b", "a"], "y has no label in row 2: None; leave such rows out"),
        ([1.0, 2.0, np.nan, 1.0, 2.0, 1.0], "y has no label in row 2: NaN; leave such rows out"),
        ([0.1, 0.2, 0.35, 0.4, 0.5, 0.65], "continuous"),
        (["a", "b"], "one value for each of the 6 rows of X"),
    ],
)
def test_labels_that_can_not_be_compared(y, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        compare(
            {"lda": LinearDiscriminant()},
            np.arange(12.0).reshape(6, 2),
            np.array(y, dtype=object if None in y else None),
        )


def test_a_class_of_one_group_is_not_scored():
    y = np.array(["a", "b"] * 5 + ["c", "c"])
    found = compare({"lda": LinearDiscriminant()}, RNG.normal(size=(12, 2)), y, groups=[*range(10), 10, 10])
    assert len(found.held_out["lda"].y) == 10 and found["lda"].error is None
    assert any("2 held-out rows are not scored (classes: 'c')" in note for note in found.notes)


def test_numbers_and_classes_are_not_compared():
    with pytest.raises(ValueError, match="'log' is a classifier and 'line' is not"):
        compare({"log": LogisticRegression(), "line": LinearRegression()}, np.zeros((4, 1)), [0, 1, 0, 1])


@pytest.mark.parametrize(
    "machine",
    [Perceptron(random_state=0), KernelPerceptron(random_state=0)],
    ids=lambda machine: type(machine).__name__,
)
@pytest.mark.parametrize("wrapped", [False, True], ids=["array", "table"])
def test_a_perceptron_has_its_accuracy_and_a_note_that_says_why_no_more(machine, wrapped):
    X = np.random.default_rng(2).normal(size=(60, 2))
    y = np.where(X[:, 0] - X[:, 1] > 0, "up", "down")
    table = pd.DataFrame(X, columns=["a", "b"]) if wrapped else X
    models = {"machine": TableModel(None, machine, "y") if wrapped else machine}
    models["lda"] = TableModel(None, LinearDiscriminant(), "y") if wrapped else LinearDiscriminant()
    comparison = compare(models, table, y, cv=3, random_state=0)
    score = comparison["machine"]
    assert score.error is None and set(score.held_out) == {"accuracy"}
    cut, _ = folds(60, 3, np.random.default_rng(0), classes=y)
    right = 0
    for test in cut:
        train = np.setdiff1d(np.arange(60), test)
        rows = (X - X[train].mean(axis=0)) / X[train].std(axis=0) if wrapped else X
        right += np.sum(clone(machine).fit(rows[train], y[train]).predict(rows[test]) == y[test])
    assert score.held_out["accuracy"] == pytest.approx(right / 60, abs=1 / 60)
    assert comparison.selected == "lda" and "machine" not in comparison.held_out
    assert (
        "machine predicts labels without probabilities (it has no predict_dist): no log loss, Brier score or "
        "calibration error." in comparison.notes
    )
    assert comparison.records()[2]["log_loss"] is None


def test_stacked_parts_answer_as_each_alone():
    a, b = Normal([1.0, 2.0], [0.5, 1.5]), StudentT([3.0, 4.0, 5.0], [0.0, 1.0, -1.0], [1.0, 2.0, 0.5])
    whole = stacked([(np.array([3, 0]), a), (np.array([4, 1, 2]), b)], 5)
    order = [(a, 1), (b, 1), (b, 2), (a, 0), (b, 0)]
    y = np.array([0.3, 0.1, -0.7, 2.0, 1.0])
    for method in ("cdf", "log_prob", "crps"):
        expected = [getattr(dist[row], method)(value) for (dist, row), value in zip(order, y, strict=True)]
        np.testing.assert_allclose(getattr(whole, method)(y), expected, rtol=1e-12)
    for q in (0.1, 0.9):
        np.testing.assert_allclose(whole.quantile(q), [dist[row].quantile(q) for dist, row in order], rtol=1e-12)
    np.testing.assert_array_equal(whole.mean, [dist[row].mean for dist, row in order])
    np.testing.assert_array_equal(whole.std, [dist[row].std for dist, row in order])
    part = whole[[4, 0, 3]]
    np.testing.assert_array_equal(part.mean, whole.mean[[4, 0, 3]])
    assert isinstance(part, Stacked) and len(part) == 3
    draws = whole.sample(4000, random_state=0)
    np.testing.assert_allclose(np.median(draws, axis=0), whole.quantile(0.5), atol=0.15)
    assert repr(whole) == "Stacked(<5 rows of Normal, StudentT>)"
    with pytest.raises(ValueError, match="each of the 3 rows exactly once"):
        Stacked([(np.array([0, 0]), a)], 3)


def test_a_class_that_a_fold_has_not_seen_has_no_probability_there():
    parts = [
        (np.array([0]), Categorical([[0.5, 0.5]], classes=["a", "c"])),
        (np.array([1]), Categorical([[0.2, 0.8]], classes=["a", "b"])),
    ]
    whole = stacked(parts, 2)
    np.testing.assert_array_equal(whole.probs, [[0.5, 0.0, 0.5], [0.2, 0.8, 0.0]])
    assert whole.log_prob(["b", "b"])[0] == -np.inf
    bits = stacked([(np.array([1]), Bernoulli([0.3])), (np.array([0]), Bernoulli([0.9]))], 2)
    np.testing.assert_array_equal(bits.probs, [0.9, 0.3])
    mixed = stacked([(np.array([1]), Bernoulli([0.25])), (np.array([0]), Categorical([[0.1, 0.2, 0.7]]))], 2)
    np.testing.assert_array_equal(mixed.probs, [[0.1, 0.2, 0.7], [0.75, 0.25, 0.0]])
