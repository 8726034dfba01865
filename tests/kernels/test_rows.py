"""Work that threads share: every part once, and nobody else's settings touched."""

import os
import threading

import numpy as np
import pytest

from credo.core.linalg import parallel_rows
from credo.kernels import RBF
from credo.kernels.stationary import tiles


@pytest.mark.parametrize("n_rows", [3, 1000])
def test_every_row_is_visited_once(n_rows):
    visits = np.zeros(n_rows, dtype=int)

    def loop(start, step, array):
        array[start::step] += 1
        return len(array[start::step])

    assert sum(parallel_rows(loop, n_rows, visits)) == n_rows
    assert (visits == 1).all()


def test_an_error_in_any_part_is_raised():
    def loop(start, step):
        if start == step - 1:
            raise ValueError("part of no return")

    with pytest.raises(ValueError, match="no return"):
        parallel_rows(loop, 1000)


def test_sums_have_the_same_digits_with_any_number_of_threads(monkeypatch):
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(300, 3)), rng.normal(size=(300, 300))
    together = RBF(np.ones(3)).pullback(X, W)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    np.testing.assert_array_equal(RBF(np.ones(3)).pullback(X, W), together)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system doesn't say which cores a thread may use")
def test_the_callers_cores_stay_as_they_are():
    before = os.sched_getaffinity(0)
    parallel_rows(lambda start, step: None, 1000)
    assert os.sched_getaffinity(0) == before


def test_calls_from_several_threads_do_not_mix():
    X = np.random.default_rng(1).normal(size=(400, 2))
    kernels = [RBF(scale) for scale in (0.5, 1.0, 2.0)]
    expected = [kernel.gram(X) for kernel in kernels]
    found: dict[int, np.ndarray] = {}
    threads = [threading.Thread(target=lambda i=i: found.update({i: kernels[i].gram(X)})) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(3):
        np.testing.assert_array_equal(found[i], expected[i])


def test_tiles_of_no_columns():
    assert tiles(np.empty((0, 70))).shape[1] == 0
