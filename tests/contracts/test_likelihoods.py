"""What every exported likelihood keeps: it sums to one, and derivatives and integrals agree with numerical ones."""

import inspect

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.integrate import trapezoid

import credo.likelihoods as room
from credo.core.inference import Dense, ep, laplace, vi
from credo.kernels import Constant
from credo.likelihoods import (
    Bernoulli,
    Beta,
    Gamma,
    Gaussian,
    Likelihood,
    LogNormal,
    NegativeBinomial,
    Ordinal,
    Poisson,
    StudentT,
    Tempered,
    Weibull,
    ZeroTruncated,
)

# Examples of each class, with the kind of outcome that they are for; a class without one fails the test below.
EXAMPLES = [
    (Gaussian(0.7), "number"),
    (StudentT(0.7, 3.0), "number"),
    (StudentT(0.4, 40.0), "number"),
    (Bernoulli("logit"), "label"),
    (Bernoulli("probit"), "label"),
    (Poisson(), "count"),
    (NegativeBinomial(1.7), "count"),
    (ZeroTruncated(Poisson()), "positive count"),
    (ZeroTruncated(NegativeBinomial(0.8)), "positive count"),
    (Gamma(2.3), "positive"),
    (Beta(3.0), "share"),
    (LogNormal(0.6), "positive"),
    (Weibull(0.7), "positive"),
    (Ordinal(np.array([-1.0, 0.5, 2.0])), "order"),
]
# The others are for Laplace's method; the logarithm of a beta density isn't even concave.
INTEGRABLE = [case for case in EXAMPLES if case[1] in ("number", "label", "count", "order")]
# Powers of a likelihood don't sum to one.
TEMPERED = [
    (Tempered(part, np.array([0.3])), kind)
    for part, kind in [(Bernoulli("probit"), "label"), (Gaussian(0.7), "number"), (Poisson(), "count")]
]
OUTCOMES = {
    "number": [-1.0, 1.0], "label": [-1.0, 1.0], "count": [0.0, 2.0, 7.0], "positive count": [1.0, 4.0],
    "positive": [0.1, 1.0, 5.0], "share": [0.02, 0.5, 0.97], "order": [0.0, 1.0, 2.0, 3.0],
}  # fmt: skip


def each(*cases: tuple[Likelihood, str]):
    return pytest.mark.parametrize(("likelihood", "kind"), cases, ids=[str(likelihood) for likelihood, _ in cases])


def test_every_exported_likelihood_has_its_example():
    found = {value for name in room.__all__ if inspect.isclass(value := getattr(room, name))}
    classes = {value for value in found if issubclass(value, Likelihood)} - {Likelihood}
    assert classes == {type(likelihood) for likelihood, _ in EXAMPLES + TEMPERED}


@each(*EXAMPLES)
def test_it_sums_to_one(likelihood, kind):
    f = np.array([-30.0, -1.0, 0.0, 2.0, 5.0 if kind == "count" else 40.0])
    if kind == "number":
        total = [
            sum(integrate.quad(lambda y, f=f: float(np.exp(likelihood.log_prob(y, f))), *part)[0] for part in parts)
            for f in f
            for parts in [[(-np.inf, f - 2), (f - 2, f + 2), (f + 2, np.inf)]]
        ]
    elif kind in ("positive", "share"):
        f = np.array([-2.0, 0.0, 1.5])
        end = 1.0 if kind == "share" else 2000.0
        total = [
            sum(
                integrate.quad(lambda y, f=f: float(np.exp(likelihood.log_prob(y, f))), a, b, limit=500)[0]
                for a, b in parts
            )
            for f in f
            for parts in [[(0.0, 0.01 * end), (0.01 * end, 0.5 * end), (0.5 * end, end)]]
        ]
    else:
        f = f if kind != "positive count" else np.array([-8.0, -1.0, 0.0, 2.0, 5.0])
        outcomes = {
            "count": np.arange(20_000.0), "positive count": np.arange(1.0, 20_000.0), "label": np.array([-1.0, 1.0]),
            "order": np.arange(4.0),
        }[kind]  # fmt: skip
        total = np.exp(likelihood.log_prob(outcomes[:, None], f)).sum(axis=0)
    np.testing.assert_allclose(total, 1.0, rtol=1e-7)


