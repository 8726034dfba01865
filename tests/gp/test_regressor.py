"""Exact Gaussian-process regression against densities, block formulas, brute force and linear regression."""

import traceback
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import make_regression
from sklearn.gaussian_process import kernels

import credo
from credo.core.estimator import FitWarning
from credo.core.linalg import threads as parallel
from credo.core.linalg import workspace
from credo.core.notices import collected
from credo.distributions import MultivariateNormal
from credo.gp import GPClassifier, GPRegressor
from credo.kernel_machines import KernelPerceptron, KernelRidge, NadarayaWatson
from credo.kernels import RBF, Constant, Linear, Matern32, Matern52, Polynomial, White
from credo.linear import BayesianLinearRegression

FIXED = {"hyperparameters": "fixed", "standardize": False}


def table(n=30, d=2, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, d))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, -1] + noise * rng.normal(size=n)


def gram(model, X):
    return model.kernel_.gram(X)


def test_the_published_evidence():
    x = np.array([0.27815, 1.12759, 1.26760, 1.52883, 2.96195])[:, None]
    y = np.array([0.59787, 0.86969, 1.14778, 1.31794, 1.52609])
    model = GPRegressor(RBF(1.0), mean="zero", noise=1.0, **FIXED).fit(x, y)
    assert model.log_evidence_ == pytest.approx(-6.8615432, abs=5e-8)


def test_evidence_is_the_density_of_the_targets():
    X, y = table()
    model = GPRegressor(Matern52([0.5, 2.0], variance=1.3), mean="zero", noise=0.2, **FIXED).fit(X, y)
    oracle = stats.multivariate_normal(cov=gram(model, X) + 0.2 * np.eye(30))
    assert model.log_evidence_ == pytest.approx(oracle.logpdf(y), rel=1e-10)


@pytest.mark.parametrize(("mean", "columns"), [("constant", 1), ("linear", 3)])
def test_integrated_means_are_a_limit_of_proper_priors(mean, columns):
    """Coefficients of prior variance V → ∞: the evidence grows by ½ q ln 2πV, less what the basis' units add."""
    X, y = table()
    model = GPRegressor(RBF(1.0), mean=mean, noise=0.2, **FIXED).fit(X, y)
    H, V = basis(mean, X, X), 1e6
    proper = stats.multivariate_normal(cov=gram(model, X) + 0.2 * np.eye(30) + V * H @ H.T).logpdf(y)
    assert model.log_evidence_ == pytest.approx(proper + 0.5 * columns * np.log(2 * np.pi * V), abs=1e-4)
    new = X[:4] + 0.3
    joint = MultivariateNormal(0.0, _joint(model, mean, X, new, V))
    given = joint.condition(np.arange(30), y)
    dist = model.predict_dist(new, latent=True)
    np.testing.assert_allclose(dist.mean, given.mean, atol=1e-3)
    np.testing.assert_allclose(dist.std, given.std, rtol=1e-3)


def basis(mean, X, rows):
    """The columns of the mean: a constant, and standardised inputs."""
    slopes = (rows - X.mean(axis=0)) / X.std(axis=0)
    return np.column_stack([np.ones(len(rows)), *(slopes.T if mean == "linear" else [])])


def _joint(model, mean, X, new, V):
    rows = np.vstack([X, new])
    H = basis(mean, X, rows)
    cov = model.kernel_.gram(rows) + V * H @ H.T
    cov[np.arange(30), np.arange(30)] += 0.2
    return cov


