"""Maximizing: the right maximum, points that can't be evaluated, subsets of the rows, limits, interrupts."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from credo.core.learning.ascent import Maximum, maximize
from credo.core.learning.hyperparameters import _resumed_from, search


def bimodal(vector):
    """Two maxima, 1 at −2 and 2 at 3."""
    heights, places = np.array([1.0, 2.0]), np.array([-2.0, 3.0])
    parts = heights * np.exp(-0.5 * (vector[0] - places) ** 2)
    return float(parts.sum()), np.array([float(np.sum(parts * (places - vector[0])))])


def test_one_start_finds_a_local_maximum_and_several_the_global_one():
    low = maximize(bimodal, np.array([-2.5]), tolerance=1e-12, max_evaluations=100)
    assert low.vector[0] == pytest.approx(-2.0, abs=1e-3)
    found = search(lambda start: bimodal, [np.array([-2.5]), np.array([2.0])])
    assert found.best.vector[0] == pytest.approx(3.0, abs=1e-3) and found.best.converged
    assert [round(gap, 2) for gap in found.gaps] == [1.0]


def test_a_subset_chooses_the_start():
    calls = []

    def all_rows(vector):
        calls.append(vector)
        return bimodal(vector)

    found = search(lambda start: all_rows, [np.array([-2.5]), np.array([2.0])], subsets=[(lambda start: bimodal, 1.0)])
    assert found.best.vector[0] == pytest.approx(3.0, abs=1e-3)
    assert all(call[0] > 2.5 for call in calls)


def test_the_curvature_of_a_subset_makes_a_narrow_ridge_easy():
    """Curvatures 1 and 10⁴ at 45°: without the metric L-BFGS needs many more steps."""
    turn = np.array([[1.0, 1.0], [-1.0, 1.0]]) / np.sqrt(2)
    H = turn @ np.diag([1.0, 1e4]) @ turn.T

    def ridge(vector):
        gap = vector - 1.0
        return -0.5 * float(gap @ H @ gap) - 0.1 * float((gap**4).sum()), -H @ gap - 0.4 * gap**3

    def tenth(vector):
        value, slope = ridge(vector)
        return 0.1 * value, 0.1 * slope

    start = [np.array([0.0, 0.3])]
    preconditioned = search(lambda start: ridge, start, subsets=[(lambda start: tenth, 10.0)])
    plain = maximize(ridge, start[0], tolerance=1e-9, max_evaluations=200)
    np.testing.assert_allclose(preconditioned.best.vector, 1.0, atol=1e-4)
    assert preconditioned.best.n_evaluations < plain.n_evaluations


def test_points_that_cannot_be_evaluated_are_avoided():
    def partial(vector):
        if vector[0] > 1.5:
            return -np.inf, np.zeros(1)
        return -((vector[0] - 1.0) ** 2), np.array([-2 * (vector[0] - 1.0)])

    end = maximize(partial, np.array([-3.0]), tolerance=1e-12, max_evaluations=100)
    assert end.vector[0] == pytest.approx(1.0, abs=1e-4)


def test_the_trace_leads_to_the_maximum():
    end = maximize(bimodal, np.array([2.0]), tolerance=1e-12, max_evaluations=100)
    assert end.trace[0][0] == 2.0 and end.trace[-1][0] == pytest.approx(3.0, abs=1e-3)


def test_a_plateau_of_the_subset_does_not_hide_the_maximum():
    """A few rows move a parameter to where the gradient of all rows vanishes; the search on all rows starts nearer."""

    def few(vector):
        x = vector[0]
        return 0.01 * np.tanh(x - 2.0), np.array([0.01 / np.cosh(x - 2.0) ** 2])

    def many(vector):
        bump = np.exp(-0.5 * (vector[0] - 1.0) ** 2)
        return bump, np.array([-(vector[0] - 1.0) * bump])

    strayed = search(lambda start: few, [np.array([0.0])], tolerance=1e-12).best.vector
    assert strayed[0] > 4.0 and abs(many(strayed)[1][0]) < 0.05
    found = search(lambda start: many, [np.array([0.0])], subsets=[(lambda start: few, 1.0)])
    assert found.best.vector[0] == pytest.approx(1.0, abs=1e-3)


def test_a_valley_beside_a_plateau_does_not_hide_the_maximum():
    """The first subset is flat, and all others have a maximum of 300 at 0.5 behind a valley at 4."""

    def hill(vector):
        u = vector[0]
        high, low = 300.0 * np.exp(-2 * (u - 0.5) ** 2), -5.0 * np.exp(-((u - 4.0) ** 2))
        return high + low, np.array([-4 * (u - 0.5) * high - 2 * (u - 4.0) * low])

    def flat(vector):
        return -1e-4 * (vector[0] - 9.0) ** 2, -2e-4 * (vector - 9.0)

    # So that moving back to where the gradient is seen costs more than is allowed.
    strayed = [Maximum(np.array([9.0]), 1.0, 1, True, (np.array([9.0]),), np.zeros(1))]
    found = search(lambda _: hill, [np.zeros(1)], subsets=[(lambda _: flat, 9.0), (lambda _: hill, 3.0)], ends=strayed)
    assert found.best.vector[0] == pytest.approx(0.5, abs=1e-3)


def test_a_small_gradient_on_a_plateau_resumes_the_search():
    """Value 100·s·e^(−s) with s = e^(−2u): flat at u = 9, where its slope of 10⁻⁶ tells of 0.6 nats at 2.5."""
    s = np.exp(-18.0)
    slope = np.array([-200.0 * s * (1 - s) * np.exp(-s)])
    strayed = Maximum(np.array([9.0]), 100.0 * s, 1, True, slope=slope)
    assert abs(slope[0]) < 1e-5
    assert _resumed_from(strayed, np.zeros(1))[0] == pytest.approx(2.5)
    # Outward, or of too little worth, it is left alone.
    for other in (-slope, 1e-3 * slope):
        assert _resumed_from(Maximum(np.array([9.0]), 0.0, 1, True, slope=other), np.zeros(1)) is None


def rosenbrock(vector):
    """A curved valley, in which L-BFGS takes dozens of evaluations."""
    x, y = vector
    value = -((1 - x) ** 2) - 100 * (y - x * x) ** 2
    return value, np.array([2 * (1 - x) + 400 * x * (y - x * x), -200 * (y - x * x)])


def test_a_search_ends_at_its_limit():
    end = maximize(rosenbrock, np.array([-1.2, 1.0]), tolerance=1e-12, max_evaluations=10)
    # A line search that has begun is finished.
    assert end.limited and not end.converged and end.n_evaluations <= 20
    assert not maximize(rosenbrock, np.array([-1.2, 1.0]), tolerance=1e-12, max_evaluations=200).limited


def test_the_limit_holds_for_all_evaluations_on_all_rows():
    calls = []

    def all_rows(vector):
        calls.append(vector)
        return rosenbrock(vector)

    found = search(
        lambda start: all_rows, [np.array([-1.2, 1.0])], subsets=[(lambda start: bowl, 1.0)], max_evaluations=10
    )
    assert len(calls) <= 20 and found.best.limited


def bowl(vector):
    return -0.5 * float(vector @ vector), -vector


def test_a_search_that_gains_only_rounding_errors_ends():
    """Rounding errors of 10⁻³ around a value of 10⁴: no improvement can be told from them."""
    rng = np.random.default_rng(0)

    def rough(vector):
        value = 1e4 - 0.5 * float(vector @ vector) + 1e-3 * rng.normal()
        return value, -vector + 0.1 * rng.normal(size=len(vector))

    end = maximize(rough, np.full(8, 3.0), tolerance=1e-14, max_evaluations=500)
    assert end.n_evaluations < 60 and end.value > 1e4 - 1.0


def test_larger_subsets_come_between_the_first_and_all_rows():
    calls = []

    def counted(name, center):
        def objective(vector):
            calls.append(name)
            return -0.5 * float((vector - center) @ (vector - center)), center - vector

        return lambda start: objective

    stages = [(counted("few", 1.0), 9.0), (counted("more", 2.0), 3.0)]
    found = search(counted("all", 3.0), [np.zeros(2)], subsets=stages)
    assert list(dict.fromkeys(calls)) == ["few", "more", "all"]
    np.testing.assert_allclose(found.best.vector, 3.0, atol=1e-3)


INTERRUPTED = """
import signal, sys, time
import numpy as np
from credo.core.learning.hyperparameters import search

