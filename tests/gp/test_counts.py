"""Counts: the bound is right by other routes, its gradient too, and predictions are calibrated."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.optimize import minimize
from scipy.special import gammaln
from sklearn.linear_model import PoissonRegressor

import credo
from credo.core.fields import check
from credo.gp import GPRegressor
from credo.kernels import RBF, Constant, Linear, Matern52, White
from credo.metrics import pit


def table(n=60, seed=0, level=1.0):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 6, size=n))
    return x[:, None], rng.poisson(np.exp(level + np.sin(x))).astype(float)


def fixed(X, y, weight=None, **options):
    options = {"kernel": Matern52([1.5]), "hyperparameters": "fixed"} | options
    return GPRegressor(noise="poisson", **options).fit(X, y, sample_weight=weight)


@pytest.fixture(scope="module")
def fitted():
    X, y = table()
    return X, y, GPRegressor("rbf", noise="poisson", n_restarts=0, random_state=0).fit(X, y)


def test_a_flat_function_is_the_model_of_one_rate():
    """q(b) = N(ln(s/n) − 1/2s, 1/s) with s the total count maximizes the bound, and its rate is the mean count."""
    X, y = table()
    model = fixed(X, y, kernel=RBF([1.0], variance=1e-12))
    n, total = len(y), y.sum()
    np.testing.assert_allclose(model.predict(X), total / n, rtol=1e-7)
    dist = model.predict_dist(X[:1])
    assert dist.loc[0] == pytest.approx(math.log(total / n) - 0.5 / total, abs=1e-6)
    assert dist.scale[0] == pytest.approx(total**-0.5, rel=1e-5)
    entropy = 0.5 * math.log(2 * math.pi * math.e / total)
    bound = total * (math.log(total / n) - 0.5 / total - 1.0) - gammaln(y + 1).sum() + entropy
    assert model.log_evidence_ == pytest.approx(bound, abs=1e-6)
    assert model.noise_variance_ == pytest.approx(y.mean(), rel=1e-6)


def test_a_linear_kernel_is_a_regression_with_normal_weights():
    """The bound in weight space, maximized by a general optimizer; its mode is that of scikit-learn's penalty."""
    X, y = table(40, level=4.0)
    x = X - 3.0
    model = fixed(x, y, kernel=Linear(variance=0.25) + Constant(4.0), mean="zero")
    B, prior = np.column_stack([x, np.ones(40)]), np.diag([0.25, 4.0])

    def loss(vector):
        mean, L = vector[:2], np.array([[math.exp(vector[2]), 0.0], [vector[3], math.exp(vector[4])]])
        S, f = L @ L.T, B @ mean
        expected = y @ f - np.exp(f + 0.5 * np.einsum("ij,jk,ik->i", B, S, B)).sum() - gammaln(y + 1).sum()
        gap = np.trace(np.linalg.solve(prior, S)) + mean @ np.linalg.solve(prior, mean) - 2
        return 0.5 * (gap + np.linalg.slogdet(prior)[1] - np.linalg.slogdet(S)[1]) - expected

    best = minimize(loss, [0.0, 4.0, -3.0, 0.0, -3.0], method="BFGS", options={"gtol": 1e-4})
    assert model.log_evidence_ == pytest.approx(-best.fun, abs=1e-5)
    np.testing.assert_allclose(model.predict_dist(x).loc, B @ best.x[:2], atol=1e-5)
    # Counts are large, so that the mean of the posterior is nearly its mode.
    rival = PoissonRegressor(alpha=1 / (40 * 0.25), tol=1e-10, max_iter=1000).fit(x, y)
    flat = fixed(x, y, kernel=Linear(variance=0.25))
    np.testing.assert_allclose(flat.predict(x), rival.predict(x), rtol=2e-3)


def test_bound_is_just_below_the_evidence():
    """One row, whose evidence is an integral; the prior of f has mean zero."""
    for count in (0.0, 1.0, 7.0):
        model = fixed([[0.0]], [count], mean="zero")
        truth = credo.distributions.PoissonLogNormal(0.0, 1.0).log_prob(count)
        assert truth - 0.03 < model.log_evidence_ < truth


