import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import stats

from credo import plots
from credo.report import _facts as facts
from credo.report import _sentences as sentences
from credo.report._effects import Effects
from credo.selection import Gap


def coverage(inside, n):
    low, high = (int(stats.binom.ppf(q, n, 0.95)) for q in (0.005, 0.995))
    return facts.Coverage(inside, n, low, high)


def effects(estimate, half, model="bayes"):
    estimate, half = np.asarray(estimate, dtype=float), np.asarray(half, dtype=float)
    return Effects(model, [f"x{i}" for i in range(len(estimate))], estimate, estimate - half, estimate + half)


def calibration(scale=1.0, shift=0.0, n=300):
    quantiles = stats.norm.ppf((np.arange(n) + 0.5) / n)
    return sentences.calibration(facts.uniformity(stats.norm.cdf(scale * quantiles + shift)))


def residuals(left, mean, useful=True):
    return sentences.residuals(facts.pattern(mean + left, mean), left, useful=useful)


@pytest.mark.parametrize(
    ("inside", "n", "verdict"),
    [
        (
            94,
            100,
            "94 of 100 held-out rows (94 %) are inside their 95 % interval, as expected (89–100).",
        ),
        (80, 100, "the model is overconfident"),
        (940, 1000, "as expected"),
        (9_400, 10_000, "slightly overconfident"),
        (1000, 1000, "the model is underconfident"),
        (5, 5, "as expected (3–5)"),
    ],
)
def test_coverage(inside, n, verdict):
    assert verdict in sentences.coverage(coverage(inside, n))


@pytest.mark.parametrize(
    ("rmse", "guess", "clear", "words"),
    [
        (54.6, 77.2, True, "which always predicts the mean, has 77.2. The model removes 29 % of its error."),
        (1.0, 1.1, False, "a difference that chance could explain."),
        (1.1, 1.1, False, "no smaller than that of the baseline"),
        (2.0, 1.1, False, "larger than that of the baseline"),
        (2.0, None, False, "RMSE on held-out rows: 2.00."),
    ],
)  # fmt: skip
def test_error(rmse, guess, clear, words):
    assert words in sentences.error(rmse, guess, clear=clear, target="y")


def test_calibration_of_honest_predictions():
    assert calibration() == "No sign of miscalibration in 300 rows (chi-square test, p = 1)."


def test_calibration_that_is_off():
    assert calibration(2.0).startswith("Overconfident: too many observations are in the tails")
    assert calibration(0.5).startswith("Underconfident: too many observations are near the middle")
    biased = calibration(shift=0.5)
    assert biased.startswith("Biased: 69 % of the observations are above the median")
    assert "too low" in biased
    assert "too high" in calibration(shift=-0.5)
    assert "Overconfident: " in calibration(2.0, 1.0) and "Biased: " in calibration(2.0, 1.0)
    assert "percentage points." in biased


def shape(pit):
    return facts.uniformity(np.asarray(pit))


def test_wide_for_most_rows_and_narrow_for_some_is_said_as_both():
    # Of 308 rows 88 % lie in the middle of their distributions and 12 % far out: a hump between raised ends.
    middle, ends = np.linspace(0.3, 0.7, 271), np.r_[np.linspace(0.0, 1e-4, 18), np.linspace(1 - 1e-4, 1.0, 19)]
    fact = shape(np.concatenate([middle, ends]))
    assert fact.spread > 0 and fact.too_wide and fact.too_narrow
    text = sentences.calibration(fact)
    assert text.startswith(
        "88 % of the observations are in the middle half of their predictive distributions (50 % expected) and 12 % in "
        "the outermost 5 %: intervals are too wide for most rows and too narrow for some."
    )
    assert "overconfident" not in text
    inside = sentences.coverage(fact.coverage, fact)
    assert "although most intervals are wider than necessary" in inside
    assert "overconfident" not in inside


