"""Several targets and missing ones: what a model of each column alone would say, from one factor."""

import numpy as np
import pytest

import credo
from credo.distributions import Distribution, MultivariateNormal
from credo.gp import GPRegressor
from credo.kernels import RBF, Matern52

FIXED = {"hyperparameters": "fixed", "standardize": False}


def table(n=25, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    Y = np.column_stack([np.sin(2 * X[:, 0]), 3.0 + 10 * np.cos(X[:, 1])]) + 0.1 * rng.normal(size=(n, 2))
    return X, Y


def holes(Y, seed=1):
    gappy = Y.copy()
    gappy[np.random.default_rng(seed).random(Y.shape) < 0.3] = np.nan
    return gappy


@pytest.mark.parametrize("mean", ["zero", "constant", "linear"])
@pytest.mark.parametrize("gaps", [False, True])
def test_fixed_hyperparameters_make_columns_independent(mean, gaps):
    X, Y = table()
    Y = holes(Y) if gaps else Y
    options = {"mean": mean, "noise": 0.2, **FIXED}
    model = GPRegressor(Matern52([0.8, 1.5]), **options).fit(X, Y)
    new = X[:4] + 0.1
    mean_all, std_all = model.predict(new, return_std=True)
    evidence = 0.0
    for j in range(2):
        seen = ~np.isnan(Y[:, j])
        # The linear mean is centred by all training rows, which moves its coefficients but not the process.
        alone = GPRegressor(Matern52([0.8, 1.5]), **options).fit(X[seen], Y[seen, j])
        np.testing.assert_allclose(mean_all[:, j], alone.predict(new), rtol=1e-9)
        np.testing.assert_allclose(std_all[:, j], alone.predict_dist(new).std, rtol=1e-9)
        joint, alone_joint = model.predict_dist(new, joint=True)[j], alone.predict_dist(new, joint=True)
        np.testing.assert_allclose(joint.cov, alone_joint.cov, atol=1e-9)
        evidence += alone.log_evidence_
    if mean != "linear":
        assert model.log_evidence_ == pytest.approx(evidence, rel=1e-10)


def test_missing_targets_of_one_column_are_rows_left_out():
    X, Y = table()
    y = holes(Y)[:, 0]
    seen = ~np.isnan(y)
    whole, less = (GPRegressor(random_state=0).fit(*part) for part in ((X, y), (X[seen], y[seen])))
    assert whole.log_evidence_ == less.log_evidence_
    np.testing.assert_array_equal(whole.predict(X), less.predict(X))


def test_learned_hyperparameters_climb_the_sum_of_evidences():
    X, Y = table()
    model = GPRegressor(hyperpriors=False, n_restarts=0).fit(X, holes(Y))
    value, gradient = model.log_evidence(model.theta_)
    assert value == pytest.approx(model.log_evidence_, rel=1e-12)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-2)
    theta = model.theta_ + 0.3
    for i, axis in enumerate(np.eye(len(theta))):
        ends = [model.log_evidence(theta + s * 1e-5 * axis, gradient=False) for s in (1, -1)]
        assert model.log_evidence(theta)[1][i] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5, abs=1e-5)


def test_each_column_has_its_own_units():
    X, Y = table()
    base, scaled = GPRegressor().fit(X, Y), GPRegressor().fit(X, Y * [1e6, 1e-3] + [5.0, -1.0])
    new = X[:5] + 0.2
    for j, (factor, offset) in enumerate([(1e6, 5.0), (1e-3, -1.0)]):
        one, other = base.predict_dist(new)[j], scaled.predict_dist(new)[j]
        np.testing.assert_allclose(other.mean, factor * one.mean + offset, rtol=1e-4)
        np.testing.assert_allclose(other.std, factor * one.std, rtol=1e-3)
        assert scaled.noise_variance_[j] == pytest.approx(factor**2 * base.noise_variance_[j], rel=1e-2)
    shift = 25 * (np.log(1e6) + np.log(1e-3)) - np.log(1e6) - np.log(1e-3)
    assert scaled.log_evidence_ == pytest.approx(base.log_evidence_ - shift, abs=0.02)


def test_a_known_noise_is_in_the_units_of_every_column():
    X, Y = table()
    model = GPRegressor(RBF([1.0, 1.0]), noise=0.04).fit(X, Y)
    np.testing.assert_allclose(model.noise_variance_, 0.04)
    far = np.full((1, 2), 1e3)
    for j in range(2):
        total, inner = model.predict_dist(far)[j].var, model.predict_dist(far, latent=True)[j].var
        np.testing.assert_allclose(total - inner, 0.04, rtol=1e-6)


