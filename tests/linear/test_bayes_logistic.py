"""Bayesian logistic regression against grids, Gibbs sampling and plain formulas, and the laws it obeys."""

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from scipy.special import expit, log_softmax, logsumexp, softmax
from sklearn import exceptions
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from tests.reference.polya_gamma import Grid, gibbs

import credo
from credo.linear import BayesianLogisticRegression, _variational
from credo.linear._variational import gauss_rule, given_precision, log_posterior

RULES = ("quadrature", "probit", "monte_carlo", "plugin")


def table(n_samples=60, n_features=3, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features)) + 1
    logits = (X - 1) @ rng.normal(size=(n_features, n_classes))
    return X, np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)


def plain(X, y, alpha, level_precision, weight=None):
    """Mode, covariance and log evidence of all K·(p + 1) parameters of a symmetric softmax, by plain Newton steps."""
    n_classes, (n, p) = y.max() + 1, X.shape
    weight = np.ones(n) if weight is None else weight
    Phi = np.column_stack([X - np.average(X, axis=0, weights=weight), np.ones(n)])
    prior = np.tile([alpha] * p + [level_precision], n_classes)
    theta, d = np.zeros((n_classes, p + 1)), n_classes * (p + 1)
    for _ in range(15):
        P = softmax(Phi @ theta.T, axis=1)
        gradient = (weight[:, None] * (np.eye(n_classes)[y] - P)).T @ Phi - prior.reshape(theta.shape) * theta
        curvature = weight[:, None, None] * (np.einsum("nk,kl->nkl", P, np.eye(n_classes)) - P[:, :, None] * P[:, None])
        H = np.einsum("nkl,ni,nj->kilj", curvature, Phi, Phi, optimize=True).reshape(d, d) + np.diag(prior)
        theta = theta + np.linalg.solve(H, gradient.ravel()).reshape(theta.shape)
    logs = log_softmax(Phi @ theta.T, axis=1)[np.arange(n), y]
    value = weight @ logs - 0.5 * prior @ theta.ravel() ** 2
    return theta, np.linalg.inv(H), value + 0.5 * np.log(prior).sum() - 0.5 * np.linalg.slogdet(H)[1]


@pytest.mark.parametrize("shape", [(60, 3), (12, 30)], ids=["tall", "wide"])
def test_two_classes_satisfy_the_equations_of_the_closest_gaussian(shape):
    """E[gradient] = 0, P = E[curvature] and the bound, all by Gauss–Hermite quadrature."""
    X, y = table(*shape)
    weight, alpha = np.arange(len(y)) % 3 + 0.5, 0.35
    model = BayesianLogisticRegression(alpha, fit_intercept=False).fit(X, y, weight)
    w, S = model.coef_[0], model.coef_cov_
    z, mass = np.polynomial.hermite_e.hermegauss(120)
    mass /= mass.sum()
    scores = (X @ w)[:, None] + np.sqrt(np.einsum("ij,jk,ik->i", X, S, X))[:, None] * z
    gradient = X.T @ (weight * (y - expit(scores) @ mass)) - alpha * w
    assert np.sqrt(gradient @ S @ gradient) < 1e-3
    P = (X.T * (weight * ((expit(scores) * expit(-scores)) @ mass))) @ X + alpha * np.eye(len(w))
    np.testing.assert_allclose(S @ P, np.eye(len(w)), atol=1e-3)
    np.testing.assert_allclose(model.coef_std_[0] ** 2, np.diag(S), rtol=1e-10)
    likelihood = weight @ (-np.logaddexp(0.0, -(2 * y - 1)[:, None] * scores) @ mass)
    divergence = alpha * (np.trace(S) + w @ w) - len(w) - np.linalg.slogdet(alpha * S)[1]
    assert model.log_evidence_ == pytest.approx(likelihood - 0.5 * divergence, abs=1e-6)