# Background jobs inherit a SIGINT that is ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)

def slow(vector):
    print("evaluated", flush=True)
    time.sleep(0.4)
    x, y = vector
    return -((1 - x) ** 2) - 100 * (y - x * x) ** 2, np.array([2 * (1 - x) + 400 * x * (y - x * x), -200 * (y - x * x)])

try:
    search(lambda start: slow, [np.array([-1.2, 1.0])] * 40, small=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(3)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_an_interrupt_ends_a_search_at_once():
    with subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "evaluated\n"
        process.send_signal(signal.SIGINT)
        start = time.perf_counter()
        output, _ = process.communicate(timeout=30)
        assert process.returncode == 3 and output.endswith("interrupted\n")
        # The run that was interrupted would need some ten seconds more.
        assert time.perf_counter() - start < 3.0


def test_an_objective_that_depends_on_its_start_is_made_again_where_the_search_ended():
    """Each bowl lies halfway between its start and 8, and the gain of a further round decreases."""
    starts = []

    def factory(start):
        starts.append(start)
        center = 0.5 * (start + 8.0)
        return lambda vector: (
            100.0 * float(center[0]) - float((vector - center) @ (vector - center)),
            2 * (center - vector),
        )

    found = search(factory, [np.zeros(1)], rounds=3)
    np.testing.assert_allclose(np.ravel(starts), [0.0, 4.0, 6.0], atol=1e-6)
    np.testing.assert_allclose(found.best.vector, 7.0, atol=1e-6)
