"""Hyperparameters integrated over points around their mode, shrunk length scales, and heavy tails."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import check_grad
from scipy.special import logsumexp

from credo.core.learning import integrate
from credo.core.learning.integration import few_points
from credo.distributions import Mixture, Normal, StudentT
from credo.gp import GPRegressor
from credo.gp._objective import _DEVIATIONS, _hierarchical
from credo.gp._posterior import fitted_tails
from credo.kernels import RBF


def test_the_hierarchical_prior_is_a_mixture_of_joint_normals():
    gap, width = np.array([0.3, -1.0, 0.7, 2.0]), 2.0
    covariances = [tau**2 * np.eye(4) + width**2 for tau in _DEVIATIONS]
    density = np.mean([stats.multivariate_normal(np.zeros(4), cov).pdf(gap) for cov in covariances])
    assert _hierarchical(gap, width)[0] == pytest.approx(np.log(density), rel=1e-12)
    assert check_grad(lambda z: _hierarchical(z, width)[0], lambda z: _hierarchical(z, width)[1], gap) < 1e-6


def test_a_normal_density_is_integrated_exactly():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 3))
    precision, mode = root @ root.T + np.eye(3), rng.normal(size=3)
    found = integrate(lambda v: -0.5 * (v - mode) @ precision @ (v - mode), mode, precision, 32)
    assert found.log_value == pytest.approx(1.5 * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(precision)[1], rel=1e-10)
    np.testing.assert_allclose(found.weights, 1 / 32)
    np.testing.assert_array_equal(found.points[0], mode)


def test_a_skewed_density_is_integrated_closely():
    # ln of a gamma variable of shape 5: its density is exp(5v − e^v) / Γ(5), with curvature 5 at the mode ln 5.
    found = integrate(lambda v: float(5 * v[0] - np.exp(v[0])), np.log([5.0]), np.array([[5.0]]), 64)
    assert found.log_value == pytest.approx(np.log(24.0), abs=0.02)
    assert found.weights @ np.exp(found.points[:, 0]) == pytest.approx(5.0, rel=0.03)


def test_two_sides_of_a_skewed_density():
    found = integrate(lambda v: float(5 * v[0] - np.exp(v[0])), np.log([5.0]), np.array([[5.0]]), 32, skewed=True)
    assert found.log_value == pytest.approx(np.log(24.0), abs=0.03)
    # A normal density has two equal sides.
    normal = integrate(lambda v: -0.5 * float(v @ v), np.zeros(2), np.eye(2), 16, skewed=True)
    assert normal.log_value == pytest.approx(np.log(2 * np.pi), rel=1e-10)
    np.testing.assert_allclose(normal.weights, 1 / 16)


def table(n=25, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, size=(n, 1))
    return x, np.sin(1.5 * x[:, 0]) + noise * rng.normal(size=n)


def test_evidence_and_predictions_are_those_of_a_fine_grid():
    x, y = table()
    kernel = RBF(1.0).fix("variance")
    model = GPRegressor(kernel, mean="zero", standardize=False, tails="normal").fit(x, y)
    assert model.evidence_method_ == "laplace" and "integrated" in model.evidence_base_
    objective = model._objective()
    axes = [np.linspace(theta - 3.5, theta + 3.5, 41) for theta in model.theta_]
    grid = np.array([[a, b] for a in axes[0] for b in axes[1]])
    logs = np.array([objective.log_posterior(theta)[0] for theta in grid])
    total = logsumexp(logs) + np.log(np.prod([axis[1] - axis[0] for axis in axes]))
    assert model.log_evidence_ == pytest.approx(total, abs=0.05)
    new = np.array([[-2.0], [0.5], [4.0]])
    weights = np.exp(logs - logsumexp(logs))
    kept = weights > 1e-4
    parts = []
    for theta in grid[kept]:
        noise = float(objective.noise_at(theta)[0])
        fixed = GPRegressor(
            objective.kernel_at(theta), mean="zero", noise=noise, standardize=False, hyperparameters="fixed"
        )
        parts.append(fixed.fit(x, y).predict_dist(new))
    exact, found = Mixture(parts, weights[kept] / weights[kept].sum()), model.predict_dist(new)
    np.testing.assert_allclose(found.mean, exact.mean, atol=0.03)
    np.testing.assert_allclose(found.std, exact.std, rtol=0.04)


def test_an_update_reweights_the_points_by_bayes_rule():
    x, y = table(30)
    model = GPRegressor(tails="normal", n_restarts=0).fit(x[:20], y[:20])
    before, parts = model.theta_weights_, model.predict_dist(x[20:21]).components
    gained = np.array([part.log_prob(y[20:21])[0] for part in parts])
    evidence = model.log_evidence_
    model.update(x[20:21], y[20:21])
    expected = before * np.exp(gained)
    np.testing.assert_allclose(model.theta_weights_, expected / expected.sum(), rtol=1e-8)
    assert model.log_evidence_ - evidence == pytest.approx(np.log(expected.sum()), rel=1e-8)


def test_tails_are_the_most_likely_student_t_or_normal():
    rng = np.random.default_rng(0)
    heavy = 0.7 * stats.t(3).rvs(400, random_state=rng)
    tails = fitted_tails(heavy)
    df, _, scale = stats.t.fit(heavy, floc=0)
    assert abs(np.log(tails.df / df)) < 0.25 and tails.scale == pytest.approx(scale, rel=0.05)
    assert fitted_tails(rng.normal(size=400)).df == np.inf
    assert fitted_tails(np.zeros(30)).df == np.inf


def test_tails_of_a_mixture_maximise_its_leave_one_out_score():
    rng = np.random.default_rng(2)
    y = stats.t(3).rvs(150, random_state=rng)
    z, std = np.stack([(y - 0.1) / 1.4, (y + 0.2) / 1.8]), np.array([[1.4], [1.8]])
    log_weights = np.log([[0.3], [0.7]]) - np.log(std) + np.zeros_like(z)
    tails = fitted_tails(z, log_weights)

    def score(df, scale):
        return logsumexp(log_weights + stats.t(df).logpdf(z / scale) - np.log(scale), axis=0).sum()

    best = score(tails.df, tails.scale)
    assert np.isfinite(tails.df) and best > logsumexp(log_weights + stats.norm.logpdf(z), axis=0).sum() + np.log(150)
    for df in (2.1, 2.5, 3.0, 4.0, 5.0, 7.0):
        assert max(score(df, scale) for scale in np.linspace(0.3, 1.2, 91)) < best + 0.02


def test_leaving_a_row_out_divides_the_weights_by_its_density(monkeypatch):
    x, y = table(24)
    model = GPRegressor("rbf", n_restarts=0).fit(x, y)
    given = {}
    monkeypatch.setattr("credo.gp._posterior.fitted_tails", lambda z, logs: given.update(z=z, logs=logs))
    model.posterior_.learned_tails()
    # The same from the evidence of the other rows at each point, a refit without the row.
    objective, row = model._objective(), 5
    order = [int(np.flatnonzero(np.isclose(objective.observations.X[:, 0], v))[0]) for v in model.X_train_[:, 0]]
    rest = objective.subset(np.delete(np.arange(24), order[row]))
    change = [rest.evidence(t, gradient=False)[0] - objective.evidence(t, gradient=False)[0] for t in model.thetas_]
    expected = model.theta_weights_ * np.exp(change)
    std = np.sqrt([process.left_out()[1][row, 0] for process in model.posterior_.processes])
    np.testing.assert_allclose(np.exp(given["logs"][:, row]) * std, expected / expected.sum(), rtol=1e-6)


def test_outliers_make_the_predictions_heavy_tailed():
    rng = np.random.default_rng(1)
    x = np.linspace(0, 6, 150)[:, None]
    y = np.sin(x[:, 0]) + 0.05 * rng.normal(size=150)
    y[::15] += rng.choice([-1, 1], size=10)
    model = GPRegressor(n_restarts=0).fit(x, y)
    dist = model.predict_dist(x)
    assert isinstance(dist, Mixture) and isinstance(dist.components[0], StudentT)
    plain = GPRegressor(n_restarts=0, tails="normal").fit(x, y)
    assert isinstance(plain.predict_dist(x).components[0], Normal)
    assert model.loo().log_prob(y).mean() > plain.loo().log_prob(y).mean() + 0.3
    covariance = model.predict(x[:3], return_cov=True)[1]
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), model.predict(x[:3], return_std=True)[1], rtol=1e-6)


def test_many_rows_keep_the_maximum(monkeypatch):
    monkeypatch.setattr("credo.gp.regressor._INTEGRATION_POINTS", ((10, 8, 8),))
    x, y = table()
    model = GPRegressor(n_restarts=0).fit(x, y)
    assert len(model.thetas_) == 1 and model.evidence_method_ == "exact" and "maximized" in model.evidence_base_


@pytest.mark.parametrize(("n", "most"), [(150, 6), (300, 4), (1000, 2)])
def test_a_few_points_predict_as_all_do(n, most, monkeypatch):
    """Log scores of new rows agree to a thousandth, at a cost in proportion to the points."""
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(n + 500, 4))
    y = np.sin(4 * X[:, 0]) + 2 * X[:, 1] ** 2 + X[:, 2] + 0.3 * rng.normal(size=n + 500)
    few, every = (GPRegressor("rbf", n_restarts=0, random_state=0) for _ in range(2))
    few.fit(X[:n], y[:n])
    monkeypatch.setattr("credo.gp.regressor._INTEGRATION_POINTS", ((300, 32, 32), (1500, 8, 8)))
    every.fit(X[:n], y[:n])
    assert len(few.thetas_) <= most < len(every.thetas_)
    assert few.log_evidence_ == every.log_evidence_ and few.noise_variance_ == every.noise_variance_
    np.testing.assert_array_equal(few.thetas_[0], few.theta_)
    scores = [model.predict_dist(X[n:]).log_prob(y[n:]).mean() for model in (few, every)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-3)


@pytest.mark.parametrize("most", [2, 4, 9])
def test_few_points_keep_the_average(most):
    """Points of a space of three dimensions: four are enough for any average, and fewer come close."""
    rng = np.random.default_rng(most)
    values, weights = rng.normal(size=(20, 3)) @ rng.normal(size=(3, 50)), rng.dirichlet(np.ones(20))
    kept, own = few_points(values, weights, most, 1e-20)
    assert kept[0] == 0 and len(kept) <= most and (own >= 0).all() and own.sum() == pytest.approx(1.0, abs=1e-12)
    gap = np.linalg.norm(own @ values[kept] - weights @ values)
    assert gap < np.linalg.norm(values[0] - weights @ values) / 2
    if most == 9:
        np.testing.assert_allclose(own @ values[kept], weights @ values, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "d"), [(15, 2), (30, 4), (60, 4), (30, 8)])
def test_coverage_on_tables_drawn_from_the_prior(n, d):
    """Tables as in REFERENCES: 95 % intervals of 40 new rows, 40 tables each."""
    hits = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1.5, 1.5, size=(n + 40, d))
        K = RBF(rng.lognormal(0, 0.5, size=d) * 0.8 * np.sqrt(d)).gram(X)
        y = np.linalg.cholesky(K + rng.lognormal(-2.5, 0.7) * np.eye(n + 40)) @ rng.normal(size=n + 40)
        lower, upper = GPRegressor(n_restarts=2, random_state=0).fit(X[:n], y[:n]).predict_dist(X[n:]).interval(0.95)
        hits.append(np.mean((y[n:] >= lower) & (y[n:] <= upper)))
    assert np.mean(hits) > 0.93 - 2 * np.std(hits) / np.sqrt(40)
