"""Variances and evidences against published numbers, dense matrices, quadrature and finite differences."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import expit

from credo import AdditiveClassifier, AdditiveRegressor
from credo.additive import _families as families
from credo.additive import _pairs, linear, pair, random, smooth
from credo.additive._laplace import LaplaceEvidence
from credo.additive._learning import Layout, Moments, RestrictedLikelihood
from credo.additive.terms import TrainingColumns, blocks_of
from credo.likelihoods import Bernoulli

# Davies & Goldsmith (1972), six batches of dyestuff; lme4's Dyestuff.
DYESTUFF = pd.DataFrame({
    "batch": np.repeat(list("ABCDEF"), 5),
    "yield": [1545, 1440, 1440, 1520, 1580, 1540, 1555, 1490, 1560, 1495, 1595, 1550, 1605, 1510, 1560, 1445, 1440,
              1595, 1465, 1545, 1595, 1630, 1515, 1635, 1625, 1520, 1455, 1450, 1480, 1445],
})  # fmt: skip
# McCullagh & Nelder (1989), clotting times of blood.
CLOTTING = pd.DataFrame(
    {"log_u": np.log([5, 10, 15, 20, 30, 40, 60, 80, 100]), "lot1": [118, 58, 42, 35, 27, 25, 21, 19, 18]}
)


def test_a_random_intercept_is_that_of_lme4():
    model = AdditiveRegressor([random("batch")], family="gaussian", hyperparameters="optimize")
    model.fit(DYESTUFF[["batch"]], DYESTUFF["yield"])
    assert model.reml_criterion_ == pytest.approx(319.654276842, abs=1e-8)
    assert model.variances_[0] == pytest.approx(1764.05, rel=1e-6)
    assert model.noise_std_**2 == pytest.approx(2451.25, rel=1e-6)
    summary = dict(zip(model.summary().columns["parameter"], model.summary().columns["estimate"], strict=True))
    assert summary["intercept"] == pytest.approx(1527.5)


def test_without_random_effects_it_is_maximum_likelihood():
    """R: glm(lot1 ~ log(u), Gamma("log"))."""
    model = AdditiveRegressor([linear("log_u")], family="gamma", hyperparameters="optimize", reml=False)
    model.fit(CLOTTING[["log_u"]], CLOTTING["lot1"])
    np.testing.assert_allclose(model.summary().columns["estimate"][:2], [5.503225285, -0.6019161783], rtol=1e-5)
    ratio = CLOTTING["lot1"] / np.exp(
        np.column_stack([np.ones(9), CLOTTING["log_u"]]) @ model.summary().columns["estimate"][:2]
    )
    np.testing.assert_allclose([(ratio - 1).sum(), ((ratio - 1) * CLOTTING["log_u"]).sum()], 0.0, atol=1e-6)


def table(seed=0, n=60):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 7))
    layout = Layout.of(np.array([-1, 0, 0, 0, 1, 1, 1]), (Z**2).mean(axis=0))
    return rng, Z, layout


def test_the_restricted_likelihood_is_that_of_dense_matrices():
    rng, Z, layout = table()
    y = Z @ rng.normal(size=7) + rng.normal(size=len(Z))
    Zc, yc = Z - Z.mean(axis=0), y - y.mean()
    criterion = RestrictedLikelihood(Zc.T @ Zc, Zc.T @ yc, float(yc @ yc), len(y), layout, prior=False)
    t = np.array([0.4, -1.1])
    # Density of the n − 2 contrasts that don't depend on intercept and slope, times the Jacobian of lme4's convention.
    ratio = np.exp(t) / layout.scale**2
    V = np.eye(len(y)) + ratio[0] * Z[:, 1:4] @ Z[:, 1:4].T + ratio[1] * Z[:, 4:] @ Z[:, 4:].T
    X = np.column_stack([np.ones(len(y)), Z[:, 0]])
    inner = X.T @ np.linalg.solve(V, X)
    residual = y - X @ np.linalg.solve(inner, X.T @ np.linalg.solve(V, y))
    rss, dof = residual @ np.linalg.solve(V, residual), len(y) - 2
    dense = np.linalg.slogdet(V)[1] + np.linalg.slogdet(inner)[1] + dof * (1 + np.log(2 * np.pi * rss / dof))
    assert criterion.criterion(t) == pytest.approx(dense, rel=1e-10)

    # σ² integrated out under dσ²/σ².
    def density(s):
        fixed = -0.5 * (np.linalg.slogdet(V)[1] + np.linalg.slogdet(inner)[1])
        return np.exp(fixed - 0.5 * dof * np.log(2 * np.pi * s) - 0.5 * rss / s - criterion.value(t)) / s

    assert quad(density, 0, np.inf, points=None, limit=200)[0] == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("prior", [False, True])
def test_derivatives_of_the_restricted_likelihood(prior):
    rng, Z, layout = table(1)
    y = Z @ rng.normal(size=7) + rng.normal(size=len(Z))
    Z, y = Z - Z.mean(axis=0), y - y.mean()
    criterion = RestrictedLikelihood(Z.T @ Z, Z.T @ y, float(y @ y), len(y), layout, prior=prior)
    t, h = np.array([0.3, -0.7]), 1e-5
    steps = h * np.eye(2)
    slope = [(criterion(t + e)[0] - criterion(t - e)[0]) / (2 * h) for e in steps]
    np.testing.assert_allclose(criterion(t)[1], slope, rtol=1e-7)
    curvature = [(criterion(t - e)[1] - criterion(t + e)[1]) / (2 * h) for e in steps]
    np.testing.assert_allclose(criterion.curvature(t), curvature, rtol=1e-6, atol=1e-8)


def noises(Z, rng):
    """A function of parameters and their start, for every family."""
    n, f = len(Z), Z @ np.array([0.3, 0.5, -0.4, 0.2, 0.1, 0.3, -0.2])
    weight = rng.uniform(0.5, 1.5, size=n)
    counts = rng.negative_binomial(2, 2 / (2 + np.exp(f))).astype(float)
    targets = {
        "poisson": counts, "negative_binomial": counts, "gamma": rng.gamma(2.0, np.exp(f)) + 1e-3,
        "beta": np.clip(rng.beta(4 * expit(f), 4 * expit(-f)), 1e-3, 1 - 1e-3),
        "student": f + rng.standard_t(4, size=n),
    }  # fmt: skip
    for family, y in targets.items():
        begin = families.starting_point(family, y, weight)
        yield (
            family,
            (lambda logs, b=begin, y=y: families.RowNoise(b.likelihood.with_logs(logs), y, weight)),
            begin.logs,
        )
    above = counts > 0
    begin = families.starting_point("negative_binomial", counts[above], weight[above], positive=True)
    yield (
        "truncated",
        (lambda logs: families.RowNoise(begin.likelihood.with_logs(logs), counts[above], weight[above])),
        begin.logs,
    )
    codes = rng.integers(0, 4, size=n)
    order = families.ordinal_starting_point(codes, weight, 4)
    yield (
        "ordinal",
        (lambda logs: families.RowNoise(order.likelihood.with_logs(logs), codes.astype(float), weight)),
        order.logs,
    )
    labels = families.RowNoise(Bernoulli("logit"), np.where(rng.random(n) < expit(f), 1.0, -1.0), weight)
    yield "bernoulli", (lambda logs: labels), np.empty(0)
    contrasts = np.linalg.qr(np.eye(4) - 0.25)[0][:, :3]
    softmax = families.SoftmaxNoise(codes, weight, contrasts)
    yield "categorical", (lambda logs: softmax), np.empty(0)


@pytest.mark.parametrize("maximize_flat", [False, True])
def test_laplace_gradients_are_differences(maximize_flat):
    rng, Z, layout = table(2)
    for family, noise_at, start in noises(Z, rng):
        rows = len(noise_at(start).weight)
        m = noise_at(start).n_latents
        evidence = LaplaceEvidence(
            Z[:rows], 0.1 * np.ones(rows), layout, noise_at, start, prior=True, maximize_flat=maximize_flat
        )
        theta = np.concatenate([[0.2, -0.5], start, 0.3 * np.ones(m if maximize_flat else 0)])
        h = 1e-5
        slope = [(evidence(theta + e)[0] - evidence(theta - e)[0]) / (2 * h) for e in h * np.eye(len(theta))]
        np.testing.assert_allclose(evidence(theta)[1], slope, rtol=2e-5, atol=2e-5, err_msg=family)


def test_laplace_is_close_to_the_integral_over_a_random_intercept():
    """Of one group with many rows, where the posterior of its effect is nearly normal."""
    rng = np.random.default_rng(3)
    y = rng.poisson(3.0, size=200).astype(float)
    begin = families.starting_point("poisson", y, np.ones(200))
    layout = Layout.of(np.array([0]), np.ones(1))
    noise = families.RowNoise(begin.likelihood, y, np.ones(200))
    evidence = LaplaceEvidence(np.ones((200, 1)), np.zeros(200), layout, lambda _: noise, begin.logs, prior=False)
    t = np.array([0.3])

    def density(w):
        logs = stats.poisson(np.exp(w)).logpmf(y).sum() + stats.norm(0, np.exp(0.15)).logpdf(w)
        return np.exp(logs - evidence.value(t))

    assert np.log(quad(density, 0.5, 1.7)[0]) == pytest.approx(0.0, abs=2e-3)


def test_terms_that_are_not_needed_are_named():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(size=(300, 3)), columns=["curve", "line", "nothing"])
    y = np.sin(7 * X["curve"]) + 2 * X["line"] + 0.2 * rng.normal(size=300)
    model = AdditiveRegressor(family="gaussian").fit(X, y)
    terms = dict(zip(model.terms_.columns["term"], model.terms_.columns["needed"], strict=True))
    assert terms["smooth(curve)"] == terms["smooth(line)"] == "yes"
    assert terms["smooth(nothing)"] == "no"
    dof = dict(zip(model.terms_.columns["term"], model.terms_.columns["dof"], strict=True))
    assert dof["smooth(curve)"] > 5 and dof["smooth(line)"] < 2 and dof["smooth(nothing)"] < 2


def test_the_log_bayes_factor_is_the_difference_of_evidences():
    """With the other variances unchanged; here there are none."""
    rng = np.random.default_rng(1)
    unit = np.repeat(np.arange(8.0), 6)
    y = rng.normal(size=8)[unit.astype(int)] + rng.normal(size=48)
    model = AdditiveRegressor([random(0)], family="gaussian", hyperparameters="optimize").fit(unit[:, None], y)
    without = AdditiveRegressor([], family="gaussian", hyperparameters="optimize").fit(unit[:, None], y)
    assert model.log_bayes_factors_[0] == pytest.approx(model.log_evidence_ - without.log_evidence_, abs=1e-6)


def test_pairs_are_found():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(500, 4))
    y = X[:, 0] + 2 * X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=500)
    model = AdditiveRegressor(family="gaussian").fit(X, y)
    assert pair("x1", "x2") in model.fitted_terms_
    surface = model.curve(pair("x1", "x2"))
    truth = 2 * surface.points["x1"] * surface.points["x2"]
    assert np.corrcoef(truth, surface.mean)[0, 1] > 0.98


def test_chunks_give_the_fit_of_all_rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(900, 2))
    y = np.sin(5 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=900)
    whole = AdditiveRegressor(family="gaussian").fit(X, y)
    parts = AdditiveRegressor(family="gaussian").fit([(X[:400], y[:400]), (X[400:], y[400:])])
    np.testing.assert_allclose(parts.predict(X[:9]), whole.predict(X[:9]), rtol=1e-6)
    with pytest.raises(ValueError, match="other families read the rows many times"):
        AdditiveRegressor(family="gamma").fit([(X, np.exp(y))])


def test_bands_cover_the_whole_curve():
    """Simultaneous 95 % bands around 60 curves; between 87 and 100 % with a probability of .98 if they are right."""
    x = np.linspace(0, 1, 120)[:, None]
    truth = np.sin(2 * np.pi * x[:, 0]) * 1.5
    inside = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        curve = AdditiveRegressor(family="gaussian").fit(x, truth + 0.5 * rng.normal(size=120)).curve(0)
        lower, upper = curve.band(0.95)
        f = np.interp(curve.points["x0"], x[:, 0], truth - truth.mean())
        inside += bool(((lower <= f) & (f <= upper)).all())
    assert inside >= 52


def test_the_gain_of_a_pair_is_that_of_dense_matrices():
    """The restricted likelihood of the means of cells with effects of a pair, against that without, for each scale."""
    rng = np.random.default_rng(0)
    h, n = rng.uniform(0.5, 3.0, size=(4, 3)), 12
    g = h * (rng.normal(size=(4, 1)) + rng.normal(size=(4, 3)) / np.sqrt(h))
    first, second = _pairs._contrasts(4), _pairs._contrasts(3)
    A = np.hstack([np.ones((n, 1)), np.kron(first, np.ones((3, 1))), np.kron(np.ones((4, 1)), second)])
    B, noise, mean = np.kron(first, second), np.diag(1 / h.ravel()), (g / h).ravel()

    def restricted(V):
        inner = A.T @ np.linalg.solve(V, A)
        residual = mean - A @ np.linalg.solve(inner, A.T @ np.linalg.solve(V, mean))
        logdets = np.linalg.slogdet(V)[1] + np.linalg.slogdet(inner)[1]
        return -0.5 * (logdets + residual @ np.linalg.solve(V, residual))

    H = np.diag(h.ravel())
    across = A.T @ H @ B
    information = np.trace(B.T @ H @ B - across.T @ np.linalg.solve(A.T @ H @ A, across)) / B.shape[1]
    gains = [restricted(noise + s / information * B @ B.T) - restricted(noise) for s in _pairs._SCALES]
    assert _pairs.gain(g, h) == pytest.approx(np.log(np.mean(np.exp(gains))), abs=1e-9)


def test_pairs_are_found_between_several_classes_if_asked_for():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 3))
    y = np.digitize(4 * X[:, 0] * X[:, 1] + rng.logistic(size=400), [-1.0, 1.0])
    model = AdditiveClassifier(pairs=1).fit(X, y)
    assert model.fitted_terms_[-1] == pair("x0", "x1")
    assert all(term.kind != "pair" for term in AdditiveClassifier().fit(X, y).fitted_terms_)


def test_moments_of_parts_merge_to_those_of_all_rows():
    rng = np.random.default_rng(0)
    X, y, weight = 1e6 + rng.uniform(size=(50, 1)), rng.normal(size=50), rng.uniform(0.5, 2.0, size=50)
    blocks = blocks_of([smooth(0)], [(0,)], TrainingColumns(X, ["number"]))
    whole = Moments.of(blocks, X, y, weight)
    first, last = (Moments.of(blocks, X[k], y[k], weight[k], whole.shift) for k in (slice(20), slice(20, 50)))
    Z = np.column_stack([*(block(X) for block in blocks), y])
    Z -= np.average(Z, axis=0, weights=weight)
    for moments in (whole, first.merge(last)):
        np.testing.assert_allclose(moments.centred(), (Z * weight[:, None]).T @ Z, rtol=1e-9, atol=1e-9)
