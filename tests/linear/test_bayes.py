"""Bayesian linear regression against scipy's densities, its own sequential form, and the laws it obeys."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.datasets import load_diabetes

from credo.core.estimator import FitWarning
from credo.core.learning import EvidenceTerms, log_evidence_gradient
from credo.linear import BayesianLinearRegression, LinearRegression
from credo.tables import load, save

# The precisions at the maximum of the evidence.
MAXIMUM = {"prior_precision": "evidence", "noise_precision": "evidence"}

# Nine rows and 25 weights often leave no noise; the warning has its own test.
pytestmark = pytest.mark.filterwarnings("ignore:the evidence increases without bound")


@pytest.fixture(params=[(30, 4), (9, 25)], ids=["tall", "wide"])
def table(request):
    rng = np.random.default_rng(11)
    X = rng.normal(size=request.param) + 1
    return X, X[:, :3] @ [1.0, 2.0, -1.0] + 0.5 * rng.normal(size=len(X))


def terms(model):
    """The evidence's ingredients, from the fitted spectrum."""
    data = model.posterior_.spectrum
    half_log = 0.5 * np.log(data.weight) if data.centered else 0.0
    return EvidenceTerms(data.s**2, data.q**2, data.rss, data.dof, half_log)


def test_posterior_by_the_textbook(table):
    X, y = table
    model = BayesianLinearRegression(0.7, noise_precision=3.0, fit_intercept=False).fit(X, y)
    S = np.linalg.inv(0.7 * np.eye(X.shape[1]) + 3.0 * X.T @ X)
    np.testing.assert_allclose(model.coef_cov_, S, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(model.coef_, 3.0 * S @ X.T @ y, rtol=1e-8)
    np.testing.assert_allclose(model.coef_std_, np.sqrt(np.diag(S)), rtol=1e-8)
    np.testing.assert_allclose(model.predict_dist(X).var, 1 / 3 + np.diag(X @ S @ X.T), rtol=1e-8)
    np.testing.assert_allclose(model.predict_dist(X, latent=True).var, np.diag(X @ S @ X.T), rtol=1e-8)
    _, cov = model.predict(X, return_cov=True)
    np.testing.assert_allclose(cov, np.eye(len(X)) / 3 + X @ S @ X.T, rtol=1e-8, atol=1e-10)


def test_evidence_is_the_gaussian_density_of_the_targets(table):
    X, y = table
    model = BayesianLinearRegression(**MAXIMUM, fit_intercept=False).fit(X, y)
    cov = np.eye(len(y)) / model.noise_precision_ + X @ X.T / model.prior_precision_
    assert model.log_evidence_ == pytest.approx(stats.multivariate_normal(cov=cov).logpdf(y), rel=1e-9)
    assert model.evidence_method_ == "exact"


def test_prior_mean_moves_density_and_posterior(table):
    X, y = table
    mean = np.linspace(-1, 1, X.shape[1])
    model = BayesianLinearRegression(2.0, noise_precision=4.0, fit_intercept=False, prior_mean=mean).fit(X, y)
    cov = np.eye(len(y)) / 4 + X @ X.T / 2
    assert model.log_evidence_ == pytest.approx(stats.multivariate_normal(X @ mean, cov).logpdf(y), rel=1e-9)
    S = np.linalg.inv(2 * np.eye(X.shape[1]) + 4 * X.T @ X)
    np.testing.assert_allclose(model.coef_, S @ (2 * mean + 4 * X.T @ y), rtol=1e-8)
    with pytest.raises(ValueError, match="prior_mean must be a number"):
        BayesianLinearRegression(prior_mean=[1.0, 2.0]).fit(X, y)


def test_conjugate_evidence_is_the_student_density(table):
    X, y = table
    model = BayesianLinearRegression(2.0, noise_precision="conjugate", noise_prior=(1.5, 0.7), fit_intercept=False).fit(
        X, y
    )
    shape = 0.7 / 1.5 * (np.eye(len(y)) + X @ X.T / 2)
    oracle = stats.multivariate_t(np.zeros(len(y)), shape, df=3.0)
    assert model.log_evidence_ == pytest.approx(oracle.logpdf(y), rel=1e-9)


def test_conjugate_predictive_is_the_ratio_of_evidences(table):
    """p(y*|y) = p(y, y*)/p(y): two evidences against one Student-t predictive."""
    X, y = table
    new, value = X[:1] + 0.3, np.array([2.5])
    make = lambda: BayesianLinearRegression(2.0, noise_precision="conjugate", noise_prior=(1.5, 0.7))  # noqa: E731
    before, after = make().fit(X, y), make().fit(np.vstack([X, new]), np.append(y, value))
    assert after.log_evidence_ - before.log_evidence_ == pytest.approx(
        before.predict_dist(new).log_prob(value)[0], rel=1e-8
    )


@pytest.mark.parametrize("intercept", [True, False])
def test_one_step_predictives_sum_to_the_batch_evidence(table, intercept):
    X, y = table
    stream = BayesianLinearRegression(1.3, noise_precision=2.0, fit_intercept=intercept)
    stream.partial_fit(X[:1], y[:1])
    # A flat intercept says nothing of the first target, whose log density is then zero by construction.
    assert not intercept or stream.log_evidence_ == pytest.approx(0.0, abs=1e-12)
    total = stream.log_evidence_
    for row, target in zip(X[1:], y[1:], strict=True):
        total += stream.predict_dist(row[None]).log_prob([target])[0]
        stream.partial_fit(row[None], [target])
    batch = BayesianLinearRegression(1.3, noise_precision=2.0, fit_intercept=intercept).fit(X, y)
    assert total == pytest.approx(batch.log_evidence_, rel=1e-11)
    np.testing.assert_allclose(stream.coef_, batch.coef_, rtol=1e-10)
    np.testing.assert_allclose(stream.coef_cov_, batch.coef_cov_, rtol=1e-8, atol=1e-12)


def test_flat_intercept_evidence_is_a_limit():
    """An intercept of huge prior variance V, as one more weight, differs by ln p(first target) → −½ ln 2πV."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(12, 3)), rng.normal(size=12)
    model = BayesianLinearRegression(1.5, noise_precision=2.0).fit(X, y)
    V = 1e6
    cov = np.eye(12) / 2 + X @ X.T / 1.5 + V
    wide = stats.multivariate_normal(cov=cov).logpdf(y) + 0.5 * np.log(2 * np.pi * V)
    assert model.log_evidence_ == pytest.approx(wide, abs=1e-4)


@pytest.mark.parametrize(
    "options",
    [
        MAXIMUM,
        {},
        {"noise_precision": "conjugate", "noise_prior": (1.0, 0.5)},
        {"noise_precision": 2.0},
        {"prior_precision": 0.5},
    ],
    ids=str,
)
@pytest.mark.parametrize("sizes", [(10, 20), (1,) * 30])
def test_stream_equals_batch_with_learned_precisions(options, sizes):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(30, 6)) * [1, 1, 1, 1, 100, 0.01] + 50
    y = X @ rng.normal(size=6) + rng.normal(size=30)
    stream, batch = BayesianLinearRegression(**options), BayesianLinearRegression(**options).fit(X, y)
    for part in np.split(np.arange(30), np.cumsum(sizes)[:-1]):
        stream.partial_fit(X[part], y[part])
    np.testing.assert_allclose(stream.coef_, batch.coef_, rtol=1e-8)
    assert stream.log_evidence_ == pytest.approx(batch.log_evidence_, rel=1e-10)
    np.testing.assert_allclose(stream.predict_dist(X).std, batch.predict_dist(X).std, rtol=1e-8)


def test_a_stream_says_that_it_has_seen_too_little():
    model = BayesianLinearRegression().partial_fit([[1.0, 2.0]], [3.0])
    assert not model.result_.converged
    assert "too few rows" in model.result_.message
    assert np.isfinite(model.predict_dist([[1.0, 2.0]]).std).all()
    with pytest.raises(ValueError, match="n_samples=1 is too few"):
        BayesianLinearRegression().fit([[1.0, 2.0]], [3.0])


@pytest.mark.parametrize("fixed", [{}, {"prior_precision": 0.5}, {"noise_precision": 0.8}])
def test_evidence_maximum_is_stationary(fixed):
    X, y = load_diabetes(return_X_y=True)
    model = BayesianLinearRegression(**MAXIMUM | fixed).fit(X, y / 50)
    slopes = log_evidence_gradient(terms(model), prior=model.prior_precision_, noise=model.noise_precision_)
    free = [
        slope for slope, name in zip(slopes, ["prior_precision", "noise_precision"], strict=True) if name not in fixed
    ]
    assert np.abs(free).max() < 1e-8
    assert model.result_.converged


def test_evidence_gradient_is_the_derivative_of_the_evidence():
    X, y = load_diabetes(return_X_y=True)
    at = lambda a, b: BayesianLinearRegression(np.exp(a), noise_precision=np.exp(b)).fit(X, y).log_evidence_  # noqa: E731
    a, b, h = -8.0, -9.0, 1e-4
    slopes = log_evidence_gradient(terms(BayesianLinearRegression().fit(X, y)), prior=np.exp(a), noise=np.exp(b))
    numeric = (at(a + h, b) - at(a - h, b)) / (2 * h), (at(a, b + h) - at(a, b - h)) / (2 * h)
    np.testing.assert_allclose(slopes, numeric, rtol=1e-5)


def test_evidence_maximum_beats_every_neighbour_and_a_wide_grid():
    X, y = load_diabetes(return_X_y=True)
    best = BayesianLinearRegression(**MAXIMUM).fit(X, y)
    for a in np.geomspace(1e-12, 1e6, 19):
        for b in np.geomspace(1e-8, 1e2, 11):
            other = BayesianLinearRegression(best.prior_precision_ * a, noise_precision=best.noise_precision_ * b)
            assert other.fit(X, y).log_evidence_ <= best.log_evidence_ + 1e-9


def test_effective_weights_obey_the_fixed_point_equations():
    """Bishop 3.92 and 3.95: α = γ/mᵀm and 1/β = RSS/(N − γ), with one degree gone to the intercept."""
    X, y = load_diabetes(return_X_y=True)
    model = BayesianLinearRegression(**MAXIMUM).fit(X, y)
    gamma = model.effective_dof_
    assert model.prior_precision_ == pytest.approx(gamma / (model.coef_ @ model.coef_), rel=1e-8)
    rss = np.sum((y - model.predict(X)) ** 2)
    assert 1 / model.noise_precision_ == pytest.approx(rss / (len(y) - 1 - gamma), rel=1e-8)


def test_equivalent_kernel_sums_with_the_targets_to_the_mean(table):
    X, y = table
    weight = np.linspace(1, 2, len(y))
    for intercept in (True, False):
        model = BayesianLinearRegression(fit_intercept=intercept).fit(X, y, sample_weight=weight)
        new = X[:3] + 0.1
        np.testing.assert_allclose(model.equivalent_kernel(new) @ y, model.predict(new), rtol=1e-8)
    rows = BayesianLinearRegression().fit(X, y).equivalent_kernel(X).sum(axis=1)
    np.testing.assert_allclose(rows, 1.0, rtol=1e-9)
    streamed = BayesianLinearRegression().partial_fit(X, y)
    with pytest.raises(ValueError, match="pass them as X_train"):
        streamed.equivalent_kernel(X)
    np.testing.assert_allclose(streamed.equivalent_kernel(X, X_train=X) @ y, streamed.predict(X), rtol=1e-8)


def test_equivalent_kernel_knows_weights(table):
    X, y = table
    weight = np.where(np.arange(len(y)) % 3 == 0, 0.0, 2.0)
    model = BayesianLinearRegression(1.0, noise_precision=2.0).fit(X, y, sample_weight=weight)
    for kernel in (model.equivalent_kernel(X), model.equivalent_kernel(X, X_train=X, sample_weight=weight)):
        np.testing.assert_allclose(kernel @ y, model.predict(X), rtol=1e-8)
    with pytest.raises(ValueError, match=r"pass all training rows, with the sample_weight of the fit"):
        model.equivalent_kernel(X, X_train=X)


@pytest.mark.parametrize("options", [{}, {"prior_precision": 0.5}, {"noise_precision": 2.0}], ids=str)
def test_left_out_predictions_are_those_of_refits(options):
    """Except that the prior of R² refers to the inputs of all rows, which changes little."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(12, 3))
    y = X @ [1.0, 0.5, -1.0] + 0.7 * rng.normal(size=12)
    found = BayesianLinearRegression(**options).fit(X, y)._left_out(X, y, None)
    for i in range(12):
        rest = np.arange(12) != i
        oracle = BayesianLinearRegression(**options).fit(X[rest], y[rest]).predict_dist(X[i : i + 1])
        assert found.log_prob(y)[i] == pytest.approx(oracle.log_prob(y[i : i + 1])[0], abs=0.03)
        assert found.quantile(0.9)[i] == pytest.approx(oracle.quantile(0.9)[0], abs=0.03 * oracle.std[0])


@pytest.mark.parametrize("noise", ["evidence", "conjugate", "integrate"])
def test_confint_is_the_central_interval_of_the_marginals(table, noise):
    X, y = table
    model = BayesianLinearRegression(1.0, noise_precision=noise, noise_prior=(1.0, 1.0)).fit(X, y)
    # The weight of column 0 is f at one step along it, less f at the origin, without an intercept's say.
    draws = np.column_stack(model.sample_coefficients(40000, random_state=0)[::-1])
    np.testing.assert_allclose(model.confint(0.8), np.quantile(draws, [0.1, 0.9], axis=0).T, atol=0.04)


@pytest.mark.parametrize("noise", ["evidence", "conjugate", "integrate"])
def test_function_draws_have_the_posterior_s_moments(table, noise):
    """20000 draws: the standard error of a mean is sd/141, of a standard deviation about sd/200."""
    X, y = table
    model = BayesianLinearRegression(1.0, noise_precision=noise).fit(X, y)
    draws = model.sample_functions(X, 20000, random_state=0)
    band = model.predict_dist(X, latent=True)
    assert draws.shape == (20000, len(X))
    assert np.abs((draws.mean(axis=0) - band.mean) / band.std).max() < 5 / 141
    np.testing.assert_allclose(draws.std(axis=0), band.std, rtol=0.06)
    np.testing.assert_array_equal(draws, model.sample_functions(X, 20000, random_state=0))


def test_plugin_is_never_wider_than_the_bayesian_predictive(table):
    X, y = table
    model = BayesianLinearRegression().fit(X, y)
    near, far = X[:1], X[:1] * 1000
    assert (model.plugin_dist(X).std <= model.predict_dist(X).std).all()
    assert model.plugin_dist(far).std == model.plugin_dist(near).std
    assert model.predict_dist(far).std > 10 * model.predict_dist(near).std


def test_weights_are_copies(table):
    X, y = table
    weight = np.resize([1, 3, 2], len(y))
    weighted = BayesianLinearRegression().fit(X, y, sample_weight=weight)
    repeated = BayesianLinearRegression().fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_, rel=1e-9)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(weighted.coef_std_, repeated.coef_std_, rtol=1e-7)


