"""Held-out predictions of numbers: facts against independent numbers, and sentences that agree with them."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import stats

from credo import plots
from credo.metrics.calibration import Coverage, pit_histogram, uniformity
from credo.study.facts import Numbers, Predicted, calibration_sentence, coverage_sentence, error_sentence
from credo.study.report._held_out import agreement_sentence, residual_sentence


def coverage(inside, n):
    low, high = (int(stats.binom.ppf(q, n, 0.95)) for q in (0.005, 0.995))
    return Coverage(inside, n, low, high)


def calibration(scale=1.0, shift=0.0, n=300):
    quantiles = stats.norm.ppf((np.arange(n) + 0.5) / n)
    return calibration_sentence(uniformity(stats.norm.cdf(scale * quantiles + shift)))


def residuals(left, mean, useful=True):
    return residual_sentence(mean + left, mean, useful=useful)


def test_coverage_counts_rows_and_gives_the_binomial_range(make_held_out):
    y = np.concatenate([np.zeros(94), np.full(6, 10.0)])
    fact = Predicted(make_held_out(y, np.zeros(100), 1.0)).coverage
    assert (fact.inside, fact.n) == (94, 100)
    # The central 99 % range of binomial(100, 0.95): P(K < 89) = 0.0043 and P(K > 99) = 0.0059 > ½ %, so up to 100.
    assert (fact.low, fact.high) == tuple(stats.binom.interval(0.99, 100, 0.95)) == (89, 100)


@pytest.mark.parametrize(
    ("inside", "n", "verdict"),
    [
        (94, 100, "94 of 100 held-out rows (94 %) are inside their 95 % interval, as expected (89–100)."),
        (80, 100, "the model is overconfident"),
        (9_400, 10_000, "slightly overconfident"),
        (1000, 1000, "the model is underconfident"),
        (5, 5, "as expected (3–5)"),
    ],
)
def test_coverage(inside, n, verdict):
    assert verdict in coverage_sentence(coverage(inside, n))


@pytest.mark.parametrize(
    ("rmse", "guess", "clear", "words"),
    [
        (54.6, 77.2, True, "77.2. That is 29 % below the baseline."),
        (1.0, 1.1, False, "chance could explain"),
        (1.1, 1.1, False, "no smaller than"),
        (2.0, 1.1, False, "larger than"),
        (2.0, None, False, "2.00."),
    ],
)
def test_error(rmse, guess, clear, words, make_held_out):
    # Rows whose squared errors are all alike, or that of a single row, which chance could explain.
    y = np.tile([1.0, -1.0], 50) if clear or guess is None else np.r_[np.zeros(99), 10.0]

    def predicted(error):
        return Predicted(make_held_out(y, y * (1 - error / np.sqrt(np.mean(y**2))), 1.0))

    found = Numbers(predicted(rmse), None if guess is None else predicted(guess), None)
    assert words in error_sentence(found)


def test_agreement():
    assert "48 % of the variance of y" in agreement_sentence(0.484, coverage(95, 100), target="y")
    assert "5 of 100 intervals miss the actual value; about 5 should" in agreement_sentence(
        None, coverage(95, 100), target="y"
    )
    assert "explain none of" in agreement_sentence(-0.2, coverage(95, 100), target="y")
    assert "1 of 20 intervals misses" in agreement_sentence(None, coverage(19, 20), target="y")


@pytest.mark.parametrize(("scale", "shift", "bias", "spread"), [(2, 0, 0, 1), (0.5, 0, 0, -1), (1, 1, 1, 0)])
def test_signs_of_departures_from_uniform(scale, shift, bias, spread):
    fact = uniformity(stats.norm.cdf(stats.norm.ppf(np.linspace(0.001, 0.999, 999)) * scale + shift))
    assert np.sign(round(fact.bias, 6)) == bias
    assert np.sign(np.trunc(fact.spread)) == spread
    assert fact.bars.p < 1e-6 and fact.bars.outside.any()
    assert (fact.too_narrow, fact.too_wide) == (spread > 0, spread < 0)


def test_moments_of_uniform_values_are_standard_normal():
    rng = np.random.default_rng(0)
    found = np.array([[(f := uniformity(rng.uniform(size=200))).bias, f.spread, f.middle] for _ in range(400)])
    # The standard error of a mean over 400 draws is 0.05, that of a standard deviation 0.035.
    np.testing.assert_allclose(found.mean(axis=0), 0.0, atol=0.17)
    np.testing.assert_allclose(found.std(axis=0), 1.0, atol=0.14)


def test_calibration_sentences():
    assert calibration().startswith("No sign of miscalibration in 300 rows")
    assert "overconfident" in calibration(2.0).lower() and "underconfident" in calibration(0.5).lower()
    assert "69 % of the observations are above the median" in calibration(shift=0.5)
    assert "too low" in calibration(shift=0.5) and "too high" in calibration(shift=-0.5)
    assert "Overconfident: " in calibration(2.0, 1.0) and "Biased: " in calibration(2.0, 1.0)
    assert "too little to matter" in calibration(1.03, n=100_000)
    assert "too few" in calibration(5.0, n=5)


def test_wide_for_most_rows_and_narrow_for_some():
    # Of 308 rows 88 % lie in the middle of their distributions and 12 % far out: a hump between raised ends.
    middle, ends = np.linspace(0.3, 0.7, 271), np.r_[np.linspace(0.0, 1e-4, 18), np.linspace(1 - 1e-4, 1.0, 19)]
    fact = uniformity(np.concatenate([middle, ends]))
    assert fact.spread > 0 and fact.too_wide and fact.too_narrow
    text, inside = calibration_sentence(fact), coverage_sentence(fact.coverage, fact)
    assert text.startswith("88 % of the observations") and "too wide for most rows and too narrow for some" in text
    assert "most intervals are wider" in inside and "overconfident" not in text + inside


def test_a_hump_that_the_figure_marks_is_not_called_calibrated():
    # 58 % instead of 50 in the middle half, tails as they should be: Kolmogorov's distance is 4 points, p = 0.17.
    n = 768
    uniform = (np.arange(n) + 0.5) / n
    pit = np.interp(uniform, [0, 0.05, 0.21, 0.79, 0.95, 1], [0, 0.05, 0.25, 0.75, 0.95, 1])
    assert stats.kstest(pit, "uniform").pvalue > 0.01
    assert calibration_sentence(uniformity(pit)).startswith("Underconfident")
    assert "Intervals of lower levels are wider" in coverage_sentence(coverage(730, n), uniformity(pit))


def test_figure_and_sentence_see_the_same_odd_bar():
    n = 768
    uniform = (np.arange(n) + 0.5) / n
    pit = np.where(uniform > 0.94, 0.15, uniform)
    fact = uniformity(pit)
    k = len(fact.bars.counts)
    counts, _ = np.histogram(pit, bins=k, range=(0, 1))
    low, high = stats.binom.interval(1 - 0.01 / k, n, 1 / k)
    assert fact.bars.outside.sum() == np.sum((counts < low) | (counts > high)) > 0
    drawn = plots.calibration(pit, bins=k, level=0.99, ax=Figure().subplots())
    assert sorted(line.get_ydata()[0] for line in drawn.lines) == [low, high]
    assert "No sign" not in calibration_sentence(fact)


def test_errors_that_grow_as_the_intervals_do_are_no_pattern():
    rng = np.random.default_rng(5)
    mean = rng.uniform(1, 10, size=400)
    y = mean + mean * rng.normal(size=400)
    assert "Errors grow" in residual_sentence(y, mean, useful=True)
    assert "Errors grow" not in residual_sentence(y, mean, mean, useful=True)


def test_the_residual_sentence_agrees_with_the_mean_that_is_drawn():
    rng = np.random.default_rng(6)
    # Three quarters of the targets are zero: ranks of residuals fall with the prediction, and their means rise.
    mean = rng.uniform(0.2, 2.0, size=3000)
    y = np.where(rng.uniform(size=3000) < 0.25, 4 * mean + 3 * (mean - 1.1), 0.0)
    assert stats.spearmanr(y - mean, mean).statistic < -0.3
    # Above at the left end, below at the right one, and curved between them: not "above at both ends".
    x = np.sort(rng.normal(size=600))
    bent = np.where(x < 0, 2 * x**2, -0.5 * x) + 0.3 * rng.normal(size=600)
    for values, predicted, words in ((y, mean, "too close to the mean"), (x + bent, x, "too extreme")):
        ax = plots.residuals(values, predicted, ax=Figure().subplots())
        drawn = next(line for line in ax.lines if line.get_label() == "mean").get_ydata()
        assert words in residual_sentence(values, predicted, useful=True)
        assert (drawn[0] < 0 < drawn[-1]) == (words == "too close to the mean")
    one_end = np.where(x > 1, -2 * (x - 1), 0.0) + 0.3 * rng.normal(size=600)
    assert "highest predictions are too high" in residual_sentence(x + one_end, x, useful=True)
    middle = np.exp(-20 * x**2) + 0.3 * rng.normal(size=600)
    assert "Predictions near" in residual_sentence(x + middle, x, useful=True)


def test_residual_sentences():
    rng = np.random.default_rng(0)
    mean, left = rng.normal(size=(2, 300))
    spread, noise = rng.uniform(1, 10, size=300), 0.3 * left
    assert residuals(left, mean).startswith("No clear trend: ")
    assert residuals(left * spread, spread).startswith("Errors grow") and "shrink" in residuals(left / spread, spread)
    assert "too extreme" in residuals(noise - 0.5 * mean, mean)
    assert "too close to the mean" in residuals(noise + 0.5 * mean, mean)
    assert "are above the predictions" in residuals(noise + mean**2 - 1, mean)
    # A model that predicts next to nothing has a falling trend because its folds have different means.
    assert "too extreme" not in residuals(-mean, mean, useful=False)
    few = residuals(np.array([1.0, -2.0, 3.0]), np.arange(3.0))
    assert "too few" in few and "below 2.00; the largest is 3.00" in few


def test_calibrated_models_are_seldom_accused():
    rng = np.random.default_rng(4)
    accused = np.zeros(2)
    for _ in range(200):
        mean, noise = rng.normal(size=(2, 100))
        accused += [
            "No sign" not in calibration_sentence(uniformity(stats.norm.cdf(noise))),
            "No clear trend" not in residuals(noise, mean),
        ]
    # Up to five dependent tests at the 1 % level; 200 trials at 4 % give at most 17 with probability 0.999.
    assert (accused <= 17).all()
    # All bars of a calibrated model are inside with probability 0.99: of 600, more than 15 with probability 0.0004.
    assert sum(pit_histogram(rng.uniform(size=200)).outside.any() for _ in range(600)) <= 15