def test_many_rows_make_it_laplace_s_approximation():
    """Both are the posterior in the limit; for three classes in the symmetric parametrization."""
    X, y = table(4000, 3, n_classes=3)
    model = BayesianLogisticRegression(0.7, intercept_precision=0.04).fit(X, y)
    theta, cov, evidence = plain(X, y, 0.7, 0.04)
    p = X.shape[1]
    np.testing.assert_allclose(model.coef_, theta[:, :p], atol=0.1 * model.coef_std_.max())
    center = X.mean(axis=0)
    np.testing.assert_allclose(model.intercept_, theta[:, p] - theta[:, :p] @ center, atol=0.01)
    assert model.log_evidence_ == pytest.approx(evidence, abs=0.05)
    # What all classes share keeps its prior in the full posterior; the model leaves it out.
    gauge = np.kron(np.eye(3) - 1 / 3, np.eye(p + 1))
    cov = (gauge @ cov @ gauge).reshape(3, p + 1, 3, p + 1)
    whole = cov[:, :p, :, :p].reshape(3 * p, 3 * p)
    np.testing.assert_allclose(model.coef_cov_, whole, atol=0.02 * whole.max())
    np.testing.assert_allclose(model.coef_std_.ravel() ** 2, np.diag(model.coef_cov_), rtol=1e-9)
    at_zero = np.append(-center, 1.0)
    intercept = np.einsum("i,kikj,j->k", at_zero, cov, at_zero)
    np.testing.assert_allclose(model.intercept_std_**2, intercept, rtol=0.02)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("apart", [0.0, 4.0], ids=["overlapping", "separable"])
def test_small_tables_by_importance_sampling(n_classes, apart):
    """Exact but for sampling errors: probabilities, weights and evidence of a given prior."""
    X, y = table(24, 1, n_classes, seed=4)
    X = X + apart * y[:, None]
    model = BayesianLogisticRegression(0.05, intercept_precision=0.1).fit(X, y)
    q, C = model.posterior_, model.posterior_.contrasts
    rng, (m, d) = np.random.default_rng(0), q.mode.shape
    # A Student-t distribution with heavier tails than the posterior.
    shift = rng.standard_normal((40_000, m * d)) / np.sqrt(rng.chisquare(5, size=(40_000, 1)) / 5)
    theta = q.mean[0].ravel() + 1.2 * shift @ q.root[0]
    log_q = stats.multivariate_t.logpdf(shift, shape=np.eye(m * d), df=5)
    log_q -= m * d * np.log(1.2) + np.linalg.slogdet(q.root[0])[1]
    phi = np.column_stack([(X - X.mean(axis=0)) @ q.V, np.ones(len(X))])
    theta = theta.reshape(-1, m, d)
    logits = np.einsum("smd,nd->snm", theta, phi) @ C.T
    prior = np.array([0.05, 0.1])
    log_p = log_softmax(logits, axis=2)[:, np.arange(len(y)), y].sum(axis=1)
    log_p += 0.5 * (np.log(prior / (2 * np.pi)) - prior * theta**2).sum(axis=(1, 2))
    share = softmax(log_p - log_q)
    evidence = logsumexp(log_p - log_q) - np.log(len(share))
    assert evidence - 0.5 < model.log_evidence_ < evidence + 0.03
    exact = np.einsum("s,snk->nk", share, softmax(logits, axis=2))
    np.testing.assert_allclose(model.predict_proba(X), exact, atol=0.03)
    weights = theta[:, :, 0] @ q.outputs.T * q.V[0, 0]
    mean = share @ weights
    std = np.sqrt(share @ (weights - mean) ** 2)
    np.testing.assert_allclose(model.coef_[:, 0], mean, atol=0.25 * std.max())
    # The closest Gaussian is narrower than a skewed posterior.
    assert (model.coef_std_[:, 0] < 1.1 * std).all() and (model.coef_std_[:, 0] > (0.7 if apart else 0.8) * std).all()


def test_plug_in_is_the_penalised_maximum_of_scikit_learn():
    for n_classes in (2, 3):
        X, y = table(200, 4, n_classes)
        model = BayesianLogisticRegression(2.0, intercept_precision=1e-9, predictive="plugin").fit(X, y)
        oracle = LogisticRegression(C=0.5, tol=1e-12, max_iter=1000, solver="newton-cg").fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X), oracle.predict_proba(X), atol=1e-6)


def line(n, seed=1):
    """One input and a level, for grids over two parameters."""
    rng = np.random.default_rng(seed)
    x = np.linspace(-2, 2, n)
    y = (rng.random(n) < expit(1.0 + 1.5 * x)).astype(int)
    return x[:, None], y


def grid(model, X, y):
    Phi = np.column_stack([X - X.mean(axis=0), np.ones(len(X))])
    center = np.append(model.coef_[0], model.intercept_ + model.coef_[0] @ X.mean(axis=0))
    return Phi, Grid(Phi, y, [1.0, 0.01], center=center, std=[model.coef_std_[0, 0], model.intercept_std_[0]])


