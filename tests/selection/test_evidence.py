"""Model probabilities are shared among models of one evidence base, and the table names the groups."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from credo.linear import BayesianLinearRegression, LinearRegression
from credo.selection import Comparison, Score, compare
from credo.selection.comparison import with_probabilities
from credo.sparse import SpikeSlabRegressor
from credo.tables import Preparation, TableModel


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 2))
    return X, X[:, 0] + rng.normal(size=30)


def test_probabilities_are_within_one_base(rows):
    models = {
        "bayes": BayesianLinearRegression("evidence", noise_precision="evidence"),
        "scaled": make_pipeline(StandardScaler(), BayesianLinearRegression("evidence", noise_precision="evidence")),
        "bic": SpikeSlabRegressor(),
        "g": SpikeSlabRegressor(slab="g"),
        "known": BayesianLinearRegression(1.0, noise_precision=1.0),
        "line": LinearRegression(),
    }
    comparison = compare(models, *rows, cv=2, random_state=0)
    for pair in (("bayes", "scaled"), ("bic", "g")):
        scores = [comparison[name] for name in pair]
        assert scores[0].evidence_base == scores[1].evidence_base
        expected = softmax([score.log_evidence for score in scores])
        np.testing.assert_allclose([score.model_probability for score in scores], expected)
    assert comparison["known"].model_probability is None and comparison["line"].model_probability is None
    note = next(note for note in comparison.table().notes if "evidence base" in note)
    assert "known (intercept: flat prior, no other model, so no probability)" in note
    assert "(intercept: flat prior, noise variance: prior 1/σ²)" in note and "line" not in note
    records = {record["name"]: record["evidence_base"] for record in comparison.records()}
    assert records["known"] == "intercept: flat prior" and records["line"] is None


def test_one_base_needs_no_note(rows):
    models = {"a": SpikeSlabRegressor(), "b": SpikeSlabRegressor(slab="g"), "line": LinearRegression()}
    comparison = compare(models, *rows, cv=2, random_state=0)
    assert comparison["a"].model_probability + comparison["b"].model_probability == pytest.approx(1.0)
    assert not [note for note in comparison.table().notes if "evidence base" in note]


def test_a_model_of_a_table_hands_the_base_on(rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=["a", "b"])
    models = {
        "table": TableModel(Preparation(), make_pipeline(StandardScaler(), BayesianLinearRegression())),
        "known": TableModel(Preparation(), BayesianLinearRegression(1.0, noise_precision=1.0)),
    }
    comparison = compare(models, frame, y, cv=2, random_state=0)
    assert comparison["table"].evidence_base == BayesianLinearRegression().fit(X, y).evidence_base_
    assert comparison["known"].evidence_base == "intercept: flat prior"
    assert comparison["table"].model_probability is None
    assert not hasattr(TableModel(None, LinearRegression()).fit(frame, y), "evidence_base_")


def test_models_that_name_no_base_have_no_probability():
    lines = [
        Score("a", log_evidence=-3.0, evidence_base="x"),
        Score("b", log_evidence=-3.0),
        Score("c", log_evidence=-5.0, evidence_base="x"),
        Score("d", log_evidence=-3.0),
        Score("e"),
    ]
    a, b, c, d, e = (score.model_probability for score in with_probabilities(lines))
    assert (a, c) == pytest.approx((expit(2.0), expit(-2.0))) and (b, d, e) == (None, None, None)
    assert Comparison(lines, {}).table().notes[-1].endswith("a, c (x); b, d (no evidence_base_, so no probability).")


def test_an_infinite_evidence_leaves_its_base_without_probabilities():
    lines = [Score(str(i), log_evidence=log, evidence_base="x") for i, log in enumerate([-1.0, -np.inf])]
    assert [score.model_probability for score in with_probabilities(lines)] == [None, None]
