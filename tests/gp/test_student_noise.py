"""Student-t noise: the bound is one, its gradient is right, and outliers have little influence."""

import math

import numpy as np
import pytest
from scipy import stats

import credo
from credo.core.inference import Dense, vi
from credo.core.notices import collected
from credo.gp import GPRegressor
from credo.kernels import RBF
from credo.likelihoods import StudentT


def table(n=100, seed=0, share=0.1):
    """A sinusoid with noise of standard deviation 0.1, and a share of outliers at 20 standard deviations."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 6, size=n))
    y = np.sin(2 * x) + 0.1 * rng.normal(size=n)
    y[rng.choice(n, size=int(share * n), replace=False)] += 2.0 * rng.choice([-1, 1], size=int(share * n))
    return x[:, None], y


def fixed(X, y, weight=None, **options):
    """A model of which `log_evidence` is used, at a kernel RBF(1) and a given noise."""
    options = {"kernel": RBF([1.0]), "hyperparameters": "fixed", "standardize": False} | options
    return GPRegressor(noise="student", **options).fit(X, y, sample_weight=weight)


def theta(scale, df):
    return np.log([1.0, 1.0, scale**2, df - 2.0])


@pytest.fixture(scope="module")
def outliers():
    X, y = table()
    return X, y, GPRegressor(noise="student", n_restarts=1, random_state=0).fit(X, y)


def test_gradient_by_finite_differences():
    X, y = table(30)
    model = fixed(X, y, np.arange(30) % 3 + 1.0)
    assert model.theta_names_ == ["kernel.lengthscale[0]", "kernel.variance", "noise.level", "noise.excess_df"]
    vector = theta(0.2, 5.0) + 0.1
    _, gradient = model.log_evidence(vector)
    for i, axis in enumerate(np.eye(4)):
        ends = [model.log_evidence(vector + s * 1e-3 * axis, gradient=False) for s in (1, -1)]
        assert gradient[i] == pytest.approx((ends[0] - ends[1]) / 2e-3, rel=1e-3, abs=1e-4)


def test_the_bound_is_below_variational_inference_which_is_below_the_evidence():
    """Two rows, whose evidence is a double integral; the site-by-site bound of `vi` has no mean-field assumption."""
    X, y, likelihood = np.array([[0.0], [0.7]]), np.array([0.3, -1.5]), StudentT(0.3, 4.0)
    bound = fixed(X, y, mean="zero").log_evidence(theta(0.3, 4.0), gradient=False)
    prior = Dense(X).prior(RBF([1.0]))
    tighter = vi(prior, y, likelihood, weight=np.ones(2)).log_evidence
    grid = np.linspace(-6, 6, 601)
    f = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1)
    logs = stats.multivariate_normal(np.zeros(2), RBF([1.0]).gram(X)).logpdf(f) + likelihood.log_prob(y, f).sum(axis=-1)
    truth = math.log(np.exp(logs).sum() * 0.02**2)
    # The rows contradict each other, so that the posterior has two modes.
    assert bound < tighter < truth < bound + 0.6


def test_many_degrees_of_freedom_are_normal_noise():
    X, y = table(30)
    model = fixed(X, y)
    normal = GPRegressor(RBF([1.0]), noise=0.09, hyperparameters="fixed", standardize=False).fit(X, y)
    assert model.log_evidence(theta(0.3, 1e9), gradient=False) == pytest.approx(normal.log_evidence_, abs=1e-5)
    noise = model._objective().found(model.posterior_.data, theta(0.3, 1e9), None).noise.rows[0]
    np.testing.assert_allclose(noise, 0.09, rtol=1e-6)


def test_outliers_have_little_influence(outliers):
    X, y, model = outliers
    new = np.linspace(0, 6, 200)[:, None]
    truth = np.sin(2 * new[:, 0])
    normal = GPRegressor(n_restarts=1, random_state=0).fit(X, y)
    error, normal_error = (np.sqrt(np.mean((each.predict(new) - truth) ** 2)) for each in (model, normal))
    assert error < 0.05 < 2 * error < normal_error
    assert model.evidence_method_ == "elbo"
    assert model.log_evidence_ > normal.log_evidence_ + 20
    assert 2 < model.noise_df_ < 4
    other_X, other_y = table(400, seed=5)
    assert credo.log_score(other_y, model.predict_dist(other_X)) > credo.log_score(
        other_y, normal.predict_dist(other_X)
    )
    latent = model.predict_dist(new, latent=True)
    assert np.mean(np.abs(latent.mean - truth) < 3 * latent.std) > 0.9


def test_predictions_are_the_convolution_of_a_normal_and_a_student(outliers):
    _, _, model = outliers
    rows = np.array([[0.3], [9.0]])
    latent, dist = model.predict_dist(rows, latent=True), model.predict_dist(rows)
    scale = math.sqrt(model.posterior_.noise.levels[0]) * model.posterior_.data.scale[0]
    law = stats.t(model.noise_df_, scale=scale)
    np.testing.assert_allclose(dist.mean, latent.mean, rtol=1e-9)
    np.testing.assert_allclose(dist.var, latent.var + law.var(), rtol=1e-9)
    np.testing.assert_allclose(dist.std, np.hypot(latent.std, model.noise_std(rows)), rtol=1e-9)
    for i, (mean, std) in enumerate(zip(latent.mean, latent.std, strict=True)):
        f = mean + std * np.linspace(-9, 9, 20_001)
        weight = stats.norm(mean, std).pdf(f) * (f[1] - f[0])
        for gap in (0.0, 0.5, 3.0, 30.0):
            truth = np.log(weight @ law.pdf(mean + gap - f))
            assert dist.log_prob(np.full(2, mean + gap))[i] == pytest.approx(truth, abs=2e-3)
        lower, upper = dist.interval(0.95)
        inside = weight @ (law.cdf(upper[i] - f) - law.cdf(lower[i] - f))
        assert inside == pytest.approx(0.95, abs=1e-4)


def test_weights_are_copies_and_missing_targets_are_ignored():
    X, y = table(25)
    weight = np.arange(25) % 2 + 1
    vector = theta(0.2, 4.0)
    weighted = fixed(X, y, weight)
    copied = fixed(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    gap = fixed(np.vstack([X, X[:2]]), np.append(y, [np.nan, np.nan]))
    assert weighted.log_evidence(vector, gradient=False) == pytest.approx(
        copied.log_evidence(vector, gradient=False), abs=1e-6
    )
    np.testing.assert_allclose(weighted.predict(X), copied.predict(X), rtol=1e-6)
    np.testing.assert_array_equal(gap.predict(X), fixed(X, y).predict(X))


def test_a_left_out_row_is_predicted_as_by_a_fit_without_it(outliers):
    X, y, model = outliers
    found = model.loo()
    assert len(found) == len(y) and np.isfinite(found.log_prob(y)).all()
    kernel = model.posterior_.kernels[0]
    without = GPRegressor(kernel, noise="student", hyperparameters="fixed", standardize=False)
    for i in (10, 50):
        others = np.arange(len(y)) != i
        again = without.fit(X[others], (y[others] - model.posterior_.data.center[0]) / model.posterior_.data.scale[0])
        again.theta_, again.thetas_ = model.theta_, model.thetas_
        again._condition(again._objective(), again.posterior_.data, None)
        expected = model.posterior_.data.center + model.posterior_.data.scale * again.predict(X[[i]])
        # The sites of the other rows are those of all rows.
        assert found.mean[i] == pytest.approx(expected[0], abs=0.01)


def test_update_equals_a_fit_on_all_rows():
    X, y = table(40)
    model = fixed(X[:30], y[:30]).update(X[30:], y[30:])
    whole = fixed(X, y)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=1e-6)
    assert model.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-6)
    np.testing.assert_allclose(model.loo().mean, whole.loo().mean, rtol=1e-5)


def test_files_draws_and_summary(outliers, tmp_path):
    X, _, model = outliers
    credo.save(model, tmp_path / "model.credo")
    again = credo.load(tmp_path / "model.credo")
    np.testing.assert_array_equal(again.predict_dist(X).std, model.predict_dist(X).std)
    np.testing.assert_array_equal(again.loo().mean, model.loo().mean)
    drawn, paths = model.sample(X, 300, random_state=0), model.paths(300, random_state=0)(X)
    latent = model.predict_dist(X, latent=True)
    for functions in (drawn, paths):
        np.testing.assert_allclose(functions.mean(axis=0), latent.mean, atol=5 * latent.std.max() / math.sqrt(300))
    assert "noise degrees of freedom" in str(model.summary())
    assert model.predict_dist(X, joint=True).cov.shape == (100, 100)


def test_what_isn_t_offered_is_said():
    X, y = table(20)
    with pytest.raises(ValueError, match="needs a single target, and y has 2 columns"):
        GPRegressor(noise="student").fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match='hyperparameters="sample" needs'):
        GPRegressor(noise="student", hyperparameters="sample").fit(X, y)


def test_a_single_gross_outlier_changes_nothing_but_the_noise():
    X, y = table(30, share=0.0)
    model = GPRegressor(noise="student", n_restarts=0).fit(X, np.where(np.arange(30) == 7, 1e7, y))
    np.testing.assert_allclose(model.predict(X), np.sin(2 * X[:, 0]), atol=0.3)


@pytest.mark.parametrize(
    ("noise", "rows"),
    [
        *(("student", rows) for rows in ("constant", "three", "copies", "weights", "large")),
        *(("heteroscedastic", rows) for rows in ("three", "large")),
    ],
)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_extreme_tables_give_finite_predictions(noise, rows):
    X, y = table(20)
    weight = 10.0 ** np.tile([-8, 8], 10) if rows == "weights" else None
    if rows == "constant":
        y = np.full(20, 3.0)
    elif rows == "three":
        X, y = X[:3], y[:3]
    elif rows == "copies":
        X, y = np.repeat(X[:6], 3, axis=0), np.repeat(y[:6], 3)
    elif rows == "large":
        X, y = 1e8 * X, 1e8 * y + 1e9
    with collected():
        model = GPRegressor(noise=noise, n_restarts=0, max_evaluations=10, random_state=0).fit(X, y, weight)
    dist = model.predict_dist(X)
    lower, upper = dist.interval(0.95)
    assert np.isfinite(model.log_evidence_) and np.isfinite(dist.log_prob(y)).all()
    assert (lower <= dist.mean).all() and (dist.mean <= upper).all()
