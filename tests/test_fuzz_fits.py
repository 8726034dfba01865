"""A short run of the fuzzer of fits, and seeds that once found something."""

import numpy as np
import pytest
from fuzz.fits import attempt, main, problem

# The models of compiled walks and of processes are left to longer runs: these take milliseconds each.
SLOW = ("GP", "SpikeSlab", "TransformedTarget", "CV")


def quick(seeds, count):
    chosen = (seed for seed in seeds if not any(part in repr(problem(seed)[0]) for part in SLOW))
    return [seed for seed, _ in zip(chosen, range(count), strict=False)]


@pytest.mark.parametrize("seed", quick(range(10**6), 150))
def test_hard_data_have_a_finite_answer_or_an_error_in_words(seed):
    outcome, name, text = attempt(seed)
    assert outcome != "wrong", f"{name}: {text}"


# A standard error of 0·∞, squares of 1e155, weights of 1e40, gaps and precisions that overflow, constant targets.
FOUND = [89, 108, 2393, 302, 386, 5000, 5093, 20094, 20265, 20322, 20815, 22825, 23959, 24021, 26190, 28403, 28920]


@pytest.mark.parametrize("seed", FOUND)
def test_what_was_found_stays_mended(seed):
    outcome, name, text = attempt(seed)
    assert outcome != "wrong", f"{name}: {text}"


def test_a_seed_is_one_problem():
    for seed in range(20):
        (model, X, y, weight), again = problem(seed), problem(seed)
        assert repr(model) == repr(again[0])
        for one, other in zip((X, y, weight), again[1:], strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.slow
def test_a_minute_finds_nothing(capsys):
    assert main(["--seconds", "60", "--seed", "7000000"]) == 0, capsys.readouterr().out
