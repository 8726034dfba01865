"""What `random_state` may be, its default, and draws of one among many."""

import inspect
from importlib import import_module

import numpy as np
import pytest

import credo
from credo.core.seeds import generator
from credo.distributions._discrete import choices


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


def test_one_default_everywhere() -> None:
    """None, except in studies and explanations, which are the same each time."""
    found = {}
    for package in credo._PACKAGES:
        module = import_module(f"credo.{package}")
        for name in getattr(module, "__all__", ()):
            member = getattr(module, name)
            parts = [member, *vars(member).values()] if inspect.isclass(member) else [member]
            for part in filter(inspect.isroutine, [*parts, getattr(member, "__init__", None)]):
                try:
                    option = inspect.signature(part).parameters.get("random_state")
                except (TypeError, ValueError):
                    continue
                if option is not None and option.default is not option.empty:
                    found[f"{package}.{name}"] = option.default
    assert len(found) > 20
    fixed = {name for name, default in found.items() if default is not None}
    assert {name for name in fixed if not name.startswith("plots.")} == {"study.analyze", "metrics.shapley"}


def test_choices_have_their_probabilities() -> None:
    """Within five standard errors, and never an impossible one."""
    probs = np.array([[0.0, 0.2, 0.0, 0.8, 0.0], [0.5, 0.0, 0.0, 0.0, 0.5]])
    n = 10_000
    drawn = choices(probs, n, np.random.default_rng(0))
    share = np.stack([(drawn == k).mean(axis=0) for k in range(5)], axis=1)
    assert (np.abs(share - probs) <= 5 * np.sqrt(probs * (1 - probs) / n)).all()