def test_evidence_tends_to_the_exact_one():
    """From below; the gap falls like 1/n."""
    gaps = []
    for n in (20, 80, 320):
        X, y = line(n)
        model = BayesianLogisticRegression(1.0).fit(X, y)
        _, exact = grid(model, X, y)
        gaps.append(exact.log_evidence - model.log_evidence_)
    assert 0 < gaps[-1] < 0.008 and gaps[0] < 0.06
    assert (np.array(gaps[1:]) < 0.5 * np.array(gaps[:-1])).all()


@pytest.mark.parametrize("n", [10, 25])
def test_averaged_probabilities_tell_more_than_plug_in(n):
    """The information lost against the exact predictive, from the data to far outside."""
    X, y = line(n)
    new = np.linspace(-6, 6, 41)[:, None]
    lost = {}
    for rule in RULES:
        model = BayesianLogisticRegression(1.0, predictive=rule, random_state=0).fit(X, y)
        _, exact = grid(model, X, y)
        p = exact.probability(np.column_stack([new - X.mean(axis=0), np.ones(41)]))
        q = model.predict_proba(new)[:, 1]
        assert np.abs(p - q).max() < 0.05 or rule == "plugin"
        lost[rule] = (p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))).mean()
    assert lost["quadrature"] < 0.4 * lost["plugin"] and lost["quadrature"] < lost["probit"]


def test_quadrature_is_the_average_over_the_gaussian_posterior():
    """The same average over two weights by a product rule, without projecting them on the row first."""
    X, y = table(30, 2)
    model = BayesianLogisticRegression(0.2, fit_intercept=False).fit(X, y)
    L = np.linalg.cholesky(model.coef_cov_)
    z = np.linspace(-9, 9, 181)
    nodes = np.stack(np.meshgrid(z, z), axis=-1).reshape(-1, 2)
    mass = np.exp(-0.5 * (nodes**2).sum(axis=1))
    weights = model.coef_[0] + nodes @ L.T
    oracle = (mass / mass.sum()) @ expit(weights @ X.T)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], oracle, atol=1e-10)


@pytest.mark.slow
def test_gibbs_sampling_agrees():
    """Pólya-Gamma draws: the sampler is exact but for its noise, so the gap beyond that is Laplace's."""
    X, y = table(80, 2, seed=3)
    model = BayesianLogisticRegression(0.5).fit(X, y)
    Phi = np.column_stack([X - X.mean(axis=0), np.ones(len(X))])
    draws = gibbs(Phi, y, [0.5, 0.5, 0.01], n_draws=4000)
    np.testing.assert_allclose(draws[:, :2].mean(axis=0), model.coef_[0], atol=0.4 * model.coef_std_.max())
    np.testing.assert_allclose(draws[:, :2].std(axis=0), model.coef_std_[0], rtol=0.1)
    new = np.random.default_rng(0).normal(size=(50, 2)) * 3 + 1
    oracle = expit(draws @ np.column_stack([new - X.mean(axis=0), np.ones(50)]).T).mean(axis=0)
    np.testing.assert_allclose(model.predict_proba(new)[:, 1], oracle, atol=0.03)
    lower, upper = model.proba_interval(new, 0.9)
    inside = expit(draws @ np.column_stack([new - X.mean(axis=0), np.ones(50)]).T)
    covered = ((inside > lower[:, 1]) & (inside < upper[:, 1])).mean(axis=0)
    np.testing.assert_allclose(covered, 0.9, atol=0.04)


def test_gibbs_sampler_and_grid_are_one_posterior():
    """The two oracles against each other."""
    X, y = line(25)
    model = BayesianLogisticRegression().fit(X, y)
    Phi, exact = grid(model, X, y)
    draws = gibbs(Phi, y, [1.0, 0.01], n_draws=1500)
    np.testing.assert_allclose(draws.mean(axis=0), exact.mean(), atol=0.15 * exact.std().max())
    np.testing.assert_allclose(draws.std(axis=0), exact.std(), rtol=0.12)


