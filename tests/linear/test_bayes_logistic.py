"""Bayesian logistic regression against grids, Gibbs sampling and plain formulas, and the laws it obeys."""

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit, log_softmax, softmax
from sklearn import exceptions
from sklearn.linear_model import LogisticRegression
from tests.reference.polya_gamma import Grid, gibbs

import credo
from credo.estimator import FitWarning
from credo.linear import BayesianLogisticRegression, _laplace
from credo.linear._laplace import LogPosterior, log_evidence, log_evidence_slope, log_posterior, posterior_mode

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
def test_two_classes_are_a_symmetric_softmax_of_half_the_precision(shape):
    X, y = table(*shape)
    weight = np.arange(len(y)) % 3 + 0.5
    model = BayesianLogisticRegression(0.35, intercept_precision=0.02).fit(X, y, weight)
    theta, cov, evidence = plain(X, y, 0.7, 0.04, weight)
    p = X.shape[1]
    # w₁ − w₀, whose prior variance is the sum of theirs.
    difference = np.hstack([-np.eye(p + 1), np.eye(p + 1)])
    np.testing.assert_allclose(model.coef_[0], (theta[1] - theta[0])[:p], rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(model.coef_cov_, (difference @ cov @ difference.T)[:p, :p], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.coef_std_[0] ** 2, np.diag(model.coef_cov_), rtol=1e-10)
    assert model.log_evidence_ == pytest.approx(evidence, rel=1e-9)


@pytest.mark.parametrize("shape", [(60, 3), (12, 20)], ids=["tall", "wide"])
def test_softmax_by_the_full_curvature(shape):
    X, y = table(*shape, n_classes=3)
    model = BayesianLogisticRegression(0.7, intercept_precision=0.04).fit(X, y)
    theta, cov, evidence = plain(X, y, 0.7, 0.04)
    p = X.shape[1]
    np.testing.assert_allclose(model.coef_, theta[:, :p], rtol=1e-7, atol=1e-10)
    center = X.mean(axis=0)
    np.testing.assert_allclose(model.intercept_, theta[:, p] - theta[:, :p] @ center, rtol=1e-7, atol=1e-9)
    assert model.log_evidence_ == pytest.approx(evidence, rel=1e-9)
    # What all classes share keeps its prior in the full posterior; the model leaves it out.
    gauge = np.kron(np.eye(3) - 1 / 3, np.eye(p + 1))
    cov = (gauge @ cov @ gauge).reshape(3, p + 1, 3, p + 1)
    np.testing.assert_allclose(model.coef_cov_, cov[:, :p, :, :p].reshape(3 * p, 3 * p), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.coef_std_.ravel() ** 2, np.diag(model.coef_cov_), rtol=1e-9)
    at_zero = np.append(-center, 1.0)
    intercept = np.einsum("i,kikj,j->k", at_zero, cov, at_zero)
    np.testing.assert_allclose(model.intercept_std_**2, intercept, rtol=1e-7)


def test_mode_is_the_penalised_maximum_of_scikit_learn():
    for n_classes in (2, 3):
        X, y = table(200, 4, n_classes)
        model = BayesianLogisticRegression(2.0, intercept_precision=1e-9).fit(X, y)
        oracle = LogisticRegression(C=0.5, tol=1e-12, max_iter=1000, solver="newton-cg").fit(X, y)
        np.testing.assert_allclose(model.coef_, oracle.coef_, atol=1e-6)
        np.testing.assert_allclose(model.intercept_, oracle.intercept_, atol=1e-6)


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
    """Laplace's relative error falls like 1/n (Tierney & Kadane 1986)."""
    gaps = []
    for n in (20, 80, 320):
        X, y = line(n)
        model = BayesianLogisticRegression().fit(X, y)
        _, exact = grid(model, X, y)
        gaps.append(abs(model.log_evidence_ - exact.log_evidence))
    assert gaps[0] < 0.06 and gaps[-1] < 0.008
    assert (np.array(gaps[1:]) < 0.5 * np.array(gaps[:-1])).all()


@pytest.mark.parametrize("n", [10, 25])
def test_averaged_probabilities_tell_more_than_plug_in(n):
    """The information lost against the exact predictive, from the data to far outside."""
    X, y = line(n)
    new = np.linspace(-6, 6, 41)[:, None]
    lost = {}
    for rule in RULES:
        model = BayesianLogisticRegression(predictive=rule, random_state=0).fit(X, y)
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


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("alpha", [0.01, 1.0, 40.0])
def test_slope_of_the_evidence_follows_the_mode(n_classes, alpha):
    X, y = table(40, 3, n_classes)
    posterior, _ = log_posterior(X, y, np.arange(40) % 3 + 1.0, n_classes=n_classes, intercept=True, level_penalty=0.01)

    def height(u):
        here = posterior.at(float(np.exp(u)))
        return log_evidence(here, posterior_mode(here))

    here, u = posterior.at(alpha), np.log(alpha)
    slope = log_evidence_slope(here, posterior_mode(here))
    assert slope == pytest.approx((height(u + 1e-4) - height(u - 1e-4)) / 2e-4, abs=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_learned_precision_is_the_evidence_s_maximum(n_classes):
    X, y = table(50, 6, n_classes, seed=5)
    model = BayesianLogisticRegression("evidence").fit(X, y)
    assert model.result_.converged and "maximizes the evidence" in model.result_.message
    heights = [
        BayesianLogisticRegression(model.prior_precision_ * factor).fit(X, y).log_evidence_
        for factor in np.geomspace(1e-4, 1e4, 33)
    ]
    assert int(np.argmax(heights)) == 16
    assert model.log_evidence_ == pytest.approx(heights[16], abs=1e-9)
    again = BayesianLogisticRegression(model.prior_precision_).fit(X, y)
    np.testing.assert_allclose(model.coef_, again.coef_, rtol=1e-7)


@pytest.mark.parametrize("shape", [(300, 8), (100, 30)])
def test_five_classes_take_few_evaluations_and_equal_the_plain_reference(shape, monkeypatch):
    X, y = table(*shape, n_classes=5, seed=2)
    calls = []

    def counted(self, theta, **options):
        calls.append(theta)
        return evaluate(self, theta, **options)

    evaluate = LogPosterior.evaluate
    monkeypatch.setattr(LogPosterior, "evaluate", counted)
    model = BayesianLogisticRegression("evidence").fit(X, y)
    assert len(calls) <= 75  # of the curvature, for a scan of 16 precisions and the root of the slope
    p, alpha = X.shape[1], model.prior_precision_
    theta, _, evidence = plain(X, y, alpha, 0.01)
    np.testing.assert_allclose(model.coef_, theta[:, :p], atol=1e-8)
    assert model.log_evidence_ == pytest.approx(evidence, abs=1e-8)
    low, high = (plain(X, y, alpha * np.exp(u), 0.01)[2] for u in (-1e-3, 1e-3))
    assert abs(high - low) / 2e-3 < 1e-5 and evidence > max(low, high)


def test_a_fit_that_stops_early_is_scikit_learn_s_convergence_warning(monkeypatch):
    X, y = table(40, 3)
    newton = _laplace.newton
    monkeypatch.setattr(_laplace, "newton", lambda posterior, **options: newton(posterior, **options, max_iter=1))
    with pytest.warns(exceptions.ConvergenceWarning, match="did not converge in 1 iterations.*larger prior_precision"):
        model = BayesianLogisticRegression(1e-3).fit(X, y)
    assert not model.result_.converged


def test_labels_that_have_nothing_to_do_with_the_inputs_get_no_weights():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 2))
    y = np.tile([0, 0, 1, 1], 50)
    X = np.vstack([X, -X])
    model = BayesianLogisticRegression("evidence").fit(X, np.append(y, y))
    assert "highest without any linear effect; a nonlinear model may" in model.result_.message
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-4)
    np.testing.assert_allclose(model.predict_proba(X), 0.5, atol=1e-2)


