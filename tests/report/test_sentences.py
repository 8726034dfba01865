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
            "94 of 100 held-out rows fell inside their 95 % interval: about what it should be (chance allows 89–100).",
        ),
        (80, 100, "too few, so the intervals are too narrow"),
        (940, 1000, "about what it should be"),
        (9_400, 10_000, "slightly too few"),
        (1000, 1000, "too many, so the intervals could be narrower"),
        (5, 5, "about what it should be (chance allows 3–5)"),
    ],
)
def test_coverage(inside, n, verdict):
    assert verdict in sentences.coverage(coverage(inside, n))


@pytest.mark.parametrize(
    ("n", "failed", "tied", "text"),
    [
        (3, 0, 1, "bayes predicts y best of the three models compared, by a clear margin."),
        (2, 0, 2, "bayes is the model to take: both models predict y about equally well on held-out rows, as far as "
                  "chance lets us tell, and it is the simplest of them."),
        (3, 1, 2, "bayes is the model to take: two of three models predict y about equally well on held-out rows, as "
                  "far as chance lets us tell, and it is the simplest of them. One more model could not be fitted."),
        (1, 2, 1, "bayes is the only model that was fitted. Two more models could not be fitted."),
    ],
)  # fmt: skip
def test_winner(n, failed, tied, text):
    assert sentences.winner("bayes", n_models=n, n_failed=failed, n_tied=tied, target="y") == text


@pytest.mark.parametrize(
    ("rmse", "guess", "clear", "words"),
    [
        (54.6, 77.2, True, "its root mean squared error is 54.6 in units of y; that of always guessing the mean "
                           "is 77.2, so the columns remove 29 % of the error."),
        (1.0, 1.1, False, "a difference that chance alone could explain."),
        (1.1, 1.1, False, "about the same as that of always guessing the mean (1.10)"),
        (2.0, 1.1, False, "worse than that of always guessing the mean (1.10)"),
        (2.0, None, False, "its root mean squared error is 2.00 in units of y."),
    ],
)  # fmt: skip
def test_error(rmse, guess, clear, words):
    assert words in sentences.error(rmse, guess, clear=clear, target="y")


def test_calibration_of_honest_predictions():
    assert calibration() == (
        "The bars are as level as 300 rows can show (chi-square test of the bars, p = 1): "
        "no sign that the stated uncertainty is wrong."
    )


def test_calibration_that_is_off():
    assert "in the tails of their predictive distributions: the model is surer than it should" in calibration(2.0)
    assert "near the middle of their predictive distributions: the model is less sure" in calibration(0.5)
    biased = calibration(shift=0.5)
    assert biased.startswith("69 % of the observations lie above the middle")
    assert "too low" in biased
    assert "too high" in calibration(shift=-0.5)
    assert "; and " in calibration(2.0, 1.0)
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
        "88 % of the observations fell in the middle half of their predictive distributions, where 50 % should, and "
        "12 % in the outermost 5 %: the stated uncertainty is too wide for most rows and too narrow for some."
    )
    assert "surer than it should be" not in text
    inside = sentences.coverage(fact.coverage, fact)
    assert "too few, though most of the intervals are wider than they need be" in inside
    assert "intervals are too narrow" not in inside


def test_a_hump_that_the_picture_marks_is_never_called_level():
    # 58 % instead of 50 in the middle half, tails as they should be: Kolmogorov's distance is 4 points, p = 0.17.
    n = 768
    uniform = (np.arange(n) + 0.5) / n
    knots, values = [0, 0.05, 0.21, 0.79, 0.95, 1], [0, 0.05, 0.25, 0.75, 0.95, 1]
    fact = shape(np.interp(uniform, knots, values))
    assert stats.kstest(np.interp(uniform, knots, values), "uniform").pvalue > 0.01
    assert "less sure than it could be" in sentences.calibration(fact)


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
    assert "no sign" not in sentences.calibration(fact)


def test_a_small_departure_of_many_rows_is_called_small():
    assert "too little to matter for most uses" in calibration(1.03, n=100_000)


def test_calibration_of_a_handful_of_rows_says_nothing():
    assert calibration(5.0, n=5) == "With 5 rows the bars can't tell honest uncertainty from any other."


def test_residuals_without_pattern():
    rng = np.random.default_rng(0)
    mean, left = rng.normal(size=(2, 200))
    assert residuals(left, mean).startswith("No pattern: neither the residuals' level nor their size changes")


def test_residuals_whose_spread_grows():
    rng = np.random.default_rng(0)
    mean = rng.uniform(1, 10, size=300)
    text = residuals(rng.normal(size=300) * mean, mean)
    assert text.startswith("The errors grow with the predicted value (Spearman ρ = 0.")
    assert "p < 0.001" in text
    assert "shrink" in residuals(rng.normal(size=300) / mean, mean)


def test_residuals_with_a_trend_or_a_curve():
    rng = np.random.default_rng(1)
    mean = rng.normal(size=300)
    noise = 0.3 * rng.normal(size=300)
    assert "The residuals fall with the predicted value" in residuals(noise - 0.5 * mean, mean)
    assert "too extreme" in residuals(noise - 0.5 * mean, mean)
    assert "too close to the middle" in residuals(noise + 0.5 * mean, mean)
    assert "lie above the predictions" in residuals(noise + mean**2 - 1, mean)


def test_the_level_of_a_model_that_predicts_nothing_is_not_held_against_it():
    mean = np.random.default_rng(2).normal(size=300)
    assert "too extreme" not in residuals(-mean, mean, useful=False)