def test_gradient_by_finite_differences():
    X, y = table(30)
    model = fixed(X, y, np.arange(30) % 3 + 1.0, hyperparameters="fixed")
    vector = model.theta_ + 0.2
    _, gradient = model.log_evidence(vector)
    for i, axis in enumerate(np.eye(2)):
        ends = [model.log_evidence(vector + s * 1e-3 * axis, gradient=False) for s in (1, -1)]
        assert gradient[i] == pytest.approx((ends[0] - ends[1]) / 2e-3, rel=1e-4, abs=1e-4)


def test_methods_agree():
    X, y = table()
    exact = fixed(X, y)
    new = np.linspace(-1, 7, 20)[:, None]
    for options in ({"method": "state_space"}, {"method": "inducing", "n_inducing": 60}):
        other = fixed(X, y, **options)
        assert other.log_evidence_ == pytest.approx(exact.log_evidence_, abs=1e-6)
        np.testing.assert_allclose(other.predict(new), exact.predict(new), rtol=1e-5)
        np.testing.assert_allclose(other.predict_dist(new).std, exact.predict_dist(new).std, rtol=1e-5)
    with pytest.raises(ValueError, match=r'noise="poisson" needs method="exact" .* got method="vecchia"'):
        fixed(X, y, method="vecchia")


def test_weights_are_copies_and_equal_inputs_share_a_site():
    X, y = table(25)
    weight = np.arange(25) % 3
    weighted, copied = fixed(X, y, weight), fixed(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.log_evidence_ == pytest.approx(copied.log_evidence_, abs=1e-7)
    np.testing.assert_allclose(weighted.predict(X), copied.predict(X), rtol=1e-7)
    # Two counts at one input are the same as two inputs that hardly differ.
    twice, apart = np.append(y, y[::-1]), np.vstack([X, X + 1e-7])
    merged, single = fixed(np.vstack([X, X]), twice), fixed(apart, twice)
    assert merged.log_evidence_ == pytest.approx(single.log_evidence_, abs=1e-4)
    np.testing.assert_allclose(merged.predict(X), single.predict(X), rtol=1e-4)


def test_predictions_are_about_counts_and_their_rate(fitted, tmp_path):
    X, y, model = fitted
    truth = np.exp(1 + np.sin(X[:, 0]))
    dist, rate = model.predict_dist(X), model.predict_dist(X, latent=True)
    np.testing.assert_allclose(model.predict(X), dist.mean, rtol=1e-12)
    np.testing.assert_allclose(rate.mean, dist.mean, rtol=1e-12)
    np.testing.assert_allclose(dist.var, rate.var + rate.mean, rtol=1e-9)
    assert np.mean((rate.interval(0.99)[0] < truth) & (truth < rate.interval(0.99)[1])) > 0.9
    assert (dist.quantile(0.3) == np.floor(dist.quantile(0.3))).all()
    assert credo.log_score(y, model.loo()) > stats.poisson(y.mean()).logpmf(y).mean() + 0.1
    assert model.evidence_method_ == "elbo" and "intercept of the log rate: flat" in model.evidence_base_
    mean, cov = model.predict(X[:4], return_cov=True)
    np.testing.assert_allclose(np.sqrt(np.diagonal(cov)), dist.std[:4], rtol=1e-9)
    drawn = model.sample(X[:4], 20_000, random_state=0)
    np.testing.assert_allclose(drawn.mean(axis=0), mean, rtol=0.02)
    np.testing.assert_allclose(np.cov(drawn.T)[0, 1:], cov[0, 1:], rtol=0.2, atol=0.02)
    assert "log rate of counts" in str(model.summary()) and "noise variance" not in str(model.summary())
    credo.save(model, tmp_path / "model.credo")
    again = credo.load(tmp_path / "model.credo")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.predict_dist(X).std, dist.std)
    forged = replace(again.posterior_.data, Y=again.posterior_.data.Y + 0.5)
    with pytest.raises(ValueError, match="data must be of counts"):
        check(replace(again.posterior_, data=forged))


