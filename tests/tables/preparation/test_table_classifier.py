"""A preparation and a classifier as one."""

import warnings

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from credo.distributions import Bernoulli, Categorical
from credo.features import Polynomial
from credo.kernel_machines import SoftNeighborsClassifier
from credo.linear import BayesianLogisticRegression, LinearDiscriminant, LinearRegression, LogisticRegression
from credo.selection import bic
from credo.tables import Preparation, TableModel, load, save

pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(7)
N = 90
FRAME = pd.DataFrame({"height": RNG.normal(20, 5, N), "bark": RNG.choice(["smooth", "rough"], N)})
GROWN = FRAME["height"] + 8 * (FRAME["bark"] == "rough") + RNG.normal(0, 2, N)
KIND = np.where(GROWN > 22, "elm", "oak")


@pytest.mark.filterwarnings("ignore::credo.core.estimator.FitWarning")
def test_scikit_learn_s_checks():
    check_estimator(TableModel(Preparation(), LogisticRegression(1.0)), on_skip=None)


@pytest.mark.parametrize("standardize", [False, True])
def test_a_spread_that_is_not_known_stays_absent(standardize):
    model = TableModel(Preparation(standardize=standardize), LogisticRegression(1.0)).fit(FRAME, KIND)
    assert set(model.summary().columns["sd"]) == {None} and "—" not in str(model.summary())


def fitted(estimator, y=KIND, frame=FRAME):
    return TableModel(Preparation(standardize=True), estimator, "kind").fit(frame, y)


def test_it_is_what_its_estimator_is():
    for estimator, kind in ((LinearDiscriminant(), True), (LinearRegression(), False)):
        model = TableModel(None, estimator)
        assert (is_classifier(model), is_regressor(model)) == (kind, not kind)
    assert is_classifier(TableModel(None, make_pipeline(Polynomial(2), LogisticRegression())))
    assert not hasattr(fitted(LinearRegression(), FRAME["height"].to_numpy()), "predict_proba")
    assert not hasattr(fitted(LinearRegression(), FRAME["height"].to_numpy()), "classes_")


def test_predictions_equal_the_two_steps_by_hand():
    model = fitted(LinearDiscriminant())
    rows = Preparation(standardize=True).fit_transform(FRAME)
    by_hand = LinearDiscriminant().fit(rows, KIND)
    np.testing.assert_allclose(model.predict_proba(FRAME), by_hand.predict_proba(rows), rtol=1e-12)
    assert model.predict(FRAME).tolist() == by_hand.predict(rows).tolist()
    assert model.score(FRAME, KIND) == by_hand.score(rows, KIND)
    assert model.classes_.tolist() == by_hand.classes_.tolist()
    assert bic(model) == pytest.approx(bic(by_hand))
    assert isinstance(model.predict_dist(FRAME), Categorical)


def test_labels_have_no_standard_deviation():
    with pytest.raises(ValueError, match="labels have no standard deviation; predict_proba"):
        fitted(LinearDiscriminant()).predict(FRAME, return_std=True)


def test_labels_are_taken_from_the_frame():
    table = FRAME.assign(kind=KIND)
    table.loc[0, "kind"] = None
    with pytest.warns(UserWarning, match="Left out 1 row whose target 'kind' is missing"):
        model = TableModel(Preparation(), LinearDiscriminant(), "kind").fit(table)
    assert "kind" not in model.preparation_.get_feature_names_out()
    assert set(model.predict(table)) <= set(KIND)


@pytest.mark.parametrize(
    "labels", [["elm", "oak"], [0, 1], [False, True], [-1, 1], ["0.5", "größer"]], ids=lambda labels: str(labels[0])
)
@pytest.mark.parametrize(
    "estimator",
    [LinearDiscriminant(), BayesianLogisticRegression(), SoftNeighborsClassifier()],
    ids=lambda estimator: type(estimator).__name__,
)
def test_saved_and_loaded_bit_for_bit(estimator, labels, tmp_path):
    y = np.array(labels)[(FRAME["height"] > 20).to_numpy().astype(int)]
    model = fitted(estimator, y)
    save(model, tmp_path / "model.credo")
    again = load(tmp_path / "model.credo")
    assert again.predict_proba(FRAME).tobytes() == model.predict_proba(FRAME).tobytes()
    assert again.classes_.dtype == model.classes_.dtype and again.classes_.tolist() == labels
    assert again.predict(FRAME).tolist() == model.predict(FRAME).tolist()
    assert type(again.predict_dist(FRAME)) is (Bernoulli if labels in ([0, 1], [False, True]) else Categorical)
    assert str(again.summary()) == str(model.summary())


def test_weights_in_natural_units_reproduce_the_log_odds():
    model = fitted(LogisticRegression(alpha=1.0))
    intercept, *weights = model.summary().columns["estimate"]
    rows = Preparation().fit_transform(FRAME)
    p = model.predict_proba(FRAME)
    np.testing.assert_allclose(rows @ weights + intercept, np.log(p[:, 1] / p[:, 0]), rtol=1e-8)


def test_of_more_classes_too():
    kind = np.array(["ash", "elm", "oak"])[np.digitize(FRAME["height"] + RNG.normal(0, 3, N), [17, 23])]
    model = fitted(LinearDiscriminant(), kind)
    table = model.summary().columns
    rows = Preparation().fit_transform(FRAME)
    estimate = np.reshape(table["estimate"], (3, -1))
    assert table["parameter"][:2] == ["ash: intercept", "ash: height"]
    scores = rows @ estimate[:, 1:].T + estimate[:, 0]
    logs = np.log(model.predict_proba(FRAME))
    np.testing.assert_allclose(scores - scores[:, :1], logs - logs[:, :1], atol=1e-6)


def test_text_goes_sparse():
    notes = [f"{'cheap offer' if i % 3 else 'see you'} at {i}" for i in range(N)]
    y = np.where(np.arange(N) % 3, "spam", "ham")
    frame = pd.DataFrame({"note": notes})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fitted(LogisticRegression(alpha=1.0), y, frame)
    assert model.score(frame, y) == 1.0
    assert "note: offer" in model.summary().columns["parameter"]


def test_folds_of_scikit_learn_are_stratified():
    model = TableModel(Preparation(), LinearDiscriminant(), "kind")
    assert cross_val_score(model, FRAME, KIND, cv=3).min() > 0.8