def test_sparse_rows_give_the_dense_answer(table):
    X, y = table
    X = np.where(np.abs(X - 1) > 0.8, X, 0.0)
    weight = np.linspace(1, 2, len(y))
    dense = BayesianLinearRegression(noise_precision=2.0).fit(X, y, sample_weight=weight)
    light = BayesianLinearRegression(noise_precision=2.0).fit(sparse.csr_array(X), y, sample_weight=weight)
    np.testing.assert_allclose(light.coef_, dense.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(light.coef_std_, dense.coef_std_, rtol=1e-7)
    assert light.log_evidence_ == pytest.approx(dense.log_evidence_, rel=1e-9)
    new = sparse.csr_array(X[:4] * 2)
    np.testing.assert_allclose(light.predict_dist(new).std, dense.predict_dist(new.toarray()).std, rtol=1e-7)
    np.testing.assert_allclose(light.equivalent_kernel(new) @ y, light.predict(new), rtol=1e-7)


def test_wide_data_never_meet_a_square_matrix_of_the_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 20_000))
    y = X[:, :10].sum(axis=1) + rng.normal(size=100)
    tracemalloc.start()
    model = BayesianLinearRegression().fit(X, y)
    model.predict(X[:50], return_std=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * X.nbytes  # a p×p matrix would be 200 times X
    assert model.coef_std_.shape == (20_000,)


@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_units_of_inputs_and_targets_change_nothing(table, factor):
    X, y = table
    plain = BayesianLinearRegression().fit(X, y)
    inputs = BayesianLinearRegression().fit(X * factor, y)
    targets = BayesianLinearRegression().fit(X, y * factor)
    assert inputs.log_evidence_ == pytest.approx(plain.log_evidence_, rel=1e-8)
    np.testing.assert_allclose(inputs.coef_ * factor, plain.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(targets.predict_dist(X).std, plain.predict_dist(X).std * factor, rtol=1e-6)


def test_a_far_off_origin_costs_no_digits():
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(200, 3)), rng.normal(size=200)
    y = X @ [1.0, 2.0, 3.0] + noise
    near, far = BayesianLinearRegression().fit(X, y), BayesianLinearRegression().fit(X + 1e8, y + 1e8)
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-7)
    assert far.log_evidence_ == pytest.approx(near.log_evidence_, rel=1e-7)