@pytest.mark.parametrize("alpha", [0.01, 1.0, 40.0])
def test_slope_of_the_bound(alpha):
    X, y = table(40, 3)
    posterior, _ = log_posterior(X, y, np.arange(40) % 3 + 1.0, n_classes=2, intercept=True, level_penalty=0.01)
    low, here, high = (given_precision(posterior, alpha * np.exp(u)).parts[0] for u in (-1e-2, 0.0, 1e-2))
    assert here.slope == pytest.approx((high.bound - low.bound) / 2e-2, abs=1e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_learned_precision_is_integrated_out(n_classes):
    """Sums over a fine grid of precisions, each with a fit of its own."""
    X, y = table(50, 6, n_classes, seed=5)
    model = BayesianLogisticRegression("integrate").fit(X, y)
    assert model.result_.converged and "averaged over the prior precision" in model.result_.message
    square = float(np.square(X - X.mean(axis=0)).sum() / len(X))
    u = np.log(square) - 2 * np.log(3) + np.arange(-9.0, 9.1, 0.75)
    tau = np.sqrt(square * np.exp(-u))
    fits = [BayesianLogisticRegression(float(np.exp(each))).fit(X, y) for each in u]
    # The half-Cauchy density of τ with scale 3, times dτ/du.
    logs = np.array([fit.log_evidence_ for fit in fits]) + np.log(2 / np.pi * 3 / (9 + tau**2) * tau / 2)
    assert model.log_evidence_ == pytest.approx(logsumexp(logs) + np.log(0.75), abs=0.05)
    share = softmax(logs)
    coef = np.tensordot(share, np.stack([fit.coef_ for fit in fits]), axes=1)
    square = np.tensordot(share, np.stack([fit.coef_std_**2 + fit.coef_**2 for fit in fits]), axes=1)
    np.testing.assert_allclose(model.coef_, coef, atol=0.03 * model.coef_std_.max())
    np.testing.assert_allclose(model.coef_std_, np.sqrt(square - coef**2), rtol=0.03)
    probs = np.tensordot(share, np.stack([fit.predict_proba(X) for fit in fits]), axes=1)
    np.testing.assert_allclose(model.predict_proba(X), probs, atol=0.005)
    assert abs(np.log(model.prior_precision_) - u[np.argmax(logs)]) < 0.75


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_precision_of_highest_evidence_is_a_maximum(n_classes):
    X, y = table(50, 6, n_classes, seed=5)
    model = BayesianLogisticRegression("evidence").fit(X, y)
    assert model.result_.converged and "maximizes the evidence" in model.result_.message
    assert model.evidence_base_ == "hyperparameters: maximized"
    given = BayesianLogisticRegression(model.prior_precision_).fit(X, y)
    assert model.log_evidence_ == pytest.approx(given.log_evidence_, abs=1e-4)
    np.testing.assert_allclose(model.predict_proba(X), given.predict_proba(X), atol=1e-4)
    for u in (-3.0, -0.5, 0.5, 3.0):
        other = BayesianLogisticRegression(model.prior_precision_ * np.exp(u)).fit(X, y)
        assert other.log_evidence_ < model.log_evidence_


@pytest.mark.parametrize("prior", ["integrate", "evidence"])
def test_a_learned_precision_is_the_same_in_any_unit(prior):
    X, y = table(80, 4, seed=2)
    model = BayesianLogisticRegression(prior).fit(X, y)
    small = BayesianLogisticRegression(prior).fit(1e-3 * X, y)
    np.testing.assert_allclose(small.predict_proba(1e-3 * X), model.predict_proba(X), rtol=1e-6)
    assert small.log_evidence_ == pytest.approx(model.log_evidence_, abs=1e-6)


def test_the_default_prior_does_not_depend_on_units():
    """Breast cancer in other units, where a prior precision of 1 leaves hardly any effect."""
    X, y = load_breast_cancer(return_X_y=True)
    X = 1e-3 * (X - X.mean(axis=0)) / X.std(axis=0)
    train, test = np.arange(len(y)) % 2 == 0, np.arange(len(y)) % 2 == 1
    default, fixed = (credo.log_score(y[test], model.fit(X[train], y[train]).predict_dist(X[test]))
                      for model in (BayesianLogisticRegression(), BayesianLogisticRegression(1.0)))  # fmt: skip
    assert default > -0.15 and fixed < -0.5


def test_gauss_rule_integrates_polynomials():
    x = np.linspace(-3, 4, 2001)
    mass = np.exp(-np.abs(x) + 0.3 * x)
    mass /= mass.sum()
    nodes, weights = gauss_rule(x, mass)
    assert len(nodes) == 5
    for degree in range(10):
        assert weights @ nodes**degree == pytest.approx(mass @ x**degree, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "p"), [(50, 3), (100, 10), (30, 10)])
