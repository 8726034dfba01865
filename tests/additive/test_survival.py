"""Log-normal and Weibull regression of times of which some are right-censored."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests.additive.published import ovarian

from credo import AdditiveRegressor
from credo.additive import linear
from credo.likelihoods import LogNormal, Weibull
from credo.tables import load, save

# `survreg(Surv(futime, fustat) ~ ecog.ps + rx, ovarian, dist = …)` of R's survival 3.5: coefficients, scale and log
# likelihood. The Weibull ones are also in its manual, to three digits.
SURVREG = {
    "weibull": ([6.896693129, -0.385042549, 0.528645496], 0.883873072, -97.0844932),
    "lognormal": ([5.878440350, -0.229274996, 0.813359148], 1.18135264, -95.9473634),
}


def fitted(family, X, y, event, **options):
    terms = [linear(name, shrink=False) for name in X]
    return AdditiveRegressor(terms, family=family, **options).fit(X, y, event=event)


@pytest.mark.parametrize("family", SURVREG)
def test_maximum_likelihood_is_that_of_survreg(family):
    table, (coef, scale, log_likelihood) = ovarian(), SURVREG[family]
    model = fitted(
        family, table[["ecog", "rx"]], table["futime"], table["fustat"], hyperparameters="optimize", reml=False
    )
    np.testing.assert_allclose(model.summary().columns["estimate"][:3], coef, rtol=1e-6)
    assert model.dispersion_["scale"] == pytest.approx(scale, rel=1e-6)
    assert model.log_evidence_ == pytest.approx(log_likelihood, abs=1e-6)


@pytest.fixture(scope="module")
def times():
    """Weibull times with a line and a curve, of which those beyond a random end are censored: about four in ten."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"dose": rng.uniform(size=500), "age": rng.uniform(size=500)})
    f = 2 + X["dose"].to_numpy() + np.sin(5 * X["age"].to_numpy())
    time = np.exp(f + 0.5 * np.log(rng.exponential(size=500)))
    end = rng.exponential(30.0, size=500)
    return X, np.minimum(time, end), time <= end, f, time


def test_censored_times_are_not_taken_for_events(times):
    X, y, event, f, time = times
    model = AdditiveRegressor(pairs=0).fit(X, y, event=event)
    assert model.family_ == "weibull" and "log-normal" in model.family_reason_
    assert model.dispersion_["scale"] == pytest.approx(0.5, abs=0.07)
    dist = model.predict_dist(X)
    # The medians of the whole times, which the model hasn't seen.
    np.testing.assert_allclose(np.mean(time <= dist.quantile(0.5)), 0.5, atol=0.07)
    lower, upper = dist.interval(0.9)
    assert np.mean((lower <= time) & (time <= upper)) == pytest.approx(0.9, abs=0.04)
    truth = np.exp(f) * np.log(2) ** 0.5
    assert np.mean(np.abs(np.log(dist.quantile(0.5) / truth))) < 0.12
    ignoring = AdditiveRegressor(pairs=0, family="weibull").fit(X, y)
    assert np.mean(ignoring.predict_dist(X).quantile(0.5) < dist.quantile(0.5)) > 0.9


def test_distributions_given_f_are_those_of_scipy():
    for family, ours in (("lognormal", LogNormal), ("weibull", Weibull)):
        likelihood, f = ours(0.7), np.array([0.3])
        theirs = (
            stats.lognorm(0.7, scale=np.exp(0.3))
            if family == "lognormal"
            else stats.weibull_min(1 / 0.7, scale=np.exp(0.3))
        )
        assert likelihood.mean(f)[0] == pytest.approx(theirs.mean(), rel=1e-10)
        assert likelihood.variance(f)[0] == pytest.approx(theirs.var(), rel=1e-10)
        for x in (0.1, 1.0, 4.0):
            assert likelihood.tail(np.array([x]), f, True)[0] == pytest.approx(theirs.sf(x), rel=1e-10)
            assert likelihood.log_prob(np.array([x]), f)[0] == pytest.approx(theirs.logpdf(x), rel=1e-10)
            censored = ours(0.7, observed=np.array([False]))
            assert censored.log_prob(np.array([x]), f)[0] == pytest.approx(theirs.logsf(x), rel=1e-9)


def test_weights_and_files(times, tmp_path):
    X, y, event, *_ = (part[:80] for part in times)
    weight = np.arange(80) % 3
    one = AdditiveRegressor([linear("dose")], family="lognormal").fit(X, y, weight, event=event)
    rows = np.repeat(np.arange(80), weight)
    other = AdditiveRegressor([linear("dose")], family="lognormal").fit(X.iloc[rows], y[rows], event=event[rows])
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-5)
    save(one, tmp_path / "model.credo")
    np.testing.assert_array_equal(load(tmp_path / "model.credo").predict(X), one.predict(X))


def test_bad_events_are_refused(times):
    X, y, event, *_ = times
    for bad, message in (
        (event[:5], "for each of the 500 rows"),
        (event + 1.0, "true or false, or 1 or 0"),
        (np.zeros(500), "no event was observed"),
    ):
        with pytest.raises(ValueError, match=message):
            AdditiveRegressor().fit(X, y, event=bad)
    with pytest.raises(ValueError, match="no event was observed"):
        AdditiveRegressor().fit(X, y, np.where(event, 0.0, 1.0), event=event)
    with pytest.raises(ValueError, match="got 'dead' in row 0"):
        AdditiveRegressor().fit(X, y, event=np.full(500, "dead"))
    with pytest.raises(ValueError, match=r"event needs a family of times \(lognormal, weibull\)"):
        AdditiveRegressor(family="gamma").fit(X, y, event=event)
    with pytest.raises(ValueError, match="needs times above 0; y is 0 in row 0"):
        AdditiveRegressor().fit(X, np.where(np.arange(500) == 0, 0.0, y), event=event)
