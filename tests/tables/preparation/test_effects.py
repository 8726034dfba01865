"""Categories with many levels: the shrunken effect of each level on the target, by cross-fitting."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.linear_model import LinearRegression as Plain
from sklearn.pipeline import make_pipeline

from credo import BayesianLinearRegression, BayesianLogisticRegression, LinearRegression
from credo.core.fields import check
from credo.core.notices import collected
from credo.tables import Preparation, TableModel, load, save
from credo.tables.effects import level_effects, scores


def shops(n=1200, n_shops=60, *, effect=1.0, seed=0):
    """A target with an effect of each shop, and a second column that explains more than the shops."""
    rng = np.random.default_rng(seed)
    shop, x = rng.integers(n_shops, size=n), rng.normal(size=n)
    y = 3.0 * x + effect * rng.normal(size=n_shops)[shop] + rng.normal(size=n)
    return pd.DataFrame({"x": x, "shop": [f"s{k}" for k in shop]}), y


def test_effects_are_those_of_a_random_intercept_of_maximum_likelihood():
    """The posterior mean under the variances that maximize the normal density of the rows, with dense matrices."""
    rng = np.random.default_rng(1)
    code = rng.choice(12, 150, p=rng.dirichlet(np.ones(12) * 2))
    y = rng.normal(size=12)[code] + rng.normal(size=150)
    Z, centred = np.eye(12)[code], y - y.mean()

    def covariance(logs):
        return np.exp(logs[0]) * Z @ Z.T + np.exp(logs[1]) * np.eye(150)

    best = minimize(lambda logs: -multivariate_normal(cov=covariance(logs)).logpdf(centred), [0.0, 0.0]).x
    expected = np.exp(best[0]) * Z.T @ np.linalg.solve(covariance(best), centred)
    (found,), _ = level_effects([code], [12], y[:, None], np.zeros((150, 0)), np.ones(150))
    np.testing.assert_allclose(found[:, 0], expected, atol=0.02)


def test_a_level_is_not_credited_with_what_another_column_explains():
    frame, y = shops()
    code = pd.factorize(frame["shop"])[0]
    x, weight = frame[["x"]].to_numpy(), np.ones(len(y))
    truth = pd.Series(y - 3.0 * x[:, 0]).groupby(code).mean()
    errors = []
    for others in (x, x[:, :0]):
        (found,), _ = level_effects([code], [60], y[:, None], others, weight)
        errors.append(np.std(found[:, 0] - truth))
    assert errors[0] < 0.5 * errors[1]


def test_rows_do_not_see_their_own_targets():
    """The mean of a level's rows correlates with noise by 1/sqrt(rows of a level), the mean of other rows doesn't."""
    rng = np.random.default_rng(2)
    frame, y = pd.DataFrame({"c": [f"l{k}" for k in rng.integers(300, size=1500)]}), rng.normal(size=1500)
    preparation = Preparation()
    fitted = preparation.fit_transform(frame, y)
    seen = preparation.transform(frame)
    assert np.corrcoef(seen[:, 0], y)[0, 1] > 0.3
    assert np.corrcoef(fitted[:, 0], y)[0, 1] < 0.08


def test_any_increasing_transformation_of_the_target_gives_the_same_columns():
    frame, y = shops()
    np.testing.assert_array_equal(
        Preparation().fit_transform(frame, y), Preparation().fit_transform(frame, np.exp(y / 3))
    )


def test_names_and_notes():
    frame, y = shops()
    preparation = Preparation().fit(frame, y)
    assert preparation.get_feature_names_out().tolist() == ["x", "shop (effect)"]
    assert preparation.groups() == ["x", "shop (effect)"] and preparation.sources() == ["x", "shop"]
    assert "Column 'shop' has 60 levels: 'shop (effect)' has the effect of each" in preparation.notes_[0]
    classes = np.array(["low", "mid", "high"])[np.digitize(y, [-1, 1])]
    names = Preparation().fit(frame, classes).get_feature_names_out().tolist()
    assert names == ["x", "shop (effect on low)", "shop (effect on mid)"]
    assert "shop=other" in Preparation().fit(frame).get_feature_names_out()
    assert "shop=other" not in Preparation(max_levels=60).fit(frame, y).get_feature_names_out()


@pytest.mark.parametrize("kind", ["numbers", "classes", "labels"])
def test_models_predict_better_than_with_lumped_levels(kind):
    frame, y = shops(effect=3.0)
    train, test = frame[:900], frame[900:]
    if kind == "numbers":
        model = BayesianLinearRegression()
    else:
        y, model = (y > 0).astype(int), BayesianLogisticRegression()
        y = np.array(["no", "yes"], dtype=object)[y] if kind == "labels" else y
    lumped = Preparation(standardize=True).fit(train)
    other = clone(model).fit(lumped.transform(train), y[:900]).score(lumped.transform(test), y[900:])
    found = TableModel(Preparation(standardize=True), model).fit(train, y[:900])
    # Half of the shops have no column of their own there.
    assert 1 - found.score(test, y[900:]) < 0.8 * (1 - other)


def test_unseen_levels_have_wider_predictions():
    """The variance of a new shop is larger by that of the effects, 4, and half of it isn't known for no shop."""
    frame, y = shops(6000, 200, effect=2.0)
    model = TableModel(Preparation(), LinearRegression()).fit(frame, y)
    new = frame[:200].assign(shop="new")
    with collected():
        wide, known = model.predict_dist(new).var, model.predict_dist(frame[:200]).var
    assert 0.7 * 4.0 < np.mean(wide - known) < 1.3 * 4.0


