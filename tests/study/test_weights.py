"""Weights of the rows of a table."""

import numpy as np
import pandas as pd
import pytest

from credo.study import dataset


@pytest.fixture(scope="module")
def doses():
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    return pd.DataFrame({"x": x, "copies": rng.integers(0, 4, size=60), "y": 2 * x + rng.normal(size=60)})


def test_a_frequency_repeats_its_row(analyze):
    """A table of all combinations, whose rows say nothing unless they count as often as they occurred."""
    cells = pd.MultiIndex.from_product([["a", "b"], ["left", "right"], ["yes", "no"]], names=["arm", "side", "cured"])
    table = pd.DataFrame(index=cells).reset_index().assign(n=[40, 10, 35, 15, 12, 38, 5, 45])
    study = analyze(table, "cured", models=["logistic"], weight="n", time=None)
    assert len(study.data.y) == 200 and study.data.weight is None
    assert study.comparison["logistic"].held_out["accuracy"] == pytest.approx(0.79, abs=0.01)
    assert any(
        "Frequency weights: each row counts as many times as 'n' says, 200 rows" in note.text for note in study.notes
    )
    assert study.predict(table).shape[0] == 8 and set(study.held_out()["row"]) == set(range(1, 9))


def test_other_weights_are_those_of_the_fits(analyze, doses):
    half = doses.assign(copies=doses["copies"] / 2)
    study = analyze(half, "y", models=["bayes", "polynomial"], weight="copies", time=None)
    assert "copies" not in study.data.preparation.sources() and (study.data.weight > 0).all()
    assert any("Precision weights: 'copies'" in note.text for note in study.notes)
    # The mean of a fit doesn't depend on the unit of the weights, apart from the prior.
    repeated = analyze(doses, "y", models=["bayes", "polynomial"], weight="copies", time=None)
    rows = pd.DataFrame({"x": [-1.0, 0.5]})
    for name in ("bayes", "polynomial"):
        np.testing.assert_allclose(study[name].predict(rows), repeated[name].predict(rows), atol=0.1)


def test_bad_weights_are_refused(doses):
    for values, message in ((-1.0, "must be a number that is not negative; see row 1"), (0.0, "all weights in 'w'")):
        with pytest.raises(ValueError, match=message):
            dataset(doses.assign(w=values), "y", weight="w")
    with pytest.raises(ValueError, match="is the target"):
        dataset(doses, "y", weight="y")


def test_rows_of_weight_zero_leave_the_others_where_they_are(analyze, doses):
    named = doses.set_index(np.array([f"r{i}" for i in range(60)]))
    found = analyze(named, "y", models=["linear"], weight="copies", time=None).held_out()
    found = found[~found.index.duplicated()]
    assert (doses["copies"] == 0).any() and set(found.index) == set(named.index[named["copies"] > 0])
    np.testing.assert_array_equal(found["actual"], named.loc[found.index, "y"])
    np.testing.assert_array_equal(found["row"], [int(name[1:]) + 1 for name in found.index])
