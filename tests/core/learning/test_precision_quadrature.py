"""The precisions integrated out, against quadrature over both of them with plain densities."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp, roots_hermitenorm

from credo.core.learning import EvidenceTerms, Gamma, integrate_precisions, log_evidence, maximize_precisions
from credo.core.learning.integration import gauss_nodes
from credo.linear import BayesianLinearRegression


def table(n, p, seed=0, noise=0.7):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * np.linspace(0.5, 2.0, p)
    return X, X @ rng.normal(size=p) + noise * rng.normal(size=n), rng.normal(size=(3, p))


def by_two_dimensional_quadrature(X, y, new, quantiles, *, alpha=None, beta=None):
    """ln p(y), and the mean, variance and quantiles of new targets, on a grid of ln α and ln β; no intercept.

    The prior has a uniform R² = c/(c + ασ²), with c the mean squared length of the rows, and dσ²/σ². If α is given it
    is dσ²/(σ² + c/α); if β is given, R² is uniform.
    """
    n, p = X.shape
    c = np.sum(X**2) / n
    log_alpha = np.linspace(-16, 18, 86) if alpha is None else np.log([alpha])
    log_beta = np.linspace(-14, 14, 71) if beta is None else np.log([beta])
    logs, means, stds = [], [], []
    for a in np.exp(log_alpha):
        for b in np.exp(log_beta):
            S = np.linalg.inv(a * np.eye(p) + b * X.T @ X)
            m = b * S @ X.T @ y
            log_likelihood = (
                0.5 * p * np.log(a) + 0.5 * n * np.log(b / (2 * np.pi)) + 0.5 * np.linalg.slogdet(S)[1]
                - 0.5 * b * np.sum((y - X @ m) ** 2) - 0.5 * a * m @ m
            )  # fmt: skip
            signal = c * b / a
            log_prior = -np.log1p(signal) if alpha is not None else np.log(signal) - 2 * np.log1p(signal)
            logs.append(log_likelihood + log_prior)
            means.append(new @ m)
            stds.append(np.sqrt(1 / b + np.einsum("ij,jk,ik->i", new, S, new)))
    steps = [np.log(grid[1] - grid[0]) for grid in (log_alpha, log_beta) if len(grid) > 1]
    logs, means, stds = np.array(logs), np.array(means), np.array(stds)
    weights = np.exp(logs - logsumexp(logs))
    mean = weights @ means
    variance = weights @ (stds**2 + (means - mean) ** 2)
    probabilities = np.array([weights @ stats.norm.cdf(q, means, stds) for q in quantiles])
    return logsumexp(logs) + sum(steps), mean, variance, probabilities


@pytest.mark.parametrize("given", [{}, {"alpha": 0.8}, {"beta": 1.5}], ids=["both", "noise", "prior"])
@pytest.mark.parametrize("shape", [(6, 2), (5, 7)], ids=["tall", "wide"])
def test_quadrature_over_both_precisions(shape, given):
    X, y, new = table(*shape)
    names = {"alpha": "prior_precision", "beta": "noise_precision"}
    model = BayesianLinearRegression(fit_intercept=False, **{names[key]: value for key, value in given.items()})
    dist = model.fit(X, y).predict_dist(new)
    levels = [0.025, 0.3, 0.9]
    oracle = by_two_dimensional_quadrature(X, y, new, dist.quantile(levels).T, **given)
    assert model.log_evidence_ == pytest.approx(oracle[0], abs=1e-4)
    np.testing.assert_allclose(model.predict(new), oracle[1], atol=2e-3 * dist.std.min())
    np.testing.assert_allclose(dist.var, oracle[2], rtol=5e-3)
    np.testing.assert_allclose(oracle[3], np.repeat(np.array(levels)[:, None], 3, axis=1), atol=1e-3)


def terms(n, p, noise, seed=0):
    rng = np.random.default_rng(seed)
    eigenvalues = rng.chisquare(n, size=p)
    projections = rng.chisquare(1, size=p) * (eigenvalues + noise**2)
    return EvidenceTerms(eigenvalues, projections, noise**2 * rng.chisquare(n - p), float(n), 0.0)


def test_many_rows_leave_one_node_near_the_maximum_of_the_evidence():
    data = terms(200_000, 40, 1.0)
    found = integrate_precisions(
        data, row_square=float(data.eigenvalues.sum()) / 200_000, prior=None, noise=Gamma(0, 0)
    )
    top = maximize_precisions(data, prior=None, noise=None)
    assert len(found.ratios) == 1
    assert found.ratios[0] == pytest.approx(top.prior / top.noise, rel=0.1)
    assert found.noise_variances[0] == pytest.approx(1 / top.noise, rel=1e-4)


@pytest.mark.parametrize("noise", [1e-14, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("p", [1, 5, 15])
def test_the_integral_is_that_of_a_fine_grid(noise, p):
    """However small the noise; a narrow maximum lies between points of the first grid."""
    data = terms(16, p, noise)
    c = float(data.eigenvalues.sum()) / 16
    found = integrate_precisions(data, row_square=c, prior=None, noise=Gamma(0, 0))
    u = np.linspace(-90, 40, 2001)
    logs = np.array([log_evidence(data, prior=np.exp(v), noise=Gamma(0, 0)) for v in u])
    logs += stats.logistic(np.log(c)).logpdf(u)
    assert found.log_evidence == pytest.approx(logsumexp(logs) + np.log(u[1] - u[0]), abs=1e-6)
    weights = np.exp(logs - logsumexp(logs))
    noises = np.array([data.misfit(ratio) for ratio in np.exp(u)]) / 16
    assert found.noise_variance == pytest.approx(weights @ noises, rel=1e-5)
    assert found.prior_variance == pytest.approx(weights @ (noises / np.exp(u)), rel=5e-3)


def test_two_maxima_are_both_in_the_mixture():
    """Two groups of directions that want very different prior variances."""
    eigenvalues = np.concatenate([np.full(5, 1e6), np.full(5, 1e-3)])
    projections = np.concatenate([np.full(5, 3.0), np.full(5, 34.0)])
    data = EvidenceTerms(eigenvalues, projections, 30.0, 40.0, 0.0)
    found = integrate_precisions(data, row_square=5e6 / 40, prior=None, noise=1.0)
    u = np.linspace(-40, 50, 2001)
    logs = np.array([log_evidence(data, prior=np.exp(v), noise=1.0) for v in u])
    logs += stats.logistic(np.log(5e6 / 40)).logpdf(u)
    low = np.exp(logs - logsumexp(logs))[u < 2].sum()
    assert 0.2 < low < 0.8
    assert found.weights[np.log(found.ratios) < 2].sum() == pytest.approx(low, abs=1e-4)


@pytest.mark.parametrize("n", [1, 4, 9])
def test_gauss_nodes_of_a_normal_are_hermite_s(n):
    x = np.linspace(-12, 12, 2001)
    nodes, weights = gauss_nodes(x, stats.norm.pdf(x) / stats.norm.pdf(x).sum(), n)
    places, masses = roots_hermitenorm(n)
    np.testing.assert_allclose(nodes, places, atol=1e-8)
    np.testing.assert_allclose(weights, masses / masses.sum(), rtol=1e-7)


def test_gauss_nodes_of_few_points_are_the_points():
    nodes, weights = gauss_nodes(np.array([1.0, 3.0]), np.array([0.25, 0.75]), 5)
    np.testing.assert_allclose(nodes, [1.0, 3.0])
    np.testing.assert_allclose(weights, [0.25, 0.75])
    np.testing.assert_array_equal(gauss_nodes(np.full(3, 2.0), np.full(3, 1 / 3), 3)[0], [2.0])
