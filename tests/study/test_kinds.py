"""Kinds of columns that the user corrects."""

import numpy as np
import pandas as pd
import pytest

from credo.study import dataset, run


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    code = rng.integers(0, 4, size=80)
    effect = np.array([0.0, 5.0, -3.0, 1.0])[code]
    return pd.DataFrame({"code": code, "other": rng.normal(size=80), "y": effect + 0.1 * rng.normal(size=80)})


def test_a_code_that_is_said_to_be_a_category_has_a_column_for_each_level(analyze, frame):
    studies = [analyze(frame, "y", models=["linear"], kinds=kinds) for kinds in (None, {"code": "categorical"})]
    rmse = [study.comparison["linear"].held_out["rmse"] for study in studies]
    assert rmse[1] < 0.15 < 2.0 < rmse[0]
    assert [column.kind for column in studies[1].data.preparation.columns_] == ["categorical", "numeric"]


def test_a_column_can_be_left_out_and_unknown_names_are_refused(frame):
    data = dataset(frame, "y", kinds={"other": "identifier", "y": "categorical"})
    assert list(data.frame.columns) == ["code"] and data.task == "regression"
    assert "Left out as requested: 'other'." in [note.text for note in data.notes]
    with pytest.raises(ValueError, match="no column 'cod' "):
        dataset(frame, "y", kinds={"cod": "categorical"})


def test_progress_has_the_finished_models(frame):
    states = []
    run(dataset(frame, "y"), models=["linear", "ridge"], report=states.append)
    assert next(list(state.models) for state in states if state.running == "ridge") == ["baseline", "linear"]
    assert states[-1].models["ridge"].predict(frame).shape == (80,)