def test_intervals_of_weights_hold_what_they_say(n, p):
    rng, hits = np.random.default_rng(0), []
    for _ in range(100):
        X, w = rng.normal(size=(n, p)), rng.normal(size=p)
        y = rng.random(n) < expit(X @ w)
        if 0 < y.sum() < n:
            model = BayesianLogisticRegression("integrate").fit(X, y)
            hits.append(np.abs(model.coef_[0] - w) < 1.96 * model.coef_std_[0])
    assert 0.93 - 2 * np.std(np.mean(hits, axis=1)) / 10 < np.mean(hits) < 0.98


def test_a_fit_that_stops_early_is_scikit_learn_s_convergence_warning(monkeypatch):
    X, y = table(40, 3)
    monkeypatch.setattr(_variational, "_MAX_STEPS", 1)
    with pytest.warns(exceptions.ConvergenceWarning, match="did not converge in .* iterations.*larger prior_precision"):
        model = BayesianLogisticRegression(1e-3).fit(X, y)
    assert not model.result_.converged


def test_labels_that_have_nothing_to_do_with_the_inputs_get_no_weights():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 2))
    y = np.tile([0, 0, 1, 1], 50)
    X = np.vstack([X, -X])
    model = BayesianLogisticRegression("integrate").fit(X, np.append(y, y))
    assert "highest without any linear effect; a nonlinear model may" in model.result_.message
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-4)
    np.testing.assert_allclose(model.predict_proba(X), 0.5, atol=1e-2)


def test_constant_columns_say_nothing():
    X, y = table(30, 1)
    model = BayesianLogisticRegression("integrate").fit(np.full((30, 2), 7.0), y)
    assert "all columns are constant" in model.result_.message and not model.coef_.any()
    both = BayesianLogisticRegression(0.5).fit(np.column_stack([X, np.full(30, 7.0)]), y)
    alone = BayesianLogisticRegression(0.5).fit(X, y)
    assert both.log_evidence_ == pytest.approx(alone.log_evidence_, rel=1e-10)
    np.testing.assert_allclose(both.coef_std_[0], [alone.coef_std_[0, 0], 2**0.5], rtol=1e-8)


@pytest.mark.parametrize("gap", [0.1, 10.0])
def test_separable_classes_are_what_the_prior_is_for(gap):
    X = np.concatenate([np.linspace(-2, -gap, 20), np.linspace(gap, 2 + gap, 20)])[:, None]
    y = np.repeat([0, 1], 20)
    for prior in (1.0, 1e-6, "evidence"):
        model = BayesianLogisticRegression(prior).fit(X, y)
        assert model.result_.converged and model.score(X, y) == 1.0
        assert np.isfinite(model.log_evidence_) and (model.coef_std_ > 0).all()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("prior", [1e-4, "evidence"])
def test_averaging_costs_little_where_a_plane_separates_the_classes(n_classes, prior):
    """There, the Laplace approximation reaches through the labels: its curvature at the mode is far too small."""
    X, y = table(90, 3, n_classes)
    apart = X + 20.0 * np.eye(3)[y]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = BayesianLogisticRegression(prior).fit(apart, y)
    assert model.predict_proba(apart)[np.arange(90), y].min() > 0.95


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("rule", RULES)
def test_probabilities_obey_their_laws(n_classes, rule):
    X, y = table(50, 3, n_classes)
    model = BayesianLogisticRegression(0.5, predictive=rule, random_state=0).fit(X, y)
    rows = np.vstack([X, 100 * X, np.zeros((1, 3))])
    probs, scores = model.predict_proba(rows), model.decision_function(rows)
    np.testing.assert_allclose(probs.sum(axis=1), 1.0, atol=1e-12)
    assert (probs >= 0).all() and np.isfinite(scores).all()
    np.testing.assert_array_equal(model.predict(rows), model.classes_[np.argmax(probs, axis=1)])
    np.testing.assert_allclose(np.exp(model.predict_log_proba(rows)), probs, atol=1e-12)
    last = scores if n_classes == 2 else scores[:, -1]
    # Probabilities that differ in their last digit may have one logarithm.
    assert (np.diff(probs[np.argsort(last), -1]) >= -1e-15).all()
    # As if the coefficients were known to have their posterior means.
    logits = np.column_stack([np.zeros(len(rows)), rows @ model.coef_.T + model.intercept_])
    plugin = softmax(logits if n_classes == 2 else logits[:, 1:], axis=1)
    if rule != "plugin":
        slack = 1e-12 if n_classes == 2 and rule != "monte_carlo" else 0.01
        assert (probs.max(axis=1) <= plugin.max(axis=1) + slack).all()
        assert probs[50:100].max(axis=1).mean() < plugin[50:100].max(axis=1).mean() - 0.02


