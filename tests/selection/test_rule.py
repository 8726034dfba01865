"""Which model is selected: laws of the rule, on predictions made by hand."""

import numpy as np
import pytest

from credo.distributions import Bernoulli, Categorical, Normal, StudentT
from credo.selection import HeldOut
from credo.selection.rule import BASELINE, Candidate, select


def normal(name, y, mean, std=1.0):
    held = HeldOut(y, Normal(np.broadcast_to(mean, y.shape), np.broadcast_to(std, y.shape)))
    return Candidate(name, held.log_score, held.squared_error)


def scored(name, log_score, error=None):
    """A candidate with these scores; without errors they are equal for all."""
    log_score = np.asarray(log_score, dtype=float)
    return Candidate(name, log_score, np.zeros(len(log_score)) if error is None else np.asarray(error, dtype=float))


@pytest.fixture
def truth():
    rng = np.random.default_rng(0)
    signal = 3.0 * rng.normal(size=200)
    return signal, signal + rng.normal(size=200)


def guess(y):
    return normal(BASELINE, y, y.mean(), y.std())


# Zero mean, standard deviation s, so that the standard error of the mean of 25 such values is s/5.
SHIFTS = np.tile([-1.0, 1.0, 0.0, -1.0, 1.0], 5)
ERROR = SHIFTS.std(ddof=1) / 5


@pytest.mark.parametrize("score", ["log_score", "error"])
@pytest.mark.parametrize(("times", "tied"), [(0.9, ["simple", "rich"]), (1.1, ["rich"])])
def test_a_tie_ends_at_one_standard_error_of_either_score(score, times, tied):
    worse = SHIFTS + times * ERROR
    best, slightly = scored("rich", np.zeros(25)), SHIFTS + 0.1 * ERROR
    simple = scored("simple", -worse, slightly) if score == "log_score" else scored("simple", -slightly, worse)
    found = select([simple, best])
    assert list(found.tied) == tied and found.name == tied[0]


def test_the_simplest_of_the_tied_models_is_selected_wherever_it_is_scored(truth):
    signal, y = truth
    other = signal + 0.05 * np.random.default_rng(2).normal(size=200)
    found = select([guess(y), normal("simple", y, other), normal("rich", y, signal)])
    assert found.reason == "Selected: simple. Two models are statistically tied (simple and rich); it is the simplest."
    # The order decides, not the scores.
    assert select([guess(y), normal("rich", y, signal), normal("simple", y, other)]).name == "rich"


def test_the_best_is_selected_if_no_simpler_model_is_tied(truth):
    signal, y = truth
    found = select([guess(y), normal("line", y, 0.8 * signal), normal("curve", y, signal)])
    assert (found.name, found.tied) == ("curve", ["curve"])
    assert found.why == "It has the best held-out log score, and no simpler model is within one standard error of it."
    # A tied model that is more complex doesn't matter.
    late = select([guess(y), normal("line", y, signal), normal("curve", y, signal)])
    assert (late.name, late.tied) == ("line", ["line", "curve"])


def test_the_baseline_is_a_candidate_like_any_other(truth):
    signal, y = truth
    found = select([guess(y), normal("wrong", y, -signal, 6.0), normal("wild", y, 10 * signal, 30.0)])
    assert found.name == BASELINE and "best held-out log score" in found.why
    rng = np.random.default_rng(1)
    noise = rng.normal(size=60)
    # A tiny share of the target: better by far less than the differences between rows.
    lucky = normal("lucky", noise, 0.03 * noise + 0.3 * (rng.random(60) - 0.5), noise.std())
    assert lucky.log_score.mean() > guess(noise).log_score.mean()
    found = select([guess(noise), lucky])
    assert found.name == BASELINE and list(found.tied) == [BASELINE, "lucky"]
    assert found.why == (
        "No model predicts better than the baseline, which uses no input, by more than one standard error."
    )
    # It isn't preferred to a lead that is small but clear.
    y = rng.normal(size=5000)
    assert select([guess(y), normal("little", y, 0.05 * y, y.std())]).name == "little"


def test_a_model_with_a_much_larger_error_is_not_tied_although_few_rows_decide_its_log_score(truth):
    """One row of very low density: the standard error of the log score is about as large as the difference."""
    signal, y = truth
    mean = signal + 0.7 * np.random.default_rng(5).normal(size=200)
    mean[0] = y[0] + 30.0
    rough = normal("rough", y, mean, 1.2)
    best = normal("best", y, signal)
    loss = best.log_score - rough.log_score
    assert loss.mean() < 1.1 * loss.std(ddof=1) / np.sqrt(200)
    assert select([guess(y), rough, best]).name == "best"


def test_a_better_error_does_not_make_up_for_a_worse_log_score(truth):
    signal, y = truth
    sure = normal("sure", y, signal, 0.3)
    rough = normal("rough", y, signal + 0.3 * np.random.default_rng(5).normal(size=200), 1.05)
    assert sure.error.mean() < rough.error.mean()
    assert select([guess(y), sure, rough]).name == "rough"


def test_impossible_outcomes_and_infinite_errors():
    impossible = [*[0.5] * 19, -np.inf]
    found = select([scored("sure", impossible), scored("plain", np.zeros(20))])
    assert (found.name, found.tied) == ("plain", ["plain"])
    exploded = scored("exploded", np.full(20, 0.1), [*[1.0] * 19, np.inf])
    line = scored("line", np.zeros(20), np.ones(20))
    assert select([exploded, line]).name == "exploded" and select([line, exploded]).name == "exploded"
    # A model with the better log score and an infinite error isn't tied with the best.
    assert select([scored("exploded", np.zeros(20), [*[1.0] * 19, np.inf]), scored("line", np.full(20, 0.1))]).tied == [
        "line"
    ]


def test_a_single_model_and_a_single_row():
    assert select([scored("only", [0.0])]).why == "It is the only model."
    # One row has no standard error, so that any difference counts.
    assert select([scored("a", [0.0]), scored("b", [0.1])]).tied == ["b"]


def test_errors_of_classes_are_brier_scores_of_rows():
    y = np.array(["a", "b", "c", "a"])
    probs = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3]])
    found = HeldOut(y, Categorical(probs, classes=["a", "b", "c"]))
    actual = np.eye(3)[[0, 1, 2, 0]]
    np.testing.assert_allclose(found.squared_error, ((probs - actual) ** 2).sum(axis=1))
    np.testing.assert_allclose(found.log_score, np.log((probs * actual).sum(axis=1)))
    two = HeldOut(np.array([0, 1]), Bernoulli([0.2, 0.6]))
    np.testing.assert_allclose(two.squared_error, [2 * 0.2**2, 2 * 0.4**2])


def test_the_error_of_a_distribution_without_mean_is_that_of_its_median():
    found = HeldOut(np.array([1.0, 5.0]), StudentT([1.0, 1.0], [0.0, 2.0], 1.0))
    np.testing.assert_allclose(found.squared_error, [1.0, 9.0])


def test_five_tied_models_are_counted_and_the_best_is_named():
    found = select([scored(name, np.arange(9.0) % 3 if name == "d" else np.full(9, 0.9)) for name in "abcde"])
    assert found.why == "Five models are statistically tied; a is the simplest, and d has the best score."