def test_predictions_are_gaussian_conditioning():
    X, y = table()
    new = X[:5] * 1.1
    model = GPRegressor(RBF(0.7), mean="zero", noise=0.05, **FIXED).fit(X, y)
    cov = model.kernel_.gram(np.vstack([X, new]))
    cov[np.arange(30), np.arange(30)] += 0.05
    given = MultivariateNormal(0.0, cov).condition(np.arange(30), y)
    joint = model.predict_dist(new, latent=True, joint=True)
    np.testing.assert_allclose(joint.mean, given.mean, atol=1e-8)
    np.testing.assert_allclose(joint.cov, given.cov, atol=1e-8)
    np.testing.assert_allclose(model.predict_dist(new).var, np.diag(given.cov) + 0.05, rtol=1e-6)
    mean, total = model.predict(new, return_cov=True)
    np.testing.assert_allclose(total, given.cov + 0.05 * np.eye(5), atol=1e-8)
    np.testing.assert_allclose(mean, given.mean, atol=1e-8)


def test_a_linear_kernel_is_bayesian_linear_regression():
    X, y = table()
    process = GPRegressor(Linear(0.5), noise=0.25, **FIXED).fit(X, y)
    line = BayesianLinearRegression(2.0, noise_precision=4.0).fit(X, y)
    assert process.log_evidence_ == pytest.approx(line.log_evidence_, rel=1e-9)
    np.testing.assert_allclose(process.predict(X), line.predict(X), rtol=1e-8)
    np.testing.assert_allclose(process.predict_dist(X).std, line.predict_dist(X).std, rtol=1e-7)


@pytest.mark.parametrize(
    "kernel", [RBF([1.0, 1.0]), 2.0 * Matern32(1.0) + Linear(0.3), RBF(1.0) * Matern52(2.0) + White(0.1)]
)
@pytest.mark.parametrize("standardize", [True, False])
def test_gradient_of_the_evidence_by_finite_differences(kernel, standardize):
    X, y = table()
    model = GPRegressor(kernel, hyperparameters="fixed", standardize=standardize).fit(X, 3 * y + 7)
    assert model.log_evidence(model.theta_, gradient=False) == pytest.approx(model.log_evidence_)
    theta = model.theta_ + 0.3
    _, slope = model.log_evidence(theta)
    for i in range(len(theta)):
        step = 1e-5 * np.eye(len(theta))[i]
        ahead, behind = (model.log_evidence(theta + s * step, gradient=False) for s in (1, -1))
        assert slope[i] == pytest.approx((ahead - behind) / 2e-5, rel=1e-5, abs=1e-6)


def test_units_of_the_targets_change_nothing():
    X, y = table()
    plain, scaled = GPRegressor().fit(X, y), GPRegressor().fit(X, 1e8 * y + 1e9)
    assert scaled.log_evidence_ + 29 * np.log(1e8) == pytest.approx(plain.log_evidence_, abs=1e-4)
    np.testing.assert_allclose(scaled.predict_dist(X).std, 1e8 * plain.predict_dist(X).std, rtol=1e-4)
    assert scaled.noise_variance_ == pytest.approx(1e16 * plain.noise_variance_, rel=1e-3)


@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_units_of_the_inputs_change_nothing(factor):
    X, y = table()
    plain, scaled = GPRegressor().fit(X, y), GPRegressor().fit(X * factor, y)
    assert scaled.log_evidence_ == pytest.approx(plain.log_evidence_, abs=1e-3)
    np.testing.assert_allclose(scaled.relevance_, plain.relevance_, rtol=1e-2)


def test_learning_finds_the_noise_and_the_relevant_column():
    rng = np.random.default_rng(3)
    X = rng.uniform(-2, 2, size=(150, 3))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=150)
    model = GPRegressor().fit(X, y)
    assert model.noise_variance_ == pytest.approx(0.01, rel=0.4)
    assert model.relevance_[0] > 5 * model.relevance_[1:].max()
    assert model.result_.converged and "converged" in model.result_.message


def test_the_optimum_is_stationary_without_hyperpriors():
    X, y = table(60)
    model = GPRegressor(hyperpriors=False).fit(X, y)
    _, slope = model.log_evidence(model.theta_)
    assert np.abs(slope).max() < 0.02