def test_rules_can_be_compared_on_one_fit():
    X, y = table(30, 3)
    model = BayesianLogisticRegression().fit(X, y)
    for rule in ("probit", "plugin"):
        other = BayesianLogisticRegression(predictive=rule).fit(X, y).predict_proba(X)
        np.testing.assert_array_equal(model.set_params(predictive=rule).predict_proba(X), other)
    with pytest.raises(ValueError, match="needs draws that are made in fit"):
        model.set_params(predictive="monte_carlo").predict_proba(X)


def test_rules_differ_by_little_where_much_is_known():
    X, y = table(4000, 3)
    tables = [BayesianLogisticRegression(predictive=rule, random_state=0).fit(X, y).predict_proba(X) for rule in RULES]
    for other in tables[1:]:
        np.testing.assert_allclose(other, tables[0], atol=3e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_stored_draws_make_predictions_repeatable(n_classes):
    X, y = table(50, 3, n_classes)
    model = BayesianLogisticRegression(predictive="monte_carlo", n_draws=50, random_state=3).fit(X, y)
    whole = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(X), whole)
    for rows in (slice(0, 1), slice(3, 17), np.random.default_rng(0).permutation(50)):
        np.testing.assert_allclose(model.predict_proba(X[rows]), whole[rows], rtol=1e-10)
    other = BayesianLogisticRegression(predictive="monte_carlo", n_draws=50, random_state=4).fit(X, y)
    assert np.abs(other.predict_proba(X) - whole).max() > 1e-4


@pytest.mark.parametrize("n_classes", [2, 3])
def test_draws_have_the_posterior_s_moments(n_classes):
    X, y = table(40, 3, n_classes)
    model = BayesianLogisticRegression(0.5).fit(X, y)
    weights, intercepts = model.sample_coefficients(40_000, random_state=0)
    assert weights.shape[1:] == model.coef_.shape and intercepts.shape[1:] == model.intercept_.shape
    np.testing.assert_allclose(weights.mean(axis=0), model.coef_, atol=5 * model.coef_std_.max() / 200)
    flat = weights.reshape(len(weights), -1)
    np.testing.assert_allclose(np.cov(flat.T), model.coef_cov_, atol=0.05 * model.coef_cov_.max())
    np.testing.assert_allclose(intercepts.std(axis=0), model.intercept_std_, rtol=0.03)
    draws = model.sample_functions(X[:5], 40_000, random_state=1)
    assert draws.shape == ((40_000, 5) if n_classes == 2 else (40_000, 5, 3))
    probs = expit(draws) if n_classes == 2 else softmax(draws, axis=2)
    column = (slice(None), 1) if n_classes == 2 else slice(None)
    np.testing.assert_allclose(probs.mean(axis=0), model.predict_proba(X[:5])[column], atol=0.01)
    ends = np.quantile(probs, [0.1, 0.9], axis=0)
    for found, oracle in zip(model.proba_interval(X[:5], 0.8), ends, strict=True):
        np.testing.assert_allclose(found[column], oracle, atol=0.015)


def test_intervals_nest_and_widen_far_from_the_data():
    X, y = table(50, 3)
    model = BayesianLogisticRegression().fit(X, y)
    (low, high), (lower, higher) = model.proba_interval(X, 0.5), model.proba_interval(X, level=0.99)
    assert (lower < low).all() and (low < high).all() and (high < higher).all()
    center = X.mean(axis=0)
    away = np.cross(model.coef_[0], [1.0, 0.0, 0.0])  # along the boundary, where the plug-in stays at its level
    lower, upper = model.proba_interval([center, center + 10 * away])
    near, far = (upper - lower)[:, 1]
    assert near < 0.4 and far > 0.9


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("prior", [0.5, "evidence"])
def test_a_weight_of_k_is_k_copies(n_classes, prior):
    X, y = table(40, 3, n_classes)
    counts = np.random.default_rng(0).integers(0, 4, size=40)
    weighted = BayesianLogisticRegression(prior).fit(X, y, counts)
    repeated = BayesianLogisticRegression(prior).fit(X.repeat(counts, axis=0), y.repeat(counts))
    for name in ("coef_", "intercept_", "coef_std_", "log_evidence_", "log_likelihood_", "n_observations_"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-7, err_msg=name)


