"""Models of a transformed target, against models by hand and scipy's distributions."""

import copy

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import credo
from credo.distributions import BoxCox, Distribution, Identity, Log, Transformed, YeoJohnson
from credo.ensemble import TransformedTarget
from credo.linear import BayesianLinearRegression, LinearRegression, Ridge

FORMS = ("auto", "log", "box-cox", "yeo-johnson", "identity")


def maximum():
    """Its predictions are normal."""
    return BayesianLinearRegression("evidence", noise_precision="evidence")


def prices(n=400, seed=0, noise=0.5, center=3.0):
    """Lognormal targets of two inputs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.exp(center + X @ [0.8, -0.4] + noise * rng.normal(size=n))


def test_log_scores_are_those_of_a_lognormal_model_by_hand_and_beat_the_untransformed_one():
    (X, y), (X_new, y_new) = prices(), prices(n=3000, seed=1)
    model = TransformedTarget(maximum(), transformation="log", random_state=0).fit(X, y)
    inner = maximum().fit(X, np.log(y)).predict_dist(X_new)
    oracle = stats.lognorm(inner.std, scale=np.exp(inner.mean))
    dist = model.predict_dist(X_new)
    np.testing.assert_allclose(dist.log_prob(y_new), oracle.logpdf(y_new), rtol=1e-9)
    np.testing.assert_allclose(model.predict(X_new), oracle.mean(), rtol=1e-10)
    np.testing.assert_allclose(model.predict(X_new, return_std=True)[1], oracle.std(), rtol=1e-10)
    plain = BayesianLinearRegression().fit(X, y).predict_dist(X_new)
    assert credo.log_score(y_new, dist) > credo.log_score(y_new, plain) + 0.2
    assert credo.crps(y_new, dist) < credo.crps(y_new, plain)


@pytest.mark.parametrize("form", ["auto", "log", "box-cox"])
def test_intervals_are_positive_and_hold_what_they_promise(form):
    (X, y), (X_new, y_new) = prices(n=2000, seed=5), prices(n=4000, seed=2)
    dist = TransformedTarget(transformation=form, random_state=0).fit(X, y).predict_dist(X_new)
    lower, upper = dist.interval(0.95)
    assert (lower > 0).all()
    assert 0.93 < np.mean((lower <= y_new) & (y_new <= upper)) < 0.97


def test_auto_leaves_alone_what_needs_nothing_and_takes_the_log_of_what_does():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 2))
    plain = 50 + X @ [1.0, -2.0] + rng.normal(size=300)
    assert TransformedTarget(random_state=0).fit(X, plain).transformation_ == Identity()
    # Skew that comes from the inputs is no reason to transform.
    skewed = np.exp(X[:, :1])
    assert (
        TransformedTarget(random_state=0).fit(skewed, 10 + 5 * skewed[:, 0] + rng.normal(size=300)).transformation_
        == Identity()
    )
    assert TransformedTarget(random_state=0).fit(*prices()).transformation_ == Log()


def test_identity_is_the_estimator_itself():
    X, y = prices()
    ours, plain = (
        TransformedTarget(transformation="identity", random_state=0).fit(X, y),
        BayesianLinearRegression().fit(X, y),
    )
    np.testing.assert_array_equal(ours.predict_dist(X).std, plain.predict_dist(X).std)
    assert ours.log_evidence_ == plain.log_evidence_ and str(ours.summary()) == str(plain.summary())


def test_the_evidence_is_that_of_y():
    """With proper priors and no intercept it is the log density of all targets: a multivariate lognormal."""
    X, y = prices(n=30)
    inner = BayesianLinearRegression(2.0, noise_precision=4.0, fit_intercept=False)
    model = TransformedTarget(inner, transformation="log", random_state=0).fit(X, y)
    joint = stats.multivariate_normal(np.zeros(30), np.eye(30) / 4 + X @ X.T / 2)
    np.testing.assert_allclose(model.log_evidence_, joint.logpdf(np.log(y)) - np.log(y).sum(), rtol=1e-10)
    assert model.evidence_method_ == "exact"
    weighted = TransformedTarget(inner, transformation="log", random_state=0).fit(X, y, np.repeat([1.0, 2.0], 15))
    copies = np.repeat(np.arange(30), np.repeat([1, 2], 15))
    repeated = TransformedTarget(inner, transformation="log", random_state=0).fit(X[copies], y[copies])
    np.testing.assert_allclose(weighted.log_evidence_, repeated.log_evidence_, rtol=1e-10)


def test_the_base_of_the_evidence_names_the_transformation():
    X, y = prices()
    plain = BayesianLinearRegression().fit(X, y).evidence_base_
    fitted = {form: TransformedTarget(transformation=form, random_state=0).fit(X, y).evidence_base_ for form in FORMS}
    assert fitted["identity"] == plain
    assert fitted["log"] == f"{plain}; transformation: log"
    assert fitted["auto"] == f"{plain}; transformation: log, maximized"
    assert fitted["yeo-johnson"].startswith(f"{plain}; transformation: Yeo–Johnson λ=")
    ridge = TransformedTarget(Ridge(), transformation="log", random_state=0).fit(X, y)
    assert not hasattr(ridge, "log_evidence_") and not hasattr(ridge, "evidence_base_")


def test_a_student_t_counts_as_the_normal_of_its_mean_and_variance():
    X, y = prices(n=50)
    model = TransformedTarget(LinearRegression(), transformation="log", random_state=0).fit(X, y)
    inner = LinearRegression().fit(X, np.log(y)).predict_dist(X)
    dist, oracle = model.predict_dist(X), stats.lognorm(s=inner.std, scale=np.exp(inner.mean))
    np.testing.assert_allclose(dist.mean, oracle.mean(), rtol=1e-9)
    np.testing.assert_allclose(dist.interval(0.95), oracle.interval(0.95), rtol=1e-9)
    assert np.isfinite(dist.crps(y)).all()
    np.testing.assert_array_equal(model.predict(X), dist.mean)


def test_a_mean_that_is_infinite_gives_way_to_the_median():
    # Four rows leave a line of one column two degrees of freedom.
    X, y = np.arange(4.0)[:, None], np.exp([0.0, 1.1, 1.9, 3.2])
    model = TransformedTarget(LinearRegression(), transformation="log", random_state=0).fit(X, y)
    dist = model.predict_dist(X)
    assert np.isposinf(dist.mean).all()
    np.testing.assert_array_equal(model.predict(X), dist.quantile(0.5))
    np.testing.assert_allclose(model.predict(X), np.exp(LinearRegression().fit(X, np.log(y)).predict(X)), rtol=1e-12)


def test_the_latent_band_is_that_of_the_median():
    X, y = prices()
    pipeline = make_pipeline(StandardScaler(), maximum())
    for inner in (maximum(), pipeline):
        model = TransformedTarget(inner, transformation="log", random_state=0).fit(X, y)
        band = model.predict_dist(X, latent=True)
        scaled = X if inner is not pipeline else StandardScaler().fit_transform(X)
        latent = maximum().fit(scaled, np.log(y)).predict_dist(scaled, latent=True)
        np.testing.assert_allclose(band.interval(0.9)[1], np.exp(latent.interval(0.9)[1]), rtol=1e-10)


def test_takes_pipelines_with_weights_and_models_of_tables():
    X, y = prices()
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    pipeline = make_pipeline(StandardScaler(), BayesianLinearRegression())
    model = TransformedTarget(pipeline, transformation="log", random_state=0).fit(X, y, weight)
    assert (model.predict(X) > 0).all() and "log" in model.summary().title
    table = pd.DataFrame({"x": X[:, 0], "kind": np.where(X[:, 1] > 0, "a", "b")})
    inside = TransformedTarget(credo.TableModel(None, BayesianLinearRegression()), random_state=0).fit(table, y)
    outside = credo.TableModel(None, TransformedTarget(random_state=0), "price").fit(table.assign(price=y))
    for fitted in (inside, outside):
        assert (fitted.predict_dist(table).interval(0.95)[0] > 0).all()
        assert np.isfinite(fitted.log_evidence_)
    np.testing.assert_allclose(inside.predict(table), outside.predict(table), rtol=1e-6)
    assert "log" in outside.summary().title


@pytest.mark.parametrize("form", FORMS)
def test_files_and_copies_bring_it_back(form, tmp_path):
    X, y = prices(n=60)
    model = TransformedTarget(
        make_pipeline(StandardScaler(), BayesianLinearRegression()), transformation=form, random_state=0
    )
    model.fit(X, y)
    credo.save(model, tmp_path / "model.credo")
    for back in (credo.load(tmp_path / "model.credo"), copy.deepcopy(model)):
        assert back.transformation_ == model.transformation_ and back.log_evidence_ == model.log_evidence_
        np.testing.assert_array_equal(
            back.predict_dist(X).quantile([0.1, 0.9]), model.predict_dist(X).quantile([0.1, 0.9])
        )


def test_a_given_transformation_is_used_as_it_is_and_saved(tmp_path):
    X, y = prices(n=60)
    for given in (BoxCox(0.25, 10.0), YeoJohnson(0.5), Log()):
        model = TransformedTarget(transformation=given, random_state=0).fit(X, y)
        assert model.transformation_ == given and clone(model).transformation == given
        credo.save(model, tmp_path / "model.credo")
        assert credo.load(tmp_path / "model.credo").transformation == given


def test_compares_with_untransformed_models():
    X, y = prices()
    models = {"linear": BayesianLinearRegression(), "log": TransformedTarget(transformation="log", random_state=0)}
    table = credo.compare(models, X, y, random_state=0)
    assert table.scores[0].name == "log" and table.scores[0].error is None
    # A Student t after a log has no CRPS; its log score and errors still compare.
    heavy = credo.compare(
        {"t": TransformedTarget(LinearRegression(), transformation="log", random_state=0)}, X, y, random_state=0
    )
    assert heavy.scores[0].error is None


def test_what_can_t_be_fitted_is_refused_in_words():
    X, y = prices()
    for form in ("log", "box-cox"):
        with pytest.raises(
            ValueError, match=rf"transformation='{form}' needs positive targets, but the smallest is -1"
        ):
            TransformedTarget(transformation=form).fit(X, np.where(np.arange(len(y)) == 3, -1.0, y))
    with pytest.raises(ValueError, match=r"Log\(\) needs targets between 0 and inf; got 0"):
        TransformedTarget(transformation=Log()).fit(X, np.where(np.arange(len(y)) == 3, 0.0, y))
    with pytest.raises(ValueError, match=r"transformation must be 'auto', 'identity', .* got 'sqrt'"):
        TransformedTarget(transformation="sqrt").fit(X, y)
    with pytest.raises(ValueError, match=r"NoWeights\.fit takes no sample_weight: use another estimator"):
        TransformedTarget(NoWeights()).fit(X, y, np.ones(len(y)))


class NoWeights(BayesianLinearRegression):
    def fit(self, X, y):  # type: ignore[override]
        return super().fit(X, y)


@pytest.mark.parametrize("form", ["log", "box-cox"])
def test_scikit_learn_contract_of_positive_targets(form):
    check_estimator(TransformedTarget(transformation=form, random_state=0))


def test_predicts_a_distribution_of_y():
    X, y = prices()
    dist = TransformedTarget(transformation="box-cox", random_state=0).fit(X, y).predict_dist(X)
    assert isinstance(dist, Distribution) and isinstance(dist, Transformed)


def test_linear_extrapolation_keeps_one_odd_row_from_exploding(tmp_path):
    X, y = prices()
    free, kept = (
        TransformedTarget(transformation="log", extrapolation=how, random_state=0).fit(X, y)
        for how in ("continue", "linear")
    )
    far = np.array([[30.0, -30.0]])
    median, most = free.predict_dist(far).quantile(0.5)[0], y.max()
    assert median > 1e6 * most
    # The tangent of exp at the largest target.
    assert kept.predict_dist(far).quantile(0.5)[0] == pytest.approx(most * (1 + np.log(median / most)))
    assert most < kept.predict(far)[0] < 100 * most
    rows = X[free.predict_dist(X).quantile(0.999) < most]
    np.testing.assert_allclose(kept.predict(rows), free.predict(rows), rtol=0.01)
    credo.save(kept, tmp_path / "model.credo")
    assert credo.load(tmp_path / "model.credo").predict(far) == kept.predict(far)
