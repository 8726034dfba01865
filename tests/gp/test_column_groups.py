"""Processes of tables with categorical columns: the levels of one column share a length scale."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict

import credo
from credo import plots
from credo.gp import GPClassifier, GPRegressor
from credo.kernels import RBF, Matern52
from credo.tables import Preparation, TableModel


def survey(n, *, levels=12, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.choice(levels, size=n, p=rng.dirichlet(np.full(levels, 2.0)))
    x, effects = rng.normal(size=n), rng.normal(size=levels)
    table = pd.DataFrame({"soil": [f"s{code:02d}" for code in codes], "x": x})
    return table, effects[codes] + np.sin(2 * x) + noise * rng.normal(size=n)


def test_the_levels_of_a_column_share_a_length_scale():
    table, y = survey(150)
    model = TableModel(Preparation(standardize=True), GPRegressor("rbf", n_restarts=1, random_state=0)).fit(table, y)
    inner = model.estimator_
    assert isinstance(inner.kernel_, RBF) and len(inner.kernel_.params["lengthscale"]) == 2
    assert [name for name, _ in inner.kernel_.entries(inner._feature_names())][:2] == [
        "lengthscale of soil",
        "lengthscale of x",
    ]
    assert inner.relevance_.shape == (inner.n_features_in_,)
    assert np.ptp(inner.relevance_[:-1]) == pytest.approx(0.0, abs=1e-12)
    assert inner.relevance_trace_.shape[1] == inner.n_features_in_
    np.testing.assert_allclose(inner.relevance_trace_[-1], inner.relevance_)
    plots.importances(inner, ax=Figure().subplots())
    ax = plots.evidence_surface(inner, n=3, ax=Figure().subplots())
    assert "soil" in ax.get_xlabel() + ax.get_ylabel()


def test_shared_length_scales_are_faster_and_predict_no_worse_than_one_for_each_level():
    table, y = survey(700)
    preparation = Preparation(standardize=True).fit(table[:200])
    X, Z = preparation.transform(table[:200]), preparation.transform(table[200:])
    scores, evaluations, evidences = [], [], []
    for groups in (preparation.groups(), None):
        model = GPRegressor("rbf", hyperparameters="optimize", n_restarts=0, random_state=0).fit(
            X, y[:200], column_groups=groups
        )
        scores.append(model.predict_dist(Z).log_prob(y[200:]).mean())
        evaluations.append(model.result_.n_iter)
        evidences.append(model.log_evidence_)
    assert evaluations[0] < evaluations[1]
    assert scores[0] > scores[1] - 0.02
    # Each level's own length scale includes the shared one: its evidence is larger by fitting 11 more numbers.
    assert evidences[1] - 11 < evidences[0] < evidences[1] + 0.5


def test_each_fold_has_the_columns_that_it_prepared():
    table, y = survey(120, levels=4)
    table.loc[:1, "soil"] = "rare"
    preparation = Preparation(standardize=True)
    whole = TableModel(preparation, GPRegressor("matern52", n_restarts=0)).fit(table, y)
    part = TableModel(preparation, GPRegressor("matern52", n_restarts=0)).fit(table[2:], y[2:])
    assert part.estimator_.n_features_in_ < whole.estimator_.n_features_in_
    for model in (whole, part):
        assert isinstance(model.estimator_.kernel_, Matern52)
        assert len(model.estimator_.kernel_.params["lengthscale"]) == 2
        assert np.isfinite(model.predict(table[2:])).all()
    held_out = cross_val_predict(TableModel(preparation, GPRegressor(n_restarts=0)), table, y, cv=3)
    assert np.isfinite(held_out).all()


def test_a_kernel_object_is_used_as_it_is():
    table, y = survey(60, levels=3)
    model = TableModel(Preparation(standardize=True), GPRegressor(RBF(), n_restarts=0)).fit(table, y)
    assert np.ndim(model.estimator_.kernel_.params["lengthscale"]) == 0


def test_columns_of_their_own_are_ordinary_ard():
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.sin(X[:, 0])
    grouped = GPRegressor(n_restarts=0, random_state=0).fit(X, y, column_groups=["a", "b"])
    plain = GPRegressor(n_restarts=0, random_state=0).fit(X, y)
    assert grouped.kernel_ == plain.kernel_ and grouped.log_evidence_ == plain.log_evidence_


def test_labels_are_counted():
    with pytest.raises(ValueError, match="one label for each of the 2 columns; got 3"):
        GPRegressor().fit(np.eye(4)[:, :2], np.arange(4.0), column_groups=["a", "a", "b"])


def test_kernels_by_name_are_checked():
    with pytest.raises(ValueError, match="matern52"):
        GPRegressor("matern").fit(np.eye(3), np.arange(3.0))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifiers_share_length_scales(n_classes, tmp_path):
    table, y = survey(90, levels=5)
    labels = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    model = TableModel(Preparation(standardize=True), GPClassifier("rbf", n_restarts=0)).fit(table, labels)
    inner = model.estimator_
    for member in inner.members_ or [inner]:
        assert len(member.kernel_.params["lengthscale"]) == 2
    assert len(inner.relevance_) == inner.n_features_in_
    assert "lengthscale of soil" in str(model.summary())
    credo.save(model, tmp_path / "m.credo")
    np.testing.assert_array_equal(credo.load(tmp_path / "m.credo").predict_proba(table), model.predict_proba(table))


@pytest.mark.parametrize("noise", ["learn", "heteroscedastic"])
def test_a_loaded_model_knows_its_groups(noise, tmp_path):
    table, y = survey(50, levels=4)
    model = TableModel(Preparation(standardize=True), GPRegressor("matern32", noise=noise, n_restarts=0)).fit(table, y)
    credo.save(model, tmp_path / "m.credo")
    loaded = credo.load(tmp_path / "m.credo").estimator_
    inner = model.estimator_
    assert loaded.column_groups_ == inner.column_groups_ and loaded.kernel_ == inner.kernel_
    assert loaded.log_evidence(inner.theta_, gradient=False) == inner.log_evidence(inner.theta_, gradient=False)


def test_clones_keep_the_name_of_the_kernel():
    assert clone(GPRegressor("matern52")).get_params()["kernel"] == "matern52"
