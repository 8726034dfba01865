"""A level that the training rows don't have is predicted with more doubt than those that they have."""

import numpy as np
import pandas as pd
import pytest

from credo.tables import TableWarning


@pytest.fixture(scope="module")
def soils():
    rng = np.random.default_rng(0)
    soil = rng.choice(["sand", "clay", "peat", "loam"], 160, p=[0.4, 0.3, 0.2, 0.1])
    effect = pd.Series(soil).map({"sand": -4.0, "clay": 0.0, "peat": 3.0, "loam": 6.0})
    rain = rng.normal(size=160)
    return pd.DataFrame({"soil": soil, "rain": rain, "yield": effect + rain + rng.normal(0, 0.5, size=160)})


@pytest.mark.parametrize("name", ["linear", "bayes", "ridge", "gp", "polynomial"])
def test_the_interval_of_an_unseen_level_is_wider(analyze, soils, name):
    study = analyze(soils, "yield", models=name, time=None)
    new = pd.DataFrame({"soil": ["sand", "clay", "peat", "loam", "moon dust"], "rain": 0.0})
    with pytest.warns(TableWarning, match="'moon dust'"):
        found = study.predict(new)
    # The levels differ by a standard deviation of about 3.5, seven times that of the noise.
    assert found["std"][4] > 2 * found["std"][:4].max()
    assert "soil" in found["outside"][4] and (found["outside"][:4] == "").all()


@pytest.mark.parametrize("name", ["logistic", "bayes-logistic", "discriminant", "gp"])
def test_the_probabilities_of_an_unseen_level_are_less_sure(analyze, name):
    rng = np.random.default_rng(1)
    soil = rng.choice(["sand", "clay", "peat"], 180, p=[0.5, 0.3, 0.2])
    high = rng.uniform(size=180) < pd.Series(soil).map({"sand": 0.98, "clay": 0.05, "peat": 0.05}).to_numpy()
    frame = pd.DataFrame({"soil": soil, "rain": rng.normal(size=180), "crop": np.where(high, "good", "poor")})
    study = analyze(frame, "crop", models=name, time=None)
    new = pd.DataFrame({"soil": ["sand", "clay", "peat", "moon dust"], "rain": 0.0})
    with pytest.warns(TableWarning, match="'moon dust'"):
        found = study.predict(new)
    sure = found[["p(good)", "p(poor)"]].max(axis=1)
    assert sure[3] < sure[:3].min() - 0.1
    assert sure[3] < 0.8
