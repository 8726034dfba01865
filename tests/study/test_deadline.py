"""Ending a block of Python when its time is up."""

import threading
from time import monotonic, sleep

import pytest

from credo.study._deadline import TimeUp, until


def busy(seconds):
    """Work in small steps of Python."""
    end = monotonic() + seconds
    while monotonic() < end:
        sleep(0.001)


def test_a_block_that_takes_too_long_is_ended():
    start = monotonic()
    with pytest.raises(TimeUp), until(start + 0.1):
        busy(5.0)
    assert 0.09 < monotonic() - start < 1.0


def test_it_is_no_exception_that_a_model_could_swallow():
    with pytest.raises(TimeUp), until(monotonic() + 0.05):
        try:
            busy(5.0)
        except Exception:
            pytest.fail("a model that catches Exception must not go on")


@pytest.mark.parametrize("deadline", [None, 60.0])
def test_a_block_that_is_in_time_is_left_alone(deadline):
    before = threading.active_count()
    with until(None if deadline is None else monotonic() + deadline):
        busy(0.01)
    sleep(0.05)
    assert threading.active_count() <= before


def test_a_deadline_that_has_passed_ends_the_block_at_once():
    start = monotonic()
    with pytest.raises(TimeUp), until(start - 1.0):
        busy(5.0)
    assert monotonic() - start < 1.0


def test_nothing_arrives_after_the_block():
    late = 0
    for _ in range(60):
        # The block ends when its time does.
        try:
            with until(monotonic() + 0.002):
                busy(0.002)
        except TimeUp:
            late += 1
        busy(0.002)
    assert late <= 60


def test_only_the_thread_of_the_block_is_ended():
    outcomes = {}

    def work(name, allowed):
        try:
            with until(monotonic() + allowed):
                busy(0.3)
            outcomes[name] = "finished"
        except TimeUp:
            outcomes[name] = "ended"

    threads = [threading.Thread(target=work, args=each) for each in (("short", 0.05), ("long", 30.0))]
    for thread in threads:
        thread.start()
    busy(0.4)
    for thread in threads:
        thread.join()
    assert outcomes == {"short": "ended", "long": "finished"}


def test_errors_of_the_block_pass_through():
    with pytest.raises(KeyError), until(monotonic() + 60.0):
        raise KeyError
