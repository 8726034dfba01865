"""Averages of models: Bayes' rule by hand, exact leave-one-out by refitting, and what concentrates and what doesn't."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression as PlainRegression
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import credo
from credo.core.estimator import FitWarning
from credo.core.notices import collected
from credo.distributions import Mixture
from credo.ensemble import Committee, ModelAverage
from credo.features import Polynomial
from credo.gp import GPRegressor
from credo.kernels import RBF
from credo.linear import BayesianLinearRegression, BayesianLogisticRegression, LinearRegression


def waves(n=40, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, size=(n, 1))
    return x, np.sin(2 * x[:, 0]) + 0.2 * rng.normal(size=n)


def polynomials(*degrees):
    return [
        (f"degree {degree}", make_pipeline(Polynomial(degree), BayesianLinearRegression(1.0))) for degree in degrees
    ]


def test_weights_are_posterior_probabilities_and_the_predictive_is_their_mixture():
    X, y = waves()
    prior = {"degree 1": 0.2, "degree 3": 0.1, "degree 5": 0.7}
    model = ModelAverage(polynomials(1, 3, 5), prior=prior, random_state=0).fit(X, y)
    single = [pipeline.fit(X, y) for _, pipeline in polynomials(1, 3, 5)]
    evidence = np.array([pipeline[-1].log_evidence_ for pipeline in single])
    np.testing.assert_allclose(model.weights_, softmax(evidence + np.log([0.2, 0.1, 0.7])), rtol=1e-9)
    assert model.log_evidence_ == pytest.approx(np.log(np.exp(evidence) @ [0.2, 0.1, 0.7]), rel=1e-9)
    assert model.evidence_base_ == single[0][-1].evidence_base_ and model.evidence_method_ == "exact"
    dist, new = model.predict_dist(X), X[:7]
    by_hand = Mixture([credo.predictive(pipeline, X) for pipeline in single], model.weights_)
    np.testing.assert_allclose(dist.log_prob(y), by_hand.log_prob(y), rtol=1e-9)
    within, between = model.variance_parts(new)
    np.testing.assert_allclose(within + between, model.predict_dist(new).var, rtol=1e-9)
    assert (between > 0).all() and "weight of degree 3" in str(model.summary())
    same = ModelAverage(polynomials(1, 3, 5), prior=[0.2, 0.1, 0.7], random_state=0).fit(X, y)
    np.testing.assert_array_equal(same.weights_, model.weights_)
    assert (model.predict_dist(X, latent=True).std < dist.std).all()


def test_evidence_concentrates_on_one_model_and_stacking_combines():
    # In truth, y depends on the one input in half of the rows and on the other in the rest.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    y = np.where(rng.random(3000) < 0.5, 3 * X[:, 0], 3 * X[:, 1]) + 0.3 * rng.normal(size=3000)
    pairs = [
        (name, make_pipeline(make_column_transformer(("passthrough", [column])), BayesianLinearRegression(1.0)))
        for column, name in enumerate(["first", "second"])
    ]
    evidence = [ModelAverage(pairs, prior=None, random_state=0).fit(X[:n], y[:n]) for n in (4, 400, 2000)]
    # Which one wins is chance, but one does, although neither is true.
    entropy = [-(m.weights_ @ np.log(np.maximum(m.weights_, 1e-300))) for m in evidence]
    assert entropy[0] > 0.05 and entropy[2] < 1e-3
    stacked = ModelAverage(pairs, weights="stacking", cv=3, random_state=0).fit(X[:400], y[:400])
    assert stacked.held_out_method_ == "3 folds" and stacked.held_out_scores_.shape == (400, 2)
    assert 0.3 < stacked.weights_[0] < 0.7 and not hasattr(stacked, "log_evidence_")
    new = slice(2000, 3000)
    scores = [credo.log_score(y[new], m.predict_dist(X[new])) for m in (stacked, evidence[1])]
    assert scores[0] > scores[1] + 0.05


FIXED = [
    LinearRegression(),
    LinearRegression(fit_intercept=False),
    BayesianLinearRegression(0.5, noise_precision=20.0),
    BayesianLinearRegression(0.5, noise_precision="conjugate", noise_prior=(1.0, 0.1)),
    BayesianLinearRegression(0.5, noise_precision="conjugate", noise_prior=(1.0, 0.1), fit_intercept=False),
    GPRegressor(RBF(0.8), noise=0.05, hyperparameters="fixed", standardize=False, mean="zero"),
]


@pytest.mark.parametrize("weight", [None, np.resize([0.1, 0.5, 1.0, 2.5], 12)], ids=["plain", "weighted"])
@pytest.mark.parametrize("model", FIXED, ids=repr)
def test_closed_forms_of_leave_one_out_are_refits(model, weight):
    """One observation leaves: of a row of weight 2.5, 1.5 stay, and one of weight below 1 leaves as a whole."""
    X, y = waves(12)
    found = model.fit(X, y, sample_weight=weight)._left_out(X, y, weight)
    before = np.ones(12) if weight is None else weight
    for i in range(12):
        rest = np.where(np.arange(12) == i, np.maximum(before - 1.0, 0.0), before)
        refitted = clone(model).fit(X, y, sample_weight=rest).predict_dist(X[[i]])
        np.testing.assert_allclose(found[[i]].quantile([0.1, 0.5, 0.9]), refitted.quantile([0.1, 0.5, 0.9]), rtol=1e-7)


@pytest.mark.parametrize("model", FIXED, ids=repr)
def test_a_left_out_row_of_weight_two_is_one_of_two_copies(model):
    X, y = waves(12)
    weight = np.resize([1, 2], 12)
    weighted = model.fit(X, y, sample_weight=weight)._left_out(X, y, weight.astype(float))
    rows, target = np.repeat(X, weight, axis=0), np.repeat(y, weight)
    copied = clone(model).fit(rows, target)._left_out(rows, target, None)
    np.testing.assert_allclose(np.repeat(weighted.log_prob(y), weight), copied.log_prob(target), rtol=1e-7)


def test_a_row_that_alone_determines_a_coefficient_cannot_be_predicted_from_the_others():
    X, y = waves(12)
    one = np.column_stack([X[:, 0], np.arange(12) == 0])
    assert LinearRegression().fit(one, y)._left_out(one, y, None) is None


def test_stacking_with_weights_below_one():
    X, y = waves()
    pairs = [("line", LinearRegression()), ("bayes", BayesianLinearRegression()), ("process", GPRegressor(RBF(0.8)))]
    plain, near, tenth = (
        ModelAverage(pairs, weights="stacking", random_state=0).fit(X, y, sample_weight=np.full(len(y), weight))
        for weight in (1.0, 0.9, 0.1)
    )
    # A tenth of 40 rows determines little, but all of it is finite.
    assert tenth.held_out_method_ == "leave-one-out" and np.isfinite(tenth.held_out_scores_).all()
    np.testing.assert_allclose(near.held_out_scores_.mean(axis=0), plain.held_out_scores_.mean(axis=0), atol=0.03)
    np.testing.assert_allclose(near.weights_, plain.weights_, atol=0.03)


def test_stacking_by_leave_one_out_maximizes_the_score_that_it_reports():
    X, y = waves()
    pairs = [("line", LinearRegression()), ("process", GPRegressor(RBF(0.8), hyperparameters="fixed"))]
    model = ModelAverage(pairs, weights="stacking", random_state=0).fit(X, y)
    assert model.held_out_method_ == "leave-one-out" and model.weights_[1] > 0.8
    mixture = np.logaddexp.reduce(model.held_out_scores_ + np.log(np.maximum(model.weights_, 1e-300)), axis=1)
    for other in np.linspace(0.01, 0.99, 9):
        rival = np.logaddexp.reduce(model.held_out_scores_ + np.log([other, 1 - other]), axis=1)
        assert mixture.mean() >= rival.mean() - 1e-9
    assert "leave-one-out" in str(model.summary())


def test_evidences_of_different_bases_are_refused_and_the_odd_one_is_named():
    X, y = waves()
    same = [("a", BayesianLinearRegression(1.0)), ("b", BayesianLinearRegression(2.0))]
    odd = ("other", BayesianLinearRegression(1.0, noise_precision=1.0, fit_intercept=False))
    with pytest.raises(
        ValueError, match=r"evidence of other .* base is \(proper priors\), .*intercept: flat.*stacking"
    ):
        ModelAverage([*same, odd]).fit(X, y)
    with pytest.raises(ValueError, match=r"plain \(LinearRegression\) has no evidence: .*stacking"):
        ModelAverage([*same, ("plain", LinearRegression())]).fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimators": []}, "at least one"),
        ({"estimators": [BayesianLinearRegression()]}, r"list of \(name, estimator\) pairs"),
        ({"estimators": [("a", LinearRegression()), ("a", LinearRegression())]}, "'a' occurs more than once"),
        (
            {"estimators": [("a", LinearRegression()), ("b", RidgeClassifier())]},
            "'a' is a regressor and 'b' a classifier",
        ),
        ({"estimators": [("a", StandardScaler())]}, "pairs of a name and an estimator"),
        ({"prior": [0.5, 0.5]}, "2 probabilities for 1 estimators"),
        ({"prior": [0.5]}, "sum to one"),
        ({"prior": {"b": 1.0}}, "prior must name the estimators a"),
        ({"prior": [1.0], "weights": "stacking"}, "leave prior out"),
        ({"weights": "bic"}, "'evidence', 'stacking'"),
    ],
)
def test_bad_arguments_are_refused_in_words(options, message):
    with pytest.raises(ValueError, match=message):
        ModelAverage(**{"estimators": [("a", BayesianLinearRegression())], **options}).fit(*waves())


class Fails(BayesianLinearRegression):
    def fit(self, X, y, sample_weight=None):
        raise RuntimeError("no such thing")


def test_a_member_that_fails_is_named_and_the_others_go_on():
    X, y = waves()
    for model in (
        Committee([("good", LinearRegression()), ("bad", Fails())]),
        ModelAverage([("good", BayesianLinearRegression()), ("bad", Fails())], prior=[0.9, 0.1], random_state=0),
        ModelAverage({"good": LinearRegression(), "bad": Fails()}, weights="stacking", random_state=0),
    ):
        with pytest.warns(FitWarning, match="bad failed and is left out: RuntimeError: no such thing"):
            model.fit(X, y)
        assert model.names_ == ["good"] and model.weights_.tolist() == [1.0]
        assert "bad failed" in model.result_.message
        np.testing.assert_allclose(model.predict(X), model.estimators_[0].predict(X), rtol=1e-12)
    with pytest.raises(RuntimeError, match="no such thing"):
        Committee([("bad", Fails())]).fit(X, y)
    with pytest.raises(ValueError, match="number: LinearRegression predicts numbers without a distribution"):
        Committee([("number", PlainRegression())]).fit(X, y)


def test_a_committee_averages_and_says_what_that_is_worth():
    X, y = waves(200)
    pairs = [*polynomials(1, 3), ("process", GPRegressor(RBF(0.5), hyperparameters="fixed"))]
    model = Committee(pairs).fit(X[:80], y[:80])
    means = np.array([credo.predictive(m, X[80:]).mean for m in model.estimators_])
    np.testing.assert_allclose(model.predict(X[80:]), means.mean(axis=0), rtol=1e-10)
    found = model.diagnosis(X[80:], y[80:])
    errors = means - y[80:]
    assert found.member_error == pytest.approx((errors**2).mean())
    assert found.committee_error == pytest.approx((errors.mean(axis=0) ** 2).mean())
    assert found.uncorrelated_error == pytest.approx((errors**2).mean() / 3)
    cross = errors @ errors.T / 120
    correlation = (cross.sum() - np.trace(cross)) / 6 / (np.trace(cross) / 3)
    assert found.correlation == pytest.approx(correlation)
    # Bishop, section 14.2.
    assert found.committee_error == pytest.approx(found.member_error * (1 / 3 + 2 / 3 * correlation))
    assert "E_COM" in str(found) and "held-out rows" in str(found)
    assert model.get_params()["process__noise"] == "learn"
    assert model.set_params(process__noise=0.1).estimators[2][1].noise == 0.1


def test_classifiers_average_probabilities_and_votes():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 2))
    y = np.where(X[:, 0] + rng.normal(size=120) > 0, "yes", "no")
    pairs = [("bayes", BayesianLogisticRegression()), ("votes", RidgeClassifier())]
    with collected():
        model = Committee(pairs).fit(X[:60], y[:60])
        members = [m.fit(X[:60], y[:60]) for _, m in pairs]
    votes = (members[1].predict(X)[:, None] == model.classes_).astype(float)
    np.testing.assert_allclose(model.predict_proba(X), (members[0].predict_proba(X) + votes) / 2, rtol=1e-12)
    found = model.diagnosis(X[60:], y[60:])
    assert found.committee_error_rate == pytest.approx(1 - model.score(X[60:], y[60:]))
    assert not hasattr(model, "variance_parts")
    with pytest.raises(ValueError, match="label 'maybe'"):
        model.diagnosis(X[:1], ["maybe"])
    with collected():
        stacked = ModelAverage(pairs, weights="stacking", random_state=0).fit(X, y)
    assert stacked.held_out_method_ == "5 folds" and stacked.weights_.sum() == pytest.approx(1.0)
    averaged = ModelAverage(
        [("a", BayesianLogisticRegression(1.0)), ("b", BayesianLogisticRegression(100.0))], random_state=0
    ).fit(X, y)
    assert averaged.log_evidence_ < 0 and averaged.evidence_method_ == "elbo"


def test_one_row_and_rows_of_weight_zero():
    X, y = waves(10)
    with pytest.raises(ValueError, match="at least two rows"):
        ModelAverage([("a", make_pipeline(GPRegressor()))], weights="stacking").fit(X[:1], y[:1])
    weight = np.r_[np.ones(8), 0.0, 0.0]
    model = Committee([("a", LinearRegression())])
    np.testing.assert_allclose(
        model.fit(X, y, sample_weight=weight).predict(X), model.fit(X[:8], y[:8]).predict(X), rtol=1e-12
    )