def test_a_hump_that_the_picture_marks_is_never_called_level():
    # 58 % instead of 50 in the middle half, tails as they should be: Kolmogorov's distance is 4 points, p = 0.17.
    n = 768
    uniform = (np.arange(n) + 0.5) / n
    knots, values = [0, 0.05, 0.21, 0.79, 0.95, 1], [0, 0.05, 0.25, 0.75, 0.95, 1]
    fact = shape(np.interp(uniform, knots, values))
    assert stats.kstest(np.interp(uniform, knots, values), "uniform").pvalue > 0.01
    assert sentences.calibration(fact).startswith("Underconfident")
    # Coverage of 95 % is right, and the sentence about it doesn't hide the hump.
    assert "Intervals of lower levels are wider than they should be" in sentences.coverage(coverage(730, n), fact)


def test_one_odd_bar_is_seen_by_picture_and_sentence_alike():
    n = 768
    uniform = (np.arange(n) + 0.5) / n
    pit = np.where(uniform > 0.94, 0.15, uniform)
    fact = shape(pit)
    counts, _ = np.histogram(pit, bins=fact.bars.n, range=(0, 1))
    low, high = stats.binom.interval(1 - 0.01 / fact.bars.n, n, 1 / fact.bars.n)
    assert fact.bars.outside == np.sum((counts < low) | (counts > high)) > 0
    drawn = plots.calibration(pit, bins=fact.bars.n, level=0.99, ax=Figure().subplots())
    assert sorted(line.get_ydata()[0] for line in drawn.lines) == [low, high]
    assert "No sign" not in sentences.calibration(fact)


def test_a_small_departure_of_many_rows_is_called_small():
    assert "too little to matter for most uses" in calibration(1.03, n=100_000)


def test_calibration_of_a_handful_of_rows_says_nothing():
    assert calibration(5.0, n=5) == "5 rows are too few to judge calibration."


def test_residuals_without_pattern():
    rng = np.random.default_rng(0)
    mean, left = rng.normal(size=(2, 200))
    assert residuals(left, mean).startswith("No clear trend: ")


def test_residuals_whose_spread_grows():
    rng = np.random.default_rng(0)
    mean = rng.uniform(1, 10, size=300)
    text = residuals(rng.normal(size=300) * mean, mean)
    assert text.startswith("Errors grow with the prediction more than the intervals do (Spearman ρ = 0.")
    assert "p < 0.001" in text
    assert "shrink" in residuals(rng.normal(size=300) / mean, mean)


def test_residuals_with_a_trend_or_a_curve():
    rng = np.random.default_rng(1)
    mean = rng.normal(size=300)
    noise = 0.3 * rng.normal(size=300)
    assert "Residuals fall with the prediction" in residuals(noise - 0.5 * mean, mean)
    assert "too extreme" in residuals(noise - 0.5 * mean, mean)
    assert "too close to the mean" in residuals(noise + 0.5 * mean, mean)
    assert "are above the predictions" in residuals(noise + mean**2 - 1, mean)


def test_the_level_of_a_model_that_predicts_nothing_is_not_held_against_it():
    mean = np.random.default_rng(2).normal(size=300)
    assert "too extreme" not in residuals(-mean, mean, useful=False)


def test_residuals_of_a_handful_of_rows():
    text = residuals(np.array([1.0, -2.0, 3.0]), np.arange(3.0))
    assert text == ("3 rows are too few to show a pattern. Half of the errors are below 2.00; the largest is 3.00.")


@pytest.mark.parametrize(
    ("estimate", "half", "text"),
    [
        ([2.0, -1.0, 0.1], [1.0, 0.5, 1.0],
         "Two of the three coefficients have 95 % intervals that exclude zero: x0 (positive); x1 (negative)."),
        ([2.0, 0.1], [1.0, 1.0],
         "One of the two coefficients has a 95 % interval that excludes zero: x0 (positive)."),
        ([2.0, 3.0], [1.0, 1.0],
         "Both coefficients have 95 % intervals that exclude zero: x0 and x1 (positive)."),
        ([2.0] * 3, [1.0] * 3,
         "All three coefficients have 95 % intervals that exclude zero: x0, x1 and x2 (positive)."),
        ([0.1, 0.1], [1.0, 1.0], "Neither of the two coefficients has a 95 % interval that excludes zero."),
        ([0.1] * 3, [1.0] * 3, "None of the three coefficients has a 95 % interval that excludes zero."),
        ([0.1], [1.0], "The only coefficient has a 95 % interval that includes zero."),
        ([2.0], [1.0], "The only coefficient has a 95 % interval that excludes zero: x0 (positive)."),
    ],
)  # fmt: skip
def test_coefficients(estimate, half, text):
    fact = effects(estimate, half)
    assert sentences.coefficients(fact, best="bayes", names=fact.names, shown=len(estimate)) == text