def test_leave_one_out_by_brute_force():
    X, y = table(15)
    for mean in ("zero", "constant", "linear"):
        model = GPRegressor(RBF(1.0), mean=mean, noise=0.1, **FIXED).fit(X, y)
        loo = model.loo()
        for i in (0, 7, 14):
            rest = GPRegressor(RBF(1.0), mean=mean, noise=0.1, **FIXED).fit(np.delete(X, i, 0), np.delete(y, i))
            alone = rest.predict_dist(X[i : i + 1])
            assert loo.mean[i] == pytest.approx(alone.mean[0], abs=1e-8)
            assert loo.std[i] == pytest.approx(alone.std[0], rel=1e-7)


def test_update_equals_a_refit():
    X, y = table(40)
    grown = (
        GPRegressor(RBF(1.0), noise=0.1, **FIXED).fit(X[:25], y[:25]).update(X[25:33], y[25:33]).update(X[33:], y[33:])
    )
    whole = GPRegressor(RBF(1.0), noise=0.1, **FIXED).fit(X, y)
    assert grown.log_evidence_ == pytest.approx(whole.log_evidence_, rel=1e-10)
    np.testing.assert_allclose(grown.predict_dist(X + 0.1).std, whole.predict_dist(X + 0.1).std, rtol=1e-8)
    np.testing.assert_allclose(grown.predict(X + 0.1), whole.predict(X + 0.1), rtol=1e-8)


@pytest.mark.parametrize("noise", ["learn", 0.1])
def test_weights_are_copies(noise):
    X, y = table(20)
    weight = np.resize([1, 2, 3], 20)
    options = {"kernel": RBF(1.0), "noise": noise, "standardize": False, "hyperparameters": "fixed"}
    weighted = GPRegressor(**options).fit(X, y, sample_weight=weight)
    repeated = GPRegressor(**options).fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_, rel=1e-6)
    np.testing.assert_allclose(weighted.predict_dist(X).std, repeated.predict_dist(X).std, rtol=1e-6)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6, atol=1e-7)


def test_noise_for_each_row():
    X, y = table(20)
    each = np.linspace(0.01, 0.5, 20)
    model = GPRegressor(RBF(1.0), mean="zero", noise=each, **FIXED).fit(X, y)
    oracle = stats.multivariate_normal(cov=gram(model, X) + np.diag(each))
    assert model.log_evidence_ == pytest.approx(oracle.logpdf(y), rel=1e-9)
    with pytest.raises(ValueError, match="noise holds 20 variances for 19 rows"):
        GPRegressor(noise=each).fit(X[:19], y[:19])


def test_draws_have_the_posterior_s_moments():
    """4000 draws: the standard error of a mean is sd/63."""
    X, y = table(12)
    new = X[:4] + 0.4
    model = GPRegressor(RBF(0.8), noise=0.05, **FIXED).fit(X, y)
    draws = model.sample(new, 4000, random_state=0)
    band = model.predict_dist(new, latent=True)
    assert np.abs((draws.mean(0) - band.mean) / band.std).max() < 5 / 63
    np.testing.assert_allclose(draws.std(0), band.std, rtol=0.08)
    prior = model.sample(new, 4000, prior=True, random_state=0)
    np.testing.assert_allclose(prior.std(0), 1.0, rtol=0.08)


def test_suggestions_are_spread_out():
    X, y = table(10, d=1)
    pool = np.linspace(-6, 6, 200)[:, None]
    model = GPRegressor(RBF(0.7), noise=0.01, **FIXED).fit(X, y)
    first, second, third = (float(pool[i, 0]) for i in model.suggest(pool, 3))
    assert min(abs(a) for a in (first, second, third)) > 2.0
    assert min(abs(first - second), abs(first - third), abs(second - third)) > 0.7
    with pytest.raises(ValueError, match="the pool has only 200 rows"):
        model.suggest(pool, 201)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_points(n):
    X, y = table(n)
    model = GPRegressor().fit(X, y)
    dist = model.predict_dist(X + 5)
    assert np.isfinite(dist.mean).all() and (dist.std >= 0).all()


