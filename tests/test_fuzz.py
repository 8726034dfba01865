"""The fuzzers for a moment; `make fuzz` runs them for longer."""

import os

import pytest
from fuzz import tables
from fuzz.run import run


def test_generated_tables_are_read_back_or_refused_in_words():
    counts, failures = run(tables.one, seconds=5.0, seed=0, most=300)
    assert counts.total() > 10
    assert not failures, failures[0]


@pytest.mark.skipif(os.name == "nt", reason="signals and limits of files are those of Unix")
def test_a_run_that_is_stopped_leaves_whole_files():
    from fuzz import commands

    counts, failures = run(commands.one, seconds=5.0, seed=0, most=2)
    assert not failures, failures[0]
    assert counts.total() > 0
