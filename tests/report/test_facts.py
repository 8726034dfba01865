import numpy as np
import pytest
from scipy import stats

from credo.report import _facts as facts
from credo.report import _sentences as sentences


def test_coverage_counts_rows_and_gives_the_binomial_range(make_held_out):
    y = np.concatenate([np.zeros(94), np.full(6, 10.0)])
    fact = facts.coverage(facts.Predicted(make_held_out(y, np.zeros(100), 1.0)))
    assert (fact.inside, fact.n) == (94, 100)
    # The central 99 % range of binomial(100, 0.95): P(K < 89) = 0.0043 and P(K > 99) = 0.0059 > ½ %, so up to 100.
    assert (fact.low, fact.high) == tuple(stats.binom.interval(0.99, 100, 0.95)) == (89, 100)


@pytest.mark.parametrize(
    ("pit", "bias", "spread"),
    [
        (stats.norm.cdf(stats.norm.ppf(np.linspace(0.001, 0.999, 999)) * 2), 0, 1),
        (stats.norm.cdf(stats.norm.ppf(np.linspace(0.001, 0.999, 999)) * 0.5), 0, -1),
        (stats.norm.cdf(stats.norm.ppf(np.linspace(0.001, 0.999, 999)) + 1), 1, 0),
    ],
    ids=["too sure", "too unsure", "biased"],
)
def test_signs_of_departures_from_uniform(pit, bias, spread):
    fact = facts.uniformity(pit)
    assert np.sign(round(fact.bias, 6)) == bias
    assert np.sign(np.trunc(fact.spread)) == spread
    assert fact.bars.p < 1e-6 and fact.bars.outside > 0
    assert (fact.too_narrow, fact.too_wide) == (spread > 0, spread < 0)


def test_moments_of_uniform_values_are_standard_normal():
    rng = np.random.default_rng(0)
    found = np.array([[(f := facts.uniformity(rng.uniform(size=200))).bias, f.spread, f.middle] for _ in range(800)])
    # The standard error of a mean over 800 draws is 0.035, that of a standard deviation 0.025.
    np.testing.assert_allclose(found.mean(axis=0), 0.0, atol=0.12)
    np.testing.assert_allclose(found.std(axis=0), 1.0, atol=0.1)


def test_patterns_are_rank_correlations():
    rng = np.random.default_rng(3)
    y, mean = rng.normal(size=(2, 80))
    fact = facts.pattern(y, mean)
    assert fact.level.rho == pytest.approx(stats.spearmanr(y - mean, mean).statistic)
    assert fact.size.p == pytest.approx(stats.spearmanr(np.abs(y - mean), mean).pvalue)


def test_errors_that_grow_as_the_intervals_do_are_no_pattern():
    rng = np.random.default_rng(5)
    mean = rng.uniform(1, 10, size=400)
    y = mean + mean * rng.normal(size=400)
    assert facts.pattern(y, mean).size.p < 1e-6
    assert facts.pattern(y, mean, mean).size.p > 0.01


def test_honest_models_are_seldom_accused():
    rng = np.random.default_rng(4)
    accused = np.zeros(2)
    for _ in range(300):
        mean, noise = rng.normal(size=(2, 100))
        pit = stats.norm.cdf(noise)
        pattern = facts.pattern(mean + noise, mean)
        accused += [
            "No sign" not in sentences.calibration(facts.uniformity(pit)),
            "No clear trend" not in sentences.residuals(pattern, noise, useful=True),
        ]
    # Tests at the 1 % level, up to five that lean on each other; 300 trials at 4 % give at most 23 with probability
    # 0.999.
    assert (accused <= 23).all()


def test_all_bars_of_an_honest_model_stay_inside_99_times_in_100():
    rng = np.random.default_rng(6)
    left = sum(facts.bars(rng.uniform(size=200)).outside > 0 for _ in range(1000))
    # At most 1 %; 1000 trials give more than 21 with a probability of 0.0004.
    assert left <= 21
