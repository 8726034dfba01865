"""The fuzzers for a moment; `make fuzz` runs them for longer."""

import os
import signal
from collections import Counter
from time import sleep

import numpy as np
import pytest
from fuzz import tables
from fuzz.run import bounded, run


def test_generated_tables_are_read_back_or_refused_in_words():
    counts, failures = run(tables.one, seconds=2.0, seed=0, most=300)
    assert counts.total() > 10
    assert not failures, failures[0]


def _hostile(rng):
    """An input that hangs, one that ends the process, and many that don't."""
    kind = rng.integers(30)
    if kind == 0:
        sleep(60)
    if kind == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    sleep(0.01)
    return Counter(fine=1)


@pytest.mark.skipif(os.name == "nt", reason="the fuzzers fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_an_input_that_hangs_or_crashes_is_named_and_the_next_one_tried():
    counts, failures = bounded(_hostile, seconds=2.0, seed=1, limit=0.3)
    assert {"longer than 0.3 s", "the process ended with -9"} == {wrong for _, wrong in failures}
    assert counts.total() > 30
    kinds = {number: np.random.default_rng([1, number]).integers(30) for number, _ in failures}
    assert set(kinds.values()) == {0, 1}


@pytest.mark.skipif(os.name == "nt", reason="signals and limits of files are those of Unix")
def test_a_run_that_is_stopped_leaves_whole_files():
    from fuzz import commands

    counts, failures = run(commands.one, seconds=5.0, seed=0, most=2)
    assert not failures, failures[0]
    assert counts.total() > 0
