"""Fits of public tables, against the numbers of lme4 1.1-31, glmmTMB 1.1.5, mgcv 1.8-41 and MASS of R 4.2.2.

lme4 ends its search a little early: its variances agree with those of its own criterion, maximized further, to five
digits. The numbers here are of the latter.
"""

import numpy as np
import pandas as pd
import pytest
from tests.additive import published

from credo import AdditiveClassifier, AdditiveRegressor
from credo.additive import factor, linear, random, smooth

REML = {"family": "gaussian", "hyperparameters": "optimize"}
MAXIMUM = {"hyperparameters": "optimize", "reml": False}


def estimates(model):
    columns = model.summary().columns
    return dict(zip(columns["parameter"], columns["estimate"], strict=True))


def errors(model):
    columns = model.summary().columns
    return dict(zip(columns["parameter"], columns["sd"], strict=True))


def test_independent_intercepts_and_slopes_of_subjects():
    """lmer(Reaction ~ Days + (Days || Subject)); mgcv's gam with bs="re" has half the criterion, 871.8346468."""
    table = published.sleepstudy()
    model = AdditiveRegressor([linear("days"), random("subject"), random("subject", by="days")], **REML)
    model.fit(table, table["reaction"])
    assert model.reml_criterion_ == pytest.approx(1743.66929358, abs=1e-8)
    np.testing.assert_allclose([*model.variances_, model.noise_std_**2], [627.56907, 35.858203, 653.58381], rtol=2e-7)
    assert estimates(model)["intercept"] == pytest.approx(251.4051048, abs=1e-7)
    assert estimates(model)["days"] == pytest.approx(10.46728596, abs=1e-8)
    np.testing.assert_allclose(
        [errors(model)[name] for name in ("intercept", "days")], [6.8853813, 1.559566], rtol=1e-7
    )


def test_intercepts_of_subjects_and_their_effects():
    """lmer(Reaction ~ Days + (1 | Subject))."""
    table = published.sleepstudy()
    model = AdditiveRegressor([linear("days"), random("subject")], **REML).fit(table, table["reaction"])
    assert model.reml_criterion_ == pytest.approx(1786.46508539, abs=1e-8)
    np.testing.assert_allclose([*model.variances_, model.noise_std_**2], [1378.1785, 960.45658], rtol=1e-7)
    effects = model.curve("random(subject)").mean[:3]
    np.testing.assert_allclose(effects, [40.7837098, -77.8495538, -63.1085674], rtol=1e-7)


def test_crossed_random_effects():
    """lmer(diameter ~ 1 + (1 | plate) + (1 | sample))."""
    table = published.penicillin()
    model = AdditiveRegressor([random("plate"), random("sample")], **REML).fit(table, table["diameter"])
    assert model.reml_criterion_ == pytest.approx(330.860588991, abs=1e-8)
    variances = [*model.variances_, model.noise_std_**2]
    np.testing.assert_allclose(variances, [0.716908223, 3.73091796, 0.302415458], rtol=3e-7)


def test_numbers_of_trials_are_weights():
    """glmmTMB and glmer(cbind(incidence, size - incidence) ~ period + (1 | herd), family = binomial).

    The log evidence is that of every animal; the binomial coefficients are the rest. glmer itself has -92.0265664 and
    0.4122538, three digits of these.
    """
    rows, case, weight = published.cbpp()
    model = AdditiveClassifier([factor("period", shrink=False), random("herd")], **MAXIMUM)
    model.fit(rows, case, sample_weight=weight)
    assert model.log_evidence_ + 185.47565968 == pytest.approx(-92.02628186, abs=1e-7)
    assert model.variances_[0] == pytest.approx(0.4125000556, rel=2e-6)
    expected = [-1.398532466, -0.992332293, -1.128671298, -1.580313687]
    np.testing.assert_allclose(list(estimates(model).values())[:4], expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("family", "evidence", "sd", "coefficients"),
    [
        ("poisson", -1104.84931, 0.57585, [0.75909, -2.26441]),
        ("negative_binomial", -869.16615, 0.524675, [0.78407841, -2.25816763]),
    ],
)
def test_counts_of_sites(family, evidence, sd, coefficients):
    """glmmTMB(count ~ mined + (1 | site))."""
    table = published.salamanders()
    model = AdditiveRegressor([factor("mined", shrink=False), random("site")], family=family, **MAXIMUM)
    model.fit(table[["mined", "site"]], table["count"])
    assert model.log_evidence_ == pytest.approx(evidence, abs=1e-5)
    assert np.sqrt(model.variances_[0]) == pytest.approx(sd, abs=6e-6)
    np.testing.assert_allclose(list(estimates(model).values())[:2], coefficients, atol=6e-6)
    if family == "negative_binomial":
        assert model.dispersion_["shape"] == pytest.approx(0.639048, abs=3e-6)