def test_nearly_collinear_columns_keep_their_digits():
    """Condition number 1e7, where eigenvalues of the Gram matrix have lost all their digits."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    X[:, 2] = X[:, 1] + 1e-7 * X[:, 2]
    y = X[:, 0] + (X[:, 2] - X[:, 1]) * 1e7 + 0.1 * rng.normal(size=100)
    model = BayesianLinearRegression(1e-16, noise_precision=100.0).fit(X, y)
    assert model.coef_[2] == pytest.approx(1e7, rel=0.05)
    again = BayesianLinearRegression(1e-16, noise_precision=100.0)
    for part in np.split(np.arange(100), 10):
        again.partial_fit(X[part], y[part])
    np.testing.assert_allclose(again.coef_, model.coef_, rtol=1e-6)


def test_pure_noise_gets_no_weights_and_a_word():
    rng = np.random.default_rng(12)
    X, y = rng.normal(size=(60, 5)), rng.normal(size=60)
    targets = [rng.permutation(y) for _ in range(20)]
    found = [BayesianLinearRegression(**MAXIMUM).fit(X, target) for target in targets]
    silent = [model for model in found if "without any linear effect" in model.result_.message]
    assert silent
    assert all(np.abs(model.coef_).max() < 1e-6 for model in silent)
    averaged = [BayesianLinearRegression().fit(X, target) for target in targets]
    said = ["without any linear effect" in model.result_.message for model in averaged]
    assert np.mean(said) > 0.7
    for model, target in zip(averaged, targets, strict=True):
        assert model.predict(X).std() < 0.9 * LinearRegression().fit(X, target).predict(X).std()


def test_as_many_weights_as_rows_may_leave_no_noise_and_is_said():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    y = X.sum(1) + 0.1 * rng.normal(size=50)
    with pytest.warns(FitWarning, match="noise goes to zero"):
        BayesianLinearRegression(**MAXIMUM).fit(X[:4], y[:4])
    for noise in ("conjugate", "integrate"):
        lower, upper = BayesianLinearRegression(noise_precision=noise).fit(X[:4], y[:4]).predict_dist(X).interval(0.9)
        assert (upper - lower).min() > 0.2
        assert np.mean((lower < y) & (y < upper)) > 0.9


@pytest.mark.parametrize("value", [0.0, 5.0, 1e8])
def test_constant_target(value):
    X = np.random.default_rng(0).normal(size=(20, 3))
    model = BayesianLinearRegression().fit(X, np.full(20, value))
    np.testing.assert_allclose(model.predict(X), value, rtol=1e-12)
    assert model.predict_dist(X).std.max() < 1e-12 * max(value, 1)
    assert np.isfinite(model.log_evidence_)


def test_exact_target_is_reproduced():
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = BayesianLinearRegression().fit(X, X @ [1.0, 2.0, 3.0] + 1)
    np.testing.assert_allclose(model.coef_, [1, 2, 3], rtol=1e-12)
    assert np.isfinite(model.log_evidence_) and model.predict_dist(X).std.max() < 1e-12


def test_constant_and_duplicated_columns(table):
    X, y = table
    wide = np.column_stack([X, np.full(len(X), 1e6 + 0.1), X[:, 0]])
    model = BayesianLinearRegression(1.0, noise_precision=2.0).fit(wide, y)
    assert model.coef_[-1] == pytest.approx(model.coef_[0], rel=1e-6)
    assert model.coef_[-2] == pytest.approx(0.0, abs=1e-12)
    assert model.coef_std_[-2] == pytest.approx(1.0)  # the data say nothing of it: the prior stays


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"prior_precision": -1.0},
            "prior_precision must be a positive finite number or 'integrate' or 'evidence'; got -1.0",
        ),
        (
            {"prior_precision": "auto"},
            "prior_precision must be a positive finite number or 'integrate' or 'evidence'; got 'auto'",
        ),
        (
            {"noise_precision": "learn"},
            'noise_precision must be a positive number, "integrate", "evidence" or "conjugate"',
        ),
        ({"noise_precision": "evidence"}, 'set prior_precision to "evidence" or to a number as well'),
        ({"noise_precision": "conjugate", "noise_prior": (0.0, 1.0)}, "noise_prior shape must be a positive"),
        ({"prior_mean": {}}, "prior_mean must be a number"),
        ({"prior_mean": 1e300}, r"prior_mean must be a number \(below 1e150\)"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        BayesianLinearRegression(**arguments).fit(np.eye(4), np.arange(4.0))


def test_rows_of_little_weight_are_too_few():
    with pytest.raises(ValueError, match=r"n_samples=4 of total weight 0\.4 is too few to estimate the noise"):
        BayesianLinearRegression().fit(np.eye(4), np.arange(4.0), sample_weight=np.full(4, 0.1))


@pytest.mark.parametrize("scales", [(1e200, 1.0), (1e-200, 1.0), (1.0, 1e200), (1.0, 1e-200)])
def test_numbers_of_extreme_size_are_refused(table, scales):
    X, y = table
    with pytest.raises(ValueError, match=r"outside the range from 1e-70 to 1e\+70: change the unit"):
        BayesianLinearRegression().fit(X * scales[0], y * scales[1])


def test_summary_reads_like_a_result(table):
    X, y = table
    text = str(BayesianLinearRegression().fit(X, y).summary())
    assert "intercept" in text and "log evidence" in text and "prior precision" in text


@pytest.mark.parametrize("noise", [1e-6, 1e-8, 1e-10])
@pytest.mark.parametrize("constant", [False, True])
def test_covariance_keeps_its_digits_at_small_noise(noise, constant):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 6)) @ rng.normal(size=(6, 6))
    X = np.column_stack([X, np.full(40, 2.0)]) if constant else X  # a weight that keeps its prior
    y = X[:, :6] @ rng.normal(size=6)
    y += noise * y.std() * rng.normal(size=40)
    beta = (noise * y.std()) ** -2
    model = BayesianLinearRegression(1.0, noise_precision=beta).fit(X, y)
    rows = X.astype(np.longdouble)
    rows -= rows.mean(axis=0)
    # Newton's iteration for the inverse, in extended precision: each step doubles the digits of the last.
    S = np.eye(X.shape[1], dtype=np.longdouble) + beta * (rows.T @ rows)
    unit = np.sqrt(np.diag(S))
    S /= np.outer(unit, unit)
    inverse = np.linalg.inv(S.astype(float)).astype(np.longdouble)
    for _ in range(4):
        inverse = inverse @ (2 * np.eye(len(S), dtype=np.longdouble) - S @ inverse)
    expected = (inverse / np.outer(unit, unit)).astype(float)
    size = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    np.testing.assert_allclose(model.coef_cov_ / size, expected / size, atol=1e-9)
    np.testing.assert_allclose(model.coef_std_, np.sqrt(np.diag(expected)), rtol=1e-9)
    assert (np.linalg.eigvalsh(model.coef_cov_ / size) > 0).all()
    weights, _ = model.sample_coefficients(4000, random_state=0)
    np.testing.assert_allclose(weights.std(axis=0), model.coef_std_, rtol=0.05)


def test_a_file_without_noise_precision_is_refused(tmp_path):
    model = BayesianLinearRegression().fit(np.arange(5.0)[:, None], [1.0, 2.0, 2.5, 4.0, 5.5])
    model.noise_precision_ = 0.0
    with pytest.raises(ValueError, match="noise_precision_"):
        save(model, tmp_path / "model.credo")
        load(tmp_path / "model.credo")
