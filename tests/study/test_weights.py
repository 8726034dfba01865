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


def test_a_weight_counts_as_equal_rows(analyze, doses):
    study = analyze(doses, "y", models=["bayes", "polynomial"], weight="copies", time=None)
    assert "copies" not in study.data.preparation.sources() and (study.data.weight > 0).all()
    assert any("Rows are weighted by 'copies'" in note.text for note in study.notes)
    repeated = doses.loc[np.repeat(doses.index, doses["copies"])].drop(columns="copies")
    rows = pd.DataFrame({"x": [-1.0, 0.5]})
    for name in ("bayes", "polynomial"):
        # Standardized by the columns of the table without and with copies, which the priors notice a little.
        own = study[name].predict_dist(rows)
        other = analyze(repeated, "y", models=[name], time=None)[name].predict_dist(rows)
        np.testing.assert_allclose(own.mean, other.mean, atol=0.03)
        np.testing.assert_allclose(own.std, other.std, rtol=0.03)


def test_bad_weights_are_refused(doses):
    for values, message in ((-1.0, "must be a number that is not negative; see row 1"), (0.0, "all weights in 'w'")):
        with pytest.raises(ValueError, match=message):
            dataset(doses.assign(w=values), "y", weight="w")
    with pytest.raises(ValueError, match="is the target"):
        dataset(doses, "y", weight="y")


def test_rows_of_weight_zero_leave_the_others_where_they_are(analyze, doses):
    named = doses.set_index(np.array([f"r{i}" for i in range(60)]))
    found = analyze(named, "y", models=["linear"], weight="copies", time=None).held_out()
    assert (doses["copies"] == 0).any() and set(found.index) == set(named.index[named["copies"] > 0])
    np.testing.assert_array_equal(found["actual"], named.loc[found.index, "y"])
    np.testing.assert_array_equal(found["row"], [int(name[1:]) + 1 for name in found.index])
