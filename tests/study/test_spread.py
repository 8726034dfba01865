"""When a study offers a Gaussian process with varying noise, and what it gains."""

import numpy as np
import pandas as pd
import pytest

from credo import analyze
from credo.study.checks import spread_varies


def table(rng, n, *, varies):
    x = rng.uniform(0, 10, size=(n, 2))
    std = 0.05 + 0.5 * (x[:, 1] > 6) if varies else 0.3
    return x, np.sin(x[:, 0]) + std * rng.normal(size=n)


@pytest.mark.parametrize(("varies", "least", "most"), [(True, 24, 30), (False, 0, 3)])
def test_it_is_noticed_where_the_spread_varies(varies, least, most):
    rng = np.random.default_rng(0)
    found = sum(spread_varies(*table(rng, 250, varies=varies)) for _ in range(30))
    assert least <= found <= most


def test_nothing_is_said_of_few_rows_constants_and_copies():
    rng = np.random.default_rng(0)
    x, y = table(rng, 50, varies=True)
    assert not spread_varies(x, y)
    assert not spread_varies(np.ones((100, 1)), np.arange(100.0))
    assert not spread_varies(rng.normal(size=(100, 2)), np.ones(100))
    assert not spread_varies(np.repeat(np.arange(10.0), 10)[:, None], np.repeat(np.arange(10.0), 10))


def test_a_study_offers_it_and_it_wins():
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 10, size=90)
    frame = pd.DataFrame({"x": x, "y": np.sin(x) + (0.05 + 0.6 * (x > 5)) * rng.normal(size=90)})
    assert spread_varies(frame[["x"]].to_numpy(), frame["y"].to_numpy())
    study = analyze(frame, "y", models=["gp", "gp-heteroscedastic"], folds=2, time=None, progress=False)
    scores = {line["name"]: line["log_score"] for line in study.comparison.records()}
    assert scores["gp-heteroscedastic"] > scores["gp"] + 0.2
    assert study.selected == "gp-heteroscedastic"