def test_a_hurdle_of_sites():
    """glmmTMB(count ~ mined + (1 | site), ziformula = ~ mined + (1 | site), family = truncated_nbinom2)."""
    table = published.salamanders()
    model = AdditiveRegressor(
        [factor("mined", shrink=False), random("site")], family="negative_binomial", zeros=True, **MAXIMUM
    )
    model.fit(table[["mined", "site"]], table["count"])
    assert model.log_evidence_ == pytest.approx(-858.1650173, abs=1e-6)
    assert model.dispersion_["shape"] == pytest.approx(1.027937, abs=1e-6)
    assert np.sqrt(model.variances_[0]) == pytest.approx(0.1053, abs=1e-4)
    assert np.sqrt(model.zero_part_.variances_[0]) == pytest.approx(0.63505, abs=1e-5)
    # The part for zeros there is for zero, and here for a count above zero.
    assert list(estimates(model.zero_part_).values())[:2] == pytest.approx([0.5173, -2.3512], abs=1e-4)


def test_poisson_regression():
    """glm(Days ~ Age + Sex, family = poisson)."""
    table = published.quine()
    model = AdditiveRegressor(
        [factor("age", shrink=False), factor("sex", shrink=False)], family="poisson", **MAXIMUM
    ).fit(table, table["days"])
    expected = [2.6308981, -0.2523239, 0.3596390, 0.2991509, 0.1047583]
    np.testing.assert_allclose(list(estimates(model).values()), expected, atol=1e-7)
    y, mu = np.asarray(table["days"]), model.predict_dist(table, latent=True).quantile(0.5)
    deviance = 2 * np.sum(np.where(y > 0, y * np.log(np.maximum(y, 1) / mu), 0.0) - (y - mu))
    assert deviance == pytest.approx(1908.275272, abs=1e-5)


def test_negative_binomial_regression():
    """glm.nb(Days ~ Sex/(Age + Eth*Lrn)), whose nested effects are columns of their own."""
    table = published.quine()
    boy, native = table["sex"] == "M", table["ethnicity"] == "N"
    slow = table["learner"] == "S"
    columns = {"boy": boy}
    for name, own in (("girl", ~boy), ("boy", boy)):
        columns |= {f"{name}:{age}": own & (table["age"] == age) for age in "123"}
        columns |= {f"{name}:N": own & native, f"{name}:S": own & slow, f"{name}:NS": own & native & slow}
    X = pd.DataFrame(columns).astype(float)
    model = AdditiveRegressor([linear(name) for name in X], family="negative_binomial", **MAXIMUM).fit(X, table["days"])
    assert 2 * model.log_evidence_ == pytest.approx(-1063.0250224, abs=1e-6)
    assert model.dispersion_["shape"] == pytest.approx(1.59799073, rel=1e-6)
    found = estimates(model)
    expected = {"intercept": 3.0191881905, "boy": -0.4754050508, "girl:1": -0.7088736734, "boy:NS": 0.7614155753}
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-6)


def test_exposure():
    """glm(Claims ~ District + Group + Age + offset(log(Holders)), family = poisson), treatment contrasts."""
    table = published.insurance()
    terms = [factor(name, shrink=False) for name in ("district", "group", "age")]
    model = AdditiveRegressor(terms, family="poisson", **MAXIMUM)
    model.fit(table[["district", "group", "age"]], table["claims"], exposure=table["holders"])
    assert model.log_evidence_ == pytest.approx(-184.370777, abs=1e-6)
    expected = [
        -1.8217399181, 0.0258681909, 0.0385239271, 0.2342053280, 0.1613369800, 0.3928104908, 0.5634123411,
        -0.1910101063, -0.3449506583, -0.5366707064,
    ]  # fmt: skip
    np.testing.assert_allclose(list(estimates(model).values()), expected, atol=1e-8)
    assert errors(model)["intercept"] == pytest.approx(0.0767876190, rel=1e-6)


def test_ordered_classes():
    """polr(Sat ~ Infl + Type + Cont, weights = Freq)."""
    table = published.housing()
    names = ["influence", "type", "contact"]
    model = AdditiveClassifier(
        [factor(name, shrink=False) for name in names], order=["low", "medium", "high"], **MAXIMUM
    ).fit(table[names], table["satisfaction"], sample_weight=table["frequency"])
    assert -2 * model.log_evidence_ == pytest.approx(3479.149299, abs=1e-6)
    expected = [0.5663937, 1.2888191, -0.5723501, -0.3661866, -1.0910149, 0.3602841, -0.4961353, 0.6907083]
    np.testing.assert_allclose(list(estimates(model).values()), expected, atol=5e-7)


def test_the_motorcycle_curve_is_that_of_mgcv():
    """gam(accel ~ s(times, k = 30, bs = "ps"), method = "REML"), in its standard errors.

    Its own bases "tp" and "cr" differ from "ps" by up to 0.18 and 0.15 of them.
    """
    table = published.mcycle()
    model = AdditiveRegressor([smooth("times")], family="gaussian").fit(table[["times"]], table["accel"])
    curve = model.predict_dist(pd.DataFrame({"times": [5.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0]}), latent=True)
    errors = np.array([9.17, 4.66, 6.24, 5.70, 7.25, 7.74, 10.64])
    gaps = (curve.mean - [-2.468, -25.254, -113.084, -68.648, 29.698, 3.708, -7.471]) / errors
    assert np.abs(gaps).max() < 0.17
    np.testing.assert_allclose(curve.std, errors, rtol=0.08)
    assert model.noise_std_**2 == pytest.approx(511.27, rel=0.01)