def test_many_coefficients_are_put_in_proportion():
    fact = effects([5.0] * 12 + [0.0] * 288, [1.0] * 300)
    text = sentences.coefficients(fact, best="bayes", names=fact.names, shown=20)
    assert "x7 and 4 more (positive)" in text
    assert "If no input had an effect, about 15 would do so by chance." in text
    assert text.endswith("The figure shows the 20 that are largest relative to their uncertainty.")


def test_coefficients_of_another_model_and_those_that_nothing_determines():
    fact = effects([5.0, 0.1, 2.0], [1.0, 1.0, np.inf], "ridge")
    assert sentences.coefficients(fact, best="polynomial", names=fact.names, shown=2) == (
        "In ridge, one of the three coefficients has a 95 % interval that excludes zero: x0 (positive). "
        "One coefficient is not determined by these rows."
    )


def test_inputs_are_ranked_by_estimate_over_uncertainty_not_by_size():
    # A rare level with a large step and t = 2, beside a column with t = 13.
    fact = effects([40.0, -3.0, 2.0], [39.0, 0.45, 0.5])
    say = {"best": "bayes", "target": "y", "names": ["rare", "dose", "age"]}
    assert sentences.inputs(fact, **say).startswith("Clearest effects: y rises with age and falls with dose,")


def test_a_headline_says_which_inputs_it_can_not_speak_of():
    fact = effects([1.0, 2.0, 3.0], [0.1, np.inf, np.inf])
    assert sentences.inputs(fact, best="bayes", target="y", names=["b", "a", "twice a"]) == (
        "Clearest effect: y rises with b, other inputs held fixed. "
        "These rows don't determine the coefficients of a and twice a."
    )


def test_inputs_with_their_direction():
    fact = effects([1.0, -5.0, 3.0, 9.0], [0.1, 0.1, 0.1, 20.0])
    say = {"best": "bayes", "target": "y", "names": fact.names}
    assert sentences.inputs(fact, **say) == (
        "Clearest effects: y rises with x2 and x0 and falls with x1, other inputs held fixed."
    )
    assert sentences.inputs(effects([2.0], [1.0], "ridge"), **say | {"names": ["x0"]}) == (
        "Clearest effect in ridge: y rises with x0."
    )
    assert "differs clearly from zero" in sentences.inputs(effects([1.0], [2.0]), **say)


def test_agreement():
    assert sentences.agreement(0.484, coverage(95, 100), target="y") == (
        "The predictions explain 48 % of the variance of y in held-out rows. "
        "5 of 100 intervals miss the actual value; about 5 should."
    )
    assert "explain none of" in sentences.agreement(-0.2, coverage(95, 100), target="y")
    assert sentences.agreement(None, coverage(5, 5), target="y").startswith("None of 5 intervals miss")
    assert "1 of 20 intervals misses" in sentences.agreement(None, coverage(19, 20), target="y")


def test_lead_and_reference():
    assert "a clear difference" in sentences.lead("a", "b", Gap(0.3, 0.1))
    assert "chance could explain" in sentences.lead("a", "b", Gap(0.1, 0.1))
    assert sentences.lead("a", "b", Gap(0.0, 0.0)) == "a and b give the same predictions."
    assert "not finite" in sentences.lead("a", "b", Gap(np.inf, np.nan))
    assert "2.7 times as probable" in sentences.reference("a", Gap(1.0, 0.1))
    assert "chance could explain" in sentences.reference("a", Gap(0.1, 0.1))
    assert sentences.reference("a", Gap(-0.5, 0.1)) == sentences.reference("a", Gap(np.inf, np.nan)) == ""
