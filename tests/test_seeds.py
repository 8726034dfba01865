"""What `random_state` may be, and draws of one among many."""

import numpy as np
import pytest

from credo.distributions._steps import choices
from credo.seeds import generator


def test_a_generator_is_used_and_advances() -> None:
    rng = np.random.default_rng(1)
    assert generator(rng) is rng


def test_seeds_and_random_states_repeat() -> None:
    assert generator(3).random() == generator(np.int64(3)).random() == np.random.default_rng(3).random()
    assert generator(np.random.RandomState(3)).random() == generator(np.random.RandomState(3)).random()
    legacy = np.random.RandomState(3)
    assert generator(legacy).random() != generator(legacy).random()


def test_the_global_random_state_is_one_too() -> None:
    assert 0 <= generator(np.random).random() < 1
    assert generator(None).random() != generator(None).random()


@pytest.mark.parametrize("bad", ["seed", -1, 1.5])
def test_others_are_refused(bad: object) -> None:
    with pytest.raises(ValueError, match=f"a numpy Generator or a RandomState; got {bad!r}"):
        generator(bad)


def test_choices_have_their_probabilities() -> None:
    """Within five standard errors, and never an impossible one."""
    probs = np.array([[0.0, 0.2, 0.0, 0.8, 0.0], [0.5, 0.0, 0.0, 0.0, 0.5]])
    n = 10_000
    drawn = choices(probs, n, np.random.default_rng(0))
    share = np.stack([(drawn == k).mean(axis=0) for k in range(5)], axis=1)
    assert (np.abs(share - probs) <= 5 * np.sqrt(probs * (1 - probs) / n)).all()