def test_residuals_of_a_handful_of_rows():
    text = residuals(np.array([1.0, -2.0, 3.0]), np.arange(3.0))
    assert text == (
        "With 3 rows no pattern could be told from chance. "
        "Half of the predictions are off by less than 2.00, the worst by 3.00."
    )


@pytest.mark.parametrize(
    ("estimate", "half", "text"),
    [
        ([2.0, -1.0, 0.1], [1.0, 0.5, 1.0],
         "Two of the three coefficients have 95 % intervals that exclude zero: x0 (upward); x1 (downward)."),
        ([2.0, 0.1], [1.0, 1.0],
         "One of the two coefficients has a 95 % interval that excludes zero: x0 (upward)."),
        ([2.0, 3.0], [1.0, 1.0],
         "Both coefficients have 95 % intervals that exclude zero: x0 and x1 (upward)."),
        ([2.0] * 3, [1.0] * 3,
         "All three coefficients have 95 % intervals that exclude zero: x0, x1 and x2 (upward)."),
        ([0.1, 0.1], [1.0, 1.0], "Neither of the two coefficients has a 95 % interval that excludes zero."),
        ([0.1] * 3, [1.0] * 3, "None of the three coefficients has a 95 % interval that excludes zero."),
        ([0.1], [1.0], "The one coefficient has a 95 % interval that includes zero."),
        ([2.0], [1.0], "The one coefficient has a 95 % interval that excludes zero: x0 (upward)."),
    ],
)  # fmt: skip
def test_coefficients(estimate, half, text):
    fact = effects(estimate, half)
    assert sentences.coefficients(fact, best="bayes", names=fact.names, shown=len(estimate)) == text


def test_many_coefficients_are_put_in_proportion():
    fact = effects([5.0] * 12 + [0.0] * 288, [1.0] * 300)
    text = sentences.coefficients(fact, best="bayes", names=fact.names, shown=20)
    assert "x7 and 4 more (upward)" in text
    assert "If no column mattered, about 15 would by chance." in text
    assert text.endswith("Shown are the 20 that are largest compared with their uncertainty.")


def test_coefficients_of_another_model_and_those_that_nothing_determines():
    fact = effects([5.0, 0.1, 2.0], [1.0, 1.0, np.inf], "ridge")
    assert sentences.coefficients(fact, best="polynomial", names=fact.names, shown=2) == (
        "In ridge, one of the three coefficients has a 95 % interval that excludes zero: x0 (upward). "
        "One coefficient is not determined by these rows."
    )


def test_inputs_are_ranked_by_estimate_over_uncertainty_not_by_size():
    # A rare level with a large step and t = 2, beside a column with t = 13.
    fact = effects([40.0, -3.0, 2.0], [39.0, 0.45, 0.5])
    say = {"best": "bayes", "target": "y", "names": ["rare", "dose", "age"]}
    assert sentences.inputs(fact, **say).startswith("What matters most: y rises with age and falls with dose,")


def test_a_headline_says_which_inputs_it_can_not_speak_of():
    fact = effects([1.0, 2.0, 3.0], [0.1, np.inf, np.inf])
    assert sentences.inputs(fact, best="bayes", target="y", names=["b", "a", "twice a"]) == (
        "What matters most: y rises with b, the other inputs held fixed. "
        "These rows don't determine the coefficients of a and twice a."
    )


def test_inputs_with_their_direction():
    fact = effects([1.0, -5.0, 3.0, 9.0], [0.1, 0.1, 0.1, 20.0])
    say = {"best": "bayes", "target": "y", "names": fact.names}
    assert sentences.inputs(fact, **say) == (
        "What matters most: y rises with x2 and x0 and falls with x1, the other inputs held fixed."
    )
    assert sentences.inputs(effects([2.0], [1.0], "ridge"), **say | {"names": ["x0"]}) == (
        "What matters in ridge: y rises with x0."
    )
    assert "can be told from zero" in sentences.inputs(effects([1.0], [2.0]), **say)


def test_agreement():
    assert sentences.agreement(0.484, coverage(95, 100), target="y") == (
        "The predictions account for 48 % of the variance of y in rows that the model had not seen. "
        "5 of the 100 bars miss the diagonal; 95 % intervals should miss about 5."
    )
    assert "account for none of" in sentences.agreement(-0.2, coverage(95, 100), target="y")
    assert sentences.agreement(None, coverage(5, 5), target="y").startswith("None of the 5 bars miss")
    assert "1 of the 20 bars misses" in sentences.agreement(None, coverage(19, 20), target="y")


def test_lead_and_reference():
    assert "more than chance alone would explain" in sentences.lead("a", "b", Gap(0.3, 0.1))
    assert "chance alone could explain it" in sentences.lead("a", "b", Gap(0.1, 0.1))
    assert sentences.lead("a", "b", Gap(0.0, 0.0)) == "a and b give the same predictions."
    assert "not finite" in sentences.lead("a", "b", Gap(np.inf, np.nan))
    assert "2.7 times as probable" in sentences.reference(1.0)
    assert "No model's log score beats" in sentences.reference(-0.5)
    assert sentences.reference(np.inf) == ""


def test_the_furthest_of_normal_rows():
    # Of 1000 normal values the median of the largest size is about 3.4; one in 1000 exceeds 3.29.
    assert "about 3.3 standard deviations off; here it is 4.2." in sentences.surprise(4.2, 1000)