def test_missing_cells_are_a_level_and_unseen_missing_ones_an_average():
    frame, y = shops()
    gone = frame.assign(shop=frame["shop"].where(np.arange(len(frame)) % 3 > 0))
    y = np.where(gone["shop"].isna(), y + 10.0, y)
    preparation = Preparation().fit(gone, y)
    assert preparation.transform(gone[:1])[0, 1] > preparation.transform(gone)[gone["shop"].notna(), 1].max()
    preparation = Preparation().fit(frame, y)
    with collected() as caught:
        found = preparation.transform(gone[:1])[0, 1]
    values = preparation.transform(frame)[:, 1]
    assert found == pytest.approx(values.mean()) and "weighted by their frequency" in str(caught[0])


def test_columns_of_words_stay_sparse():
    frame, y = shops()
    texts = frame.assign(said=["rain fell at noon and went " + word for word in frame["shop"]])
    preparation = Preparation(kinds={"said": "text"}, standardize=True)
    rows = preparation.fit_transform(texts, y)
    learned = preparation.fold_effects(texts, y)
    train, test = np.arange(800), np.arange(800, 1200)
    kept, held = learned(rows, train, test)
    assert kept.shape == (800, rows.shape[1]) and held.shape == (400, rows.shape[1])
    np.testing.assert_array_equal(held[:, 2:].toarray(), rows[800:, 2:].toarray())
    assert np.corrcoef(held[:, [1]].toarray().ravel(), (y - 3 * frame["x"])[800:])[0, 1] > 0.5


def test_rows_without_a_weight_do_not_count():
    frame, y = shops()
    weight = (np.arange(len(y)) % 4 > 0).astype(float)
    y = np.where(weight > 0, y, 1e6)
    preparation = Preparation()
    rows = preparation.fit_transform(frame, y, sample_weight=weight)
    np.testing.assert_array_equal(rows[weight > 0], Preparation().fit_transform(frame[weight > 0], y[weight > 0]))
    np.testing.assert_array_equal(rows[weight == 0], preparation.transform(frame)[weight == 0])


def test_a_file_keeps_the_effects(tmp_path):
    frame, y = shops()
    model = TableModel(Preparation(), LinearRegression()).fit(frame, y)
    save(model, tmp_path / "m.credo")
    np.testing.assert_array_equal(load(tmp_path / "m.credo").predict(frame), model.predict(frame))
    encoder = model.preparation_.encoder("shop")
    with pytest.raises(ValueError, match=r"effects has shape \(60, 1\), where \(s\+1, E\)"):
        vars(encoder)["effects"] = encoder.effects[1:]
        check(encoder)


def test_a_target_with_gaps_is_an_error():
    frame, y = shops()
    with pytest.raises(ValueError, match="leave these rows out"):
        Preparation().fit(frame, np.where(y > 3, np.nan, y))
    assert scores(np.array(["a", "a"])).shape == (2, 1)


def test_other_models_in_a_pipeline_have_them_too():
    frame, y = shops()
    model = make_pipeline(Preparation(), Plain()).fit(frame[:900], y[:900])
    assert model.score(frame[900:], y[900:]) > 0.85
