"""Ridge against scikit-learn, brute-force leave-one-out and its limits."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge as SkRidge

from credo.kernel_machines import KernelRidge
from credo.kernels import Linear
from credo.linear import BayesianLinearRegression, LinearRegression, Ridge, ridge_path


@pytest.fixture(params=[(40, 5), (12, 30)], ids=["tall", "wide"])
def table(request):
    rng = np.random.default_rng(5)
    X = rng.normal(size=request.param) + 2
    return X, X[:, :3] @ [1.0, -2.0, 0.5] + rng.normal(size=len(X))


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_weights_agree_with_scikit_learn(table, alpha, intercept):
    X, y = table
    weight = np.linspace(0.5, 3, len(y))
    ours = Ridge(alpha, fit_intercept=intercept).fit(X, y, sample_weight=weight)
    theirs = SkRidge(alpha, fit_intercept=intercept, solver="svd").fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-8, atol=1e-9)


def test_path_and_leave_one_out_by_brute_force(table):
    X, y = table
    alphas, coefs, errors = ridge_path(X, y, alphas=[0.1, 1.0, 30.0])
    assert list(alphas) == [30.0, 1.0, 0.1]
    for k, alpha in enumerate(alphas):
        np.testing.assert_allclose(coefs[:, k], Ridge(alpha).fit(X, y).coef_, rtol=1e-10)
        left_out = [
            y[i] - SkRidge(alpha, solver="svd").fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[i : i + 1])[0]
            for i in range(len(y))
        ]
        assert errors[k] == pytest.approx(np.mean(np.square(left_out)), rel=1e-8)


def test_loo_takes_the_best_candidate(table):
    X, y = table
    model = Ridge("loo").fit(X, y)
    assert model.alpha_ == model.alphas_[np.argmin(model.loo_errors_)]
    assert Ridge("loo", alphas=[0.5]).fit(X, y).result_.message == "alpha selected by leave-one-out cross-validation"


def test_loo_says_when_an_end_of_the_range_wins():
    rng = np.random.default_rng(3)
    X, noise = rng.normal(size=(40, 5)), rng.normal(size=40)
    assert "largest alpha was selected" in Ridge("loo", alphas=[1e-3, 1e-2]).fit(X, noise).result_.message
    assert "smallest alpha was selected" in Ridge("loo", alphas=[1e6, 1e7]).fit(X, X.sum(axis=1)).result_.message


def test_loo_counts_weights_as_copies(table):
    X, y = table
    weight = np.resize([1, 2, 3], len(y))
    weighted = Ridge("loo", alphas=[0.1, 1, 10]).fit(X, y, sample_weight=weight)
    repeated = Ridge("loo", alphas=[0.1, 1, 10]).fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.loo_errors_, repeated.loo_errors_, rtol=1e-9)
    np.testing.assert_allclose(weighted.predict_dist(X).std, repeated.predict_dist(X).std, rtol=1e-8)


@pytest.mark.parametrize(
    "regressor", [Ridge, partial(KernelRidge, Linear(), fit_intercept=True)], ids=["primal", "dual"]
)
def test_loo_leaves_a_row_of_weight_below_one_out_as_a_whole(table, regressor):
    X, y = table
    X, y = X[:12], y[:12]
    weight = np.resize([0.1, 0.5, 1.0, 2.5], 12)
    found = regressor(alpha="loo", alphas=[0.5]).fit(X, y, sample_weight=weight).loo_errors_
    errors = []
    for i in range(12):
        rest = np.where(np.arange(12) == i, np.maximum(weight - 1.0, 0.0), weight)
        errors.append(y[i] - regressor(alpha=0.5).fit(X, y, sample_weight=rest).predict(X[[i]])[0])
    assert found == pytest.approx(np.average(np.square(errors), weights=weight))


def test_no_penalty_is_least_squares():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    ridge, plain = Ridge(0.0).fit(X, y), LinearRegression().fit(X, y)
    np.testing.assert_allclose(ridge.coef_, plain.coef_, rtol=1e-10)
    np.testing.assert_allclose(ridge.confint(0.9), plain.confint(0.9), rtol=1e-10)
    # A standard error is a scale; a standard deviation of Student's law is larger.
    np.testing.assert_allclose(ridge.coef_std_, plain.coef_std_error_ * np.sqrt(25 / 23), rtol=1e-10)
    np.testing.assert_allclose(ridge.predict_dist(X).std, plain.predict_dist(X).std, rtol=1e-10)
    assert ridge.dof_ == plain.dof_


def test_no_penalty_and_no_residuals_is_refused():
    X, y = np.eye(3, 5), np.arange(3.0)
    with pytest.raises(ValueError, match="use more rows or a larger alpha"):
        Ridge(0.0).fit(X, y).predict_dist(X)


@pytest.mark.parametrize("shape", [(60, 10), (40, 80)])
def test_intervals_cover_when_the_prior_is_right(shape):
    """150 data sets from the model itself: the binomial sd of a share of 0.9 is 0.024."""
    rng = np.random.default_rng(6)
    inside = []
    for _ in range(150):
        X, new, w = rng.normal(size=shape), rng.normal(size=(1, shape[1])), rng.normal(size=shape[1])
        lower, upper = Ridge(1.0).fit(X, X @ w + rng.normal(size=shape[0])).predict_dist(new).interval(0.9)
        inside.append(lower[0] <= (new @ w)[0] + rng.normal() <= upper[0])
    assert np.mean(inside) == pytest.approx(0.9, abs=0.08)


def test_is_the_bayesian_mean_at_the_same_ratio(table):
    X, y = table
    bayes = BayesianLinearRegression(2.0, noise_precision=0.5).fit(X, y)
    ridge = Ridge(4.0).fit(X, y)
    np.testing.assert_allclose(ridge.coef_, bayes.coef_, rtol=1e-10)
    scale = np.sqrt(ridge.posterior_.parameters()[1][0, 1:])
    np.testing.assert_allclose(scale / ridge.noise_std_, bayes.coef_std_ * bayes.noise_precision_**0.5, rtol=1e-10)


def test_sparse_rows_give_the_dense_answer(table):
    X, y = table
    X = np.where(np.abs(X - 2) > 0.7, X, 0.0)
    dense, light = Ridge("loo").fit(X, y), Ridge("loo").fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(light.coef_, dense.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(light.loo_errors_, dense.loo_errors_, rtol=1e-7)
    np.testing.assert_allclose(light.predict_dist(sparse.csr_array(X)).std, dense.predict_dist(X).std, rtol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alpha": -1.0}, "alpha must be a finite number that is not negative; got -1.0"),
        ({"alpha": "cv"}, "alpha must be a number or \"loo\"; got 'cv'"),
        ({"alpha": "loo", "alphas": [-1.0]}, "alphas must be one or more finite numbers"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Ridge(**arguments).fit(np.eye(4), np.arange(4.0))