def test_constant_columns_say_nothing():
    X, y = table(30, 1)
    model = BayesianLogisticRegression("evidence").fit(np.full((30, 2), 7.0), y)
    assert "all columns are constant" in model.result_.message and not model.coef_.any()
    both = BayesianLogisticRegression(0.5).fit(np.column_stack([X, np.full(30, 7.0)]), y)
    alone = BayesianLogisticRegression(0.5).fit(X, y)
    assert both.log_evidence_ == pytest.approx(alone.log_evidence_, rel=1e-10)
    np.testing.assert_allclose(both.coef_std_[0], [alone.coef_std_[0, 0], 2**0.5], rtol=1e-8)


@pytest.mark.filterwarnings("ignore:the classes are nearly linearly")
@pytest.mark.parametrize("gap", [0.1, 10.0])
def test_separable_classes_are_what_the_prior_is_for(gap):
    X = np.concatenate([np.linspace(-2, -gap, 20), np.linspace(gap, 2 + gap, 20)])[:, None]
    y = np.repeat([0, 1], 20)
    for prior in (1.0, 1e-6):
        model = BayesianLogisticRegression(prior).fit(X, y)
        assert model.result_.converged and model.score(X, y) == 1.0
        assert np.isfinite(model.log_evidence_) and (model.coef_std_ > 0).all()
    found = BayesianLogisticRegression("evidence").fit(X, y)
    assert found.log_evidence_ >= model.log_evidence_ - 1e-6


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_gaussian_that_reaches_through_the_labels_is_said(n_classes):
    """Where a plane separates the classes, nothing at the mode tells how steep the posterior's far side is."""
    X, y = table(90, 3, n_classes)
    apart = X + 20.0 * np.eye(3)[y]
    with pytest.warns(FitWarning, match="the classes are nearly linearly separable"):
        model = BayesianLogisticRegression(1e-6).fit(apart, y)
    assert model.predict_proba(apart)[np.arange(90), y].mean() < 0.99
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BayesianLogisticRegression(1e-6, predictive="plugin").fit(apart, y)
        for prior in (1e-6, 1.0, "evidence"):
            BayesianLogisticRegression(prior).fit(X, y)


