"""Small tables with a known truth, and the call without its progress display."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

import credo


@pytest.fixture(scope="session")
def analyze():
    """`credo.analyze` in three folds, without a display."""
    return partial(credo.analyze, folds=3, progress=False)


@pytest.fixture(scope="session")
def houses():
    """Prices that are linear in two numbers and a colour, with noise of standard deviation 5."""
    rng = np.random.default_rng(2)
    size, age = rng.normal(50, 10, size=90), rng.uniform(1, 30, size=90)
    colour = np.array(["red", "green", "blue"])[rng.integers(3, size=90)]
    price = 3 * size - 2 * age + 20 * (colour == "red") + rng.normal(0, 5, size=90)
    return pd.DataFrame({"size": size, "age": age, "colour": colour, "price": price}).round(3)
