"""The fuzzers for a moment; `make fuzz` runs them for longer."""

from fuzz import tables
from fuzz.run import run


def test_generated_tables_are_read_back_or_refused_in_words():
    counts, failures = run(tables.one, seconds=5.0, seed=0, most=300)
    assert counts.total() > 10
    assert not failures, failures[0]