def test_hard_cases_give_an_answer():
    X, y = table(30)
    twice = GPRegressor(noise=1e-12).fit(np.vstack([X, X]), np.append(y, y))
    np.testing.assert_allclose(twice.predict(X), y, atol=1e-3)
    constant = GPRegressor().fit(X, np.full(30, 7.0))
    np.testing.assert_allclose(constant.predict(X), 7.0, rtol=1e-6)
    assert (constant.predict_dist(X).var >= 0).all()
    far = GPRegressor().fit(X + 1e8, y)
    assert np.isfinite(far.log_evidence_)


def test_prediction_far_away_returns_to_the_mean():
    X, y = table(40)
    model = GPRegressor().fit(X, y)
    far = model.predict_dist(X[:1] + 1e6, latent=True)
    assert far.var[0] >= model.kernel_.diagonal(X[:1])[0]


def test_messages():
    X, y = table(10)
    for options, message in [
        ({"kernel": 3.0}, "kernel must be a kernel"),
        ({"noise": "lots"}, 'noise must be "learn"'),
        ({"noise": -1.0}, "noise must be a finite number that is not negative"),
        ({"mean": "quadratic"}, "mean must be one of 'zero', 'constant', 'linear'"),
        ({"method": "magic"}, "method must be one of 'auto', 'exact'"),
        ({"hyperparameters": "guess"}, "hyperparameters must be one of"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            GPRegressor(**options).fit(X, y)
    with pytest.raises(AttributeError, match="no length scale for each column"):
        GPRegressor(RBF(1.0)).fit(X, y).relevance_


def test_summary_names_columns():
    import pandas as pd

    X, y = table(20)
    text = str(GPRegressor().fit(pd.DataFrame(X, columns=["depth", "width"]), y).summary())
    assert "lengthscale of depth" in text and "noise variance" in text


def test_files_bring_it_back_bit_for_bit(tmp_path):
    X, y = table(20)
    model = GPRegressor(RBF([1.0, 1.0]) + Constant(0.5)).fit(X, y)
    credo.save(model, tmp_path / "gp.credo")
    back = credo.load(tmp_path / "gp.credo")
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    np.testing.assert_array_equal(back.predict_dist(X).std, model.predict_dist(X).std)
    assert repr(back.kernel_) == repr(model.kernel_)


def test_a_far_row_doesn_t_spoil_the_digits_of_the_others():
    X, y = table(20)
    model = GPRegressor(RBF(0.7), noise=0.05, **FIXED).fit(X, y)
    together = model.predict_dist(np.vstack([X, np.full((1, 2), 1e12)]))
    np.testing.assert_allclose(together.mean[:-1], model.predict(X), rtol=1e-10)
    np.testing.assert_allclose(together.std[:-1], model.predict_dist(X).std, rtol=1e-10)


def test_repeated_rounded_rows_don_t_praise_zero_noise():
    """Copies that agree to the last digit say nothing of the digits that weren't recorded."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.uniform(0, 4, size=(30, 1)), 2, axis=0)
    y = np.round(np.repeat(3 * np.sin(X[::2, 0]), 2))
    model = GPRegressor(n_restarts=0).fit(X, y)
    assert model.result_.converged
    assert model.noise_variance_ >= 1 / 12 - 1e-9
    exact = GPRegressor(n_restarts=0).fit(X, 3 * np.sin(X[:, 0]))
    assert exact.noise_variance_ < 1e-3


def test_contradictions_without_noise_are_refused():
    with pytest.raises(ValueError, match="2 different values at x = "):
        GPRegressor(noise=0.0).fit([[1.0], [1.0], [2.0]], [2.0, 3.0, 4.0])
    GPRegressor(noise=0.0).fit([[1.0], [1.0], [2.0]], [2.0, 2.0, 4.0])


def test_noise_std_is_what_observations_have_beside_the_function():
    X, y = table(40)
    for model in (GPRegressor(n_restarts=0).fit(X, y), GPRegressor(n_restarts=0).fit(X, np.column_stack([y, -3 * y]))):
        whole, inner = model.predict_dist(X[:5]), model.predict_dist(X[:5], latent=True)
        pairs = zip(whole, inner, strict=True) if isinstance(whole, list) else [(whole, inner)]
        expected = np.column_stack([np.sqrt(a.var - b.var) for a, b in pairs])
        np.testing.assert_allclose(model.noise_std(X[:5]).reshape(5, -1), expected, rtol=1e-8)


def test_a_linear_mean_leaves_out_columns_without_a_slope_of_their_own():
    X, y = table(25)
    plain = GPRegressor(mean="linear", n_restarts=0).fit(X, y)
    for more in (np.ones(25), X[:, 0] - 2 * X[:, 1]):
        wide = np.column_stack([X, more])
        kernel = RBF(np.ones(2)).on([0, 1])
        model = GPRegressor(kernel, mean="linear", n_restarts=0).fit(wide, y)
        assert model.log_evidence_ == pytest.approx(plain.log_evidence_, abs=0.01)
        assert model.predict(wide[:1] + np.array([0, 0, 1.0]), return_std=True)[1][0] < 2 * y.std()
    with pytest.raises(ValueError, match='mean="linear" has 3 coefficients, and 3 distinct rows'):
        GPRegressor(mean="linear").fit(X[:3], y[:3])


def test_without_noise_the_data_can_be_drawn_and_asked_jointly():
    X, y = table(25, noise=0.0)
    model = GPRegressor(noise=0.0, n_restarts=0).fit(X, y)
    np.testing.assert_allclose(model.sample(X, 3, random_state=0), np.tile(y, (3, 1)), atol=1e-4)
    joint = model.predict_dist(np.vstack([X[:2], np.full((3, 2), 0.3)]), joint=True)
    assert (np.diagonal(joint.cov) >= 0).all()
    assert sorted(model.suggest(X, 25)) == list(range(25))


def test_a_row_that_holds_the_mean_up_cannot_be_left_out():
    with pytest.raises(ValueError, match=r"row 0 can't be left out.*mean=\"zero\""):
        GPRegressor().fit([[0.0]], [1.0]).loo()


@pytest.mark.parametrize("options", [{}, {"hyperparameters": "optimize"}, {"method": "inducing", "n_inducing": 20}])
def test_a_slope_that_one_row_determines_is_no_obstacle_to_a_fit(options):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    X[:, 1] = np.arange(30) == 4
    y = X[:, 0] + 0.1 * rng.normal(size=30)
    model = GPRegressor("rbf", mean="linear", n_restarts=0, random_state=0, **options).fit(X, y)
    assert np.isfinite(model.predict_dist(X).std).all() and model.predict_dist(X).std[:4].max() < 0.2
    with pytest.raises(ValueError, match="training row 4 can't be left out"):
        model.loo()


def test_targets_without_noise_are_fitted_where_leaving_out_is_beyond_rounding():
    X, y = make_regression(n_samples=30, n_features=2, random_state=0)
    model = GPRegressor("rbf", method="inducing", n_inducing=20, n_restarts=0, random_state=0).fit(X, y)
    assert np.abs(model.predict(X) - y).max() < 1e-3 * y.std()


def test_an_update_of_a_linear_mean_is_a_refit():
    X, y = table(25)
    grown = GPRegressor(RBF([1.0, 2.0]), mean="linear", noise=0.01, hyperparameters="fixed", standardize=False)
    whole = clone(grown).fit(X, y)
    grown.fit(X[:15], y[:15]).update(X[15:], y[15:])
    assert grown.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-8)
    np.testing.assert_allclose(grown.predict(X + 0.1), whole.predict(X + 0.1), atol=1e-8)


@pytest.mark.parametrize("scale", [1e-69, 1e-8, 1e8, 1e69])
def test_the_unit_of_the_inputs_does_not_matter(scale):
    X, y = table(25)
    first, other = (GPRegressor(n_restarts=0).fit(Z, y).predict(Z) for Z in (X, scale * X))
    np.testing.assert_allclose(other, first, atol=1e-3)


def test_jitter_is_reported_and_warned_of_if_it_matters():
    X = np.linspace(0, 1, 80)[:, None]
    y = np.sin(6 * X[:, 0])
    options = {"hyperparameters": "fixed", "standardize": False, "mean": "zero"}
    with pytest.warns(FitWarning, match=r"jitter of .* % of the noise variance.*additional noise: use a larger noise"):
        model = GPRegressor(RBF(1.0), noise=1e-17, **options).fit(X, y)
    assert "numerically singular, so a jitter of" in model.result_.message
    with collected() as found:
        enough = GPRegressor(RBF(1.0), noise=1e-6, **options).fit(X, y)
    assert "jitter" not in enough.result_.message and not found


@pytest.mark.parametrize("model", [GPRegressor, GPClassifier, KernelRidge, NadarayaWatson, KernelPerceptron])
def test_kernels_of_scikit_learn_raise_an_error_that_says_what_to_use(model):
    X = np.linspace(0, 1, 10)[:, None]
    with pytest.raises(TypeError, match=r"kernel is scikit-learn's RBF: use a kernel of credo\.kernels, such as RBF"):
        model(kernels.RBF()).fit(X, X[:, 0] > 0.5 if model in (GPClassifier, KernelPerceptron) else X[:, 0])


def test_a_target_that_is_constant_up_to_rounding_has_finite_intervals():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 1))
    y = 1e69 + X[:, 0] + 0.3 * rng.normal(size=30)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        dist = GPRegressor(n_restarts=0).fit(X, y).predict_dist(X)
    assert np.isfinite(dist.std).all() and np.allclose(dist.mean, 1e69)


@pytest.mark.parametrize("scale", [1e-69, 1e69])
@pytest.mark.parametrize(
    ("kernel", "method"),
    [
        (Polynomial(2), "exact"), (Linear(), "exact"), (Matern32(), "exact"), (Matern32(), "vecchia"),
        (Matern32(), "inducing"), (Matern32().on(0), "state_space"),
    ],
    ids=repr,
)  # fmt: skip
def test_every_method_answers_at_extreme_scales_without_a_warning(kernel, method, scale):
    # Products of covariances must not overflow.
    scale = scale**0.5 if isinstance(kernel, Polynomial) else scale
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 1 if method == "state_space" else 2))
    y = X[:, 0] + 0.3 * rng.normal(size=40)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", FitWarning)
        for target in (y, y * scale):
            model = GPRegressor(kernel, method=method, n_restarts=0, max_evaluations=5, random_state=0)
            dist = model.fit(X * scale, target).predict_dist(X * scale)
            assert np.isfinite(dist.mean).all() and np.isfinite(dist.quantile(0.1)).all()


def test_the_way_from_fit_to_the_factorization_is_short(monkeypatch):
    depths, factor, home = [], workspace.cholesky_in_place, str(Path(credo.__file__).parent)

    def counted(A):
        # One more for `cholesky_in_place`, which this replaces.
        depths.append(1 + sum(frame.filename.startswith(home) for frame in traceback.extract_stack()))
        return factor(A)

    monkeypatch.setattr(workspace, "cholesky_in_place", counted)
    monkeypatch.setattr(parallel, "n_threads", lambda: 1)
    x = np.linspace(0, 6, 12)[:, None]
    GPRegressor(n_restarts=0).fit(x, np.sin(x[:, 0]))
    assert 0 < max(depths) <= 12
