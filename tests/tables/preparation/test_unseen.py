"""Levels that were not in the training data: predictions average over the known levels."""

import numpy as np
import pandas as pd
import pytest

from credo.core.notices import collected
from credo.distributions import Mixture
from credo.linear import BayesianLinearRegression, LinearRegression, LogisticRegression
from credo.tables import Preparation, TableModel, TableWarning, load, save


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    site = rng.choice(["north", "south", "west"], n, p=[0.5, 0.3, 0.2])
    x = rng.normal(size=n)
    shift = pd.Series(site).map({"north": 0.0, "south": 4.0, "west": -6.0}).to_numpy()
    return pd.DataFrame({"x": x, "site": site, "y": 2.0 * x + shift + 0.5 * rng.normal(size=n)})


def fitted(frame, estimator, target="y", **options):
    return TableModel(Preparation(standardize=True, **options), estimator, target).fit(frame)


def quiet(method, *args, **kwargs):
    with collected() as notices:
        return method(*args, **kwargs), [str(notice) for notice in notices]


def test_the_distribution_is_the_mixture_over_the_levels():
    frame = table()
    model = fitted(frame, LinearRegression())
    new = pd.DataFrame({"x": [0.3, 0.3, -1.0], "site": ["north", "east", "east"]})
    dist, notes = quiet(model.predict_dist, new)
    # The average over levels, written out: the law of total expectation and of total variance.
    share = frame["site"].value_counts(normalize=True)
    means = {level: model.predict_dist(new.assign(site=level)).mean for level in share.index}
    stds = {level: model.predict_dist(new.assign(site=level)).std for level in share.index}
    mean = sum(share[level] * means[level] for level in share.index)
    variance = sum(share[level] * (stds[level] ** 2 + (means[level] - mean) ** 2) for level in share.index)
    assert dist.mean[1:] == pytest.approx(mean[1:])
    assert dist.std[1:] == pytest.approx(np.sqrt(variance[1:]))
    assert dist.mean[0] == pytest.approx(means["north"][0]) and dist.std[0] == pytest.approx(stds["north"][0])
    assert dist.std[1] > 4 * dist.std[0]
    assert len(notes) == 1 and "'east'" in notes[0] and "average over the levels" in notes[0]
    assert quiet(model.predict, new)[0] == pytest.approx(dist.mean)
    assert quiet(model.predict, new, return_std=True)[0][1] == pytest.approx(dist.std)
    with pytest.raises(ValueError, match="return_cov is not available"):
        quiet(model.predict, new, return_cov=True)


def test_intervals_cover_rows_of_a_level_that_was_left_out():
    rng = np.random.default_rng(3)
    names = [f"clinic {k}" for k in range(12)]
    effect = dict(zip(names, rng.normal(scale=3.0, size=12), strict=True))
    site = rng.choice(names, 1200)
    y = np.array([effect[name] for name in site]) + rng.normal(size=1200)
    frame = pd.DataFrame({"site": site, "x": rng.normal(size=1200), "y": y})
    covered = []
    for name in names:
        new = frame[frame["site"] == name]
        model = fitted(frame[frame["site"] != name], BayesianLinearRegression())
        lower, upper = quiet(model.predict_dist, new)[0].interval(0.9)
        covered.append(((lower <= new["y"]) & (new["y"] <= upper)).mean())
    assert 0.75 < np.mean(covered) <= 1.0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_average_over_the_levels(n_classes):
    rng = np.random.default_rng(1)
    site = rng.choice(["a", "b", "c"], 600, p=[0.6, 0.2, 0.2])
    label = np.where(rng.random(600) < 0.95, np.where(site == "a", "no", "yes"), "no")
    if n_classes == 3:
        label[(site == "c") & (rng.random(600) < 0.9)] = "maybe"
    frame = pd.DataFrame({"site": site, "x": rng.normal(size=600), "y": label})
    model = fitted(frame, LogisticRegression(alpha=0.1))
    new = pd.DataFrame({"site": ["zzz"], "x": [0.0]})
    probs, _ = quiet(model.predict_proba, new)
    share = frame["site"].value_counts(normalize=True)
    expected = sum(share[level] * model.predict_proba(new.assign(site=level)) for level in share.index)
    assert probs == pytest.approx(expected)
    assert probs.sum() == pytest.approx(1.0) and probs.max() < 0.75
    assert quiet(model.predict, new)[0].tolist() == [model.classes_[probs[0].argmax()]]
    dist, _ = quiet(model.predict_dist, new)
    assert np.exp(dist.log_prob([frame["y"][0]])) == pytest.approx(probs[0][model.classes_ == frame["y"][0]])


def test_columns_that_are_unknown_together_take_combinations_of_the_training_data():
    rng = np.random.default_rng(2)
    a = rng.choice(["p", "q"], 300)
    # b repeats a, so that (p, s) and (q, r) never occur; y is large only there, if they are told apart by x.
    frame = pd.DataFrame({"a": a, "b": np.where(a == "p", "r", "s"), "c": rng.choice(["u", "v"], 300)})
    frame["y"] = np.where(a == "p", 1.0, 5.0) + 0.01 * rng.normal(size=300)
    model = fitted(frame, BayesianLinearRegression())
    new = pd.DataFrame({"a": ["new"], "b": ["new"], "c": ["u"]})
    dist, notes = quiet(model.predict_dist, new)
    assert isinstance(dist, Mixture) and len(notes) == 2
    assert dist.mean[0] == pytest.approx(frame["y"].mean(), abs=0.02)
    # With independent draws, half of the mass would be at 3, between the two groups.
    assert dist.cdf(2.5)[0] - dist.cdf(1.5)[0] < 1e-6
    assert dist.cdf(4.0)[0] - dist.cdf(2.0)[0] < 1e-6