def test_class_weights_are_sample_weights():
    X, y = table(60, 3)
    by_class = BayesianLogisticRegression(class_weight={0: 3.0, 1: 0.5}).fit(X, y)
    by_row = BayesianLogisticRegression().fit(X, y, np.where(y == 0, 3.0, 0.5))
    np.testing.assert_allclose(by_class.coef_, by_row.coef_, rtol=1e-10)
    balanced = BayesianLogisticRegression(class_weight="balanced").fit(X, y)
    factors = len(y) / (2 * np.bincount(y))
    np.testing.assert_allclose(balanced.coef_, BayesianLogisticRegression().fit(X, y, factors[y]).coef_, rtol=1e-10)


def test_the_origin_of_a_column_doesn_t_matter():
    X, y = table(60, 3)
    shift = np.array([1e6, -300.0, 0.0])
    model, moved = BayesianLogisticRegression().fit(X, y), BayesianLogisticRegression().fit(X + shift, y)
    np.testing.assert_allclose(moved.coef_, model.coef_, rtol=1e-7)
    np.testing.assert_allclose(moved.coef_std_, model.coef_std_, rtol=1e-7)
    assert moved.log_evidence_ == pytest.approx(model.log_evidence_, abs=1e-7)


def test_units_change_the_prior_and_nothing_else():
    """Columns of 10⁻⁶ and 10⁸ are those of plain size with a prior precision of their own."""
    X, y = table(60, 3)
    scale = np.array([1e-6, 1.0, 1e8])
    model = BayesianLogisticRegression(1e-4).fit(X * scale, y)
    Phi = np.column_stack([X - X.mean(axis=0), np.ones(60)])
    precision, theta = np.append(1e-4 / scale**2, 0.01), np.zeros(4)
    for _ in range(30):
        p = expit(Phi @ theta)
        H = (Phi.T * (p * (1 - p))) @ Phi + np.diag(precision)
        theta = theta + np.linalg.solve(H, Phi.T @ (y - p) - precision * theta)
    mode = model.posterior_.V @ model.posterior_.mode[0, :3]
    np.testing.assert_allclose(mode * scale, theta[:3], rtol=1e-6, atol=1e-14)
    # Laplace's deviations are not far from those of the closest Gaussian.
    np.testing.assert_allclose(model.coef_std_[0] * scale, np.sqrt(np.diag(np.linalg.inv(H)))[:3], rtol=0.15)


def test_copies_of_a_column_share_its_weight():
    """x with weight w under N(0, 1/α) is x twice with w₁ + w₂ under twice the precision."""
    X, y = table(60, 2)
    twice = BayesianLogisticRegression(1.0).fit(np.column_stack([X, X]), y)
    once = BayesianLogisticRegression(0.5).fit(X, y)
    np.testing.assert_allclose(twice.coef_[0], np.tile(once.coef_[0] / 2, 2), rtol=1e-8)
    assert twice.log_evidence_ == pytest.approx(once.log_evidence_, rel=1e-10)
    np.testing.assert_allclose(twice.predict_proba(np.tile(X, 2)), once.predict_proba(X), rtol=1e-8)


@pytest.mark.parametrize("shape", [(60, 5), (12, 40)], ids=["tall", "wide"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sparse_rows_are_rows(shape, n_classes):
    X, y = table(*shape, n_classes)
    X = np.where(np.random.default_rng(2).random(X.shape) < 0.4, X, 0.0)
    dense = BayesianLogisticRegression().fit(X, y)
    thin = BayesianLogisticRegression().fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.coef_, dense.coef_, rtol=1e-7, atol=1e-10)
    new = sparse.csr_array(X[::-1] + (X[::-1] != 0))
    np.testing.assert_allclose(thin.predict_proba(new), dense.predict_proba(new.toarray()), rtol=1e-7)
    for found, oracle in zip(thin.proba_interval(new), dense.proba_interval(new.toarray()), strict=True):
        np.testing.assert_allclose(found, oracle, rtol=1e-6)


def test_rows_made_again_in_every_pass_give_the_same(monkeypatch):
    X, y = table(60, 3)
    held = BayesianLogisticRegression("integrate").fit(X, y)
    monkeypatch.setattr("credo.linear._variational._MAX_STORED_ENTRIES", 10)
    np.testing.assert_allclose(BayesianLogisticRegression("integrate").fit(X, y).coef_, held.coef_, rtol=1e-9)


def test_wide_tables_need_no_square_of_their_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 20_000))
    y = X[:, :50].sum(axis=1) > 0
    tracemalloc.start()
    try:
        model = BayesianLogisticRegression(100.0).fit(X, y)
        probs = model.predict_proba(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 6 * X.nbytes  # 96 MB; the square would be 3200
    assert ((probs[:, 1] > 0.5) == y).all()
    # Far out of the rows' span nothing is known but the prior.
    new = X[:1] + rng.normal(size=(1, 20_000)) * 1e3
    np.testing.assert_allclose(model.predict_proba(new), 0.5, atol=0.2)


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [-1, 1], [2.0, 7.0], ["a", "b", "c"]], ids=str)
def test_labels_of_any_kind(labels):
    X, y = table(50, 3, len(labels))
    model = BayesianLogisticRegression().fit(X, np.array(labels)[y])
    np.testing.assert_array_equal(model.classes_, labels)
    np.testing.assert_array_equal(model.predict(X), np.array(labels)[np.argmax(model.predict_proba(X), axis=1)])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("rule", RULES)