def test_leave_one_out_by_brute_force_with_gaps():
    X, Y = table(12)
    Y[3, 0] = Y[5, 1] = np.nan
    options = {"noise": 0.1, **FIXED}
    model = GPRegressor(RBF(1.0), **options).fit(X, Y)
    left_out = model.loo()
    for given, i in enumerate(range(len(X))):
        for j in range(2):
            rest = Y.copy()
            rest[i, j] = np.nan
            there = GPRegressor(RBF(1.0), **options).fit(X, rest).predict_dist(X[i : i + 1])[j]
            assert left_out[j].mean[given] == pytest.approx(there.mean[0], abs=1e-8)
            assert left_out[j].std[given] == pytest.approx(there.std[0], rel=1e-8)


@pytest.mark.parametrize("gaps", [False, True])
def test_update_equals_a_refit(gaps):
    X, Y = table()
    Y = holes(Y) if gaps else Y
    options = {"noise": 0.1, **FIXED}
    grown = GPRegressor(RBF([1.0, 2.0]), **options).fit(X[:18], Y[:18]).update(X[18:], Y[18:])
    whole = GPRegressor(RBF([1.0, 2.0]), **options).fit(X, Y)
    np.testing.assert_allclose(grown.predict(X), whole.predict(X), atol=1e-8)
    assert grown.log_evidence_ == pytest.approx(whole.log_evidence_, rel=1e-9)
    assert grown.log_evidence(grown.theta_)[0] == pytest.approx(grown.log_evidence_, rel=1e-9)


def test_draws_and_covariances_have_an_axis_for_the_targets():
    X, Y = table()
    model = GPRegressor(RBF([1.0, 1.0]), noise=0.1, **FIXED).fit(X, Y)
    draws = model.sample(X[:3], 4000, random_state=0)
    assert draws.shape == (4000, 3, 2)
    mean, cov = model.predict(X[:3], return_cov=True)
    assert cov.shape == (3, 3, 2)
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.03)
    for j, dist in enumerate(model.predict_dist(X[:3], latent=True, joint=True)):
        assert isinstance(dist, MultivariateNormal)
        np.testing.assert_allclose(np.cov(draws[:, :, j].T), dist.cov, atol=0.01)
    assert model.sample(X[:3], 5, prior=True, random_state=0).shape == (5, 3, 2)


def test_weights_are_copies_with_gaps():
    X, Y = table(12)
    Y = holes(Y)
    weight = np.arange(12) % 3 + 1
    options = {"noise": 0.3, **FIXED}
    weighted = GPRegressor(RBF(1.0), **options).fit(X, Y, sample_weight=weight)
    copied = GPRegressor(RBF(1.0), **options).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0))
    np.testing.assert_allclose(weighted.predict(X), copied.predict(X), rtol=1e-10)
    assert weighted.log_evidence_ == pytest.approx(copied.log_evidence_, rel=1e-10)


def test_files_bring_it_back(tmp_path):
    X, Y = table()
    model = GPRegressor(n_restarts=0).fit(X, holes(Y))
    credo.save(model, tmp_path / "model.credo")
    again = credo.load(tmp_path / "model.credo")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.log_evidence(model.theta_)[0] == model.log_evidence(model.theta_)[0]


def test_one_column_as_a_matrix_stays_a_matrix():
    X, Y = table()
    model = GPRegressor(n_restarts=0).fit(X, Y[:, :1])
    assert model.predict(X).shape == (25, 1)
    (dist,) = model.predict_dist(X)
    assert isinstance(dist, Distribution)
    np.testing.assert_allclose(dist.mean, GPRegressor(n_restarts=0).fit(X, Y[:, 0]).predict(X), rtol=1e-6)


def test_messages():
    X, Y = table()
    with pytest.raises(ValueError, match="column 1 of y is missing"):
        GPRegressor().fit(X, np.column_stack([Y[:, 0], np.full(25, np.nan)]))
    with pytest.raises(ValueError, match="every value of y is missing"):
        GPRegressor().fit(X, np.full(25, np.nan))
    with pytest.raises(ValueError, match="infinity"):
        GPRegressor().fit(X, np.where(Y > 3, np.inf, Y))
    model = GPRegressor(n_restarts=0).fit(X, Y)
    with pytest.raises(ValueError, match="fitted to y of shape"):
        model.update(X[:1], [1.0])
    with pytest.raises(ValueError, match="single target"):
        model.paths(2)
