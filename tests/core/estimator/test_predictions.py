"""What models of this library and of others predict, and how their fits ended."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.linear_model import BayesianRidge, RidgeClassifier
from sklearn.linear_model import LinearRegression as Reference
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from credo import BayesianLinearRegression, LinearRegression
from credo.core.estimator import (
    NoDistribution,
    class_probabilities,
    ending_of,
    evidence_of,
    final_step,
    has_distribution,
    is_predictor,
    predictive,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 2))
y = X[:, 0] + 0.1 * rng.normal(size=30)


def pipeline(model):
    return make_pipeline(StandardScaler(), model).fit(X, y)


def test_an_estimator_that_predicts():
    assert all(map(is_predictor, (LinearRegression(), Reference(), pipeline(Reference()), KMeans())))
    assert not any(map(is_predictor, (StandardScaler(), "linear", None)))


def test_models_with_a_distribution_and_those_with_one_of_f():
    for model in (LinearRegression(), pipeline(LinearRegression())):
        assert has_distribution(model) and has_distribution(model, latent=True)
    assert has_distribution(BayesianRidge()) and not has_distribution(BayesianRidge(), latent=True)
    assert not has_distribution(Reference())


def test_predictions_with_a_standard_deviation_are_normal():
    model = BayesianRidge().fit(X, y)
    mean, std = model.predict(X, return_std=True)
    dist = predictive(model, X)
    assert np.array_equal(dist.mean, mean) and np.array_equal(dist.std, std)
    with pytest.raises(NoDistribution, match="LinearRegression has no predict_dist"):
        predictive(Reference().fit(X, y), X)


def test_a_class_that_a_model_has_not_seen_has_probability_zero():
    labels, classes = np.where(X[:, 0] > 0, "a", "c"), np.array(["a", "b", "c"])
    model = GaussianNB().fit(X, labels)
    found = class_probabilities(model, X, classes)
    assert np.array_equal(found[:, [0, 2]], model.predict_proba(X)) and not found[:, 1].any()
    # Without probabilities, the predicted label is certain.
    certain = RidgeClassifier().fit(X, labels)
    assert np.array_equal(classes[class_probabilities(certain, X, classes).argmax(axis=1)], certain.predict(X))


def test_the_evidence_and_the_ending_are_those_of_the_last_step():
    plain = BayesianLinearRegression().fit(StandardScaler().fit_transform(X), y)
    search = GridSearchCV(pipeline(BayesianLinearRegression()), {"standardscaler__with_mean": [True]}, cv=2).fit(X, y)
    for model in (plain, pipeline(BayesianLinearRegression()), search):
        assert evidence_of(model).value == pytest.approx(plain.log_evidence_, abs=1e-9)
        assert ending_of(model) == final_step(model).result_
    assert evidence_of(Reference().fit(X, y)) is None and ending_of(Reference().fit(X, y)) is None