@each(*EXAMPLES, *TEMPERED)
def test_derivatives_are_differences(likelihood, kind):
    f = np.linspace(-6, 6, 25)
    for y in OUTCOMES[kind]:
        y = np.full_like(f, y)
        first, second, third = likelihood.derivatives(y, f)
        h = 1e-4
        ahead, behind = likelihood.derivatives(y, f + h), likelihood.derivatives(y, f - h)
        np.testing.assert_allclose(
            first, (likelihood.log_prob(y, f + h) - likelihood.log_prob(y, f - h)) / (2 * h), rtol=1e-6, atol=1e-7
        )
        np.testing.assert_allclose(second, (ahead[0] - behind[0]) / (2 * h), rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(third, (ahead[1] - behind[1]) / (2 * h), rtol=1e-5, atol=1e-6)


@each(*INTEGRABLE, *TEMPERED)
@pytest.mark.parametrize("mean", [-8.0, -0.5, 3.0])
@pytest.mark.parametrize("var", [1e-6, 0.3, 25.0, 1e4])
def test_tilted_moments_are_those_of_a_fine_grid(likelihood, kind, mean, var):
    for y in OUTCOMES[kind]:
        log_z, slope, curvature = likelihood.tilted(*(np.array([v]) for v in (y, mean, var)))
        span = np.sqrt(var) * np.linspace(-14, 14, 60_001)
        f = mean + span
        logs = likelihood.log_prob(np.array(y), f) + stats.norm(mean, np.sqrt(var)).logpdf(f)
        weight = np.exp(logs - logs.max())
        assert log_z[0] == pytest.approx(logs.max() + np.log(trapezoid(weight, f)), abs=2e-8)
        first, second, _ = likelihood.derivatives(np.full_like(f, y), f)
        weight /= weight.sum()
        assert slope[0] == pytest.approx(weight @ first, rel=1e-6, abs=1e-9)
        spread = weight @ (second + first**2) - (weight @ first) ** 2
        assert curvature[0] == pytest.approx(spread, rel=1e-5, abs=1e-8)


@each(*INTEGRABLE, *TEMPERED)
@pytest.mark.parametrize(("mean", "var"), [(-2.0, 0.5), (1.0, 4.0), (0.0, 1e-8)])
def test_expectations_and_their_slopes(likelihood, kind, mean, var):
    def value(mean, var, y):
        return likelihood.expected(*(np.array([v]) for v in (y, mean, var)))

    for y in OUTCOMES[kind]:
        found, by_mean, by_var = (part[0] for part in value(mean, var, y))
        f = mean + np.sqrt(var) * np.linspace(-12, 12, 200_001)
        weight = stats.norm(mean, np.sqrt(var)).pdf(f)
        assert found == pytest.approx(trapezoid(weight * likelihood.log_prob(np.array(y), f), f), rel=1e-5)
        h = 1e-5 * max(var, 1e-3)
        assert by_mean == pytest.approx(
            (value(mean + h, var, y)[0] - value(mean - h, var, y)[0])[0] / (2 * h), rel=1e-4, abs=1e-9
        )
        if var > 1e-3:
            assert by_var == pytest.approx(
                (value(mean, var + h, y)[0] - value(mean, var - h, y)[0])[0] / (2 * h), rel=1e-4
            )


@each(*INTEGRABLE, *TEMPERED)
def test_every_rule_of_inference_takes_it(likelihood, kind):
    """For one row EP is exact, the variational bound is below, and Laplace is close if the variance is small."""
    var, one = 0.02, np.ones(1)
    prior = Dense(np.zeros((1, 1))).prior(Constant(var))
    for y in OUTCOMES[kind]:
        y = np.array([y])
        exact = likelihood.tilted(y, np.zeros(1), np.array([var]))[0][0]
        found = [rule(prior, y, likelihood, weight=one) for rule in (ep, vi, laplace)]
        assert all(end.converged for end in found)
        by_ep, by_vi, by_laplace = (end.log_evidence for end in found)
        assert by_ep == pytest.approx(exact, abs=1e-8)
        assert exact - 0.01 < by_vi < exact + 1e-8
        assert by_laplace == pytest.approx(exact, abs=0.01)
