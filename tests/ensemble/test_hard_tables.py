"""Tables and members at the edge of what ensembles can use: rare classes, copies, masks, members that fail late."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression as PlainLine
from sklearn.linear_model import LogisticRegression as PlainLogistic

from credo import BayesianLinearRegression, BayesianLogisticRegression
from credo.distributions import Normal
from credo.ensemble import AdaBoostClassifier, BaggingRegressor, Committee, Conformal, ModelAverage
from credo.ensemble.calibration import Calibration, ScoreScaling
from credo.kernel_machines import KernelPerceptron
from credo.linear import LinearDiscriminant
from credo.tables import load, save
from credo.trees import DecisionTreeRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 2))
y = X[:, 0] + 0.5 * rng.normal(size=30)
labels = (y > 0).astype(int)


def test_classes_of_few_rows_are_spread_over_the_folds():
    """All in the first folds, they would leave the others without rows to test."""
    many = np.arange(30) % 10
    for model in (
        ModelAverage([("one", LinearDiscriminant(shrinkage=0.5))], weights="stacking", random_state=0),
        Conformal(PlainLogistic(), cv=5, method="none", random_state=0),
    ):
        table = model.fit(X, many).predict_proba(X)
        assert table.shape == (30, 10)
        np.testing.assert_allclose(table.sum(axis=1), 1.0)


def test_a_single_row_of_a_class_cannot_be_held_out():
    with pytest.raises(ValueError, match="at least two different rows of two classes each"):
        Conformal(PlainLogistic()).fit(X, np.arange(30) == 0)


@pytest.mark.parametrize("rows", [[0, 1], [0, 0]])
def test_early_stopping_needs_rows_to_hold_out(rows):
    with pytest.raises(ValueError, match="early_stopping=False"):
        AdaBoostClassifier(n_rounds=3, early_stopping=True).fit(X[rows], [0, 1])


@pytest.mark.parametrize("spread", [None, "learn"])
def test_a_weight_is_as_many_copies_in_conformal_distributions(spread):
    counts = rng.integers(1, 4, size=30)
    model = Conformal(
        BayesianLinearRegression(prior_precision=1.0, noise_precision=1.0), cv=4, spread=spread, random_state=0
    )
    weighted = clone(model).fit(X, y, sample_weight=counts.astype(float)).predict_dist(X)
    copied = clone(model).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts)).predict_dist(X)
    for name in ("mean", "std"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(copied, name), rtol=1e-7)
    np.testing.assert_allclose(weighted.interval(0.8), copied.interval(0.8), rtol=1e-7)


class _NotANumber(BayesianLinearRegression):
    def predict_dist(self, X, *, latent=False):
        return Normal(np.full(len(X), np.nan), 1.0)


class _NoProbability(BayesianLogisticRegression):
    def predict_proba(self, X):
        return np.full((len(X), 2), np.nan)


def test_a_member_that_cannot_predict_is_left_out_of_a_stack_and_named():
    for odd, good, target in (
        (_NotANumber(), DecisionTreeRegressor(random_state=0), y),
        (_NoProbability(), LinearDiscriminant(), labels),
    ):
        model = ModelAverage([("odd", odd), ("good", good)], weights="stacking", cv=2, random_state=0)
        with pytest.warns(UserWarning, match="odd failed and is left out"):
            model.fit(X, target)
        assert model.names_ == ["good"]


@pytest.mark.parametrize("name", ["weights", "a__b"])
def test_names_that_set_params_could_not_tell_apart(name):
    with pytest.raises(ValueError, match=r"conflict|must not contain __"):
        ModelAverage([(name, BayesianLinearRegression())]).fit(X, y)


def test_a_mask_is_not_ignored():
    """scikit-learn's estimators would take what is behind it for observed."""
    hidden = np.ma.array(X, mask=np.arange(60).reshape(30, 2) == 7)
    for model in (Conformal(PlainLine(), random_state=0), BaggingRegressor(PlainLine(), n_estimators=2)):
        with pytest.raises(ValueError, match="X masks 1 of its 60 values"):
            model.fit(hidden, y)
        with pytest.raises(ValueError, match="X masks 1 of its 60 values"):
            model.fit(X, y).predict(hidden)
    with pytest.raises(ValueError, match="X masks 1"):
        Committee([("line", BayesianLinearRegression())]).fit(hidden, y)


def test_folds_that_are_a_word():
    with pytest.raises(ValueError, match="cv must be a whole number of at least 2 folds"):
        Conformal(PlainLine(), cv="five").fit(X, y)


def test_conformal_distributions_of_large_weights():
    """The share of outcomes beyond all residuals is then below the spacing of numbers near one."""
    model = Conformal(PlainLine(), cv=5, random_state=0).fit(X, y, sample_weight=np.full(30, 1e15))
    dist = model.predict_dist(X)
    assert np.isfinite(dist.log_prob(y)).all() and (dist.std > 0).all()


class _Silent(PlainLine):
    """Predicts nothing where its sample has the first row."""

    def fit(self, X, y, sample_weight=None):
        self.broken_ = bool((first_row == X).all(axis=1).any())
        return super().fit(X, y, sample_weight)

    def predict(self, X):
        return np.full(len(X), np.nan) if self.broken_ else super().predict(X)


first_row = X[0]


def test_bagged_members_that_predict_nothing_are_left_out():
    with pytest.warns(UserWarning, match="left out: its predictions are not finite"):
        model = BaggingRegressor(_Silent(), n_estimators=9, random_state=0).fit(X, y)
    assert 0 < len(model.estimators_) < 9 and np.isfinite(model.predict(X)).all()


def test_conformal_takes_estimators_only():
    with pytest.raises(ValueError, match="estimator must be a regressor or a classifier; got 3"):
        Conformal(3).fit(X, y)


@pytest.mark.parametrize("share", [0.0, 2.0, "half", np.nan])
def test_shares_to_hold_out_that_are_none(share):
    with pytest.raises(ValueError, match="validation_fraction must lie strictly between 0 and 1"):
        AdaBoostClassifier(validation_fraction=share).fit(X, labels)


def test_probabilities_that_are_not_numbers_are_not_averaged():
    model = Committee([("odd", _NoProbability()), ("good", LinearDiscriminant())]).fit(X, labels)
    with pytest.raises(ValueError, match="_NoProbability predicts probabilities that are not numbers"):
        model.predict_proba(X)


def test_a_calibrated_classifier_without_probabilities_can_be_saved(tmp_path):
    model = Conformal(KernelPerceptron(random_state=0), cv=3, random_state=0).fit(X, X[:, 0] > 0)
    save(model, tmp_path / "model.credo")
    np.testing.assert_array_equal(load(tmp_path / "model.credo").predict_proba(X), model.predict_proba(X))


def test_calibrations_that_no_fit_has():
    line = np.linspace(0.0, 1.0, 3)
    for knots in (line[::-1], np.full(3, np.nan), line[:2]):
        with pytest.raises(ValueError, match="increasing knots"):
            Calibration("isotonic", ScoreScaling.identity(2), (knots, line), (line, line))._check_state()
    Calibration("isotonic", ScoreScaling.identity(2), (line, line), (line, line))._check_state()