def test_files_bring_it_back_bit_for_bit(n_classes, rule, tmp_path):
    X, y = table(40, 3, n_classes)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = BayesianLogisticRegression("integrate", predictive=rule, random_state=0).fit(frame, y)
    credo.save(model, tmp_path / "model.credo")
    back = credo.load(tmp_path / "model.credo")
    assert repr(back) == repr(model) and str(back.summary()) == str(model.summary())
    np.testing.assert_array_equal(back.predict_proba(frame), model.predict_proba(frame))
    np.testing.assert_array_equal(back.proba_interval(frame), model.proba_interval(frame))
    np.testing.assert_array_equal(back.coef_cov_, model.coef_cov_)


def test_summary_tells_weights_intervals_and_evidence():
    X, y = table(40, 2)
    model = BayesianLogisticRegression(0.5).fit(pd.DataFrame(X, columns=["age", "dose"]), y)
    shown = model.summary(level=0.9)
    assert list(shown.columns) == ["parameter", "estimate", "sd", "lower", "upper"]
    assert shown.columns["parameter"] == ["intercept", "age", "dose"]
    width = np.subtract(shown.columns["upper"], shown.columns["lower"])
    np.testing.assert_allclose(width, 2 * 1.6448536 * np.array(shown.columns["sd"]), rtol=1e-6)
    assert "log evidence" in str(shown) and "intervals at 90 %" in str(shown)
    three = BayesianLogisticRegression().fit(*table(40, 2, 3)).summary()
    assert three.columns["parameter"][:4] == ["0: intercept", "0: x0", "0: x1", "1: intercept"]


def test_numbers_for_the_criteria():
    X, y = table(50, 4, 3)
    model = BayesianLogisticRegression().fit(X, y, np.full(50, 2.0))
    assert model.n_parameters_ == 10 and model.n_observations_ == 100.0
    expected = 2 * model.set_params(predictive="plugin").predict_log_proba(X)[np.arange(50), y].sum()
    assert model.log_likelihood_ == pytest.approx(expected, rel=1e-10)
    assert model.evidence_method_ == "elbo" and 0 < model.effective_dof_ < 8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"prior_precision": 0.0},
            "prior_precision must be a positive finite number or 'integrate' or 'evidence'; got 0.0",
        ),
        ({"prior_precision": "learn"}, "positive finite number or 'integrate' or 'evidence'; got 'learn'"),
        ({"predictive": "exact"}, "predictive must be one of 'quadrature', 'probit', 'monte_carlo', 'plugin'"),
        ({"intercept_precision": -1.0}, "intercept_precision must be a positive finite number"),
        ({"predictive": "monte_carlo", "n_draws": 0}, "n_draws must be a whole number of at least 1"),
    ],
)
def test_wrong_settings_are_refused_in_words(options, message):
    with pytest.raises(ValueError, match=message):
        BayesianLogisticRegression(**options).fit(*table())


def test_wrong_data_are_refused_in_words(monkeypatch):
    X, y = table()
    with pytest.raises(ValueError, match="needs at least two classes"):
        BayesianLogisticRegression().fit(X, np.zeros(60))
    with pytest.raises(ValueError, match="level must lie strictly between 0 and 1"):
        BayesianLogisticRegression().fit(X, y).proba_interval(X, 95)
    monkeypatch.setattr("credo.linear._variational._MAX_PARAMETERS", 3)
    with pytest.raises(ValueError, match="3 directions of X and 2 classes make 4 parameters"):
        BayesianLogisticRegression().fit(X, y)
