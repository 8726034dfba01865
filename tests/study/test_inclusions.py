"""The probability that each input matters, as numbers."""

import numpy as np
import pandas as pd
import pytest

from credo.sparse import SpikeSlabClassifier, SpikeSlabRegressor
from credo.study.report._inclusions import inclusions as shown
from credo.study.study import inclusions
from credo.tables import Preparation, TableModel


def test_levels_words_and_numbers_are_those_of_the_reports_figure():
    rng = np.random.default_rng(0)
    said = ["win", "prize", "lunch", "noon", "rain", "hail"]
    text = [f"{' '.join(rng.choice(said, size=3, replace=False))} no {i}" for i in range(80)]
    frame = pd.DataFrame({"text": text, "soil": rng.choice(["sand", "clay", "peat"], size=80)})
    frame["dose"] = rng.normal(size=80)
    y = np.where([("win" in words) ^ (rng.uniform() < 0.05) for words in text], "spam", "ham")
    model = TableModel(Preparation(standardize=True), SpikeSlabClassifier("beta-binomial"), "y")
    with pytest.warns(UserWarning, match="linearly dependent"):
        model.fit(frame, y)
    found, figure = inclusions({"spike-slab": model}), shown({"spike-slab": model}, len(frame))
    assert [each["name"] for each in found] == [figure.names[i] for i in figure.order]
    assert [each["inclusion_probability"] for each in found] == pytest.approx(figure.values[figure.order])
    assert {"soil", "dose"} < {each["name"] for each in found} and "win" in found[0]["name"]


def test_copies_share_a_probability_and_have_that_of_the_reports_bar_together():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["rain", "wind", "dust"]).assign(flat=1.0)
    frame["rain_mm"] = 3 + 25.4 * frame["rain"]
    y = frame["rain"] - 0.3 * frame["wind"] + rng.normal(size=60)
    for kind, target in ((SpikeSlabRegressor("beta-binomial", slab="g"), y), (SpikeSlabClassifier(), y > 0)):
        model = TableModel(Preparation(standardize=True), kind, "y")
        with pytest.warns(UserWarning, match="are identical up to offset"):
            model.fit(frame, target.to_numpy())
        found, figure = inclusions({"spike-slab": model}), shown({"spike-slab": model}, len(frame))
        own, together = (
            {each["name"]: each[key] for each in found} for key in ("inclusion_probability", "with_copies")
        )
        assert together["rain"] == together["rain_mm"] == pytest.approx(figure.value("rain"))
        assert together["rain"] > own["rain"] + 0.2 and own["rain"] == pytest.approx(own["rain_mm"])
        assert together["wind"] == own["wind"] == pytest.approx(figure.value("wind"))
        assert list(together.values()) == sorted(together.values(), reverse=True)
