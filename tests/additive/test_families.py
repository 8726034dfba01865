"""Families of targets, shapes, random effects and what is said about a fit."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import credo
from credo import AdditiveClassifier, AdditiveRegressor
from credo.additive import factor, linear, random, smooth
from credo.likelihoods import Beta, Gamma, Marginal, NegativeBinomial, Poisson, ZeroTruncated

RNG = np.random.default_rng(0)
X = pd.DataFrame({"x": RNG.uniform(size=400), "site": RNG.choice(list("abcd"), size=400)})
F = np.sin(5 * X["x"]) + X["site"].map({"a": 0.0, "b": 0.5, "c": -0.5, "d": 0.2})
TARGETS = {
    "poisson": RNG.poisson(np.exp(F)).astype(float),
    "negative_binomial": RNG.negative_binomial(1.0, 1 / (1 + 3 * np.exp(F))).astype(float),
    "gamma": np.asarray(RNG.gamma(2.0, np.exp(F))),
    "beta": np.asarray(RNG.beta(5 / (1 + np.exp(-F)), 5 / (1 + np.exp(F)))),
    "student": np.asarray(F + 0.2 * RNG.standard_t(2, size=400)),
    "gaussian": np.asarray(F + 0.2 * RNG.normal(size=400)),
}


@pytest.mark.parametrize("family", TARGETS)
def test_intervals_are_possible_and_hold(family):
    y = TARGETS[family]
    model = AdditiveRegressor(family=family, pairs=0).fit(X[:300], y[:300])
    dist = model.predict_dist(X[300:])
    lower, upper = dist.interval(0.9)
    assert 0.8 <= np.mean((lower <= y[300:]) & (y[300:] <= upper)) <= 0.99
    if family not in ("student", "gaussian"):
        assert (lower >= 0).all()
    if family == "beta":
        assert (upper <= 1).all()
    mean = model.predict_dist(X[300:], latent=True).interval(0.9)
    assert (mean[0] < dist.mean).all() and (dist.mean < mean[1] + 0.2 * np.abs(mean[1]) + 0.2).all()
    assert np.isfinite(dist.log_prob(y[300:])).all() and np.isfinite(dist.crps(y[300:])).all()


def test_auto_names_the_family_and_says_why():
    assert AdditiveRegressor(pairs=0).fit(X, TARGETS["negative_binomial"]).family_ == "negative_binomial"
    model = AdditiveRegressor(pairs=0).fit(X, TARGETS["gamma"])
    assert model.family_ == "gamma" and "highest log evidence" in model.family_reason_
    assert "because it has the highest log evidence" in str(model.summary())
    assert AdditiveRegressor(pairs=0).fit(X, TARGETS["gaussian"]).family_reason_ == "the values of y allow no other"


def test_exposure_is_an_offset():
    rng = np.random.default_rng(1)
    time = rng.uniform(0.5, 20.0, size=400)
    y = rng.poisson(time * np.exp(F)).astype(float)
    model = AdditiveRegressor(family="poisson", pairs=0).fit(X, y, exposure=time)
    rate = model.predict(X)
    assert np.corrcoef(np.log(rate), F)[0, 1] > 0.98 and np.mean(np.log(rate) - F) == pytest.approx(0.0, abs=0.05)
    np.testing.assert_allclose(model.predict_dist(X[:5], exposure=[2.0] * 5).mean, 2 * rate[:5], rtol=1e-9)
    with pytest.raises(ValueError, match="log link"):
        AdditiveRegressor(family="gaussian").fit(X, y, exposure=time)
    with pytest.raises(ValueError, match="positive finite number for each of the 400 rows"):
        AdditiveRegressor(family="poisson").fit(X, y, exposure=-time)
    with pytest.raises(ValueError, match="exposure must be numbers"):
        AdditiveRegressor(family="poisson").fit(X, y, exposure=["a year"] * 400)


def test_exposure_is_refused_in_predictions_without_a_log_link():
    model = AdditiveRegressor(family="gaussian", pairs=0).fit(X, TARGETS["gaussian"])
    with pytest.raises(ValueError, match=r'log link .*; got "gaussian"'):
        model.predict_dist(X[:2], exposure=[2.0, 2.0])


def test_an_exposure_of_one_allows_the_families_of_any_exposure():
    y = np.abs(TARGETS["gaussian"]) + 0.1
    model = AdditiveRegressor(pairs=0).fit(X, y, exposure=np.ones(len(y)))
    assert model.family_ == AdditiveRegressor(pairs=0).fit(X, y, exposure=np.full(len(y), 2.0)).family_ == "gamma"


def test_a_hurdle_has_a_model_of_its_own_for_zeros():
    rng = np.random.default_rng(2)
    y = np.where(rng.random(400) < 0.5, 0.0, 1.0 + rng.poisson(np.exp(F)))
    plain = AdditiveRegressor(family="poisson", pairs=0).fit(X, y)
    model = AdditiveRegressor(family="poisson", zeros=True, pairs=0).fit(X, y)
    assert model.predict_dist(X).log_prob(y).mean() > plain.predict_dist(X).log_prob(y).mean() + 0.1
    assert np.exp(model.predict_dist(X[:3]).log_prob(0.0)) == pytest.approx(0.5, abs=0.15)
    with pytest.raises(ValueError, match="targets that are zero and targets that aren't"):
        AdditiveRegressor(family="poisson", zeros=True).fit(X, y + 1)


@pytest.mark.parametrize(
    ("likelihood", "exact"),
    [
        (NegativeBinomial(2.3), lambda mu: stats.nbinom(2.3, 2.3 / (2.3 + mu))),
        (Gamma(2.3), lambda mu: stats.gamma(2.3, scale=mu / 2.3)),
        (Beta(3.0), lambda mu: stats.beta(3 * mu / (1 + mu), 3 / (1 + mu))),
    ],
)
def test_without_uncertainty_the_marginal_is_the_likelihood(likelihood, exact):
    mu = np.array([0.05, 1.0, 30.0])
    dist, same = Marginal(likelihood, np.log(mu), 0.0), exact(mu)
    q = np.array([0.025, 0.5, 0.975])
    np.testing.assert_allclose(dist.quantile(q).T, same.ppf(q[:, None]), rtol=1e-7)
    np.testing.assert_allclose(dist.mean, same.mean(), rtol=1e-9)
    np.testing.assert_allclose(dist.std, same.std(), rtol=1e-9)
    y = dist.sample(4, random_state=0)
    logs = same.logpmf(y) if likelihood.is_discrete else same.logpdf(y)
    np.testing.assert_allclose(dist.log_prob(y), logs, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(dist.cdf(y), same.cdf(y), rtol=1e-9)


def test_the_crps_of_a_marginal_is_that_of_its_draws():
    dist = Marginal(ZeroTruncated(Poisson()), [0.0, 2.0], [0.4, 0.2], [0.3, 0.05])
    draws, other = dist.sample(200_000, random_state=0), dist.sample(200_000, random_state=1)
    y = np.array([0.0, 9.0])
    by_draws = np.abs(draws - y).mean(axis=0) - 0.5 * np.abs(draws - other).mean(axis=0)
    np.testing.assert_allclose(dist.crps(y), by_draws, rtol=0.02)
    counts = np.arange(200.0)[:, None] * np.ones(2)
    np.testing.assert_allclose(np.exp(dist.log_prob(counts)).sum(axis=0), 1.0, rtol=1e-8)


def test_a_monotone_curve_is_monotone():
    rng = np.random.default_rng(4)
    x = rng.uniform(size=(80, 1))
    y = np.tanh(6 * (x[:, 0] - 0.5)) + 0.5 * rng.normal(size=80)
    model = AdditiveRegressor([smooth(0, shape="increasing")], family="gaussian").fit(x, y)
    assert (np.diff(model.curve(0).mean) >= -1e-9).all()
    falling = AdditiveRegressor([smooth(0, shape="decreasing")], family="gaussian").fit(x, -y)
    assert (np.diff(falling.curve(0).mean) <= 1e-9).all()


def test_cyclic_curves_close_and_curves_by_level_differ():
    rng = np.random.default_rng(5)
    hour = rng.uniform(0, 24, size=300)
    side = rng.choice(["left", "right"], size=300)
    y = np.where(side == "left", 1, -1) * np.sin(2 * np.pi * hour / 24) + 0.1 * rng.normal(size=300)
    frame = pd.DataFrame({"hour": hour, "side": side})
    model = AdditiveRegressor([smooth("hour", cyclic=24, by="side")], family="gaussian").fit(frame, y)
    ends = model.predict(pd.DataFrame({"hour": [0.0, 24.0, 6.0, 6.0], "side": ["left", "left", "left", "right"]}))
    assert ends[0] == pytest.approx(ends[1]) and ends[2] > 0.8 and ends[3] < -0.8


def test_beyond_the_rows_a_curve_is_a_line_with_a_widening_band():
    x = np.linspace(0, 1, 60)[:, None]
    model = AdditiveRegressor(family="gaussian").fit(x, np.sin(6 * x[:, 0]) + 0.1 * RNG.normal(size=60))
    mean, std = model.predict([[1.0], [1.5], [2.0], [2.5]], return_std=True)
    np.testing.assert_allclose(np.diff(mean), np.diff(mean)[0], rtol=1e-6)
    assert (np.diff(std) > 0).all()


def test_new_levels_get_the_prior():
    y = np.asarray(F + 0.1 * RNG.normal(size=400))
    model = AdditiveRegressor([smooth("x"), random("site")], family="gaussian").fit(X, y)
    rows = pd.DataFrame({"x": [0.5, 0.5], "site": ["a", "new"]})
    _, std = model.predict(rows, return_std=True)
    assert std[1] > 1.5 * std[0]
    fixed = AdditiveRegressor([factor("site", shrink=False)], family="gaussian").fit(X, y)
    with pytest.raises(ValueError, match="has a level that the training rows don't have"):
        fixed.predict(rows)


def test_contributions_add_up():
    y = np.asarray(F + 0.1 * RNG.normal(size=400))
    model = AdditiveRegressor(family="gaussian").fit(X, y)
    parts = model.explain(X[:5])
    np.testing.assert_allclose(parts.drop(columns="f").sum(axis=1), model.predict(X[:5]), rtol=1e-9)


def test_ordered_classes():
    rng = np.random.default_rng(6)
    f = 2 * np.asarray(F) + rng.logistic(size=400)
    y = np.array(["low", "medium", "high"])[np.digitize(f, [-0.5, 1.0])]
    model = AdditiveClassifier(order=["low", "medium", "high"], pairs=0).fit(X, y)
    assert "P(y ≤ k)" in model.describe().equation
    assert model.family_ == "ordinal" and list(model.classes_) == ["high", "low", "medium"]
    probs = model.predict_proba(X)
    np.testing.assert_allclose(probs.sum(axis=1), 1.0)
    assert np.corrcoef(probs[:, 0], F)[0, 1] > 0.9 and np.corrcoef(probs[:, 1], F)[0, 1] < -0.8
    with pytest.raises(ValueError, match="order must name every class once"):
        AdditiveClassifier(order=["low", "high"]).fit(X, y)


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ([smooth("nowhere")], "there is no column 'nowhere'; the columns are x, site"),
        ([smooth("site")], "needs a numeric column"),
        ([linear("site")], "use factor"),
        (["x"], "terms must be made by smooth"),
        ([smooth(7)], "position from 0 to 1"),
    ],
)
def test_bad_terms_are_refused(terms, message):
    with pytest.raises(ValueError, match=message):
        AdditiveRegressor(terms).fit(X, F)


@pytest.mark.parametrize("family", ["poisson", "gamma", "beta"])
def test_targets_outside_the_support_are_refused(family):
    with pytest.raises(ValueError, match=f'family="{family}" needs'):
        AdditiveRegressor(family=family).fit(X, F)


def test_files_keep_every_family(tmp_path):
    for family in ("negative_binomial", "student", "beta"):
        model = AdditiveRegressor(family=family, pairs=0).fit(X, TARGETS[family])
        credo.save(model, tmp_path / "model.credo")
        np.testing.assert_array_equal(credo.load(tmp_path / "model.credo").predict(X[:5]), model.predict(X[:5]))


def test_counts_that_are_all_zero_are_refused():
    with pytest.raises(ValueError, match="every count in y is zero"):
        AdditiveRegressor(family="poisson").fit(X, np.zeros(400))


@pytest.mark.parametrize("reml", [True, False])
def test_infinite_coefficients_are_named(reml):
    side = np.asarray(X["x"] > 0.5)
    flat = AdditiveClassifier([linear("x")], hyperparameters="optimize", reml=reml).fit(X, side)
    assert not flat.result_.converged and "columns separate the classes" in flat.result_.message
    assert AdditiveClassifier([linear("x", shrink=True)]).fit(X, side).result_.converged
    none = np.where(X["site"] == "a", 0.0, TARGETS["poisson"])
    by_site = AdditiveRegressor([factor("site", shrink=False)], family="poisson", reml=reml).fit(X, none)
    assert "all counts of a level are zero" in by_site.result_.message


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_family_does_not_depend_on_the_unit(scale):
    normal = AdditiveRegressor(pairs=0).fit(X, scale * (20.0 + TARGETS["gaussian"]))
    skewed = AdditiveRegressor(pairs=0).fit(X, scale * 20.0 * TARGETS["gamma"])
    assert normal.family_ == "gaussian" and skewed.family_ != "gaussian"


@pytest.mark.parametrize("family", ["poisson", "negative_binomial", "gamma", "beta"])
def test_far_from_the_rows_answers_are_finite(family):
    model = AdditiveRegressor(family=family, pairs=0).fit(X, TARGETS[family])
    dist = model.predict_dist(pd.DataFrame({"x": [-1e4, 1e4], "site": ["a", "new"]}))
    lower, upper = dist.interval(0.95)
    assert np.isfinite([dist.mean, dist.std, lower, upper]).all() and (lower >= 0).all()


def test_one_huge_count_is_answered():
    y = TARGETS["poisson"].copy()
    y[7] = 1e6
    for family in ("poisson", "negative_binomial"):
        lower, upper = AdditiveRegressor(family=family, pairs=0).fit(X, y).predict_dist(X).interval(0.95)
        assert (lower >= 0).all() and np.isfinite(upper).all()


def test_categories_keep_their_order():
    site = pd.Categorical(X["site"], ["d", "b", "a", "c"])
    model = AdditiveRegressor([factor("site", shrink=False)], family="gaussian")
    model.fit(pd.DataFrame({"site": site}), TARGETS["gaussian"])
    assert model.levels_["site"] == ("d", "b", "a", "c")
