"""Fisher scoring: Newton steps with an expected curvature."""

import numpy as np
import pytest

from credo.core.learning.ascent import fisher_scoring, maximize, refine

CURVATURE = np.array([[40.0, 12.0, 0.0], [12.0, 9.0, 1.0], [0.0, 1.0, 300.0]])
PEAK = np.array([0.3, -0.8, 1.1])


class Bowl:
    """−½ dᵀAd − Σ d⁴ around a peak, with an information that is off by a factor."""

    def __init__(self, factor=1.0, quartic=0.0):
        self.factor, self.quartic, self.n_calls = factor, quartic, 0

    def __call__(self, vector):
        self.n_calls += 1
        d = vector - PEAK
        value = 7.0 - 0.5 * d @ CURVATURE @ d - self.quartic * np.sum(d**4)
        return value, -CURVATURE @ d - 4 * self.quartic * d**3

    def information(self, vector):
        return self.factor * CURVATURE


def test_one_step_is_enough_where_the_information_is_the_curvature():
    objective = Bowl()
    end = refine(objective, np.zeros(3), tolerance=1e-9, max_evaluations=50)
    np.testing.assert_allclose(end.vector, PEAK, atol=1e-12)
    assert end.converged and end.n_evaluations == objective.n_calls == 2 and end.inverse is not None


# Information that is too small makes steps too long.
@pytest.mark.parametrize("factor", [0.02, 0.3, 5.0])
def test_a_wrong_information_is_corrected_on_the_way(factor):
    end = refine(Bowl(factor, quartic=20.0), np.zeros(3), tolerance=1e-10, max_evaluations=100)
    np.testing.assert_allclose(end.vector, PEAK, atol=1e-4)
    assert end.converged and end.value == pytest.approx(7.0, abs=1e-8)


def test_where_scoring_fails_lbfgs_goes_on():
    """The quadrant beyond the start can't be evaluated, except very close to it."""

    def fenced(vector):
        return Bowl()(vector) if np.abs(vector).max() < 1e-5 or vector[2] < 0 else (-np.inf, np.zeros(3))

    end = fisher_scoring(fenced, np.zeros(3), np.linalg.inv(CURVATURE), tolerance=1e-9, max_evaluations=50)
    assert not end.converged and not end.limited

    class Fenced(Bowl):
        def __call__(self, vector):
            self.n_calls += 1
            return fenced(vector)

    lower = refine(Fenced(), np.zeros(3), tolerance=1e-9, max_evaluations=200)
    assert lower.value > end.value and lower.n_evaluations > end.n_evaluations


def test_evaluations_are_limited():
    objective = Bowl(30.0, quartic=20.0)
    end = refine(objective, np.zeros(3), tolerance=1e-12, max_evaluations=3)
    assert end.limited and not end.converged and objective.n_calls == end.n_evaluations == 3
    start = fisher_scoring(lambda vector: (-np.inf, vector), np.zeros(3), np.eye(3), tolerance=1e-9, max_evaluations=3)
    assert not start.converged and start.n_evaluations == 1


def test_without_information_it_is_lbfgs():
    class Silent(Bowl):
        def information(self, vector):
            return None

    found = refine(Silent(quartic=3.0), np.zeros(3), tolerance=1e-10, max_evaluations=100)
    same = maximize(Bowl(quartic=3.0), np.zeros(3), tolerance=1e-10, max_evaluations=100)
    assert found.n_evaluations == same.n_evaluations and np.array_equal(found.vector, same.vector)