def test_the_work_is_bounded():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({name: rng.choice([f"{name}{k}" for k in range(25)], 3000) for name in "abc"})
    frame["y"] = rng.normal(size=3000)
    model = fitted(frame, LinearRegression())
    assert model.preparation_.combinations_.shape == (30, 3)
    dist, _ = quiet(model.predict_dist, pd.DataFrame({"a": ["a1", "?"], "b": ["?", "?"], "c": ["c1", "c2"]}))
    assert isinstance(dist, Mixture) and len(dist.components) <= 31
    assert np.isfinite(dist.std).all()


def test_terms_are_predicted_together_and_as_one_by_one(monkeypatch):
    calls = []

    class Counted(LinearRegression):
        def predict_dist(self, X, *args, **options):
            calls.append(len(X))
            return super().predict_dist(X, *args, **options)

    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"a": rng.choice([f"a{k}" for k in range(12)], 300), "b": rng.choice(list("pqr"), 300)})
    frame["y"] = rng.normal(size=300)
    model = fitted(frame, Counted())
    new = pd.DataFrame({"a": ["?", "a1", "?", "a2"], "b": ["p", "q", "?", "?"]})
    together = quiet(model.predict_dist, new)[0]
    assert len(calls) == 2
    monkeypatch.setattr("credo.tables.preparation._MAX_ROWS_TOGETHER", 1)
    apart = quiet(model.predict_dist, new)[0]
    assert len(calls) > 12
    for q in (0.05, 0.5, 0.9):
        np.testing.assert_allclose(together.quantile(q), apart.quantile(q), rtol=1e-12)
    assert together.mean[1] == pytest.approx(model.predict(new[1:2])[0], rel=1e-12)


def test_unseen_levels_are_an_average_of_many_levels_too():
    frame = pd.DataFrame({"c": ["a"] * 20 + ["b"] * 10 + list("defgh"), "y": np.arange(35.0)})
    model = fitted(frame, LinearRegression(), max_levels=3)
    unseen, notes = quiet(model.predict, pd.DataFrame({"c": ["zebra"]}))
    assert unseen == pytest.approx(model.predict(frame).mean())
    assert "weighted by their frequency" in notes[0]


def test_a_missing_category_where_none_was_missing_is_unknown():
    frame = table()
    model = fitted(frame, LinearRegression())
    new = pd.DataFrame({"x": [0.0, 0.0], "site": [None, "east"]})
    dist, notes = quiet(model.predict_dist, new)
    assert dist.std[0] == pytest.approx(dist.std[1])
    assert any("missing" in note for note in notes)


def test_a_transformer_alone_codes_them_by_their_frequencies():
    preparation = Preparation().fit({"c": ["a", "a", "a", "b", "b", "d"]})
    with pytest.warns(TableWarning, match="not in the training data"):
        assert preparation.transform({"c": ["zebra"]}) == pytest.approx(np.array([[2 / 6, 1 / 6]]))


def test_a_file_keeps_what_it_needs(tmp_path):
    frame = table()
    frame["kind"] = np.where(frame["x"] > 0, "big", "small")
    frame["said"] = np.where(frame["y"] > 0, "rain at noon again", "no rain at noon")
    model = fitted(frame, BayesianLinearRegression(), kinds={"said": "text"})
    save(model, tmp_path / "model.credo")
    new = pd.DataFrame({"x": [0.1, 0.2], "site": ["east", "east"], "kind": ["big", "odd"], "said": ["rain", "hail"]})
    there, back = quiet(model.predict_dist, new)[0], quiet(load(tmp_path / "model.credo").predict_dist, new)[0]
    assert there.mean.tolist() == back.mean.tolist() and there.std.tolist() == back.std.tolist()


def test_one_unknown_column_among_others_with_more_levels_or_combinations():
    # The number of terms has to suffice for every column and for the combinations, whichever a row needs.
    rng = np.random.default_rng(0)
    many = rng.choice([f"l{i}" for i in range(20)], 300)
    frame = pd.DataFrame({"few": rng.choice(list("ab"), 300), "many": many, "x": rng.normal(size=300)})
    y = frame["x"] + 2.0 * (frame["few"] == "a")
    model = TableModel(None, LinearRegression()).fit(frame, y)
    known, new = frame.iloc[:3], frame.iloc[:3].assign(few=["z", "a", "b"])
    dist = model.predict_dist(new)
    assert dist.std[0] > 0.9 and np.isfinite(dist.mean).all()
    np.testing.assert_allclose(model.predict(new)[0], model.predict(known.assign(few="a"))[0] - 1.0, atol=0.3)


def test_a_text_without_known_words_is_outside():
    texts = ["win a prize", "lunch at noon", "win a lunch", "prize at noon"] * 10
    preparation = Preparation(kinds={"text": "text"})
    with collected():
        model = TableModel(preparation, LinearRegression()).fit(pd.DataFrame({"text": texts}), np.arange(40.0))
    found = model.outside(pd.DataFrame({"text": ["win now", "zzz qqq"]}))
    assert found.rows.tolist() == [False, True]