def test_update_is_a_fit_to_all_rows():
    X, y = table(30)
    model = fixed(X[:20], y[:20]).update(X[20:], y[20:])
    whole = fixed(X, y)
    assert model.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-6)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=1e-5)


def test_intervals_of_counts_from_the_prior_are_calibrated():
    """70 functions drawn from the prior, 20 counts each, of which six are predicted."""
    rng, kernel = np.random.default_rng(1), Matern52([1.0])
    ranks, inside = [], []
    for _ in range(70):
        x = rng.uniform(0, 6, size=(20, 1))
        counts = rng.poisson(np.exp(1.0 + kernel.sample(x, 1, random_state=rng)[0])).astype(float)
        dist = fixed(x[6:], counts[6:], kernel=kernel).predict_dist(x[:6])
        ranks.append(pit(counts[:6], dist, random_state=rng))
        low, high = dist.interval(0.9)
        inside.append((low <= counts[:6]) & (counts[:6] <= high))
    assert stats.kstest(np.concatenate(ranks), "uniform").pvalue > 0.01
    # Intervals of counts contain at least the level: 420 counts, standard error 0.015.
    assert 0.87 < np.mean(inside) < 0.98


def test_extra_variance_between_counts():
    """Counts of a rate that has noise itself: without White in the kernel, intervals are far too narrow."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 6, size=(400, 1))
    y = rng.poisson(np.exp(2 + np.sin(x[:, 0]) + 0.7 * rng.normal(size=400)))
    plain, extra = (
        GPRegressor(kernel, noise="poisson", n_restarts=0, random_state=0).fit(x[:200], y[:200])
        for kernel in (RBF([1.0]), RBF([1.0]) + White())
    )
    dists = [model.predict_dist(x[200:]) for model in (plain, extra)]
    assert credo.log_score(y[200:], dists[1]) > credo.log_score(y[200:], dists[0]) + 0.2
    assert 0.84 < credo.coverage(y[200:], dists[1], level=0.9) < 0.97
    assert extra.log_evidence_ > plain.log_evidence_ + 20


def test_rare_events_and_missing_counts():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(620, 2)), np.zeros(620)
    y[:3] = 1.0
    model = GPRegressor("rbf", noise="poisson", n_restarts=0, random_state=0, max_evaluations=3).fit(X, y)
    assert model.predict(X).mean() == pytest.approx(3 / 620, rel=1e-4)
    x, counts = table(20)
    gaps = fixed(np.vstack([x, x[:1]]), np.append(counts, np.nan))
    np.testing.assert_allclose(gaps.predict(x), fixed(x, counts).predict(x), rtol=1e-9)


def test_what_is_no_count_says_so():
    X, y = table(10)
    for bad in (-1.0, 2.5):
        y[3] = bad
        with pytest.raises(ValueError, match=rf'needs counts.*y is {bad:g} in row 3: use noise="learn"'):
            fixed(X, y)
    with pytest.raises(ValueError, match=r'every count in y is zero.*mean="zero"'):
        fixed(X, np.zeros(10))
    assert fixed(X, np.zeros(10), mean="zero").predict(X).max() < 1.0
    with pytest.raises(ValueError, match=r'noise="poisson" needs a single target'):
        fixed(X, np.ones((10, 2)))
    with pytest.raises(ValueError, match="paths needs a single target"):
        fixed(X, np.arange(10)).paths()
    with pytest.raises(ValueError, match='hyperparameters="sample" needs'):
        fixed(X, np.arange(10), hyperparameters="sample")
    frame = pd.DataFrame({"x": X[:, 0]})
    assert fixed(frame, pd.Series(np.arange(10))).predict(frame).shape == (10,)


def test_counts_too_large_for_their_factorials_raise_an_error():
    with pytest.raises(ValueError, match=r"up to 1e\+12, but y has 1e\+25.*logarithms"):
        GPRegressor(noise="poisson").fit([[0.0], [1.0], [2.0]], [1.0, 1e25, 3.0])
