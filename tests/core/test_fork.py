"""A fork while other threads are at work: the child can do all that its parent can."""

import multiprocessing
import os
import threading
import warnings

import numpy as np
import pytest

from credo.core.linalg import one_blas_thread
from credo.core.linalg import threads as _threads
from credo.plots import styling as _style
from credo.sparse import Lasso

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")

N_FORKS = 15


def child_of_a_fork(work, *, seconds=20):
    """The exit code of a child that does the work; None where it doesn't end."""
    with warnings.catch_warnings():
        # Python 3.12 warns of what is tested here.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = multiprocessing.get_context("fork").Process(target=work)
        child.start()
    child.join(seconds)
    if child.is_alive():
        child.kill()
        child.join()
        return None
    return child.exitcode


def limited():
    with one_blas_thread():
        pass


def test_the_limit_of_the_blas_can_be_taken_in_every_child():
    over = threading.Event()

    def busy():
        while not over.is_set():
            limited()

    threads = [threading.Thread(target=busy) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        codes = [child_of_a_fork(limited) for _ in range(N_FORKS)]
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert codes == [0] * N_FORKS


def test_a_child_has_no_limit_that_only_other_threads_held():
    before, inside, over = _blas_threads(), threading.Event(), threading.Event()

    def hold():
        with one_blas_thread():
            inside.set()
            over.wait()

    def look():
        assert not _threads._LIMIT._holders
        assert _blas_threads() == before
        with one_blas_thread():
            assert set(_blas_threads()) == {1}
        assert _blas_threads() == before

    holder = threading.Thread(target=hold)
    holder.start()
    inside.wait()
    try:
        assert child_of_a_fork(look) == 0
    finally:
        over.set()
        holder.join()
    assert _blas_threads() == before


def test_a_child_of_a_thread_inside_the_limit_leaves_it_as_its_parent_does():
    before = _blas_threads()

    def leave():
        _threads._LIMIT.leave()
        assert _blas_threads() == before
        limited()

    with one_blas_thread():
        assert child_of_a_fork(leave) == 0
    assert _blas_threads() == before


def test_fits_in_children_end_while_the_parent_fits():
    X = np.random.default_rng(0).normal(size=(40, 5))
    y, over = X[:, 0] - X[:, 1], threading.Event()

    def fit():
        Lasso(alpha=0.01).fit(X, y)

    def busy():
        while not over.is_set():
            fit()

    fit()
    thread = threading.Thread(target=busy)
    thread.start()
    try:
        codes = [child_of_a_fork(fit) for _ in range(N_FORKS)]
    finally:
        over.set()
        thread.join()
    assert codes == [0] * N_FORKS


def test_the_style_of_figures_is_free_in_a_child():
    inside, over = threading.Event(), threading.Event()

    def hold():
        with _style.style():
            inside.set()
            over.wait()

    def draw():
        with _style.style():
            pass

    holder = threading.Thread(target=hold)
    holder.start()
    inside.wait()
    try:
        assert child_of_a_fork(draw, seconds=10) == 0
    finally:
        over.set()
        holder.join()


def _blas_threads():
    return [library.get_num_threads() for library in _threads._blas()]