@pytest.mark.filterwarnings("ignore:the classes are nearly linearly")
def test_evidence_that_has_no_end_is_said(monkeypatch):
    """On a range that stops before the maximum."""
    monkeypatch.setattr("credo.linear._laplace._REACH", (14.0, 0.0))
    X = np.linspace(-3, 3, 40)[:, None]
    with pytest.warns(FitWarning, match="increases up to the widest prior tried"):
        BayesianLogisticRegression("evidence").fit(X, X[:, 0] > 0)


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
    plugin = BayesianLogisticRegression(0.5, predictive="plugin").fit(X, y).predict_proba(rows)
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
    np.testing.assert_allclose(model.coef_[0] * scale, theta[:3], rtol=1e-6, atol=1e-14)
    np.testing.assert_allclose(model.coef_std_[0] * scale, np.sqrt(np.diag(np.linalg.inv(H)))[:3], rtol=1e-6)


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
    held = BayesianLogisticRegression("evidence").fit(X, y)
    monkeypatch.setattr("credo.linear._laplace._STORED_ENTRIES", 10)
    np.testing.assert_allclose(BayesianLogisticRegression("evidence").fit(X, y).coef_, held.coef_, rtol=1e-9)


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
    model = BayesianLogisticRegression("evidence", predictive=rule, random_state=0).fit(frame, y)
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
    logits = X @ model.coef_.T + model.intercept_
    expected = 2 * log_softmax(logits, axis=1)[np.arange(50), y].sum()
    assert model.log_likelihood_ == pytest.approx(expected, rel=1e-10)
    assert model.evidence_method_ == "laplace" and 0 < model.effective_dof_ < 8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior_precision": 0.0}, "prior_precision must be a positive finite number; got 0.0"),
        ({"prior_precision": "learn"}, "prior_precision must be one of 'evidence'; got 'learn'"),
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
    monkeypatch.setattr("credo.linear._laplace._MOST_PARAMETERS", 3)
    with pytest.raises(ValueError, match="3 directions of X and 2 classes make 4 parameters"):
        BayesianLogisticRegression().fit(X, y)
